//! Reads records from rows. The tables of both databases have the same columns.

use super::{Customer, MerchantRow, Unavailable};
use crate::sandbox::rules::billing::{Plan, Subscription};
use crate::sandbox::rules::{EsimOrder, Fulfilment, Intent, Terms};
use crate::values::{Currency, EsimOrderId, EsimPackageId, IntentId, Moment, PlanId, SubscriptionId};
use serde::Serialize;
use sqlx::{Error, Row};

/// A row of one of the databases.
pub(super) trait StoredRow {
    fn text(&self, column: &str) -> Result<&str, Error>;
    fn optional_text(&self, column: &str) -> Result<Option<&str>, Error>;
    fn number(&self, column: &str) -> Result<i64, Error>;
    fn optional_number(&self, column: &str) -> Result<Option<i64>, Error>;
    fn flag(&self, column: &str) -> Result<bool, Error>;

    fn owned(&self, column: &str) -> Result<String, Error> {
        self.text(column).map(str::to_owned)
    }

    fn moment(&self, column: &str) -> Result<Moment, Error> {
        self.number(column).map(Moment::from_unix)
    }
}

macro_rules! stored_row {
    ($feature:literal, $row:ty) => {
        #[cfg(feature = $feature)]
        impl StoredRow for $row {
            fn text(&self, column: &str) -> Result<&str, Error> {
                self.try_get(column)
            }

            fn optional_text(&self, column: &str) -> Result<Option<&str>, Error> {
                self.try_get(column)
            }

            fn number(&self, column: &str) -> Result<i64, Error> {
                self.try_get(column)
            }

            fn optional_number(&self, column: &str) -> Result<Option<i64>, Error> {
                self.try_get(column)
            }

            fn flag(&self, column: &str) -> Result<bool, Error> {
                self.try_get(column)
            }
        }
    };
}

stored_row!("sandbox-postgres", sqlx::postgres::PgRow);
stored_row!("sandbox-sqlite", sqlx::sqlite::SqliteRow);

pub(super) fn customer(row: &impl StoredRow) -> Result<Customer, Unavailable> {
    Ok(Customer {
        id: row.owned("id")?,
        merchant: row.owned("merchant")?,
        contact: row.owned("contact")?,
        firstname: row.owned("firstname")?,
        lastname: row.owned("lastname")?,
        email: row.owned("email")?,
        phone: row.owned("phone")?,
        created_at: row.moment("created_at")?,
    })
}

pub(super) fn esim_order(row: &impl StoredRow) -> Result<EsimOrder, Unavailable> {
    let unreadable = |what: &str| Unavailable(format!("an eSIM order's {what} cannot be read"));
    let fulfilment = match row.optional_text("paid_by")?.zip(row.optional_number("fulfilled_at")?) {
        None => None,
        Some((paid_by, at)) => Some(Fulfilment {
            paid_by: IntentId::new(paid_by).map_err(|_| unreadable("payment"))?,
            at: Moment::from_unix(at),
        }),
    };
    Ok(EsimOrder {
        id: EsimOrderId::new(row.text("id")?).map_err(|_| unreadable("id"))?,
        merchant: row.owned("merchant")?,
        package: EsimPackageId::new(row.text("package")?).map_err(|_| unreadable("package"))?,
        quantity: u8::try_from(row.number("quantity")?).map_err(|_| unreadable("quantity"))?,
        amount: u64::try_from(row.number("amount")?).map_err(|_| unreadable("amount"))?,
        currency: Currency::new(row.text("currency")?).map_err(|_| unreadable("currency"))?,
        created_at: row.moment("created_at")?,
        fulfilment,
    })
}

pub(super) fn intent(row: &impl StoredRow) -> Result<Intent, Unavailable> {
    let unreadable = |what: &str| Unavailable(format!("an intent's {what} cannot be read"));
    let body = row.owned("body")?;
    Ok(Intent {
        id: IntentId::new(row.text("id")?).map_err(|_| unreadable("id"))?,
        merchant: row.owned("merchant")?,
        payment_ref: row.owned("payment_ref")?,
        digest: row.owned("digest")?,
        terms: Terms::read(&body).map_err(|_| unreadable("body"))?,
        body,
        state: serde_json::from_str(row.text("state")?).map_err(|_| unreadable("state"))?,
        created_at: row.moment("created_at")?,
        expires_at: row.moment("expires_at")?,
        version: row.number("version")?,
    })
}

pub(super) fn merchant(row: &impl StoredRow) -> Result<MerchantRow, Unavailable> {
    Ok(MerchantRow {
        id: row.owned("id")?,
        name: row.owned("name")?,
        key_fingerprint: row.owned("key_fingerprint")?,
        clock_offset: row.number("clock_offset")?,
        place: row.number("place")?,
    })
}

pub(super) fn plan(row: &impl StoredRow) -> Result<Plan, Unavailable> {
    let unreadable = |what: &str| Unavailable(format!("a plan's {what} cannot be read"));
    Ok(Plan {
        id: PlanId::new(row.text("id")?).map_err(|_| unreadable("id"))?,
        merchant: row.owned("merchant")?,
        offer: serde_json::from_str(row.text("offer")?).map_err(|_| unreadable("offer"))?,
        active: row.flag("active")?,
        created_at: row.moment("created_at")?,
    })
}

pub(super) fn subscription(row: &impl StoredRow) -> Result<Subscription, Unavailable> {
    let unreadable = |what: &str| Unavailable(format!("a subscription's {what} cannot be read"));
    Ok(Subscription {
        id: SubscriptionId::new(row.text("id")?).map_err(|_| unreadable("id"))?,
        merchant: row.owned("merchant")?,
        customer_id: row.optional_text("customer")?.unwrap_or_default().to_owned(),
        terms: serde_json::from_str(row.text("terms")?).map_err(|_| unreadable("terms"))?,
        state: serde_json::from_str(row.text("state")?).map_err(|_| unreadable("state"))?,
        created_at: row.moment("created_at")?,
        version: row.number("version")?,
    })
}

/// The state of a payment intent or a subscription, as its column has it.
pub(super) fn state_text(state: &impl Serialize) -> String {
    serde_json::to_string(state).expect("a state is made of words and numbers alone")
}
