//! The hosted page of a payment, written anew for each request.

use crate::load::Connection;
use crate::measure::Row;
use crate::rows::create;
use crate::servers::{Running, folder};
use axum::body::Body;
use axum::http::Request;
use axum::http::header::{COOKIE, HOST};
use serde_json::Value;
use std::time::{Duration, Instant};

const TIMES: usize = 500;
const LIMIT: Duration = Duration::from_millis(1);

pub async fn rows() -> Vec<Row> {
    let sandbox = Running::sandbox(&folder("page").join("page.sqlite"));
    let mut connection = Connection::open(&sandbox.base_url).await;
    let (_, reply) = connection.send(create(&sandbox.base_url, &sandbox.secret_key, 0)).await;
    let reply: Value = serde_json::from_slice(&reply).unwrap();
    let text = |name: &str| reply["data"][name].as_str().unwrap().to_owned();
    let (path, cookie) = (format!("/checkout/{}", text("id")), format!("guichet_checkout={}", text("client_secret")));
    let mut took = Vec::new();
    for _ in 0..TIMES {
        let request =
            Request::get(&path).header(HOST, "127.0.0.1").header(COOKIE, &cookie).body(Body::empty()).unwrap();
        let begun = Instant::now();
        let (status, page) = connection.send(request).await;
        took.push(begun.elapsed().as_secs_f64());
        assert!(status.is_success() && page.len() > 10_000, "{status}, {} bytes", page.len());
    }
    sandbox.stop();
    vec![Row::within("sandbox: the hosted page, written and sent", LIMIT, &took)]
}
