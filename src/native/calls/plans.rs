use crate::native::Client;
use crate::operations::{CreatePlan, DeactivatePlan, ListPlans, Plan};
use crate::protocol::{Error, Page};
use crate::values::PlanId;

impl Client {
    /// `POST /v1/subscriptions/plans`: create a plan that customers can subscribe to.
    ///
    #[doc = example!()]
    /// use guichet::operations::CreatePlan;
    /// use guichet::values::{Amount, BillingCycle, PlanCode};
    /// let gold = CreatePlan::new("Gold", PlanCode::new("gold")?, Amount::units(5_000), BillingCycle::Monthly).trial_days(14);
    /// assert_eq!(client.create_plan(&gold).await?.trial_days, 14);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Client::send`]; code `plan_code_taken` if another plan has the code.
    pub async fn create_plan(&self, plan: &CreatePlan) -> Result<Plan, Error> {
        self.send(plan).await
    }

    /// `GET /v1/subscriptions/plans`: one page of the plans, the newest first; [`Client::all`] follows the pages.
    ///
    #[doc = example!()]
    /// use guichet::operations::ListPlans;
    /// # client.create_plan(&gold()?).await?;
    /// let mut plans = client.all(&ListPlans::new());
    /// while let Some(plan) = plans.next().await {
    ///     let plan = plan?;
    ///     println!("{}: {} {} {}", plan.name, plan.amount, plan.currency, plan.billing_cycle);
    /// }
    /// # assert_eq!(client.list_plans(&ListPlans::new()).await?.entries.len(), 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn list_plans(&self, list: &ListPlans) -> Result<Page<Plan>, Error> {
        self.page(list).await
    }

    /// `DELETE /v1/subscriptions/plans/{id}`: deactivate a plan, so that it accepts no new subscriptions. It can be
    /// repeated. Existing subscriptions continue at the same price (a decision).
    ///
    #[doc = example!()]
    /// # let plan = client.create_plan(&gold()?).await?;
    /// assert!(!client.deactivate_plan(&plan.id).await?.active);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Client::send`]; kind `not_found` for a plan that is not this merchant's.
    pub async fn deactivate_plan(&self, id: &PlanId) -> Result<Plan, Error> {
        self.send(&DeactivatePlan::new(id.clone())).await
    }
}
