//! Writes the replies: the interface's resources as JSON, with their secrets.

mod billing;
mod customers;
mod esim;

pub(super) use billing::{plan, subscription};
pub(super) use customers::customer;
pub(super) use esim::{esim_order, esim_package};

use super::rules::{
    Fees, Intent, IntentState, LateApproval, ListedMethod, MOBILE_MONEY, NextAction, Operator, OperatorStatus,
    OperatorStatuses, PayingWith, Session, Status,
};
use super::tokens::InstanceKey;
use guichet::operations::{
    ApprovableUntil, ApprovalStep, ApprovalStepParts, CreatedSession, CreatedSessionParts, DuplicatePayment,
    DuplicatePaymentParts, FeeBreakdown, FeeBreakdownParts, IntentCustomer, IntentCustomerParts, LastPaymentError,
    LastPaymentErrorParts, NextAction as NextActionReply, NextActionParts, Operator as OperatorReply, OperatorParts,
    PaidWith, PaymentIntent, PaymentIntentParts, PaymentMethod, PaymentMethodParts, RevokedSession,
    RevokedSessionParts, SessionState, SessionStateParts,
};
use guichet::protocol::{Reveal, Revealed};
use guichet::values::{
    Amount, CheckoutUrl, Country, Currency, IntentId, MethodId, Moment, OperatorCode, PaymentRef, Secret, SessionToken,
};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;

/// A reply as JSON.
pub(super) type Reply = Box<RawValue>;

/// A payment intent of this payee, with its client secret.
pub(super) fn intent((intent, payee): (&Intent, &str), key: &InstanceKey, fees: &Fees, public_origin: &str) -> Reply {
    let terms = &intent.terms;
    let state = &intent.state;
    let duplicate_payments = state.duplicate_payments.iter().map(|approval| {
        let amount = intent.amount_with(&approval.with, fees).map_or(terms.amount, Amount::units);
        duplicate_payment(None, approval, amount, &terms.currency)
    });
    written(&PaymentIntent::from(PaymentIntentParts {
        id: intent.id.clone(),
        object: Some("payment_intent".to_owned()),
        amount: terms.amount,
        currency: terms.currency.to_string(),
        status: state.status.into_str().to_owned().into(),
        client_secret: Some(key.client_secret(&intent.id)),
        payment_ref: PaymentRef::new(intent.payment_ref.clone()).ok(),
        merchant_reference: Some(terms.merchant_reference.to_string()),
        checkout_url: Some(CheckoutUrl::new(checkout_url(intent, key, public_origin))),
        customer: IntentCustomer::from(IntentCustomerParts {
            firstname: terms.firstname.clone(),
            lastname: terms.lastname.clone(),
            email: terms.email.clone().unwrap_or_default(),
        }),
        metadata: metadata(terms.metadata.as_deref()),
        fee_bearer: Some(terms.fee_bearer.to_string()),
        amount_payable: intent.amount_payable(fees).map(Amount::units),
        confirmation_method: Some(terms.confirmation_method.to_string()),
        payment_method: state.paying_with.as_ref().map(paid_with),
        next_action: state.next_action.map_or_else(
            || approve_on_phone(state, payee),
            |action| {
                let url =
                    (action == NextAction::Redirect).then(|| Secret::new(challenge_url(intent, key, public_origin)));
                Some(NextActionReply::from(NextActionParts {
                    kind: action.into_str().to_owned(),
                    url,
                    operator: None,
                    payee: None,
                    steps: None,
                }))
            },
        ),
        last_payment_error: state.declined.map(|decline| {
            LastPaymentError::from(LastPaymentErrorParts {
                code: decline.into_str().to_owned(),
                message: decline.message().to_owned(),
                approvable_until: Some(ApprovableUntil::from(state.declined_until())),
            })
        }),
        approvable_until: approvable_until(state),
        attempts: Some(state.attempts),
        created_at: Some(intent.created_at.unix()),
        expires_at: Some(intent.expires_at.to_string()),
        redirect_url: terms.redirect_url.clone(),
        description: Some(terms.description.clone()),
        items: terms.items.as_deref().and_then(|items| serde_json::from_str(items.get()).ok()),
        payment_method_types: terms.payment_method_types.clone(),
        cancellation_reason: state.cancellation.map(|reason| reason.into_str().to_owned()),
        duplicate_payments: duplicate_payments.collect(),
    }))
}

/// Until when any declined attempt may still be approved. A service that reports an attempt as failed too early cannot
/// say it.
pub(super) fn approvable_until(state: &IntentState) -> Option<ApprovableUntil> {
    (!state.succeeds_after_failing()).then(|| ApprovableUntil::from(state.approvable_until()))
}

/// What the customer does on the phone while mobile money is processing.
fn approve_on_phone(state: &IntentState, payee: &str) -> Option<NextActionReply> {
    let with = state.paying_with.as_ref().filter(|_| state.status == Status::Processing)?;
    if !matches!(with, PayingWith::MobileMoney { .. }) {
        return None;
    }
    let operator = with.operator().and_then(Operator::of_code);
    let step = |code: &str, ussd| ApprovalStep::from(ApprovalStepParts { code: code.to_owned(), ussd });
    let dial = operator.map(|operator| step("dial", Some(operator.ussd.to_owned())));
    Some(NextActionReply::from(NextActionParts {
        kind: "approve_on_phone".to_owned(),
        url: None,
        operator: operator.and_then(|operator| named(operator, None)),
        payee: Some(payee.to_owned()),
        steps: Some([step("open_prompt", None), step("enter_pin", None)].into_iter().chain(dial).collect()),
    }))
}

/// An operator, in a list with its status.
fn named(operator: &Operator, status: Option<OperatorStatus>) -> Option<OperatorReply> {
    Some(OperatorReply::from(OperatorParts {
        code: OperatorCode::new(operator.code).ok()?,
        name: operator.name.to_owned(),
        status: status.map(|status| status.as_str().to_owned()),
    }))
}

/// A late approval during another attempt or after the final status. `payment_intent` is set only in a subscription's
/// reply.
fn duplicate_payment(
    payment_intent: Option<IntentId>,
    approval: &LateApproval,
    amount: Amount,
    currency: &Currency,
) -> DuplicatePayment {
    DuplicatePayment::from(DuplicatePaymentParts {
        payment_intent,
        attempt: approval.attempt,
        amount: Some(amount),
        currency: currency.to_string(),
        payment_method: Some(paid_with(&approval.with)),
        approved_at: Some(Moment::from_unix(approval.approved_at)),
    })
}

/// The link of the hosted page, as the interface shows it: with the id and the client secret. Its page moves the secret
/// to a cookie.
pub(super) fn checkout_url(intent: &Intent, key: &InstanceKey, public_origin: &str) -> String {
    format!("{public_origin}/checkout/{}?client_secret={}", intent.id, key.client_secret(&intent.id).expose())
}

/// The address of the simulated issuer's page for the intent's current round.
pub(super) fn challenge_url(intent: &Intent, key: &InstanceKey, public_origin: &str) -> String {
    let token = key.challenge(&intent.id, intent.state.attempts);
    format!("{public_origin}/checkout/{}/challenge?token={}", intent.id, token.expose())
}

/// The metadata from its stored text. Empty if none was given.
fn metadata(stored: Option<&RawValue>) -> BTreeMap<String, Value> {
    stored.and_then(|stored| serde_json::from_str(stored.get()).ok()).unwrap_or_default()
}

/// The part of a payment method that a reply shows.
fn paid_with(with: &PayingWith) -> PaidWith {
    match with {
        PayingWith::Card { brand, last4, .. } => PaidWith::Card { brand: brand.to_string(), last4: last4.to_string() },
        PayingWith::MobileMoney { phone, .. } => PaidWith::MobileMoney {
            phone: PayingWith::masked_phone(phone),
            operator: with.operator().and_then(Operator::of_code).and_then(|operator| named(operator, None)),
        },
    }
}

/// A new session with its token, which is shown only here.
pub(super) fn new_session(session: &Session, token: &SessionToken) -> Reply {
    written(&CreatedSession::from(CreatedSessionParts {
        session_token: token.clone(),
        customer_email: session.email.clone(),
        expires_at: Some(session.expires_at.to_string()),
    }))
}

/// A valid session.
pub(super) fn valid_session(session: &Session) -> Reply {
    written(&SessionState::from(SessionStateParts {
        valid: true,
        customer_email: Some(session.email.clone()),
        expires_at: Some(session.expires_at),
        reason: None,
    }))
}

/// An invalid session, with the reason: `expired`, `revoked` or `unknown`.
pub(super) fn invalid_session(reason: &str) -> Reply {
    RawValue::from_string(format!(r#"{{"valid":false,"reason":"{reason}"}}"#)).expect("the reasons are plain words")
}

/// A revoked session.
pub(super) fn revoked_session(session: &Session, revoked_at: Moment) -> Reply {
    written(&RevokedSession::from(RevokedSessionParts {
        revoked: true,
        customer_email: Some(session.email.clone()),
        revoked_at: Some(revoked_at),
    }))
}

/// The methods of a country, with its operators of mobile money.
pub(super) fn methods(methods: &[ListedMethod<'_>], country: &Country, statuses: &OperatorStatuses) -> Reply {
    let operators = |id: &str| {
        let of_country = Operator::of_country(country).filter(|_| id == MOBILE_MONEY);
        of_country.filter_map(|operator| named(operator, Some(statuses.of(operator.code)))).collect()
    };
    let list = methods.iter().filter_map(|method| {
        Some(PaymentMethod::from(PaymentMethodParts {
            id: MethodId::new(method.id).ok()?,
            name: method.name.to_owned(),
            active: true,
            fee_type: Some("percentage".to_owned()),
            supported_countries: method.countries.iter().map(ToString::to_string).collect(),
            operators: operators(method.id),
        }))
    });
    written(&list.collect::<Vec<_>>())
}

/// The fee of an amount.
pub(super) fn fee(amount: u64, currency: &Currency, fee: u64) -> Reply {
    written(&FeeBreakdown::from(FeeBreakdownParts {
        amount: Amount::units(amount),
        currency: currency.to_string(),
        fee: Amount::units(fee),
        total_payable: Amount::units(amount.saturating_add(fee)),
    }))
}

fn written<T: Reveal>(reply: &T) -> Reply {
    to_raw_value(&Revealed(reply)).expect("a reply is plain words and numbers")
}
