use super::insert::Insert;
use super::writes::NewRow;
use super::{Value, bind};
use sqlx::SqliteConnection;
use std::collections::{HashMap, HashSet};

/// The statements that add rows, by table. Each is built once.
pub(super) type Inserts = HashMap<&'static str, Insert>;

/// The open transaction of a group.
pub(super) struct OpenGroup<'a> {
    pub(super) connection: &'a mut SqliteConnection,
    pub(super) inserts: &'a mut Inserts,
}

impl OpenGroup<'_> {
    /// Adds rows, in this order. Returns which of them the table did not refuse.
    pub(super) async fn add<R: NewRow>(&mut self, rows: Vec<Vec<Value<'_>>>) -> Result<Vec<bool>, sqlx::Error> {
        let new = || Insert::new(R::TABLE, R::COLUMNS, R::ON_CONFLICT);
        let insert = self.inserts.entry(R::TABLE).or_insert_with(new);
        let keys = insert.run(self.connection, &rows, |statement, row| row.iter().fold(statement, bind)).await?;
        let mut keys: HashSet<String> = keys.into_iter().collect();
        let is_among = |row: &Vec<Value<'_>>| match row.first() {
            Some(Value::Text(Some(key))) => keys.remove(&**key),
            _ => false,
        };
        Ok(rows.iter().map(is_among).collect())
    }

    /// Executes a statement for each of these rows, which are different ones. Returns for which it has changed a row.
    pub(super) async fn change(
        &mut self,
        statement: &'static str,
        rows: Vec<Vec<Value<'_>>>,
    ) -> Result<Vec<bool>, sqlx::Error> {
        let mut changed = Vec::with_capacity(rows.len());
        for values in rows {
            changed.push(self.execute(statement, &values).await?);
        }
        Ok(changed)
    }

    /// Executes a statement. Returns whether it has changed a row.
    pub(super) async fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<bool, sqlx::Error> {
        let statement = values.iter().fold(sqlx::query(statement), bind);
        Ok(statement.execute(&mut *self.connection).await?.rows_affected() > 0)
    }
}
