//! Two sandboxes on one PostgreSQL database. Customers pay and subscriptions are charged while `kill -9` ends one of the two, or the
//! database, again and again. In the end every acknowledged write is there, and each customer was charged once.
#![cfg(target_os = "linux")]

use crate::billing_killed::{all_charged_once, list};
use crate::support::api::{Reply, client, order, phone, try_send};
use crate::support::diagnostics::SeededRandom;
use crate::support::folder::Folder;
use crate::support::postgres::PostgresServer;
use crate::support::process::{self, SandboxProcess};
use crate::support::soak::{Progress, amount};
use crate::support::wait::{TIMEOUT, until};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::{JoinSet, block_in_place};
use tokio::time::{Instant, timeout};

const INTENTS: &str = "/v1/payment-intents";
const DAY: i64 = 86_400;
const CUSTOMERS: usize = 6;
/// The subscriptions at the beginning. Each round adds one.
const SUBSCRIPTIONS: usize = 12;
/// How long a customer waits for a response. The clients of this crate wait as long.
const DEADLINE: Duration = Duration::from_secs(30);
/// Each so many rounds, the database is killed instead of a sandbox.
const OF_DATABASE: usize = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_write_is_lost_and_no_customer_is_charged_twice_when_instances_and_the_database_are_killed() {
    let rounds = amount(6, 60);
    let mut server = PostgresServer::start(&[]);
    let world = Arc::new(World::start(&server.create_database()).await);
    let mut customers = JoinSet::new();
    for customer in 0..CUSTOMERS {
        let world = Arc::clone(&world);
        customers.spawn(async move { world.buy_until_the_end(customer).await });
    }
    let random = SeededRandom::new();
    let mut progress = Progress::new("kills under load", rounds);
    for round in 0..rounds {
        let billing = tokio::spawn({
            let world = Arc::clone(&world);
            async move { world.subscribe_and_move_the_clock(round).await }
        });
        tokio::time::sleep(Duration::from_millis(random.number(round as u64) % 700)).await;
        if round % OF_DATABASE == OF_DATABASE - 1 {
            block_in_place(|| server.kill());
            tokio::time::sleep(Duration::from_millis(200)).await;
            block_in_place(|| server.run());
        } else {
            world.kill_and_restart(round % 2).await;
        }
        billing.await.unwrap();
        world.customers_buy().await;
        progress.at(round + 1, &world.counts());
    }
    world.is_over.store(true, Ordering::Relaxed);
    customers.join_all().await;
    println!("{rounds} kills, {} of them of the database; {}", rounds / OF_DATABASE, world.counts());
    Arc::into_inner(world).expect("no customer is left").everything_is_there().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_an_instance_is_killed_while_it_bills_a_merchant_another_one_bills_it() {
    let server = PostgresServer::shared();
    let (database, folder) = (server.create_database(), Folder::new("billing-lock"));
    let name = database.rsplit('/').next().unwrap();
    let [mut one, other] = [start(&database, &folder), start(&database, &folder)];
    let plan = json!({ "name": "Gold", "code": "gold", "amount": 5000, "billing_cycle": "daily" });
    assert_eq!(one.call("POST", "/v1/subscriptions/plans", plan).await.status, 201);
    let mut fields =
        json!({ "plan": "gold", "customer_email": "awa@example.com", "firstname": "Awa", "lastname": "Ngo" });
    fields["payment_method"] = phone("237670000000")["payment_method"].clone();
    let created = one.call("POST", "/v1/subscriptions", fields).await.body["data"].clone();
    let created = (created["id"].as_str().unwrap().to_owned(), created["created_at"].as_i64().unwrap());

    // The other one is paused, so that this one takes the lock. What it bills cannot be written.
    signal("-STOP", &other);
    let mut unwritable = server.begin(name, "LOCK TABLE subscriptions IN SHARE MODE");
    let moved = tokio::spawn({
        let (url, token) = (format!("{}/sandbox/clock", one.base_url), one.control_token.clone());
        let fields = json!({ "advance_seconds": 3 * DAY }).to_string();
        async move { try_send(&client(), "POST", &url, Some(&token), Some(fields.into()), &[]).await }
    });
    let in_this_database = "database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let waiting =
        format!("SELECT count(*) FROM pg_locks WHERE locktype = 'relation' AND NOT granted AND {in_this_database}");
    until("the billing waits for the table", async || server.psql(name, &waiting) == "1").await;
    let held = format!("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND {in_this_database}");
    assert_eq!(server.psql(name, &held), "2", "the locks of the billing and of the commit are held");
    one.child.kill().unwrap();
    one.child.wait().unwrap();
    assert!(moved.await.unwrap().is_err(), "the move of the clock is not acknowledged");
    unwritable.kill().unwrap();
    unwritable.wait().unwrap();
    signal("-CONT", &other);

    let url = format!("{}/sandbox/clock", other.base_url);
    let now = try_send(&client(), "GET", &url, Some(&other.control_token), None, &[]).await.unwrap();
    let now = now.body["now"].as_i64().unwrap();
    assert!(now >= created.1 + 3 * DAY, "the clock was moved before the billing");
    let begun = Instant::now();
    let charges = all_charged_once(&other, &BTreeMap::from([created]), now, "after the kill").await;
    assert_eq!(charges, 4);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

fn signal(signal: &str, sandbox: &SandboxProcess) {
    let process = sandbox.child.id().to_string();
    assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
}

struct World {
    database: String,
    folder: Folder,
    http: reqwest::Client,
    instances: [Mutex<SandboxProcess>; 2],
    is_over: AtomicBool,
    /// The acknowledged intents by reference: their ids and their final statuses.
    orders: Mutex<BTreeMap<String, (String, String)>>,
    /// The acknowledged subscriptions, with the time of their creation.
    subscriptions: Mutex<BTreeMap<String, i64>>,
    /// The latest time that the clock has shown.
    clock: Mutex<i64>,
    no_response: AtomicUsize,
    timed_out: AtomicUsize,
    unavailable: AtomicUsize,
}

impl World {
    async fn start(database: &str) -> Self {
        let folder = Folder::new("instances-killed");
        let world = Self {
            instances: [0, 1].map(|_| Mutex::new(start(database, &folder))),
            database: database.to_owned(),
            folder,
            http: client(),
            is_over: AtomicBool::default(),
            orders: Mutex::default(),
            subscriptions: Mutex::default(),
            clock: Mutex::default(),
            no_response: AtomicUsize::default(),
            timed_out: AtomicUsize::default(),
            unavailable: AtomicUsize::default(),
        };
        let plan = json!({ "name": "Gold", "code": "gold", "amount": 5000, "billing_cycle": "daily" });
        assert_eq!(world.ask(0, "POST", "/v1/subscriptions/plans", &plan, &[]).await.status, 201);
        for number in 0..SUBSCRIPTIONS {
            world.subscribe(&format!("first-{number}"), number).await;
        }
        world
    }

    async fn kill_and_restart(&self, instance: usize) {
        {
            let mut sandbox = self.instances[instance].lock().unwrap();
            sandbox.child.kill().unwrap();
            sandbox.child.wait().unwrap();
        }
        // The customers find one sandbox.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let restarted = block_in_place(|| start(&self.database, &self.folder));
        *self.instances[instance].lock().unwrap() = restarted;
    }

    /// Sends a request to the sandboxes in turn, from this one on, until one answers it. Repeats it as it was: it may have been executed.
    async fn ask(&self, first: usize, method: &str, path: &str, fields: &Value, headers: &[(&str, &str)]) -> Reply {
        let begun = Instant::now();
        for instance in first.. {
            let (url, bearer) = self.address(instance % 2, path);
            let body = (!fields.is_null()).then(|| fields.to_string().into());
            match timeout(DEADLINE, try_send(&self.http, method, &url, Some(&bearer), body, headers)).await {
                Ok(Ok(reply)) if reply.status < 500 => return reply,
                Ok(Ok(reply)) => {
                    assert_eq!(reply.status, 503, "{method} {path}: {}", reply.text);
                    assert_eq!(reply.body["error"]["retryable"], true, "{method} {path}: {}", reply.text);
                    self.unavailable.fetch_add(1, Ordering::Relaxed);
                }
                // This sandbox was killed.
                Ok(Err(_)) => drop(self.no_response.fetch_add(1, Ordering::Relaxed)),
                Err(_) => {
                    let activity = block_in_place(|| PostgresServer::activity(&self.database));
                    eprintln!(
                        "no response within {DEADLINE:?}: {method} {url}. The database's connections:\n{activity}"
                    );
                    self.timed_out.fetch_add(1, Ordering::Relaxed);
                }
            }
            assert!(begun.elapsed() < TIMEOUT, "no sandbox answers {method} {path}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        unreachable!()
    }

    /// The address of a path at an instance, and its token.
    fn address(&self, instance: usize, path: &str) -> (String, String) {
        let sandbox = self.instances[instance].lock().unwrap();
        let bearer = if path.starts_with("/sandbox/") { &sandbox.control_token } else { &sandbox.key };
        (format!("{}{path}", sandbox.base_url), bearer.clone())
    }

    async fn buy_until_the_end(&self, customer: usize) {
        for number in 0.. {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            self.buy(format!("ORDER-{customer}-{number}")).await;
        }
    }

    /// Creates an intent and pays it, each in two tabs at once at the two sandboxes.
    async fn buy(&self, reference: String) {
        let (fields, method) = (order(&reference), phone("237670000000"));
        let in_two_tabs = async |path: &str, fields: &Value| {
            tokio::join!(self.ask(0, "POST", path, fields, &[]), self.ask(1, "POST", path, fields, &[]))
        };
        let (one, other) = in_two_tabs(INTENTS, &fields).await;
        for created in [&one, &other] {
            assert!(matches!(created.status, 200 | 201), "{}", created.text);
        }
        let id = one.body["data"]["id"].as_str().unwrap();
        assert_eq!(other.body["data"]["id"], id, "{reference} is two intents");
        let (one, other) = in_two_tabs(&format!("{INTENTS}/{id}/payment-method"), &method).await;
        for paid in [&one, &other] {
            assert!(matches!(paid.status, 200 | 409), "{}", paid.text);
        }
        let read = self.ask(1, "GET", &format!("{INTENTS}/{id}"), &Value::Null, &[]).await;
        let status = read.body["data"]["status"].as_str().unwrap();
        // An intent is canceled if the clock has moved by a day before it is paid.
        let is_canceled = status == "canceled" && (one.status, other.status) == (409, 409);
        assert!(status == "succeeded" || is_canceled, "{}\n{}\n{}", one.text, other.text, read.text);
        self.orders.lock().unwrap().insert(reference, (id.to_owned(), status.to_owned()));
    }

    async fn subscribe_and_move_the_clock(&self, round: usize) {
        self.subscribe(&format!("round-{round}"), round).await;
        for _ in 0..2 {
            let fields = json!({ "advance_seconds": DAY });
            let shown = *self.clock.lock().unwrap();
            let (one, other) = tokio::join!(
                self.ask(0, "POST", "/sandbox/clock", &fields, &[]),
                self.ask(1, "POST", "/sandbox/clock", &fields, &[])
            );
            for moved in [one, other] {
                let now = moved.body["now"].as_i64().unwrap_or_else(|| panic!("{}", moved.text));
                assert!(now >= shown + DAY, "the clock showed {shown} before, and {now} after a day");
                let mut clock = self.clock.lock().unwrap();
                *clock = now.max(*clock);
            }
        }
    }

    /// Creates a daily subscription whose charges all succeed in the end: at once, after a retry, by card, after a while.
    async fn subscribe(&self, name: &str, number: usize) {
        let mut fields = json!({
            "plan": "gold", "customer_email": format!("{name}@example.com"), "firstname": "Awa", "lastname": "Ngo",
        });
        let phones = ["237670000000", "237670000007", "237671234567"];
        fields["payment_method"] = phone(phones[number % phones.len()])["payment_method"].clone();
        let created = self.ask(number, "POST", "/v1/subscriptions", &fields, &[("idempotency-key", name)]).await;
        assert!(matches!(created.status, 200 | 201), "{}", created.text);
        let created = &created.body["data"];
        let id = created["id"].as_str().unwrap().to_owned();
        self.subscriptions.lock().unwrap().insert(id, created["created_at"].as_i64().unwrap());
    }

    /// Waits until customers have bought again.
    async fn customers_buy(&self) {
        let (before, begun) = (self.orders.lock().unwrap().len(), Instant::now());
        while self.orders.lock().unwrap().len() < before + CUSTOMERS {
            assert!(begun.elapsed() < TIMEOUT, "no customer buys any more");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn counts(&self) -> String {
        let log = std::fs::read_to_string(self.folder.log()).unwrap_or_default();
        format!(
            "{} orders and {} subscriptions acknowledged, {} requests repeated without a response, {} after {DEADLINE:?} and {} after a \
             503, {} groups of writes executed again",
            self.orders.lock().unwrap().len(),
            self.subscriptions.lock().unwrap().len(),
            self.no_response.load(Ordering::Relaxed),
            self.timed_out.load(Ordering::Relaxed),
            self.unavailable.load(Ordering::Relaxed),
            log.matches("a group of writes is executed again").count(),
        )
    }

    async fn everything_is_there(self) {
        let shown = *self.clock.lock().unwrap();
        let now = self.ask(0, "GET", "/sandbox/clock", &Value::Null, &[]).await.body["now"].as_i64().unwrap();
        assert!(now >= shown, "a move of the clock was acknowledged");
        let [sandbox, _] = self.instances.map(|sandbox| sandbox.into_inner().unwrap());
        let mut orders: BTreeMap<String, Value> = BTreeMap::new();
        for intent in list(&sandbox, INTENTS).await {
            let reference = intent["merchant_reference"].as_str().unwrap();
            if reference.starts_with("ORDER-") {
                let another = orders.insert(reference.to_owned(), intent.clone());
                assert_eq!(another, None, "two intents have one reference");
            }
        }
        let of_intent = |intent: &Value| ["id", "status"].map(|name| intent[name].as_str().unwrap().to_owned()).into();
        let listed: BTreeMap<String, (String, String)> =
            orders.iter().map(|(reference, intent)| (reference.clone(), of_intent(intent))).collect();
        assert_eq!(listed, self.orders.into_inner().unwrap(), "each acknowledged intent is there, and no other");
        let mut paid = 0;
        for intent in orders.values() {
            let charges = usize::from(intent["status"] == "succeeded");
            paid += charges;
            assert_eq!(intent["attempts"], charges, "{intent}");
            assert_eq!(intent["duplicate_payments"], json!([]), "{intent}");
        }
        let subscriptions = self.subscriptions.into_inner().unwrap();
        let charges = all_charged_once(&sandbox, &subscriptions, now, "after all kills").await;
        println!(
            "found again: {} orders, {paid} of them paid, each charged once; {} subscriptions with {charges} charges, each day paid once",
            orders.len(),
            subscriptions.len()
        );
    }
}

/// Starts a sandbox with the keys of all.
fn start(database: &str, folder: &Folder) -> SandboxProcess {
    let mut command: Command = process::command_on(database);
    command.env("GUICHET_LOG", "warn").env("GUICHET_INSTANCE_KEY", "0123456789abcdef0123456789abcdef");
    command.env("GUICHET_SECRET_KEY", "sk_test_4eC39HqLyjWDarjtT1zdp7dc");
    command.env("GUICHET_CONTROL_TOKEN", "ctl_4eC39HqLyjWDarjtT1zdp7dc");
    SandboxProcess::run(command, folder.log())
}
