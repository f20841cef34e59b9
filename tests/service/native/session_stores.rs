//! The stores of sessions: in memory, on PostgreSQL and on Redis.

mod contract;
mod durability;
mod failures;
mod forgotten_connections;
mod refusals;
mod secrecy;
mod several_servers;
mod time;
mod tls;

use super::key;
use crate::support::postgres::PostgresServer;
use crate::support::redis::RedisServer;
use guichet::native::KeptSession;
use guichet::values::{Moment, SessionToken};
use guichet::{Client, SecretKey};
use guichet_sessions::{PostgresSessions, RedisSessions};
use std::path::PathBuf;
use std::time::Duration;

/// A client that is only asked for its secret key.
fn client() -> Client {
    client_with(key())
}

fn client_with(key: SecretKey) -> Client {
    Client::builder("http://127.0.0.1:1", key).build().expect("a client")
}

/// A store on a database of its own.
async fn on_postgres() -> PostgresSessions {
    let url = PostgresServer::shared().create_database();
    PostgresSessions::connect(&url, &client()).await.expect("PostgreSQL")
}

/// A store on the server that the tests share.
async fn on_redis() -> RedisSessions {
    RedisSessions::connect(&RedisServer::shared().url(), &client()).await.expect("Redis")
}

/// A session whose token has this name.
fn session(name: &str) -> KeptSession {
    KeptSession {
        token: token(name),
        customer_email: super::email(),
        made_at: Moment::from_unix(1_795_257_000),
        ends_at: Some(Moment::from_unix(1_795_258_800)),
        lifetime: Some(Duration::from_secs(1800)),
    }
}

fn token(name: &str) -> SessionToken {
    SessionToken::new(format!("cst_test_{name}"))
}

const REMEMBER_FOR: Duration = Duration::from_secs(1830);

/// The folder with an authority's certificate and one of that authority for 127.0.0.1.
fn certificates() -> PathBuf {
    crate::support::root().join("tests/service/native/certificates")
}
