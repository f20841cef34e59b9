use super::seal::Sealer;
use crate::native::{Client, Transport};
use crate::operations::{
    CancelPaymentIntent, CreatePaymentIntent, ListPaymentMethods, PaymentIntent, ReadPaymentIntent,
};
use crate::protocol::{Error, Method, Operation, Request, Spec};
use crate::shop::Reading;
use crate::shop::ledger::{Asked, ONCE, Outcome, Payment, Requests, Time};
use crate::values::{IntentId, Moment};

/// Asks the service with the secret key.
pub(super) struct ServiceRequests {
    pub(super) client: Client,
    pub(super) sealer: Sealer,
}

impl Requests for ServiceRequests {
    async fn create(&self, payment: &Payment, may_retry: bool) -> Outcome {
        let body = Some(payment.body.creation(payment));
        let target = CreatePaymentIntent::SPEC.path.to_owned();
        let request = Request { method: Method::Post, target, body, idempotency_key: None };
        let spec = if may_retry { const { &CreatePaymentIntent::SPEC } } else { ONCE };
        self.send::<CreatePaymentIntent>(spec, Ok(request)).await
    }

    async fn ask(&self, _reference: &str, asked: &Asked) -> Outcome {
        let id = |id: &str| IntentId::new(id).map_err(Error::from);
        match asked {
            Asked::Read(named) => {
                let request = id(named).and_then(|id| Transport::request(&ReadPaymentIntent::new(id)));
                self.send::<ReadPaymentIntent>(const { &ReadPaymentIntent::SPEC }, request).await
            }
            Asked::Cancel(named) => {
                let request = id(named).and_then(|id| Transport::request(&CancelPaymentIntent::new(id)));
                self.send::<CancelPaymentIntent>(const { &CancelPaymentIntent::SPEC }, request).await
            }
            Asked::Find => Outcome::not_searched(),
        }
    }

    /// By a read that every service documents; with the key, because each merchant of a sandbox has a clock of their own.
    async fn date(&self) -> Option<Time> {
        let reply = self.client.send_with(&ListPaymentMethods::new(), self.client.key()).await.ok()?;
        reply.date().map(Moment::unix)
    }
}

impl ServiceRequests {
    async fn send<O>(&self, spec: &'static Spec, request: Result<Request, Error>) -> Outcome
    where
        O: Operation<Output = PaymentIntent>,
    {
        let mut attempts = Vec::new();
        let reading = match request {
            Ok(request) => self.client.fetch_recorded(spec, request, &mut attempts).await.and_then(|reply| {
                let as_of = reply.date().map(Moment::unix);
                let intent = reply.into_output::<O>()?;
                let expires_at = intent.expires().map(Moment::unix);
                Ok(Reading { intent, as_of, expires_at, final_since: None })
            }),
            Err(error) => Err(error),
        };
        Outcome::new(&attempts, reading, |address| self.sealer.seal(address))
    }
}
