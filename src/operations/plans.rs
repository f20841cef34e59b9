//! Subscription plans: a price, and how often it is paid.

use super::{setters, supported};
use crate::protocol::{Customer, Fields, FromField, Merchant, Operation, Served, Spec, Whole, lenient, whole};
use crate::values::{Amount, BillingCycle, Currency, Figure, Invalid, PageLimit, PlanCode, PlanId};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// The longest trial, in days (a decision).
const LONGEST_TRIAL: u32 = 730;

/// `POST /v1/subscriptions/plans`: define what customers subscribe to.
///
/// # Not shown
/// What a code that is taken does: a conflict, also where the plan that has it is no longer active; and the longest
/// trial: 730 days (decisions).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct CreatePlan {
    /// The name that customers see.
    pub name: String,
    /// The merchant's unique slug of the plan.
    pub code: PlanCode,
    /// The price of each period, in the smallest unit. Written as a JSON number.
    #[serde(serialize_with = "as_number")]
    #[cfg_attr(feature = "sandbox", schemars(with = "Price"))]
    pub amount: Amount,
    /// In which currency.
    #[cfg_attr(feature = "sandbox", schemars(default))]
    pub currency: Currency,
    /// How long a period is.
    pub billing_cycle: BillingCycle,
    /// How many days are free before the first charge.
    #[cfg_attr(feature = "sandbox", schemars(range(max = LONGEST_TRIAL), extend("default" = 0)))]
    pub trial_days: u32,
}

impl CreatePlan {
    /// A plan at this price a period, in XAF and without a trial.
    #[must_use]
    pub fn new(name: impl Into<String>, code: PlanCode, amount: Amount, billing_cycle: BillingCycle) -> Self {
        Self { name: name.into(), code, amount, currency: Currency::default(), billing_cycle, trial_days: 0 }
    }
}

setters! { CreatePlan {
    /// Another currency than XAF.
    currency: Currency,
    /// So many free days before the first charge.
    trial_days: u32,
} }

impl Operation for CreatePlan {
    type Role = Merchant;
    type Output = Plan;
    const SPEC: Spec = Spec::post("create_plan", "/v1/subscriptions/plans");
}

impl Served for CreatePlan {
    fn read(fields: &mut Fields) -> Option<Self> {
        let name = fields.required("name");
        let code = fields.required("code");
        let amount = fields.required::<Price>("amount");
        let currency = fields.or("currency", Currency::default());
        let billing_cycle = fields.required("billing_cycle");
        supported(fields, "currency", currency.as_ref());
        let trial_days = fields.or::<Whole<0, LONGEST_TRIAL>>("trial_days", Whole(0));
        Some(Self {
            name: name?,
            code: code?,
            amount: amount?.0,
            currency: currency?,
            billing_cycle: billing_cycle?,
            trial_days: trial_days?.0,
        })
    }
}

/// An amount as the document writes a plan's: a JSON number.
struct Price(Amount);

#[cfg(feature = "sandbox")]
crate::values::described! {
    Price: schemars::json_schema!({ "type": "integer", "minimum": 1, "maximum": 999_999_999_999_999_u64 })
}

impl FromField for Price {
    fn from_field(value: &Value) -> Result<Self, Invalid> {
        let amount = whole(value).and_then(|units| Amount::new(&units.to_string()).ok());
        amount.map(Self).ok_or(Invalid::because(
            "A plan's amount is a whole JSON number in the smallest currency unit, of 1 to 15 digits and not 0: 5000.",
        ))
    }

    fn refusal(value: &Value) -> &'static str {
        if value.is_i64() || whole(value).is_some() { "amount_out_of_range" } else { "parameter_invalid" }
    }
}

fn as_number<S: Serializer>(amount: &Amount, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(amount.units())
}

/// `GET /v1/subscriptions/plans`: the plans there are, the newest first.
///
/// # Not shown
/// Who may ask: the secret key or a session token; the pages of the list; and whether plans that were deactivated are
/// listed: only when asked for (decisions).
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema), schemars(extend("x-guichet-documented" = [])))]
pub struct ListPlans {
    /// How many; the service's default is 100, and the most.
    #[cfg_attr(feature = "sandbox", schemars(extend("default" = 100)))]
    pub limit: Option<PageLimit>,
    /// Those after this one.
    pub starting_after: Option<PlanId>,
    /// Whether to list the plans that were deactivated too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "sandbox", schemars(extend("default" = false)))]
    pub include_inactive: Option<bool>,
}

impl ListPlans {
    /// The first page of the active ones.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { ListPlans {
    /// So many.
    limit: PageLimit,
    /// Those after this one.
    starting_after: PlanId,
    /// Whether to list the plans that were deactivated too.
    include_inactive: bool,
} }

impl Operation for ListPlans {
    type Role = Customer;
    type Output = Vec<Plan>;
    const SPEC: Spec =
        Spec::get("list_plans", "/v1/subscriptions/plans").asking(&["limit", "starting_after", "include_inactive"]);
}

impl Served for ListPlans {
    fn read(fields: &mut Fields) -> Option<Self> {
        let limit = fields.optional("limit");
        let starting_after = fields.optional("starting_after");
        let include_inactive = fields.optional::<Switch>("include_inactive");
        Some(Self {
            limit: limit?,
            starting_after: starting_after?,
            include_inactive: include_inactive?.map(|switch| switch.0),
        })
    }
}

/// A truth as a query writes it.
struct Switch(bool);

impl FromField for Switch {
    fn from_field(value: &Value) -> Result<Self, Invalid> {
        match value.as_str() {
            Some("true") => Ok(Self(true)),
            Some("false") => Ok(Self(false)),
            _ => Err(Invalid::because("It must be true or false.")),
        }
    }
}

/// `DELETE /v1/subscriptions/plans/{id}`: nobody subscribes to this plan any more. It can be repeated.
///
/// # Not shown
/// The reply, and what becomes of who has subscribed. Chosen: the plan with `active: false`; running subscriptions go on
/// at their price, and the code stays taken.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct DeactivatePlan {
    /// The plan.
    pub id: PlanId,
}

impl DeactivatePlan {
    /// Deactivates this plan.
    #[must_use]
    pub fn new(id: PlanId) -> Self {
        Self { id }
    }
}

impl Operation for DeactivatePlan {
    type Role = Merchant;
    type Output = Plan;
    const SPEC: Spec = Spec::delete("deactivate_plan", "/v1/subscriptions/plans/{id}");
}

impl Served for DeactivatePlan {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self::new(fields.required("id")?))
    }
}

/// A plan, as the service sees it now.
///
/// The fields below `billing_cycle` are decisions: the document's reply to a create has none of them.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema), schemars(extend("x-guichet-documented" = ["id", "name", "code", "amount", "currency", "billing_cycle"])))]
pub struct Plan {
    /// Its identifier.
    #[cfg_attr(feature = "sandbox", schemars(extend("pattern" = "^plan_[0-9A-Za-z]{22}$")))]
    pub id: PlanId,
    /// The name that customers see.
    pub name: String,
    /// The merchant's unique slug of it.
    pub code: PlanCode,
    /// The price of each period, in the smallest unit.
    pub amount: Figure,
    /// In which currency.
    #[cfg_attr(feature = "sandbox", schemars(with = "Currency"))]
    pub currency: String,
    /// How long a period is: `daily`, `weekly`, `monthly`, `quarterly`, `yearly`, or a word of the service.
    #[cfg_attr(feature = "sandbox", schemars(with = "BillingCycle"))]
    pub billing_cycle: String,

    /// How many days are free before the first charge.
    #[serde(default, deserialize_with = "lenient")]
    pub trial_days: u32,
    /// Whether customers can subscribe to it; a service that says nothing means that they can.
    #[serde(default = "yes")]
    pub active: bool,
    /// When it was made, in Unix seconds.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "i64"))]
    pub created_at: Option<i64>,
}

fn yes() -> bool {
    true
}
