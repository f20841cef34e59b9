//! Creates, reads and lists subscriptions, and changes them for the merchant.

use super::billing::Billing;
use super::examples::{Examples, page, with};
use super::idempotency::idempotent_request;
use super::instruments::{not_usable, paying_with};
use super::new_intent::in_one_order;
use super::{Described, Done, Handle, MAX_ROUNDS, Merchant, Outcomes, Service, to_read};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::replies;
use crate::rules::billing::{Charge, Conflict, Subscription, SubscriptionState, Terms};
use crate::rules::{IdempotentRequest, read_instrument};
use crate::store::{Customer, List, Write};
use crate::tokens;
use crate::unavailable::Unavailable;
use guichet::operations::{
    CancelSubscription, ChangeSubscriptionPaymentMethod, ConfigureFallback, CreateSubscription, ListSubscriptions,
    PauseSubscription, ReadSubscription, ResumeSubscription,
};
use guichet::protocol::{ErrorCode, FieldError};
use guichet::values::{Moment, PageLimit, SubscriptionId};

impl Handle<CreateSubscription> for Service {
    async fn handle(&self, caller: Caller, operation: CreateSubscription) -> Result<Done, Problem> {
        let merchant = caller.merchant()?;
        let request = idempotent_request(merchant, &operation, operation.idempotency_key.as_ref())?;
        let create = |request| self.subscribe(merchant, operation.clone(), request);
        let (id, before) = self.create_once(request, create).await?;
        let made = self.subscription_of(merchant, &id).await?;
        Ok(Done::created_or_replayed(replies::subscription(&made, None), before))
    }
}

impl Described for CreateSubscription {
    const OUTCOMES: Outcomes = Outcomes::CREATED_ONCE.or(&[
        ErrorCode::ResourceMissing,
        ErrorCode::PaymentMethodUnavailable,
        ErrorCode::PlanInactive,
        ErrorCode::TestCardRequired,
        ErrorCode::IdempotencyKeyReused,
    ]);

    fn example(examples: &Examples) -> (Self, Done) {
        let made = replies::subscription(&examples.subscription(), None);
        (examples.create_subscription(), Done::created(made))
    }
}

impl Handle<ReadSubscription> for Service {
    async fn handle(&self, caller: Caller, operation: ReadSubscription) -> Result<Done, Problem> {
        let subscription = self.subscription_of(caller.merchant()?, &operation.id).await?;
        Ok(Done::ok(replies::subscription(&subscription, None)))
    }
}

impl Described for ReadSubscription {
    fn example(examples: &Examples) -> (Self, Done) {
        let subscription = replies::subscription(&examples.subscription(), None);
        (ReadSubscription::new(examples.subscription_id()), Done::ok(subscription))
    }
}

impl Handle<ListSubscriptions> for Service {
    async fn handle(&self, caller: Caller, operation: ListSubscriptions) -> Result<Done, Problem> {
        let merchant = caller.merchant()?;
        self.bill(merchant).await?;
        let after = self.after(List::Subscriptions, merchant, operation.starting_after).await?;
        let limit = operation.limit.unwrap_or_default();
        let all = self.store.subscriptions(merchant.id(), after, to_read(limit)).await?;
        Ok(Done::list(all, limit, |one| one.id.to_string(), |one| replies::subscription(&one, None)))
    }
}

impl Described for ListSubscriptions {
    fn example(examples: &Examples) -> (Self, Done) {
        let subscription = replies::subscription(&examples.subscription(), None);
        (ListSubscriptions::new().limit(PageLimit::default()), page(&[subscription]))
    }
}

impl Handle<PauseSubscription> for Service {
    async fn handle(&self, caller: Caller, operation: PauseSubscription) -> Result<Done, Problem> {
        let PauseSubscription { id, immediately, trigger_after_failures, .. } = operation;
        let rule = |state: &SubscriptionState, now: Moment| state.pause(immediately, now);
        self.change_subscription(&caller, &id, trigger_after_failures, rule).await
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

impl Handle<ResumeSubscription> for Service {
    async fn handle(&self, caller: Caller, operation: ResumeSubscription) -> Result<Done, Problem> {
        self.change_subscription(&caller, &operation.id, None, SubscriptionState::resume).await
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

impl Handle<CancelSubscription> for Service {
    async fn handle(&self, caller: Caller, operation: CancelSubscription) -> Result<Done, Problem> {
        let CancelSubscription { id, immediately, .. } = operation;
        let rule =
            |state: &SubscriptionState, now: Moment| Ok(state.cancel(immediately, now).map(|state| (state, None)));
        self.change_subscription(&caller, &id, None, rule).await
    }
}

impl Described for CancelSubscription {
    fn example(examples: &Examples) -> (Self, Done) {
        let rule = |state: &SubscriptionState| Ok(state.cancel(false, examples.now).map(|state| (state, ())));
        let canceled = examples.moved(examples.subscription(), rule);
        let request = CancelSubscription::new(canceled.id.clone());
        (request, Done::ok(replies::subscription(&canceled, None)))
    }
}

impl Handle<ChangeSubscriptionPaymentMethod> for Service {
    async fn handle(&self, caller: Caller, operation: ChangeSubscriptionPaymentMethod) -> Result<Done, Problem> {
        let with = paying_with(&operation.payment_method)?;
        let rule = |state: &SubscriptionState, _: Moment| state.pay_with(with.clone());
        self.change_subscription(&caller, &operation.id, None, rule).await
    }
}

impl Described for ChangeSubscriptionPaymentMethod {
    const OUTCOMES: Outcomes = Outcomes::OK.or(&[
        ErrorCode::SubscriptionState,
        ErrorCode::PaymentMethodUnavailable,
        ErrorCode::TestCardRequired,
    ]);

    fn example(examples: &Examples) -> (Self, Done) {
        let other = examples.other_phone();
        let changed = examples.moved(examples.subscription(), |state| state.pay_with(with(&other)));
        let request = ChangeSubscriptionPaymentMethod::new(changed.id.clone(), other);
        (request, Done::ok(replies::subscription(&changed, None)))
    }
}

impl Handle<ConfigureFallback> for Service {
    async fn handle(&self, caller: Caller, operation: ConfigureFallback) -> Result<Done, Problem> {
        let ConfigureFallback { id, payment_method, trigger_after_failures, .. } = operation;
        let with = paying_with(&payment_method)?;
        let rule = |state: &SubscriptionState, _: Moment| state.fall_back_on(with.clone(), trigger_after_failures);
        self.change_subscription(&caller, &id, None, rule).await
    }
}

impl Described for ConfigureFallback {
    const OUTCOMES: Outcomes = Outcomes::OK.or(&[
        ErrorCode::SubscriptionState,
        ErrorCode::PaymentMethodUnavailable,
        ErrorCode::TestCardRequired,
    ]);

    fn example(examples: &Examples) -> (Self, Done) {
        let other = examples.other_phone();
        let changed = examples.moved(examples.subscription(), |state| state.fall_back_on(with(&other), 3));
        let request = ConfigureFallback::new(changed.id.clone(), other);
        (request, Done::ok(replies::subscription(&changed, None)))
    }
}

impl Service {
    /// Creates a subscription, with its first charge if it has no trial, and returns its id. `None` if another was
    /// created under the same idempotency key meanwhile.
    pub(super) async fn subscribe(
        &self,
        merchant: &Merchant,
        operation: CreateSubscription,
        request: Option<IdempotentRequest>,
    ) -> Result<Option<SubscriptionId>, Problem> {
        let CreateSubscription { plan, customer_email, firstname, lastname, payment_method, metadata, .. } = operation;
        let plan = self.store.plan_by_key(merchant.id(), &plan).await?.ok_or_else(|| Problem::missing("plan"))?;
        let mut faults = Vec::new();
        if !plan.active {
            let message = "This plan is no longer active. Subscribe to an active plan.".to_owned();
            faults.push(FieldError::of("plan", &ErrorCode::PlanInactive, message));
        }
        let with = read_instrument(&payment_method);
        if with.is_none() {
            faults.push(not_usable(&payment_method));
        }
        let (Some(with), true) = (with, faults.is_empty()) else { return Err(Problem::fields(faults)) };

        let now = merchant.now();
        let email = customer_email.to_string();
        let customer = Customer {
            id: tokens::id("cus_"),
            merchant: merchant.id().to_owned(),
            contact: Customer::contact(Some(&email), None),
            firstname: firstname.clone(),
            lastname: lastname.clone(),
            email: email.clone(),
            phone: String::new(),
            created_at: now,
        };
        let metadata = metadata.map(|metadata| serde_json::value::to_raw_value(&in_one_order(metadata)));
        let first = SubscriptionState::begin(&plan.offer, with, now);
        let subscription = Subscription {
            id: SubscriptionId::new(tokens::id("sub_")).map_err(|error| Problem::internal(&error))?,
            merchant: merchant.id().to_owned(),
            customer_id: customer.id.clone(),
            terms: Terms {
                email,
                firstname,
                lastname,
                plan: plan.id,
                offer: plan.offer,
                metadata: metadata.transpose().map_err(|error| Problem::internal(&error))?,
            },
            state: first.0.clone(),
            created_at: now,
            version: 1,
        };
        let id = subscription.id.clone();
        let mut billing = Billing::of_new(subscription, customer, now);
        billing.transition(first, now)?;
        billing.run(now)?;
        let write = Write::SaveBilled(vec![billing.into_billed()]).if_key_is_new(request, id.to_string());
        Ok(self.store.write(write).await?.then_some(id))
    }

    /// The current state of a merchant's subscription.
    async fn subscription_of(&self, merchant: &Merchant, id: &SubscriptionId) -> Result<Subscription, Problem> {
        self.bill(merchant).await?;
        self.store.subscription(merchant.id(), id).await?.ok_or_else(|| Problem::missing("subscription"))
    }

    /// Loads a subscription, applies a rule and saves the result. If another request changed it meanwhile, it starts
    /// again. If the rule returns `None`, nothing changes. `echoed` is written in place of the reply's
    /// `trigger_after_failures`.
    async fn change_subscription(
        &self,
        caller: &Caller,
        id: &SubscriptionId,
        echoed: Option<u32>,
        rule: impl Fn(&SubscriptionState, Moment) -> Result<Option<(SubscriptionState, Option<Charge>)>, Conflict>,
    ) -> Result<Done, Problem> {
        let merchant = caller.merchant()?;
        let reply = |subscription: &Subscription| Ok(Done::ok(replies::subscription(subscription, echoed)));
        for _ in 0..MAX_ROUNDS {
            let subscription = self.subscription_of(merchant, id).await?;
            let now = merchant.now();
            if subscription.state.due().is_some_and(|(at, _)| at <= now) {
                // Something became due after the subscription was read: it is applied first.
                continue;
            }
            let Some(transition) = rule(&subscription.state, now).map_err(refused)? else {
                return reply(&subscription);
            };
            let mut billing = Billing::of(subscription);
            billing.transition(transition, now)?;
            billing.run(now)?;
            let billed = billing.into_billed();
            let moved = billed.subscription.clone();
            if self.store.write(Write::SaveBilled(vec![billed])).await? {
                return reply(&moved);
            }
        }
        Err(Unavailable::contended().into())
    }
}

/// The error for a change that the subscription's status does not allow. Its message names the status.
fn refused(conflict: Conflict) -> Problem {
    let message = format!("The subscription is {} {}", conflict.status.into_str(), conflict.why);
    Problem::new(ErrorCode::SubscriptionState, message)
}
