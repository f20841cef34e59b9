//! `guichet probe`: it reports row by row which decisions a service shares, and creates nothing with a live key.

use super::guichet;
use super::operations::Terminal;
use crate::support;
use axum::Json;
use axum::http::{Method, StatusCode, Uri};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};

#[test]
fn every_decision_holds_at_the_sandbox() {
    let sandbox = Terminal::open();
    let probed = sandbox.run(&["probe", "--yes", "--all", "--json"]);
    let report: Value = serde_json::from_str(&probed.stdout).expect("one line of JSON");
    let rows = report["rows"].as_array().expect("rows");
    let not: Vec<&Value> = rows.iter().filter(|row| row["holds"] != true).collect();
    assert_eq!((probed.code, not), (0, Vec::new()), "{}", probed.stderr);
    assert!(rows.len() > 80, "{}", rows.len());
    // Every undocumented operation has a row.
    for name in assumed() {
        let named = |row: &&Value| row["what"].as_str().is_some_and(|what| what.starts_with(name));
        assert!(rows.iter().any(|row| named(&row)), "{name} is not probed");
    }
    assert!(
        probed.stderr.contains("creates these objects"),
        "the objects to create are listed first: {}",
        probed.stderr
    );
    let shown = sandbox.run(&["probe", "--yes", "--all"]);
    assert!(shown.stdout.contains("HOLDS") && !shown.stdout.contains("  no  "), "{}", shown.stdout);
    assert!(!format!("{}{}", shown.stdout, shown.stderr).contains(&sandbox.key), "no key is printed");
}

#[test]
fn decisions_that_do_not_hold_are_reported_and_exit_with_6() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let base_url = format!("http://{}", listener.local_addr().expect("an address"));
    // A service that accepts every request with an empty success.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>");
        }
    });
    let mut command = guichet(&["probe", "--yes", "--all", "--json", "--base-url", &base_url]);
    let output = command.env("GUICHET_SECRET_KEY", "sk_test_1").output().expect("it runs");
    assert_eq!(output.status.code(), Some(6));
    let report: Value = serde_json::from_slice(&output.stdout).expect("one line of JSON");
    let rows = report["rows"].as_array().expect("rows");
    let first = &rows[0];
    assert_eq!((first["holds"].as_bool(), first["seen"].as_str()), (Some(false), Some("200")));
    assert!(rows.iter().filter(|row| row["holds"] == true).count() <= 5, "{rows:?}");
}

#[test]
fn probe_sends_nothing_with_a_live_key_without_consent_or_without_a_service() {
    let sandbox = Terminal::open();
    let live = sandbox.run_with(&["probe", "--yes"], &[("GUICHET_SECRET_KEY", "sk_live_hidden")], "");
    assert_eq!(live.code, 2);
    assert!(live.stderr.contains("test key") && !live.stderr.contains("hidden"), "{}", live.stderr);
    let unasked = sandbox.run(&["probe"]);
    assert_eq!((unasked.code, unasked.stdout.as_str()), (2, ""));
    assert!(unasked.stderr.contains("creates these objects") && unasked.stderr.contains("--yes"), "{}", unasked.stderr);
    let unreachable = sandbox.run(&["probe", "--yes", "--base-url", "http://127.0.0.1:1"]);
    assert_eq!((unreachable.code, unreachable.stdout.as_str()), (3, ""));
}

fn assumed() -> Vec<&'static str> {
    use guichet::operations::*;
    use guichet::protocol::{Operation, Source};
    macro_rules! all {
        ($($operation:ident)*) => {
            [$(<$operation as Operation>::SPEC),*]
        };
    }
    let all = guichet::every_operation!(all);
    all.iter().filter(|spec| spec.source == Source::Decision).map(|spec| spec.name).collect()
}

/// In what a service is rude to the probe.
#[derive(Clone, Copy, PartialEq)]
enum Rude {
    /// A repeated creation makes a second payment.
    Doubles,
    /// A search lists every payment, whatever is asked.
    ListsAll,
    /// A search gives open payments alone.
    FindsOpen,
    /// It has one word for paid and for canceled.
    OneWord,
    /// A payment that is paid is under way at first.
    UnderWay,
    /// A request to cancel a payment pays it.
    PaysOnCancel,
    /// A reading says another sum.
    OtherSum,
    /// A refusal repeats the client secret of another payment.
    Tells,
}

/// The probe's exit code, what it printed, and what it wrote. Its questions are answered by yes; what it asks to be
/// paid is paid.
async fn probed(rude: Rude, more: &[&str]) -> (Option<i32>, String, Value) {
    let intents: Arc<Mutex<Vec<Value>>> = Arc::default();
    let (url, readings) =
        (support::http::serve(rude_service(rude, Arc::clone(&intents))).await, support::folder::Folder::new("rude"));
    let file = readings.path.join("service.json");
    let mut command = tokio::process::Command::from(guichet(&["probe", "--yes", "--base-url", &url, "--write"]));
    command.arg(&file).args(["--find", "/search?reference={merchant_reference}"]).args(more);
    command
        .env("GUICHET_SECRET_KEY", "sk_test_rude")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut probe = command.spawn().expect("it runs");
    let mut answers = probe.stdin.take().expect("a pipe");
    let (mut shown, mut is_skipped) = (String::new(), false);
    let mut lines = tokio::io::BufReader::new(probe.stderr.take().expect("a pipe")).lines();
    while let Some(line) = lines.next_line().await.expect("text") {
        if line.starts_with("Pay a payment, in a browser") {
            let mut intents = intents.lock().unwrap();
            intents.last_mut().expect("a payment")["paid"] = json!(0);
        }
        is_skipped |= line.starts_with("Decline a payment, in a browser");
        if line.starts_with("Press Enter") {
            answers.write_all(if is_skipped { b"skip\n" } else { b"\n" }).await.expect("it reads");
        } else if line.ends_with("Write yes or no.") {
            answers.write_all(b"yes\n").await.expect("it reads");
        }
        shown.push_str(&line);
    }
    let output = probe.wait_with_output().await.expect("it ends");
    shown.push_str(&String::from_utf8_lossy(&output.stdout));
    let written = std::fs::read_to_string(file).unwrap_or_else(|_| "null".to_owned());
    (output.status.code(), shown, serde_json::from_str(&written).expect("JSON"))
}

fn rude_service(rude: Rude, intents: Arc<Mutex<Vec<Value>>>) -> axum::Router {
    let shown = move |intent: &mut Value| {
        if let Some(read) = intent["paid"].as_u64() {
            intent["paid"] = json!(read + 1);
            let is_under_way = rude == Rude::UnderWay && read < 2;
            let word = if rude == Rude::OneWord { "closed" } else { "succeeded" };
            intent["status"] = json!(if is_under_way { "processing" } else { word });
        }
        intent.clone()
    };
    let answer = move |method: Method, uri: Uri, body: String| async move {
        let mut intents = intents.lock().unwrap();
        let count = intents.len();
        let path = uri.path().to_owned();
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        let data = match (method.as_str(), path.as_str(), path.strip_prefix("/v1/payment-intents/")) {
            ("POST", "/v1/payment-intents", _) => {
                let known =
                    intents.iter_mut().find(|intent| intent["merchant_reference"] == body["merchant_reference"]);
                match known {
                    Some(_) if rude == Rude::Tells => {
                        let message = format!("Bearer sk_test_rude, known: {}", intents[0]["client_secret"]);
                        return (StatusCode::CONFLICT, Json(json!({"message": message})));
                    }
                    Some(known) if rude != Rude::Doubles => shown(known),
                    _ => {
                        let id = format!("pi_{count}");
                        let url = format!("http://127.0.0.1:9/pay/{id}");
                        intents.push(
                            json!({"id": id, "status": "requires_action", "amount": "5000", "currency": "XAF",
                            "client_secret": format!("pi_{count}_secret_hidden"), "payment_ref": format!("PAY-{count}"),
                            "merchant_reference": body["merchant_reference"], "checkout_url": url}),
                        );
                        intents[count].clone()
                    }
                }
            }
            ("GET", "/search", _) => {
                let query = uri.query().unwrap_or_default();
                let found = intents.iter().filter(|intent| {
                    let is_asked = query.ends_with(&format!("={}", intent["merchant_reference"].as_str().unwrap()));
                    let is_open = rude != Rude::FindsOpen || intent["status"] == "requires_action";
                    rude == Rude::ListsAll || (is_asked && is_open)
                });
                json!(found.collect::<Vec<_>>())
            }
            (verb, _, Some(rest)) => {
                let id = rest.trim_end_matches("/cancel");
                let Some(intent) = intents.iter_mut().find(|intent| intent["id"] == id) else {
                    return (StatusCode::NOT_FOUND, Json(json!({"message": "There is none."})));
                };
                if verb == "POST" {
                    let word = match rude {
                        Rude::PaysOnCancel => "succeeded",
                        Rude::OneWord => "closed",
                        _ => "canceled",
                    };
                    intent["status"] = json!(word);
                }
                let mut intent = shown(intent);
                if rude == Rude::OtherSum {
                    intent["amount"] = json!("500000");
                }
                intent
            }
            (_, "/v1/payment-methods", _) => json!([]),
            _ => return (StatusCode::NOT_FOUND, Json(json!({"message": "There is none."}))),
        };
        (StatusCode::OK, Json(json!({"status_code": 200, "response_type": "success", "data": data})))
    };
    axum::Router::new().fallback(answer)
}

#[tokio::test]
async fn a_profile_has_nothing_by_which_money_could_be_lost_or_doubled() {
    let search = json!({"method": "GET", "path": "/search?reference={merchant_reference}"});
    let (code, shown, written) = probed(Rude::Doubles, &[]).await;
    assert!(code == Some(6) && shown.contains("MAKES A SECOND PAYMENT"), "{shown}");
    assert_eq!(written["find_by_reference"], search, "such a service needs its search: {shown}");
    for rude in [Rude::ListsAll, Rude::FindsOpen] {
        let (code, shown, written) = probed(rude, &[]).await;
        assert_eq!((code, written.get("find_by_reference")), (Some(0), None), "{shown}");
    }
    let (code, shown, written) = probed(Rude::PaysOnCancel, &[]).await;
    assert_eq!((code, written.get("cancel")), (Some(0), Some(&Value::Null)), "{shown}");
    let (code, shown, written) = probed(Rude::OtherSum, &[]).await;
    assert!(code == Some(6) && shown.contains("SAYS 500000 XAF for 5000 XAF") && written.is_null(), "{shown}");
    let (code, shown, _) = probed(Rude::Tells, &[]).await;
    assert!(code == Some(0) && shown.contains("is refused") && !shown.contains("secret_hidden"), "{shown}");
    assert!(!shown.contains("sk_test_rude"), "{shown}");
}

#[tokio::test]
async fn a_word_is_written_once_it_is_final_and_means_one_thing() {
    let (code, shown, written) = probed(Rude::OneWord, &["--pay"]).await;
    assert!(code == Some(6) && shown.contains("means two things"), "{shown}");
    assert_eq!(written.get("statuses"), None, "{shown}");
    let (code, shown, _) = probed(Rude::UnderWay, &["--pay"]).await;
    assert!(code == Some(0) && shown.contains("`succeeded`") && !shown.contains("`processing`"), "{shown}");
}

#[test]
fn what_cannot_be_a_profile_is_refused_before_anything_is_sent() {
    let sandbox = Terminal::open();
    let folder = support::folder::Folder::new("probe");
    let file = folder.path.join("service.json");
    std::fs::write(&file, "confirmed").expect("it is written");
    let file = file.to_str().expect("a path");
    for (arguments, words) in [
        (&["--read", "charges/{id}"][..], "--read: `read.path` must begin with one `/`."),
        (&["--read", "/charges/{payment_reff}"], "--read: `read.path` may have no other braces"),
        (&["--find", "PATCH /charges/{merchant_reference}"], "--find: a method is"),
        (&["--cancel", "GET /charges/{id}/void"], "--cancel: `cancel.method` must be one of"),
        (&["--write", file], "service.json cannot be made"),
    ] {
        let refused = sandbox.run(&[&["probe", "--yes"], arguments].concat());
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{}", refused.stderr);
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    assert_eq!(std::fs::read_to_string(file).expect("it is there"), "confirmed");
    // What its owner calls a test key goes to another machine by https alone, and one that says `live` is none.
    let elsewhere =
        &["probe", "--yes", "--test-key", "--base-url", "http://192.0.2.1:9", "--allow-plain-http", "192.0.2.1"];
    for (key, words) in [("key_hidden", "plain http"), ("sk_live_hidden", "this is a live one")] {
        let refused = sandbox.run_with(elsewhere, &[("GUICHET_SECRET_KEY", key)], "");
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains(words) && !refused.stderr.contains("hidden"), "{}", refused.stderr);
    }
    let gateway = &["probe", "--yes", "--json", "--gateway-url", &sandbox.base_url];
    let probed: Value = serde_json::from_str(&sandbox.run(gateway).stdout).expect("JSON");
    assert_eq!(probed["profile"]["gateway_url"], json!(sandbox.base_url), "{probed}");
}
