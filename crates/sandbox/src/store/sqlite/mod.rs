//! The SQLite store. One connection writes, with `synchronous=FULL`; readers have their own.

mod commit;
mod file;
mod insert;
mod open;
#[cfg(test)]
mod tests;

use super::Unavailable;
use super::sql::{SqlStore, Value, Writer};
use async_trait::async_trait;
use insert::Statement;
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteRow;

/// An open database.
#[derive(Debug)]
pub(crate) struct Sqlite {
    readers: SqlitePool,
    writer: Writer,
}

#[async_trait]
impl SqlStore for Sqlite {
    type Row = SqliteRow;

    async fn rows(&self, text: &'static str, values: &[Value<'_>]) -> Result<Vec<SqliteRow>, Unavailable> {
        Ok(values.iter().fold(sqlx::query(text), bind).fetch_all(&self.readers).await?)
    }

    fn writer(&self) -> &Writer {
        &self.writer
    }
}

/// Binds the next value of a statement.
fn bind(statement: Statement, value: &Value<'_>) -> Statement {
    match value {
        Value::Flag(flag) => statement.bind(*flag),
        Value::Number(number) => statement.bind(*number),
        Value::Text(text) => statement.bind(text.as_deref().map(str::to_owned)),
    }
}
