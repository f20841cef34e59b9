//! Plans.

use super::Postgres;
use super::lists::newest_first;
use crate::sandbox::rules::billing::Plan;
use crate::sandbox::store::{After, Unavailable, rows};
use crate::values::{PlanId, PlanKey};
use sqlx::PgConnection;
use sqlx::postgres::PgBindIterExt;

/// The columns that are read, and the condition that every read has.
macro_rules! columns {
    () => {
        "id, merchant, offer, active, created_at FROM plans WHERE merchant = $1"
    };
}

/// Adds the plans whose code is free, in this order. Returns the ids of those that were added.
pub(super) async fn add(connection: &mut PgConnection, plans: &[(usize, &Plan)]) -> Result<Vec<String>, sqlx::Error> {
    let text = "INSERT INTO plans (id, merchant, code, offer, active, created_at) \
        SELECT id, merchant, code, offer, active, created_at FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bool[], \
        $6::bigint[]) WITH ORDINALITY AS new (id, merchant, code, offer, active, created_at, place) \
        ORDER BY place ON CONFLICT DO NOTHING RETURNING id";
    let plans = || plans.iter().map(|(_, plan)| *plan);
    let offer = |plan: &Plan| serde_json::to_string(&plan.offer).expect("an offer is plain words and numbers");
    sqlx::query_scalar(text)
        .bind(plans().map(|plan| plan.id.as_str()).bind_iter())
        .bind(plans().map(|plan| &*plan.merchant).bind_iter())
        .bind(plans().map(|plan| plan.offer.code.as_str()).bind_iter())
        .bind(plans().map(offer).bind_iter())
        .bind(plans().map(|plan| plan.active).bind_iter())
        .bind(plans().map(|plan| plan.created_at.unix()).bind_iter())
        .fetch_all(connection)
        .await
}

/// Deactivates plans. Returns the ids of those that exist.
pub(super) async fn deactivate(
    connection: &mut PgConnection,
    ids: &[(usize, &PlanId)],
) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar("UPDATE plans SET active = FALSE WHERE id = ANY($1) RETURNING id")
        .bind(ids.iter().map(|(_, id)| id.as_str()).bind_iter())
        .fetch_all(connection)
        .await
}

impl Postgres {
    /// A merchant's plan by its id or its code.
    pub(in crate::sandbox::store) async fn plan_by_key(
        &self,
        merchant: &str,
        key: &PlanKey,
    ) -> Result<Option<Plan>, Unavailable> {
        let text = concat!("SELECT ", columns!(), " AND (id = $2 OR code = $2) ORDER BY id = $2 DESC LIMIT 1");
        let row = self.optional(sqlx::query(text).bind(merchant).bind(key.as_str())).await?;
        row.as_ref().map(rows::plan).transpose()
    }

    /// A merchant's plan by its id alone.
    pub(in crate::sandbox::store) async fn plan(
        &self,
        merchant: &str,
        id: &PlanId,
    ) -> Result<Option<Plan>, Unavailable> {
        let text = concat!("SELECT ", columns!(), " AND id = $2");
        let row = self.optional(sqlx::query(text).bind(merchant).bind(id.as_str())).await?;
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
        self.rows_after(text, merchant, after, limit).await?.iter().map(rows::plan).collect()
    }
}
