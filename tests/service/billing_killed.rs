//! The sandbox as a separate process that is killed at a random moment of a billing run.
#![cfg(unix)]

use crate::support::api::{card, client, phone, try_send};
use crate::support::diagnostics::SeededRandom;
use crate::support::folder::Folder;
use crate::support::process::SandboxProcess;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

const DAY: i64 = 86_400;
const SUBSCRIPTIONS: usize = 24;
const ROUNDS: u64 = 6;
/// The days by which each round moves the clock.
const DAYS: i64 = 8;

#[tokio::test]
async fn a_process_killed_while_billing_charges_no_customer_twice_and_misses_no_charge() {
    let folder = Folder::new("billing");
    let mut sandbox = SandboxProcess::start(&folder, None);
    let plan = json!({ "name": "Gold", "code": "gold", "amount": 5000, "billing_cycle": "daily" });
    assert_eq!(sandbox.call("POST", "/v1/subscriptions/plans", plan).await.status, 201);
    let mut acknowledged = BTreeMap::new();
    for number in 0..SUBSCRIPTIONS {
        subscribe(&sandbox, number, &mut acknowledged).await;
    }
    // Measure a whole run. The process is killed at a random moment within that time.
    let begin = Instant::now();
    let mut clock = advance(sandbox.base_url.clone(), sandbox.control_token.clone()).await.unwrap();
    let whole = u64::try_from(begin.elapsed().as_micros()).unwrap();
    let random = SeededRandom::new();
    for round in 0..ROUNDS {
        let run = tokio::spawn(advance(sandbox.base_url.clone(), sandbox.control_token.clone()));
        let moment = Duration::from_micros(random.number(round) % whole);
        tokio::time::sleep(moment).await;
        sandbox.child.kill().unwrap();
        sandbox.child.wait().unwrap();
        let answered = run.await.unwrap();
        sandbox = SandboxProcess::start(&folder, None);
        clock = clock.max(answered.unwrap_or_default());
        let now = now(&sandbox).await;
        assert!(now >= clock, "a move of the clock was acknowledged");
        let round = format!("round {round}, killed after {moment:?} of {whole} µs, answered: {answered:?}");
        all_charged_once(&sandbox, &acknowledged, now, &round).await;
        subscribe(&sandbox, acknowledged.len(), &mut acknowledged).await;
    }
}

/// Creates a daily subscription whose charges all succeed in the end.
async fn subscribe(sandbox: &SandboxProcess, number: usize, acknowledged: &mut BTreeMap<String, i64>) {
    let methods = [phone("237670000000"), phone("237670000007"), card("4242424242424242"), phone("237671234567")];
    let mut fields = json!({
        "plan": "gold", "customer_email": format!("awa-{number}@example.com"), "firstname": "Awa", "lastname": "Ngo",
    });
    fields["payment_method"] = methods[number % 4]["payment_method"].clone();
    let created = sandbox.call("POST", "/v1/subscriptions", fields).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let created = &created.body["data"];
    acknowledged.insert(created["id"].as_str().unwrap().to_owned(), created["created_at"].as_i64().unwrap());
}

/// Checks that these daily subscriptions are all, and that each was charged once for each day since its creation.
/// Returns the number of charges.
pub async fn all_charged_once(
    sandbox: &SandboxProcess,
    acknowledged: &BTreeMap<String, i64>,
    now: i64,
    round: &str,
) -> usize {
    let mut count = 0;
    let subscriptions = list(sandbox, "/v1/subscriptions").await;
    assert_eq!(subscriptions.len(), acknowledged.len(), "{round}: no subscription is lost");
    let mut charges: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for intent in list(sandbox, "/v1/payment-intents").await {
        let reference = intent["merchant_reference"].as_str().unwrap();
        charges.entry(reference.split(':').next().unwrap().to_owned()).or_default().push(intent);
    }
    for subscription in subscriptions {
        let id = subscription["id"].as_str().unwrap();
        let created = acknowledged[id];
        let mut charges: Vec<(Vec<i64>, &str, i64, &Value)> = charges[id]
            .iter()
            .map(|intent| {
                let numbers = intent["merchant_reference"].as_str().unwrap().split(':').skip(1);
                let numbers = numbers.map(|number| number.parse().unwrap()).collect();
                (
                    numbers,
                    intent["status"].as_str().unwrap(),
                    intent["created_at"].as_i64().unwrap() - created,
                    &intent["id"],
                )
            })
            .collect();
        charges.sort_by_key(|(numbers, ..)| numbers.clone());
        let context = || format!("{round}: {charges:?}");
        let paid: Vec<i64> =
            charges.iter().filter(|(_, status, ..)| *status == "succeeded").map(|(numbers, ..)| numbers[0]).collect();
        // The last charge may still be processing, because the wall clock goes on during the check.
        let days = (now - created) / DAY;
        let expected: Vec<i64> = (0..i64::try_from(paid.len()).unwrap()).collect();
        assert_eq!(paid, expected, "each day is paid exactly once: {}", context());
        assert!((days..=days + 1).contains(&i64::try_from(paid.len()).unwrap()), "{days} days: {}", context());
        for (numbers, _, at, _) in &charges {
            let (period, attempt) = (numbers[0], numbers[1]);
            // A retry is a quarter of a day after the failure, whenever the process ran.
            assert_eq!(*at, period * DAY + (attempt - 1) * DAY / 4, "{}", context());
        }
        assert_eq!(&&subscription["latest_payment_intent"], &charges.last().unwrap().3, "{}", context());
        count += charges.len();
    }
    count
}

/// Moves the clock. Returns its time if there was a response.
async fn advance(base_url: String, control_token: String) -> Option<i64> {
    let body = json!({ "advance_seconds": DAYS * DAY }).to_string();
    let url = format!("{base_url}/sandbox/clock");
    let moved = try_send(&client(), "POST", &url, Some(&control_token), Some(body.into()), &[]).await.ok()?;
    moved.body["now"].as_i64()
}

async fn now(sandbox: &SandboxProcess) -> i64 {
    let url = format!("{}/sandbox/clock", sandbox.base_url);
    let response = try_send(&client(), "GET", &url, Some(&sandbox.control_token), None, &[]).await.unwrap();
    response.body["now"].as_i64().unwrap()
}

/// Reads a whole list, page by page.
pub async fn list(sandbox: &SandboxProcess, path: &str) -> Vec<Value> {
    let path = format!("{path}?limit=100");
    let (mut all, mut next) = (Vec::new(), path.clone());
    loop {
        let page = sandbox.call("GET", &next, Value::Null).await;
        all.extend(page.body["data"].as_array().unwrap().iter().cloned());
        match page.body["pagination"]["next_cursor"].as_str() {
            Some(cursor) => next = format!("{path}&starting_after={cursor}"),
            None => return all,
        }
    }
}
