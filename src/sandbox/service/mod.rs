//! What the service does with an operation: load, rule, save; and rule again where someone was faster.

mod billing;
mod customers;
mod esim;
mod examples;
mod idempotency;
mod intent_actions;
mod intents;
mod merchants;
mod methods;
mod plans;
mod sessions;
mod subscriptions;

pub(super) use examples::{Example, Examples};
pub(super) use merchants::{Merchant, Merchants};

use super::auth::Caller;
use super::clock::ServiceClock;
use super::problem::Problem;
use super::rules::{EsimPackages, Fees};
use super::store::{After, List, Store};
use super::tokens::InstanceKey;
use crate::protocol::{ErrorCode, Operation};
use crate::values::{Moment, PageLimit};
use axum::http::StatusCode;
use std::sync::Arc;

/// How often a request loads, rules and saves again, where others were faster. Then it is refused, and can be sent again.
const ROUNDS: u32 = 100;

/// Everything the service knows.
pub(super) struct Service {
    pub(super) store: Store,
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

/// The service's handler of one operation.
#[diagnostic::on_unimplemented(
    message = "the sandbox has no handler of `{O}`",
    label = "write `impl Handle<{O}> for Service` in the family's file in src/sandbox/service/"
)]
pub(super) trait Handle<O: Operation> {
    /// What it may come to: the description of the service says it.
    const OUTCOMES: Outcomes;

    /// A request and its reply, for the description of the service.
    fn example(examples: &Examples) -> Example<O>;

    /// Does it, for a caller whom the operation's role admits.
    fn handle(&self, caller: Caller, operation: O) -> impl Future<Output = Result<Done, Problem>> + Send;
}

/// What an operation may come to, beside what every operation of its kind may.
#[derive(Clone, Copy)]
pub(super) struct Outcomes {
    /// The statuses of its success.
    pub(super) statuses: &'static [u16],
    /// The codes of the rules that may refuse it. Of those of its credentials, its path and its fields' shapes nothing is
    /// said here: they follow from the operation itself.
    pub(super) codes: &'static [ErrorCode],
}

impl Outcomes {
    /// 200.
    const OK: Self = Self { statuses: &[200], codes: &[] };
    /// 201: something new was made.
    const CREATED: Self = Self { statuses: &[201], codes: &[] };
    /// 201, and 200 where it was made before.
    const CREATED_ONCE: Self = Self { statuses: &[200, 201], codes: &[] };

    /// Or it is refused by a rule, with one of these codes.
    const fn or(self, codes: &'static [ErrorCode]) -> Self {
        Self { codes, ..self }
    }
}

/// An operation that was done.
pub(super) struct Done {
    pub(super) status: StatusCode,
    /// What the envelope holds, as JSON.
    pub(super) data: String,
    pub(super) message: Option<&'static str>,
    /// Whether it was done before.
    pub(super) replayed: bool,
    /// Of a list: where it goes on.
    pub(super) page: Option<Page>,
}

/// One page of a list.
pub(super) struct Page {
    pub(super) limit: u8,
    /// The last entry's id, where more come after it.
    pub(super) next: Option<String>,
}

impl Service {
    /// Brings the service's clock to the second of a request that has arrived, or goes on after a wait.
    pub(super) async fn catch_up(&self) {
        self.clock.catch_up(&self.store).await;
    }

    /// The service's clock, for whoever belongs to no merchant.
    pub(super) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Where a page of a merchant's list begins: after the entry of this id, or at the list's begin.
    async fn after(&self, list: List, merchant: &Merchant, id: Option<&str>) -> Result<After, Problem> {
        let Some(id) = id else { return Ok(None) };
        let what = match list {
            List::Customers => "customer",
            List::Intents => "payment intent",
            List::Plans => "plan",
            List::Subscriptions => "subscription",
        };
        let place = self.store.place(list, &merchant.id, id).await?;
        place.map(Some).ok_or_else(|| Problem::missing(&format!("{what} to start after")))
    }
}

/// How many entries are read for a page: one more than it holds tells whether more come.
fn to_read(limit: PageLimit) -> i64 {
    i64::from(limit.entries()) + 1
}

/// The most bytes of a page, `decisions.md` 5. A client may refuse to read more.
const MOST_PAGE_BYTES: usize = 4 << 20;
/// What stands around the entries of a page: the envelope and `pagination`.
const ENVELOPE_BYTES: usize = 512;

impl Done {
    /// Done, and this is what it came to.
    fn ok(data: String) -> Self {
        Self { status: StatusCode::OK, data, message: None, replayed: false, page: None }
    }

    /// Something new was made.
    fn created(data: String) -> Self {
        Self { status: StatusCode::CREATED, ..Self::ok(data) }
    }

    /// One page of a list, of which one entry more was read than it holds. It ends early where its bytes would pass
    /// [`MOST_PAGE_BYTES`], and has at least one entry.
    fn list<T>(
        entries: Vec<T>,
        limit: PageLimit,
        id: impl Fn(&T) -> String,
        mut reply: impl FnMut(T) -> String,
    ) -> Self {
        let read = entries.len();
        let (mut data, mut last, mut written) = (String::from("["), None, 0);
        for entry in entries.into_iter().take(usize::from(limit.entries())) {
            let (id, reply) = (id(&entry), reply(entry));
            if written > 0 {
                if data.len() + reply.len() + ENVELOPE_BYTES > MOST_PAGE_BYTES {
                    break;
                }
                data.push(',');
            }
            data.push_str(&reply);
            last = Some(id);
            written += 1;
        }
        data.push(']');
        let next = last.filter(|_| written < read);
        Self { page: Some(Page { limit: limit.entries(), next }), ..Self::ok(data) }
    }

    /// With a sentence.
    fn saying(self, message: &'static str) -> Self {
        Self { message: Some(message), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(entries: &[usize]) -> (usize, Option<String>) {
        let limit = PageLimit::new(100).unwrap();
        let done =
            Done::list(entries.to_vec(), limit, ToString::to_string, |bytes| format!("\"{}\"", "x".repeat(bytes)));
        (done.data.len(), done.page.unwrap().next)
    }

    #[test]
    fn a_page_ends_before_the_entry_that_would_exceed_its_size() {
        let half = MOST_PAGE_BYTES / 2 - ENVELOPE_BYTES;
        let (bytes, next) = page_of(&[half, half, 3]);
        assert_eq!(next, None, "{bytes}");
        let (bytes, next) = page_of(&[half - 1, half, 1000]);
        assert!(bytes <= MOST_PAGE_BYTES);
        assert_eq!(next, Some(half.to_string()), "it goes on after the second");
        let (bytes, next) = page_of(&[MOST_PAGE_BYTES * 2, 1]);
        assert!(bytes > MOST_PAGE_BYTES, "one entry at least, however large");
        assert_eq!(next, Some((MOST_PAGE_BYTES * 2).to_string()));
        assert_eq!(page_of(&[]), (2, None));
    }
}
