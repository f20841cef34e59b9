//! The commands of a sandbox's control API. `clock` and `faults` are in `operations`.

use super::guichet;
use super::operations::Terminal;
use crate::support::fake_service::{FakeService, ScriptedResponse, reply};
use serde_json::Value;
use tokio::task::JoinSet;

#[test]
fn merchants_makes_a_merchant_and_prints_its_key_once() {
    let sandbox = Terminal::open();
    let made = sandbox.control(&["merchants", "--name", "Chez Awa"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let words: Vec<&str> = made.stdout.split_whitespace().collect();
    let (id, key) = (word(&words, "mch_"), word(&words, "sk_test_"));
    assert!(made.stdout.contains("shown this once"), "{}", made.stdout);
    let listed = sandbox.run_with(&["intents", "list"], &[("GUICHET_SECRET_KEY", key)], "");
    assert_eq!(listed.code, 0, "the key is that of a merchant: {}", listed.stderr);
    let requests = sandbox.control(&["requests", "--merchant", id]);
    assert!(requests.stdout.contains("list_payment_intents"), "{}", requests.stdout);
    assert!(sandbox.control(&["requests"]).stdout.contains("No requests."), "the first merchant received none");

    let reply = json(&sandbox.control(&["merchants", "--json"]).stdout);
    assert!(reply["secret_key"].as_str().is_some_and(|other| other.starts_with("sk_test_") && other != key));
    let unnamed = sandbox.control(&["merchants", "--name", " "]);
    assert_eq!(unnamed.code, 1);
    assert!(unnamed.stderr.starts_with("guichet: merchants: name must "), "{}", unnamed.stderr);
}

/// Creates the payment ORDER-17. Returns the reply.
fn create_order(sandbox: &Terminal) -> Value {
    let order =
        "intents create --amount 45000 --description Shoes --firstname Awa --lastname Ngono --email awa@example.com";
    let order: Vec<&str> = order.split(' ').chain(["--merchant-reference", "ORDER-17", "--json"]).collect();
    json(&sandbox.run(&order).stdout)
}

#[test]
fn requests_and_events_are_tables_without_secrets_and_reset_deletes_them() {
    let sandbox = Terminal::open();
    assert!(sandbox.control(&["events"]).stdout.contains("No events."));
    let created = create_order(&sandbox);
    let (id, secret) = (&created["data"]["id"], &created["data"]["client_secret"]);
    let (id, secret) = (id.as_str().expect("an id"), secret.as_str().expect("a secret"));
    let card = r#"{"type":"card","card":{"number":"4242424242424242","exp_month":12,"exp_year":2034,"cvc":"123"}}"#;
    assert_eq!(sandbox.run_with(&["intents", "pay", id, "--payment-method", "-"], &[], card).code, 0);

    let requests = sandbox.control(&["requests"]).stdout;
    let rows: Vec<&str> = requests.lines().collect();
    assert_eq!(rows.len(), 3, "{requests}");
    assert!(rows[0].starts_with(" AT") || rows[0].starts_with("AT"), "{requests}");
    assert!(rows[1].contains("create_payment_intent") && rows[1].contains("201"), "{requests}");
    assert!(rows[2].contains("attach_payment_method") && rows[2].contains(id), "{requests}");
    let events = sandbox.control(&["events"]).stdout;
    assert!(events.contains("payment_intent.succeeded") && events.contains("ORDER-17"), "{events}");
    assert!(
        json(&sandbox.control(&["events", "--json"]).stdout)["events"].as_array().is_some_and(|all| all.len() >= 2)
    );
    for output in [&requests, &events] {
        for hidden in [secret, &sandbox.key, "4242", "awa@example.com"] {
            assert!(!output.contains(hidden), "{output}");
        }
    }

    let reset = sandbox.control(&["reset"]);
    assert_eq!(reset.code, 0, "{}", reset.stderr);
    assert!(reset.stdout.contains("mch_") && reset.stdout.contains("Its clock shows 20"), "{}", reset.stdout);
    assert!(sandbox.control(&["events"]).stdout.contains("No events."));
    assert!(sandbox.control(&["requests"]).stdout.contains("No requests."));
}

#[test]
fn a_purchase_is_listed_decided_on_the_phone_and_printed_as_a_thread() {
    let sandbox = Terminal::open();
    assert!(sandbox.control(&["purchases"]).stdout.contains("No purchases."));
    let created = create_order(&sandbox);
    let id = created["data"]["id"].as_str().expect("an id");
    let early = sandbox.control(&["handset", "ORDER-17", "approve"]);
    assert_eq!(early.code, 1, "{}", early.stdout);
    assert!(early.stderr.starts_with("guichet: handset: ") && early.stderr.contains("0000020"), "{}", early.stderr);
    let phone = r#"{"type":"mobile_money","phone":"237670000020"}"#;
    assert_eq!(sandbox.run_with(&["intents", "pay", id, "--payment-method", "-"], &[], phone).code, 0);
    let approved = sandbox.control(&["handset", "latest", "approve"]);
    assert!(approved.stdout.contains("ORDER-17 is succeeded."), "{}{}", approved.stdout, approved.stderr);
    for search in ["ngono", "order-17", id] {
        let listed = sandbox.control(&["purchases", "--search", search]).stdout;
        assert!(listed.contains("ORDER-17") && listed.contains("succeeded"), "{listed}");
    }
    assert!(sandbox.control(&["purchases", "--search", "other & more"]).stdout.contains("No purchases."));
    let thread = sandbox.control(&["thread", "ORDER-17"]).stdout;
    assert!(thread.contains("handset") && thread.contains("create_payment_intent"), "{thread}");
    let inspector = sandbox.control(&["inspector"]).stdout;
    assert!(inspector.starts_with("http://127.0.0.1:") && inspector.contains("/inspector#token=ins_"), "{inspector}");
}

#[test]
fn every_command_of_the_control_api_says_what_is_missing() {
    let sandbox = Terminal::open();
    for command in ["clock", "events", "faults", "merchants", "purchases", "requests", "reset", "thread"] {
        let without = sandbox.run(&[command]);
        assert_eq!(without.code, 2, "{command}: {}", without.stderr);
        assert!(without.stderr.contains("GUICHET_CONTROL_TOKEN"), "{command}: {}", without.stderr);

        let old = sandbox.control_with("ctl_of_the_last_start", &[command]);
        assert_eq!(old.code, 1, "{command}: {}", old.stderr);
        assert!(old.stderr.starts_with(&format!("guichet: {command}: ")), "{command}: {}", old.stderr);
        assert!(
            old.stderr.contains("new at each start") && !old.stderr.contains("ctl_of"),
            "{command}: {}",
            old.stderr
        );

        let nowhere = sandbox.control(&[command, "--control-url", "http://127.0.0.1:1/sandbox"]);
        assert_eq!(nowhere.code, 3, "{command}: {}", nowhere.stderr);
        assert!(nowhere.stderr.contains("No sandbox answered at http://127.0.0.1:1/sandbox."), "{}", nowhere.stderr);

        if command != "merchants" {
            let unknown = sandbox.control(&[command, "--merchant", "mch_unknown"]);
            assert_eq!(unknown.code, 1, "{command}: {}", unknown.stderr);
            let expected = format!("guichet: {command}: There is no such merchant.");
            assert!(unknown.stderr.starts_with(&expected), "{command}: {}", unknown.stderr);
        }
        let help = guichet(&[command, "--help"]).output().expect("it runs");
        assert!(String::from_utf8_lossy(&help.stdout).contains("GUICHET_CONTROL_TOKEN"), "{command}");
    }
}

/// A lost response says of a change that it may have been executed, and of a read nothing of the kind.
#[tokio::test(flavor = "multi_thread")]
async fn reads_of_the_control_api_are_retried_and_changes_are_not() {
    const READS: [&[&str]; 4] = [&["clock"], &["events"], &["faults"], &["requests"]];
    // It has the same effect however often it is sent.
    const CLEAR: &[&str] = &["faults", "clear"];
    const CHANGES: [&[&str]; 4] =
        [&["clock", "advance", "1h"], &["faults", "set", "create_session", "drop"], &["merchants"], &["reset"]];

    let mut commands = JoinSet::new();
    for command in READS.into_iter().chain([CLEAR]) {
        commands.spawn(async move {
            let (code, stderr, requests) = with_lost_responses(1, command).await;
            assert_eq!((code, requests), (0, 2), "{command:?}: {stderr}");
            let (code, stderr, requests) = with_lost_responses(4, command).await;
            assert_eq!((code, requests), (3, 4), "{command:?}: {stderr}");
            assert!(!stderr.contains("may have executed"), "{command:?}: {stderr}");
        });
    }
    for command in CHANGES {
        commands.spawn(async move {
            let (code, stderr, requests) = with_lost_responses(1, command).await;
            assert_eq!((code, requests), (4, 1), "{command:?}: {stderr}");
            assert!(stderr.contains("may have executed"), "{command:?}: {stderr}");
        });
    }
    commands.join_all().await;
}

/// Runs a command against a service whose first responses are lost. Returns its exit code, its stderr and the number of
/// requests.
async fn with_lost_responses(lost: usize, command: &[&str]) -> (i32, String, usize) {
    let mut responses: Vec<_> = (0..lost).map(|_| ScriptedResponse::CloseConnection).collect();
    responses.push(reply("200 OK", r#"{"now": 0, "events": [], "faults": [], "requests": []}"#));
    let service = FakeService::start(responses).await;
    let mut command = guichet(command);
    command.env("GUICHET_CONTROL_URL", &service.base_url).env("GUICHET_CONTROL_TOKEN", "ctl_0123456789abcdef");
    let output = tokio::task::spawn_blocking(move || command.output()).await.expect("it ran").expect("it runs");
    let stderr = String::from_utf8(output.stderr).expect("text");
    (output.status.code().expect("it was not killed"), stderr, service.requests().len())
}

fn word<'a>(words: &[&'a str], start: &str) -> &'a str {
    words.iter().find(|word| word.starts_with(start)).unwrap_or_else(|| panic!("{words:?} has no {start}…"))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}
