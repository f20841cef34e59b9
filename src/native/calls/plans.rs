use crate::native::Client;
use crate::operations::{CreatePlan, DeactivatePlan, ListPlans, Plan};
use crate::protocol::{Error, Page};
use crate::values::PlanId;

impl Client {
    /// `POST /v1/subscriptions/plans`: create a plan that customers can subscribe to.
    ///
    /// # Errors
    /// As [`Client::send`]; code `plan_code_taken` if another plan has the code.
    pub async fn create_plan(&self, plan: &CreatePlan) -> Result<Plan, Error> {
        self.send(plan).await
    }

    /// `GET /v1/subscriptions/plans`: one page of the plans, the newest first; [`Client::all`] follows the pages.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn list_plans(&self, list: &ListPlans) -> Result<Page<Plan>, Error> {
        self.page(list).await
    }

    /// `DELETE /v1/subscriptions/plans/{id}`: deactivate a plan, so that it accepts no new subscriptions. It can be
    /// repeated. Existing subscriptions continue at the same price (a decision). Returns the plan, if the reply has it.
    ///
    /// # Errors
    /// As [`Client::send`]; kind `not_found` for a plan that is not this merchant's.
    pub async fn deactivate_plan(&self, id: &PlanId) -> Result<Option<Plan>, Error> {
        self.send(&DeactivatePlan::new(id.clone())).await.map(|after| after.0)
    }
}
