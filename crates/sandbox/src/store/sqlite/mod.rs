//! The SQLite store. One connection writes, with `synchronous=FULL`; readers have their own.

mod commit;
mod file;
mod group;
mod insert;
mod open;
mod open_group;
mod reads;
mod rows;
#[cfg(test)]
mod tests;
mod writer;
mod writes;

use super::Unavailable;
use insert::Statement;
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteRow;
use std::borrow::Cow;
use writer::Writer;

/// An open database.
#[derive(Debug)]
pub(crate) struct Sqlite {
    readers: SqlitePool,
    writer: Writer,
}

impl Sqlite {
    /// Executes a read.
    async fn rows(&self, text: &'static str, values: &[Value<'_>]) -> Result<Vec<SqliteRow>, Unavailable> {
        Ok(values.iter().fold(sqlx::query(text), bind).fetch_all(&self.readers).await?)
    }
}

impl From<sqlx::Error> for Unavailable {
    fn from(error: sqlx::Error) -> Self {
        Self::because(error.to_string())
    }
}

/// A value of a statement. `None` is NULL.
#[derive(Clone, Debug)]
enum Value<'a> {
    Flag(bool),
    Number(Option<i64>),
    Text(Option<Cow<'a, str>>),
}

/// Makes a value from what a record has.
macro_rules! from {
    ($($type:ty => |$value:ident| $made:expr,)+) => {
        $(impl<'a> From<$type> for Value<'a> {
            fn from($value: $type) -> Self {
                $made
            }
        })+
    };
}

from! {
    bool => |flag| Self::Flag(flag),
    i64 => |number| Self::Number(Some(number)),
    Option<i64> => |number| Self::Number(number),
    &'a str => |text| Self::Text(Some(text.into())),
    String => |text| Self::Text(Some(text.into())),
    Option<String> => |text| Self::Text(text.map(Cow::Owned)),
}

/// Binds the next value of a statement.
fn bind(statement: Statement, value: &Value<'_>) -> Statement {
    match value {
        Value::Flag(flag) => statement.bind(*flag),
        Value::Number(number) => statement.bind(*number),
        Value::Text(text) => statement.bind(text.as_deref().map(str::to_owned)),
    }
}
