//! The rows and statements of writes.

use super::Value;
use crate::rules::billing::Plan;
use crate::rules::{EsimOrder, IdempotentRequest, Intent, Session};
use crate::store::{Billed, Customer, MerchantRow, SubscriptionEvent};

/// A row that is added to a table.
pub(super) trait NewRow {
    /// The table.
    const TABLE: &'static str;
    /// The columns. The first one is a text that tells the row from the others of a group.
    const COLUMNS: &'static [&'static str];
    /// What happens if the table has such a row. It is an effect only if it changes that row.
    const ON_CONFLICT: &'static str = "ON CONFLICT DO NOTHING";

    /// The values, in the order of the columns.
    fn values(&self) -> Vec<Value<'_>>;
}

/// Declares a row: each column with its value.
macro_rules! new_row {
    ($row:ty, $table:literal, |$of:ident| { $($column:ident: $value:expr,)+ } $(, $conflict:literal)?) => {
        impl NewRow for $row {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [&'static str] = &[$(stringify!($column)),+];
            $(const ON_CONFLICT: &'static str = $conflict;)?

            fn values(&self) -> Vec<Value<'_>> {
                let $of = self;
                vec![$(Value::from($value)),+]
            }
        }
    };
}

new_row!(Customer, "customers", |customer| {
    id: customer.id.as_str(),
    merchant: customer.merchant.as_str(),
    contact: customer.contact.as_str(),
    firstname: customer.firstname.as_str(),
    lastname: customer.lastname.as_str(),
    email: customer.email.as_str(),
    phone: customer.phone.as_str(),
    created_at: customer.created_at.unix(),
});

new_row!(EsimOrder, "esim_orders", |order| {
    id: order.id.as_str(),
    merchant: order.merchant.as_str(),
    package: order.package.as_str(),
    quantity: i64::from(order.quantity),
    amount: i64::try_from(order.amount).unwrap_or(i64::MAX),
    currency: order.currency.as_str(),
    created_at: order.created_at.unix(),
});

new_row!(Intent, "intents", |intent| {
    id: intent.id.as_str(),
    merchant: intent.merchant.as_str(),
    merchant_reference: intent.merchant_reference(),
    payment_ref: intent.payment_ref.as_str(),
    digest: intent.digest.as_str(),
    body: intent.body.as_str(),
    state: intent.state_text(),
    created_at: intent.created_at.unix(),
    expires_at: intent.expires_at.unix(),
    version: intent.version,
    esim_order: intent.esim_order(),
});

new_row!(MerchantRow, "merchants", |merchant| {
    id: merchant.id.as_str(),
    name: merchant.name.as_str(),
    key_fingerprint: merchant.key_fingerprint.as_str(),
    clock_offset: merchant.clock_offset,
    operators: merchant.operators.text(),
    place: merchant.place,
});

new_row!(Plan, "plans", |plan| {
    id: plan.id.as_str(),
    merchant: plan.merchant.as_str(),
    code: plan.code(),
    offer: plan.offer_text(),
    active: plan.active,
    created_at: plan.created_at.unix(),
});

new_row!(Session, "sessions", |session| {
    fingerprint: session.fingerprint.as_str(),
    merchant: session.merchant.as_str(),
    email: session.email.as_str(),
    created_at: session.created_at.unix(),
    expires_at: session.expires_at.unix(),
});

// A new subscription, with its customer's contact.
new_row!(Billed, "subscriptions", |billed| {
    id: billed.subscription.id.as_str(),
    merchant: billed.subscription.merchant.as_str(),
    contact: billed.customer.as_ref().map(|customer| customer.contact.clone()),
    terms: billed.subscription.terms_text(),
    state: billed.subscription.state_text(),
    due_at: billed.due_at(),
    created_at: billed.subscription.created_at.unix(),
    version: billed.subscription.version,
});

// An event of this subscription.
new_row!((&Billed, SubscriptionEvent), "subscription_events", |event| {
    subscription: event.1.subscription.as_str(),
    number: event.1.number,
    merchant: event.0.subscription.merchant.as_str(),
    kind: event.1.kind.as_str(),
    at: event.1.at.unix(),
});

/// An idempotency key that is reserved for an object. It is free unless another object was created under it and it has
/// not expired.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReservedKey<'a> {
    /// The request with the key.
    pub(super) request: &'a IdempotentRequest,
    /// The id of the object that is created now.
    pub(super) made: &'a str,
}

new_row!(
    ReservedKey<'_>,
    "idempotency_keys",
    |key| {
        made: key.made,
        merchant: key.request.merchant.as_str(),
        operation: key.request.operation,
        fingerprint: key.request.fingerprint.as_str(),
        digest: key.request.digest.as_str(),
        expires_at: key.request.expires_at().unix(),
    },
    "ON CONFLICT (merchant, operation, fingerprint) DO UPDATE \
     SET digest = excluded.digest, made = excluded.made, expires_at = excluded.expires_at \
     WHERE idempotency_keys.expires_at <= excluded.expires_at - 86400"
);

// A new key's time is one lifetime after the request's time.
const _: () = assert!(IdempotentRequest::LIFETIME == 86_400);

/// Stores a second of the service's clock, `$1`; a later one that is stored already stays.
pub(super) const SAVE_SECOND: &str = "UPDATE service_clock SET latest = $1 WHERE latest < $1";

/// Moves the clock of the merchant `$2` forward by `$1` seconds.
pub(super) const ADVANCE_CLOCK: &str = "UPDATE merchants SET clock_offset = clock_offset + $1 WHERE id = $2";

/// Stores how the operators work, `$1`, for the merchant `$2`.
pub(super) const SET_OPERATORS: &str = "UPDATE merchants SET operators = $1 WHERE id = $2";

/// Gives the key `$1` to the merchant `$2`, unless another merchant has it. No other writer may change keys meanwhile.
pub(super) const CHANGE_KEY: &str = "UPDATE merchants SET key_fingerprint = $1 WHERE id = $2 \
     AND NOT EXISTS (SELECT 1 FROM merchants AS other WHERE other.key_fingerprint = $1 AND other.id <> $2)";

/// Stores the next state of an intent whose version has not changed since it was read: id, version, state.
pub(super) const SAVE_INTENT: &str =
    "UPDATE intents SET state = $3, version = version + 1 WHERE id = $1 AND version = $2";

/// Stores the next state of a subscription whose version has not changed since it was read: id, version, state, when it
/// is due.
pub(super) const SAVE_SUBSCRIPTION: &str =
    "UPDATE subscriptions SET state = $3, due_at = $4, version = version + 1 WHERE id = $1 AND version = $2";

/// Stores the fulfilment of an order: id, payment, time. A fulfilled order does not change.
pub(super) const FULFIL: &str =
    "UPDATE esim_orders SET paid_by = $2, fulfilled_at = $3 WHERE id = $1 AND paid_by IS NULL";

/// Deactivates the plan `$1`.
pub(super) const DEACTIVATE_PLAN: &str = "UPDATE plans SET active = FALSE WHERE id = $1";

/// Revokes a session: fingerprint, time. A revoked one keeps its time of revocation.
pub(super) const REVOKE_SESSION: &str =
    "UPDATE sessions SET revoked_at = $2 WHERE fingerprint = $1 AND revoked_at IS NULL";

/// Deletes at most `$2` keys that have expired by their merchants' clocks; `$1` is the service's. `CROSS JOIN` reads
/// the merchants first, which are few, so that the index finds the expired keys.
pub(super) const DELETE_EXPIRED_KEYS: &str = "DELETE FROM idempotency_keys WHERE (merchant, operation, fingerprint) IN \
    (SELECT merchant, operation, fingerprint FROM merchants CROSS JOIN idempotency_keys \
    WHERE idempotency_keys.merchant = merchants.id \
    AND idempotency_keys.expires_at <= $1 + merchants.clock_offset \
    ORDER BY merchants.id, expires_at, operation, fingerprint LIMIT $2)";

/// Deletes everything of the merchant `$1` but its name and its key, and resets its clock and its operators.
pub(super) const DELETE_RECORDS: [&str; 9] = [
    "DELETE FROM intents WHERE merchant = $1",
    "DELETE FROM plans WHERE merchant = $1",
    "DELETE FROM subscriptions WHERE merchant = $1",
    "DELETE FROM subscription_events WHERE merchant = $1",
    "DELETE FROM esim_orders WHERE merchant = $1",
    "DELETE FROM idempotency_keys WHERE merchant = $1",
    "DELETE FROM customers WHERE merchant = $1",
    "DELETE FROM sessions WHERE merchant = $1",
    "UPDATE merchants SET clock_offset = 0, operators = '{}' WHERE id = $1",
];
