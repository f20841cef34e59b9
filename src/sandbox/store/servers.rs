//! Real database servers for tests, the same as in `tests/`.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::panic,
    reason = "each test uses a part, and may read the clock"
)]

#[path = "../../../tests/support/database_process.rs"]
mod database_process;
#[path = "../../../tests/support/port.rs"]
mod port;
#[path = "../../../tests/support/postgres.rs"]
mod postgres;

pub(in crate::sandbox) use postgres::PostgresServer;
