//! Reads records from rows.

use crate::rules::billing::{Plan, Subscription};
use crate::rules::{EsimOrder, Fulfilment, Intent, OperatorStatuses, Session, Terms};
use crate::store::{Customer, Made, MerchantRow, SubscriptionEvent, Unavailable};
use guichet::values::{Currency, EsimOrderId, EsimPackageId, IntentId, Moment, PlanId, SubscriptionId};
use sqlx::{ColumnIndex, Decode, Row, Type};

/// A row of a database. A column that is missing or has another type is an error.
#[expect(missing_docs, clippy::missing_errors_doc, reason = "a reader has the name of what it reads")]
pub trait StoredRow {
    fn text(&self, column: &str) -> Result<&str, Unavailable>;
    fn optional_text(&self, column: &str) -> Result<Option<&str>, Unavailable>;
    fn number(&self, column: &str) -> Result<i64, Unavailable>;
    fn optional_number(&self, column: &str) -> Result<Option<i64>, Unavailable>;
    fn flag(&self, column: &str) -> Result<bool, Unavailable>;

    fn owned(&self, column: &str) -> Result<String, Unavailable> {
        self.text(column).map(str::to_owned)
    }

    fn moment(&self, column: &str) -> Result<Moment, Unavailable> {
        self.number(column).map(Moment::from_unix)
    }
}

impl<R: Row> StoredRow for R
where
    for<'a> &'a str: ColumnIndex<R> + Decode<'a, R::Database> + Type<R::Database>,
    for<'a> i64: Decode<'a, R::Database> + Type<R::Database>,
    for<'a> bool: Decode<'a, R::Database> + Type<R::Database>,
{
    fn text(&self, column: &str) -> Result<&str, Unavailable> {
        Ok(self.try_get(column)?)
    }

    fn optional_text(&self, column: &str) -> Result<Option<&str>, Unavailable> {
        Ok(self.try_get(column)?)
    }

    fn number(&self, column: &str) -> Result<i64, Unavailable> {
        Ok(self.try_get(column)?)
    }

    fn optional_number(&self, column: &str) -> Result<Option<i64>, Unavailable> {
        Ok(self.try_get(column)?)
    }

    fn flag(&self, column: &str) -> Result<bool, Unavailable> {
        Ok(self.try_get(column)?)
    }
}

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
    let unreadable = |what: &str| Unavailable::because(format!("an eSIM order's {what} cannot be read"));
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
    let unreadable = |what: &str| Unavailable::because(format!("an intent's {what} cannot be read"));
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
        operators: operators(row)?,
        place: row.number("place")?,
    })
}

/// How the operators work for a merchant.
///
/// # Errors
/// If the column is missing or is not that.
pub fn operators(row: &impl StoredRow) -> Result<OperatorStatuses, Unavailable> {
    OperatorStatuses::read(row.text("operators")?)
        .map_err(|_| Unavailable::because("a merchant's operators cannot be read"))
}

pub(super) fn plan(row: &impl StoredRow) -> Result<Plan, Unavailable> {
    let unreadable = |what: &str| Unavailable::because(format!("a plan's {what} cannot be read"));
    Ok(Plan {
        id: PlanId::new(row.text("id")?).map_err(|_| unreadable("id"))?,
        merchant: row.owned("merchant")?,
        offer: serde_json::from_str(row.text("offer")?).map_err(|_| unreadable("offer"))?,
        active: row.flag("active")?,
        created_at: row.moment("created_at")?,
    })
}

pub(super) fn subscription(row: &impl StoredRow) -> Result<Subscription, Unavailable> {
    let unreadable = |what: &str| Unavailable::because(format!("a subscription's {what} cannot be read"));
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

pub(super) fn session(row: &impl StoredRow) -> Result<Session, Unavailable> {
    Ok(Session {
        fingerprint: row.owned("fingerprint")?,
        merchant: row.owned("merchant")?,
        email: row.owned("email")?,
        created_at: row.moment("created_at")?,
        expires_at: row.moment("expires_at")?,
        revoked_at: row.optional_number("revoked_at")?.map(Moment::from_unix),
    })
}

pub(super) fn subscription_event(row: &impl StoredRow) -> Result<SubscriptionEvent, Unavailable> {
    let subscription = SubscriptionId::new(row.text("subscription")?);
    Ok(SubscriptionEvent {
        subscription: subscription.map_err(|_| Unavailable::because("an event cannot be read"))?,
        number: row.number("number")?,
        at: row.moment("at")?,
        kind: row.owned("kind")?,
    })
}

pub(super) fn made(row: &impl StoredRow) -> Result<Made, Unavailable> {
    Ok(Made { id: row.owned("made")?, digest: row.owned("digest")? })
}
