//! Keeps the sessions of a shop's customers in PostgreSQL or Redis, for a merchant whose shop runs on several servers.
//!
//! [`Sessions`] of the crate `guichet` gives each login of the shop one session token, and ends it when the customer
//! signs out. [`SessionGuard`] admits requests with such a token to the merchant's own API. On one server both keep
//! what they know in memory, and nothing of this crate is needed. Several servers share a store: a login then has one
//! token whichever server answers, and none after a sign-out on any of them.
//!
//! ```no_run
//! # #[cfg(feature = "postgres")]
//! # async fn open(client: guichet::Client) -> Result<(), guichet::protocol::Error> {
//! use guichet::native::{SessionGuard, Sessions};
//! use guichet_sessions::PostgresSessions; // or RedisSessions
//!
//! let store = PostgresSessions::connect("postgres://shop@db.example.com/shop?sslmode=verify-full", &client).await?;
//! let guard = SessionGuard::with_store(client.clone(), store.clone());
//! let sessions = Sessions::with_store(client, store).guarded_by(guard.clone());
//! # let _ = (guard, sessions);
//! # Ok(()) }
//! ```
//!
//! | feature | store | database |
//! |---|---|---|
//! | `postgres` | `PostgresSessions` | PostgreSQL 15 or newer; what was acknowledged survives its crash |
//! | `redis` | `RedisSessions` | one Redis 6 or newer, not a cluster; what was acknowledged survives its crash if Redis stores each write |
//!
//! No feature is on by default. Rust 1.95 or newer. For another database, implement [`SessionStore`] yourself.
//!
//! # What both stores promise
//!
//! - **A reader of the database learns no token, e-mail address or login.** Sessions are encrypted (XChaCha20-Poly1305)
//!   with a key that is derived from the client's secret key, and logins are hashed with the secret key (HMAC-SHA256),
//!   so all servers of a shop have the same one. After a change of the key the stored sessions count as absent: for 30
//!   minutes a sign-out does not end those that were created before it; they expire.
//! - **A lost connection is replaced within one request.** If the database does not answer a step within 2 seconds, or
//!   the connection is lost, the step is repeated over a new connection for up to 5 seconds. Then the result is 503
//!   `unavailable` with `Retry-After`, and the log says why. If the database refuses the password, the result is the
//!   same at once.
//! - **A connection to another machine is encrypted.** An address that lets it be unencrypted is refused before
//!   anything is sent, and so is such a pool or client of the application's own, unless `allow_unencrypted` of the
//!   store's builder names the host. Loopback addresses and Unix sockets need no name.
//! - **TLS has one crypto provider for the process.** Redis and `sslmode=verify-ca` of PostgreSQL take the one that the
//!   application has installed. If there is none, the feature `native` of guichet installs aws-lc-rs; with
//!   `native-no-provider`, install yours first.
#![cfg_attr(doc_labels, feature(doc_cfg))]
#![cfg_attr(not(any(feature = "postgres", feature = "redis")), allow(dead_code, reason = "the stores use it"))]

mod database;
#[cfg(feature = "postgres")]
mod postgres_address;
#[cfg(feature = "postgres")]
mod postgres_sessions;
#[cfg(feature = "redis")]
mod redis_sessions;
mod sealed;

#[cfg(feature = "postgres")]
#[cfg_attr(doc_labels, doc(cfg(feature = "postgres")))]
pub use postgres_sessions::{PostgresSessions, PostgresSessionsBuilder};
#[cfg(feature = "redis")]
#[cfg_attr(doc_labels, doc(cfg(feature = "redis")))]
pub use redis_sessions::{RedisSessions, RedisSessionsBuilder};

/// The library of Redis, whose client [`RedisSessions`] takes.
#[cfg(feature = "redis")]
#[cfg_attr(doc_labels, doc(cfg(feature = "redis")))]
pub use redis;
/// The library of PostgreSQL, whose pool [`PostgresSessions`] takes.
#[cfg(feature = "postgres")]
#[cfg_attr(doc_labels, doc(cfg(feature = "postgres")))]
pub use sqlx;

#[cfg(doc)]
use guichet::native::{SessionGuard, SessionStore, Sessions};
