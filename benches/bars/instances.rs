//! Durable intent creations per second on PostgreSQL: one instance compared with the floor (`postgres_floor.rs`) on the same server, and
//! two instances on one database compared with one.

use crate::creates::{ROUNDS, Server};
use crate::measure::{Pairs, Row, per_second};
use crate::postgres::PostgresServer;
use crate::postgres_floor as floor;
use crate::servers::{Running, folder};

const CONNECTIONS: usize = 64;
/// The most transactions that are rolled back, of a hundred.
const MOST_REPEATED: f64 = 1.0;

pub async fn rows() -> Vec<Row> {
    let folder = folder("instances");
    // Durable, as it is by default.
    let database = PostgresServer::start(&[]);
    let floors = database.create_database();
    let template = floor::learn(&floors).await;
    let bare = Server::of(floor::start(&folder, &floors, &template));
    let alone = Server::of(Running::sandbox_on_postgres(&database.create_database()));
    let shared = database.create_database();
    let one = Server::of(Running::sandbox_on_postgres(&shared));
    let other = Server::on(Running::sandbox_on_postgres(&shared), &one);

    let (mut over_the_floor, mut over_one) = (Pairs::default(), Pairs::default());
    let before = Transactions::of(&database, &shared);
    for round in 0..=ROUNDS {
        let single = alone.rate(CONNECTIONS).await;
        let bares = bare.rate(CONNECTIONS).await;
        let (half, other_half) = tokio::join!(one.rate(CONNECTIONS / 2), other.rate(CONNECTIONS / 2));
        // The first round is a warm-up.
        if round > 0 {
            over_the_floor.ours.push(single);
            over_the_floor.other.push(bares);
            over_one.ours.push(half + other_half);
            over_one.other.push(single);
        }
    }
    let after = Transactions::of(&database, &shared);
    let what = "sandbox on PostgreSQL: durable creations at 64 connections, over the floor";
    let repeated = Row::percentage(
        "sandbox on PostgreSQL: transactions of two instances that were rolled back",
        MOST_REPEATED,
        100.0 * (after.rolled_back - before.rolled_back) / (after.committed - before.committed),
    );
    vec![
        Row::at_least(what, 0.6, &over_the_floor, per_second),
        Row::at_least("sandbox on PostgreSQL: two instances over one", 0.85, &over_one, per_second),
        repeated,
    ]
}

/// The transactions of a database since its creation.
struct Transactions {
    committed: f64,
    rolled_back: f64,
}

impl Transactions {
    fn of(server: &PostgresServer, url: &str) -> Self {
        // A connection publishes its figures at most once a second.
        std::thread::sleep(std::time::Duration::from_secs(2));
        let name = url.rsplit('/').next().unwrap();
        let text = format!("SELECT xact_commit, xact_rollback FROM pg_stat_database WHERE datname = '{name}'");
        let row = server.psql("postgres", &text);
        let (committed, rolled_back) = row.split_once('|').unwrap();
        Self { committed: committed.parse().unwrap(), rolled_back: rolled_back.parse().unwrap() }
    }
}
