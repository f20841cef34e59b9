//! The stores of sessions over TLS, in an application that has its own TLS.

use crate::postgres::PostgresServer;
use crate::redis::RedisServer;
use guichet::Client;
use guichet::native::{KeepResult, KeptSession, SessionStore};
use guichet::protocol::Error;
use guichet::values::{Email, Moment, SessionToken};
use guichet_sessions::redis::{self, TlsCertificates};
use guichet_sessions::{PostgresSessions, RedisSessions};
use std::path::PathBuf;

/// The folder of an authority's certificate and of one for 127.0.0.1.
fn certificates() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../service/native/certificates")
}

/// Keeps a session in PostgreSQL over TLS, in every mode.
pub async fn keep_in_postgres(client: &Client) -> Result<(), Error> {
    let server = PostgresServer::start(&["fsync=off"]);
    server.enable_tls(&certificates());
    let root = certificates().join("root.pem");
    let url = server.create_database();
    for mode in ["verify-full", "verify-ca", "require"] {
        let url = format!("{url}?sslmode={mode}&sslrootcert={}", root.display());
        keep(&PostgresSessions::connect(&url, client).await?).await;
    }
    Ok(())
}

/// Keeps a session in Redis over TLS.
pub async fn keep_in_redis(client: &Client) -> Result<(), Error> {
    let server = RedisServer::start_with_tls(&certificates());
    let root_cert = std::fs::read(certificates().join("root.pem")).expect("a certificate");
    let certificates = TlsCertificates { client_tls: None, root_cert: Some(root_cert) };
    let redis = redis::Client::build_with_tls(server.tls_url(), certificates).expect("an address");
    keep(&RedisSessions::builder(client).client(redis).await?).await;
    Ok(())
}

async fn keep(store: &impl SessionStore) {
    let session = KeptSession {
        token: SessionToken::new("cst_test_1"),
        customer_email: Email::new("awa@example.com").expect("an e-mail"),
        made_at: Moment::from_unix(1_795_257_000),
        ends_at: None,
        lifetime: None,
    };
    assert_eq!(store.keep("login", &session, None).await.expect("an answer"), KeepResult::Stored);
    assert_eq!(store.newest("login").await.expect("an answer"), Some(session));
}
