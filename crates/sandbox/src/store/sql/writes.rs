//! The statements of writes that are the same in every database. A backend has the others.

/// Stores a second of the service's clock, `$1`; a later one that is stored already stays.
pub const SAVE_SECOND: &str = "UPDATE service_clock SET latest = $1 WHERE latest < $1";

/// Adds a merchant. Its values are in the order of the columns.
pub const ADD_MERCHANT: &str = "INSERT INTO merchants (id, name, key_fingerprint, clock_offset, place) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";

/// Moves the clock of the merchant `$2` forward by `$1` seconds.
pub const ADVANCE_CLOCK: &str = "UPDATE merchants SET clock_offset = clock_offset + $1 WHERE id = $2";

/// Deletes everything of the merchant `$1` but the merchant itself.
pub const DELETE_RECORDS: [&str; 8] = [
    "DELETE FROM intents WHERE merchant = $1",
    "DELETE FROM plans WHERE merchant = $1",
    "DELETE FROM subscriptions WHERE merchant = $1",
    "DELETE FROM subscription_events WHERE merchant = $1",
    "DELETE FROM esim_orders WHERE merchant = $1",
    "DELETE FROM idempotency_keys WHERE merchant = $1",
    "DELETE FROM customers WHERE merchant = $1",
    "DELETE FROM sessions WHERE merchant = $1",
];
