//! Text of third parties is escaped wherever it is printed, so that it cannot forge a log line or control a terminal.

use super::command::{Running, guichet};
use crate::support::http;
use crate::support::orders;
use crate::support::shop_process::shop_command;
use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use guichet::native::ledger::Changed;
use guichet::native::{Buyer, Ledger, Owner, Purchase, Reason, Refused, Shop};
use guichet::protocol::Error;
use guichet::values::IntentId;
use guichet::{Client, SecretKey};
use serde_json::{Value, json};
use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use tracing_subscriber::fmt::MakeWriter;

/// A forged log line, then control sequences that clear the screen, set a title and colours, and reorder and hide
/// letters.
const FORGED: &str = "\n2026-11-21T10:30:00Z  INFO order ORDER-18 is paid\r\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{7f}\u{85}\u{202e}dlos\
    \u{2066}\u{2069}\u{200e}\u{200f}\u{61c}\u{2028}\u{2029}\u{feff}";
const KEY: &str = "sk_test_0123456789abcdefghijklmn";

#[tokio::test]
async fn an_errors_text_is_escaped_in_the_error_and_in_the_pages_response() {
    let service = serve(StatusCode::CONFLICT, refusal()).await;
    let error = client(&service).read_payment_intent(&intent_id("pi_1")).await.expect_err("refused");
    let refused = Refused::from(error.clone());
    let fields = error.fields().iter().map(|field| format!("{} {} {}", field.param, field.code, field.message));
    let fields = fields.collect::<Vec<_>>().join(" ");
    for (place, text) in [
        ("Error: Display", error.to_string()),
        ("Error: Debug", format!("{error:?}")),
        ("Error: message", error.message().to_owned()),
        ("Error: code", error.code().expect("a code").to_owned()),
        ("Error: request_id", error.request_id().expect("an id").to_owned()),
        ("Error: existing_id", error.existing_id().expect("an id").to_owned()),
        ("Error: fields", fields),
        ("Error of the caller's own: Display", Error::new(error.kind(), FORGED).to_string()),
        ("Error of the caller's own: Debug", format!("{:?}", Error::new(error.kind(), FORGED))),
        ("Refused: Display", refused.to_string()),
        ("Refused: Debug", format!("{refused:?}")),
        ("Refused: message", refused.message().to_owned()),
        (
            "Refused of the shop's own: Display",
            Refused::new(409, Reason { code: "taken", message: FORGED }).to_string(),
        ),
        ("Refused: the body", body_of(refused).await),
    ] {
        assert_steers_nothing(place, &text);
        assert!(!text.contains('\n') && text.contains("is paid"), "{place}: {text}");
    }
}

#[tokio::test]
async fn no_third_party_can_write_a_line_of_a_merchants_log() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false);
    let _guard = tracing::subscriber::set_default(subscriber.with_max_level(tracing::Level::TRACE).finish());
    // With a single subscriber, tracing caches the interest of the thread that logs first, and another test's thread
    // has none.
    let _second = tracing::Dispatch::new(tracing_subscriber::fmt().with_max_level(tracing::Level::ERROR).finish());

    let refusing = serve(StatusCode::CONFLICT, refusal()).await;
    let error = client(&refusing).read_payment_intent(&intent_id("pi_1")).await.expect_err("refused");
    let _ = Refused::from(error);
    let _ = Refused::broken(FORGED);
    let lying = serve(StatusCode::OK, intent()).await;
    let (orders, name) = (orders::in_memory().await, "ORDER-17\u{202e}");
    let costs = json!({"amount": "1", "currency": "XAF"});
    orders::begun(&orders, &Owner::Guest("1".to_owned()), name, &costs, [FORGED, FORGED]).await;
    let ledger = Ledger::new(client(&lying), orders);
    ledger.settle(&TestShop, name).await.expect("it is read, and is another one");

    let log = log.text();
    assert_steers_nothing("the merchant's log", &log);
    for event in ["the service did not do it", "the shop has failed", "the ledger needs a person"] {
        let line = log.lines().find(|line| line.contains(event)).unwrap_or_else(|| panic!("no {event} in {log}"));
        assert!(line.contains("\\u{202e}"), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_that_the_command_prints_is_escaped() {
    let refusing = serve(StatusCode::CONFLICT, refusal()).await;
    let unreadable = serve(StatusCode::OK, FORGED.to_owned()).await;
    let listing = json!({"data": [data()], "pagination": {"next_cursor": FORGED}}).to_string();
    let listing = serve(StatusCode::OK, listing).await;
    let showing = serve(StatusCode::OK, intent()).await;
    let faults = ["operation", "kind", "count", "status"].map(|name| (name.to_owned(), Value::from(FORGED)));
    let faulty = serve(StatusCode::OK, json!({"faults": [serde_json::Map::from_iter(faults)]}).to_string()).await;
    let forged =
        |names: &[&str]| -> Value { names.iter().map(|name| ((*name).to_owned(), Value::from(FORGED))).collect() };
    let request = forged(&["operation", "credential", "intent", "fault", "request_id"]);
    let requesting = serve(StatusCode::OK, json!({ "requests": [request] }).to_string()).await;
    let event = json!({ "type": FORGED, "data": forged(&["id", "merchant_reference"]) });
    let eventful = serve(StatusCode::OK, json!({ "events": [event] }).to_string()).await;
    let making = serve(StatusCode::OK, forged(&["merchant", "secret_key"]).to_string()).await;
    let read: &[&str] = &["intents", "read", "pi_1"];
    for (place, service, arguments, shown) in [
        ("a refusal", &refusing, read, true),
        ("an uncertain call", &refusing, &["intents", "cancel", "pi_1"], true),
        ("a reply that cannot be read", &unreadable, read, false),
        ("a table", &listing, &["intents", "list"], true),
        ("a table of customers, with the next page", &listing, &["customers", "list"], true),
        ("details", &showing, read, true),
        ("details with their secrets", &showing, &["intents", "read", "pi_1", "--show-secrets"], true),
        ("the faults of a sandbox", &faulty, &["faults"], true),
        ("the requests of a sandbox", &requesting, &["requests"], true),
        ("the events of a sandbox", &eventful, &["events"], true),
        ("a merchant of a sandbox", &making, &["merchants"], true),
        ("a reset merchant", &making, &["reset"], true),
        ("a refusal of the control API", &refusing, &["clock"], true),
        ("probe", &refusing, &["probe", "--yes"], true),
    ] {
        let Output { stdout, stderr, .. } = run(service, arguments);
        let text = [stdout, stderr].concat();
        let text = String::from_utf8(text).expect("UTF-8");
        assert_steers_nothing(place, &text);
        assert_eq!(text.contains("\\u{202e}"), shown, "{place}: {text}");
    }
}

/// A program gets the bytes unchanged. A person gets equal JSON with escapes.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_is_escaped_only_if_stdout_is_a_terminal() {
    let showing = serve(StatusCode::OK, intent()).await;
    let refusing = serve(StatusCode::CONFLICT, refusal()).await;
    let unreadable = serve(StatusCode::BAD_GATEWAY, format!("<html>{FORGED}</html>")).await;
    let arguments = ["intents", "read", "pi_1", "--json"];
    assert_eq!(String::from_utf8(run(&showing, &arguments).stdout).expect("UTF-8").trim_end(), intent());
    for (place, service) in [("a reply", &showing), ("a refusal", &refusing), ("no JSON", &unreadable)] {
        let mut command = command(service, &arguments);
        command.env("GUICHET_LOG", "off");
        let line = std::iter::once(command.get_program()).chain(command.get_args());
        let line: Vec<&str> = line.map(|word| word.to_str().expect("text")).collect();
        // With a pseudo-terminal.
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--command", &line.join(" "), "/dev/null"]).stdin(Stdio::null());
        let envs = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let output = script.envs(envs).output().expect("script starts");
        let text = String::from_utf8(output.stdout).expect("UTF-8").replace("\r\n", "\n");
        assert!(text.contains("\\u202e"), "{place}: {text}");
        let is_no_json = text.contains("<html>");
        assert_steers_nothing(place, &if is_no_json { text.replacen(FORGED_LINE, "", 1) } else { text });
    }
}

/// A reply that is not JSON keeps its line ends, because a requested page of HTML is not mistaken for a log.
#[cfg(target_os = "linux")]
const FORGED_LINE: &str = "2026-11-21T10:30:00Z";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_third_party_can_write_a_line_of_the_sandboxs_or_the_shops_log() {
    let mut sandbox = guichet(&["sandbox", "--listen", "127.0.0.1:0", "--database", "memory:", "--json"]);
    sandbox.env("GUICHET_LOG", "trace").stderr(Stdio::piped());
    let mut sandbox = Running::of(sandbox);
    let ready = sandbox.line();
    let url = ready["base_url"].as_str().expect("an address");
    // The server refuses headers with ASCII control characters, so these are the others.
    let forged: String = FORGED.chars().filter(|c| !c.is_ascii_control()).collect();
    let authorization = format!("Authorization: Bearer {}", ready["secret_key"].as_str().expect("a key"));
    let with = [authorization.as_str(), &format!("X-Forged: {forged}")];
    http::get(&format!("{url}/v1/payment-intents/{}", percent(FORGED)), &with).await;
    let order = json!({"merchant_reference": FORGED, "description": FORGED, "amount": FORGED, "currency": FORGED});
    http::post(&format!("{url}/v1/payment-intents"), &with, &order.to_string()).await;
    let log = log_of(sandbox);
    assert!(log.contains("answered"), "{log}");
    assert_steers_nothing("the sandbox's log", &log);

    let refusing = serve(StatusCode::CONFLICT, refusal()).await;
    let mut shop = shop_command(&refusing, KEY, "memory:");
    shop.stderr(Stdio::piped());
    let mut shop = Running::of(shop);
    let url = shop.line()["shop_url"].as_str().expect("an address").to_owned();
    let login = http::post(&format!("{url}/api/sign-in"), &[], r#"{"customer":"awa"}"#).await;
    let cookie = login.cookie().unwrap_or_else(|| panic!("{} {}", login.status, login.body));
    let basket = r#"{"lines":[{"sku":"trainers","quantity":1}]}"#;
    let order = http::post(&format!("{url}/api/orders"), &[&cookie], basket).await.json();
    http::post(&format!("{url}/guichet/intents"), &[&cookie], &json!({"id": order["id"]}).to_string()).await;
    http::post(&format!("{url}/guichet/session"), &[&cookie], "").await;
    let log = log_of(shop);
    assert!(log.contains("the service did not do it") && log.contains("\\u{202e}"), "{log}");
    assert_steers_nothing("the shop's log", &log);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_query_of_the_hosted_page_is_never_logged() {
    let mut sandbox = guichet(&["sandbox", "--listen", "127.0.0.1:0", "--database", "memory:", "--json"]);
    sandbox.env("GUICHET_LOG", "trace").stderr(Stdio::piped());
    let mut sandbox = Running::of(sandbox);
    let url = sandbox.line()["base_url"].as_str().expect("an address").to_owned();
    let secret = "pi_1_secret_0123456789";
    for page in ["", "/challenge"] {
        let query = format!("client_secret={secret}&token={secret}");
        http::get(&format!("{url}/checkout/pi_1{page}?{query}"), &[]).await;
        let cookie = format!("Cookie: guichet_checkout={secret}");
        let with = [cookie.as_str(), "Content-Type: application/x-www-form-urlencoded"];
        http::post(&format!("{url}/checkout/pi_1{page}?{query}"), &with, &query).await;
    }
    http::get(&format!("{url}/v1/payment-methods"), &[]).await;
    let log = log_of(sandbox);
    assert!(log.contains("answered") && !log.contains(secret), "{log}");
}

/// Stops a process and returns its log.
fn log_of(mut process: Running) -> String {
    let mut stderr = process.stderr().expect("it was piped");
    let log = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stderr.read_to_end(&mut bytes).map(|_| bytes)
    });
    process.stop();
    let bytes = log.join().expect("it is read").expect("it is read");
    String::from_utf8(bytes).expect("UTF-8")
}

#[track_caller]
fn assert_steers_nothing(place: &str, text: &str) {
    for c in FORGED.chars().filter(|c| !c.is_ascii_graphic() && !matches!(c, ' ' | '\n')) {
        assert!(!text.contains(c), "{place} prints {c:?}: {text:?}");
    }
    let forged = FORGED.trim_start().split('\r').next().expect("a line");
    let is_forged = |line: &str| line.trim_start().starts_with(&forged[..20]) && line.contains("INFO order");
    assert!(!text.lines().any(is_forged), "{place} has a forged line: {text}");
}

fn refusal() -> String {
    let field = json!({"param": FORGED, "code": FORGED, "message": FORGED});
    let error =
        json!({"code": FORGED, "request_id": FORGED, "existing_id": FORGED, "errors": [field], "retryable": false});
    json!({"status_code": 409, "message": FORGED, "data": null, "error": error}).to_string()
}

fn data() -> Value {
    json!({
        "id": FORGED, "object": FORGED, "amount": "1", "fee": FORGED, "currency": FORGED, "status": FORGED, "merchant_reference": FORGED,
        "payment_ref": FORGED, "checkout_url": FORGED, "client_secret": FORGED, "email": FORGED, "created_at": FORGED,
        "firstname": FORGED, "customer": {"email": FORGED, "firstname": FORGED}, "metadata": {FORGED: FORGED},
        "last_payment_error": {"code": FORGED, "message": FORGED}, FORGED: [FORGED, FORGED],
    })
}

fn intent() -> String {
    json!({"status_code": 200, "data": data()}).to_string()
}

fn intent_id(text: &str) -> IntentId {
    IntentId::new(text).expect("an identifier")
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn client(service: &str) -> Client {
    Client::builder(service, SecretKey::new(KEY).expect("a key")).build().expect("a client")
}

async fn body_of(refused: Refused) -> String {
    let bytes = axum::body::to_bytes(refused.into_response().into_body(), 100_000).await.expect("a body");
    String::from_utf8(bytes.into()).expect("UTF-8")
}

fn run(service: &str, arguments: &[&str]) -> Output {
    command(service, arguments).output().expect("it runs")
}

fn command(service: &str, arguments: &[&str]) -> Command {
    let mut command = guichet(arguments);
    let of_the_sandbox = ["clock", "events", "faults", "merchants", "requests", "reset"].contains(&arguments[0]);
    command.env("GUICHET_SECRET_KEY", KEY).env("GUICHET_CONTROL_TOKEN", "token").env("GUICHET_LOG", "debug");
    command.args([if of_the_sandbox { "--control-url" } else { "--base-url" }, service]);
    command
}

/// A service that sends this response to every request.
async fn serve(status: StatusCode, body: String) -> String {
    let answer = move || async move { (status, [(header::CONTENT_TYPE, "application/json")], body).into_response() };
    crate::support::http::serve(Router::new().fallback(answer)).await
}

/// The output that a subscriber has written, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("not poisoned").clone()).expect("UTF-8")
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("not poisoned").extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// A shop that does nothing.
struct TestShop;

impl Shop for TestShop {
    async fn buyer(&self, _: &axum::http::request::Parts) -> Result<Option<Buyer>, Refused> {
        Ok(None)
    }
    async fn purchase(&self, _: &Buyer, _: Value) -> Result<Purchase, Refused> {
        Err(Refused::new(404, Reason { code: "order_missing", message: "There is no such order." }))
    }
    async fn order_changed(&self, _: &Changed) -> Result<(), Refused> {
        Ok(())
    }
}
