//! A session read with the shared store, compared with one without: by the route that hands out the token of a login,
//! and by the guard of the merchant's own API.

use crate::measure::{Pairs, Row, microseconds};
use crate::postgres::PostgresServer;
use crate::redis::RedisServer;
use crate::servers;
use axum::Router;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::routing::{get, post};
use guichet::native::{MemoryStore, SessionGuard, SessionStore, Sessions};
use guichet::values::Email;
use guichet::{Client, SecretKey};
use guichet_sessions::{PostgresSessions, RedisSessions};

const PAIRS: usize = 2_000;
const TOKEN: &str = "cst_test_0123456789abcdefghijABCDEFGHIJ0123456789abc";
const CREATED: &str = r#"{"data":{"session_token":"cst_test_0123456789abcdefghijABCDEFGHIJ0123456789abc","customer_email":"awa@example.com"}}"#;
const VALID: &str = r#"{"data":{"valid":true,"customer_email":"awa@example.com"}}"#;

pub async fn rows() -> Vec<Row> {
    let service = servers::in_a_thread(|| {
        let json = |body: &'static str| post(async move || ([(CONTENT_TYPE, "application/json")], body));
        Router::new().route("/v1/sessions/create", json(CREATED)).route("/v1/sessions/validate", json(VALID))
    });
    let client = Client::builder(&service, SecretKey::new("sk_test_1").unwrap()).build().unwrap();
    let (postgres, redis) = (PostgresServer::start(&[]), RedisServer::start());
    let on_postgres = PostgresSessions::connect(&postgres.create_database(), &client).await.unwrap();
    let on_redis = RedisSessions::connect(&redis.url(), &client).await.unwrap();
    let on_postgres = compared("PostgreSQL", &client, on_postgres).await;
    on_postgres.into_iter().chain(compared("Redis", &client, on_redis).await).collect()
}

async fn compared(name: &str, client: &Client, store: impl SessionStore + Clone) -> [Row; 2] {
    let email = Email::new("awa@example.com").unwrap();
    let shared = Sessions::with_store(client.clone(), store.clone());
    let alone = Sessions::with_store(client.clone(), MemoryStore::default());
    let token = Pairs::timed(
        PAIRS,
        async |_| drop(shared.get_or_create("login", &email).await.unwrap()),
        async |_| drop(alone.get_or_create("login", &email).await.unwrap()),
    )
    .await;

    let shared = guarded(SessionGuard::with_store(client.clone(), store)).await;
    let alone = guarded(SessionGuard::new(client.clone())).await;
    let http = servers::reqwest();
    let request = async |url: &str| {
        let reply = http.get(url).header(AUTHORIZATION, format!("Bearer {TOKEN}")).send().await.unwrap();
        reply.error_for_status().unwrap().bytes().await.unwrap();
    };
    let guard = Pairs::timed(PAIRS, async |_| request(&shared).await, async |_| request(&alone).await).await;
    [
        Row::informs(&format!("session of a login: {name}, over in memory"), &token, microseconds),
        Row::informs(&format!("guarded request: {name}, over no store"), &guard, microseconds),
    ]
}

/// The address of a route behind this guard.
async fn guarded(guard: SessionGuard) -> String {
    let router = Router::new().route("/me", get(async || "me")).layer(guard);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/me", listener.local_addr().unwrap());
    tokio::spawn(async { axum::serve(listener, router).await });
    url
}
