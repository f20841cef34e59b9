//! Subscriptions and their events.

use super::Sqlite;
use super::lists::{newest_first, rows_after};
use crate::sandbox::rules::billing::Subscription;
use crate::sandbox::store::{After, Billed, SubscriptionEvent, Unavailable, rows};
use crate::values::{Moment, SubscriptionId};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

/// Stores a new subscription, or the next state if the version has not changed since it was read.
pub(super) async fn write(connection: &mut SqliteConnection, billed: &Billed) -> Result<bool, sqlx::Error> {
    let Billed { subscription, customer, .. } = billed;
    let Subscription { id, merchant, terms, state, created_at, version, .. } = subscription;
    let due = billed.due_at();
    let state = rows::state_text(state);
    let query = match customer {
        Some(customer) => sqlx::query(
            "INSERT INTO subscriptions (state, due_at, id, version, merchant, contact, terms, created_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
        )
        .bind(state)
        .bind(due)
        .bind(id.as_str())
        .bind(version)
        .bind(merchant)
        .bind(&customer.contact)
        .bind(serde_json::to_string(terms).expect("terms are plain words and numbers"))
        .bind(created_at.unix()),
        None => sqlx::query(
            "UPDATE subscriptions SET state = $1, due_at = $2, version = version + 1 WHERE id = $3 AND version = $4",
        )
        .bind(state)
        .bind(due)
        .bind(id.as_str())
        .bind(version),
    };
    if query.execute(&mut *connection).await?.rows_affected() != 1 {
        return Ok(false);
    }
    let text = "INSERT INTO subscription_events (subscription, number, merchant, kind, at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
    for (number, at, kind) in billed.numbered_events() {
        sqlx::query(text)
            .bind(id.as_str())
            .bind(number)
            .bind(merchant)
            .bind(kind)
            .bind(at.unix())
            .execute(&mut *connection)
            .await?;
    }
    Ok(true)
}

/// The columns that are read, and the condition that every read has. A subscription's customer is the one with the same contact.
macro_rules! columns {
    () => {
        "id, merchant, terms, state, created_at, version, (SELECT customers.id FROM customers \
         WHERE customers.merchant = subscriptions.merchant AND customers.contact = subscriptions.contact) AS customer \
         FROM subscriptions WHERE merchant = $1"
    };
}

impl Sqlite {
    pub(in crate::sandbox::store) async fn subscription(
        &self,
        merchant: &str,
        id: &SubscriptionId,
    ) -> Result<Option<Subscription>, Unavailable> {
        let text = concat!("SELECT ", columns!(), " AND id = $2");
        let row = sqlx::query(text).bind(merchant).bind(id.as_str()).fetch_optional(&self.readers).await?;
        row.as_ref().map(rows::subscription).transpose()
    }

    pub(in crate::sandbox::store) async fn subscriptions(
        &self,
        merchant: &str,
        after: After,
        limit: i64,
    ) -> Result<Vec<Subscription>, Unavailable> {
        let text = newest_first!(columns!());
        rows_after(&self.readers, text, merchant, after, limit).await?.iter().map(rows::subscription).collect()
    }

    /// The subscriptions that are due until this time, in order.
    pub(in crate::sandbox::store) async fn due(
        &self,
        merchant: &str,
        until: Moment,
        limit: i64,
    ) -> Result<Vec<Subscription>, Unavailable> {
        let text = concat!("SELECT ", columns!(), " AND due_at <= $2 ORDER BY due_at, id LIMIT $3");
        let rows = sqlx::query(text).bind(merchant).bind(until.unix()).bind(limit).fetch_all(&self.readers).await?;
        rows.iter().map(rows::subscription).collect()
    }

    pub(in crate::sandbox::store) async fn merchants_due(&self, wall: Moment) -> Result<Vec<String>, Unavailable> {
        Ok(sqlx::query_scalar(MERCHANTS_DUE).bind(wall.unix()).fetch_all(&self.readers).await?)
    }

    /// The events of a merchant's subscriptions, newest first.
    pub(in crate::sandbox::store) async fn subscription_events(
        &self,
        merchant: &str,
        limit: i64,
    ) -> Result<Vec<SubscriptionEvent>, Unavailable> {
        let text = "SELECT subscription, number, kind, at FROM subscription_events WHERE merchant = $1 \
                ORDER BY at DESC, seq DESC LIMIT $2";
        let rows = sqlx::query(text).bind(merchant).bind(limit).fetch_all(&self.readers).await?;
        let read = |row: &SqliteRow| {
            let subscription: String = row.try_get("subscription")?;
            Ok(SubscriptionEvent {
                subscription: SubscriptionId::new(subscription)
                    .map_err(|_| Unavailable("an event cannot be read".into()))?,
                number: row.try_get("number")?,
                at: Moment::from_unix(row.try_get("at")?),
                kind: row.try_get("kind")?,
            })
        };
        rows.iter().map(read).collect()
    }
}

/// The merchants with due subscriptions; `$1` is the service's clock, and each merchant has its own offset.
const MERCHANTS_DUE: &str = "SELECT id FROM merchants WHERE EXISTS (SELECT 1 FROM subscriptions \
     WHERE subscriptions.merchant = merchants.id AND due_at <= $1 + clock_offset) ORDER BY id";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::store::Store;

    #[tokio::test]
    async fn due_subscriptions_are_found_by_an_index() {
        let store = Store::on_sqlite().await;
        let text = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {MERCHANTS_DUE}"));
        let rows = sqlx::query(text).bind(1).fetch_all(store.pool()).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
        let searched = "USING COVERING INDEX subscriptions_due (merchant=? AND due_at<?)";
        assert!(plan.iter().any(|step| step.ends_with(searched)), "{plan:?}");
    }
}
