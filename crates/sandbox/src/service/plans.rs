//! Creates, lists and deactivates plans.

use super::examples::{Examples, page};
use super::{Described, Done, Handle, Outcomes, Service, to_read};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::replies;
use crate::rules::billing::{Offer, Plan};
use crate::store::{List, Write};
use crate::tokens;
use guichet::operations::{CreatePlan, DeactivatePlan, ListPlans};
use guichet::protocol::ErrorCode;
use guichet::values::{PageLimit, PlanId};

impl Handle<CreatePlan> for Service {
    async fn handle(&self, caller: Caller, operation: CreatePlan) -> Result<Done, Problem> {
        let merchant = caller.merchant()?;
        let CreatePlan { name, code, amount, currency, billing_cycle, trial_days, .. } = operation;
        let plan = Plan {
            id: PlanId::new(tokens::id("plan_")).map_err(|error| Problem::internal(&error))?,
            merchant: merchant.id().to_owned(),
            offer: Offer { name, code, amount, currency, billing_cycle, trial_days },
            active: true,
            created_at: merchant.now(),
        };
        let reply = replies::plan(&plan);
        if self.store.write(Write::AddPlan(Box::new(plan))).await? {
            return Ok(Done::created(reply));
        }
        let message = "Another plan has this code. A code stays taken even if its plan is no longer active. Give this plan another code.";
        Err(Problem::new(ErrorCode::PlanCodeTaken, message))
    }
}

impl Described for CreatePlan {
    const OUTCOMES: Outcomes =
        Outcomes::CREATED.or(&[ErrorCode::PlanCodeTaken, ErrorCode::AmountOutOfRange, ErrorCode::CurrencyUnsupported]);

    fn example(examples: &Examples) -> (Self, Done) {
        (examples.create_plan(), Done::created(replies::plan(&examples.plan())))
    }
}

impl Handle<ListPlans> for Service {
    async fn handle(&self, caller: Caller, operation: ListPlans) -> Result<Done, Problem> {
        let merchant = caller.shop()?;
        let after = self.after(List::Plans, merchant, operation.starting_after).await?;
        let limit = operation.limit.unwrap_or_default();
        let include_inactive = operation.include_inactive.unwrap_or_default();
        let plans = self.store.plans(merchant.id(), include_inactive, after, to_read(limit)).await?;
        Ok(Done::list(plans, limit, |plan| plan.id.to_string(), |plan| replies::plan(&plan)))
    }
}

impl Described for ListPlans {
    fn example(examples: &Examples) -> (Self, Done) {
        (ListPlans::new().limit(PageLimit::default()), page(&[replies::plan(&examples.plan())]))
    }
}

impl Handle<DeactivatePlan> for Service {
    /// Deactivates the plan. Deactivating it again succeeds without effect.
    async fn handle(&self, caller: Caller, operation: DeactivatePlan) -> Result<Done, Problem> {
        let merchant = caller.merchant()?;
        let found = self.store.plan_by_key(merchant.id(), &operation.id.clone().into()).await?;
        // A code does not name it here.
        let plan = found.filter(|plan| plan.id == operation.id).ok_or_else(|| Problem::missing("plan"))?;
        if plan.active {
            self.store.write(Write::DeactivatePlan { id: plan.id.clone() }).await?;
        }
        Ok(Done::ok(replies::plan(&Plan { active: false, ..plan })))
    }
}

impl Described for DeactivatePlan {
    fn example(examples: &Examples) -> (Self, Done) {
        let plan = Plan { active: false, ..examples.plan() };
        (DeactivatePlan::new(plan.id.clone()), Done::ok(replies::plan(&plan)))
    }
}
