//! The time from the start of the sandbox process to its first response.

use crate::load::Connection;
use crate::measure::Row;
use crate::servers::{Running, folder};
use axum::body::Body;
use axum::http::Request;
use axum::http::header::{AUTHORIZATION, HOST};
use std::path::Path;
use std::time::{Duration, Instant};

const TIMES: usize = 20;
const LIMIT: Duration = Duration::from_millis(50);

pub async fn rows() -> Vec<Row> {
    let folder = folder("start");
    let (mut new, mut old) = (Vec::new(), Vec::new());
    for time in 0..TIMES {
        new.push(start(&folder.join(format!("{time}.sqlite"))).await);
        old.push(start(&folder.join("0.sqlite")).await);
    }
    vec![
        Row::within("sandbox: start to first response, a new database", LIMIT, &new),
        Row::within("sandbox: start to first response, an existing database", LIMIT, &old),
    ]
}

async fn start(database: &Path) -> f64 {
    let begun = Instant::now();
    let sandbox = Running::sandbox(database);
    let mut connection = Connection::open(&sandbox.base_url).await;
    let request = Request::get("/v1/payment-methods")
        .header(HOST, "127.0.0.1")
        .header(AUTHORIZATION, format!("Bearer {}", sandbox.secret_key))
        .body(Body::empty());
    let (status, _) = connection.send(request.unwrap()).await;
    let took = begun.elapsed().as_secs_f64();
    assert!(status.is_success(), "{status}");
    sandbox.stop();
    took
}
