//! The only writer: it commits queued writes in groups, then returns all their results.
//!
//! **Conflicts are not SQL errors.** Statements have `ON CONFLICT …` or `WHERE version = …`, so that one rejected row does not roll back
//! the rows beside it. If a statement does fail, the whole group is rolled back, and no write in it is acknowledged.

use super::Unavailable;
use super::clock;
use super::customers::{Customer, CustomerWrites};
use super::esim;
use super::file::DatabaseFile;
use super::intents::{self, IntentWrites};
use super::keys;
use super::merchants::{self, MerchantRow};
use super::plans;
use super::sessions::{self, SessionWrites};
use super::subscriptions::{self, Billed};
use crate::sandbox::rules::billing::Plan;
use crate::sandbox::rules::{EsimOrder, Fulfilment, IdempotentRequest, Intent, Session};
use crate::values::{EsimOrderId, Moment, PlanId, printable};
use sqlx::{SqliteConnection, SqlitePool};
use std::collections::VecDeque;
use std::sync::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// The most writes in one commit.
const GROUP: usize = 256;

/// One write.
pub(super) enum Write {
    AddEsimOrder(Box<EsimOrder>),
    AddIntent(Box<(Intent, Customer)>),
    AddMerchant(MerchantRow),
    AddPlan(Box<Plan>),
    AddSession(Session),
    AdvanceClock {
        merchant: String,
        seconds: i64,
    },
    ChangeKey {
        merchant: String,
        key_fingerprint: String,
    },
    DeactivatePlan {
        id: PlanId,
    },
    /// Deletes at most `limit` idempotency keys that have expired at this time of the service's clock.
    DeleteExpiredKeys {
        wall: Moment,
        limit: i64,
    },
    Fulfil(Vec<(EsimOrderId, Fulfilment)>),
    /// The inner write, unless another object was created under the idempotency key.
    IfKeyIsNew {
        request: IdempotentRequest,
        made: String,
        write: Box<Self>,
    },
    Reset {
        merchant: String,
    },
    RevokeSession {
        fingerprint: String,
        at: Moment,
    },
    SaveBilled(Vec<Billed>),
    SaveIntent(Box<Intent>),
    SaveIntents(Vec<Intent>),
    /// A second of the service's clock.
    SaveSecond(i64),
}

impl Write {
    /// Makes a write conditional on the request's idempotency key, if it has one. The created object has this id.
    pub(super) fn if_key_is_new(self, request: Option<IdempotentRequest>, made: String) -> Self {
        match request {
            Some(request) => Self::IfKeyIsNew { request, made, write: Box::new(self) },
            None => self,
        }
    }
}

/// A queued write, and the sender of its result.
struct Job {
    write: Write,
    done: oneshot::Sender<Result<bool, Unavailable>>,
}

/// The future result of a queued write: whether it had an effect.
pub(in crate::sandbox) type PendingWrite = oneshot::Receiver<Result<bool, Unavailable>>;

/// The handle of the writer task.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the writer task. At its end it closes all connections, and only then unlocks the file.
    pub(super) fn start(pool: SqlitePool, readers: SqlitePool, file: Option<DatabaseFile>) -> Self {
        let (jobs, gathered) = mpsc::channel(4 * GROUP);
        let task = tokio::spawn(async move {
            write_groups(&pool, gathered).await;
            // The writer's connection is closed last: only it may checkpoint the write-ahead log into the file.
            readers.close().await;
            pool.close().await;
            drop(file);
        });
        Self { jobs: Mutex::new(Some(jobs)), task: Mutex::new(Some(task)) }
    }

    /// Writes, waits until the write is durable, and returns whether it had an effect.
    pub(super) async fn write(&self, write: Write) -> Result<bool, Unavailable> {
        self.begin(write).await?.await.map_err(|_| closed())?
    }

    /// Queues a write. It is executed even if nobody waits for its result.
    pub(super) async fn begin(&self, write: Write) -> Result<PendingWrite, Unavailable> {
        let jobs = self.jobs.lock().map_err(|_| closed())?.clone().ok_or_else(closed)?;
        let (done, pending) = oneshot::channel();
        jobs.send(Job { write, done }).await.map_err(|_| closed())?;
        Ok(pending)
    }

    /// Finishes queued writes and ends the task.
    pub(super) async fn close(&self) {
        let jobs = self.jobs.lock().map(|mut jobs| jobs.take());
        drop(jobs);
        let task = self.task.lock().map(|mut task| task.take());
        if let Ok(Some(task)) = task
            && task.await.is_err()
        {
            tracing::error!("the writer has panicked");
        }
    }
}

fn closed() -> Unavailable {
    Unavailable("it is closed".into())
}

async fn write_groups(pool: &SqlitePool, mut gathered: mpsc::Receiver<Job>) {
    let writes = Writes::new();
    let mut jobs = Vec::with_capacity(GROUP);
    // Logged when writing begins to fail and when it works again, not for every group.
    let mut is_failing = false;
    while gathered.recv_many(&mut jobs, GROUP).await > 0 {
        let (group, waiting): (Vec<Write>, Vec<_>) = jobs.drain(..).map(|job| (job.write, job.done)).unzip();
        match commit(pool, &writes, group).await {
            Ok(effects) => {
                if std::mem::take(&mut is_failing) {
                    tracing::info!("writes are stored again");
                }
                for (done, effect) in waiting.into_iter().zip(effects) {
                    // The request may no longer wait.
                    let _ = done.send(Ok(effect));
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut is_failing, true) {
                    tracing::error!(error = %printable(&error), "writes are not stored");
                }
                for done in waiting {
                    let _ = done.send(Err(Unavailable(error.to_string())));
                }
            }
        }
    }
}

/// The prepared statements of the busiest tables.
struct Writes {
    customers: CustomerWrites,
    intents: IntentWrites,
    sessions: SessionWrites,
}

impl Writes {
    fn new() -> Self {
        Self { customers: CustomerWrites::new(), intents: IntentWrites::new(), sessions: SessionWrites::new() }
    }
}

/// Writes a group in one transaction. Returns whether each write had an effect.
async fn commit(pool: &SqlitePool, writes: &Writes, group: Vec<Write>) -> Result<Vec<bool>, sqlx::Error> {
    let mut connection = pool.acquire().await?;
    sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await?;
    let written = write_all(&mut connection, writes, group).await;
    let end = if written.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = sqlx::query(end).execute(&mut *connection).await;
    match (written, ended) {
        (Ok(effects), Ok(_)) => Ok(effects),
        (Ok(_), Err(error)) => {
            // A failed commit may leave its transaction open: the next group must not join it.
            let _ = sqlx::query("ROLLBACK").execute(&mut *connection).await;
            Err(error)
        }
        (Err(error), _) => Err(error),
    }
}

async fn write_all(
    connection: &mut SqliteConnection,
    writes: &Writes,
    group: Vec<Write>,
) -> Result<Vec<bool>, sqlx::Error> {
    let mut effects = vec![true; group.len()];
    let mut new_intents = Vec::new();
    let mut new_sessions = Vec::new();
    let mut new_charges = Vec::new();
    let mut new_customers = Vec::new();
    let mut forgotten = Vec::new();
    let mut left: VecDeque<(usize, Write)> = group.into_iter().enumerate().collect();
    while let Some((place, write)) = left.pop_front() {
        match write {
            // The key is reserved in the same transaction: it exists only with its object.
            Write::IfKeyIsNew { request, made, write } => {
                effects[place] = keys::take(connection, &request, &made).await?;
                if effects[place] {
                    left.push_front((place, *write));
                }
            }
            Write::AddIntent(row) => new_intents.push((place, *row)),
            Write::AddSession(session) => new_sessions.push(session),
            Write::SaveBilled(billed) => {
                for billed in billed {
                    if subscriptions::write(connection, &billed).await? {
                        new_charges.extend(billed.charges);
                        new_customers.extend(billed.customer);
                    } else {
                        effects[place] = false;
                    }
                }
            }
            Write::AddEsimOrder(order) => effects[place] = esim::add(connection, &order).await?,
            Write::DeleteExpiredKeys { wall, limit } => {
                effects[place] = keys::delete_expired(connection, wall, limit).await?
            }
            Write::Fulfil(fulfilled) => {
                for (order, fulfilment) in fulfilled {
                    esim::fulfil(connection, &order, &fulfilment).await?;
                }
            }
            Write::SaveIntents(intents) => {
                for intent in intents {
                    effects[place] &= intents::save(connection, &intent).await?;
                }
            }
            Write::SaveSecond(second) => effects[place] = clock::save(connection, second).await?,
            Write::SaveIntent(intent) => effects[place] = intents::save(connection, &intent).await?,
            Write::RevokeSession { fingerprint, at } => {
                effects[place] = sessions::revoke(connection, &fingerprint, at).await?
            }
            Write::Reset { merchant } => forgotten.push(merchant),
            Write::AddPlan(plan) => effects[place] = plans::add(connection, &plan).await?,
            Write::DeactivatePlan { id } => effects[place] = plans::deactivate(connection, &id).await?,
            Write::AddMerchant(merchant) => effects[place] = merchants::add(connection, &merchant).await?,
            Write::ChangeKey { merchant, key_fingerprint } => {
                effects[place] = merchants::change_key(connection, &merchant, &key_fingerprint).await?;
            }
            Write::AdvanceClock { merchant, seconds } => {
                effects[place] = merchants::advance_clock(connection, &merchant, seconds).await?;
            }
        }
    }
    writes.sessions.add(connection, &new_sessions).await?;
    // Sorted by time, whichever subscription was billed first: lists show charges in this order.
    new_charges.sort_by_key(|charge: &Intent| charge.created_at);
    let created = new_intents.iter().map(|(place, (intent, _)): &(usize, (Intent, Customer))| (*place, intent));
    let intents: Vec<_> = created.chain(new_charges.iter().map(|charge| (usize::MAX, charge))).collect();
    for place in writes.intents.add(connection, &intents).await? {
        if let Some(effect) = effects.get_mut(place) {
            *effect = false;
        }
    }
    let kept = new_intents.iter().filter(|(place, _)| effects[*place]).map(|(_, (_, customer))| customer);
    let customers: Vec<&Customer> = kept.chain(&new_customers).collect();
    writes.customers.add(connection, &customers).await?;
    // Last, so that objects created in the same group are deleted too.
    for merchant in forgotten {
        merchants::reset(connection, &merchant).await?;
    }
    Ok(effects)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::rules::{IntentState, Status, Terms};
    use crate::sandbox::store::{Location, Store};
    use crate::values::IntentId;

    #[tokio::test]
    async fn a_refused_row_does_not_undo_its_group() {
        let store = Store::open(&Location::Memory).await.unwrap();
        let group = || {
            let taken = Write::AddIntent(Box::new(new("pi_2", "ORDER-1")));
            let stale = Write::SaveIntent(Box::new(Intent { version: 9, ..new("pi_1", "ORDER-1").0 }));
            let ended = Write::RevokeSession { fingerprint: "unknown".into(), at: Moment::from_unix(1) };
            let free = Write::AddIntent(Box::new(new("pi_3", "ORDER-3")));
            vec![Write::AddIntent(Box::new(new("pi_1", "ORDER-1"))), taken, stale, ended, free]
        };
        let writes = Writes::new();
        assert_eq!(commit(&store.readers, &writes, group()).await.unwrap(), [true, false, false, false, true]);
        assert!(exists(&store, "pi_1").await && exists(&store, "pi_3").await && !exists(&store, "pi_2").await);
    }

    #[tokio::test]
    async fn saving_an_outdated_version_reports_a_conflict() {
        let store = Store::open(&Location::Memory).await.unwrap();
        let (intent, customer) = new("pi_1", "ORDER-1");
        assert!(store.add_intent(intent.clone(), customer).await.unwrap());
        let paid = Intent { state: IntentState { status: Status::Succeeded, ..IntentState::new() }, ..intent.clone() };
        assert!(store.save_intent(paid).await.unwrap());
        assert!(!store.save_intent(intent.clone()).await.unwrap());
        let kept = store.intent(&intent.id).await.unwrap().unwrap();
        assert_eq!((kept.state.status, kept.version), (Status::Succeeded, 2));
    }

    #[tokio::test]
    async fn a_group_that_cannot_be_stored_is_not_acknowledged_and_the_next_one_is() {
        let store = Store::open(&Location::Memory).await.unwrap();
        sqlx::raw_sql("ALTER TABLE intents RENAME TO elsewhere").execute(&store.readers).await.unwrap();
        let (intent, customer) = new("pi_1", "ORDER-1");
        assert!(store.add_intent(intent.clone(), customer.clone()).await.is_err());
        sqlx::raw_sql("ALTER TABLE elsewhere RENAME TO intents").execute(&store.readers).await.unwrap();
        assert!(store.add_intent(intent, customer).await.unwrap());
    }

    #[tokio::test]
    async fn more_rows_than_one_statement_holds_are_all_written() {
        let store = Store::open(&Location::Memory).await.unwrap();
        let writes = Writes::new();
        let group =
            (0..203).map(|n| Write::AddIntent(Box::new(new(&format!("pi_{n}"), &format!("ORDER-{n}"))))).collect();
        assert!(commit(&store.readers, &writes, group).await.unwrap().into_iter().all(|made| made));
        assert!(exists(&store, "pi_0").await && exists(&store, "pi_202").await);
    }

    async fn exists(store: &Store, id: &str) -> bool {
        store.intent(&IntentId::new(id).unwrap()).await.unwrap().is_some()
    }

    fn new(id: &str, reference: &str) -> (Intent, Customer) {
        let body = format!(
            r#"{{"firstname":"Awa","lastname":"Ngo","email":"awa@example.com","amount":"5000","currency":"XAF","description":"Shoes",
            "merchant_reference":"{reference}","fee_bearer":"merchant","confirmation_method":"automatic","confirm":false}}"#
        );
        let intent = Intent {
            id: IntentId::new(id).unwrap(),
            merchant: "mch_1".into(),
            payment_ref: "gch_1".into(),
            digest: String::new(),
            terms: Terms::read(&body).unwrap(),
            body,
            state: IntentState::new(),
            created_at: Moment::from_unix(1),
            expires_at: Moment::from_unix(2),
            version: 1,
        };
        let customer = Customer {
            id: format!("cus_{id}"),
            merchant: "mch_1".into(),
            contact: "awa@example.com".into(),
            firstname: "Awa".into(),
            lastname: "Ngo".into(),
            email: "awa@example.com".into(),
            phone: String::new(),
            created_at: Moment::from_unix(1),
        };
        (intent, customer)
    }
}
