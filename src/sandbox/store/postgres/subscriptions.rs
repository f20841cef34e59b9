//! Subscriptions and their events.

use super::Postgres;
use super::lists::newest_first;
use crate::sandbox::rules::billing::Subscription;
use crate::sandbox::store::{After, Billed, Customer, SubscriptionEvent, Unavailable, rows};
use crate::values::{Moment, SubscriptionId};
use sqlx::postgres::{PgBindIterExt, PgRow};
use sqlx::{PgConnection, Row};

/// Adds new subscriptions, each with its customer's contact, in this order. Returns the ids of those that were added.
pub(super) async fn add(
    connection: &mut PgConnection,
    new: &[(&Billed, &Customer)],
) -> Result<Vec<String>, sqlx::Error> {
    let text = "INSERT INTO subscriptions (id, merchant, contact, terms, state, due_at, created_at, version) \
        SELECT id, merchant, contact, terms, state, due_at, created_at, version FROM unnest($1::text[], $2::text[], $3::text[], \
        $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[]) WITH ORDINALITY \
        AS new (id, merchant, contact, terms, state, due_at, created_at, version, place) \
        ORDER BY place ON CONFLICT DO NOTHING RETURNING id";
    let subscriptions = || new.iter().map(|(billed, _)| &billed.subscription);
    let terms = |of: &Subscription| serde_json::to_string(&of.terms).expect("terms are plain words and numbers");
    sqlx::query_scalar(text)
        .bind(subscriptions().map(|of| of.id.as_str()).bind_iter())
        .bind(subscriptions().map(|of| &*of.merchant).bind_iter())
        .bind(new.iter().map(|(_, customer)| &*customer.contact).bind_iter())
        .bind(subscriptions().map(terms).bind_iter())
        .bind(subscriptions().map(|subscription| rows::state_text(&subscription.state)).bind_iter())
        .bind(new.iter().map(|(billed, _)| billed.due_at()).bind_iter())
        .bind(subscriptions().map(|of| of.created_at.unix()).bind_iter())
        .bind(subscriptions().map(|of| of.version).bind_iter())
        .fetch_all(connection)
        .await
}

/// Stores the next states of different subscriptions whose version has not changed since it was read. Returns the ids of those.
pub(super) async fn save(connection: &mut PgConnection, billed: &[&Billed]) -> Result<Vec<String>, sqlx::Error> {
    let text = "UPDATE subscriptions SET state = new.state, due_at = new.due_at, version = subscriptions.version + 1 \
        FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[]) AS new (id, version, state, due_at) \
        WHERE subscriptions.id = new.id AND subscriptions.version = new.version RETURNING subscriptions.id";
    let subscriptions = || billed.iter().map(|billed| &billed.subscription);
    sqlx::query_scalar(text)
        .bind(subscriptions().map(|of| of.id.as_str()).bind_iter())
        .bind(subscriptions().map(|of| of.version).bind_iter())
        .bind(subscriptions().map(|subscription| rows::state_text(&subscription.state)).bind_iter())
        .bind(billed.iter().map(|billed| billed.due_at()).bind_iter())
        .fetch_all(connection)
        .await
}

/// Adds the events of these subscriptions, in this order.
pub(super) async fn add_events(connection: &mut PgConnection, billed: &[&Billed]) -> Result<(), sqlx::Error> {
    let events =
        || billed.iter().flat_map(|billed| billed.numbered_events().map(|event| (&billed.subscription, event)));
    if events().next().is_none() {
        return Ok(());
    }
    let text = "INSERT INTO subscription_events (subscription, number, merchant, kind, at) \
        SELECT subscription, number, merchant, kind, at FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[]) \
        WITH ORDINALITY AS new (subscription, number, merchant, kind, at, place) ORDER BY place ON CONFLICT DO NOTHING";
    sqlx::query(text)
        .bind(events().map(|(of, _)| of.id.as_str()).bind_iter())
        .bind(events().map(|(_, (number, _, _))| number).bind_iter())
        .bind(events().map(|(of, _)| &*of.merchant).bind_iter())
        .bind(events().map(|(_, (_, _, kind))| kind).bind_iter())
        .bind(events().map(|(_, (_, at, _))| at.unix()).bind_iter())
        .execute(connection)
        .await
        .map(drop)
}

/// The columns that are read, and the condition that every read has. A subscription's customer is the one with the same contact.
macro_rules! columns {
    () => {
        "id, merchant, terms, state, created_at, version, (SELECT customers.id FROM customers \
         WHERE customers.merchant = subscriptions.merchant AND customers.contact = subscriptions.contact) AS customer \
         FROM subscriptions WHERE merchant = $1"
    };
}

impl Postgres {
    pub(in crate::sandbox::store) async fn subscription(
        &self,
        merchant: &str,
        id: &SubscriptionId,
    ) -> Result<Option<Subscription>, Unavailable> {
        let text = concat!("SELECT ", columns!(), " AND id = $2");
        let row = self.optional(sqlx::query(text).bind(merchant).bind(id.as_str())).await?;
        row.as_ref().map(rows::subscription).transpose()
    }

    pub(in crate::sandbox::store) async fn subscriptions(
        &self,
        merchant: &str,
        after: After,
        limit: i64,
    ) -> Result<Vec<Subscription>, Unavailable> {
        let text = newest_first!(columns!());
        self.rows_after(text, merchant, after, limit).await?.iter().map(rows::subscription).collect()
    }

    /// The subscriptions that are due until this time, in order.
    pub(in crate::sandbox::store) async fn due(
        &self,
        merchant: &str,
        until: Moment,
        limit: i64,
    ) -> Result<Vec<Subscription>, Unavailable> {
        let text = concat!("SELECT ", columns!(), " AND due_at <= $2 ORDER BY due_at, id LIMIT $3");
        let rows = self.all(sqlx::query(text).bind(merchant).bind(until.unix()).bind(limit)).await?;
        rows.iter().map(rows::subscription).collect()
    }

    pub(in crate::sandbox::store) async fn merchants_due(&self, wall: Moment) -> Result<Vec<String>, Unavailable> {
        let rows = self.all(sqlx::query(MERCHANTS_DUE).bind(wall.unix())).await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    /// The events of a merchant's subscriptions, newest first.
    pub(in crate::sandbox::store) async fn subscription_events(
        &self,
        merchant: &str,
        limit: i64,
    ) -> Result<Vec<SubscriptionEvent>, Unavailable> {
        let text = "SELECT subscription, number, kind, at FROM subscription_events WHERE merchant = $1 \
                ORDER BY at DESC, seq DESC LIMIT $2";
        let rows = self.all(sqlx::query(text).bind(merchant).bind(limit)).await?;
        let read = |row: &PgRow| {
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
pub(super) const MERCHANTS_DUE: &str = "SELECT id FROM merchants WHERE EXISTS (SELECT 1 FROM subscriptions \
     WHERE subscriptions.merchant = merchants.id AND due_at <= $1 + clock_offset) ORDER BY id";
