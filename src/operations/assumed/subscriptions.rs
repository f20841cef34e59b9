//! How a subscription is made, read and listed.

use super::Instrument;
use crate::operations::{Subscription, setters};
use crate::protocol::{Fields, IDEMPOTENCY_KEY, Merchant, Operation, Served, Spec};
use crate::values::{Email, IdempotencyKey, PageLimit, PlanKey, SubscriptionId};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// `POST /v1/subscriptions`: bill a customer by a plan, from now on or from the end of the plan's trial.
///
/// A first charge that is declined is no refusal: the subscription is made, and is `past_due`. Nobody is present when it is
/// charged: what would ask the customer for something is declined with `authentication_required`.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct CreateSubscription {
    /// The plan, by its id or its code.
    pub plan: PlanKey,
    /// The customer's e-mail address.
    pub customer_email: Email,
    /// The customer's first name.
    pub firstname: String,
    /// The customer's last name.
    pub lastname: String,
    /// What every period is paid with.
    pub payment_method: Instrument,
    /// Free key-value pairs.
    pub metadata: Option<BTreeMap<String, Value>>,
    /// Under this key one subscription is made, however often this is sent. Without it the native client sends this but
    /// once, since a service may know no keys.
    #[serde(rename = "Idempotency-Key")]
    pub idempotency_key: Option<IdempotencyKey>,
}

impl CreateSubscription {
    /// This customer pays by this plan with this instrument.
    #[must_use]
    pub fn new(
        plan: impl Into<PlanKey>,
        customer_email: Email,
        firstname: impl Into<String>,
        lastname: impl Into<String>,
        payment_method: Instrument,
    ) -> Self {
        Self {
            plan: plan.into(),
            customer_email,
            firstname: firstname.into(),
            lastname: lastname.into(),
            payment_method,
            metadata: None,
            idempotency_key: None,
        }
    }
}

setters! { CreateSubscription {
    /// Free key-value pairs.
    metadata: BTreeMap<String, Value>,
    /// Made once under this key, for a day: give one of your own to be able to send it again later.
    idempotency_key: IdempotencyKey,
} }

impl Operation for CreateSubscription {
    type Role = Merchant;
    type Output = Subscription;
    const SPEC: Spec = Spec::post("create_subscription", "/v1/subscriptions").assumed().keyed();
}

impl Served for CreateSubscription {
    fn read(fields: &mut Fields) -> Option<Self> {
        let plan = fields.required("plan");
        let customer_email = fields.required("customer_email");
        let firstname = fields.required("firstname");
        let lastname = fields.required("lastname");
        let payment_method = fields.required("payment_method");
        let metadata = fields.optional("metadata");
        let idempotency_key = fields.optional(IDEMPOTENCY_KEY);
        Some(Self {
            plan: plan?,
            customer_email: customer_email?,
            firstname: firstname?,
            lastname: lastname?,
            payment_method: payment_method?,
            metadata: metadata?,
            idempotency_key: idempotency_key?,
        })
    }
}

/// `GET /v1/subscriptions`: the merchant's subscriptions, the newest first.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct ListSubscriptions {
    /// How many; the service's default is 100, and the most.
    #[cfg_attr(feature = "sandbox", schemars(extend("default" = 100)))]
    pub limit: Option<PageLimit>,
    /// Those after this one.
    pub starting_after: Option<SubscriptionId>,
}

impl ListSubscriptions {
    /// The first page.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { ListSubscriptions {
    /// So many.
    limit: PageLimit,
    /// Those after this one.
    starting_after: SubscriptionId,
} }

impl Operation for ListSubscriptions {
    type Role = Merchant;
    type Output = Vec<Subscription>;
    const SPEC: Spec =
        Spec::get("list_subscriptions", "/v1/subscriptions").asking(&["limit", "starting_after"]).assumed();
}

impl Served for ListSubscriptions {
    fn read(fields: &mut Fields) -> Option<Self> {
        let limit = fields.optional("limit");
        let starting_after = fields.optional("starting_after");
        Some(Self { limit: limit?, starting_after: starting_after? })
    }
}

/// `GET /v1/subscriptions/{id}`: how a subscription stands.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct ReadSubscription {
    /// The subscription.
    pub id: SubscriptionId,
}

impl ReadSubscription {
    /// Of this subscription.
    #[must_use]
    pub fn new(id: SubscriptionId) -> Self {
        Self { id }
    }
}

impl Operation for ReadSubscription {
    type Role = Merchant;
    type Output = Subscription;
    const SPEC: Spec = Spec::get("read_subscription", "/v1/subscriptions/{id}").assumed();
}

impl Served for ReadSubscription {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self::new(fields.required("id")?))
    }
}
