//! Durable intent creations per second, compared with the floor (`floor.rs`) and with other mock servers.

use crate::load::{Make, Until, rate};
use crate::measure::{Pairs, Row, per_second};
use crate::rows::{Template, create};
use crate::servers::{Running, folder};
use crate::{floor, map, peers};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

pub const ROUNDS: usize = 5;
const ROUND: Until = Until::Passed(Duration::from_secs(3));

pub async fn rows() -> Vec<Row> {
    let folder = folder("creates");
    let template = Template::learn(&folder.join("learned.sqlite")).await;
    let sandbox = Server::of(Running::sandbox(&folder.join("sandbox.sqlite")));
    let floor = Server::of(floor::start(&folder, &template));
    let prism = peers::prism().await.map(Server::of);

    let mut rows = Vec::new();
    let mut beside_prism = Pairs::default();
    for connections in [16, 64] {
        let mut over_the_floor = Pairs::default();
        for round in 0..=ROUNDS {
            let ours = sandbox.rate(connections).await;
            let bare = floor.rate(connections).await;
            let prisms = match &prism {
                Ok(prism) if connections == 16 => Some(prism.rate(connections).await),
                _ => None,
            };
            // The first round is a warm-up.
            if round > 0 {
                over_the_floor.ours.push(ours);
                over_the_floor.other.push(bare);
                if let Some(prisms) = prisms {
                    beside_prism.ours.push(ours);
                    beside_prism.other.push(prisms);
                }
            }
        }
        let what = format!("sandbox: durable creations at {connections} connections, over the floor");
        rows.push(Row::at_least(&what, 0.5, &over_the_floor, per_second));
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
    let what = "sandbox: durable creations at 16 connections, over Prism's static responses";
    rows.push(match prism {
        Ok(_) => Row::at_least(what, 1.0, &beside_prism, per_second),
        Err(why) => Row::skipped(what, &why),
    });
    let what = "sandbox: 500 durable creations at 16 connections, over localstripe's first 500";
    rows.push(match peers::localstripe().await {
        Ok(localstripe) => {
            let localstripe = Server { make: peers::localstripe_create(), ..Server::of(localstripe) };
            let mut pairs = Pairs::default();
            pairs.other.push(localstripe.first_500().await);
            pairs.ours.push(sandbox.first_500().await);
            Row::at_least(what, 30.0, &pairs, per_second)
        }
        Err(why) => Row::skipped(what, &why),
    });
    rows
}

/// A server, and the request that creates a payment there.
pub struct Server {
    server: Running,
    numbers: Arc<AtomicU64>,
    make: Make,
}

impl Server {
    pub fn of(server: Running) -> Self {
        let (base_url, key) = (server.base_url.clone(), server.secret_key.clone());
        Self {
            server,
            numbers: Arc::new(AtomicU64::new(2)),
            make: Arc::new(move |number| create(&base_url, &key, number)),
        }
    }

    pub async fn rate(&self, connections: usize) -> f64 {
        rate(&self.server.base_url, connections, ROUND, &self.numbers, &self.make).await
    }

    async fn first_500(&self) -> f64 {
        rate(&self.server.base_url, 16, Until::Answered(500), &self.numbers, &self.make).await
    }
}
