//! The outcomes and an example of each operation. The order is that of `every_operation!`.

use super::examples::{Examples, moved, page, valid, with};
use crate::replies;
use crate::rules::billing::{Plan, SubscriptionState};
use crate::rules::{Cancellation, EsimOrder, Fulfilment, Intent};
use crate::service::{Done, methods, sessions};
use guichet::operations::*;
use guichet::protocol::{ErrorCode, Operation};
use guichet::values::{CardType, ConfirmationMethod, Country, IdempotencyKey, MethodCode, PageLimit};

/// What the description of an operation shows beside its types. If an operation lacks it, the service does not compile.
#[diagnostic::on_unimplemented(
    message = "the OpenAPI description has no outcomes and no example of `{Self}`",
    label = "write `impl Described for {Self}` in crates/sandbox/src/openapi/operations.rs"
)]
pub(super) trait Described: Operation + Sized {
    /// Its success statuses and error codes.
    const OUTCOMES: Outcomes;

    /// A request and its result.
    fn example(examples: &Examples) -> (Self, Done);
}

/// The success statuses and the error codes of one operation.
#[derive(Clone, Copy)]
pub(super) struct Outcomes {
    /// The statuses of its success.
    pub(super) statuses: &'static [u16],
    /// The error codes of its rules. The codes of its credentials, its path and its fields' formats follow from the operation itself
    /// and are not listed here.
    pub(super) codes: &'static [ErrorCode],
}

impl Outcomes {
    const OK: Self = Self { statuses: &[200], codes: &[] };
    /// The operation always creates a new object.
    const CREATED: Self = Self { statuses: &[201], codes: &[] };
    /// The operation is safe to repeat: 201 if it creates the object, 200 if the object existed before.
    const CREATED_ONCE: Self = Self { statuses: &[200, 201], codes: &[] };

    /// Adds the error codes of the operation's rules.
    const fn or(self, codes: &'static [ErrorCode]) -> Self {
        Self { codes, ..self }
    }
}

impl Described for CreateSession {
    const OUTCOMES: Outcomes = Outcomes::CREATED;

    fn example(examples: &Examples) -> (Self, Done) {
        let data = replies::new_session(&examples.session(), &examples.session_token());
        (CreateSession::new(examples.email()), Done::created(data).with_message(sessions::CREATED))
    }
}

impl Described for ValidateSession {
    const OUTCOMES: Outcomes = Outcomes::OK;

    fn example(examples: &Examples) -> (Self, Done) {
        (ValidateSession::new(), Done::ok(replies::valid_session(&examples.session())).with_message(sessions::VALID))
    }
}

impl Described for RevokeSession {
    const OUTCOMES: Outcomes = Outcomes::OK;

    fn example(examples: &Examples) -> (Self, Done) {
        let data = replies::revoked_session(&examples.session(), examples.now);
        (RevokeSession::new(), Done::ok(data).with_message(sessions::ENDED))
    }
}

impl Described for ListPaymentMethods {
    const OUTCOMES: Outcomes = Outcomes::OK;

    fn example(examples: &Examples) -> (Self, Done) {
        let methods = replies::methods(&examples.fees.methods(&Country::cm()));
        (ListPaymentMethods::new().country_code(Country::cm()), Done::ok(methods).with_message(methods::METHODS))
    }
}

impl Described for CalculateFee {
    const OUTCOMES: Outcomes = Outcomes::OK.or(&[
        ErrorCode::PaymentMethodUnavailable,
        ErrorCode::AmountOutOfRange,
        ErrorCode::CurrencyUnsupported,
    ]);

    fn example(examples: &Examples) -> (Self, Done) {
        let CreatePaymentIntent { amount, currency, .. } = examples.order();
        let method = valid(MethodCode::new("mobile_money"));
        let units = amount.whole_units().unwrap_or_default();
        let fee = examples.fees.fee(method.as_str(), &currency, &Country::cm(), CardType::Local, units);
        let data = replies::fee(units, &currency, fee.unwrap_or_default());
        let request = CalculateFee::new(method, currency, amount).country_code(Country::cm());
        (request, Done::ok(data).with_message(methods::FEE))
    }
}

impl Described for CreatePaymentIntent {
    const OUTCOMES: Outcomes = Outcomes::CREATED_ONCE.or(&[
        ErrorCode::MerchantReferenceConflict,
        ErrorCode::AmountOutOfRange,
        ErrorCode::CurrencyUnsupported,
        ErrorCode::PaymentMethodUnavailable,
    ]);

    fn example(examples: &Examples) -> (Self, Done) {
        (examples.order(), Done::created(examples.intent_reply(&examples.intent())))
    }
}

impl Described for ReadPaymentIntent {
    const OUTCOMES: Outcomes = Outcomes::OK;

    fn example(examples: &Examples) -> (Self, Done) {
        let request = ReadPaymentIntent::new(examples.intent_id());
        (request, Done::ok(examples.intent_reply(&examples.intent())))
    }
}

impl Described for AttachPaymentMethod {
    const OUTCOMES: Outcomes = Outcomes::OK.or(&[
        ErrorCode::IntentNotConfirmable,
        ErrorCode::PaymentMethodUnavailable,
        ErrorCode::TestCardRequired,
    ]);

    fn example(examples: &Examples) -> (Self, Done) {
        let with = examples.mobile_money();
        let intent = examples.intent_with(examples.intent(), &with);
        let request = AttachPaymentMethod::new(intent.id.clone(), with);
        (request, Done::ok(examples.intent_reply(&intent)))
    }
}

impl Described for ListPaymentIntents {
    const OUTCOMES: Outcomes = Outcomes::OK;

    fn example(examples: &Examples) -> (Self, Done) {
        let request = ListPaymentIntents::new().limit(PageLimit::default());
        (request, page(&[examples.intent_reply(&examples.intent())]))
    }
}

impl Described for ConfirmPaymentIntent {
    const OUTCOMES: Outcomes = Outcomes::OK.or(&[ErrorCode::IntentNotConfirmable, ErrorCode::RoleRequired]);

    fn example(examples: &Examples) -> (Self, Done) {
        let mut intent = examples.intent();
        intent.terms.confirmation_method = ConfirmationMethod::Manual;
        let intent = examples.intent_with(intent, &examples.mobile_money());
        let confirmed = Intent { state: valid(intent.state.confirm(examples.now)), ..intent };
        let request = ConfirmPaymentIntent::new(confirmed.id.clone());
        (request, Done::ok(examples.intent_reply(&confirmed)))
    }
}

impl Described for AnswerPaymentIntent {
    const OUTCOMES: Outcomes = Outcomes::OK.or(&[ErrorCode::IntentNotConfirmable]);

    fn example(examples: &Examples) -> (Self, Done) {
        let intent = examples.intent_with(examples.intent(), &examples.phone_with_code());
        let answered = Intent { state: valid(intent.state.answer("123456", examples.now)), ..intent };
        let request = AnswerPaymentIntent::new(answered.id.clone(), "123456");
        (request, Done::ok(examples.intent_reply(&answered)))
    }
}

impl Described for CancelPaymentIntent {
    const OUTCOMES: Outcomes = Outcomes::OK.or(&[ErrorCode::IntentNotCancelable]);

    fn example(examples: &Examples) -> (Self, Done) {
        let intent = examples.intent();
        let state = valid(intent.state.cancel(Cancellation::RequestedByMerchant, examples.now));
        let canceled = Intent { state: moved(state), ..intent };
        let request = CancelPaymentIntent::new(canceled.id.clone());
        (request, Done::ok(examples.intent_reply(&canceled)))
    }
}

impl Described for ListCustomers {
    const OUTCOMES: Outcomes = Outcomes::OK;

    fn example(examples: &Examples) -> (Self, Done) {
        let request = ListCustomers::new().limit(PageLimit::default());
        (request, page(&[replies::customer(&examples.customer())]))
    }
}

impl Described for ListEsimPackages {
    const OUTCOMES: Outcomes = Outcomes::OK;

    fn example(examples: &Examples) -> (Self, Done) {
        let packages: Vec<_> = examples.packages.all().iter().map(replies::esim_package).collect();
        (ListEsimPackages::new().limit(PageLimit::default()), page(&packages))
    }
}

impl Described for CreateEsimOrder {
    const OUTCOMES: Outcomes = Outcomes::CREATED_ONCE.or(&[
        ErrorCode::ResourceMissing,
        ErrorCode::QuantityOutOfRange,
        ErrorCode::IdempotencyKeyReused,
    ]);

    fn example(examples: &Examples) -> (Self, Done) {
        let order = examples.esim_order();
        let key = valid(IdempotencyKey::new("basket-17"));
        let request = CreateEsimOrder::new(order.package.clone()).idempotency_key(key);
        (request, Done::created(replies::esim_order(&order, &examples.key)))
    }
}

impl Described for ReadEsimOrder {
    const OUTCOMES: Outcomes = Outcomes::OK;

    fn example(examples: &Examples) -> (Self, Done) {
        let paid = Fulfilment { paid_by: examples.intent_id(), at: examples.now };
        let order = EsimOrder { fulfilment: Some(paid), ..examples.esim_order() };
        let request = ReadEsimOrder::new(order.id.clone());
        (request, Done::ok(replies::esim_order(&order, &examples.key)))
    }
}

impl Described for CreatePlan {
    const OUTCOMES: Outcomes =
        Outcomes::CREATED.or(&[ErrorCode::PlanCodeTaken, ErrorCode::AmountOutOfRange, ErrorCode::CurrencyUnsupported]);

    fn example(examples: &Examples) -> (Self, Done) {
        (examples.create_plan(), Done::created(replies::plan(&examples.plan())))
    }
}

impl Described for ListPlans {
    const OUTCOMES: Outcomes = Outcomes::OK;

    fn example(examples: &Examples) -> (Self, Done) {
        (ListPlans::new().limit(PageLimit::default()), page(&[replies::plan(&examples.plan())]))
    }
}

impl Described for DeactivatePlan {
    const OUTCOMES: Outcomes = Outcomes::OK;

    fn example(examples: &Examples) -> (Self, Done) {
        let plan = Plan { active: false, ..examples.plan() };
        (DeactivatePlan::new(plan.id.clone()), Done::ok(replies::plan(&plan)))
    }
}

impl Described for CreateSubscription {
    const OUTCOMES: Outcomes = Outcomes::CREATED_ONCE.or(&[
        ErrorCode::ResourceMissing,
        ErrorCode::PlanInactive,
        ErrorCode::TestCardRequired,
        ErrorCode::IdempotencyKeyReused,
    ]);

    fn example(examples: &Examples) -> (Self, Done) {
        let made = replies::subscription(&examples.subscription(), None);
        (examples.create_subscription(), Done::created(made))
    }
}

impl Described for ListSubscriptions {
    const OUTCOMES: Outcomes = Outcomes::OK;

    fn example(examples: &Examples) -> (Self, Done) {
        let subscription = replies::subscription(&examples.subscription(), None);
        (ListSubscriptions::new().limit(PageLimit::default()), page(&[subscription]))
    }
}

impl Described for ReadSubscription {
    const OUTCOMES: Outcomes = Outcomes::OK;

    fn example(examples: &Examples) -> (Self, Done) {
        let subscription = replies::subscription(&examples.subscription(), None);
        (ReadSubscription::new(examples.subscription_id()), Done::ok(subscription))
    }
}

impl Described for PauseSubscription {
    const OUTCOMES: Outcomes = Outcomes::OK.or(&[ErrorCode::SubscriptionState]);

    fn example(examples: &Examples) -> (Self, Done) {
        let paused = examples.moved(examples.subscription(), |state| state.pause(true, examples.now));
        let request = PauseSubscription::new(paused.id.clone());
        (request, Done::ok(replies::subscription(&paused, None)))
    }
}

impl Described for ResumeSubscription {
    const OUTCOMES: Outcomes = Outcomes::OK.or(&[ErrorCode::SubscriptionState]);

    fn example(examples: &Examples) -> (Self, Done) {
        let paused = examples.moved(examples.subscription(), |state| state.pause(true, examples.now));
        let resumed = examples.moved(paused, |state| state.resume(examples.now));
        let request = ResumeSubscription::new(resumed.id.clone());
        (request, Done::ok(replies::subscription(&resumed, None)))
    }
}

impl Described for CancelSubscription {
    const OUTCOMES: Outcomes = Outcomes::OK;

    fn example(examples: &Examples) -> (Self, Done) {
        let rule = |state: &SubscriptionState| Ok(state.cancel(false, examples.now).map(|state| (state, ())));
        let canceled = examples.moved(examples.subscription(), rule);
        let request = CancelSubscription::new(canceled.id.clone());
        (request, Done::ok(replies::subscription(&canceled, None)))
    }
}

impl Described for ChangeSubscriptionPaymentMethod {
    const OUTCOMES: Outcomes = Outcomes::OK.or(&[ErrorCode::SubscriptionState, ErrorCode::TestCardRequired]);

    fn example(examples: &Examples) -> (Self, Done) {
        let other = examples.other_phone();
        let changed = examples.moved(examples.subscription(), |state| state.pay_with(with(&other)));
        let request = ChangeSubscriptionPaymentMethod::new(changed.id.clone(), other);
        (request, Done::ok(replies::subscription(&changed, None)))
    }
}

impl Described for ConfigureFallback {
    const OUTCOMES: Outcomes = Outcomes::OK.or(&[ErrorCode::SubscriptionState, ErrorCode::TestCardRequired]);

    fn example(examples: &Examples) -> (Self, Done) {
        let other = examples.other_phone();
        let changed = examples.moved(examples.subscription(), |state| state.fall_back_on(with(&other), 3));
        let request = ConfigureFallback::new(changed.id.clone(), other);
        (request, Done::ok(replies::subscription(&changed, None)))
    }
}
