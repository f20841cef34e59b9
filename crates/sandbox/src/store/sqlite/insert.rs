//! Multi-row inserts. Their SQL is built once for 1, 2, 4 … rows, so that each is one prepared statement.

use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Row, Sqlite, SqliteConnection};
use std::sync::Arc;

/// A statement whose values are being bound.
pub(super) type Statement = Query<'static, Sqlite, SqliteArguments>;

/// An insert into one table.
pub(super) struct Insert {
    texts: [Arc<str>; SIZES],
}

/// 64 rows at most, in one statement.
const SIZES: usize = 7;

impl Insert {
    /// Into these columns of a table, with what happens to rows that exist.
    pub(super) fn new(table: &str, columns: &[&str], on_conflict: &str) -> Self {
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
            let (names, rows, key) = (columns.join(", "), rows.join(", "), columns[0]);
            format!("INSERT INTO {table} ({names}) VALUES {rows} {on_conflict} RETURNING {key}").into()
        });
        Self { texts }
    }

    /// Inserts the rows. Returns the first value of each that had an effect, which must be a text.
    pub(super) async fn run<T>(
        &self,
        connection: &mut SqliteConnection,
        mut rows: &[T],
        bind: impl Fn(Statement, &T) -> Statement,
    ) -> Result<Vec<String>, sqlx::Error> {
        let mut keys = Vec::with_capacity(rows.len());
        while !rows.is_empty() {
            let size = (rows.len().ilog2() as usize).min(SIZES - 1);
            let (now, later) = rows.split_at(1 << size);
            let text = AssertSqlSafe(Arc::clone(&self.texts[size]));
            for row in now.iter().fold(sqlx::query(text), &bind).fetch_all(&mut *connection).await? {
                keys.push(row.try_get(0)?);
            }
            rows = later;
        }
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insert_numbers_its_placeholders_through_all_rows() {
        let insert = Insert::new("t", &["a", "b"], "ON CONFLICT DO NOTHING");
        assert_eq!(
            &*insert.texts[1],
            "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4) ON CONFLICT DO NOTHING RETURNING a"
        );
    }
}
