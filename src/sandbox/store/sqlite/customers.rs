//! Customers. Creating an intent or a subscription creates its customer.

use super::Sqlite;
use super::insert::{Insert, Statement};
use super::lists::{newest_first, rows_after};
use crate::sandbox::store::{After, Customer, Unavailable, rows};
use sqlx::SqliteConnection;

/// The insert of new customers.
pub(super) struct CustomerWrites(Insert);

impl CustomerWrites {
    pub(super) fn new() -> Self {
        let columns = ["id", "merchant", "contact", "firstname", "lastname", "email", "phone", "created_at"];
        Self(Insert::new("customers", &columns))
    }

    /// Adds the customers that do not exist yet.
    pub(super) async fn add(
        &self,
        connection: &mut SqliteConnection,
        customers: &[&Customer],
    ) -> Result<(), sqlx::Error> {
        let bind = |statement: Statement, customer: &&Customer| {
            statement
                .bind(customer.id.clone())
                .bind(customer.merchant.clone())
                .bind(customer.contact.clone())
                .bind(customer.firstname.clone())
                .bind(customer.lastname.clone())
                .bind(customer.email.clone())
                .bind(customer.phone.clone())
                .bind(customer.created_at.unix())
        };
        self.0.run(connection, customers, bind).await.map(drop)
    }
}

impl Sqlite {
    pub(in crate::sandbox::store) async fn customers(
        &self,
        merchant: &str,
        after: After,
        limit: i64,
    ) -> Result<Vec<Customer>, Unavailable> {
        let text = newest_first!(
            "id, merchant, contact, firstname, lastname, email, phone, created_at FROM customers WHERE merchant = $1"
        );
        rows_after(&self.readers, text, merchant, after, limit).await?.iter().map(rows::customer).collect()
    }
}
