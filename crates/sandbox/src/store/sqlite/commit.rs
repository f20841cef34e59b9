//! Writes to SQLite: a group is one transaction.
//!
//! **Conflicts are not SQL errors.** Statements have `ON CONFLICT …` or `WHERE version = …`, so that one rejected row does not roll back
//! the rows beside it. If a statement does fail, the whole group is rolled back, and no write in it is acknowledged.

use super::file::DatabaseFile;
use super::writes::{self, Inserts};
use crate::rules::Intent;
use crate::store::sql::{ADVANCE_CLOCK, CHANGE_KEY, GroupCommit, ReservedKey, SAVE_SECOND};
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
        Self { writing, readers, file, inserts: Inserts::default() }
    }
}

impl GroupCommit for Committer {
    async fn commit(&mut self, group: Vec<Write>) -> Vec<Result<bool, Unavailable>> {
        let writes = group.len();
        match commit(&self.writing, &mut self.inserts, group).await {
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
async fn commit(pool: &SqlitePool, inserts: &mut Inserts, group: Vec<Write>) -> Result<Vec<bool>, sqlx::Error> {
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
    inserts: &mut Inserts,
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
        effects[position] = match write {
            // The key is reserved in the same transaction: it exists only with its object.
            Write::IfKeyIsNew { request, made, write } => {
                let key = ReservedKey { request: &request, made: &made };
                let is_new = inserts.add_one(connection, &key).await?;
                if is_new {
                    left.push_front((position, *write));
                }
                is_new
            }
            Write::AddIntent(row) => {
                new_intents.push((position, *row));
                true
            }
            Write::AddSession(session) => {
                new_sessions.push(session);
                true
            }
            Write::SaveBilled(billed) => {
                let mut all = true;
                for billed in billed {
                    if writes::save_billed(connection, inserts, &billed).await? {
                        new_charges.extend(billed.charges);
                        new_customers.extend(billed.customer);
                    } else {
                        all = false;
                    }
                }
                all
            }
            Write::AddEsimOrder(order) => inserts.add_one(connection, &*order).await?,
            Write::AddMerchant(merchant) => inserts.add_one(connection, &merchant).await?,
            Write::AddPlan(plan) => inserts.add_one(connection, &*plan).await?,
            Write::DeleteExpiredKeys { wall, limit } => {
                writes::changes(connection, writes::DELETE_EXPIRED_KEYS, &[wall.unix().into(), limit.into()]).await?
            }
            Write::Fulfil(fulfilled) => {
                for (order, fulfilment) in fulfilled {
                    let values =
                        [fulfilment.paid_by.as_str().into(), fulfilment.at.unix().into(), order.as_str().into()];
                    writes::changes(connection, writes::FULFIL, &values).await?;
                }
                true
            }
            Write::SaveIntent(intent) => writes::save_intent(connection, &intent).await?,
            Write::SaveIntents(intents) => {
                let mut all = true;
                for intent in intents {
                    all &= writes::save_intent(connection, &intent).await?;
                }
                all
            }
            Write::SaveSecond(second) => writes::changes(connection, SAVE_SECOND, &[second.into()]).await?,
            Write::RevokeSession { fingerprint, at } => {
                let values = [at.unix().into(), fingerprint.into()];
                writes::changes(connection, writes::REVOKE_SESSION, &values).await?
            }
            Write::Reset { merchant } => {
                forgotten.push(merchant);
                true
            }
            Write::DeactivatePlan { id } => {
                writes::changes(connection, writes::DEACTIVATE_PLAN, &[id.as_str().into()]).await?
            }
            Write::ChangeKey { merchant, key_fingerprint } => {
                writes::changes(connection, CHANGE_KEY, &[key_fingerprint.into(), merchant.into()]).await?
            }
            Write::AdvanceClock { merchant, seconds } => {
                writes::changes(connection, ADVANCE_CLOCK, &[seconds.into(), merchant.into()]).await?
            }
        };
    }
    inserts.add(connection, &new_sessions.iter().collect::<Vec<_>>()).await?;
    // Sorted by time, whichever subscription was billed first: lists show charges in this order.
    new_charges.sort_by_key(|charge: &Intent| charge.created_at);
    let created = new_intents.iter().map(|(_, (intent, _)): &(usize, (Intent, Customer))| intent);
    let intents: Vec<&Intent> = created.chain(&new_charges).collect();
    if inserts.add(connection, &intents).await? < intents.len() as u64 {
        for (position, (intent, _)) in &new_intents {
            effects[*position] = writes::has_intent(connection, intent).await?;
        }
    }
    let kept = new_intents.iter().filter(|(position, _)| effects[*position]).map(|(_, (_, customer))| customer);
    let customers: Vec<&Customer> = kept.chain(&new_customers).collect();
    inserts.add(connection, &customers).await?;
    // Last, so that objects created in the same group are deleted too.
    for merchant in forgotten {
        writes::reset(connection, &merchant).await?;
    }
    Ok(effects)
}
