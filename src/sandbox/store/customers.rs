//! Customers. Creating an intent or a subscription creates its customer.

use super::Unavailable;
use super::insert::{Insert, Statement};
use super::lists::{After, newest_first, rows_after};
use crate::values::Moment;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection, SqlitePool};

/// A customer, created with the first intent or subscription that has their e-mail or phone.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Customer {
    pub(in crate::sandbox) id: String,
    pub(in crate::sandbox) merchant: String,
    /// Their e-mail, or their phone if there is none. Unique per merchant.
    pub(in crate::sandbox) contact: String,
    pub(in crate::sandbox) firstname: String,
    pub(in crate::sandbox) lastname: String,
    pub(in crate::sandbox) email: String,
    pub(in crate::sandbox) phone: String,
    pub(in crate::sandbox) created_at: Moment,
}

impl Customer {
    /// The contact that identifies a customer.
    pub(in crate::sandbox) fn contact(email: Option<&str>, phone: Option<&str>) -> String {
        email.map_or_else(|| phone.unwrap_or_default().to_owned(), str::to_ascii_lowercase)
    }
}

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

pub(super) async fn of_merchant(
    readers: &SqlitePool,
    merchant: &str,
    after: After,
    limit: i64,
) -> Result<Vec<Customer>, Unavailable> {
    let text = newest_first!(
        "id, merchant, contact, firstname, lastname, email, phone, created_at FROM customers WHERE merchant = $1"
    );
    rows_after(readers, text, merchant, after, limit).await?.iter().map(read).collect()
}

fn read(row: &SqliteRow) -> Result<Customer, Unavailable> {
    Ok(Customer {
        id: row.try_get("id")?,
        merchant: row.try_get("merchant")?,
        contact: row.try_get("contact")?,
        firstname: row.try_get("firstname")?,
        lastname: row.try_get("lastname")?,
        email: row.try_get("email")?,
        phone: row.try_get("phone")?,
        created_at: Moment::from_unix(row.try_get("created_at")?),
    })
}
