use crate::OrdersError;

/// The format of the tables that this version writes.
pub(crate) const FORMAT: i64 = 1;

/// Each table, without its prefix, and what creates it. `{text}` is a text that is compared byte by byte.
pub(crate) const TABLES: [(&str, &[&str]); 5] = [
    (
        "ledger",
        &[
            "CREATE TABLE IF NOT EXISTS {p}ledger (id BIGINT PRIMARY KEY, format BIGINT NOT NULL, shared {text} NOT NULL)",
        ],
    ),
    (
        "orders",
        &[
            "CREATE TABLE IF NOT EXISTS {p}orders (name {text} PRIMARY KEY, version BIGINT NOT NULL, body {text} NOT NULL)",
        ],
    ),
    (
        "payments",
        &[
            "CREATE TABLE IF NOT EXISTS {p}payments (
                reference {text} PRIMARY KEY, name {text} NOT NULL, owner {text} NOT NULL, created_at BIGINT NOT NULL,
                returned_at BIGINT, due_at BIGINT, counts_until BIGINT)",
            "CREATE INDEX IF NOT EXISTS {p}payments_due ON {p}payments (due_at) WHERE due_at IS NOT NULL",
            "CREATE INDEX IF NOT EXISTS {p}payments_owner ON {p}payments (owner, counts_until) WHERE counts_until IS NOT NULL",
        ],
    ),
    ("names", &["CREATE TABLE IF NOT EXISTS {p}names (payment {text}, name {text}, PRIMARY KEY (payment, name))"]),
    (
        "events",
        &[
            "CREATE TABLE IF NOT EXISTS {p}events (name {text}, version BIGINT, body {text} NOT NULL, PRIMARY KEY (name, version))",
        ],
    ),
];

/// A prefix is a part of the statements.
pub(crate) fn check_prefix(prefix: &str) -> Result<(), OrdersError> {
    let is_good = |one: u8| one.is_ascii_lowercase() || one.is_ascii_digit() || one == b'_';
    let is_one =
        prefix.len() <= 30 && prefix.bytes().all(is_good) && !prefix.starts_with(|one: char| one.is_ascii_digit());
    is_one.then_some(()).ok_or_else(|| OrdersError::Prefix(prefix.to_owned()))
}
