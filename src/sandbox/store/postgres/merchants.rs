//! Merchants: a name, the fingerprint of a secret key, and a clock.

use super::Postgres;
use crate::sandbox::store::{MerchantRow, Unavailable, rows};
use sqlx::PgConnection;

pub(super) async fn add(connection: &mut PgConnection, merchant: &MerchantRow) -> Result<bool, sqlx::Error> {
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
    connection: &mut PgConnection,
    merchant: &str,
    key_fingerprint: &str,
) -> Result<bool, sqlx::Error> {
    // No other instance can give the key to a merchant meanwhile: the group holds the lock of the keys.
    let text = "UPDATE merchants SET key_fingerprint = $1 WHERE id = $2 \
                AND NOT EXISTS (SELECT 1 FROM merchants AS other WHERE other.key_fingerprint = $1 AND other.id <> $2)";
    let changed = sqlx::query(text).bind(key_fingerprint).bind(merchant).execute(connection).await?;
    Ok(changed.rows_affected() == 1)
}

pub(super) async fn advance_clock(
    connection: &mut PgConnection,
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
pub(super) async fn reset(connection: &mut PgConnection, merchant: &str) -> Result<(), sqlx::Error> {
    let texts = [
        "DELETE FROM intents WHERE merchant = $1",
        "DELETE FROM plans WHERE merchant = $1",
        "DELETE FROM subscriptions WHERE merchant = $1",
        "DELETE FROM subscription_events WHERE merchant = $1",
        "DELETE FROM esim_orders WHERE merchant = $1",
        "DELETE FROM idempotency_keys WHERE merchant = $1",
        "DELETE FROM customers WHERE merchant = $1",
        "DELETE FROM sessions WHERE merchant = $1",
        "UPDATE merchants SET clock_offset = 0, reset_at_number = nextval('request_numbers') WHERE id = $1",
        // After the merchant: who adds a fault locks it first, too.
        "DELETE FROM faults WHERE merchant = $1",
        "DELETE FROM requests WHERE merchant = $1",
    ];
    for text in texts {
        sqlx::query(text).bind(merchant).execute(&mut *connection).await?;
    }
    Ok(())
}

impl Postgres {
    pub(in crate::sandbox::store) async fn merchants(&self) -> Result<Vec<MerchantRow>, Unavailable> {
        let text = "SELECT id, name, key_fingerprint, clock_offset, place FROM merchants ORDER BY place, id";
        let rows = self.all(sqlx::query(text)).await?;
        rows.iter().map(rows::merchant).collect()
    }
}
