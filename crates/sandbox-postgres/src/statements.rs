//! The statements of writes: each for all rows of a group.

use crate::bound;
use guichet_sandbox::store::sql::{DELETE_RECORDS, NewRow, Value};
use sqlx::{AssertSqlSafe, PgConnection, SqlSafeStr};
use std::collections::HashSet;

type Result<T> = std::result::Result<T, sqlx::Error>;

/// Stores the next states of different intents whose version has not changed since it was read.
pub(crate) const SAVE_INTENTS: &str = "UPDATE intents SET state = new.state, version = intents.version + 1 \
    FROM unnest($1::text[], $2::bigint[], $3::text[]) AS new (id, version, state) \
    WHERE intents.id = new.id AND intents.version = new.version RETURNING intents.id";

/// Stores the next states of different subscriptions whose version has not changed since it was read.
pub(crate) const SAVE_SUBSCRIPTIONS: &str = "UPDATE subscriptions SET state = new.state, due_at = new.due_at, version = subscriptions.version + 1 \
    FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[]) AS new (id, version, state, due_at) \
    WHERE subscriptions.id = new.id AND subscriptions.version = new.version RETURNING subscriptions.id";

/// Stores the fulfilments of different orders. A fulfilled order does not change.
pub(crate) const FULFIL: &str = "UPDATE esim_orders SET paid_by = new.paid_by, fulfilled_at = new.at \
    FROM unnest($1::text[], $2::text[], $3::bigint[]) AS new (id, paid_by, at) \
    WHERE esim_orders.id = new.id AND esim_orders.paid_by IS NULL RETURNING esim_orders.id";

pub(crate) const DEACTIVATE_PLANS: &str = "UPDATE plans SET active = FALSE WHERE id = ANY($1) RETURNING id";

/// Revokes different sessions. A revoked one keeps its time of revocation.
pub(crate) const REVOKE_SESSIONS: &str = "UPDATE sessions SET revoked_at = new.at FROM unnest($1::text[], $2::bigint[]) AS new (fingerprint, at) \
    WHERE sessions.fingerprint = new.fingerprint AND revoked_at IS NULL RETURNING sessions.fingerprint";

/// Deletes at most `$2` keys that have expired by their merchants' clocks; `$1` is the service's. Keys that another instance is deleting
/// are left to it.
pub(crate) const DELETE_EXPIRED_KEYS: &str = "DELETE FROM idempotency_keys WHERE (merchant, operation, fingerprint) IN \
    (SELECT idempotency_keys.merchant, operation, fingerprint FROM merchants JOIN idempotency_keys \
    ON idempotency_keys.merchant = merchants.id AND idempotency_keys.expires_at <= $1 + merchants.clock_offset \
    ORDER BY merchants.id, expires_at, operation, fingerprint LIMIT $2 FOR UPDATE OF idempotency_keys SKIP LOCKED)";

/// Adds rows, in this order. Returns which of them the table did not refuse.
pub(crate) async fn add<'a, R: NewRow + 'a>(
    connection: &mut PgConnection,
    rows: impl IntoIterator<Item = &'a R>,
) -> Result<Vec<bool>> {
    let rows: Vec<_> = rows.into_iter().map(R::values).collect();
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let arrays = first.iter().zip(1..).map(|(value, number)| match value {
        Value::Flag(_) => format!("${number}::bool[]"),
        Value::Number(_) => format!("${number}::bigint[]"),
        Value::Text(_) => format!("${number}::text[]"),
    });
    let arrays = arrays.collect::<Vec<_>>().join(", ");
    let (table, columns, key, on_conflict) = (R::TABLE, R::COLUMNS.join(", "), R::COLUMNS[0], R::ON_CONFLICT);
    let text = format!(
        "INSERT INTO {table} ({columns}) SELECT {columns} FROM unnest({arrays}) WITH ORDINALITY AS new ({columns}, ordinality) \
         ORDER BY ordinality {on_conflict} RETURNING {key}"
    );
    // Made of constants and numbers.
    execute(connection, AssertSqlSafe(text), &rows).await
}

/// Executes a statement for these rows: each parameter is the array of one column. Returns for each row whether the statement has returned
/// its first value.
pub(crate) async fn execute(
    connection: &mut PgConnection,
    statement: impl SqlSafeStr,
    rows: &[Vec<Value<'_>>],
) -> Result<Vec<bool>> {
    let mut query = sqlx::query_scalar(statement);
    for column in 0..rows.first().map_or(0, Vec::len) {
        let values = rows.iter().map(|row| &row[column]);
        query = match rows[0][column] {
            Value::Flag(_) => query.bind(values.map(flag).collect::<Vec<_>>()),
            Value::Number(_) => query.bind(values.map(number).collect::<Vec<_>>()),
            Value::Text(_) => query.bind(values.map(text).collect::<Vec<_>>()),
        };
    }
    let mut returned: HashSet<String> = query.fetch_all(connection).await?.into_iter().collect();
    Ok(rows.iter().map(|row| text(&row[0]).is_some_and(|key| returned.remove(key))).collect())
}

fn flag(value: &Value<'_>) -> Option<bool> {
    if let Value::Flag(flag) = value { Some(*flag) } else { None }
}

fn number(value: &Value<'_>) -> Option<i64> {
    if let Value::Number(number) = value { *number } else { None }
}

fn text<'a>(value: &'a Value<'_>) -> Option<&'a str> {
    if let Value::Text(text) = value { text.as_deref() } else { None }
}

/// Executes a statement. Returns whether it changed a row.
pub(crate) async fn changes(connection: &mut PgConnection, text: &'static str, values: &[Value<'_>]) -> Result<bool> {
    Ok(bound(text, values).execute(connection).await?.rows_affected() > 0)
}

/// Deletes everything of a merchant but its name and its key.
pub(crate) async fn reset(connection: &mut PgConnection, merchant: &str) -> Result<()> {
    let own = [
        "UPDATE merchants SET clock_offset = 0, reset_at_number = nextval('request_numbers') WHERE id = $1",
        // After the merchant: who adds a fault locks it first, too.
        "DELETE FROM faults WHERE merchant = $1",
        "DELETE FROM requests WHERE merchant = $1",
    ];
    for text in DELETE_RECORDS.into_iter().chain(own) {
        changes(connection, text, &[merchant.into()]).await?;
    }
    Ok(())
}
