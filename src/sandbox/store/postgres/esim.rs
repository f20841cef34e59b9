//! eSIM orders.

use super::Postgres;
use super::lists::newest_first;
use crate::sandbox::rules::{EsimOrder, Fulfilment};
use crate::sandbox::store::{Unavailable, rows};
use crate::values::EsimOrderId;
use sqlx::PgConnection;
use sqlx::postgres::PgBindIterExt;

/// The columns that are read, and the condition that every read has.
macro_rules! columns {
    () => {
        "id, merchant, package, quantity, amount, currency, created_at, paid_by, fulfilled_at FROM esim_orders WHERE merchant = $1"
    };
}

/// Adds orders, in this order. Returns the ids of those that were added.
pub(super) async fn add(
    connection: &mut PgConnection,
    orders: &[(usize, &EsimOrder)],
) -> Result<Vec<String>, sqlx::Error> {
    let text = "INSERT INTO esim_orders (id, merchant, package, quantity, amount, currency, created_at) \
        SELECT id, merchant, package, quantity, amount, currency, created_at FROM unnest($1::text[], $2::text[], $3::text[], \
        $4::bigint[], $5::bigint[], $6::text[], $7::bigint[]) WITH ORDINALITY \
        AS new (id, merchant, package, quantity, amount, currency, created_at, place) ORDER BY place ON CONFLICT DO NOTHING RETURNING id";
    let orders = || orders.iter().map(|(_, order)| *order);
    sqlx::query_scalar(text)
        .bind(orders().map(|order| order.id.as_str()).bind_iter())
        .bind(orders().map(|order| &*order.merchant).bind_iter())
        .bind(orders().map(|order| order.package.as_str()).bind_iter())
        .bind(orders().map(|order| i64::from(order.quantity)).bind_iter())
        .bind(orders().map(|order| i64::try_from(order.amount).unwrap_or(i64::MAX)).bind_iter())
        .bind(orders().map(|order| order.currency.as_str()).bind_iter())
        .bind(orders().map(|order| order.created_at.unix()).bind_iter())
        .fetch_all(connection)
        .await
}

/// Stores the fulfilments of different orders. A fulfilled order does not change.
pub(super) async fn fulfil(
    connection: &mut PgConnection,
    fulfilled: &[&(EsimOrderId, Fulfilment)],
) -> Result<(), sqlx::Error> {
    let text = "UPDATE esim_orders SET paid_by = new.paid_by, fulfilled_at = new.at \
        FROM unnest($1::text[], $2::text[], $3::bigint[]) AS new (id, paid_by, at) \
        WHERE esim_orders.id = new.id AND esim_orders.paid_by IS NULL";
    sqlx::query(text)
        .bind(fulfilled.iter().map(|(order, _)| order.as_str()).bind_iter())
        .bind(fulfilled.iter().map(|(_, fulfilment)| fulfilment.paid_by.as_str()).bind_iter())
        .bind(fulfilled.iter().map(|(_, fulfilment)| fulfilment.at.unix()).bind_iter())
        .execute(connection)
        .await
        .map(drop)
}

impl Postgres {
    pub(in crate::sandbox::store) async fn esim_order(
        &self,
        merchant: &str,
        id: &EsimOrderId,
    ) -> Result<Option<EsimOrder>, Unavailable> {
        let text = concat!("SELECT ", columns!(), " AND id = $2");
        let row = self.optional(sqlx::query(text).bind(merchant).bind(id.as_str())).await?;
        row.as_ref().map(rows::esim_order).transpose()
    }

    pub(in crate::sandbox::store) async fn esim_orders(
        &self,
        merchant: &str,
        limit: i64,
    ) -> Result<Vec<EsimOrder>, Unavailable> {
        let text = newest_first!(columns!());
        self.rows_after(text, merchant, None, limit).await?.iter().map(rows::esim_order).collect()
    }
}
