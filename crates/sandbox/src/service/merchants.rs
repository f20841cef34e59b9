//! The merchants of the service: all of them are in memory, since they are few.

use crate::clock::ServiceClock;
use crate::faults::{AddFaultError, Fault, FaultKind, MAX_FAULTS};
use crate::redact::redacted;
use crate::requests::{Delivery, Listed, MAX_REQUESTS, Request};
use crate::rules::{OperatorStatus, OperatorStatuses};
use crate::start_error::StartError;
use crate::store::{Backend, MerchantRow, Write};
use crate::surroundings::within;
use crate::tokens::{self, SECRET_KEY};
use crate::unavailable::Unavailable;
use guichet::values::{Moment, Secret};
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::watch;

/// The most characters of why an application has not received an event.
const LONGEST_REASON: usize = 300;
/// The most characters of a reference in the list of requests.
const LONGEST_REFERENCE: usize = 100;

/// One merchant. Every request sees the same state of it.
#[derive(Clone)]
pub(crate) struct Merchant {
    state: Arc<State>,
    clock: Arc<ServiceClock>,
}

struct State {
    id: String,
    name: String,
    clock_offset: AtomicI64,
    operators: RwLock<OperatorStatuses>,
    /// Held while due work runs, while the clock is moved, and while a reset runs.
    billing: tokio::sync::Mutex<()>,
    faults: Mutex<Vec<Fault>>,
    requests: Mutex<VecDeque<Request>>,
    /// The number of changes so far.
    changes: watch::Sender<u64>,
}

/// Keeps billing, clock moves and resets of one merchant apart, until it is dropped.
pub(crate) type MerchantLock<'a> = tokio::sync::MutexGuard<'a, ()>;

impl Merchant {
    /// Its id.
    pub(crate) fn id(&self) -> &str {
        &self.state.id
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.state.name
    }

    /// The offset of its clock from the service's, in seconds; never negative.
    pub(crate) fn clock_offset(&self) -> i64 {
        self.state.clock_offset.load(Ordering::Acquire)
    }

    /// The time on which its responses depend: the service's clock plus its offset. It is stored.
    pub(crate) fn now(&self) -> Moment {
        self.clock.now().plus(self.clock_offset())
    }

    /// The current time of its clock, which may not be stored yet. No response may depend on it.
    pub(crate) fn peek(&self) -> Moment {
        self.clock.peek().plus(self.clock_offset())
    }

    /// How the operators work for it.
    pub(crate) fn operators(&self) -> OperatorStatuses {
        self.state.operators.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_operators(&self, operators: OperatorStatuses) {
        *self.state.operators.write().unwrap_or_else(PoisonError::into_inner) = operators;
    }

    /// Waits until no billing, clock move or reset of the merchant runs, and keeps others out.
    pub(crate) async fn lock(&self) -> MerchantLock<'_> {
        self.state.billing.lock().await
    }

    fn lock_faults(&self) -> MutexGuard<'_, Vec<Fault>> {
        self.state.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_requests(&self) -> MutexGuard<'_, VecDeque<Request>> {
        self.state.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a fault after the others.
    pub(crate) fn add_fault(&self, fault: Fault) -> Result<(), AddFaultError> {
        let mut faults = self.lock_faults();
        if faults.len() >= MAX_FAULTS {
            return Err(AddFaultError::TooMany);
        }
        if fault.count > 0 {
            faults.push(fault);
        }
        self.changed();
        Ok(())
    }

    /// Takes the oldest fault of this operation, if there is one, and decrements its count.
    pub(crate) fn take_fault(&self, operation: &str) -> Option<FaultKind> {
        let mut faults = self.lock_faults();
        let position = faults.iter().position(|fault| fault.operation == operation)?;
        let kind = faults[position].kind;
        faults[position].count -= 1;
        if faults[position].count == 0 {
            faults.remove(position);
        }
        Some(kind)
    }

    /// The waiting faults, in the order they were added.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        self.lock_faults().clone()
    }

    /// Removes the waiting faults.
    pub(crate) fn clear_faults(&self) {
        self.lock_faults().clear();
        self.changed();
    }

    /// Lists a request that has arrived.
    pub(crate) fn add_request(&self, request: Request) {
        let mut requests = self.lock_requests();
        if requests.len() == MAX_REQUESTS {
            requests.pop_front();
        }
        requests.push_back(request);
        self.changed();
    }

    /// Lists that a customer opened the page of a payment. A page that reloads itself is listed once a minute.
    pub(crate) fn add_visit(&self, id: &str) {
        let visit = Request::visit(self.now(), id);
        let is_listed = self
            .lock_requests()
            .iter()
            .rev()
            .take_while(|request| request.at.plus(60) > visit.at)
            .any(|request| request.beside == visit.beside && request.intent == visit.intent);
        if !is_listed {
            self.add_request(visit);
        }
    }

    /// Lists that the shop delivered an event to its application.
    pub(crate) fn add_delivery(&self, mut delivery: Delivery) {
        delivery.answer = delivery.answer.map_err(|why| why.chars().take(LONGEST_REASON).collect());
        let request = Request::delivered(self.peek(), delivery, &self.lock_requests());
        self.add_request(request);
    }

    /// Records the response of a request: its status, unless the connection ends without it, and what it shows.
    pub(crate) fn record_response(&self, request_id: &str, status: Option<u16>, listed: Listed) {
        self.record(request_id, |request| {
            (request.status, request.shown, request.error) = (status, listed.shown, listed.error);
        });
        self.changed();
    }

    /// Records the `merchant_reference` in the body of a request.
    pub(crate) fn record_reference(&self, request_id: &str, reference: &Value) {
        let reference = reference.is_string().then(|| redacted(reference.clone()));
        let reference = reference.as_ref().and_then(Value::as_str);
        let reference = reference.map(|reference| reference.chars().take(LONGEST_REFERENCE).collect());
        self.record(request_id, |request| request.reference = reference);
    }

    fn record(&self, request_id: &str, record: impl FnOnce(&mut Request)) {
        let mut requests = self.lock_requests();
        requests.iter_mut().rev().find(|request| request.request_id == request_id).map(record);
    }

    /// The newest requests to the service, oldest first.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.lock_requests().iter().filter(|request| request.beside.is_none()).cloned().collect()
    }

    /// Reads the newest [`MAX_REQUESTS`] requests, those for the hosted page among them, oldest first.
    pub(crate) fn read_requests<T>(&self, read: impl FnOnce(&VecDeque<Request>) -> T) -> T {
        read(&self.lock_requests())
    }

    /// Wakes the calls that wait for a change.
    pub(crate) fn changed(&self) {
        self.state.changes.send_modify(|changes| *changes += 1);
    }

    /// The number of changes so far. Waits for `limit` while it is `known`.
    pub(crate) async fn changes(&self, known: Option<u64>, limit: Duration) -> u64 {
        let mut changes = self.state.changes.subscribe();
        let _ = within(limit, changes.wait_for(|changes| Some(*changes) != known)).await;
        *self.state.changes.borrow()
    }
}

/// All merchants.
pub(crate) struct Merchants {
    clock: Arc<ServiceClock>,
    store: Arc<dyn Backend>,
    first: Merchant,
    table: RwLock<Table>,
}

#[derive(Default)]
struct Table {
    by_id: HashMap<String, Merchant>,
    by_key: HashMap<String, Merchant>,
}

impl Table {
    fn add(&mut self, row: MerchantRow, clock: &Arc<ServiceClock>) -> Merchant {
        let state = State {
            id: row.id.clone(),
            name: row.name,
            clock_offset: AtomicI64::new(row.clock_offset),
            operators: RwLock::new(row.operators),
            billing: tokio::sync::Mutex::default(),
            faults: Mutex::default(),
            requests: Mutex::default(),
            changes: watch::Sender::new(0),
        };
        let merchant = Merchant { state: Arc::new(state), clock: Arc::clone(clock) };
        self.by_id.insert(row.id, merchant.clone());
        self.by_key.insert(row.key_fingerprint, merchant.clone());
        merchant
    }
}

impl Merchants {
    /// Loads the merchants. Stores this first one if there is none; otherwise the first one gets this one's key.
    pub(crate) async fn load(
        store: Arc<dyn Backend>,
        clock: Arc<ServiceClock>,
        first: MerchantRow,
    ) -> Result<Self, StartError> {
        let database_error = |error: Unavailable| StartError::Database(error.to_string());
        let mut rows = store.merchants().await.map_err(database_error)?;
        if rows.iter().skip(1).any(|another| another.key_fingerprint == first.key_fingerprint) {
            return Err(StartError::Keys(
                "GUICHET_SECRET_KEY is the key of another merchant of this database, and cannot be the first one's too. Unset it to start the \
                 sandbox, and set it for what that merchant sends."
                    .into(),
            ));
        }
        let write = match rows.first_mut() {
            None => {
                rows.push(first.clone());
                Some(Write::AddMerchant(first))
            }
            Some(stored) if stored.key_fingerprint != first.key_fingerprint => {
                tracing::warn!(merchant = %stored.id, "the first merchant's secret key differs from that of the last start");
                stored.key_fingerprint.clone_from(&first.key_fingerprint);
                Some(Write::ChangeKey { merchant: stored.id.clone(), key_fingerprint: first.key_fingerprint })
            }
            Some(_) => None,
        };
        if let Some(write) = write {
            store.write(write).await.map_err(database_error)?;
        }
        let mut table = Table::default();
        let all: Vec<_> = rows.into_iter().map(|row| table.add(row, &clock)).collect();
        let first = all.into_iter().next().expect("there is a first merchant: it was added above");
        Ok(Self { clock, store, first, table: RwLock::new(table) })
    }

    /// The first merchant.
    pub(crate) fn first(&self) -> Merchant {
        self.first.clone()
    }

    /// A merchant by its id.
    pub(crate) fn by_id(&self, id: &str) -> Option<Merchant> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).by_id.get(id).cloned()
    }

    /// A merchant by the fingerprint of its secret key.
    pub(crate) fn by_key(&self, key_fingerprint: &str) -> Option<Merchant> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).by_key.get(key_fingerprint).cloned()
    }

    /// Every merchant.
    #[cfg(feature = "serve")]
    pub(crate) fn all(&self) -> Vec<Merchant> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).by_id.values().cloned().collect()
    }

    /// Creates a merchant. Its secret key is returned this once.
    pub(crate) async fn make(&self, name: &str) -> Result<(Merchant, Secret), Unavailable> {
        let secret_key = tokens::secret(SECRET_KEY);
        let row = MerchantRow::new(name, &secret_key);
        self.store.write(Write::AddMerchant(row.clone())).await?;
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        Ok((table.add(row, &self.clock), secret_key))
    }

    /// Moves a merchant's clock forward.
    pub(crate) async fn advance(&self, merchant: &Merchant, seconds: u32) -> Result<(), Unavailable> {
        let seconds = i64::from(seconds);
        // The database and the memory change together: no reset can run in between.
        let _lock = merchant.lock().await;
        self.store.write(Write::AdvanceClock { merchant: merchant.id().to_owned(), seconds }).await?;
        merchant.state.clock_offset.fetch_add(seconds, Ordering::AcqRel);
        merchant.changed();
        Ok(())
    }

    /// Changes how an operator works for a merchant.
    pub(crate) async fn set_operator(
        &self,
        merchant: &Merchant,
        code: &str,
        status: OperatorStatus,
    ) -> Result<(), Unavailable> {
        let _lock = merchant.lock().await;
        let operators = merchant.operators().with(code, status);
        let merchant_id = merchant.id().to_owned();
        self.store.write(Write::SetOperators { merchant: merchant_id, operators: operators.clone() }).await?;
        merchant.set_operators(operators);
        merchant.changed();
        Ok(())
    }

    /// Deletes everything of a merchant but its name and its key. Its clock shows the service's time again.
    pub(crate) async fn reset(&self, merchant: &Merchant) -> Result<(), Unavailable> {
        let _lock = merchant.lock().await;
        self.store.write(Write::Reset { merchant: merchant.id().to_owned() }).await?;
        merchant.state.clock_offset.store(0, Ordering::Release);
        merchant.set_operators(OperatorStatuses::default());
        merchant.lock_faults().clear();
        merchant.lock_requests().clear();
        merchant.changed();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WallClock;
    use crate::store::{Memory, Sqlite};
    use guichet::operations::{CreatePlan, ListPlans};
    use guichet::protocol::Operation as _;

    async fn merchants(store: Arc<dyn Backend>) -> Merchants {
        let clock = Arc::new(ServiceClock::load(&*store, WallClock::default()).await.unwrap());
        let first = MerchantRow::new("Shop", &Secret::new("sk_test_1"));
        Merchants::load(store, clock, first).await.unwrap()
    }

    #[tokio::test]
    async fn a_clock_moved_during_a_reset_shows_the_stored_time() {
        a_clock_moved_during_a_reset(Arc::new(Memory::default())).await;
        a_clock_moved_during_a_reset(Arc::new(Sqlite::without_file().await)).await;
    }

    async fn a_clock_moved_during_a_reset(store: Arc<dyn Backend>) {
        let merchants = merchants(Arc::clone(&store)).await;
        let merchant = merchants.first();
        for reset_first in [true, false] {
            let (reset, advance) = (merchants.reset(&merchant), merchants.advance(&merchant, 1_000));
            if reset_first {
                let (reset, advanced) = tokio::join!(reset, advance);
                assert!(reset.is_ok() && advanced.is_ok());
            } else {
                let (advanced, reset) = tokio::join!(advance, reset);
                assert!(reset.is_ok() && advanced.is_ok());
            }
            let stored = store.merchants().await.unwrap()[0].clock_offset;
            assert_eq!(merchant.clock_offset(), stored);
        }
    }

    #[tokio::test]
    async fn a_fault_is_taken_as_often_as_it_says() {
        let merchants = merchants(Arc::new(Memory::default())).await;
        let merchant = merchants.first();
        let faults = [
            Fault::status::<CreatePlan>(503).retry_after(7),
            Fault::drop::<ListPlans>().times(2),
            Fault::drop::<CreatePlan>(),
        ];
        for fault in faults.clone() {
            merchant.add_fault(fault).unwrap();
        }
        assert_eq!(merchant.faults(), faults);
        assert_eq!(merchant.take_fault(CreatePlan::SPEC.name), Some(faults[0].kind()), "the oldest");
        assert_eq!(merchant.take_fault(ListPlans::SPEC.name), Some(FaultKind::Drop));
        assert_eq!(merchant.faults(), [Fault::drop::<ListPlans>(), Fault::drop::<CreatePlan>()]);
        merchant.clear_faults();
        assert_eq!(merchant.take_fault(ListPlans::SPEC.name), None);
        for _ in 0..MAX_FAULTS {
            merchant.add_fault(Fault::drop::<ListPlans>()).unwrap();
        }
        assert!(merchant.add_fault(Fault::drop::<ListPlans>()).is_err());
        merchants.reset(&merchant).await.unwrap();
        assert_eq!(merchant.faults(), []);
    }

    #[tokio::test]
    async fn the_newest_requests_are_listed_with_their_statuses() {
        let merchants = merchants(Arc::new(Memory::default())).await;
        let merchant = merchants.first();
        let request =
            |number: usize| Request::new(Moment::from_unix(1), &ListPlans::SPEC, None, None, &format!("req_{number}"));
        for number in 1..=MAX_REQUESTS + 2 {
            merchant.add_request(request(number));
        }
        merchant.record_response("req_4", Some(404), Listed::default());
        let newest = merchant.requests();
        assert_eq!((newest.len(), &newest[0]), (MAX_REQUESTS, &request(3)));
        assert_eq!(newest[1], Request { status: Some(404), ..request(4) });
        merchants.reset(&merchant).await.unwrap();
        assert_eq!(merchant.requests(), []);
    }
}
