//! The newest requests of a merchant, for tests. No credential, query, body or card is stored.

#[cfg(feature = "sandbox-postgres")]
use super::{faults::FaultKind, store::SharedMerchant};
use crate::protocol::{CredentialKind, Spec};
use crate::values::Moment;
use serde_json::{Value, json};
use std::collections::VecDeque;
#[cfg(feature = "sandbox-postgres")]
use std::sync::MutexGuard;
use std::sync::{Mutex, PoisonError};

/// The number of stored requests.
pub(super) const MAX_REQUESTS: usize = 1000;

/// One request that reached the service. [`Tenant::requests`](super::Tenant::requests) lists them.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let sandbox = guichet::sandbox::Sandbox::start().await?;
/// let shop = sandbox.merchant().await?;
/// let created = shop.requests().iter().filter(|request| request.operation == "create_payment_intent").count();
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
        }
    }

    /// The request as JSON for the control API.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "at": self.at.unix(), "operation": self.operation, "method": self.method, "path": self.path, "intent": self.intent,
            "credential": self.credential, "request_id": self.request_id, "status": self.status, "fault": self.fault,
        })
    }
}

/// The newest requests of a merchant, oldest first.
#[derive(Debug, Default)]
pub(super) struct Requests(Mutex<VecDeque<Request>>);

impl Requests {
    /// Adds a request.
    pub(super) fn add(&self, request: Request) {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.len() == MAX_REQUESTS {
            requests.pop_front();
        }
        requests.push_back(request);
    }

    /// Records the status of a response.
    pub(super) fn record_status(&self, request_id: &str, status: u16) {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(request) = requests.iter_mut().rev().find(|request| request.request_id == request_id) {
            request.status = Some(status);
        }
    }

    pub(super) fn list(&self) -> Vec<Request> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The requests of this instance that are not in the database yet.
#[cfg(feature = "sandbox-postgres")]
#[derive(Debug, Default)]
pub(super) struct Unwritten(Mutex<Batch>);

/// Requests and statuses to write.
#[cfg(feature = "sandbox-postgres")]
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// The merchant and the number of each request, in order of arrival.
    pub(super) requests: VecDeque<(String, i64, Request)>,
    /// The numbers of requests that were written before, and the statuses of their responses.
    pub(super) statuses: VecDeque<(i64, u16)>,
}

#[cfg(feature = "sandbox-postgres")]
impl Unwritten {
    /// Adds a request.
    pub(super) fn add(&self, merchant: &SharedMerchant, request: Request) {
        let mut batch = self.lock();
        batch.requests.push_back((merchant.id.clone(), merchant.number, request));
        batch.keep_newest();
    }

    /// Records the status of a response.
    pub(super) fn record_status(&self, number: i64, status: u16) {
        let mut batch = self.lock();
        match batch.requests.iter_mut().rev().find(|(_, of, _)| *of == number) {
            Some((_, _, request)) => request.status = Some(status),
            None => batch.statuses.push_back((number, status)),
        }
        batch.keep_newest();
    }

    /// Takes everything that is not written yet.
    pub(super) fn take(&self) -> Batch {
        std::mem::take(&mut *self.lock())
    }

    /// Puts back what could not be written.
    pub(super) fn put_back(&self, batch: Batch) {
        let mut unwritten = self.lock();
        let newer = std::mem::replace(&mut *unwritten, batch);
        unwritten.requests.extend(newer.requests);
        unwritten.statuses.extend(newer.statuses);
        unwritten.keep_newest();
    }

    fn lock(&self) -> MutexGuard<'_, Batch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(feature = "sandbox-postgres")]
impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.statuses.is_empty()
    }

    /// Drops the oldest, so that the memory is bounded while the database fails, or while an instance without a timer lists none.
    fn keep_newest(&mut self) {
        self.requests.drain(..self.requests.len().saturating_sub(MAX_UNWRITTEN));
        self.statuses.drain(..self.statuses.len().saturating_sub(MAX_UNWRITTEN));
    }
}

/// The most requests that wait to be written.
#[cfg(feature = "sandbox-postgres")]
const MAX_UNWRITTEN: usize = 10 * MAX_REQUESTS;

#[cfg(feature = "sandbox-postgres")]
impl Request {
    /// Reads what [`Request::to_json`] has written. `None` for an operation that this version does not know.
    pub(super) fn read(record: &str) -> Option<Self> {
        let record: Value = serde_json::from_str(record).ok()?;
        let text = |name: &str| record.get(name).and_then(Value::as_str);
        let spec = spec_named(text("operation")?)?;
        let known = |known: &[&'static str], name: &str| {
            let word = text(name)?;
            known.iter().find(|known| **known == word).copied()
        };
        Some(Self {
            at: Moment::from_unix(record.get("at")?.as_i64()?),
            operation: spec.name,
            method: spec.method.as_str(),
            path: spec.path,
            intent: text("intent").map(str::to_owned),
            credential: known(&["client_secret", "secret_key", "session_token", "none"], "credential")?,
            request_id: text("request_id")?.to_owned(),
            status: record.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok()),
            fault: known(&FaultKind::WORDS, "fault"),
        })
    }
}

#[cfg(feature = "sandbox-postgres")]
fn spec_named(name: &str) -> Option<Spec> {
    use crate::operations::*;
    use crate::protocol::Operation;
    macro_rules! find {
        ($($operation:ident)*) => {
            [$(<$operation as Operation>::SPEC),*].into_iter().find(|spec| spec.name == name)
        };
    }
    crate::every_operation!(find)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::ReadPaymentIntent;
    use crate::protocol::Operation;

    #[test]
    fn only_the_newest_requests_are_stored_and_only_valid_ids_of_paths() {
        let requests = Requests::default();
        let spec = ReadPaymentIntent::SPEC;
        for number in 0..MAX_REQUESTS + 5 {
            requests.add(Request::new(
                Moment::from_unix(1),
                &spec,
                Some("pi_x_secret_y"),
                None,
                &format!("req_{number}"),
            ));
        }
        let kept = requests.list();
        assert_eq!((kept.len(), kept[0].request_id.as_str(), kept[0].intent.as_deref()), (MAX_REQUESTS, "req_5", None));
        requests.record_status("req_7", 200);
        assert_eq!(requests.list()[2].status, Some(200));
    }

    #[cfg(feature = "sandbox-postgres")]
    fn request(request_id: &str) -> Request {
        let id = Some("pi_0123456789abcdefghijkl");
        Request::new(Moment::from_unix(1), &ReadPaymentIntent::SPEC, id, Some(CredentialKind::SecretKey), request_id)
    }

    #[cfg(feature = "sandbox-postgres")]
    #[test]
    fn a_written_request_is_read_back_whole() {
        let request = Request { status: Some(200), fault: Some("delay"), ..request("req_1") };
        let written = request.to_json().to_string();
        assert_eq!(Request::read(&written), Some(request));
        assert_eq!(Request::read(&written.replace("read_payment_intent", "of_a_newer_version")), None);
    }

    #[cfg(feature = "sandbox-postgres")]
    #[test]
    fn requests_that_cannot_be_written_wait_and_only_the_newest_are_kept() {
        let merchant = |number| SharedMerchant {
            id: "mch_1".into(),
            name: "Shop".into(),
            clock_offset: 0,
            has_faults: false,
            number,
            latest_second: 0,
        };
        let unwritten = Unwritten::default();
        unwritten.add(&merchant(1), request("req_1"));
        unwritten.record_status(1, 200);
        let failed = unwritten.take();
        assert_eq!(failed.requests[0].2.status, Some(200));
        // Its response was sent while it was being written.
        unwritten.record_status(1, 201);
        unwritten.add(&merchant(2), request("req_2"));
        unwritten.put_back(failed);
        let batch = unwritten.take();
        assert_eq!(batch.requests.iter().map(|(_, number, _)| *number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(batch.statuses, [(1, 201)]);
        for number in 0..=i64::try_from(MAX_UNWRITTEN).unwrap() {
            unwritten.add(&merchant(number), request("req"));
        }
        assert_eq!(unwritten.take().requests.len(), MAX_UNWRITTEN);
    }
}
