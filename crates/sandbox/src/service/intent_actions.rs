//! The operations that change a payment intent: attach a method, confirm, answer with a code, decide at the card's
//! issuer, cancel.

use super::examples::{Examples, moved, valid};
use super::instruments::paying_with;
use super::{Described, Done, Handle, MAX_ROUNDS, Merchant, Outcomes, Service};
use crate::auth::{client_secret, role_required};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::replies;
use crate::requests::Request;
use crate::rules::{
    Cancellation, Conflict, HandsetDecision, Intent, IntentState, Operator, OperatorStatus, PayingWith,
};
use crate::tokens::same;
use crate::unavailable::Unavailable;
use guichet::operations::{
    AbandonPaymentIntent, AnswerPaymentIntent, AttachPaymentMethod, CancelPaymentIntent, ConfirmPaymentIntent,
};
use guichet::protocol::{ErrorCode, Merchant as MerchantRole, Role};
use guichet::values::{ConfirmationMethod, IntentId, Moment};

impl Handle<AttachPaymentMethod> for Service {
    async fn handle(&self, caller: Caller, operation: AttachPaymentMethod) -> Result<Done, Problem> {
        self.attach(&caller, &operation, None).await
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

impl Handle<ConfirmPaymentIntent> for Service {
    async fn handle(&self, caller: Caller, operation: ConfirmPaymentIntent) -> Result<Done, Problem> {
        self.change_intent(&caller, &operation.id, None, |intent, now| {
            if intent.terms.confirmation_method == ConfirmationMethod::Manual && !matches!(caller, Caller::Merchant(_))
            {
                return Err(role_required(MerchantRole::NAME));
            }
            intent.state.confirm(now).map(Some).map_err(not_confirmable)
        })
        .await
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

impl Handle<AnswerPaymentIntent> for Service {
    async fn handle(&self, caller: Caller, operation: AnswerPaymentIntent) -> Result<Done, Problem> {
        self.answer(&caller, &operation, None).await
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

impl Handle<CancelPaymentIntent> for Service {
    async fn handle(&self, caller: Caller, operation: CancelPaymentIntent) -> Result<Done, Problem> {
        self.cancel(&caller, &operation, None).await
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

impl Handle<AbandonPaymentIntent> for Service {
    async fn handle(&self, caller: Caller, operation: AbandonPaymentIntent) -> Result<Done, Problem> {
        self.abandon(&caller, &operation).await
    }
}

impl Described for AbandonPaymentIntent {
    const OUTCOMES: Outcomes = Outcomes::OK.or(&[ErrorCode::AttemptNotCurrent]);

    fn example(examples: &Examples) -> (Self, Done) {
        let intent = examples.intent_with(examples.intent(), &examples.phone_without_answer());
        let abandoned = moved(valid(intent.state.abandon(1, examples.now)));
        let intent = Intent { state: abandoned, ..intent }.at(examples.now);
        let request = AbandonPaymentIntent::new(intent.id.clone(), 1_u32);
        (request, Done::ok(examples.intent_reply(&intent)))
    }
}

/// The actions of a customer. `version` is the version of the intent that the customer has seen in a form: if the
/// intent was changed since, nothing changes, so that a form that is sent twice acts once.
impl Service {
    /// Attaches a payment method.
    pub(crate) async fn attach(
        &self,
        caller: &Caller,
        operation: &AttachPaymentMethod,
        version: Option<i64>,
    ) -> Result<Done, Problem> {
        let with = paying_with(&operation.payment_method)?;
        let statuses = caller.known_merchant().map(|merchant| merchant.operators()).unwrap_or_default();
        self.change_intent(caller, &operation.id, version, |intent, now| {
            if !intent.terms.accepts(with.kind()) {
                let message = format!("This payment does not take {}.", with.kind());
                return Err(Problem::field("payment_method.type", ErrorCode::PaymentMethodUnavailable, message));
            }
            let attached = intent.state.attach(&intent.terms, with.clone(), now).map_err(not_confirmable)?;
            // Repeating what was sent before the operator closed has no effect, as always.
            let operator = with.operator().and_then(Operator::of_code).filter(|_| attached.is_some());
            if let Some(operator) = operator.filter(|operator| statuses.of(operator.code) == OperatorStatus::Closed) {
                let message = format!("{} takes no payments now. Pay another way.", operator.name);
                return Err(Problem::field("payment_method.operator", ErrorCode::PaymentMethodUnavailable, message));
            }
            Ok(attached)
        })
        .await
    }

    /// Answers with the customer's one-time code.
    pub(crate) async fn answer(
        &self,
        caller: &Caller,
        operation: &AnswerPaymentIntent,
        version: Option<i64>,
    ) -> Result<Done, Problem> {
        self.change_intent(caller, &operation.id, version, |intent, now| {
            intent.state.answer(&operation.otp, now).map(Some).map_err(not_confirmable)
        })
        .await
    }

    /// Cancels the intent.
    pub(crate) async fn cancel(
        &self,
        caller: &Caller,
        operation: &CancelPaymentIntent,
        version: Option<i64>,
    ) -> Result<Done, Problem> {
        let by = match caller {
            Caller::Merchant(_) => Cancellation::RequestedByMerchant,
            _ => Cancellation::RequestedByCustomer,
        };
        self.change_intent(caller, &operation.id, version, |intent, now| {
            intent.state.cancel(by, now).map_err(|conflict| Problem::state(ErrorCode::IntentNotCancelable, conflict))
        })
        .await
    }

    /// Ends an attempt of mobile money.
    pub(crate) async fn abandon(&self, caller: &Caller, operation: &AbandonPaymentIntent) -> Result<Done, Problem> {
        self.change_intent(caller, &operation.id, None, |intent, now| {
            let abandoned = intent.state.abandon(operation.attempt, now);
            abandoned.map_err(|conflict| Problem::state(ErrorCode::AttemptNotCurrent, conflict))
        })
        .await
    }

    /// Applies the customer's decision at the card's issuer, and returns the address where the checkout continues.
    ///
    /// The address has the client secret once: the issuer's own address stays in the browser's history. If the page was
    /// opened again, or its response was lost, repeating the decision has no effect and returns the address without the
    /// secret, which the payment's cookie opens. A token that is invalid or belongs to an older round gets the 404 of
    /// an unknown intent.
    pub(crate) async fn decide_challenge(&self, id: &IntentId, token: &str, approved: bool) -> Result<String, Problem> {
        let caller = client_secret(self, id.clone()).await?;
        for _ in 0..MAX_ROUNDS {
            let (mut intent, now) = self.intent_of(&caller, id).await?;
            // Compares every round, so that the response time does not reveal which one matches.
            let rounds = (0..=intent.state.attempts)
                .filter(|round| same(self.instance_key.challenge(id, *round).expose(), token));
            let round = rounds
                .fold(None, |_, round| Some(round))
                .filter(|round| intent.state.is_challenge_valid(*round))
                .ok_or_else(|| Problem::missing("payment intent"))?;
            match intent.state.decide_challenge(approved, now).filter(|_| round == intent.state.attempts) {
                None => return Ok(format!("{}/checkout/{id}", self.public_origin)),
                Some(state) => intent.state = state,
            }
            let onward = replies::checkout_url(&intent, &self.instance_key, &self.public_origin);
            if self.store.save_intent(intent.at(now)).await? {
                caller.known_merchant().into_iter().for_each(Merchant::changed);
                return Ok(onward);
            }
        }
        Err(Unavailable::contended().into())
    }

    /// Decides an attempt of this payment that waits for the customer's phone, as a test does. `attempt` is its number;
    /// `None`: the newest that can be decided.
    pub(crate) async fn decide_on_handset(
        &self,
        merchant: &Merchant,
        key: &str,
        attempt: Option<u32>,
        decision: HandsetDecision,
    ) -> Result<Intent, Problem> {
        for _ in 0..MAX_ROUNDS {
            let mut intent = self.find_intent(merchant, key).await?;
            let now = merchant.now();
            let decided = intent.state.decide_on_handset(attempt, decision, now);
            let (attempt, state) = decided.ok_or_else(|| {
                let why = "and no attempt of it waits for this decision of the customer's phone. \
                           A phone that ends in 0000020 waits.";
                Problem::state(ErrorCode::IntentNotConfirmable, Conflict { status: intent.state.status, why })
            })?;
            intent.state = state;
            let intent = intent.at(now);
            if self.store.save_intent(intent.clone()).await? {
                merchant.add_request(Request::decided(now, &intent, attempt, decision));
                return Ok(intent);
            }
        }
        Err(Unavailable::contended().into())
    }

    /// Loads an intent, applies a rule and saves the result. If another request changed it meanwhile, it starts again.
    /// If the rule returns `None`, or the intent no longer has this `version`, nothing changes.
    async fn change_intent(
        &self,
        caller: &Caller,
        id: &IntentId,
        version: Option<i64>,
        rule: impl Fn(&Intent, Moment) -> Result<Option<IntentState>, Problem>,
    ) -> Result<Done, Problem> {
        for _ in 0..MAX_ROUNDS {
            let (mut intent, now) = self.intent_of(caller, id).await?;
            let is_outdated = version.is_some_and(|version| version != intent.version);
            match if is_outdated { None } else { rule(&intent, now)? } {
                None => return Ok(Done::ok(self.reply(&intent, caller)).showing([&intent])),
                Some(state) => intent.state = delayed(&intent.state, state, caller),
            }
            // Everything that follows at once, such as a final status, is stored in the same write.
            let intent = intent.at(now);
            if self.store.save_intent(intent.clone()).await? {
                return Ok(Done::ok(self.reply(&intent, caller)).showing([&intent]));
            }
        }
        Err(Unavailable::contended().into())
    }
}

/// The next state of an intent. If an attempt begins, it ends later while its operator is delayed.
fn delayed(before: &IntentState, next: IntentState, caller: &Caller) -> IntentState {
    let statuses =
        caller.known_merchant().filter(|_| next.attempts > before.attempts).map(|merchant| merchant.operators());
    let delay = statuses.map_or(0, |statuses| statuses.delay(next.paying_with.as_ref().and_then(PayingWith::operator)));
    next.delayed(delay)
}

/// The error for a step of a payment that the intent's status does not allow.
fn not_confirmable(conflict: Conflict) -> Problem {
    Problem::state(ErrorCode::IntentNotConfirmable, conflict)
}
