//! Writes to SQLite: a group is one transaction.
//!
//! **Conflicts are not SQL errors.** Statements have `ON CONFLICT …` or `WHERE version = …`, so that one rejected row does not roll back
//! the rows beside it. If a statement does fail, the whole group is rolled back, and no write in it is acknowledged.

use super::file::DatabaseFile;
use super::writes::{self, Inserts};
use crate::rules::Intent;
use crate::store::sql::GroupCommit;
use crate::store::{Customer, Unavailable, Write};
use sqlx::{SqliteConnection, SqlitePool};
use std::collections::VecDeque;

/// The connection that writes, and what is closed with it.
pub(super) struct Committer {
    writing: SqlitePool,
    readers: SqlitePool,
    file: Option<DatabaseFile>,
    inserts: Inserts,
}

impl Committer {
    pub(super) fn new(writing: SqlitePool, readers: SqlitePool, file: Option<DatabaseFile>) -> Self {
        Self { writing, readers, file, inserts: Inserts::new() }
    }
}

impl GroupCommit for Committer {
    async fn commit(&mut self, group: Vec<Write>) -> Vec<Result<bool, Unavailable>> {
        let writes = group.len();
        match commit(&self.writing, &self.inserts, group).await {
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

/// Writes a group in one transaction. Returns whether each write had an effect.
async fn commit(pool: &SqlitePool, inserts: &Inserts, group: Vec<Write>) -> Result<Vec<bool>, sqlx::Error> {
    let mut connection = pool.acquire().await?;
    sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await?;
    let written = write_all(&mut connection, inserts, group).await;
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
    inserts: &Inserts,
    group: Vec<Write>,
) -> Result<Vec<bool>, sqlx::Error> {
    let mut effects = vec![true; group.len()];
    let mut new_intents = Vec::new();
    let mut new_sessions = Vec::new();
    let mut new_charges = Vec::new();
    let mut new_customers = Vec::new();
    let mut forgotten = Vec::new();
    let mut left: VecDeque<(usize, Write)> = group.into_iter().enumerate().collect();
    while let Some((position, write)) = left.pop_front() {
        match write {
            // The key is reserved in the same transaction: it exists only with its object.
            Write::IfKeyIsNew { request, made, write } => {
                effects[position] = writes::take_key(connection, &request, &made).await?;
                if effects[position] {
                    left.push_front((position, *write));
                }
            }
            Write::AddIntent(row) => new_intents.push((position, *row)),
            Write::AddSession(session) => new_sessions.push(session),
            Write::SaveBilled(billed) => {
                for billed in billed {
                    if writes::save_billed(connection, &billed).await? {
                        new_charges.extend(billed.charges);
                        new_customers.extend(billed.customer);
                    } else {
                        effects[position] = false;
                    }
                }
            }
            Write::AddEsimOrder(order) => effects[position] = writes::add_esim_order(connection, &order).await?,
            Write::DeleteExpiredKeys { wall, limit } => {
                effects[position] = writes::delete_expired_keys(connection, wall, limit).await?
            }
            Write::Fulfil(fulfilled) => {
                for (order, fulfilment) in fulfilled {
                    writes::fulfil(connection, &order, &fulfilment).await?;
                }
            }
            Write::SaveIntents(intents) => {
                for intent in intents {
                    effects[position] &= writes::save_intent(connection, &intent).await?;
                }
            }
            Write::SaveSecond(second) => effects[position] = writes::save_second(connection, second).await?,
            Write::SaveIntent(intent) => effects[position] = writes::save_intent(connection, &intent).await?,
            Write::RevokeSession { fingerprint, at } => {
                effects[position] = writes::revoke_session(connection, &fingerprint, at).await?
            }
            Write::Reset { merchant } => forgotten.push(merchant),
            Write::AddPlan(plan) => effects[position] = writes::add_plan(connection, &plan).await?,
            Write::DeactivatePlan { id } => effects[position] = writes::deactivate_plan(connection, &id).await?,
            Write::AddMerchant(merchant) => effects[position] = writes::add_merchant(connection, &merchant).await?,
            Write::ChangeKey { merchant, key_fingerprint } => {
                effects[position] = writes::change_key(connection, &merchant, &key_fingerprint).await?;
            }
            Write::AdvanceClock { merchant, seconds } => {
                effects[position] = writes::advance_clock(connection, &merchant, seconds).await?;
            }
        }
    }
    inserts.add_sessions(connection, &new_sessions).await?;
    // Sorted by time, whichever subscription was billed first: lists show charges in this order.
    new_charges.sort_by_key(|charge: &Intent| charge.created_at);
    let created = new_intents.iter().map(|(position, (intent, _)): &(usize, (Intent, Customer))| (*position, intent));
    let intents: Vec<_> = created.chain(new_charges.iter().map(|charge| (usize::MAX, charge))).collect();
    for position in inserts.add_intents(connection, &intents).await? {
        if let Some(effect) = effects.get_mut(position) {
            *effect = false;
        }
    }
    let kept = new_intents.iter().filter(|(position, _)| effects[*position]).map(|(_, (_, customer))| customer);
    let customers: Vec<&Customer> = kept.chain(&new_customers).collect();
    inserts.add_customers(connection, &customers).await?;
    // Last, so that objects created in the same group are deleted too.
    for merchant in forgotten {
        writes::reset(connection, &merchant).await?;
    }
    Ok(effects)
}
