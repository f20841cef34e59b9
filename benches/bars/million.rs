//! A sandbox with a million payments, compared with one with a thousand.

use crate::load::Connection;
use crate::measure::{Pairs, Row, microseconds};
use crate::rows::{Template, create};
use crate::servers::{Running, folder};
use axum::body::Body;
use axum::http::Request;
use axum::http::header::{AUTHORIZATION, HOST};
use std::fs;
use std::path::Path;

const PAIRS: usize = 2_000;

pub async fn rows() -> Vec<Row> {
    let folder = folder("million");
    let mut many = FilledSandbox::of(&folder.join("many.sqlite"), 1_000_000).await;
    let mut few = FilledSandbox::of(&folder.join("few.sqlite"), 1_000).await;
    // Both closures need mutable access, so they take turns.
    let retrieve =
        Pairs::timed(PAIRS, async |turn| many.retrieve(turn).await, async |turn| few.retrieve(turn).await).await;
    let create = Pairs::timed(PAIRS, async |turn| many.create(turn).await, async |turn| few.create(turn).await).await;
    drop((many, few));
    // The database is large.
    let _ = fs::remove_dir_all(folder);
    vec![
        Row::at_most("sandbox: retrieve at 1,000,000 intents, over 1,000", 1.2, &retrieve, microseconds),
        Row::at_most("sandbox: create at 1,000,000 intents, over 1,000", 1.2, &create, microseconds),
    ]
}

/// A sandbox with this many payments, and a connection to it.
struct FilledSandbox {
    sandbox: Running,
    connection: Connection,
    template: Template,
    count: u64,
}

impl FilledSandbox {
    /// Fills the database directly, with rows like the sandbox's own that differ only in their identifiers.
    async fn of(database: &Path, count: u64) -> Self {
        let template = Template::learn(database).await;
        template.fill(database, count - 2).await;
        let sandbox = Running::sandbox(database);
        let connection = Connection::open(&sandbox.base_url).await;
        Self { sandbox, connection, template, count }
    }

    /// Reads one of the payments.
    async fn retrieve(&mut self, turn: usize) {
        let number = 2 + (turn as u64).wrapping_mul(2_654_435_761) % (self.count - 2);
        let request = Request::get(format!("/v1/payment-intents/{}", self.template.id(number)))
            .header(HOST, "127.0.0.1")
            .header(AUTHORIZATION, format!("Bearer {}", self.sandbox.secret_key))
            .body(Body::empty());
        self.send(request.unwrap()).await;
    }

    /// Creates one more.
    async fn create(&mut self, turn: usize) {
        let request = create(&self.sandbox.base_url, &self.sandbox.secret_key, self.count + turn as u64);
        self.send(request).await;
    }

    async fn send(&mut self, request: Request<Body>) {
        let (status, body) = self.connection.send(request).await;
        assert!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&body));
    }
}
