#![cfg_attr(doc_labels, feature(doc_cfg))]
//! One payment service on several machines: any number of instances of [`guichet_sandbox`] on one PostgreSQL database.
//!
//! They are one service. A payment that one instance has created is confirmed by another; a subscription's period is charged once; clocks,
//! faults and lists of requests are the same in all. When an instance ends in the middle of its work, another continues.
//!
//! For developers and testers of a shop that runs on several machines, with PostgreSQL 15 and Rust 1.95 or newer. A single sandbox keeps
//! everything in memory or in a file, without this crate. It has no features.
//!
//! ```no_run
//! # async fn start() -> Result<(), guichet_sandbox::StartError> {
//! use guichet_sandbox::{Config, Sandbox};
//! use guichet_sandbox_postgres::Postgres;
//!
//! // Every instance has the same two keys, in a copy of one file or in the environment.
//! let config = Config { keys: Some("sandbox.keys".into()), ..Config::default() };
//! let database = Postgres::at("postgres://guichet@db.example.com/sandbox?sslmode=verify-full")?;
//! let sandbox = Sandbox::start_on(config, database).await?;
//! # drop(sandbox); Ok(()) }
//! ```
//!
//! An address may contain a password. No message and no log shows it:
//!
//! ```
//! use guichet_sandbox_postgres::Postgres;
//!
//! let refused = Postgres::at("postgres://awa:hunter2@db.internal/sandbox?sslmod=require").unwrap_err().to_string();
//! assert!(refused.contains("Did you mean `sslmode`?") && !refused.contains("hunter2"));
//! assert_eq!(format!("{:?}", Postgres::at("postgres://awa:hunter2@db.internal/sandbox")?), "Postgres(postgres://db.internal/sandbox)");
//! # Ok::<(), guichet_sandbox::StartError>(())
//! ```

mod address;
mod commit;
mod faults;
mod instances;
mod locks;
mod merchants;
mod open;
mod requests;
mod statements;
#[cfg(test)]
mod tests;

pub use address::Postgres;

use async_trait::async_trait;
use guichet_sandbox::Unavailable;
use guichet_sandbox::store::sql::{SqlStore, Value, Writer};
use sqlx::PgPool;
use sqlx::postgres::{PgArguments, PgRow};
use std::time::Duration;

/// A statement whose values are bound.
type Query<'q> = sqlx::query::Query<'q, sqlx::Postgres, PgArguments>;

/// How long a statement outside of a group may take, with the way to the server and back. The server itself ends it earlier
/// ([`open::SETTINGS`]): this is for a server that no longer answers.
const STATEMENT_DEADLINE: Duration = Duration::from_secs(12);

/// The connections on which statements outside of a group are executed.
#[derive(Clone, Debug)]
struct Readers(PgPool);

impl Readers {
    /// Executes a statement and returns its rows.
    async fn all(&self, query: Query<'_>) -> Result<Vec<PgRow>, Unavailable> {
        let mut connection = self.0.acquire().await?;
        match tokio::time::timeout(STATEMENT_DEADLINE, query.fetch_all(&mut *connection)).await {
            Ok(Err(error)) if is_unknown_text(&error) => Ok(Vec::new()),
            Ok(rows) => Ok(rows?),
            Err(_) => {
                // Without this, the pool would wait for the answer before it uses the connection again.
                connection.close_on_drop();
                Err(does_not_answer())
            }
        }
    }

    /// Executes a statement with these values.
    async fn rows(&self, text: &'static str, values: &[Value<'_>]) -> Result<Vec<PgRow>, Unavailable> {
        self.all(bound(text, values)).await
    }
}

/// A statement with these values.
fn bound<'q>(text: &'static str, values: &'q [Value<'_>]) -> Query<'q> {
    values.iter().fold(sqlx::query(text), |query, value| match value {
        Value::Flag(flag) => query.bind(*flag),
        Value::Number(number) => query.bind(*number),
        Value::Text(text) => query.bind(text.as_deref()),
    })
}

/// The records.
struct PostgresStore {
    readers: Readers,
    writer: Writer,
}

#[async_trait]
impl SqlStore for PostgresStore {
    type Row = PgRow;

    async fn rows(&self, text: &'static str, values: &[Value<'_>]) -> Result<Vec<PgRow>, Unavailable> {
        self.readers.rows(text, values).await
    }

    fn writer(&self) -> &Writer {
        &self.writer
    }
}

fn does_not_answer() -> Unavailable {
    Unavailable::because("the database does not answer")
}

/// Whether a value has the character U+0000 (`character_not_in_repertoire`), for example an id in an address. The service refuses to
/// store such a text, so no row has it.
fn is_unknown_text(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "22021")
}
