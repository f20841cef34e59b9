use super::seal::Sealer;
use crate::native::Client;
use crate::native::bearer::Bearer;
use crate::operations::{CreatePaymentIntent, ListPaymentMethods};
use crate::protocol::{Completed, Operation, Request};
use crate::shop::ledger::{Asked, ONCE, Outcome, Payment, Requests, Time};
use crate::shop::{PaymentRequest, Profile, Reading, payment_of};
use crate::values::{ClientSecret, Moment};

/// Asks the service with the secret key.
pub(super) struct ServiceRequests {
    pub(super) client: Client,
    pub(super) sealer: Sealer,
}

impl Requests for ServiceRequests {
    async fn create(&self, payment: &Payment, may_retry: bool) -> Outcome {
        let body = Some(payment.creation());
        let spec = if may_retry { const { &CreatePaymentIntent::SPEC } } else { ONCE };
        self.send(payment, PaymentRequest::creation(spec), body).await
    }

    async fn ask(&self, payment: &Payment, asked: &Asked) -> Outcome {
        let secret = PaymentRequest::kept(payment, asked).and_then(|sealed| self.sealer.open(sealed));
        match PaymentRequest::new(self.client.profile(), payment, asked, secret.as_deref()) {
            Ok(request) => self.send(payment, request, None).await,
            Err(error) => Outcome::new(&[], Err(error), false, |_| String::new()),
        }
    }

    /// By a read that every service documents; with the key, because each merchant of a sandbox has a clock of their
    /// own.
    async fn date(&self) -> Option<Time> {
        self.client.reply(&ListPaymentMethods::new()).await.ok()?.date.map(Moment::unix)
    }
}

impl ServiceRequests {
    async fn send(&self, payment: &Payment, request: PaymentRequest, body: Option<String>) -> Outcome {
        let PaymentRequest { spec, method, target, client_secret, may_list } = request;
        let request = Request { method, target, body, idempotency_key: None };
        let bearer = match client_secret {
            Some(secret) => Bearer::of(&ClientSecret::new(secret), spec),
            None => Ok(self.client.key().header().clone()),
        };
        let profile = self.client.profile();
        let completed = match bearer {
            Ok(bearer) => self.client.transport().call(spec, request, &bearer).await,
            Err(error) => Completed::not_sent(error),
        };
        let Completed { attempts, result: reading } = completed.and_then(|reply| {
            let as_of = reply.date.map(Moment::unix);
            let intent = reply.payment(|body| payment_of(profile, &payment.reference, may_list, body))?;
            Ok(intent.map(|intent| Reading::new(intent, as_of)))
        });
        let keeps_secret = profile.is_some_and(Profile::needs_client_secret);
        Outcome::new(&attempts, reading, keeps_secret, |secret| self.sealer.seal(secret))
    }
}
