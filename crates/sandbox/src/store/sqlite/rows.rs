//! Reads records from rows.

use crate::rules::billing::{Plan, Subscription};
use crate::rules::{EsimOrder, Fulfilment, Intent, OperatorStatuses, Session, Terms};
use crate::store::{Customer, Made, MerchantRow, SubscriptionEvent, Unavailable};
use guichet::values::{Currency, EsimOrderId, EsimPackageId, IntentId, Moment, PlanId, SubscriptionId};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

pub(super) fn customer(row: &SqliteRow) -> Result<Customer, Unavailable> {
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

pub(super) fn esim_order(row: &SqliteRow) -> Result<EsimOrder, Unavailable> {
    let unreadable = |what: &str| Unavailable::because(format!("an eSIM order's {what} cannot be read"));
    let fulfilment =
        match row.try_get::<Option<&str>, _>("paid_by")?.zip(row.try_get::<Option<i64>, _>("fulfilled_at")?) {
            None => None,
            Some((paid_by, at)) => Some(Fulfilment {
                paid_by: IntentId::new(paid_by).map_err(|_| unreadable("payment"))?,
                at: Moment::from_unix(at),
            }),
        };
    Ok(EsimOrder {
        id: EsimOrderId::new(row.try_get::<&str, _>("id")?).map_err(|_| unreadable("id"))?,
        merchant: row.try_get("merchant")?,
        package: EsimPackageId::new(row.try_get::<&str, _>("package")?).map_err(|_| unreadable("package"))?,
        quantity: u8::try_from(row.try_get::<i64, _>("quantity")?).map_err(|_| unreadable("quantity"))?,
        amount: u64::try_from(row.try_get::<i64, _>("amount")?).map_err(|_| unreadable("amount"))?,
        currency: Currency::new(row.try_get::<&str, _>("currency")?).map_err(|_| unreadable("currency"))?,
        created_at: Moment::from_unix(row.try_get("created_at")?),
        fulfilment,
    })
}

pub(super) fn intent(row: &SqliteRow) -> Result<Intent, Unavailable> {
    let unreadable = |what: &str| Unavailable::because(format!("an intent's {what} cannot be read"));
    let body: String = row.try_get("body")?;
    Ok(Intent {
        id: IntentId::new(row.try_get::<&str, _>("id")?).map_err(|_| unreadable("id"))?,
        merchant: row.try_get("merchant")?,
        payment_ref: row.try_get("payment_ref")?,
        digest: row.try_get("digest")?,
        terms: Terms::read(&body).map_err(|_| unreadable("body"))?,
        body,
        state: serde_json::from_str(row.try_get::<&str, _>("state")?).map_err(|_| unreadable("state"))?,
        created_at: Moment::from_unix(row.try_get("created_at")?),
        expires_at: Moment::from_unix(row.try_get("expires_at")?),
        version: row.try_get("version")?,
    })
}

pub(super) fn merchant(row: &SqliteRow) -> Result<MerchantRow, Unavailable> {
    Ok(MerchantRow {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        key_fingerprint: row.try_get("key_fingerprint")?,
        clock_offset: row.try_get("clock_offset")?,
        operators: operators(row)?,
        place: row.try_get("place")?,
    })
}

/// How the operators work for a merchant.
fn operators(row: &SqliteRow) -> Result<OperatorStatuses, Unavailable> {
    OperatorStatuses::read(row.try_get::<&str, _>("operators")?)
        .map_err(|_| Unavailable::because("a merchant's operators cannot be read"))
}

pub(super) fn plan(row: &SqliteRow) -> Result<Plan, Unavailable> {
    let unreadable = |what: &str| Unavailable::because(format!("a plan's {what} cannot be read"));
    Ok(Plan {
        id: PlanId::new(row.try_get::<&str, _>("id")?).map_err(|_| unreadable("id"))?,
        merchant: row.try_get("merchant")?,
        offer: serde_json::from_str(row.try_get::<&str, _>("offer")?).map_err(|_| unreadable("offer"))?,
        active: row.try_get("active")?,
        created_at: Moment::from_unix(row.try_get("created_at")?),
    })
}

pub(super) fn subscription(row: &SqliteRow) -> Result<Subscription, Unavailable> {
    let unreadable = |what: &str| Unavailable::because(format!("a subscription's {what} cannot be read"));
    Ok(Subscription {
        id: SubscriptionId::new(row.try_get::<&str, _>("id")?).map_err(|_| unreadable("id"))?,
        merchant: row.try_get("merchant")?,
        customer_id: row.try_get::<Option<&str>, _>("customer")?.unwrap_or_default().to_owned(),
        terms: serde_json::from_str(row.try_get::<&str, _>("terms")?).map_err(|_| unreadable("terms"))?,
        state: serde_json::from_str(row.try_get::<&str, _>("state")?).map_err(|_| unreadable("state"))?,
        created_at: Moment::from_unix(row.try_get("created_at")?),
        version: row.try_get("version")?,
    })
}

pub(super) fn session(row: &SqliteRow) -> Result<Session, Unavailable> {
    Ok(Session {
        fingerprint: row.try_get("fingerprint")?,
        merchant: row.try_get("merchant")?,
        email: row.try_get("email")?,
        created_at: Moment::from_unix(row.try_get("created_at")?),
        expires_at: Moment::from_unix(row.try_get("expires_at")?),
        revoked_at: row.try_get::<Option<i64>, _>("revoked_at")?.map(Moment::from_unix),
    })
}

pub(super) fn subscription_event(row: &SqliteRow) -> Result<SubscriptionEvent, Unavailable> {
    let subscription = SubscriptionId::new(row.try_get::<&str, _>("subscription")?);
    Ok(SubscriptionEvent {
        subscription: subscription.map_err(|_| Unavailable::because("an event cannot be read"))?,
        number: row.try_get("number")?,
        at: Moment::from_unix(row.try_get("at")?),
        kind: row.try_get("kind")?,
    })
}

pub(super) fn made(row: &SqliteRow) -> Result<Made, Unavailable> {
    Ok(Made { id: row.try_get("made")?, digest: row.try_get("digest")? })
}
