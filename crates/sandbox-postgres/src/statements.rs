//! The statements of a group: each for all rows of a table.

use crate::bound;
use guichet_sandbox::store::sql::{GroupTransaction, NewRow, Value, are_among};
use sqlx::{AssertSqlSafe, PgConnection, SqlSafeStr};

type Result<T> = std::result::Result<T, sqlx::Error>;

/// The open transaction of a group.
pub(crate) struct OpenGroup<'a>(pub(crate) &'a mut PgConnection);

impl GroupTransaction for OpenGroup<'_> {
    const SAVE_INTENT: &'static str = "UPDATE intents SET state = new.state, version = intents.version + 1 \
        FROM unnest($1::text[], $2::bigint[], $3::text[]) AS new (id, version, state) \
        WHERE intents.id = new.id AND intents.version = new.version RETURNING intents.id";
    const SAVE_SUBSCRIPTION: &'static str = "UPDATE subscriptions \
        SET state = new.state, due_at = new.due_at, version = subscriptions.version + 1 \
        FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[]) AS new (id, version, state, due_at) \
        WHERE subscriptions.id = new.id AND subscriptions.version = new.version RETURNING subscriptions.id";
    const FULFIL: &'static str = "UPDATE esim_orders SET paid_by = new.paid_by, fulfilled_at = new.at \
        FROM unnest($1::text[], $2::text[], $3::bigint[]) AS new (id, paid_by, at) \
        WHERE esim_orders.id = new.id AND esim_orders.paid_by IS NULL RETURNING esim_orders.id";
    const DEACTIVATE_PLAN: &'static str = "UPDATE plans SET active = FALSE WHERE id = ANY($1) RETURNING id";
    const REVOKE_SESSION: &'static str = "UPDATE sessions SET revoked_at = new.at \
        FROM unnest($1::text[], $2::bigint[]) AS new (fingerprint, at) \
        WHERE sessions.fingerprint = new.fingerprint AND revoked_at IS NULL RETURNING sessions.fingerprint";
    /// Keys that another instance is deleting are left to it.
    const DELETE_EXPIRED_KEYS: &'static str = "DELETE FROM idempotency_keys WHERE (merchant, operation, fingerprint) IN \
        (SELECT idempotency_keys.merchant, operation, fingerprint FROM merchants JOIN idempotency_keys \
        ON idempotency_keys.merchant = merchants.id AND idempotency_keys.expires_at <= $1 + merchants.clock_offset \
        ORDER BY merchants.id, expires_at, operation, fingerprint LIMIT $2 FOR UPDATE OF idempotency_keys SKIP LOCKED)";
    const RESET: &'static [&'static str] = &[
        "UPDATE merchants SET clock_offset = 0, operators = '{}', reset_at_number = nextval('request_numbers') WHERE id = $1",
        // After the merchant: who adds a fault locks it first, too.
        "DELETE FROM faults WHERE merchant = $1",
        "DELETE FROM requests WHERE merchant = $1",
    ];

    async fn add<R: NewRow>(&mut self, rows: Vec<Vec<Value<'_>>>) -> Result<Vec<bool>> {
        let columns = rows.first().into_iter().flatten();
        let arrays = columns.zip(1..).map(|(value, number)| match value {
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
        execute(self.0, AssertSqlSafe(text), &rows).await
    }

    async fn change(&mut self, statement: &'static str, rows: Vec<Vec<Value<'_>>>) -> Result<Vec<bool>> {
        execute(self.0, statement, &rows).await
    }

    async fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<bool> {
        Ok(bound(statement, values).execute(&mut *self.0).await?.rows_affected() > 0)
    }
}

/// Executes a statement for these rows: each parameter is the array of one column. Returns for each row whether the statement has returned
/// its first value.
async fn execute(
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
    Ok(are_among(rows, query.fetch_all(connection).await?.into_iter().collect()))
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
