//! The service's clock never goes back: a final or expired status stays so after a crash and when the wall clock is set
//! back.
#![cfg(unix)]

use crate::support::api::{Merchant, Reply, client, control, order, phone, send};
use crate::support::folder::Folder;
use crate::support::process::SandboxProcess;
use guichet_sandbox::{Config, Sandbox, WallClock};
use serde_json::{Value, json};
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteConnectOptions;
use std::time::{Duration, Instant};

const CREATE: &str = "/v1/payment-intents";
const HOUR: i64 = 3_600;
const DAY: i64 = 86_400;

#[tokio::test]
async fn final_and_expired_statuses_survive_a_kill_and_a_clock_set_back() {
    let folder = Folder::new("set-back");
    let mut sandbox = SandboxProcess::start(&folder, None);
    let token = sandbox.call("POST", "/v1/sessions/create", json!({ "customer_email": "awa@example.com" })).await;
    let token = token.body["data"]["session_token"].as_str().unwrap().to_owned();
    let unpaid = create(&sandbox, "ORDER-1").await;
    advance(&sandbox, DAY - 40).await;
    let paid = create(&sandbox, "ORDER-2").await;
    let attached = sandbox.call("POST", &format!("{paid}/payment-method"), phone("237670000001")).await;
    assert_eq!(attached.body["data"]["status"], "processing");
    let under_way = create(&sandbox, "ORDER-3").await;
    let attached = sandbox.call("POST", &format!("{under_way}/payment-method"), phone("237670000001")).await;
    assert_eq!(attached.body["data"]["status"], "processing");
    let now_before = advance(&sandbox, 40).await;
    assert_eq!(status(&sandbox, &unpaid).await, json!(["canceled", "expired"]));
    assert_eq!(status(&sandbox, &paid).await, json!(["succeeded", null]));
    let url = format!("{}/v1/sessions/validate", sandbox.base_url);
    assert_eq!(send(&client(), "POST", &url, Some(&token), None, &[]).await.code(), "session_expired");
    let made_last = sandbox.call("POST", CREATE, order("ORDER-4")).await.body["data"]["created_at"].clone();
    sandbox.child.kill().unwrap();
    sandbox.child.wait().unwrap();

    let wall_clock = WallClock::default();
    wall_clock.shift(-HOUR);
    let restarted = Sandbox::start_with(Config { wall_clock: wall_clock.clone(), ..folder.config() }).await.unwrap();
    let now = control(&restarted, "GET", "/clock", Value::Null).await.body["now"].as_i64().unwrap();
    assert!(now >= now_before, "the clock has gone back by {} s", now_before - now);
    for (path, expected) in [(&unpaid, json!(["canceled", "expired"])), (&paid, json!(["succeeded", null]))] {
        let read = call(&restarted, "GET", path, Value::Null).await;
        assert_eq!(json!([read.body["data"]["status"], read.body["data"]["cancellation_reason"]]), expected);
    }
    let refused = call(&restarted, "POST", &format!("{unpaid}/payment-method"), phone("237670000000")).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    let url = format!("{}/v1/sessions/validate", restarted.base_url());
    assert_eq!(send(&client(), "POST", &url, Some(&token), None, &[]).await.code(), "session_expired");
    let next = call(&restarted, "POST", CREATE, order("ORDER-5")).await.body["data"]["created_at"].clone();
    assert!(next.as_str() >= made_last.as_str(), "{next} is before {made_last}");
    // The clock runs on: the current attempt ends.
    wall_clock.shift(-2 * HOUR);
    control(&restarted, "POST", "/clock", json!({ "advance_seconds": 30 })).await;
    assert_eq!(call(&restarted, "GET", &under_way, Value::Null).await.body["data"]["status"], "succeeded");
    restarted.stop().await;
}

#[tokio::test]
async fn reads_stay_fast_while_the_database_cannot_be_written() {
    // If each read waited for the lock (500 ms, one after the other), they would take 24 s.
    const READS: usize = 48;
    let folder = Folder::new("locked");
    let sandbox = SandboxProcess::start(&folder, None);
    let unpaid = create(&sandbox, "ORDER-1").await;
    let options = SqliteConnectOptions::new().filename(folder.path.join("sandbox.sqlite"));
    let pool = SqlitePool::connect_with(options).await.unwrap();
    let mut locking = pool.acquire().await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut *locking).await.unwrap();
    for _ in 0..3 {
        let start = Instant::now();
        let reads: Vec<_> = (0..READS)
            .map(|n| {
                let path = if n % 2 == 0 { "/v1/payment-methods" } else { &unpaid };
                let (key, url) = (sandbox.key.clone(), format!("{}{path}", sandbox.base_url));
                tokio::spawn(async move { send(&client(), "GET", &url, Some(&key), None, &[]).await })
            })
            .collect();
        for read in reads {
            let reply = read.await.unwrap();
            assert_eq!(reply.status, 200, "{}", reply.text);
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{READS} reads took {:?}", start.elapsed());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(sandbox.call("POST", CREATE, order("ORDER-2")).await.status, 503);
    sqlx::raw_sql("ROLLBACK").execute(&mut *locking).await.unwrap();
    drop(locking);
    pool.close().await;
    assert_eq!(sandbox.call("POST", CREATE, order("ORDER-2")).await.status, 201);
    let log = std::fs::read_to_string(folder.log()).unwrap();
    let errors = log.lines().filter(|line| line.contains("ERROR") && line.contains("clock")).count();
    assert_eq!(errors, 1, "the log reports the change, not each request:\n{log}");
}

#[tokio::test]
async fn a_clock_set_back_while_running_undoes_nothing() {
    let wall_clock = WallClock::default();
    let sandbox = Sandbox::start_with(Config { wall_clock: wall_clock.clone(), ..Config::default() }).await.unwrap();
    let shop = Merchant::of(&sandbox, "Sandbox shop").await;
    wall_clock.shift(30 * 60);
    let token = shop.call("POST", "/v1/sessions/create", json!({ "customer_email": "awa@example.com" })).await;
    let token = token.body["data"]["session_token"].as_str().unwrap().to_owned();
    wall_clock.shift(60 * 60);
    let expired = shop.call_as("POST", "/v1/sessions/validate", Some(&token), Value::Null).await;
    assert_eq!(expired.code(), "session_expired");
    let before = shop.tenant.now().await;
    for seconds in [60 * 60 - 1, 0, -HOUR, -DAY] {
        wall_clock.shift(seconds);
        let expired = shop.call_as("POST", "/v1/sessions/validate", Some(&token), Value::Null).await;
        assert_eq!(expired.code(), "session_expired", "with the wall clock at {seconds}");
        assert!(shop.tenant.now().await >= before);
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn a_second_is_stored_before_a_response_depends_on_it() {
    let folder = Folder::new("stored-second");
    let sandbox = SandboxProcess::start(&folder, None);
    for _ in 0..4 {
        let now = clock(&sandbox).await;
        let (latest, _) = stored(&folder).await;
        assert!(latest >= now, "{now} was sent, but {latest} is stored");
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
}

#[tokio::test]
async fn reads_of_one_second_share_one_commit() {
    let folder = Folder::new("shared-second");
    let sandbox = SandboxProcess::start(&folder, None);
    let path = create(&sandbox, "ORDER-1").await;
    let log = folder.path.join("sandbox.sqlite-wal");
    let before = std::fs::metadata(&log).unwrap().len();
    let start = Instant::now();
    for _ in 0..300 {
        assert_eq!(sandbox.call("GET", &path, Value::Null).await.status, 200);
    }
    // A commit of one second is a page of 4,096 bytes and its header.
    let most = (start.elapsed().as_secs() + 2) * 2 * 4_120;
    let grown = std::fs::metadata(&log).unwrap().len() - before;
    assert!(grown <= most, "300 reads have written {grown} bytes");
}

/// Each status is read in another way, and all stay final without a clock.
#[tokio::test]
async fn a_final_status_caused_by_time_is_stored_before_it_is_shown() {
    let folder = Folder::new("stored-status");
    let sandbox = Sandbox::start_with(folder.config()).await.unwrap();
    let mut paths = Vec::new();
    for number in 0..4 {
        let created = call(&sandbox, "POST", CREATE, order(&format!("ORDER-{number}"))).await;
        paths.push(format!("{CREATE}/{}", created.body["data"]["id"].as_str().unwrap()));
        let attached =
            call(&sandbox, "POST", &format!("{}/payment-method", paths[number]), phone("237670000001")).await;
        assert_eq!(attached.body["data"]["status"], "processing");
    }
    let created = call(&sandbox, "POST", CREATE, order("ORDER-4")).await;
    paths.push(format!("{CREATE}/{}", created.body["data"]["id"].as_str().unwrap()));
    let attached = call(&sandbox, "POST", &format!("{}/payment-method", paths[4]), phone("237670000000")).await;
    assert_eq!(attached.body["data"]["status"], "succeeded", "at once, by the move of the clock");
    sandbox.stop().await;
    assert_eq!(stored(&folder).await.1, [("succeeded".to_owned(), 1)], "no other has ended");

    for (number, how) in ["read", "created again", "event", "list"].into_iter().enumerate() {
        let sandbox = Sandbox::start_with(folder.config()).await.unwrap();
        control(&sandbox, "POST", "/clock", json!({ "advance_seconds": 30 })).await;
        match how {
            "read" => drop(call(&sandbox, "GET", &paths[0], Value::Null).await),
            "created again" => drop(call(&sandbox, "POST", CREATE, order("ORDER-1")).await),
            "event" => drop(control(&sandbox, "GET", "/events", Value::Null).await),
            _ => drop(call(&sandbox, "GET", CREATE, Value::Null).await),
        }
        sandbox.stop().await;
        let succeeded: i64 = stored(&folder).await.1.iter().map(|(_, count)| *count).sum();
        let expected = if number < 2 { 2 + i64::try_from(number).unwrap() } else { 5 };
        assert_eq!(succeeded, expected, "read by: {how}");
    }
}

async fn create(sandbox: &SandboxProcess, reference: &str) -> String {
    let created = sandbox.call("POST", CREATE, order(reference)).await;
    format!("{CREATE}/{}", created.body["data"]["id"].as_str().unwrap())
}

async fn status(sandbox: &SandboxProcess, path: &str) -> Value {
    let read = sandbox.call("GET", path, Value::Null).await;
    json!([read.body["data"]["status"], read.body["data"]["cancellation_reason"]])
}

async fn call(sandbox: &Sandbox, method: &str, path: &str, fields: Value) -> Reply {
    let (key, url) = (sandbox.secret_key().expose(), format!("{}{path}", sandbox.base_url()));
    let body = (!fields.is_null()).then(|| fields.to_string());
    send(&client(), method, &url, Some(key), body, &[]).await
}

async fn advance(sandbox: &SandboxProcess, seconds: i64) -> i64 {
    let url = format!("{}/sandbox/clock", sandbox.base_url);
    let body = json!({ "advance_seconds": seconds }).to_string();
    let reply = send(&client(), "POST", &url, Some(&sandbox.control_token), Some(body), &[]).await;
    reply.body["now"].as_i64().unwrap()
}

async fn clock(sandbox: &SandboxProcess) -> i64 {
    let url = format!("{}/sandbox/clock", sandbox.base_url);
    let reply = send(&client(), "GET", &url, Some(&sandbox.control_token), None, &[]).await;
    reply.body["now"].as_i64().unwrap()
}

/// Reads from the database the clock's latest second and the number of intents per final status.
async fn stored(folder: &Folder) -> (i64, Vec<(String, i64)>) {
    let options = SqliteConnectOptions::new().filename(folder.path.join("sandbox.sqlite"));
    let pool = SqlitePool::connect_with(options).await.unwrap();
    let latest = sqlx::query_scalar("SELECT latest FROM service_clock").fetch_one(&pool).await.unwrap();
    let text = "SELECT json_extract(state, '$.status') AS status, COUNT(*) FROM intents \
                WHERE status IN ('succeeded', 'failed', 'canceled') GROUP BY status";
    let statuses = sqlx::query_as(text).fetch_all(&pool).await.unwrap();
    pool.close().await;
    (latest, statuses)
}
