//! Intent creations per second, compared with the floor (`floor.rs`), and in memory with a map (`map.rs`).

use crate::load::{Make, rate};
use crate::measure::{Pairs, Row, per_second};
use crate::rows::{Template, create};
use crate::servers::{Running, folder};
use crate::{floor, map};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(3);

pub async fn rows() -> Vec<Row> {
    let folder = folder("creates");
    let template = Template::learn(&folder.join("learned.sqlite")).await;
    let sandbox = Server::of(Running::sandbox(&folder.join("sandbox.sqlite")));
    let floor = Server::of(floor::start(&folder, &template));

    let mut rows = Vec::new();
    for connections in [16, 64] {
        let mut over_the_floor = Pairs::default();
        for round in 0..=ROUNDS {
            let ours = sandbox.rate(connections).await;
            let bare = floor.rate(connections).await;
            // The first round is a warm-up.
            if round > 0 {
                over_the_floor.ours.push(ours);
                over_the_floor.other.push(bare);
            }
        }
        let what = format!("sandbox: durable creations at {connections} connections, over the floor");
        rows.push(Row::at_least(&what, 0.8, &over_the_floor, per_second));
    }
    let in_memory = Server::of(Running::sandbox_in_memory());
    let map = Server::of(map::start());
    let mut over_the_map = Pairs::default();
    for round in 0..=ROUNDS {
        let (ours, bare) = (in_memory.rate(16).await, map.rate(16).await);
        if round > 0 {
            over_the_map.ours.push(ours);
            over_the_map.other.push(bare);
        }
    }
    let what = "sandbox: creations in memory at 16 connections, over a bare handler with a map";
    rows.push(Row::at_least(what, 0.5, &over_the_map, per_second));
    rows
}

/// A server, and the request that creates a payment there.
struct Server {
    server: Running,
    numbers: Arc<AtomicU64>,
    make: Make,
}

impl Server {
    fn of(server: Running) -> Self {
        let (base_url, key) = (server.base_url.clone(), server.secret_key.clone());
        Self {
            server,
            numbers: Arc::new(AtomicU64::new(2)),
            make: Arc::new(move |number| create(&base_url, &key, number)),
        }
    }

    async fn rate(&self, connections: usize) -> f64 {
        rate(&self.server.base_url, connections, ROUND, &self.numbers, &self.make).await
    }
}
