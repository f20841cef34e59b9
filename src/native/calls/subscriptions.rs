use crate::native::Client;
use crate::operations::{
    CancelSubscription, ChangeSubscriptionPaymentMethod, ConfigureFallback, CreateSubscription, Instrument,
    ListSubscriptions, PauseSubscription, ReadSubscription, ResumeSubscription, Subscription,
};
use crate::protocol::{Error, Page};
use crate::values::SubscriptionId;

impl Client {
    /// `POST /v1/subscriptions`: bill a customer by a plan. A decision.
    ///
    /// A first charge that is declined is no error: the subscription is created with the status `past_due`.
    ///
    /// # Errors
    /// As [`Client::send`]; code `plan_inactive` for a plan that was deactivated.
    pub async fn create_subscription(&self, subscription: &CreateSubscription) -> Result<Subscription, Error> {
        self.send(subscription).await
    }

    /// `GET /v1/subscriptions`: one page of the merchant's subscriptions, the newest first; [`Client::all`] follows the
    /// pages. A decision.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn list_subscriptions(&self, list: &ListSubscriptions) -> Result<Page<Subscription>, Error> {
        self.page(list).await
    }

    /// `GET /v1/subscriptions/{id}`: a subscription's current state. A decision.
    ///
    /// # Errors
    /// As [`Client::send`]; kind `not_found` for a subscription that is not this merchant's.
    pub async fn read_subscription(&self, id: &SubscriptionId) -> Result<Subscription, Error> {
        self.send(&ReadSubscription::new(id.clone())).await
    }

    /// `POST /v1/subscriptions/{id}/pause`: charge nothing until it is resumed; from now on, or from the end of the
    /// period. This and the next four return the subscription as it is now, if the service's reply has it:
    /// [`After`](crate::operations::After).
    ///
    /// # Errors
    /// As [`Client::send`]; code `subscription_state` if it has ended.
    pub async fn pause_subscription(&self, pause: &PauseSubscription) -> Result<Option<Subscription>, Error> {
        self.send(pause).await.map(|after| after.0)
    }

    /// `POST /v1/subscriptions/{id}/resume`: charge again. It also undoes a scheduled pause or cancellation.
    ///
    /// # Errors
    /// As [`Client::send`]; code `subscription_state` if it is not paused, or has ended.
    pub async fn resume_subscription(&self, id: &SubscriptionId) -> Result<Option<Subscription>, Error> {
        self.send(&ResumeSubscription::new(id.clone())).await.map(|after| after.0)
    }

    /// `POST /v1/subscriptions/{id}/cancel`: end it at the end of its period, which is the document's default, or now.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn cancel_subscription(&self, cancel: &CancelSubscription) -> Result<Option<Subscription>, Error> {
        self.send(cancel).await.map(|after| after.0)
    }

    /// `PUT /v1/subscriptions/{id}/payment-method`: pay with another phone or card from now on. If a charge has failed,
    /// the new one is charged at once (a decision).
    ///
    /// # Errors
    /// As [`Client::send`]; code `subscription_state` if it has ended.
    pub async fn change_subscription_payment_method(
        &self,
        id: &SubscriptionId,
        instrument: Instrument,
    ) -> Result<Option<Subscription>, Error> {
        self.send(&ChangeSubscriptionPaymentMethod::new(id.clone(), instrument)).await.map(|after| after.0)
    }

    /// `PUT /v1/subscriptions/{id}/fallback`: set the method to charge when the payment method fails repeatedly.
    ///
    /// # Errors
    /// As [`Client::send`]; code `subscription_state` if it has ended.
    pub async fn configure_fallback(&self, fallback: &ConfigureFallback) -> Result<Option<Subscription>, Error> {
        self.send(fallback).await.map(|after| after.0)
    }
}
