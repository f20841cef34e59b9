//! Plans.

use super::Sqlite;
use super::lists::{newest_first, rows_after};
use crate::sandbox::rules::billing::Plan;
use crate::sandbox::store::{After, Unavailable, rows};
use crate::values::{PlanId, PlanKey};
use sqlx::SqliteConnection;

/// The columns that are read, and the condition that every read has.
macro_rules! columns {
    () => {
        "id, merchant, offer, active, created_at FROM plans WHERE merchant = $1"
    };
}

/// Adds a plan. `false` if the merchant has one with this code.
pub(super) async fn add(connection: &mut SqliteConnection, plan: &Plan) -> Result<bool, sqlx::Error> {
    let text = "INSERT INTO plans (id, merchant, code, offer, active, created_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
    let added = sqlx::query(text)
        .bind(plan.id.as_str())
        .bind(&plan.merchant)
        .bind(plan.offer.code.as_str())
        .bind(serde_json::to_string(&plan.offer).expect("an offer is plain words and numbers"))
        .bind(plan.active)
        .bind(plan.created_at.unix())
        .execute(connection)
        .await?;
    Ok(added.rows_affected() == 1)
}

pub(super) async fn deactivate(connection: &mut SqliteConnection, id: &PlanId) -> Result<bool, sqlx::Error> {
    let done =
        sqlx::query("UPDATE plans SET active = FALSE WHERE id = $1").bind(id.as_str()).execute(connection).await?;
    Ok(done.rows_affected() == 1)
}

impl Sqlite {
    /// A merchant's plan by its id or its code.
    pub(in crate::sandbox::store) async fn plan_by_key(
        &self,
        merchant: &str,
        key: &PlanKey,
    ) -> Result<Option<Plan>, Unavailable> {
        let text = concat!("SELECT ", columns!(), " AND (id = $2 OR code = $2) ORDER BY id = $2 DESC LIMIT 1");
        let row = sqlx::query(text).bind(merchant).bind(key.as_str()).fetch_optional(&self.readers).await?;
        row.as_ref().map(rows::plan).transpose()
    }

    /// A merchant's plan by its id alone.
    pub(in crate::sandbox::store) async fn plan(
        &self,
        merchant: &str,
        id: &PlanId,
    ) -> Result<Option<Plan>, Unavailable> {
        let text = concat!("SELECT ", columns!(), " AND id = $2");
        let row = sqlx::query(text).bind(merchant).bind(id.as_str()).fetch_optional(&self.readers).await?;
        row.as_ref().map(rows::plan).transpose()
    }

    pub(in crate::sandbox::store) async fn plans(
        &self,
        merchant: &str,
        include_inactive: bool,
        after: After,
        limit: i64,
    ) -> Result<Vec<Plan>, Unavailable> {
        let text = if include_inactive { newest_first!(columns!()) } else { newest_first!(columns!(), " AND active") };
        rows_after(&self.readers, text, merchant, after, limit).await?.iter().map(rows::plan).collect()
    }
}
