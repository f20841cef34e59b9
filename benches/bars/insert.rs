//! Multi-row inserts, as the sandbox makes them. Their SQL is built once for 1, 2, 4 … rows, so that each is one prepared statement.

use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection};
use std::sync::Arc;

/// A statement whose values are being bound.
pub type Statement = Query<'static, Sqlite, SqliteArguments>;

/// An insert into one table.
pub struct Insert {
    texts: [Arc<str>; SIZES],
}

/// 64 rows at most, in one statement.
const SIZES: usize = 7;

impl Insert {
    /// Into these columns of a table, with what happens to rows that exist.
    pub fn new(table: &str, columns: &[&str], on_conflict: &str) -> Self {
        let texts = std::array::from_fn(|size| {
            let mut number = 0;
            let mut row = || {
                let placeholders: Vec<String> = columns
                    .iter()
                    .map(|_| {
                        number += 1;
                        format!("${number}")
                    })
                    .collect();
                format!("({})", placeholders.join(", "))
            };
            let rows: Vec<String> = (0..1_usize << size).map(|_| row()).collect();
            format!("INSERT INTO {table} ({}) VALUES {} {on_conflict}", columns.join(", "), rows.join(", ")).into()
        });
        Self { texts }
    }

    /// Inserts the rows. Returns how many had an effect.
    pub async fn run<T>(
        &self,
        connection: &mut SqliteConnection,
        mut rows: &[T],
        bind: impl Fn(Statement, &T) -> Statement,
    ) -> Result<u64, sqlx::Error> {
        let mut made = 0;
        while !rows.is_empty() {
            let size = (rows.len().ilog2() as usize).min(SIZES - 1);
            let (now, later) = rows.split_at(1 << size);
            let text = AssertSqlSafe(Arc::clone(&self.texts[size]));
            let statement = now.iter().fold(sqlx::query(text), &bind);
            made += statement.execute(&mut *connection).await?.rows_affected();
            rows = later;
        }
        Ok(made)
    }
}
