//! `guichet probe`: it reports row by row which decisions a service shares, and creates nothing with a live key.

use super::guichet;
use super::operations::Terminal;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;

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
