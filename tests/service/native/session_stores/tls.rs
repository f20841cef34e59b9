//! TLS to the databases, with the certificate of a private authority, in a process whose rustls has two crypto
//! providers.

use super::{certificates, client, session};
use crate::support::postgres::PostgresServer;
use crate::support::redis::RedisServer;
use guichet::native::{KeepResult, SessionStore};
use guichet::protocol::Kind;
use guichet_sessions::redis::{Client, TlsCertificates};
use guichet_sessions::{PostgresSessions, RedisSessions};

#[tokio::test]
async fn a_store_on_postgresql_verifies_the_servers_certificate() {
    let server = PostgresServer::start(&["fsync=off"]);
    server.enable_tls(&certificates());
    let url = server.create_database();
    let root = certificates().join("root.pem");
    for mode in ["require", "verify-ca", "verify-full"] {
        let url = format!("{url}?sslmode={mode}&sslrootcert={}", root.display());
        let store = PostgresSessions::connect(&url, &client()).await.expect("the certificate is of this authority");
        store.keep("login", &session("tls"), None).await.expect("an answer");
        assert_eq!(server.psql("postgres", "SELECT count(*) > 0 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND datname = 'test_0'"), "t", "{mode}");
    }
    let error = PostgresSessions::connect(&format!("{url}?sslmode=verify-full"), &client()).await;
    let error = error.expect_err("no machine trusts this authority");
    assert_eq!(error.kind(), Kind::Offline, "{error}");
}

#[tokio::test]
async fn a_store_on_redis_verifies_the_servers_certificate() {
    let server = RedisServer::start_with_tls(&certificates());
    let root_cert = std::fs::read(certificates().join("root.pem")).expect("a certificate");
    let certificates = TlsCertificates { client_tls: None, root_cert: Some(root_cert) };
    let redis = Client::build_with_tls(server.tls_url(), certificates).expect("a client");
    let store = RedisSessions::builder(&client()).client(redis).await.expect("the certificate is of this authority");
    assert_eq!(store.keep("login", &session("tls"), None).await.expect("an answer"), KeepResult::Stored);

    let error =
        RedisSessions::connect(&server.tls_url(), &client()).await.expect_err("no machine trusts this authority");
    assert_eq!(error.kind(), Kind::Offline, "{error}");
}
