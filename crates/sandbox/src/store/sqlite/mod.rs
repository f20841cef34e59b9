//! The SQLite store. One connection writes, with `synchronous=FULL`; readers have their own.

mod commit;
mod file;
mod insert;
mod open;
#[cfg(test)]
mod tests;
mod writes;

use super::sql::{SqlStore, StoredRow, Value, Writer};
use super::{PendingWrite, Unavailable, Write};
use async_trait::async_trait;
use insert::Statement;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqlitePool};

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

    async fn queue(&self, write: Write) -> Result<PendingWrite, Unavailable> {
        self.writer.queue(write).await
    }

    async fn close(&self) {
        self.writer.close().await;
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

impl StoredRow for SqliteRow {
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

impl From<sqlx::Error> for Unavailable {
    fn from(error: sqlx::Error) -> Self {
        Self::because(error.to_string())
    }
}
