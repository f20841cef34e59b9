//! Three servers of the shop in `examples/shop` on one PostgreSQL database and one sandbox. They are killed one at a
//! time while customers buy. In the end, every paid order was marked paid once, and every late approval that is owed
//! back is stored once.
#![cfg(unix)]

use crate::support::api::{Merchant, Reply, client, phone, try_send};
use crate::support::diagnostics::SeededRandom;
use crate::support::folder::Folder;
use crate::support::postgres::PostgresServer;
use crate::support::shop_process::{ShopProcess, shop_command};
use crate::support::soak::{Progress, amount};
use crate::support::wait::TIMEOUT;
use guichet::operations::{ListPaymentIntents, PaymentIntent, ReadPaymentIntent};
use guichet::values::IntentStatus;
use guichet::{Client, SecretKey};
use guichet_sandbox::{Fault, Sandbox};
use serde_json::{Value, json};
use std::fs::File;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

const SHOPS: usize = 3;
/// How long a read of a payment takes, so that a killed server has usually claimed one.
const READ: Duration = Duration::from_millis(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_shops_killed_one_at_a_time_mark_each_order_once_and_lose_no_late_approval() {
    let rounds = amount(6, 90);
    let world = Arc::new(World::start().await);
    let random = SeededRandom::new();
    let mut progress = Progress::new("kills of one of three shops", rounds);
    for round in 0..rounds {
        // The late approvals of the round before arrive.
        world.pass(610).await;
        world.merchant.tenant.fault(Fault::delay::<ReadPaymentIntent>(READ).times(1_000)).await;
        let mut customers = JoinSet::new();
        for (number, journey) in JOURNEYS.into_iter().enumerate() {
            if matches!(journey, Journey::LeavesUnpaid) && round >= MAX_UNPAID {
                continue;
            }
            let customer = Customer { cookie: String::new(), shop: round + number };
            // Different baskets, because equal ones of a customer are one order until it is paid.
            let (name, sku) = (["awa", "paul", "fatou"][number / 3], SHOES[number % 3]);
            let basket = json!({"lines": [{"sku": sku, "quantity": round + 1}]});
            let world = Arc::clone(&world);
            customers.spawn(async move { customer.buys(&world, name, basket, journey).await });
        }
        tokio::time::sleep(Duration::from_millis(random.number(round as u64) % 900)).await;
        world.kill_and_restart(round % SHOPS).await;
        customers.join_all().await;
        world.merchant.tenant.clear_faults().await;
        progress.at(round + 1, &world.psql("SELECT count(*) || ' orders paid' FROM orders WHERE status = 'paid'"));
    }
    world.settle_to_the_end().await;
    world.every_payment_is_accounted_for(rounds).await;
}

/// The actions of a customer.
#[derive(Clone, Copy, Debug)]
enum Journey {
    PaysAndReturns,
    PaysAndLeaves,
    /// The attempt is declined. The operator approves it after the customer has left.
    ApprovedLate,
    /// The customer pays again after a decline, and the operator approves the first attempt too.
    PaysTwice,
    /// The customer cancels after a decline and pays under the next reference. The operator approves the first attempt
    /// too.
    CanceledThenApproved,
    DeclinedThenPays,
    LeavesUnpaid,
}

const JOURNEYS: [Journey; 7] = [
    Journey::PaysAndReturns,
    Journey::PaysAndLeaves,
    Journey::ApprovedLate,
    Journey::PaysTwice,
    Journey::CanceledThenApproved,
    Journey::DeclinedThenPays,
    Journey::LeavesUnpaid,
];
/// Of each round: all but the last one.
const PAID: usize = 6;
/// The shop lets a customer have twenty unpaid payments.
const MAX_UNPAID: usize = 19;
const SHOES: [&str; 3] = ["trainers", "runners", "sandals"];
/// Of each round: `PaysTwice` and `CanceledThenApproved`.
const REFUNDS_DUE: usize = 2;

const PAYS: &str = "237670000000";
const FRAUD_BLOCKED: &str = "237670000009";
/// Declined at once, and approved 600 seconds later.
const APPROVED_LATE: &str = "237670000012";

struct World {
    _sandbox: Sandbox,
    merchant: Merchant,
    http: reqwest::Client,
    database: String,
    /// The program's log is printed if the test fails.
    folder: Folder,
    shops: [Mutex<ShopProcess>; SHOPS],
    /// How many seconds have passed at the service, beside the time that does.
    passed: AtomicU32,
}

impl World {
    /// Starts everything. The three shops start at once on an empty database.
    async fn start() -> Self {
        let sandbox = Sandbox::start().await.unwrap();
        let merchant = Merchant::of(&sandbox, "Sandbox shop").await;
        let (database, folder) = (PostgresServer::shared().create_database(), Folder::new("three-shops"));
        let shops: [_; SHOPS] = std::array::from_fn(|_| spawn(&merchant, &database, &folder));
        let shops = shops.map(|shop| Mutex::new(shop.listening()));
        let world =
            Self { _sandbox: sandbox, merchant, http: client(), database, folder, shops, passed: AtomicU32::new(0) };
        world.psql(MARKED);
        world
    }

    fn url(&self, shop: usize) -> String {
        self.shops[shop % SHOPS].lock().unwrap().url().to_owned()
    }

    async fn kill_and_restart(&self, shop: usize) {
        {
            let mut shop = self.shops[shop].lock().unwrap();
            shop.child.kill().unwrap();
            shop.child.wait().unwrap();
        }
        // The customers find two shops.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let restarted = spawn(&self.merchant, &self.database, &self.folder);
        *self.shops[shop].lock().unwrap() = restarted.listening();
    }

    /// Lets time pass at the service, whose clock a ledger follows with a test key.
    async fn pass(&self, seconds: u32) {
        self.merchant.tenant.clock().advance(seconds).await.unwrap();
        self.passed.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Executes SQL, and returns the rows.
    fn psql(&self, sql: &str) -> String {
        let name = self.database.rsplit('/').next().unwrap();
        PostgresServer::shared().psql(name, sql)
    }

    fn lines(&self, sql: &str) -> Vec<String> {
        sorted(self.psql(sql).lines().map(str::to_owned))
    }

    /// Waits until the shops have read everything that is due, for days, until they read nothing any more.
    async fn settle_to_the_end(&self) {
        let begun = Instant::now();
        loop {
            let now = format!("extract(epoch FROM clock_timestamp()) + {}", self.passed.load(Ordering::Relaxed));
            // One of which nothing is read any more, such as a creation that a kill prevented, is looked at again after
            // 30 days.
            let open = self.psql(&format!("SELECT * FROM guichet_payments WHERE due_at < {now} + 25 * 86400"));
            if open.is_empty() {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "the shops read without end:\n{open}");
            if self.psql(&format!("SELECT count(*) FROM guichet_payments WHERE due_at <= {now}")) == "0" {
                self.pass(13 * 60 * 60).await;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn every_payment_is_accounted_for(&self, rounds: usize) {
        let intents = self.intents().await;
        let of_status = |status: IntentStatus| intents.iter().filter(move |intent| intent.status == status);
        let paid = sorted(of_status(IntentStatus::Succeeded).map(|intent| intent.id.to_string()));
        let refunds_due = sorted(intents.iter().flat_map(|intent| {
            intent.duplicate_payments.iter().map(|duplicate| format!("{}|{}", intent.id, duplicate.attempt))
        }));
        assert_eq!(paid.len(), rounds * PAID, "{intents:#?}");
        assert_eq!(refunds_due.len(), rounds * REFUNDS_DUE, "{intents:#?}");
        let events = self.merchant.tenant.events().await.unwrap();
        let count = |kind: &str| events.iter().filter(|event| event.kind == kind).count();
        assert_eq!(count("payment_intent.succeeded"), paid.len());
        assert_eq!(count("payment_intent.duplicate_payment"), refunds_due.len());

        assert_eq!(
            self.lines("SELECT payment FROM guichet_names WHERE payment LIKE 'pi|_%' ESCAPE '|'"),
            sorted(intents.iter().map(|intent| intent.id.to_string())),
            "the shops know each payment"
        );
        let paid_by = "SELECT body::json->>'paid_by' FROM guichet_orders WHERE body::json->>'paid_by' IS NOT NULL";
        assert_eq!(self.lines(paid_by), paid);
        let ids = self.lines("SELECT id FROM orders WHERE status = 'paid'");
        assert_eq!((&self.lines("SELECT id FROM marked"), ids.len()), (&ids, paid.len()), "each was marked paid once");
        let refunds = "SELECT one->>'id', one->>'attempt' FROM orders, json_array_elements(refunds_due::json) AS one";
        assert_eq!(self.lines(refunds), refunds_due, "each refund is stored once");
        assert_eq!(self.psql("SELECT count(*) FROM guichet_events"), "0", "the shops have received every event");
    }

    async fn intents(&self) -> Vec<PaymentIntent> {
        let client = Client::builder(&self.merchant.base_url, SecretKey::new(self.merchant.key()).unwrap());
        let client = client.build().unwrap();
        let mut all = client.all(&ListPaymentIntents::new());
        let mut intents = Vec::new();
        while let Some(intent) = all.next().await {
            intents.push(intent.unwrap());
        }
        intents
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("\nthe shops' log:\n{}", std::fs::read_to_string(self.folder.log()).unwrap_or_default());
        }
    }
}

/// A table of every statement that has marked an order paid.
const MARKED: &str = "
    CREATE TABLE marked (id TEXT NOT NULL);
    CREATE FUNCTION mark() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN INSERT INTO marked VALUES (NEW.id); RETURN NEW; END';
    CREATE TRIGGER mark AFTER UPDATE OF status ON orders FOR EACH ROW
        WHEN (OLD.status <> 'paid' AND NEW.status = 'paid') EXECUTE FUNCTION mark();
";

/// A customer, whose next request goes to this shop.
struct Customer {
    cookie: String,
    shop: usize,
}

impl Customer {
    async fn buys(mut self, world: &World, name: &str, basket: Value, journey: Journey) {
        let signed_in = self.ask(world, "POST", "/api/sign-in", json!({ "customer": name })).await;
        let cookie = signed_in.header("set-cookie").expect("a cookie");
        cookie.split(';').next().expect("its name and value").clone_into(&mut self.cookie);
        let placed = self.ask(world, "POST", "/api/orders", basket).await.body;
        let order = json!({ "id": placed["id"] });
        let intent = self.begin(world, &order).await;
        match journey {
            Journey::PaysAndReturns => {
                attach(world, &intent, PAYS).await;
                let path = format!("/guichet/intents/{}", intent["payment_ref"].as_str().unwrap());
                let back = self.ask(world, "GET", &path, Value::Null).await;
                assert_eq!(back.body["status"], "succeeded", "{}", back.text);
            }
            Journey::PaysAndLeaves => attach(world, &intent, PAYS).await,
            Journey::ApprovedLate => attach(world, &intent, APPROVED_LATE).await,
            Journey::PaysTwice => {
                attach(world, &intent, APPROVED_LATE).await;
                attach(world, &intent, PAYS).await;
            }
            Journey::CanceledThenApproved => {
                attach(world, &intent, APPROVED_LATE).await;
                assert_eq!(world.merchant.call("POST", &path(&intent, "cancel"), Value::Null).await.status, 200);
                attach(world, &self.begin_next(world, &order, &intent).await, PAYS).await;
            }
            Journey::DeclinedThenPays => {
                attach(world, &intent, FRAUD_BLOCKED).await;
                attach(world, &self.begin_next(world, &order, &intent).await, PAYS).await;
            }
            Journey::LeavesUnpaid => {}
        }
    }

    /// Begins the payment of an order in two tabs at once, at two shops.
    async fn begin(&self, world: &World, order: &Value) -> Value {
        let mut tabs = [0, 1].map(|tab| Self { cookie: self.cookie.clone(), shop: self.shop + tab });
        let [first, second] = &mut tabs;
        let (first, second) = tokio::join!(
            first.ask(world, "POST", "/guichet/intents", order.clone()),
            second.ask(world, "POST", "/guichet/intents", order.clone())
        );
        assert_eq!(first.body["intent"]["id"], second.body["intent"]["id"], "{}\n{}", first.text, second.text);
        first.body["intent"].clone()
    }

    /// Begins the next payment of an order whose payment ended unpaid. The shop says so first.
    async fn begin_next(&mut self, world: &World, order: &Value, last: &Value) -> Value {
        let start = Instant::now();
        loop {
            let begun = self.ask(world, "POST", "/guichet/intents", order.clone()).await;
            let intent = &begun.body["intent"];
            if intent["id"] != last["id"] {
                let next = format!("{}-1", last["merchant_reference"].as_str().unwrap());
                assert_eq!(intent["merchant_reference"], next, "{}", begun.text);
                return intent.clone();
            }
            assert!(start.elapsed() < TIMEOUT, "the shops begin no other payment: {}", begun.text);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends a request to the shops in turn, until one answers.
    async fn ask(&mut self, world: &World, method: &str, path: &str, fields: Value) -> Reply {
        let begun = Instant::now();
        loop {
            let url = format!("{}{path}", world.url(self.shop));
            self.shop += 1;
            let body = (!fields.is_null()).then(|| fields.to_string().into());
            match try_send(&world.http, method, &url, None, body, &[("cookie", &self.cookie)]).await {
                Ok(reply) if reply.status < 300 => return reply,
                Ok(reply) => assert!(reply.status >= 500, "{method} {path}: {}", reply.text),
                Err(_) => {} // This shop was killed.
            }
            assert!(begun.elapsed() < TIMEOUT, "no shop answers {method} {path}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Pays on the hosted page.
async fn attach(world: &World, intent: &Value, number: &str) {
    let reply = world.merchant.call("POST", &path(intent, "payment-method"), phone(number)).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
}

fn path(intent: &Value, action: &str) -> String {
    format!("/v1/payment-intents/{}/{action}", intent["id"].as_str().unwrap())
}

fn sorted(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<String> = texts.collect();
    texts.sort_unstable();
    texts
}

/// Starts a shop. It waits for no other.
fn spawn(merchant: &Merchant, database: &str, folder: &Folder) -> ShopProcess {
    let log = File::options().create(true).append(true).open(folder.log()).unwrap();
    let mut command = shop_command(&merchant.base_url, &merchant.key(), database);
    command.args(["--public-url", "http://127.0.0.1:3000", "--settle-every", "1"]).stderr(log);
    ShopProcess::spawn(command)
}
