//! The handlers of the operations. Each loads the state, applies a rule and saves the result. If another request
//! changed the state meanwhile, it starts again.

mod billing;
mod customers;
mod described;
mod esim;
mod examples;
mod idempotency;
mod instruments;
mod intent_actions;
mod intents;
pub(super) mod merchants;
mod methods;
mod new_intent;
mod plans;
mod sessions;
mod subscriptions;

pub(super) use described::{Described, Outcomes};
pub(super) use examples::Examples;
pub(super) use merchants::{Merchant, Merchants};

use super::caller::Caller;
use super::clock::ServiceClock;
use super::problem::Problem;
use super::replies::Reply;
use super::requests::Shown;
use super::rules::{EsimPackages, Fees, Intent};
use super::store::{After, Backend, List};
use super::tokens::InstanceKey;
use axum::http::StatusCode;
use guichet::protocol::Operation;
use guichet::values::{Moment, PageLimit};
use serde::Serialize;
use serde_json::value::to_raw_value;
use std::sync::Arc;

/// How often a request loads, applies and saves when other requests change the same state meanwhile. After that it is
/// refused with a retryable error.
const MAX_ROUNDS: u32 = 100;

/// The state and the settings of the service.
pub(super) struct Service {
    pub(super) store: Arc<dyn Backend>,
    pub(super) clock: Arc<ServiceClock>,
    pub(super) merchants: Merchants,
    pub(super) fees: Fees,
    pub(super) esim_packages: EsimPackages,
    pub(super) instance_key: InstanceKey,
    /// The origin under which customers reach the hosted page.
    pub(super) public_origin: String,
    pub(super) public_methods: bool,
    pub(super) strict: bool,
    pub(super) allow_origins: Vec<String>,
}

/// Handles one operation. If an operation of the interface has no handler, the service does not compile.
#[diagnostic::on_unimplemented(
    message = "the sandbox has no handler of `{O}`",
    label = "write `impl Handle<{O}> for Service` in the family's file in crates/sandbox/src/service/"
)]
pub(super) trait Handle<O: Operation> {
    /// Executes the operation. The caller is authorized for the operation's role.
    fn handle(&self, caller: Caller, operation: O) -> impl Future<Output = Result<Done, Problem>> + Send;
}

/// The result of an executed operation.
pub(super) struct Done {
    pub(super) status: StatusCode,
    /// The `data` of the envelope.
    pub(super) data: Reply,
    pub(super) message: Option<&'static str>,
    /// Whether an earlier request with the same content was executed instead: the header `Idempotent-Replayed`.
    pub(super) replayed: bool,
    /// `Some` if `data` is a page of a list.
    pub(super) page: Option<Page>,
    /// The payment intents in `data`.
    pub(super) shown: Vec<Shown>,
}

/// One page of a list: the member `pagination` beside its `data`, `decisions.md` 5.
#[derive(Serialize)]
pub(super) struct Page {
    has_more: bool,
    /// The id of the page's last entry, if more entries follow.
    pub(super) next_cursor: Option<String>,
    pub(super) limit: u8,
}

impl Service {
    /// Moves the service's clock to the current second. Called when a request arrives or continues after a wait.
    pub(super) async fn catch_up(&self) {
        self.clock.catch_up(&*self.store).await;
    }

    /// The service's time, for requests that belong to no merchant.
    pub(super) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// The position at which a page of a merchant's list begins: after the entry with this id, or at the start if there
    /// is no id. 404 if the entry does not exist.
    async fn after(&self, list: List, merchant: &Merchant, id: Option<impl ToString>) -> Result<After, Problem> {
        let Some(id) = id else { return Ok(None) };
        let what = match list {
            List::Customers => "customer",
            List::Intents => "payment intent",
            List::Plans => "plan",
            List::Subscriptions => "subscription",
        };
        let position = self.store.position(list, merchant.id(), &id.to_string()).await?;
        position.map(Some).ok_or_else(|| Problem::missing(&format!("{what} to start after")))
    }
}

/// How many entries are read for a page: one more than its limit, to find out whether more follow.
fn to_read(limit: PageLimit) -> i64 {
    i64::from(limit.entries()) + 1
}

/// The largest page, in bytes: `decisions.md` 5. A client may refuse to read more.
const MAX_PAGE_BYTES: usize = 4 << 20;
/// The bytes reserved for the envelope and `pagination` around the entries.
const ENVELOPE_BYTES: usize = 512;

impl Done {
    /// 200 with this `data`.
    pub(super) fn ok(data: Reply) -> Self {
        Self { status: StatusCode::OK, data, message: None, replayed: false, page: None, shown: Vec::new() }
    }

    /// 201 with this `data`.
    pub(super) fn created(data: Reply) -> Self {
        Self { status: StatusCode::CREATED, ..Self::ok(data) }
    }

    /// A page of a list, from one entry more than its limit if more follow. If the page would exceed
    /// [`MAX_PAGE_BYTES`], it ends earlier, but it has at least one entry.
    pub(super) fn list<T>(
        entries: Vec<T>,
        limit: PageLimit,
        id: impl Fn(&T) -> String,
        mut reply: impl FnMut(T) -> Reply,
    ) -> Self {
        let read = entries.len();
        let (mut replies, mut last, mut bytes) = (Vec::new(), None, 0);
        for entry in entries.into_iter().take(usize::from(limit.entries())) {
            let (id, reply) = (id(&entry), reply(entry));
            if !replies.is_empty() && bytes + reply.get().len() + ENVELOPE_BYTES > MAX_PAGE_BYTES {
                break;
            }
            // With the bracket or the comma before it.
            bytes += 1 + reply.get().len();
            replies.push(reply);
            last = Some(id);
        }
        let next_cursor = last.filter(|_| replies.len() < read);
        let data = to_raw_value(&replies).expect("a list of replies is JSON");
        let page = Page { has_more: next_cursor.is_some(), next_cursor, limit: limit.entries() };
        Self { page: Some(page), ..Self::ok(data) }
    }

    /// Names the payment intents in `data`, for the inspector.
    pub(super) fn showing<'a>(self, intents: impl IntoIterator<Item = &'a Intent>) -> Self {
        Self { shown: intents.into_iter().map(Shown::of).collect(), ..self }
    }

    /// Sets the envelope's message.
    pub(super) fn with_message(self, message: &'static str) -> Self {
        Self { message: Some(message), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(entries: &[usize]) -> (usize, Option<String>) {
        let limit = PageLimit::new(100).unwrap();
        let entry = |bytes| to_raw_value(&"x".repeat(bytes)).unwrap();
        let done = Done::list(entries.to_vec(), limit, ToString::to_string, entry);
        (done.data.get().len(), done.page.unwrap().next_cursor)
    }

    #[test]
    fn a_page_ends_before_the_entry_that_would_exceed_its_size() {
        let half = MAX_PAGE_BYTES / 2 - ENVELOPE_BYTES;
        let (bytes, next) = page_of(&[half, half, 3]);
        assert_eq!(next, None, "{bytes}");
        let (bytes, next) = page_of(&[half - 1, half, 1000]);
        assert!(bytes <= MAX_PAGE_BYTES);
        assert_eq!(next, Some(half.to_string()), "it goes on after the second");
        let (bytes, next) = page_of(&[MAX_PAGE_BYTES * 2, 1]);
        assert!(bytes > MAX_PAGE_BYTES, "one entry at least, however large");
        assert_eq!(next, Some((MAX_PAGE_BYTES * 2).to_string()));
        assert_eq!(page_of(&[]), (2, None));
    }
}
