//! Rounds of `kill -9`, a long load, and memory over many calls, in two lengths: see `tests/support/soak.rs`.
#![cfg(target_os = "linux")]

use crate::shop_process::Shop;
use crate::support::api::{client, order, phone, send, try_send};
use crate::support::diagnostics::SeededRandom;
use crate::support::folder::Folder;
use crate::support::process::SandboxProcess;
use crate::support::soak::{Progress, amount, resident_kib};
use crate::support::wait::until;
use guichet::{Client, SecretKey};
use reqwest::Client as Http;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::JoinSet;

const INTENTS: &str = "/v1/payment-intents";
const CLIENTS: usize = 8;
/// The growth in KiB that is allowed for caches and the allocator's reserve.
const RESERVE: usize = 24 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_intent_is_lost_in_rounds_of_kill_9() {
    let rounds = amount(4, 200);
    let (folder, random) = (Folder::new("soak-kill"), SeededRandom::new());
    let http = client();
    let mut acknowledged: Vec<(String, String)> = Vec::new();
    let mut progress = Progress::new("rounds of kill -9", rounds);
    for round in 0..rounds {
        let mut sandbox = SandboxProcess::start(&folder, None);
        let first = Arc::new(Notify::new());
        let mut writers = JoinSet::new();
        for writer in 0..CLIENTS {
            let (http, url, key) = (http.clone(), format!("{}{INTENTS}", sandbox.base_url), sandbox.key.clone());
            writers.spawn(write(http, url, key, format!("R{round}-W{writer}"), Arc::clone(&first)));
        }
        tokio::time::timeout(Duration::from_secs(60), first.notified()).await.expect("one intent is acknowledged");
        let moment = Duration::from_millis(random.number(round as u64) % 450);
        tokio::time::sleep(moment).await; // The process is killed during a request.
        sandbox.child.kill().unwrap();
        sandbox.child.wait().unwrap();
        acknowledged.extend(writers.join_all().await.into_iter().flatten());
        progress.at(round + 1, &format!("{} intents acknowledged", acknowledged.len()));
    }
    let sandbox = SandboxProcess::start(&folder, None);
    for (reference, id) in &acknowledged {
        let url = format!("{}{INTENTS}/{id}", sandbox.base_url);
        let reply = send(&http, "GET", &url, Some(&sandbox.key), None, &[]).await;
        assert_eq!((reply.status, &reply.body["data"]["merchant_reference"]), (200, &Value::from(reference.as_str())));
    }
}

/// Creates intents until the process is killed. Returns the acknowledged ones.
async fn write(http: Http, url: String, key: String, prefix: String, first: Arc<Notify>) -> Vec<(String, String)> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        let reference = format!("{prefix}-{number}");
        let body = order(&reference).to_string();
        match try_send(&http, "POST", &url, Some(&key), Some(body.into()), &[]).await {
            Ok(reply) if reply.status == 201 => {
                acknowledged.push((reference, reply.body["data"]["id"].as_str().unwrap().to_owned()));
                first.notify_one();
            }
            Ok(reply) => panic!("{}", reply.text),
            Err(_) => break,
        }
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_request_of_a_long_load_is_answered() {
    let seconds = amount(2, 300);
    let folder = Folder::new("soak-load");
    let sandbox = Arc::new(SandboxProcess::start(&folder, None));
    let (done, begun) = (Arc::new(AtomicUsize::new(0)), Instant::now());
    let over = Duration::from_secs(seconds as u64);
    let mut customers = JoinSet::new();
    for customer in 0..CLIENTS {
        let (sandbox, done) = (Arc::clone(&sandbox), Arc::clone(&done));
        customers.spawn(async move {
            let mut slowest = Duration::ZERO;
            for number in 0.. {
                if begun.elapsed() >= over {
                    break;
                }
                let purchase = Instant::now();
                purchase_once(&sandbox, &format!("C{customer}-{number}")).await;
                slowest = slowest.max(purchase.elapsed());
                done.fetch_add(1, Ordering::Relaxed);
            }
            slowest
        });
    }
    let mut progress = Progress::new("seconds of load", seconds);
    while begun.elapsed() < over {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (at, memory) = (begun.elapsed().as_secs() as usize, resident_kib(sandbox.child.id()));
        progress.at(at.min(seconds), &format!("{} purchases, {memory} KiB", done.load(Ordering::Relaxed)));
    }
    let slowest = customers.join_all().await.into_iter().max().unwrap_or_default();
    println!("{} purchases, the slowest took {slowest:?}", done.load(Ordering::Relaxed));
    assert!(done.load(Ordering::Relaxed) > 0);
}

/// From the creation of a payment to `order_changed`, at all that the process bears. Half of what the service bears by
/// itself, which is printed beside it, would be more: a purchase is five calls and four transactions here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_beside_an_application_loses_no_event_of_a_long_load() {
    let seconds = amount(3, 300);
    let folder = Folder::new("soak-shop");
    let service = Arc::new(SandboxProcess::start(&folder, None));
    let alone = rate_alone(&service, Duration::from_secs(amount(1, 20) as u64)).await;
    let shop = Shop::new("database = \"sqlite:shop.sqlite\"").await;
    let mut command = shop.command(&["--json"]);
    command.env("GUICHET_SECRET_KEY", &service.key).env("GUICHET_BASE_URL", &service.base_url);
    command.env("GUICHET_LOG", "warn");
    let process = shop.start_with(command);
    let (begun, over) = (Instant::now(), Duration::from_secs(seconds as u64));
    let (bought, mut customers) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
    for _ in 0..CLIENTS {
        let (bought, service, url) = (Arc::clone(&bought), Arc::clone(&service), process.url.clone());
        customers.spawn(async move {
            let (http, mut slowest) = (client(), Duration::ZERO);
            while begun.elapsed() < over {
                let number = bought.fetch_add(1, Ordering::Relaxed);
                slowest = slowest.max(buy(&http, &url, &service, number).await);
            }
            slowest
        });
    }
    let mut first_minute = 0;
    let mut progress = Progress::new("seconds of load beside an application", seconds);
    while begun.elapsed() < over {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (at, memory) = (begun.elapsed().as_secs() as usize, resident_kib(process.child.id()));
        first_minute = if at <= 60 { first_minute.max(memory) } else { first_minute };
        progress.at(at.min(seconds), &format!("{} purchases, {memory} KiB", bought.load(Ordering::Relaxed)));
    }
    let slowest = customers.join_all().await.into_iter().max().unwrap_or_default();
    let bought = bought.load(Ordering::Relaxed);
    let rate = bought as f64 / begun.elapsed().as_secs_f64();
    let is_over = async || process.gauge("guichet_events_waiting").await == Some(0);
    until("every event is received", is_over).await;
    let memory = resident_kib(process.child.id());
    println!(
        "{bought} purchases, {rate:.0} a second, where the service alone bears {alone:.0}; the slowest took {slowest:?}; \
         {first_minute} KiB in the first minute, {memory} KiB at the end"
    );
    let mut shipped = shop.application.shipped();
    assert_eq!(shipped.len(), bought, "each order was reported as paid");
    shipped.sort_unstable();
    shipped.dedup();
    assert_eq!(shipped.len(), bought, "and once");
    assert!(seconds < 60 || memory * 10 <= first_minute * 11, "memory grows: {memory} KiB after {first_minute} KiB");
}

/// How many purchases a second the service bears by itself.
async fn rate_alone(service: &Arc<SandboxProcess>, time: Duration) -> f64 {
    let (begun, mut customers) = (Instant::now(), JoinSet::new());
    for customer in 0..CLIENTS {
        let service = Arc::clone(service);
        customers.spawn(async move {
            let (http, mut done) = (client(), 0_u32);
            while begun.elapsed() < time {
                purchase_over(&http, &service, &format!("A{customer}-{done}")).await;
                done += 1;
            }
            done
        });
    }
    f64::from(customers.join_all().await.iter().sum::<u32>()) / begun.elapsed().as_secs_f64()
}

/// Clicks, pays and asks for the status. Returns how long that took.
async fn buy(http: &Http, shop: &str, service: &SandboxProcess, number: usize) -> Duration {
    let begun = Instant::now();
    let headers = [("Cookie", format!("login=c{number}-1")), ("Origin", "https://www.shop.example".to_owned())];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, &**value)).collect();
    let order = serde_json::json!({"id": number.to_string()}).to_string();
    let begins = send(http, "POST", &format!("{shop}/guichet/intents"), None, Some(order), &headers).await;
    assert_eq!(begins.status, 200, "{}", begins.text);
    let intent = &begins.body["intent"];
    let text = |name: &str| intent[name].as_str().unwrap().to_owned();
    let path = format!("{}{INTENTS}/{}/payment-method", service.base_url, text("id"));
    let paid = send(http, "POST", &path, Some(&service.key), Some(phone("237670000000").to_string()), &[]).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    let path = format!("{shop}/guichet/intents/{}", text("payment_ref"));
    let status = send(http, "GET", &path, None, None, &headers).await;
    assert_eq!((status.status, &status.body["status"]), (200, &Value::from("succeeded")), "{}", status.text);
    begun.elapsed()
}

/// Creates an intent, pays it, reads it and lists the newest.
async fn purchase_once(sandbox: &SandboxProcess, reference: &str) {
    purchase_over(&client(), sandbox, reference).await;
}

/// The same over a client's connections.
async fn purchase_over(http: &Http, sandbox: &SandboxProcess, reference: &str) {
    let call = async |method: &str, path: &str, fields: Value| {
        let body = (!fields.is_null()).then(|| fields.to_string());
        send(http, method, &format!("{}{path}", sandbox.base_url), Some(&sandbox.key), body, &[]).await
    };
    let created = call("POST", INTENTS, order(reference)).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let intent = format!("{INTENTS}/{}", created.body["data"]["id"].as_str().unwrap());
    for (method, path, body) in [
        ("POST", format!("{intent}/payment-method"), phone("237670000000")),
        ("GET", intent, Value::Null),
        ("GET", format!("{INTENTS}?limit=5"), Value::Null),
    ] {
        let reply = call(method, &path, body).await;
        assert_eq!(reply.status, 200, "{method} {path}: {}", reply.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_memory_of_the_sandbox_does_not_grow_with_its_calls() {
    let calls = amount(1_500, 50_000);
    let folder = Folder::new("soak-memory");
    let sandbox = SandboxProcess::start(&folder, None);
    let created = sandbox.call("POST", INTENTS, order("ORDER-17")).await;
    let path = format!("{INTENTS}/{}", created.body["data"]["id"].as_str().unwrap());
    let url = format!("{}{path}", sandbox.base_url);
    let read = async |calls: usize, progress: &mut Progress| {
        let http = client();
        for done in (0..calls).step_by(CLIENTS) {
            let at_once = (0..CLIENTS).map(|_| {
                let (http, url, key) = (http.clone(), url.clone(), sandbox.key.clone());
                async move { send(&http, "GET", &url, Some(&key), None, &[]).await.status }
            });
            let statuses = at_once.collect::<JoinSet<_>>().join_all().await;
            assert_eq!(statuses, [200; CLIENTS]);
            progress.at(done, &format!("{} KiB", resident_kib(sandbox.child.id())));
        }
    };
    // By then the bounded lists of requests are full.
    read(calls, &mut Progress::new("calls to fill what is bounded", calls)).await;
    let before = resident_kib(sandbox.child.id());
    read(calls, &mut Progress::new("calls of the sandbox", calls)).await;
    let after = resident_kib(sandbox.child.id());
    println!("{calls} calls: {before} KiB before, {after} KiB after");
    assert!(after < before + RESERVE, "{calls} calls: {before} KiB before, {after} KiB after");
}

/// Runs in a separate process, because the other tests of this process use memory as well.
#[tokio::test]
async fn the_memory_of_the_client_does_not_grow_with_its_calls() {
    const CHILD: &str = "GUICHET_SOAK_SERVICE";
    let Ok(service) = std::env::var(CHILD) else {
        let folder = Folder::new("soak-client");
        let sandbox = SandboxProcess::start(&folder, None);
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "soak::the_memory_of_the_client_does_not_grow_with_its_calls", "--nocapture"]);
        let child = child.env(CHILD, format!("{} {}", sandbox.base_url, sandbox.key)).status().unwrap();
        assert!(child.success(), "the client's own process has failed");
        return;
    };
    let calls = amount(1_000, 50_000);
    let (base_url, key) = service.split_once(' ').unwrap();
    let client = Client::builder(base_url, SecretKey::new(key).unwrap()).build().unwrap();
    let own = std::process::id();
    let call = async |calls: usize, progress: &mut Progress| {
        for done in 0..calls {
            client.list_payment_methods(&guichet::operations::ListPaymentMethods::new()).await.unwrap();
            progress.at(done, &format!("{} KiB", resident_kib(own)));
        }
    };
    call(calls / 5, &mut Progress::new("first calls of the client", calls / 5)).await;
    let before = resident_kib(own);
    call(calls, &mut Progress::new("calls of the client", calls)).await;
    let after = resident_kib(own);
    assert!(after < before + RESERVE, "{calls} calls: {before} KiB before, {after} KiB after");
}
