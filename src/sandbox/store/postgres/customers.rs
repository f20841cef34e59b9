//! Customers. Creating an intent or a subscription creates its customer.

use super::Postgres;
use super::lists::newest_first;
use crate::sandbox::store::{After, Customer, Unavailable, rows};
use sqlx::PgConnection;
use sqlx::postgres::PgBindIterExt;

/// Adds the customers that do not exist yet, in this order.
pub(super) async fn add(connection: &mut PgConnection, customers: &[&Customer]) -> Result<(), sqlx::Error> {
    if customers.is_empty() {
        return Ok(());
    }
    let text = "INSERT INTO customers (id, merchant, contact, firstname, lastname, email, phone, created_at) \
        SELECT id, merchant, contact, firstname, lastname, email, phone, created_at FROM unnest($1::text[], $2::text[], $3::text[], \
        $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[]) WITH ORDINALITY \
        AS new (id, merchant, contact, firstname, lastname, email, phone, created_at, place) ORDER BY place ON CONFLICT DO NOTHING";
    sqlx::query(text)
        .bind(customers.iter().map(|customer| &*customer.id).bind_iter())
        .bind(customers.iter().map(|customer| &*customer.merchant).bind_iter())
        .bind(customers.iter().map(|customer| &*customer.contact).bind_iter())
        .bind(customers.iter().map(|customer| &*customer.firstname).bind_iter())
        .bind(customers.iter().map(|customer| &*customer.lastname).bind_iter())
        .bind(customers.iter().map(|customer| &*customer.email).bind_iter())
        .bind(customers.iter().map(|customer| &*customer.phone).bind_iter())
        .bind(customers.iter().map(|customer| customer.created_at.unix()).bind_iter())
        .execute(connection)
        .await
        .map(drop)
}

impl Postgres {
    pub(in crate::sandbox::store) async fn customers(
        &self,
        merchant: &str,
        after: After,
        limit: i64,
    ) -> Result<Vec<Customer>, Unavailable> {
        let text = newest_first!(
            "id, merchant, contact, firstname, lastname, email, phone, created_at FROM customers WHERE merchant = $1"
        );
        self.rows_after(text, merchant, after, limit).await?.iter().map(rows::customer).collect()
    }
}
