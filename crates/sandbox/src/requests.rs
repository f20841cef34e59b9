//! The newest requests of a merchant, for tests. No credential, query, body or card is stored.

use super::rules::{HandsetDecision, Intent, Status};
use guichet::protocol::{CredentialKind, Spec};
use guichet::values::Moment;
use serde_json::{Value, json};

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
    /// The payment intents in the response.
    pub(super) shown: Vec<Shown>,
    /// Whether a customer opened the hosted page, which is no request to the service.
    pub(super) is_page: bool,
    /// What a test decided on the customer's phone, and of which attempt: no request to the service either.
    pub(super) decision: Option<(u32, HandsetDecision)>,
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
            credential: match credential {
                Some(CredentialKind::ClientSecret) => "client_secret",
                Some(CredentialKind::SecretKey) => "secret_key",
                Some(CredentialKind::SessionToken) => "session_token",
                Some(CredentialKind::None) | None => "none",
            },
            request_id: request_id.to_owned(),
            status: None,
            fault: None,
            shown: Vec::new(),
            is_page: false,
            decision: None,
        }
    }

    /// A customer opened the hosted page of this payment.
    pub(super) fn visit(at: Moment, id: &str) -> Self {
        Self { is_page: true, ..Self::beside(at, id) }
    }

    /// A test decided this attempt on the customer's phone.
    pub(super) fn decided(at: Moment, intent: &Intent, attempt: u32, decision: HandsetDecision) -> Self {
        let shown = vec![Shown::of(intent)];
        Self { shown, decision: Some((attempt, decision)), ..Self::beside(at, intent.id.as_str()) }
    }

    /// Whether it reached the service.
    pub(super) fn is_to_service(&self) -> bool {
        !self.is_page && self.decision.is_none()
    }

    fn beside(at: Moment, id: &str) -> Self {
        Self {
            at,
            operation: "",
            method: "",
            path: "",
            intent: Some(id.to_owned()),
            credential: "none",
            request_id: String::new(),
            status: None,
            fault: None,
            shown: Vec::new(),
            is_page: false,
            decision: None,
        }
    }

    /// What this request showed the caller of a payment. `None` if it showed nothing, or a fault lost it.
    pub(super) fn received(&self, id: &str) -> Option<&Shown> {
        let is_lost = self.fault.is_some_and(|fault| fault != "delay");
        self.shown.iter().find(|shown| shown.id == id).filter(|_| !is_lost)
    }

    /// Whether it is about a payment.
    pub(super) fn is_about(&self, id: &str) -> bool {
        self.intent.as_deref() == Some(id) || self.shown.iter().any(|shown| shown.id == id)
    }

    /// The request as JSON, as the control API writes it.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "at": self.at.unix(), "operation": self.operation, "method": self.method, "path": self.path, "intent": self.intent,
            "credential": self.credential, "request_id": self.request_id, "status": self.status, "fault": self.fault,
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
