//! A shop's ledger of orders and payments in SQLite or PostgreSQL, on the application's own pool.
//!
//! ```no_run
//! # async fn open(pool: sqlx::SqlitePool) -> Result<(), guichet_orders::OrdersError> {
//! use guichet_orders::SqliteOrders;
//! let orders = SqliteOrders::open(pool, "guichet_").await?;
//! # let _ = orders;
//! # Ok(()) }
//! ```
//!
//! - It creates its five tables where they are missing and the database's role may. Their names begin with the prefix,
//!   so that no table of the shop's own is touched.
//! - What a `commit` has answered survives a crash. PostgreSQL 15 or newer; SQLite by one or several processes of one
//!   machine.
//! - No rule about money stands here: what an order is, what is read again and when, is decided by
//!   `guichet::native::Ledger`.

#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod any;
#[cfg(feature = "sqlite")]
mod backup;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod connect;
mod error;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod store;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod tables;

#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub use any::AnyOrders;
pub use error::OrdersError;
#[cfg(feature = "postgres")]
pub use store::PostgresOrders;
#[cfg(feature = "sqlite")]
pub use store::SqliteOrders;
