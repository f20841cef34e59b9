//! `guichet shop` in two instances on one PostgreSQL, compared with one: clicks per second, each of another customer.

use crate::load::{Make, rate};
use crate::measure::{Pairs, Row, per_second};
use crate::postgres::PostgresServer;
use crate::servers::{self, Running, folder};
use axum::Router;
use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, Request};
use axum::routing::post;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(3);
const CONNECTIONS: usize = 16;
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
const SHOP: &str = "https://www.shop.example";

pub async fn rows() -> Vec<Row> {
    let (service, postgres) = (Running::sandbox_in_memory(), PostgresServer::start(&[]));
    let application = servers::in_a_thread(|| Router::new().route("/payments", post(answer)));
    let database = postgres.create_database();
    let folder = folder("shop");
    let settings = format!(
        "name = \"shoes\"\npublic_url = \"{SHOP}\"\nlisten = \"127.0.0.1:0\"\napp = \"{application}/payments\"\ndatabase = \"{database}\"\n"
    );
    fs::write(folder.join("shop.toml"), settings).unwrap();
    let shops = [instance(&folder, &service), instance(&folder, &service)];
    let numbers = Arc::new(AtomicU64::new(0));
    let mut two_over_one = Pairs::default();
    for round in 0..=ROUNDS {
        let clicks = async |shop: &Running, connections: usize| {
            rate(&shop.base_url, connections, ROUND, &numbers, &click(&shop.base_url)).await
        };
        let (one, other) = tokio::join!(clicks(&shops[0], CONNECTIONS / 2), clicks(&shops[1], CONNECTIONS / 2));
        let alone = clicks(&shops[0], CONNECTIONS).await;
        // The first round is a warm-up.
        if round > 0 {
            two_over_one.ours.push(one + other);
            two_over_one.other.push(alone);
        }
    }
    let what = "guichet shop: clicks at 16 connections, two instances on one PostgreSQL over one";
    vec![Row::at_least(what, 0.8, &two_over_one, per_second)]
}

fn instance(folder: &Path, service: &Running) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_guichet"));
    command.args(["shop", "--json"]).current_dir(folder).env("GUICHET_APP_SECRET", SECRET);
    command.env("GUICHET_SECRET_KEY", &service.secret_key).env("GUICHET_BASE_URL", &service.base_url);
    Running::of_shop(command)
}

/// The application: each click is another customer's order.
async fn answer(headers: HeaderMap, body: axum::body::Bytes) -> String {
    let message: Value = serde_json::from_slice(&body).unwrap();
    let purchase = json!({"amount": "45000", "currency": "XAF", "description": "Wouri trainers"});
    match message["type"].as_str() {
        Some("customer") => {
            let name = headers[COOKIE].to_str().unwrap();
            let answer = json!({"id": name, "email": "awa@example.com", "email_verified": true, "firstname": "Awa", "lastname": "Ngono"});
            answer.to_string()
        }
        Some("purchase") => {
            let name = format!("ORDER-{}", message["order"]["id"].as_str().unwrap());
            json!({"name": name, "purchase": purchase}).to_string()
        }
        _ => String::new(),
    }
}

fn click(shop: &str) -> Make {
    let host = shop.replace("http://", "");
    Arc::new(move |number| {
        let request = Request::post("/guichet/intents").header(HOST, &host).header(ORIGIN, SHOP);
        let request = request.header(CONTENT_TYPE, "application/json");
        let request = request.header(COOKIE, format!("login={number}"));
        request.body(Body::from(json!({"id": number.to_string()}).to_string())).unwrap()
    })
}
