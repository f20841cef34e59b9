//! A payment that is opened and settled in a ledger of a million payments, compared with one of a thousand.

use crate::measure::{Pairs, Row, microseconds};
use crate::postgres::PostgresServer;
use crate::servers::folder;
use guichet::native::{Owner, Reason, Refused};
use guichet::shop::ledger::contract::click;
use guichet::shop::ledger::{
    Alarm, Asked, Changed, Clock, Due, Got, Ledger, OrderState, Outcome, Payment, Receiver, Requests, Seen, Service,
    Time,
};
use guichet_orders::{AnyOrders, PostgresOrders, SqliteOrders};
use serde_json::json;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{PgPool, SqlitePool, query};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

const PAIRS: usize = 1_000;

/// Copies of the order `ORDER-1`, which is paid: each of another customer, and a twentieth of them to be read in a day.
const FILL: [&str; 3] = [
    "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
     INSERT INTO guichet_orders SELECT 'ORDER-' || i, version, replace(replace(body, 'ORDER-1\"', 'ORDER-' || i || '\"'), 'awa', 'c' || i)
     FROM n, guichet_orders WHERE name = 'ORDER-1'",
    "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
     INSERT INTO guichet_payments (reference, name, owner, created_at, due_at)
     SELECT 'ORDER-' || i, 'ORDER-' || i, 'customer:c' || i, created_at - i, CASE WHEN i % 20 = 0 THEN created_at + 86400 + i % 3600 END
     FROM n, guichet_payments WHERE reference = 'ORDER-1'",
    "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
     INSERT INTO guichet_names SELECT replace(replace(payment, 'ORDER-1', 'ORDER-' || i), 'pi_1', 'pi_' || i), 'ORDER-' || i
     FROM n, guichet_names WHERE name = 'ORDER-1'",
];

pub async fn rows() -> Vec<Row> {
    let folder = folder("ledger");
    let [mut many, mut few] = [Vec::new(), Vec::new()];
    let server = PostgresServer::start(&[]);
    for (count, books) in [(1_000_000, &mut many), (1_000, &mut few)] {
        let file = SqliteConnectOptions::new().filename(folder.join(format!("{count}.sqlite"))).create_if_missing(true);
        let sqlite = SqlitePool::connect_with(file.journal_mode(SqliteJournalMode::Wal)).await.unwrap();
        let orders = AnyOrders::Sqlite(SqliteOrders::open(sqlite.clone(), "guichet_").await.unwrap());
        let book = Book::new(orders).await;
        for fill in FILL {
            query(fill).bind(count).execute(&sqlite).await.unwrap();
        }
        books.push(book);
        let postgres = PgPool::connect(&server.create_database()).await.unwrap();
        let orders = AnyOrders::Postgres(PostgresOrders::open(postgres.clone(), "guichet_").await.unwrap());
        let book = Book::new(orders).await;
        for fill in FILL {
            query(fill).bind(count).execute(&postgres).await.unwrap();
        }
        query("VACUUM ANALYZE").execute(&postgres).await.unwrap();
        books.push(book);
    }
    let mut rows = Vec::new();
    for ((name, many), few) in ["SQLite", "PostgreSQL"].into_iter().zip(&many).zip(&few) {
        let pairs = Pairs::timed(PAIRS, async |turn| many.sell(turn).await, async |turn| few.sell(turn).await).await;
        let what = format!("ledger: open and settle a payment at 1,000,000, over 1,000, {name}");
        rows.push(Row::at_most(&what, 1.3, &pairs, microseconds));
    }
    // The database is large.
    let _ = fs::remove_dir_all(folder);
    rows
}

/// A ledger, at a service that answers at once.
struct Book {
    orders: AnyOrders,
    clock: Clock,
    service: Service,
    is_paid: AtomicBool,
}

impl Book {
    async fn new(orders: AnyOrders) -> Self {
        let book =
            Self { orders, clock: Clock::new(false), service: Service::default(), is_paid: AtomicBool::new(false) };
        book.sell_order("ORDER-1", "awa").await;
        book
    }

    async fn sell(&self, turn: usize) {
        self.sell_order(&format!("SOLD-{turn}"), &format!("customer-{turn}")).await;
    }

    /// A click, the round that reads what is due, and the reading that finds the payment paid.
    async fn sell_order(&self, name: &str, customer: &str) {
        let (owner, paid) = (Owner::Customer(customer.to_owned()), Paid(AtomicBool::new(false)));
        let Self { orders, clock, service, .. } = self;
        let ledger = Ledger { store: orders, requests: self, receiver: &paid, service, clock };
        self.is_paid.store(false, Ordering::Relaxed);
        ledger.handle(name, &owner, click(&owner)).await.unwrap();
        self.is_paid.store(true, Ordering::Relaxed);
        let (round, _) = ledger.begin_round().await.unwrap();
        let due =
            Due { reference: name.to_owned(), owner: owner.to_string(), created_at: 0, returned_at: None, since: 0 };
        ledger.read_due(&due, round.until + 60).await.unwrap();
        assert!(paid.0.load(Ordering::Relaxed), "{name} is not paid");
    }

    fn payment(&self, reference: &str) -> Outcome {
        let status = if self.is_paid.load(Ordering::Relaxed) { "succeeded" } else { "requires_action" };
        let id = reference.replace("ORDER-", "pi_");
        let seen = json!({"id": id, "payment_ref": format!("gch_{id}"), "amount": "45000", "currency": "XAF", "status": status});
        let got = Got::Payment(Box::new(serde_json::from_value::<Seen>(seen).unwrap()));
        let unread = Refused::new(503, Reason { code: "unavailable", message: "No page asks." });
        Outcome { earlier: Vec::new(), got, retry_after: None, reading: Err(unread) }
    }
}

impl Requests for Book {
    async fn create(&self, payment: &Payment, _: bool) -> Outcome {
        self.payment(&payment.reference)
    }
    async fn ask(&self, payment: &Payment, _: &Asked) -> Outcome {
        self.payment(&payment.reference)
    }
    async fn date(&self) -> Option<Time> {
        None
    }
}

/// A shop, which notes that its order is paid.
struct Paid(AtomicBool);

impl Receiver for Paid {
    async fn order_changed(&self, changed: &Changed) -> Result<(), Refused> {
        self.0.fetch_or(changed.state == OrderState::Paid, Ordering::Relaxed);
        Ok(())
    }
    fn alarm(&self, alarm: &Alarm) {
        panic!("{alarm:?}");
    }
}
