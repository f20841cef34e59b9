//! The statements of writes. Where the table refuses a row, they return `false`.

use super::bind;
use super::insert::Insert;
use crate::rules::Intent;
use crate::store::Billed;
use crate::store::sql::{DELETE_RECORDS, NewRow, Value};
use sqlx::SqliteConnection;
use std::collections::HashMap;

type Result<T> = std::result::Result<T, sqlx::Error>;

/// Deletes at most `$2` keys that have expired by their merchants' clocks; `$1` is the service's.
pub(super) const DELETE_EXPIRED_KEYS: &str = "DELETE FROM idempotency_keys WHERE (merchant, operation, fingerprint) IN \
     (SELECT merchant, operation, fingerprint FROM merchants JOIN idempotency_keys ON idempotency_keys.merchant = merchants.id \
     AND idempotency_keys.expires_at <= $1 + merchants.clock_offset LIMIT $2)";

/// Stores the fulfilment of an order. A fulfilled order does not change.
pub(super) const FULFIL: &str =
    "UPDATE esim_orders SET paid_by = $1, fulfilled_at = $2 WHERE id = $3 AND paid_by IS NULL";

pub(super) const DEACTIVATE_PLAN: &str = "UPDATE plans SET active = FALSE WHERE id = $1";

/// Revokes a session. A revoked one keeps its time of revocation.
pub(super) const REVOKE_SESSION: &str =
    "UPDATE sessions SET revoked_at = $1 WHERE fingerprint = $2 AND revoked_at IS NULL";

/// Executes a statement. Returns whether it changed a row.
pub(super) async fn changes(
    connection: &mut SqliteConnection,
    text: &'static str,
    values: &[Value<'_>],
) -> Result<bool> {
    let done = values.iter().fold(sqlx::query(text), bind).execute(connection).await?;
    Ok(done.rows_affected() > 0)
}

/// The statements that add rows, by table. Each is built once.
#[derive(Default)]
pub(super) struct Inserts(HashMap<&'static str, Insert>);

impl Inserts {
    /// Adds rows. Returns how many the table did not refuse.
    pub(super) async fn add<R: NewRow>(&mut self, connection: &mut SqliteConnection, rows: &[&R]) -> Result<u64> {
        let new = || Insert::new(R::TABLE, R::COLUMNS, R::ON_CONFLICT);
        let insert = self.0.entry(R::TABLE).or_insert_with(new);
        insert.run(connection, rows, |statement, row| row.values().iter().fold(statement, bind)).await
    }

    /// Adds a row. `false` if the table refused it.
    pub(super) async fn add_one<R: NewRow>(&mut self, connection: &mut SqliteConnection, row: &R) -> Result<bool> {
        Ok(self.add(connection, &[row]).await? == 1)
    }
}

pub(super) async fn has_intent(connection: &mut SqliteConnection, intent: &Intent) -> Result<bool> {
    let intent = sqlx::query("SELECT 1 FROM intents WHERE id = $1").bind(intent.id.as_str());
    Ok(intent.fetch_optional(connection).await?.is_some())
}

/// Stores an intent's next state if the version has not changed since it was read.
pub(super) async fn save_intent(connection: &mut SqliteConnection, intent: &Intent) -> Result<bool> {
    let text = "UPDATE intents SET state = $1, version = version + 1 WHERE id = $2 AND version = $3";
    changes(connection, text, &[intent.state_text().into(), intent.id.as_str().into(), intent.version.into()]).await
}

/// Stores a new subscription, or the next state if the version has not changed since it was read.
pub(super) async fn save_billed(
    connection: &mut SqliteConnection,
    inserts: &mut Inserts,
    billed: &Billed,
) -> Result<bool> {
    let subscription = &billed.subscription;
    let is_stored = if billed.customer.is_some() {
        inserts.add_one(connection, billed).await?
    } else {
        let text =
            "UPDATE subscriptions SET state = $1, due_at = $2, version = version + 1 WHERE id = $3 AND version = $4";
        let (state, id) = (subscription.state_text(), subscription.id.as_str());
        changes(connection, text, &[state.into(), billed.due_at().into(), id.into(), subscription.version.into()])
            .await?
    };
    if is_stored {
        let events: Vec<_> = billed.numbered_events().map(|event| (billed, event)).collect();
        inserts.add(connection, &events.iter().collect::<Vec<_>>()).await?;
    }
    Ok(is_stored)
}

/// Deletes everything of a merchant but its name and its key.
pub(super) async fn reset(connection: &mut SqliteConnection, merchant: &str) -> Result<()> {
    for text in DELETE_RECORDS.into_iter().chain(["UPDATE merchants SET clock_offset = 0 WHERE id = $1"]) {
        changes(connection, text, &[merchant.into()]).await?;
    }
    Ok(())
}
