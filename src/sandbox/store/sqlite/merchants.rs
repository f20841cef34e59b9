//! Merchants: a name, the fingerprint of a secret key, and a clock.

use super::Sqlite;
use crate::sandbox::store::{MerchantRow, Unavailable, rows};
use sqlx::SqliteConnection;

pub(super) async fn add(connection: &mut SqliteConnection, merchant: &MerchantRow) -> Result<bool, sqlx::Error> {
    let text = "INSERT INTO merchants (id, name, key_fingerprint, clock_offset, place) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
    let added = sqlx::query(text)
        .bind(&merchant.id)
        .bind(&merchant.name)
        .bind(&merchant.key_fingerprint)
        .bind(merchant.clock_offset)
        .bind(merchant.place)
        .execute(connection)
        .await?;
    Ok(added.rows_affected() == 1)
}

pub(super) async fn change_key(
    connection: &mut SqliteConnection,
    merchant: &str,
    key_fingerprint: &str,
) -> Result<bool, sqlx::Error> {
    let changed = sqlx::query("UPDATE OR IGNORE merchants SET key_fingerprint = $1 WHERE id = $2")
        .bind(key_fingerprint)
        .bind(merchant)
        .execute(connection)
        .await?;
    Ok(changed.rows_affected() == 1)
}

pub(super) async fn advance_clock(
    connection: &mut SqliteConnection,
    merchant: &str,
    seconds: i64,
) -> Result<bool, sqlx::Error> {
    let advanced = sqlx::query("UPDATE merchants SET clock_offset = clock_offset + $1 WHERE id = $2")
        .bind(seconds)
        .bind(merchant)
        .execute(connection)
        .await?;
    Ok(advanced.rows_affected() == 1)
}

/// Deletes everything of a merchant but its name and its key.
pub(super) async fn reset(connection: &mut SqliteConnection, merchant: &str) -> Result<(), sqlx::Error> {
    let texts = [
        "DELETE FROM intents WHERE merchant = $1",
        "DELETE FROM plans WHERE merchant = $1",
        "DELETE FROM subscriptions WHERE merchant = $1",
        "DELETE FROM subscription_events WHERE merchant = $1",
        "DELETE FROM esim_orders WHERE merchant = $1",
        "DELETE FROM idempotency_keys WHERE merchant = $1",
        "DELETE FROM customers WHERE merchant = $1",
        "DELETE FROM sessions WHERE merchant = $1",
        "UPDATE merchants SET clock_offset = 0 WHERE id = $1",
    ];
    for text in texts {
        sqlx::query(text).bind(merchant).execute(&mut *connection).await?;
    }
    Ok(())
}

impl Sqlite {
    pub(in crate::sandbox::store) async fn merchants(&self) -> Result<Vec<MerchantRow>, Unavailable> {
        let rows =
            sqlx::query("SELECT id, name, key_fingerprint, clock_offset, place FROM merchants ORDER BY place, id")
                .fetch_all(&self.readers)
                .await?;
        rows.iter().map(rows::merchant).collect()
    }
}
