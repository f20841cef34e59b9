//! Subscription plans: a price, and how often it is paid.

use super::{After, operation, resource, supported};
use crate::protocol::{Customer, Merchant};
use crate::values::{Amount, BillingCycle, Currency, PageLimit, PlanCode, PlanId};

/// The longest trial, in days (a decision).
const LONGEST_TRIAL: u32 = 730;

/// `POST /v1/subscriptions/plans`: create a plan that customers can subscribe to.
///
/// ```
/// use guichet::operations::CreatePlan;
/// use guichet::values::{Amount, BillingCycle, PlanCode};
/// let gold = CreatePlan::new("Gold", PlanCode::new("gold")?, Amount::units(5_000), BillingCycle::Monthly).trial_days(14);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// The effect of a code that another plan has: a conflict, even if that plan is no longer active. The longest trial is
/// 730 days (decisions).
#[operation(POST "/v1/subscriptions/plans" -> Plan, role = Merchant)]
pub struct CreatePlan {
    /// The name that customers see.
    pub name: String,
    /// The merchant's unique slug of the plan.
    pub code: PlanCode,
    /// The price of each period, in the smallest unit. Written as a JSON number.
    #[field(number)]
    pub amount: Amount,
    /// The currency of the price.
    #[field(default, check = supported)]
    pub currency: Currency,
    /// The length of a period.
    pub billing_cycle: BillingCycle,
    /// The number of free days before the first charge.
    #[field(default = 0, max = LONGEST_TRIAL)]
    pub trial_days: u32,
}

/// `GET /v1/subscriptions/plans`: the merchant's plans, the newest first.
///
/// # Undocumented
/// Access: the secret key or a session token. The list has pages, and contains deactivated plans only on request
/// (decisions).
#[operation(
    GET "/v1/subscriptions/plans" -> Vec<Plan>,
    role = Customer,
)]
pub struct ListPlans {
    /// The number of entries per page. The service's default is 100, which is also the most.
    #[field(undocumented, default = 100)]
    pub limit: Option<PageLimit>,
    /// Only the entries after this one.
    #[field(undocumented)]
    pub starting_after: Option<PlanId>,
    /// Whether to list deactivated plans too.
    #[field(undocumented, default = false)]
    pub include_inactive: Option<bool>,
}

/// `DELETE /v1/subscriptions/plans/{id}`: deactivate a plan, so that it accepts no new subscriptions. It can be
/// repeated.
///
/// # Undocumented
/// The reply, and the effect on existing subscriptions. Chosen: the reply is the plan with `active: false`; existing
/// subscriptions continue at their price, and the code stays taken.
#[operation(DELETE "/v1/subscriptions/plans/{id}" -> After<Plan>, role = Merchant, example = "plan_1")]
pub struct DeactivatePlan {
    /// The plan.
    pub id: PlanId,
}

/// A plan, as the service sees it now.
///
/// The fields below `billing_cycle` are decisions: the document's reply to a create has none of them.
///
/// ```
/// use guichet::operations::Plan;
/// let plan: Plan = guichet::protocol::decode(br#"{"data": {"id": "plan_1", "name": "Gold", "code": "gold", "amount": 5000, "currency": "XAF", "billing_cycle": "monthly"}}"#)?;
/// assert!(plan.active);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource]
pub struct Plan {
    /// Its identifier.
    #[field(required, schema("pattern" = "^plan_[0-9A-Za-z]{22}$"))]
    pub id: PlanId,
    /// The name that customers see.
    #[field(required)]
    pub name: String,
    /// The merchant's unique slug of it.
    #[field(required)]
    pub code: PlanCode,
    /// The price of each period, in the smallest unit.
    #[field(required, number)]
    pub amount: Amount,
    /// The currency of the price.
    #[field(required, like = Currency)]
    pub currency: String,
    /// The length of a period: `daily`, `weekly`, `monthly`, `quarterly`, `yearly`, or a word of the service.
    #[field(required, like = BillingCycle)]
    pub billing_cycle: String,

    /// The number of free days before the first charge.
    #[field(undocumented)]
    pub trial_days: u32,
    /// Whether customers can subscribe to it; true if the service does not say.
    #[field(undocumented, absent = true)]
    pub active: bool,
    /// When it was made, in Unix seconds.
    #[field(undocumented, always)]
    pub created_at: Option<i64>,
}
