//! The rows that the sandbox stores for one new payment, read from its database, so that nothing here depends on its
//! tables.

use crate::insert::{Insert, Statement};
use crate::load::Connection;
use crate::servers::Running;
use axum::body::Body;
use axum::http::Request;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, SqliteConnection};
use std::collections::BTreeMap;
use std::path::Path;

/// The rows of one payment, and which texts in them differ between payments.
#[derive(Serialize, Deserialize)]
pub struct Template {
    /// The SQL that creates the tables.
    pub schema: Vec<String>,
    pub tables: Vec<Table>,
    /// The sandbox's response.
    pub reply: String,
}

#[derive(Serialize, Deserialize)]
pub struct Table {
    pub name: String,
    pub columns: Vec<String>,
    pub row: Vec<Value>,
    /// The texts that differ between payments.
    varies: Vec<bool>,
}

/// Every table: its columns and its rows.
pub type Dump = BTreeMap<String, (Vec<String>, Vec<Vec<Value>>)>;

/// The request that creates the payment with this number.
pub fn create(base_url: &str, key: &str, number: u64) -> Request<Body> {
    let unique = unique(number);
    let order = json!({
        "firstname": "Awa", "lastname": "Ngono", "email": format!("awa-{unique}@example.com"), "amount": "45000",
        "description": "A pair of shoes", "merchant_reference": format!("ORDER-{unique}"),
        "items": [{ "name": "Boots", "price": 45000, "currency": "XAF", "quantity": 1 }],
        "redirect_url": "https://shop.example.com/return", "metadata": { "basket": "17" },
    });
    Request::post("/v1/payment-intents")
        .header(HOST, base_url.strip_prefix("http://").unwrap())
        .header(AUTHORIZATION, format!("Bearer {key}"))
        .header(CONTENT_TYPE, "application/json")
        .body(order.to_string().into())
        .unwrap()
}

/// Ten digits, unique to this number. They are not in order, like random identifiers: an index is not filled from its
/// end.
pub fn unique(number: u64) -> String {
    // The factor is coprime to ten, so that no two numbers give the same digits.
    format!("{:010}", number.wrapping_mul(7_368_787_561) % 10_000_000_000)
}

/// The number of the template's payment. Others count from 2.
pub const TEMPLATE_NUMBER: u64 = 0;

impl Template {
    /// Creates two payments in a new sandbox with this database, and compares their rows.
    pub async fn learn(database: &Path) -> Self {
        let sandbox = Running::sandbox(database);
        let mut connection = Connection::open(&sandbox.base_url).await;
        let pool = open(database, false).await;
        let empty = dump(&pool).await;
        let (_, reply) = connection.send(create(&sandbox.base_url, &sandbox.secret_key, TEMPLATE_NUMBER)).await;
        let one = dump(&pool).await;
        connection.send(create(&sandbox.base_url, &sandbox.secret_key, TEMPLATE_NUMBER + 1)).await;
        let two = dump(&pool).await;
        let schema = sqlx::query_scalar("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetch_all(&pool).await;
        pool.close().await;
        sandbox.stop();

        let reply = String::from_utf8(reply).unwrap();
        Self { schema: schema.unwrap(), tables: Table::compare(&empty, &one, &two), reply }
    }

    /// The insert statements of its tables, in order.
    pub fn inserts(&self) -> Vec<Insert> {
        let of = |table: &Table| {
            let columns: Vec<&str> = table.columns.iter().map(String::as_str).collect();
            Insert::new(&table.name, &columns, "ON CONFLICT DO NOTHING")
        };
        self.tables.iter().map(of).collect()
    }

    /// Writes the rows of these payments.
    pub async fn write(&self, inserts: &[Insert], connection: &mut SqliteConnection, numbers: &[u64]) {
        for (table, insert) in self.tables.iter().zip(inserts) {
            let rows: Vec<Vec<Value>> = numbers.iter().map(|number| table.of(*number)).collect();
            let written =
                insert.run(connection, &rows, |statement, row| row.iter().fold(statement, bind)).await.unwrap();
            assert_eq!(written.len(), numbers.len(), "every row of {} is new", table.name);
        }
    }

    /// Inserts this many payments as fast as possible: in large groups, durable only at the end.
    pub async fn fill(&self, database: &Path, count: u64) {
        let pool = open(database, true).await;
        let inserts = self.inserts();
        let mut connection = pool.acquire().await.unwrap();
        sqlx::raw_sql("PRAGMA synchronous = OFF").execute(&mut *connection).await.unwrap();
        let numbers: Vec<u64> = (2..2 + count).collect();
        for group in numbers.chunks(20_000) {
            sqlx::query("BEGIN").execute(&mut *connection).await.unwrap();
            self.write(&inserts, &mut connection, group).await;
            sqlx::query("COMMIT").execute(&mut *connection).await.unwrap();
        }
        sqlx::raw_sql("PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)")
            .execute(&mut *connection)
            .await
            .unwrap();
        drop(connection);
        pool.close().await;
    }

    /// The identifier of the payment with this number.
    pub fn id(&self, number: u64) -> String {
        let reply: Value = serde_json::from_str(&self.reply).unwrap();
        varied(reply["data"]["id"].as_str().unwrap(), number)
    }
}

impl Table {
    /// The new rows of the first payment, compared with those of the second.
    pub fn compare(empty: &Dump, one: &Dump, two: &Dump) -> Vec<Self> {
        let mut tables = Vec::new();
        for (name, (columns, rows)) in one {
            let new = |now: &Vec<Vec<Value>>, then: &Vec<Vec<Value>>| -> Vec<Vec<Value>> {
                now.iter().filter(|row| !then.contains(row)).cloned().collect()
            };
            let (first, second) = (new(rows, &empty[name].1), new(&two[name].1, rows));
            assert_eq!(first.len(), second.len(), "two payments leave as many rows in {name}");
            for (row, other) in first.into_iter().zip(second) {
                let varies = row.iter().zip(&other).map(|(one, other)| one.is_string() && one != other).collect();
                tables.push(Self { name: name.clone(), columns: columns.clone(), row, varies });
            }
        }
        tables
    }

    pub fn of(&self, number: u64) -> Vec<Value> {
        let cells = self.row.iter().zip(&self.varies);
        let cell = |(cell, varies): (&Value, &bool)| match cell {
            Value::String(text) if *varies => Value::String(varied(text, number)),
            same => same.clone(),
        };
        cells.map(cell).collect()
    }
}

/// The corresponding text of another payment, of the same length.
fn varied(text: &str, number: u64) -> String {
    if number == TEMPLATE_NUMBER {
        return text.to_owned();
    }
    let (mark, other) = (unique(TEMPLATE_NUMBER), unique(number));
    if text.contains(&mark) {
        return text.replace(&mark, &other);
    }
    let kept = text.len().saturating_sub(other.len());
    text[..kept].chars().chain(other.chars()).take(text.len()).collect()
}

fn bind(statement: Statement, cell: &Value) -> Statement {
    match cell {
        Value::String(text) => statement.bind(text.clone()),
        Value::Number(number) => statement.bind(number.as_i64().unwrap()),
        Value::Bool(is) => statement.bind(*is),
        _ => statement.bind(None::<String>),
    }
}

/// Opens a database as the sandbox's writer does.
pub async fn open(database: &Path, create: bool) -> SqlitePool {
    let options = SqliteConnectOptions::new()
        .filename(database)
        .create_if_missing(create)
        .foreign_keys(false)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    SqlitePoolOptions::new().max_connections(1).test_before_acquire(false).connect_with(options).await.unwrap()
}

/// Every table: its columns and its rows, without the number `seq` that the database assigns to each row.
async fn dump(pool: &SqlitePool) -> Dump {
    let mut tables = BTreeMap::new();
    let names: Vec<String> =
        sqlx::query_scalar("SELECT name FROM sqlite_master WHERE type = 'table'").fetch_all(pool).await.unwrap();
    for name in names {
        let columns = sqlx::query_scalar("SELECT name FROM pragma_table_info($1) WHERE name <> 'seq'");
        let columns: Vec<String> = columns.bind(&name).fetch_all(pool).await.unwrap();
        let rows = format!("SELECT json_array({}) FROM {name}", columns.join(", "));
        let rows: Vec<String> = sqlx::query_scalar(AssertSqlSafe(rows)).fetch_all(pool).await.unwrap();
        let rows = rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect();
        tables.insert(name, (columns, rows));
    }
    tables
}
