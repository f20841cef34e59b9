//! Payment intents.

use super::Sqlite;
use super::insert::{Insert, Statement};
use super::lists::{newest_first, rows_after};
use crate::sandbox::rules::Intent;
use crate::sandbox::store::{After, Unavailable, rows};
use crate::values::{EsimOrderId, IntentId};
use sqlx::SqliteConnection;

/// The insert of new intents.
pub(super) struct IntentWrites(Insert);

impl IntentWrites {
    pub(super) fn new() -> Self {
        let columns = [
            "id",
            "merchant",
            "merchant_reference",
            "payment_ref",
            "digest",
            "body",
            "state",
            "created_at",
            "expires_at",
            "version",
            "esim_order",
        ];
        Self(Insert::new("intents", &columns))
    }

    /// Adds the intents whose reference is free. Returns the positions of the others.
    pub(super) async fn add(
        &self,
        connection: &mut SqliteConnection,
        rows: &[(usize, &Intent)],
    ) -> Result<Vec<usize>, sqlx::Error> {
        let bind = |statement: Statement, (_, intent): &(usize, &Intent)| {
            statement
                .bind(intent.id.as_str().to_owned())
                .bind(intent.merchant.clone())
                .bind(intent.terms.merchant_reference.clone())
                .bind(intent.payment_ref.clone())
                .bind(intent.digest.clone())
                .bind(intent.body.clone())
                .bind(rows::state_text(&intent.state))
                .bind(intent.created_at.unix())
                .bind(intent.expires_at.unix())
                .bind(intent.version)
                .bind(intent.terms.esim_order())
        };
        let made = self.0.run(connection, rows, bind).await?;
        if made == rows.len() as u64 { Ok(Vec::new()) } else { absent(connection, rows).await }
    }
}

/// The positions of the intents that were not added: their reference was taken.
async fn absent(connection: &mut SqliteConnection, rows: &[(usize, &Intent)]) -> Result<Vec<usize>, sqlx::Error> {
    let mut places = Vec::new();
    for (place, intent) in rows {
        let there = sqlx::query("SELECT 1 FROM intents WHERE id = $1")
            .bind(intent.id.as_str())
            .fetch_optional(&mut *connection)
            .await?;
        if there.is_none() {
            places.push(*place);
        }
    }
    Ok(places)
}

/// Stores an intent's next state if the version has not changed since it was read.
pub(super) async fn save(connection: &mut SqliteConnection, intent: &Intent) -> Result<bool, sqlx::Error> {
    let saved = sqlx::query("UPDATE intents SET state = $1, version = version + 1 WHERE id = $2 AND version = $3")
        .bind(rows::state_text(&intent.state))
        .bind(intent.id.as_str())
        .bind(intent.version)
        .execute(connection)
        .await?;
    Ok(saved.rows_affected() == 1)
}

/// The columns of an intent.
macro_rules! columns {
    () => {
        "id, merchant, payment_ref, digest, body, state, created_at, expires_at, version FROM intents"
    };
}

impl Sqlite {
    pub(in crate::sandbox::store) async fn intent(&self, id: &IntentId) -> Result<Option<Intent>, Unavailable> {
        let row = sqlx::query(concat!("SELECT ", columns!(), " WHERE id = $1"))
            .bind(id.as_str())
            .fetch_optional(&self.readers)
            .await?;
        row.as_ref().map(rows::intent).transpose()
    }

    pub(in crate::sandbox::store) async fn intent_by_reference(
        &self,
        merchant: &str,
        reference: &str,
    ) -> Result<Option<Intent>, Unavailable> {
        let row = sqlx::query(concat!("SELECT ", columns!(), " WHERE merchant = $1 AND merchant_reference = $2"))
            .bind(merchant)
            .bind(reference)
            .fetch_optional(&self.readers)
            .await?;
        row.as_ref().map(rows::intent).transpose()
    }

    pub(in crate::sandbox::store) async fn intents(
        &self,
        merchant: &str,
        after: After,
        limit: i64,
    ) -> Result<Vec<Intent>, Unavailable> {
        let text = newest_first!(columns!(), " WHERE merchant = $1");
        rows_after(&self.readers, text, merchant, after, limit).await?.iter().map(rows::intent).collect()
    }

    /// A merchant's intents that pay this eSIM order, oldest first.
    pub(in crate::sandbox::store) async fn intents_of_esim_order(
        &self,
        merchant: &str,
        order: &EsimOrderId,
    ) -> Result<Vec<Intent>, Unavailable> {
        let rows = sqlx::query(concat!("SELECT ", columns!(), " WHERE merchant = $1 AND esim_order = $2 ORDER BY seq"))
            .bind(merchant)
            .bind(order.as_str())
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(rows::intent).collect()
    }

    /// A merchant's intents that pay one of its newest unfulfilled eSIM orders, oldest first.
    pub(in crate::sandbox::store) async fn intents_of_open_esim_orders(
        &self,
        merchant: &str,
        limit: i64,
    ) -> Result<Vec<Intent>, Unavailable> {
        let rows = sqlx::query(
        concat!(
            "SELECT ",
            columns!(),
            " WHERE merchant = $1 AND esim_order IN (SELECT id FROM (SELECT id, paid_by FROM esim_orders WHERE merchant = $1 \
         ORDER BY seq DESC LIMIT $2) AS newest WHERE paid_by IS NULL) ORDER BY seq"
        ),
    )
    .bind(merchant)
    .bind(limit)
    .fetch_all(&self.readers)
    .await?;
        rows.iter().map(rows::intent).collect()
    }
}
