//! The newest requests of a merchant, for tests. No credential, query or card is stored, and of a body its reference
//! alone.

use super::rules::{HandsetDecision, Intent, Status};
use guichet::protocol::{CredentialKind, Spec};
use guichet::values::Moment;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// The number of stored requests.
pub(super) const MAX_REQUESTS: usize = 1000;

/// One request that reached the service. [`Tenant::requests`](super::Tenant::requests) lists them.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let sandbox = guichet_sandbox::Sandbox::start().await?;
/// let shop = sandbox.merchant().await?;
/// let created = shop.requests().await?.iter().filter(|request| request.operation == "create_payment_intent").count();
/// assert_eq!(created, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// Its time, by the merchant's clock.
    pub at: Moment,
    /// The operation's name: `create_payment_intent`.
    pub operation: &'static str,
    /// Its HTTP method.
    pub method: &'static str,
    /// The operation's path: `/v1/payment-intents/{id}`.
    pub path: &'static str,
    /// The payment intent in its path, if there is one.
    pub intent: Option<String>,
    /// The kind of credential: `secret_key`, `session_token`, `client_secret` or `none`.
    pub credential: &'static str,
    /// The `Request-Id` of the response.
    pub request_id: String,
    /// The status of the response. `None` if there is none yet, or the connection ended first.
    pub status: Option<u16>,
    /// The injected fault: `lost_response`.
    pub fault: Option<&'static str>,
    /// The error code of a refusal: `parameter_invalid`.
    pub error: Option<String>,
    /// The `merchant_reference` in its body, without secrets.
    pub reference: Option<String>,
    /// The payment intents in the response.
    pub(super) shown: Vec<Shown>,
    /// What it is if it is no request to the service.
    pub(super) beside: Option<Beside>,
}

/// What the inspector lists of a response: its payment intents, and the error code of a refusal.
#[derive(Clone, Default)]
pub(crate) struct Listed {
    pub(crate) shown: Vec<Shown>,
    pub(crate) error: Option<String>,
}

/// What has happened beside the requests to the service.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Beside {
    /// A customer opened the hosted page.
    Visit,
    /// A test decided this attempt on the customer's phone.
    Decision(u32, HandsetDecision),
    /// The shop delivered an event to its application, for this number of times.
    Delivery(Delivery, u32),
}

/// One delivery of `order_changed` by `guichet shop` to its application, which [`InProcess::record_delivery`] takes.
///
/// [`InProcess::record_delivery`]: super::InProcess::record_delivery
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Delivery {
    /// The event, as it was sent.
    pub event: Value,
    /// The references of the order's payments.
    pub references: Vec<String>,
    /// The HTTP status of the application's answer, or why the event was not received.
    pub answer: Result<u16, String>,
}

impl Delivery {
    /// Whether it is the same event of the same order.
    fn has_event_of(&self, other: &Self) -> bool {
        ["name", "version"].iter().all(|member| self.event[member] == other.event[member])
    }
}

/// A payment intent in a response.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Shown {
    pub(super) id: String,
    pub(super) status: Status,
    /// The number of its duplicate payments.
    pub(super) duplicates: usize,
    /// The number of its statuses and duplicate payments so far.
    pub(super) history: usize,
}

impl Shown {
    pub(super) fn of(intent: &Intent) -> Self {
        let (status, duplicates) = (intent.state.status, intent.state.duplicate_payments.len());
        Self { id: intent.id.to_string(), status, duplicates, history: intent.state.status_history.len() + duplicates }
    }
}

impl Request {
    /// A request that has arrived. Only a valid intent id is taken from its path, so that no secret is stored.
    pub(super) fn new(
        at: Moment,
        spec: &Spec,
        id: Option<&str>,
        credential: Option<CredentialKind>,
        request_id: &str,
    ) -> Self {
        let is_intent_id = |id: &&str| {
            id.strip_prefix("pi_")
                .is_some_and(|rest| rest.len() == 22 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        };
        Self {
            at,
            operation: spec.name,
            method: spec.method.as_str(),
            path: spec.path,
            intent: id.filter(is_intent_id).map(str::to_owned),
            credential: credential.unwrap_or(CredentialKind::None).as_str(),
            request_id: request_id.to_owned(),
            status: None,
            fault: None,
            error: None,
            reference: None,
            shown: Vec::new(),
            beside: None,
        }
    }

    /// A customer opened the hosted page of this payment.
    pub(super) fn visit(at: Moment, id: &str) -> Self {
        Self { intent: Some(id.to_owned()), ..Self::beside(at, Beside::Visit) }
    }

    /// A test decided this attempt on the customer's phone.
    pub(super) fn decided(at: Moment, intent: &Intent, attempt: u32, decision: HandsetDecision) -> Self {
        Self { shown: vec![Shown::of(intent)], ..Self::beside(at, Beside::Decision(attempt, decision)) }
    }

    /// The shop delivered an event, after these requests.
    pub(super) fn delivered(at: Moment, delivery: Delivery, earlier: &VecDeque<Self>) -> Self {
        let before = earlier.iter().rev().find_map(|request| match &request.beside {
            Some(Beside::Delivery(other, attempt)) if other.has_event_of(&delivery) => Some(*attempt),
            _ => None,
        });
        Self::beside(at, Beside::Delivery(delivery, before.unwrap_or_default() + 1))
    }

    fn beside(at: Moment, beside: Beside) -> Self {
        Self {
            at,
            operation: "",
            method: "",
            path: "",
            intent: None,
            credential: "none",
            request_id: String::new(),
            status: None,
            fault: None,
            error: None,
            reference: None,
            shown: Vec::new(),
            beside: Some(beside),
        }
    }

    /// What this request showed the caller of a payment. `None` if it showed nothing, or a fault lost it.
    pub(super) fn received(&self, id: &str) -> Option<&Shown> {
        let is_lost = self.fault.is_some_and(|fault| fault != "delay");
        self.shown.iter().find(|shown| shown.id == id).filter(|_| !is_lost)
    }

    /// Whether it is about a payment.
    pub(super) fn is_about(&self, intent: &Intent) -> bool {
        if let Some(Beside::Delivery(Delivery { references, .. }, _)) = &self.beside {
            return references.iter().any(|reference| *reference == *intent.terms.merchant_reference);
        }
        let id = intent.id.as_str();
        self.intent.as_deref() == Some(id) || self.shown.iter().any(|shown| shown.id == id)
    }

    /// The request as JSON, as the control API writes it.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "at": self.at.unix(), "operation": self.operation, "method": self.method, "path": self.path, "intent": self.intent,
            "credential": self.credential, "request_id": self.request_id, "status": self.status, "fault": self.fault,
            "error": self.error, "reference": self.reference,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guichet::operations::ReadPaymentIntent;
    use guichet::protocol::Operation;

    #[test]
    fn only_a_valid_id_of_a_path_is_stored() {
        let spec = ReadPaymentIntent::SPEC;
        let request = Request::new(Moment::from_unix(1), &spec, Some("pi_x_secret_y"), None, "req_1");
        assert_eq!(request.intent, None);
    }
}
