//! A ledger of orders and their payments: it decides what a click does, reads every payment until nothing more can
//! happen to it, and reports to the shop what each order has become. Where its orders are kept is a store's business,
//! such as those of the crate `guichet-orders`.
//!
//! A shop implements three functions, [`Shop`]. [`Ledger::settle_due`] is called every few seconds, on every server.

mod backoff;
mod books;
#[cfg(feature = "axum")]
mod pages;
mod requests;
mod restore;
mod seal;

pub use restore::RestoreRound;

pub use crate::shop::ledger::{
    Alarm, AmountUnit, Books, Changed, Closing, Compared, Comparison, Day, Difference, DifferenceKind, Found,
    MethodSum, Mismatch, MismatchReason, Money, NotJudged, Order, OrderRefund, OrderState, PaidBy, Payment, RefundDue,
    RefundKey, Resolve, Restore, Round, Shared, StatementRow, StatementRules, Store, Verdict, WhyNotJudged,
};

use super::key::hmac_sha256;
use super::{Client, Reason, Refused, SecretKey, Shop, clock};
use crate::shop::ledger::{self as rules, Clock, Event, OpenEvent, Receiver, Service, Time};
use crate::shop::{Owner, nonce};
use crate::values::printable;
use backoff::Backoff;
use futures_util::future::join_all;
use requests::ServiceRequests;
use seal::Sealer;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How often [`Ledger::settle_due`] claims eight payments.
const ROUNDS: usize = 6;
/// The longest time for which a call is taken to be executed.
const LONGEST_CALL: Duration = Duration::from_secs(60 * 60);
/// The longest time that the shop has to store an event, before others are delivered.
const LONGEST_EVENT: Duration = Duration::from_secs(10);
/// How many events are delivered at once.
const EVENTS_AT_ONCE: usize = 8;
/// The longest time for which events are delivered in one call, beside the last of them: a shop that does not answer
/// delays no round for long.
const LONGEST_DELIVERY: Duration = Duration::from_secs(10);

/// A merchant's ledger: its client, and the store of its orders. Cheap to clone; a server needs one.
///
/// ```no_run
/// # async fn tick<T: guichet::native::ledger::Store>(client: guichet::Client, store: T, shop: impl guichet::native::Shop) -> Result<(), guichet::native::Refused> {
/// use guichet::native::Ledger;
/// let ledger = Ledger::new(client, store);
/// let round = ledger.settle_due(&shop).await?; // every few seconds
/// for (reference, _) in round.not_readable {
///     println!("look for {reference} at the payment company");
/// }
/// # Ok(()) }
/// ```
pub struct Ledger<T> {
    shared: Arc<Inner<T>>,
}

struct Inner<T> {
    store: T,
    requests: ServiceRequests,
    service: Service,
    clock: Clock,
    backoff: Backoff,
    first_delivery: Duration,
}

impl<T: Store> Ledger<T> {
    /// The ledger of the orders in this store, whose payments are made with this client.
    #[must_use]
    pub fn new(client: Client, store: T) -> Self {
        Self::builder(client, store).build()
    }

    /// The same, with settings.
    pub fn builder(client: Client, store: T) -> LedgerBuilder<T> {
        LedgerBuilder { client, store, keep_days: None, former_key: None, first_delivery: LONGEST_EVENT }
    }

    /// Reads what is due, eight payments at a time and at most 48, and brings the shop what its orders have become.
    /// Call it every few seconds, on every server: of several one reads. Without it the order of a customer who pays
    /// and closes the tab stays unpaid.
    ///
    /// # Errors
    /// [`Refused`] if the store fails. The next call goes on.
    pub async fn settle_due(&self, shop: &impl Shop) -> Result<Round, Refused> {
        let round = self.read_due(shop).await?;
        Ok(Round { not_received: self.deliver_due(shop).await?, ..round })
    }

    /// The first half of [`settle_due`](Self::settle_due): reads what is due.
    ///
    /// # Errors
    /// [`Refused`] if the store fails. The next call goes on.
    pub async fn read_due(&self, shop: &impl Shop) -> Result<Round, Refused> {
        let receiver = self.receiver(shop);
        let ledger = self.rules(&receiver);
        let mut round: Option<Round> = None;
        for _ in 0..ROUNDS {
            let (begun, claimed) = ledger.begin_round().await.map_err(Refused::broken)?;
            let until = begun.until;
            let round = round.get_or_insert(begun);
            round.until = until;
            if claimed.is_empty() {
                break;
            }
            let reads = join_all(claimed.iter().map(|one| ledger.read_due(one, until))).await;
            for (one, read) in claimed.iter().zip(reads) {
                match read {
                    Ok(read) => round.add(read),
                    Err(error) => {
                        tracing::error!(reference = %printable(&one.reference), error = %printable(error), "a payment was not handled");
                        round.not_readable.push((one.reference.clone(), None));
                    }
                }
            }
            ledger.end_round(until).await.map_err(Refused::broken)?;
        }
        Ok(round.unwrap_or_default())
    }

    /// The second half: delivers the events that the shop has not received. One that it refuses comes again at once,
    /// then less and less often, and after a day every hour. Returns how many it has not received.
    ///
    /// # Errors
    /// [`Refused`] if the store fails. The next call goes on.
    pub async fn deliver_due(&self, shop: &impl Shop) -> Result<usize, Refused> {
        let events = self.shared.store.events(None).await.map_err(Refused::broken)?;
        let waiting = events.len();
        self.deliver(shop, self.shared.backoff.due(events), waiting).await
    }

    /// Delivers every event that the shop has not received, also one that comes again later by itself. Returns how
    /// many it has not received.
    ///
    /// # Errors
    /// [`Refused`] if the store fails.
    pub async fn deliver_all(&self, shop: &impl Shop) -> Result<usize, Refused> {
        let events = self.shared.store.events(None).await.map_err(Refused::broken)?;
        let waiting = events.len();
        self.deliver(shop, events, waiting).await
    }

    async fn deliver(&self, shop: &impl Shop, due: Vec<OpenEvent>, mut waiting: usize) -> Result<usize, Refused> {
        let (receiver, began) = (ShopReceiver { shop, limit: LONGEST_EVENT }, clock::monotonic_now());
        let (ledger, mut failed) = (self.rules(&receiver), Ok(()));
        for some in due.chunks(EVENTS_AT_ONCE) {
            if clock::monotonic_now().duration_since(began) > LONGEST_DELIVERY {
                break;
            }
            let delivered = join_all(some.iter().map(|event| ledger.deliver_one(event))).await;
            for (event, is_received) in some.iter().zip(delivered) {
                match is_received {
                    Ok(true) => waiting -= 1,
                    Ok(false) => self.shared.backoff.has_refused(event),
                    Err(error) => failed = Err(Refused::broken(error)),
                }
            }
            failed.clone()?;
        }
        Ok(waiting)
    }

    /// Notes at the first call of which environment this ledger's payments are. False if they are of the other: then a
    /// test payment would pay for goods, or a paid order would be sold again.
    ///
    /// # Errors
    /// [`Refused`] if the store fails.
    pub async fn is_of_its_environment(&self) -> Result<bool, Refused> {
        let is_test = self.client().key().is_test();
        self.change_shared(|shared| Ok(*shared.is_test.get_or_insert(is_test) == is_test)).await
    }

    /// Changes what all servers of this ledger share, if `change` does.
    async fn change_shared<R>(&self, change: impl Fn(&mut Shared) -> Result<R, Refused>) -> Result<R, Refused> {
        let store = &self.shared.store;
        loop {
            let before = store.shared().await.map_err(Refused::broken)?;
            let mut after = before.clone();
            let changed = change(&mut after)?;
            if after == before || store.replace_shared(&before, &after).await.map_err(Refused::broken)? {
                return Ok(changed);
            }
        }
    }

    /// The time by which it decides, in Unix seconds: the store's, and with a test key the service's.
    ///
    /// # Errors
    /// [`Refused`] if the store fails.
    pub async fn now(&self) -> Result<i64, Refused> {
        self.rules(&restore::NoReceiver).now().await.map_err(Refused::broken)
    }

    /// How many seconds the service's clock is ahead of the store's, by its last reply.
    #[must_use]
    pub fn clock_ahead(&self) -> Option<i64> {
        self.shared.clock.ahead()
    }

    /// Reads the payments of one order now, and brings the shop what it has become.
    ///
    /// # Errors
    /// [`Refused`] if the store fails, if there is no such order, or if a payment cannot be read: the others are read
    /// nevertheless.
    pub async fn settle(&self, shop: &impl Shop, order: &str) -> Result<(), Refused> {
        let receiver = self.receiver(shop);
        let ledger = self.rules(&receiver);
        let order = self.order(order).await?.ok_or_else(Refused::order_missing)?;
        let mut outcome = Ok(());
        for (payment, found) in order.all_found() {
            let done = ledger.read(&order, &payment.reference, &found.id).await.map_err(Refused::broken)?;
            outcome = outcome.and(done.reading.transpose().map(drop));
        }
        outcome
    }

    /// Stores what a person has decided about a payment of this order, and brings the shop what it has become.
    ///
    /// # Errors
    /// [`Refused`] if the store fails, if there is no such order, or if it does not have this payment of the service.
    pub async fn resolve(&self, shop: &impl Shop, order: &str, mut resolve: Resolve) -> Result<(), Refused> {
        let order = self.order(order).await?.ok_or_else(Refused::order_missing)?;
        let found = order.payment(&resolve.reference).map_or(&[][..], |payment| &payment.found);
        if let Some(id) = &resolve.id {
            let orders = self.shared.store.find(id).await.map_err(Refused::broken)?;
            let is_known = found.iter().any(|found| found.id == *id);
            let missing = |message| Err(Refused::new(404, Reason { code: "payment_missing", message }));
            if orders.iter().any(|name| *name != order.name) {
                return missing("Another order has this payment.");
            }
            if matches!(resolve.verdict, Verdict::Paid(_)) && !found.is_empty() && !is_known {
                return missing("The service's payments of this reference have other ids: `orders show` names them.");
            }
        }
        if found.is_empty() && resolve.verdict == Verdict::Ended {
            resolve.id = None;
        }
        let done = self.rules(&self.receiver(shop)).handle(&order.name, &order.owner, Event::Resolve(resolve)).await;
        match done.map_err(Refused::broken)?.answer {
            Some(rules::Answer::Error { status, code }) => {
                let message = match status {
                    404 => "There is no such payment.",
                    _ => "Name the payment of the service, by its id.",
                };
                Err(Refused::new(status, Reason { code, message }))
            }
            _ => Ok(()),
        }
    }

    /// An order as it is stored; none if there is none of this name.
    ///
    /// # Errors
    /// [`Refused`] if the store fails.
    pub async fn order(&self, name: &str) -> Result<Option<Order>, Refused> {
        self.shared.store.order(name).await.map_err(Refused::broken)
    }

    pub(super) fn client(&self) -> &Client {
        &self.shared.requests.client
    }

    /// The mark that this ledger's payments of an order have at the service.
    fn mark(&self, shared: &rules::Shared, owner: &Owner, name: &str) -> String {
        let of = shared.text_of_mark(owner, name);
        nonce(&hmac_sha256(&*self.client().derive_key("guichet ledger: marks"), of.as_bytes()))
    }

    /// The shop, while a page or a round waits for it.
    fn receiver<'a, S: Shop>(&self, shop: &'a S) -> ShopReceiver<'a, S> {
        ShopReceiver { shop, limit: self.shared.first_delivery }
    }

    fn rules<'a, W: Receiver>(&'a self, receiver: &'a W) -> rules::Ledger<'a, T, ServiceRequests, W> {
        let Inner { store, requests, service, clock, .. } = &*self.shared;
        rules::Ledger { store, requests, receiver, service, clock }
    }
}

/// The return nonce of a new payment.
fn new_nonce() -> Result<String, getrandom::Error> {
    let mut random = [0; 32];
    getrandom::fill(&mut random)?;
    Ok(nonce(&random))
}

/// The settings of a ledger.
///
/// ```
/// # use guichet::native::{ledger::Store, Ledger, SecretKey};
/// # fn open<T: Store>(client: guichet::Client, store: T, former: SecretKey) {
/// let ledger = Ledger::builder(client, store).keep_days(30).former_key(former).build();
/// # let _ = ledger; }
/// ```
#[derive(Debug)]
#[must_use]
pub struct LedgerBuilder<T> {
    client: Client,
    store: T,
    keep_days: Option<u16>,
    former_key: Option<SecretKey>,
    first_delivery: Duration,
}

impl<T: Store> LedgerBuilder<T> {
    /// Deletes the personal data of each payment so many days after its end: all but its sum, references and ids.
    pub fn keep_days(mut self, days: u16) -> Self {
        self.keep_days = Some(days);
        self
    }

    /// The secret key that the client's has replaced. Addresses that were stored under it still lead to their payments.
    pub fn former_key(mut self, key: SecretKey) -> Self {
        self.former_key = Some(key);
        self
    }

    /// How long the shop has to store an event the first time, while a page or a round waits for it: at most, and by
    /// default, 10 seconds.
    pub fn first_delivery(mut self, limit: Duration) -> Self {
        self.first_delivery = limit.min(LONGEST_EVENT);
        self
    }

    /// The ledger.
    #[must_use]
    pub fn build(self) -> Ledger<T> {
        let Self { client, store, keep_days, former_key, first_delivery } = self;
        // A request may still be executed for a while after its deadline.
        let call = client.deadline().saturating_add(Duration::from_secs(30)).min(LONGEST_CALL).as_secs();
        let call = Time::try_from(call).unwrap_or_default();
        let service = Service { call, keep_days, ..Service::of(client.profile()) };
        let clock = Clock::new(client.key().is_test());
        let requests = ServiceRequests { sealer: Sealer::new(client.key(), former_key.as_ref()), client };
        Ledger {
            shared: Arc::new(Inner { store, requests, service, clock, backoff: Backoff::default(), first_delivery }),
        }
    }
}

/// The shop, which receives what its orders have become.
struct ShopReceiver<'a, S> {
    shop: &'a S,
    /// How long it has to store an event.
    limit: Duration,
}

impl<S: Shop> Receiver for ShopReceiver<'_, S> {
    async fn order_changed(&self, changed: &Changed) -> Result<(), Refused> {
        let late = |_| Err(Refused::broken(format_args!("order_changed has taken longer than {:?}", self.limit)));
        tokio::time::timeout(self.limit, self.shop.order_changed(changed)).await.unwrap_or_else(late)
    }

    fn alarm(&self, alarm: &Alarm) {
        log_alarm(alarm);
    }
}

fn log_alarm(Alarm { what, about }: &Alarm) {
    // It is delivered again by itself.
    if *what == "not_received" {
        return tracing::warn!(order = %printable(about), "the shop has not received what an order has become");
    }
    tracing::error!(what, about = %printable(about), "the ledger needs a person");
}

impl<T> Clone for Ledger<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T: fmt::Debug> fmt::Debug for Ledger<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("store", &self.shared.store).finish_non_exhaustive()
    }
}
