//! How each resource is written: the document's fields first, in its order, then the appended ones of `decisions.md` 3.
//!
//! Secrets are `Serialize` nowhere: what a reply carries of them is exposed here, and only here.

mod billing;
mod customers;
mod esim;

pub(super) use billing::{plan, subscription};
pub(super) use customers::customer;
pub(super) use esim::{esim_order, esim_package};

use super::rules::{Fees, Intent, LateApproval, ListedMethod, NextAction, PayingWith, Session};
use super::tokens::InstanceKey;
use crate::values::{Currency, Moment, SessionToken};
use serde::Serialize;
use serde_json::value::RawValue;

/// A payment intent, with its client secret.
pub(super) fn intent(intent: &Intent, key: &InstanceKey, fees: &Fees, public_origin: &str) -> String {
    let client_secret = key.client_secret(&intent.id);
    let terms = &intent.terms;
    let state = &intent.state;
    written(&IntentReply {
        id: intent.id.as_str(),
        object: "payment_intent",
        amount: terms.amount.to_string(),
        currency: terms.currency.as_str(),
        status: state.status.as_str(),
        checkout_url: checkout_url(intent, key, public_origin),
        client_secret: client_secret.expose(),
        payment_ref: &intent.payment_ref,
        merchant_reference: &terms.merchant_reference,
        customer: CustomerReply {
            firstname: &terms.firstname,
            lastname: &terms.lastname,
            email: terms.email.as_deref().unwrap_or_default(),
        },
        metadata: terms.metadata.as_deref().map_or(Metadata::None {}, Metadata::Some),
        fee_bearer: terms.fee_bearer.as_str(),
        amount_payable: intent.amount_payable(fees).map(|amount| amount.to_string()),
        confirmation_method: terms.confirmation_method.as_str(),
        payment_method: state.paying_with.as_ref().map(payment_method),
        next_action: state.next_action.map(|action| NextActionReply {
            r#type: action.as_str(),
            url: (action == NextAction::Redirect).then(|| challenge_url(intent, key, public_origin)),
        }),
        last_payment_error: state
            .declined
            .map(|decline| DeclineReply { code: decline.code(), message: decline.message() }),
        attempts: state.attempts,
        created_at: intent.created_at.unix(),
        expires_at: intent.expires_at,
        redirect_url: terms.redirect_url.as_deref(),
        description: &terms.description,
        items: terms.items.as_deref(),
        payment_method_types: terms.payment_method_types.as_deref(),
        cancellation_reason: state.cancellation.map(|reason| reason.as_str()),
        duplicate_payments: state
            .duplicate_payments
            .iter()
            .map(|approval| {
                let amount = intent.amount_with(&approval.with, fees).unwrap_or_else(|| terms.amount.units());
                duplicate_payment(None, approval, amount, &terms.currency)
            })
            .collect(),
    })
}

/// A late approval beside another payment or after the end, of an intent that a subscription's record has to name.
fn duplicate_payment<'a>(
    payment_intent: Option<&'a str>,
    approval: &'a LateApproval,
    amount: u64,
    currency: &'a Currency,
) -> DuplicatePaymentReply<'a> {
    DuplicatePaymentReply {
        payment_intent,
        attempt: approval.attempt,
        amount: amount.to_string(),
        currency: currency.as_str(),
        payment_method: payment_method(&approval.with),
        approved_at: Moment::from_unix(approval.approved_at),
    }
}

/// Where the customer pays. The secret is in the fragment, which reaches no log and no `Referer`.
pub(super) fn checkout_url(intent: &Intent, key: &InstanceKey, public_origin: &str) -> String {
    format!("{public_origin}/checkout/{}#client_secret={}", intent.id, key.client_secret(&intent.id).expose())
}

/// The page of the card's issuer, in the round that the intent is in.
fn challenge_url(intent: &Intent, key: &InstanceKey, public_origin: &str) -> String {
    let token = key.challenge(&intent.id, intent.state.attempts);
    format!("{public_origin}/checkout/{}/challenge#token={}", intent.id, token.expose())
}

#[derive(Serialize)]
struct IntentReply<'a> {
    id: &'a str,
    object: &'static str,
    amount: String,
    currency: &'a str,
    status: &'static str,
    client_secret: &'a str,
    payment_ref: &'a str,
    merchant_reference: &'a str,
    checkout_url: String,
    customer: CustomerReply<'a>,
    metadata: Metadata<'a>,

    fee_bearer: &'static str,
    amount_payable: Option<String>,
    confirmation_method: &'static str,
    payment_method: Option<PaymentMethodReply<'a>>,
    next_action: Option<NextActionReply>,
    last_payment_error: Option<DeclineReply>,
    attempts: u32,
    created_at: i64,
    expires_at: Moment,
    redirect_url: Option<&'a str>,
    description: &'a str,
    items: Option<&'a RawValue>,
    payment_method_types: Option<&'a [String]>,
    cancellation_reason: Option<&'static str>,
    duplicate_payments: Vec<DuplicatePaymentReply<'a>>,
}

#[derive(Serialize)]
struct DuplicatePaymentReply<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_intent: Option<&'a str>,
    attempt: u32,
    amount: String,
    currency: &'a str,
    payment_method: PaymentMethodReply<'a>,
    approved_at: Moment,
}

/// An empty object when none was given.
#[derive(Serialize)]
#[serde(untagged)]
enum Metadata<'a> {
    None {},
    Some(&'a RawValue),
}

#[derive(Serialize)]
struct CustomerReply<'a> {
    firstname: &'a str,
    lastname: &'a str,
    email: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum PaymentMethodReply<'a> {
    Card { brand: &'a str, last4: &'a str },
    MobileMoney { phone: String },
}

#[derive(Serialize)]
struct NextActionReply {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

#[derive(Serialize)]
struct DeclineReply {
    code: &'static str,
    message: &'static str,
}

/// What a customer pays with, as far as it is shown.
fn payment_method(with: &PayingWith) -> PaymentMethodReply<'_> {
    match with {
        PayingWith::Card { brand, last4, .. } => PaymentMethodReply::Card { brand, last4 },
        PayingWith::MobileMoney { phone, .. } => {
            PaymentMethodReply::MobileMoney { phone: PayingWith::masked_phone(phone) }
        }
    }
}

/// A session that was just made, with its token: the only time it is shown.
pub(super) fn new_session(session: &Session, token: &SessionToken) -> String {
    #[derive(Serialize)]
    struct Reply<'a> {
        session_token: &'a str,
        customer_email: &'a str,
        expires_at: Moment,
    }
    written(&Reply { session_token: token.expose(), customer_email: &session.email, expires_at: session.expires_at })
}

/// A session that is valid.
pub(super) fn valid_session(session: &Session) -> String {
    #[derive(Serialize)]
    struct Reply<'a> {
        valid: bool,
        customer_email: &'a str,
        expires_at: Moment,
    }
    written(&Reply { valid: true, customer_email: &session.email, expires_at: session.expires_at })
}

/// A session that is not valid: `expired`, `revoked` or `unknown`.
pub(super) fn invalid_session(reason: &str) -> String {
    #[derive(Serialize)]
    struct Reply<'a> {
        valid: bool,
        reason: &'a str,
    }
    written(&Reply { valid: false, reason })
}

/// A session that was ended.
pub(super) fn revoked_session(session: &Session, revoked_at: Moment) -> String {
    #[derive(Serialize)]
    struct Reply<'a> {
        revoked: bool,
        customer_email: &'a str,
        revoked_at: Moment,
    }
    written(&Reply { revoked: true, customer_email: &session.email, revoked_at })
}

/// The methods of a country.
pub(super) fn methods(methods: &[ListedMethod<'_>]) -> String {
    #[derive(Serialize)]
    struct Reply<'a> {
        id: &'a str,
        name: &'a str,
        active: bool,
        fee_type: &'static str,
        supported_countries: &'a [&'a str],
    }
    let list: Vec<_> = methods
        .iter()
        .map(|method| Reply {
            id: method.id,
            name: method.name,
            active: true,
            fee_type: "percentage",
            supported_countries: &method.countries,
        })
        .collect();
    written(&list)
}

/// What an amount costs.
pub(super) fn fee(amount: u64, currency: &Currency, fee: u64) -> String {
    #[derive(Serialize)]
    struct Reply<'a> {
        amount: u64,
        currency: &'a str,
        fee: u64,
        total_payable: u64,
    }
    written(&Reply { amount, currency: currency.as_str(), fee, total_payable: amount.saturating_add(fee) })
}

fn written<T: Serialize + ?Sized>(reply: &T) -> String {
    serde_json::to_string(reply).expect("a reply is plain words and numbers")
}
