//! Payment intents.

use super::Postgres;
use super::lists::newest_first;
use crate::sandbox::rules::Intent;
use crate::sandbox::store::{After, Unavailable, rows};
use crate::values::{EsimOrderId, IntentId};
use sqlx::PgConnection;
use sqlx::postgres::PgBindIterExt;

/// Adds the intents whose reference is free, in this order. Returns the ids of those that were added.
pub(super) async fn add(connection: &mut PgConnection, intents: &[&Intent]) -> Result<Vec<String>, sqlx::Error> {
    let text = "INSERT INTO intents (id, merchant, merchant_reference, payment_ref, digest, body, state, created_at, expires_at, version, esim_order) \
        SELECT id, merchant, merchant_reference, payment_ref, digest, body, state, created_at, expires_at, version, esim_order \
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], \
        $10::bigint[], $11::text[]) WITH ORDINALITY \
        AS new (id, merchant, merchant_reference, payment_ref, digest, body, state, created_at, expires_at, version, esim_order, place) \
        ORDER BY place ON CONFLICT DO NOTHING RETURNING id";
    sqlx::query_scalar(text)
        .bind(intents.iter().map(|intent| intent.id.as_str()).bind_iter())
        .bind(intents.iter().map(|intent| &*intent.merchant).bind_iter())
        .bind(intents.iter().map(|intent| &*intent.terms.merchant_reference).bind_iter())
        .bind(intents.iter().map(|intent| &*intent.payment_ref).bind_iter())
        .bind(intents.iter().map(|intent| &*intent.digest).bind_iter())
        .bind(intents.iter().map(|intent| &*intent.body).bind_iter())
        .bind(intents.iter().map(|intent| rows::state_text(&intent.state)).bind_iter())
        .bind(intents.iter().map(|intent| intent.created_at.unix()).bind_iter())
        .bind(intents.iter().map(|intent| intent.expires_at.unix()).bind_iter())
        .bind(intents.iter().map(|intent| intent.version).bind_iter())
        .bind(intents.iter().map(|intent| intent.terms.esim_order()).bind_iter())
        .fetch_all(connection)
        .await
}

/// Stores the next states of different intents whose version has not changed since it was read. Returns the ids of those.
pub(super) async fn save(
    connection: &mut PgConnection,
    intents: &[(usize, &Intent)],
) -> Result<Vec<String>, sqlx::Error> {
    let text = "UPDATE intents SET state = new.state, version = intents.version + 1 \
        FROM unnest($1::text[], $2::bigint[], $3::text[]) AS new (id, version, state) \
        WHERE intents.id = new.id AND intents.version = new.version RETURNING intents.id";
    sqlx::query_scalar(text)
        .bind(intents.iter().map(|(_, intent)| intent.id.as_str()).bind_iter())
        .bind(intents.iter().map(|(_, intent)| intent.version).bind_iter())
        .bind(intents.iter().map(|(_, intent)| rows::state_text(&intent.state)).bind_iter())
        .fetch_all(connection)
        .await
}

/// The columns of an intent.
macro_rules! columns {
    () => {
        "id, merchant, payment_ref, digest, body, state, created_at, expires_at, version FROM intents"
    };
}

impl Postgres {
    pub(in crate::sandbox::store) async fn intent(&self, id: &IntentId) -> Result<Option<Intent>, Unavailable> {
        let query = sqlx::query(concat!("SELECT ", columns!(), " WHERE id = $1")).bind(id.as_str());
        let row = self.optional(query).await?;
        row.as_ref().map(rows::intent).transpose()
    }

    pub(in crate::sandbox::store) async fn intent_by_reference(
        &self,
        merchant: &str,
        reference: &str,
    ) -> Result<Option<Intent>, Unavailable> {
        let query = sqlx::query(concat!("SELECT ", columns!(), " WHERE merchant = $1 AND merchant_reference = $2"))
            .bind(merchant)
            .bind(reference);
        let row = self.optional(query).await?;
        row.as_ref().map(rows::intent).transpose()
    }

    pub(in crate::sandbox::store) async fn intents(
        &self,
        merchant: &str,
        after: After,
        limit: i64,
    ) -> Result<Vec<Intent>, Unavailable> {
        let text = newest_first!(columns!(), " WHERE merchant = $1");
        self.rows_after(text, merchant, after, limit).await?.iter().map(rows::intent).collect()
    }

    /// A merchant's intents that pay this eSIM order, oldest first.
    pub(in crate::sandbox::store) async fn intents_of_esim_order(
        &self,
        merchant: &str,
        order: &EsimOrderId,
    ) -> Result<Vec<Intent>, Unavailable> {
        let query =
            sqlx::query(concat!("SELECT ", columns!(), " WHERE merchant = $1 AND esim_order = $2 ORDER BY seq"))
                .bind(merchant)
                .bind(order.as_str());
        let rows = self.all(query).await?;
        rows.iter().map(rows::intent).collect()
    }

    /// A merchant's intents that pay one of its newest unfulfilled eSIM orders, oldest first.
    pub(in crate::sandbox::store) async fn intents_of_open_esim_orders(
        &self,
        merchant: &str,
        limit: i64,
    ) -> Result<Vec<Intent>, Unavailable> {
        let query = sqlx::query(
        concat!(
            "SELECT ",
            columns!(),
            " WHERE merchant = $1 AND esim_order IN (SELECT id FROM (SELECT id, paid_by FROM esim_orders WHERE merchant = $1 \
         ORDER BY seq DESC LIMIT $2) AS newest WHERE paid_by IS NULL) ORDER BY seq"
        ),
    )
    .bind(merchant)
    .bind(limit);
        let rows = self.all(query).await?;
        rows.iter().map(rows::intent).collect()
    }
}
