//! Subscriptions and their events.

use super::lists::{After, newest_first, rows_after};
use super::{Customer, Unavailable};
use crate::sandbox::rules::Intent;
use crate::sandbox::rules::billing::Subscription;
use crate::values::{Moment, SubscriptionId};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection, SqlitePool};

/// A subscription's next state, with the charges that began and the events. All of it is stored in one transaction, or nothing: so each
/// period is charged once, whenever the process ends.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Billed {
    pub(in crate::sandbox) subscription: Subscription,
    /// The customer, if the subscription is new.
    pub(in crate::sandbox) customer: Option<Customer>,
    pub(in crate::sandbox) charges: Vec<Intent>,
    pub(in crate::sandbox) events: Vec<(Moment, &'static str)>,
}

/// One event of a subscription.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct SubscriptionEvent {
    pub(in crate::sandbox) subscription: SubscriptionId,
    /// Its number within the subscription, from 0.
    pub(in crate::sandbox) number: i64,
    pub(in crate::sandbox) at: Moment,
    pub(in crate::sandbox) kind: String,
}

/// The most events of a subscription in one write.
const MAX_EVENTS_PER_WRITE: i64 = 1000;

/// Stores a new subscription, or the next state if the version has not changed since it was read.
pub(super) async fn write(connection: &mut SqliteConnection, billed: &Billed) -> Result<bool, sqlx::Error> {
    let Billed { subscription, customer, events, .. } = billed;
    let Subscription { id, merchant, terms, state, created_at, version, .. } = subscription;
    let due = state.due().map(|(at, _)| at.unix());
    let state = serde_json::to_string(state).expect("a state is made of words and numbers alone");
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
    // A new subscription has version 1, and so has the state that its first change replaces.
    let first = if customer.is_some() { 0 } else { version * MAX_EVENTS_PER_WRITE };
    for (number, (at, kind)) in (first..first + MAX_EVENTS_PER_WRITE).zip(events) {
        sqlx::query(text)
            .bind(id.as_str())
            .bind(number)
            .bind(merchant)
            .bind(*kind)
            .bind(at.unix())
            .execute(&mut *connection)
            .await?;
    }
    Ok(true)
}

/// The columns of a subscription. Its customer is the one with the same contact.
macro_rules! columns {
    ($rest:literal) => {
        concat!(
            "id, merchant, terms, state, created_at, version, (SELECT customers.id FROM customers \
             WHERE customers.merchant = subscriptions.merchant AND customers.contact = subscriptions.contact) AS customer \
             FROM subscriptions WHERE merchant = $1",
            $rest
        )
    };
}

pub(super) async fn by_id(
    readers: &SqlitePool,
    merchant: &str,
    id: &SubscriptionId,
) -> Result<Option<Subscription>, Unavailable> {
    let text = concat!("SELECT ", columns!(" AND id = $2"));
    let row = sqlx::query(text).bind(merchant).bind(id.as_str()).fetch_optional(readers).await?;
    row.as_ref().map(read).transpose()
}

pub(super) async fn of_merchant(
    readers: &SqlitePool,
    merchant: &str,
    after: After,
    limit: i64,
) -> Result<Vec<Subscription>, Unavailable> {
    let text = newest_first!(columns!(""));
    rows_after(readers, text, merchant, after, limit).await?.iter().map(read).collect()
}

/// The subscriptions that are due until this time, in order.
pub(super) async fn due(
    readers: &SqlitePool,
    merchant: &str,
    until: Moment,
    limit: i64,
) -> Result<Vec<Subscription>, Unavailable> {
    let text = concat!("SELECT ", columns!(" AND due_at <= $2 ORDER BY due_at, id LIMIT $3"));
    let rows = sqlx::query(text).bind(merchant).bind(until.unix()).bind(limit).fetch_all(readers).await?;
    rows.iter().map(read).collect()
}

/// The merchants with due subscriptions; `$1` is the service's clock, and each merchant has its own offset.
const MERCHANTS_DUE: &str = "SELECT id FROM merchants WHERE EXISTS (SELECT 1 FROM subscriptions \
     WHERE subscriptions.merchant = merchants.id AND due_at <= $1 + clock_offset)";

pub(super) async fn merchants_due(readers: &SqlitePool, wall: Moment) -> Result<Vec<String>, Unavailable> {
    Ok(sqlx::query_scalar(MERCHANTS_DUE).bind(wall.unix()).fetch_all(readers).await?)
}

/// The events of a merchant's subscriptions, newest first.
pub(super) async fn events(
    readers: &SqlitePool,
    merchant: &str,
    limit: i64,
) -> Result<Vec<SubscriptionEvent>, Unavailable> {
    let text = "SELECT subscription, number, kind, at FROM subscription_events WHERE merchant = $1 \
                ORDER BY at DESC, seq DESC LIMIT $2";
    let rows = sqlx::query(text).bind(merchant).bind(limit).fetch_all(readers).await?;
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

fn read(row: &SqliteRow) -> Result<Subscription, Unavailable> {
    let unreadable = |what: &str| Unavailable(format!("a subscription's {what} cannot be read"));
    let terms: &str = row.try_get("terms")?;
    let state: &str = row.try_get("state")?;
    Ok(Subscription {
        id: SubscriptionId::new(row.try_get::<String, _>("id")?).map_err(|_| unreadable("id"))?,
        merchant: row.try_get("merchant")?,
        customer_id: row.try_get::<Option<String>, _>("customer")?.unwrap_or_default(),
        terms: serde_json::from_str(terms).map_err(|_| unreadable("terms"))?,
        state: serde_json::from_str(state).map_err(|_| unreadable("state"))?,
        created_at: Moment::from_unix(row.try_get("created_at")?),
        version: row.try_get("version")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::store::{Location, Store};

    #[tokio::test]
    async fn due_subscriptions_are_found_by_an_index() {
        let store = Store::open(&Location::Memory).await.unwrap();
        let text = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {MERCHANTS_DUE}"));
        let rows = sqlx::query(text).bind(1).fetch_all(&store.readers).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
        let searched = "USING COVERING INDEX subscriptions_due (merchant=? AND due_at<?)";
        assert!(plan.iter().any(|step| step.ends_with(searched)), "{plan:?}");
    }
}
