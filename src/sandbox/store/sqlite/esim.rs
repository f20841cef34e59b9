//! eSIM orders.

use super::Sqlite;
use super::lists::{newest_first, rows_after};
use crate::sandbox::rules::{EsimOrder, Fulfilment};
use crate::sandbox::store::{Unavailable, rows};
use crate::values::EsimOrderId;
use sqlx::SqliteConnection;

/// The columns that are read, and the condition that every read has.
macro_rules! columns {
    () => {
        "id, merchant, package, quantity, amount, currency, created_at, paid_by, fulfilled_at FROM esim_orders WHERE merchant = $1"
    };
}

pub(super) async fn add(connection: &mut SqliteConnection, order: &EsimOrder) -> Result<bool, sqlx::Error> {
    let text = "INSERT INTO esim_orders (id, merchant, package, quantity, amount, currency, created_at) \
                VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
    let added = sqlx::query(text)
        .bind(order.id.as_str())
        .bind(&order.merchant)
        .bind(order.package.as_str())
        .bind(i64::from(order.quantity))
        .bind(i64::try_from(order.amount).unwrap_or(i64::MAX))
        .bind(order.currency.as_str())
        .bind(order.created_at.unix())
        .execute(connection)
        .await?;
    Ok(added.rows_affected() == 1)
}

/// Stores the fulfilment of an order. A fulfilled order does not change.
pub(super) async fn fulfil(
    connection: &mut SqliteConnection,
    order: &EsimOrderId,
    fulfilment: &Fulfilment,
) -> Result<(), sqlx::Error> {
    let text = "UPDATE esim_orders SET paid_by = $1, fulfilled_at = $2 WHERE id = $3 AND paid_by IS NULL";
    let query = sqlx::query(text).bind(fulfilment.paid_by.as_str()).bind(fulfilment.at.unix()).bind(order.as_str());
    query.execute(connection).await.map(drop)
}

impl Sqlite {
    pub(in crate::sandbox::store) async fn esim_order(
        &self,
        merchant: &str,
        id: &EsimOrderId,
    ) -> Result<Option<EsimOrder>, Unavailable> {
        let text = concat!("SELECT ", columns!(), " AND id = $2");
        let row = sqlx::query(text).bind(merchant).bind(id.as_str()).fetch_optional(&self.readers).await?;
        row.as_ref().map(rows::esim_order).transpose()
    }

    pub(in crate::sandbox::store) async fn esim_orders(
        &self,
        merchant: &str,
        limit: i64,
    ) -> Result<Vec<EsimOrder>, Unavailable> {
        let text = newest_first!(columns!());
        rows_after(&self.readers, text, merchant, None, limit).await?.iter().map(rows::esim_order).collect()
    }
}
