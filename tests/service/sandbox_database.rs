//! The sandbox as a separate process that is killed, or whose disk fills up.
#![cfg(unix)]

use crate::support::api::{self, client, order, phone, send, try_send};
use crate::support::folder::Folder;
use crate::support::process::{SandboxProcess, command};
use serde_json::Value;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const CREATE: &str = "/v1/payment-intents";

#[tokio::test]
async fn acknowledged_writes_survive_a_killed_process() {
    let folder = Folder::new("killed");
    let mut acknowledged = Vec::new();
    for (round, enough) in [(0, 3), (1, 40), (2, 97)] {
        let mut sandbox = SandboxProcess::start(&folder, None);
        acknowledged.extend(write_until_killed(&mut sandbox, round, enough).await);
        assert!(!acknowledged.is_empty());
    }
    let sandbox = SandboxProcess::start(&folder, None);
    for (reference, id, attempts) in &acknowledged {
        let replayed = sandbox.call("POST", CREATE, order(reference)).await;
        assert_eq!(
            (replayed.status, replayed.body["data"]["id"].as_str()),
            (200, Some(id.as_str())),
            "{reference} was acknowledged"
        );
        let there = replayed.body["data"]["attempts"].as_u64().unwrap();
        assert!(there >= *attempts, "{reference}: an attempt was acknowledged");
        assert!(there <= 1, "{reference}: nothing is charged twice");
    }
}

#[tokio::test]
async fn with_a_full_disk_nothing_is_acknowledged_that_was_not_stored() {
    let folder = Folder::new("full");
    let sandbox = SandboxProcess::start(&folder, Some(1024));
    let mut acknowledged = Vec::new();
    let mut refused = Vec::new();
    for number in 0..2000 {
        let reference = format!("ORDER-{number}");
        let reply = sandbox.call("POST", CREATE, order(&reference)).await;
        match reply.status {
            201 => acknowledged.push((reference, reply.body["data"]["id"].clone())),
            _ => {
                assert_eq!(
                    (reply.status, reply.code(), reply.header("retry-after")),
                    (503, "unavailable", Some("1")),
                    "{}",
                    reply.text
                );
                assert_eq!(reply.body["error"]["retryable"], true);
                refused.push(reference);
            }
        }
        if refused.len() == 3 {
            break;
        }
    }
    assert!(
        !acknowledged.is_empty() && refused.len() == 3,
        "{} were stored, {} refused",
        acknowledged.len(),
        refused.len()
    );
    let path = format!("{CREATE}/{}", acknowledged[0].1.as_str().unwrap());
    assert_eq!(sandbox.call("GET", &path, Value::Null).await.status, 200, "stored intents can still be read");
    drop(sandbox);

    let sandbox = SandboxProcess::start(&folder, None);
    for (reference, id) in acknowledged {
        let replayed = sandbox.call("POST", CREATE, order(&reference)).await;
        assert_eq!((replayed.status, &replayed.body["data"]["id"]), (200, &id), "{reference}");
    }
    for reference in refused {
        assert_eq!(sandbox.call("POST", CREATE, order(&reference)).await.status, 201, "{reference} reserved nothing");
    }
}

#[test]
fn a_second_process_on_the_same_database_is_refused_with_the_reason() {
    let folder = Folder::new("second");
    let _first = SandboxProcess::start(&folder, None);
    let second = command(&folder).output().unwrap();
    let stderr = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1));
    assert!(stderr.starts_with("guichet: Another sandbox already uses the database"), "{stderr}");
    assert!(second.stdout.is_empty());
}

#[tokio::test]
async fn a_stopped_process_leaves_one_complete_file() {
    let folder = Folder::new("terminated");
    let mut sandbox = SandboxProcess::start(&folder, None);
    let created = sandbox.call("POST", CREATE, order("ORDER-17")).await;
    let path = format!("{CREATE}/{}", created.body["data"]["id"].as_str().unwrap());
    // More than one reader has the file open.
    for _ in 0..8 {
        assert_eq!(sandbox.call("GET", &path, Value::Null).await.status, 200);
    }
    assert!(Command::new("kill").arg("-TERM").arg(sandbox.child.id().to_string()).status().unwrap().success());
    assert_eq!(sandbox.child.wait().unwrap().code(), Some(0));
    assert_eq!(folder.file_names(), ["sandbox.sqlite", "sandbox.sqlite.keys", "sandbox.sqlite.lock"]);
}

#[tokio::test]
async fn no_secret_and_no_card_number_is_ever_stored_or_logged() {
    let folder = Folder::new("cards");
    let mut sandbox = SandboxProcess::start(&folder, None);
    let created = sandbox.call("POST", CREATE, order("ORDER-17")).await;
    let session = serde_json::json!({ "customer_email": "awa@example.com" });
    let session = sandbox.call("POST", "/v1/sessions/create", session).await;
    let secrets = [
        sandbox.key.clone(),
        sandbox.control_token.clone(),
        session.body["data"]["session_token"].as_str().unwrap().to_owned(),
        created.body["data"]["client_secret"].as_str().unwrap().split("_secret_").nth(1).unwrap().to_owned(),
    ];
    let path = format!("{CREATE}/{}/payment-method", created.body["data"]["id"].as_str().unwrap());
    let odd = [
        // Card numbers that are no test card, too long, with spaces, as a JSON number, in the wrong field, in a body
        // that is not JSON.
        r#"{"payment_method":{"type":"card","card":{"number":"4111111111111111","exp_month":12,"exp_year":2034,"cvc":"739"}}}"#,
        r#"{"payment_method":{"type":"card","card":{"number":"41111111111111111111111","exp_month":12,"exp_year":2034,"cvc":"739"}}}"#,
        r#"{"payment_method":{"type":"card","card":{"number":"4111 1111 1111 1111","exp_month":12,"exp_year":2034,"cvc":"739"}}}"#,
        r#"{"payment_method":{"type":"card","card":{"number":4111111111111111,"exp_month":12,"exp_year":2034,"cvc":"739"}}}"#,
        r#"{"payment_method":{"type":"mobile_money","phone":"4111111111111111"}}"#,
        r#"{"payment_method":{"type":"card","card":"4111111111111111"}}"#,
        r#"{"payment_method":"4111111111111111"}"#,
        r#"{"4111111111111111"}"#,
        r#"{"payment_method":{"type":"card","card":{"number":"5500005555555559","exp_month":12,"exp_year":2034,"cvc":"739"}}}"#,
    ];
    for body in odd {
        let url = format!("{}{path}", sandbox.base_url);
        let reply = send(&client(), "POST", &url, Some(&sandbox.key), Some(body.to_owned()), &[]).await;
        assert!(matches!(reply.status, 400 | 422), "{body}: {}", reply.text);
        assert!(!reply.text.contains("1111 1111") && !reply.text.contains("11111111"), "{}", reply.text);
    }
    let refused = sandbox.call("POST", &path, serde_json::from_str(odd[0]).unwrap()).await;
    assert_eq!((refused.status, refused.code()), (422, "test_card_required"));
    let address = sandbox.call("GET", &format!("{CREATE}/4111111111111111?number=4111111111111111"), Value::Null).await;
    assert_eq!(address.status, 404);
    let paid = sandbox.call("POST", &path, api::card("5555555555554444")).await;
    assert_eq!(paid.body["data"]["status"], "succeeded");
    let plan = serde_json::json!({ "name": "Gold", "code": "gold", "amount": 5000, "billing_cycle": "daily" });
    assert_eq!(sandbox.call("POST", "/v1/subscriptions/plans", plan).await.status, 201);
    let mut fields = serde_json::json!({ "plan": "gold", "customer_email": "awa@example.com", "firstname": "Awa", "lastname": "Ngo" });
    fields["payment_method"] = api::card("5555555555554444")["payment_method"].clone();
    let subscribed = sandbox.call("POST", "/v1/subscriptions", fields.clone()).await;
    assert_eq!(subscribed.body["data"]["payment_method"]["last4"], "4444", "{}", subscribed.text);
    let subscription = format!("/v1/subscriptions/{}", subscribed.body["data"]["id"].as_str().unwrap());
    fields["payment_method"]["card"]["number"] = "4111111111111111".into();
    assert_eq!(sandbox.call("POST", "/v1/subscriptions", fields).await.code(), "test_card_required");
    for verb in ["payment-method", "fallback"] {
        let path = format!("{subscription}/{verb}");
        let refused = sandbox.call("PUT", &path, api::card("4111111111111111")).await;
        assert_eq!((refused.status, refused.code()), (422, "test_card_required"));
        assert_eq!(sandbox.call("PUT", &path, api::card("5555555555554444")).await.status, 200);
    }

    assert!(Command::new("kill").arg("-TERM").arg(sandbox.child.id().to_string()).status().unwrap().success());
    sandbox.child.wait().unwrap();
    let log = std::fs::read(folder.log()).unwrap();
    assert!(String::from_utf8_lossy(&log).contains("attach_payment_method"), "the log is a debug log");
    let mut kept = vec![("the log".to_owned(), log)];
    kept.extend(
        folder.file_names().into_iter().map(|name| (name.clone(), std::fs::read(folder.path.join(name)).unwrap())),
    );
    for (name, bytes) in kept {
        for number in ["4111111111111111", "1111 1111", "5500005555555559", "5555555555554444"] {
            assert!(!bytes.windows(number.len()).any(|window| window == number.as_bytes()), "{number} is in {name}");
        }
        assert!(!bytes.windows(5).any(|window| window == b"\"739\""), "a security code is in {name}");
        for secret in secrets.iter().filter(|_| !name.ends_with(".keys")) {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "a secret is in {name}");
        }
    }
}

/// Creates and pays intents, eight at a time. Kills the process once so many were acknowledged. Returns the
/// acknowledged ones: reference, id, attempts.
async fn write_until_killed(sandbox: &mut SandboxProcess, round: u32, enough: usize) -> Vec<(String, String, u64)> {
    let count = Arc::new(AtomicUsize::new(0));
    let writers = (0..8).map(|writer| {
        let (count, base_url, key) = (Arc::clone(&count), sandbox.base_url.clone(), sandbox.key.clone());
        tokio::spawn(async move {
            let http = client();
            let mut acknowledged = Vec::new();
            for number in 0.. {
                let reference = format!("ORDER-{round}-{writer}-{number}");
                let call = async |path: String, fields: Value| {
                    try_send(
                        &http,
                        "POST",
                        &format!("{base_url}{path}"),
                        Some(&key),
                        Some(fields.to_string().into()),
                        &[],
                    )
                    .await
                };
                let Ok(created) = call(CREATE.into(), order(&reference)).await else { break };
                assert_eq!(created.status, 201);
                let id = created.body["data"]["id"].as_str().unwrap().to_owned();
                acknowledged.push((reference, id.clone(), 0));
                count.fetch_add(1, Ordering::Relaxed);
                let Ok(paid) = call(format!("{CREATE}/{id}/payment-method"), phone("237671234567")).await else {
                    break;
                };
                let last = acknowledged.last_mut().unwrap();
                last.2 = paid.body["data"]["attempts"].as_u64().unwrap();
            }
            acknowledged
        })
    });
    let writers: Vec<_> = writers.collect();
    while count.load(Ordering::Relaxed) < enough {
        tokio::task::yield_now().await;
    }
    sandbox.child.kill().unwrap();
    sandbox.child.wait().unwrap();
    let mut all = Vec::new();
    for writer in writers {
        all.extend(writer.await.unwrap());
    }
    all
}
