//! Writes to SQLite: a group is one transaction.
//!
//! **Conflicts are not SQL errors.** Statements have `ON CONFLICT …` or `WHERE version = …`, so that one rejected row does not roll back
//! the rows beside it. If a statement does fail, the whole group is rolled back, and no write in it is acknowledged.

use super::customers::CustomerWrites;
use super::file::DatabaseFile;
use super::intents::{self, IntentWrites};
use super::sessions::{self, SessionWrites};
use super::{clock, esim, keys, merchants, plans, subscriptions};
use crate::sandbox::rules::Intent;
use crate::sandbox::store::writer::GroupCommit;
use crate::sandbox::store::{Customer, Unavailable, Write};
use sqlx::{SqliteConnection, SqlitePool};
use std::collections::VecDeque;

/// The connection that writes, and what is closed with it.
pub(in crate::sandbox::store) struct Committer {
    writing: SqlitePool,
    readers: SqlitePool,
    file: Option<DatabaseFile>,
    writes: Writes,
}

impl Committer {
    pub(super) fn new(writing: SqlitePool, readers: SqlitePool, file: Option<DatabaseFile>) -> Self {
        Self { writing, readers, file, writes: Writes::new() }
    }
}

impl GroupCommit for Committer {
    async fn commit(&mut self, group: Vec<Write>) -> Vec<Result<bool, Unavailable>> {
        let writes = group.len();
        match commit(&self.writing, &self.writes, group).await {
            Ok(effects) => effects.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error.into()); writes],
        }
    }

    /// Closes all connections, and only then unlocks the file.
    async fn close(self) {
        // The writer's connection is closed last: only it may checkpoint the write-ahead log into the file.
        self.readers.close().await;
        self.writing.close().await;
        drop(self.file);
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
    use crate::sandbox::store::Store;
    use crate::sandbox::store::contract::{intent, intent_id};

    #[tokio::test]
    async fn a_group_that_cannot_be_stored_is_not_acknowledged_and_the_next_one_is() {
        let store = Store::on_sqlite().await;
        sqlx::raw_sql("ALTER TABLE intents RENAME TO elsewhere").execute(store.pool()).await.unwrap();
        let (intent, customer) = intent(1, "ORDER-1", None);
        assert!(store.add_intent(intent.clone(), customer.clone()).await.is_err());
        sqlx::raw_sql("ALTER TABLE elsewhere RENAME TO intents").execute(store.pool()).await.unwrap();
        assert!(store.add_intent(intent, customer).await.unwrap());
    }

    #[tokio::test]
    async fn more_rows_than_one_statement_holds_are_all_written() {
        let store = Store::on_sqlite().await;
        let group = (0..203).map(|n| Write::AddIntent(Box::new(intent(n, &format!("ORDER-{n}"), None)))).collect();
        assert!(commit(store.pool(), &Writes::new(), group).await.unwrap().into_iter().all(|made| made));
        assert!(exists(&store, 0).await && exists(&store, 202).await);
    }

    async fn exists(store: &Store, number: u32) -> bool {
        store.intent(&intent_id(number)).await.unwrap().is_some()
    }
}
