//! Intents and the customers they make.

use super::Unavailable;
use super::insert::Insert;
use crate::sandbox::rules::{Intent, Terms};
use crate::values::{IntentId, Moment};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection, SqlitePool};

/// A customer, made with the first intent that names their e-mail or phone.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Customer {
    pub(in crate::sandbox) id: String,
    /// What they are known by: their e-mail where there is one, else their phone.
    pub(in crate::sandbox) contact: String,
}

/// The inserts of new intents.
pub(super) struct IntentWrites {
    intents: Insert,
    customers: Insert,
}

impl IntentWrites {
    pub(super) fn new() -> Self {
        let intents = [
            "id",
            "merchant",
            "merchant_reference",
            "payment_ref",
            "digest",
            "body",
            "life",
            "created_at",
            "expires_at",
            "version",
        ];
        let customers = ["id", "merchant", "contact", "firstname", "lastname", "email", "phone", "created_at"];
        Self { intents: Insert::new("intents", &intents), customers: Insert::new("customers", &customers) }
    }

    /// Adds the intents whose reference is free, with their customers. The places of the others come back.
    pub(super) async fn add(
        &self,
        connection: &mut SqliteConnection,
        rows: &[(usize, (Intent, Customer))],
    ) -> Result<Vec<usize>, sqlx::Error> {
        let made = self
            .intents
            .run(connection, rows, |statement, (_, (intent, _))| {
                statement
                    .bind(intent.id.as_str().to_owned())
                    .bind(intent.merchant.clone())
                    .bind(intent.terms.merchant_reference.clone())
                    .bind(intent.payment_ref.clone())
                    .bind(intent.digest.clone())
                    .bind(intent.body.clone())
                    .bind(life(intent))
                    .bind(intent.created_at.unix())
                    .bind(intent.expires_at.unix())
                    .bind(intent.version)
            })
            .await?;
        let refused = if made == rows.len() as u64 { Vec::new() } else { absent(connection, rows).await? };
        let kept: Vec<&(Intent, Customer)> =
            rows.iter().filter(|(place, _)| !refused.contains(place)).map(|(_, row)| row).collect();
        self.customers
            .run(connection, &kept, |statement, (intent, customer)| {
                statement
                    .bind(customer.id.clone())
                    .bind(intent.merchant.clone())
                    .bind(customer.contact.clone())
                    .bind(intent.terms.firstname.clone())
                    .bind(intent.terms.lastname.clone())
                    .bind(intent.terms.email.clone().unwrap_or_default())
                    .bind(intent.terms.phone.clone().unwrap_or_default())
                    .bind(intent.created_at.unix())
            })
            .await?;
        Ok(refused)
    }
}

/// The places of the intents that are not there: their reference was taken.
async fn absent(
    connection: &mut SqliteConnection,
    rows: &[(usize, (Intent, Customer))],
) -> Result<Vec<usize>, sqlx::Error> {
    let mut places = Vec::new();
    for (place, (intent, _)) in rows {
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

/// Stores an intent's next state where its version is still the one that was read.
pub(super) async fn save(connection: &mut SqliteConnection, intent: &Intent) -> Result<bool, sqlx::Error> {
    let saved = sqlx::query("UPDATE intents SET life = $1, version = version + 1 WHERE id = $2 AND version = $3")
        .bind(life(intent))
        .bind(intent.id.as_str())
        .bind(intent.version)
        .execute(connection)
        .await?;
    Ok(saved.rows_affected() == 1)
}

pub(super) async fn by_id(readers: &SqlitePool, id: &IntentId) -> Result<Option<Intent>, Unavailable> {
    let row = sqlx::query(
        "SELECT id, merchant, payment_ref, digest, body, life, created_at, expires_at, version FROM intents WHERE id = $1",
    )
    .bind(id.as_str())
    .fetch_optional(readers)
    .await?;
    row.as_ref().map(read).transpose()
}

pub(super) async fn by_reference(
    readers: &SqlitePool,
    merchant: &str,
    reference: &str,
) -> Result<Option<Intent>, Unavailable> {
    let row = sqlx::query(
        "SELECT id, merchant, payment_ref, digest, body, life, created_at, expires_at, version FROM intents \
         WHERE merchant = $1 AND merchant_reference = $2",
    )
    .bind(merchant)
    .bind(reference)
    .fetch_optional(readers)
    .await?;
    row.as_ref().map(read).transpose()
}

pub(super) async fn of_merchant(
    readers: &SqlitePool,
    merchant: &str,
    after: Option<&Intent>,
    limit: i64,
) -> Result<Vec<Intent>, Unavailable> {
    // A keyset, so that what is made meanwhile neither skips nor repeats an entry.
    let (before, id) = after.map_or((i64::MAX, ""), |intent| (intent.created_at.unix(), intent.id.as_str()));
    let rows = sqlx::query(
        "SELECT id, merchant, payment_ref, digest, body, life, created_at, expires_at, version FROM intents \
         WHERE merchant = $1 AND (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT $4",
    )
    .bind(merchant)
    .bind(before)
    .bind(id)
    .bind(limit)
    .fetch_all(readers)
    .await?;
    rows.iter().map(read).collect()
}

fn read(row: &SqliteRow) -> Result<Intent, Unavailable> {
    let unreadable = |what: &str| Unavailable(format!("an intent's {what} cannot be read"));
    let body: String = row.try_get("body")?;
    let life: &str = row.try_get("life")?;
    Ok(Intent {
        id: IntentId::new(row.try_get::<String, _>("id")?).map_err(|_| unreadable("id"))?,
        merchant: row.try_get("merchant")?,
        payment_ref: row.try_get("payment_ref")?,
        digest: row.try_get("digest")?,
        terms: Terms::read(&body).map_err(|_| unreadable("body"))?,
        body,
        life: serde_json::from_str(life).map_err(|_| unreadable("life"))?,
        created_at: Moment::from_unix(row.try_get("created_at")?),
        expires_at: Moment::from_unix(row.try_get("expires_at")?),
        version: row.try_get("version")?,
    })
}

fn life(intent: &Intent) -> String {
    serde_json::to_string(&intent.life).expect("a life is plain words and numbers")
}
