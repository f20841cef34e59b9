//! `guichet shop` beside an application that answers well, late, wrongly or not at all.

use crate::support::api::{self, client, phone};
use crate::support::child::{ends_with_tests, spawn};
use crate::support::folder::Folder;
use crate::support::http::{self, Reply, get, post};
use crate::support::postgres::PostgresServer;
use crate::support::wait::until;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::future::join_all;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use standardwebhooks::Webhook;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
const AWA: &str = "Cookie: login=awa-4711";
const PAYS: &str = "237670000000";

/// What the application answers to messages of a type, in place of what it should.
pub(crate) type Wrong = fn() -> Response;

#[derive(Clone)]
pub(crate) struct Message {
    headers: HeaderMap,
    pub(crate) body: Value,
}

/// An application with orders of its own: a version, a state, and how often it has become paid.
#[derive(Clone, Default)]
pub(crate) struct Application(Arc<Mutex<Orders>>);

#[derive(Default)]
struct Orders {
    messages: Vec<Message>,
    wrong: BTreeMap<&'static str, Wrong>,
    /// How long it thinks before an answer.
    pause: Duration,
    /// The process that it kills when it has stored an event, before it answers.
    kills: Option<u32>,
    orders: BTreeMap<String, (i64, String)>,
    shipped: Vec<String>,
}

impl Application {
    fn state(&self) -> MutexGuard<'_, Orders> {
        self.0.lock().unwrap()
    }

    pub(crate) fn answers(&self, kind: &'static str, wrong: Wrong) {
        self.state().wrong.insert(kind, wrong);
    }

    pub(crate) fn answers_well(&self) {
        let mut state = self.state();
        state.wrong.clear();
        state.pause = Duration::ZERO;
    }

    pub(crate) fn messages(&self, kind: &str) -> Vec<Message> {
        self.state().messages.iter().filter(|message| message.body["type"] == kind).cloned().collect()
    }

    pub(crate) fn shipped(&self) -> Vec<String> {
        self.state().shipped.clone()
    }

    async fn serve(&self) -> String {
        http::serve(Router::new().route("/payments", axum::routing::post(receive)).with_state(self.clone())).await
    }
}

async fn receive(State(application): State<Application>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1_000_000).await.unwrap();
    if Webhook::new(SECRET).unwrap().verify(&body, &parts.headers).is_err() {
        return StatusCode::BAD_REQUEST.into_response();
    }
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["audience"], "shoes");
    let kind = body["type"].as_str().unwrap().to_owned();
    let cookie = parts.headers.get("cookie").and_then(|cookie| cookie.to_str().ok()).unwrap_or_default().to_owned();
    let (wrong, pause) = {
        let mut state = application.state();
        if state.messages.len() < 1_000 {
            state.messages.push(Message { headers: parts.headers, body: body.clone() });
        }
        (state.wrong.get(&*kind).copied(), state.pause)
    };
    tokio::time::sleep(pause).await;
    if let Some(wrong) = wrong {
        return wrong();
    }
    match &*kind {
        "customer" => customer(&cookie),
        "purchase" => purchase(&body),
        _ => application.store(&body),
    }
}

fn customer(cookie: &str) -> Response {
    let Some(name) = cookie.strip_prefix("login=").and_then(|login| login.split('-').next()) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let email = format!("{name}@example.com");
    let mut answer = json!({"id": name, "login": cookie, "email": email, "email_verified": true, "firstname": name, "lastname": "Ngono"});
    if name == "mireille" {
        answer["role"] = json!("bookkeeper");
    }
    // A login that lasts from its last use on.
    ([("set-cookie", format!("{cookie}; HttpOnly"))], answer.to_string()).into_response()
}

fn purchase(body: &Value) -> Response {
    let (id, customer) = (body["order"]["id"].as_str().unwrap_or_default(), body["customer"]["id"].as_str().unwrap());
    let name = format!("ORDER-{customer}-{id}");
    let error = |status: StatusCode, body: Value| (status, body.to_string()).into_response();
    match id {
        "" => error(StatusCode::NOT_FOUND, json!({"code": "order_missing", "message": "There is no such order."})),
        "sold-out" => {
            error(StatusCode::CONFLICT, json!({"code": "order_ended", "message": "It is sold out.", "name": name}))
        }
        _ => {
            let purchase = json!({"amount": "45000", "currency": "XAF", "description": "Wouri trainers"});
            ([("set-cookie", "not=handed-on")], json!({"name": name, "purchase": purchase}).to_string()).into_response()
        }
    }
}

impl Application {
    fn store(&self, event: &Value) -> Response {
        let mut state = self.state();
        let (name, version) = (event["name"].as_str().unwrap().to_owned(), event["version"].as_i64().unwrap());
        let now = event["state"].as_str().unwrap().to_owned();
        let before = state.orders.get(&name).cloned();
        if before.as_ref().is_none_or(|(stored, _)| *stored < version) {
            if now == "paid" && before.is_none_or(|(_, state)| state != "paid") {
                state.shipped.push(name.clone());
            }
            state.orders.insert(name, (version, now));
        }
        if let Some(process) = state.kills.take() {
            let killed = Command::new("kill").args(["-9", &process.to_string()]).status().unwrap();
            assert!(killed.success());
        }
        StatusCode::NO_CONTENT.into_response()
    }
}

/// A running `guichet shop`. When it is dropped, the process is killed.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) url: String,
    /// The bookkeeper's page; empty if it is not served.
    pub(crate) admin_url: String,
    service: String,
    key: String,
    control_token: String,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What stays when the process ends: its folder and its application.
pub(crate) struct Shop {
    pub(crate) folder: Folder,
    pub(crate) application: Application,
}

impl Shop {
    pub(crate) async fn new(lines: &str) -> Self {
        let (folder, application) = (Folder::new("shop-process"), Application::default());
        let url = application.serve().await;
        Self::write(&folder, &format!("{lines}\napp = \"{url}/payments\""));
        Self { folder, application }
    }

    fn write(folder: &Folder, lines: &str) {
        let text =
            format!("name = \"shoes\"\npublic_url = \"https://www.shop.example\"\nlisten = \"127.0.0.1:0\"\n{lines}\n");
        fs::write(folder.path.join("shop.toml"), text).unwrap();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = ends_with_tests(env!("CARGO_BIN_EXE_guichet"));
        command.arg("shop").args(arguments).current_dir(&self.folder.path);
        command.env("GUICHET_APP_SECRET", SECRET).env("GUICHET_LOG", "debug");
        for name in ["GUICHET_SECRET_KEY", "GUICHET_BASE_URL", "GUICHET_INSTANCE_KEY", "GUICHET_CONTROL_TOKEN"] {
            command.env_remove(name);
        }
        let log = fs::File::options().create(true).append(true).open(self.folder.log()).unwrap();
        command.stdout(Stdio::piped()).stderr(log);
        command
    }

    /// Starts it with the service in the same process.
    pub(crate) fn start(&self) -> Process {
        self.start_with(self.command(&["--sandbox=127.0.0.1:0", "--json", "--log", "json"]))
    }

    /// Starts it at a service elsewhere, with the key there.
    pub(crate) fn start_at(&self, service: &str, key: &str) -> Process {
        let mut command = self.command(&["--json"]);
        command.env("GUICHET_SECRET_KEY", key).env("GUICHET_BASE_URL", service);
        let mut process = self.start_with(command);
        (process.service, process.key) = (service.to_owned(), key.to_owned());
        process
    }

    pub(crate) fn start_with(&self, command: Command) -> Process {
        let mut child = spawn(command);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("it starts: {}", self.log()));
        let text = |name: &str| ready[name].as_str().unwrap_or_default().to_owned();
        let [url, admin_url, service, key] = ["shop_url", "admin_url", "base_url", "secret_key"].map(text);
        Process { child, url, admin_url, service, key, control_token: text("control_token") }
    }

    /// A file in its folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path.join(name)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.log()).unwrap_or_default()
    }

    /// Runs a command to its end: its exit code, and what it has printed.
    pub(crate) async fn run(&self, arguments: &[&str], key: &str, service: &str) -> (Option<i32>, String) {
        let mut command = self.command(arguments);
        command.env("GUICHET_SECRET_KEY", key).env("GUICHET_BASE_URL", service).env("GUICHET_LOG", "warn");
        command.stderr(Stdio::piped());
        // The application is served by this thread.
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    }
}

impl Process {
    fn pid(&self) -> u32 {
        self.child.id()
    }

    async fn post(&self, path: &str, body: &Value) -> Reply {
        let headers = [AWA, "Origin: https://www.shop.example"];
        post(&format!("{}{path}", self.url), &headers, &body.to_string()).await
    }

    pub(crate) async fn click(&self, order: &str) -> Reply {
        self.post("/guichet/intents", &json!({"id": order})).await
    }

    /// Clicks, and returns the payment.
    pub(crate) async fn begin(&self, order: &str) -> Value {
        let reply = self.click(order).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.json()["intent"].clone()
    }

    pub(crate) async fn status(&self, intent: &Value) -> Value {
        let path = format!("/guichet/intents/{}", intent["payment_ref"].as_str().unwrap());
        get(&format!("{}{path}", self.url), &[AWA, "Sec-Fetch-Site: same-origin"]).await.json()
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Value) -> api::Reply {
        let body = (!body.is_null()).then(|| body.to_string());
        api::send(&client(), method, &format!("{}{path}", self.service), Some(&self.key), body, &[]).await
    }

    pub(crate) async fn pay(&self, intent: &Value) {
        let path = format!("/v1/payment-intents/{}/payment-method", intent["id"].as_str().unwrap());
        let reply = self.call("POST", &path, phone(PAYS)).await;
        assert!(reply.status < 300, "{}", reply.text);
    }

    /// What the sandbox of this process shows of a payment.
    async fn thread(&self, payment: &str) -> Value {
        let url = format!("{}/sandbox/thread?payment={payment}", self.service);
        api::send(&client(), "GET", &url, Some(&self.control_token), None, &[]).await.body
    }

    async fn count_payments(&self) -> usize {
        self.call("GET", "/v1/payment-intents", Value::Null).await.body["data"].as_array().unwrap().len()
    }

    pub(crate) async fn gauge(&self, name: &str) -> Option<i64> {
        let text = get(&format!("{}/metrics", self.url), &[]).await.body;
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    }

    async fn send_message(&self, body: &Value, secret: &str) -> u16 {
        let body = body.to_string();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let signature = Webhook::new(secret).unwrap().sign("msg_1", now as i64, body.as_bytes()).unwrap();
        let headers = [
            "webhook-id: msg_1".to_owned(),
            format!("webhook-timestamp: {now}"),
            format!("webhook-signature: {signature}"),
        ];
        post(&format!("{}/app", self.url), &headers.each_ref().map(String::as_str), &body).await.status
    }
}

#[tokio::test]
async fn a_customer_buys_and_the_application_learns_it_once() {
    let shop = Shop::new("database = \"memory:\"").await;
    let process = shop.start();
    let reply = process.click("17").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(
        reply.header("set-cookie"),
        Some("login=awa-4711; HttpOnly"),
        "the cookie of `customer`, and of no other"
    );
    let intent = reply.json()["intent"].clone();
    assert_eq!((&intent["merchant_reference"], &intent["amount"]), (&json!("ORDER-awa-17"), &json!("45000")));

    let [customer] = &*shop.application.messages("customer") else { panic!("one question about the customer") };
    let header = |name: &str| customer.headers.get(name).and_then(|value| value.to_str().ok());
    assert_eq!((header("host"), header("x-forwarded-proto")), (Some("www.shop.example"), Some("https")));
    assert_eq!(header("cookie"), Some("login=awa-4711"));
    assert_eq!(customer.body["credentials"], hex::encode(Sha256::digest("login=awa-4711\n")));
    let [purchase] = &*shop.application.messages("purchase") else { panic!("one question about the order") };
    assert_eq!((&purchase.body["order"], purchase.headers.get("cookie")), (&json!({"id": "17"}), None));
    assert_eq!(
        (&purchase.body["customer"]["id"], &purchase.body["customer"]["language"]),
        (&json!("awa"), &json!("en"))
    );

    process.pay(&intent).await;
    let status = process.status(&intent).await;
    assert_eq!((&status["status"], &status["delivered"]), (&json!("succeeded"), &json!(true)), "{status}");
    assert_eq!(shop.application.shipped(), ["ORDER-awa-17"]);
    let stored = process.call("GET", "/v1/payment-intents", Value::Null).await.body["data"][0]["redirect_url"].clone();
    assert!(
        stored.as_str().unwrap().starts_with("https://www.shop.example/guichet/return?guichet_return="),
        "{stored}"
    );

    // A sold-out order and an unknown one are the application's own errors.
    let missing = process.click("").await;
    assert_eq!((missing.status, missing.json()["message"].clone()), (404, json!("There is no such order.")));
    assert_eq!(process.click("sold-out").await.json()["error"]["code"], "order_ended");
    let signed_out =
        post(&format!("{}/guichet/intents", process.url), &["Origin: https://www.shop.example"], "{}").await;
    assert_eq!(signed_out.status, 401);
    let elsewhere =
        post(&format!("{}/guichet/intents", process.url), &[AWA, "Origin: https://evil.example"], "{}").await;
    assert_eq!(elsewhere.status, 403, "a page of another site");
}

#[tokio::test]
async fn each_delivery_to_the_application_is_in_the_thread_of_its_purchase() {
    let shop = Shop::new("database = \"memory:\"").await;
    let process = shop.start();
    let intent = process.begin("17").await;
    let deliveries = async |payment: &str| {
        let thread = process.thread(payment).await;
        let entries = thread["entries"].as_array().unwrap().iter().filter(|entry| entry["kind"] == "delivery");
        (thread["purchase"].clone(), entries.cloned().collect::<Vec<_>>())
    };
    assert_eq!(deliveries("ORDER-awa-17").await.1, Vec::<Value>::new(), "nothing has changed for the application");

    shop.application.answers("order_changed", || StatusCode::INTERNAL_SERVER_ERROR.into_response());
    process.pay(&intent).await;
    assert_eq!(process.status(&intent).await["delivered"], false);
    let (purchase, refused) = deliveries("ORDER-awa-17").await;
    assert_eq!((&purchase["differs"], &purchase["reported"]), (&json!(true), &Value::Null), "{purchase}");
    let members = |entry: &Value| {
        let names = ["attempt", "by", "differs", "error", "http_status", "operation", "status"];
        json!(names.map(|name| entry[name].clone()))
    };
    assert_eq!(
        members(&refused[0]),
        json!([1, "shop", true, "answers 500: see its log", null, "order_changed", "paid"])
    );

    shop.application.answers_well();
    until("the application has received it", async || deliveries("ORDER-awa-17").await.0["differs"] == false).await;
    let (purchase, all) = deliveries("ORDER-awa-17").await;
    assert_eq!(
        (&purchase["reported"]["operation"], &purchase["reported"]["status"]),
        (&json!("order_changed"), &json!("paid"))
    );
    let last = all.last().unwrap();
    assert_eq!(members(last), json!([all.len(), "shop", false, null, 204, "order_changed", "paid"]));
    assert_eq!(last["reported"], json!({ "status": "paid", "duplicates": 0 }));

    // The ledger does not wait for the first delivery as long as for the next ones.
    let other = process.begin("18").await;
    process.status(&other).await;
    process.pay(&other).await;
    shop.application.state().pause = Duration::from_secs(4);
    process.status(&other).await;
    shop.application.answers_well();
    assert_eq!(deliveries("ORDER-awa-18").await.1[0]["error"], "has not answered in time");
    assert_eq!(deliveries("ORDER-awa-17").await.1.len(), all.len(), "those of another order");
}

#[tokio::test]
async fn a_status_reading_asks_again_after_five_seconds_and_a_click_asks_always() {
    let shop = Shop::new("database = \"memory:\"").await;
    let process = shop.start();
    let intent = process.begin("17").await;
    let count = || shop.application.messages("customer").len();
    for _ in 0..3 {
        process.status(&intent).await;
    }
    assert_eq!(count(), 2, "one for the click, one for the readings");
    process.begin("18").await;
    assert_eq!(count(), 3);
    // Other credentials are another customer.
    let path = format!("{}/guichet/intents/{}", process.url, intent["payment_ref"].as_str().unwrap());
    assert_eq!(get(&path, &["Cookie: login=paul-1"]).await.status, 404);
    assert_eq!(get(&path, &[]).await.status, 401);
    // Readings do not prolong it.
    let before = count();
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_secs(2)).await;
        process.status(&intent).await;
    }
    assert!((before + 1..before + 4).contains(&count()), "{} questions in 8 s", count() - before);
    let before = count();
    tokio::time::sleep(Duration::from_secs(5)).await;
    process.status(&intent).await;
    assert_eq!(count(), before + 1);
    // A sign-out counts at once.
    assert_eq!(
        process
            .send_message(&json!({"type": "login_ended", "audience": "shoes", "login": "login=awa-4711"}), SECRET)
            .await,
        204
    );
    process.status(&intent).await;
    assert_eq!(count(), before + 2);
}

#[tokio::test]
async fn a_login_that_has_ended_has_no_token() {
    let shop = Shop::new("database = \"memory:\"").await;
    let process = shop.start();
    let token =
        process.post("/guichet/session", &Value::Null).await.json()["session_token"].as_str().unwrap().to_owned();
    let is_valid = async || {
        let url = format!("{}/v1/sessions/validate", process.service);
        api::send(&client(), "POST", &url, Some(&token), None, &[]).await.body["data"]["valid"] == json!(true)
    };
    assert!(is_valid().await);
    let ended = json!({"type": "login_ended", "audience": "shoes", "login": "login=awa-4711"});
    let with = |name: &str, value: &str| {
        let mut message = ended.clone();
        message[name] = json!(value);
        message
    };
    assert_eq!(process.send_message(&ended, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").await, 401);
    assert_eq!(process.send_message(&with("audience", "hats"), SECRET).await, 400);
    assert_eq!(process.send_message(&with("type", "customer"), SECRET).await, 400);
    assert_eq!(process.send_message(&json!([]), SECRET).await, 400);
    assert_eq!(post(&format!("{}/app", process.url), &[], &ended.to_string()).await.status, 401);
    assert!(is_valid().await, "none of these has ended it");
    assert_eq!(process.send_message(&ended, SECRET).await, 204);
    assert!(!is_valid().await);
    assert_eq!(
        process.post("/guichet/session", &Value::Null).await.status,
        401,
        "no other token for a login that has ended"
    );
}

fn redirect(to: &'static str) -> Response {
    (StatusCode::FOUND, [("location", to)]).into_response()
}

#[tokio::test]
async fn an_application_that_does_not_answer_as_it_should_costs_no_customer_anything() {
    let shop = Shop::new("database = \"memory:\"").await;
    let process = shop.start();
    let of_customer: [(Wrong, &str); 11] = [
        (|| redirect("https://www.shop.example/payments"), "it wants https"),
        (|| redirect("/payments/"), "the slash at its end"),
        (|| redirect("/login?next=/payments"), "it wants a login"),
        (|| StatusCode::BAD_REQUEST.into_response(), "its secret is not this one"),
        (|| StatusCode::FORBIDDEN.into_response(), "CSRF tokens"),
        (|| StatusCode::from_u16(419).unwrap().into_response(), "CSRF tokens"),
        (|| StatusCode::NOT_FOUND.into_response(), "no such address"),
        (|| StatusCode::BAD_GATEWAY.into_response(), "answers 502"),
        (|| "<!doctype html><title>Sign in".into_response(), "gives no object in JSON"),
        (|| json!({"email": "awa@example.com"}).to_string().into_response(), "neither the `id`"),
        (|| "x".repeat(70_000).into_response(), "gives no object in JSON"),
    ];
    for (wrong, cause) in of_customer {
        shop.application.answers("customer", wrong);
        is_refused(&shop, &process, cause).await;
    }
    shop.application.answers_well();
    let of_purchase: [(Wrong, &str); 6] = [
        (|| json!({"purchase": {}}).to_string().into_response(), "`name` is missing"),
        (|| json!({"name": "ORDER-1"}).to_string().into_response(), "`purchase` is missing"),
        (
            || json!({"name": "ORDER-1", "purchase": {"amount": 1.5, "description": "x"}}).to_string().into_response(),
            "`amount`",
        ),
        (
            || {
                json!({"name": "ORDER-1", "purchase": {"amount": "1", "description": "x", "ammount": "2"}})
                    .to_string()
                    .into_response()
            },
            "`ammount`",
        ),
        (
            || (StatusCode::FORBIDDEN, json!({"message": "CSRF token mismatch."}).to_string()).into_response(),
            "CSRF tokens",
        ),
        (|| redirect("/login"), "it wants a login"),
    ];
    for (wrong, cause) in of_purchase {
        shop.application.answers("purchase", wrong);
        is_refused(&shop, &process, cause).await;
    }
    shop.application.answers_well();
    shop.application.state().pause = Duration::from_secs(60);
    let began = Instant::now();
    is_refused(&shop, &process, "has not answered within 3 s").await;
    assert!(began.elapsed() < Duration::from_secs(20), "a page does not wait for the application");
    assert_eq!(process.count_payments().await, 0, "nothing was created");
    shop.application.answers_well();
    process.begin("17").await;
    for secret in [SECRET.trim_start_matches("whsec_"), &process.key, "awa-4711"] {
        assert!(!shop.log().contains(secret), "a secret is in the log");
    }
}

/// A click is refused in words, and the log has the cause.
async fn is_refused(shop: &Shop, process: &Process, cause: &str) {
    let before = shop.log().len();
    let reply = process.click("17").await;
    assert_eq!((reply.status, reply.json()["error"]["code"].clone()), (503, json!("unavailable")), "{cause}");
    assert!(reply.json()["message"].as_str().unwrap().contains("Nothing is lost"), "{}", reply.body);
    assert!(shop.log()[before..].contains(cause), "{cause}: {}", &shop.log()[before..]);
}

#[tokio::test]
async fn an_event_waits_for_an_application_that_is_down_and_the_page_says_so() {
    let shop = Shop::new("").await;
    let process = shop.start();
    let intent = process.begin("17").await;
    shop.application.answers("order_changed", || StatusCode::SERVICE_UNAVAILABLE.into_response());
    process.pay(&intent).await;
    let status = process.status(&intent).await;
    assert_eq!((&status["status"], &status["delivered"]), (&json!("succeeded"), &json!(false)), "{status}");
    let path = format!("{}/guichet/return?payment_ref={}", process.url, intent["payment_ref"].as_str().unwrap());
    let page = get(&path, &[AWA]).await;
    assert!(
        page.body.contains("You have paid; the shop is being informed.") && page.header("refresh").is_some(),
        "{}",
        page.body
    );
    until("the gauge counts it", async || process.gauge("guichet_events_waiting").await == Some(1)).await;
    let (code, listed) = shop.run(&["events", "list"], &process.key, &process.service).await;
    assert!(code == Some(0) && listed.contains("ORDER-awa-17") && listed.contains("paid"), "{listed}");
    let (code, resent) = shop.run(&["events", "resend"], &process.key, &process.service).await;
    assert!(code == Some(1) && resent.contains("received 0 of 1 events"), "{resent}");

    let (key, service) = (process.key.clone(), process.service.clone());
    drop(process);
    shop.application.answers_well();
    let (code, resent) = shop.run(&["events", "resend"], &key, &service).await;
    assert!(code == Some(0) && resent.contains("received 1 of 1 events"), "{resent}");
    let process = shop.start();
    let path = format!("{}/guichet/return?payment_ref={}", process.url, intent["payment_ref"].as_str().unwrap());
    assert_eq!(process.status(&intent).await["delivered"], json!(true));
    assert!(get(&path, &[AWA]).await.body.contains("Thank you. You have paid."));
    assert_eq!(shop.application.shipped(), ["ORDER-awa-17"]);
    let mut ids: Vec<_> = shop
        .application
        .messages("order_changed")
        .iter()
        .map(|sent| (sent.body["version"].clone(), sent.headers["webhook-id"].clone()))
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "a resend has the id of the first");
}

#[tokio::test]
async fn goods_leave_once_if_the_process_is_killed_before_it_has_noted_the_answer() {
    let shop = Shop::new("").await;
    let process = shop.start();
    let intent = process.begin("17").await;
    shop.application.state().kills = Some(process.pid());
    process.pay(&intent).await;
    until("it was killed", async || shop.application.state().kills.is_none()).await;
    assert_eq!(shop.application.shipped(), ["ORDER-awa-17"]);
    drop(process);
    let process = shop.start();
    until("the event comes again", async || shop.application.messages("order_changed").len() > 1).await;
    until("it is noted", async || process.gauge("guichet_events_waiting").await == Some(0)).await;
    let messages = shop.application.messages("order_changed");
    let ids: Vec<_> = messages.iter().map(|sent| &sent.headers["webhook-id"]).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(shop.application.shipped(), ["ORDER-awa-17"]);
}

#[tokio::test]
async fn two_instances_on_postgresql_lose_nothing_when_one_is_killed() {
    let database = PostgresServer::shared().create_database();
    let shop = Shop::new(&format!("database = \"{database}\"")).await;
    let service = crate::support::service::Sandbox::start().await.unwrap();
    let merchant = api::Merchant::of(&service, "Two instances").await;
    let [mut one, two] = [(); 2].map(|()| shop.start_at(&merchant.base_url, &merchant.key()));
    let token = one.post("/guichet/session", &Value::Null).await.json()["session_token"].clone();
    assert_eq!(two.post("/guichet/session", &Value::Null).await.json()["session_token"], token, "they share sessions");
    let intents = join_all((0..12).map(|order| {
        let process = if order % 2 == 0 { &one } else { &two };
        async move { process.begin(&order.to_string()).await }
    }));
    let intents = intents.await;
    shop.application.state().pause = Duration::from_millis(200);
    join_all(intents.iter().map(|intent| two.pay(intent))).await;
    until("some have left", async || !shop.application.shipped().is_empty()).await;
    one.child.kill().unwrap();
    until("all have left", async || shop.application.shipped().len() == 12).await;
    until("nothing waits", async || two.gauge("guichet_events_waiting").await == Some(0)).await;
    let mut shipped = shop.application.shipped();
    shipped.sort();
    shipped.dedup();
    assert_eq!(shipped.len(), 12, "each once");
}

#[tokio::test]
async fn it_says_how_it_is_and_ends_by_a_signal() {
    let shop = Shop::new("public_reads = true").await;
    let process = shop.start();
    let url = process.url.clone();
    until("it is ready", async || get(&format!("{url}/readyz"), &[]).await.status == 200).await;
    assert_eq!(get(&format!("{url}/healthz"), &[]).await.status, 200);
    process.begin("17").await;
    let metrics = get(&format!("{url}/metrics"), &[]).await;
    assert_eq!(metrics.header("content-type"), Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
    for name in ["payments_open", "payment_unread_seconds", "payments_not_readable", "refunds_due", "events_waiting"] {
        assert!(metrics.body.contains(&format!("\nguichet_{name} ")), "{}", metrics.body);
    }
    for of in ["service", "application"] {
        assert!(metrics.body.contains(&format!("guichet_clock_ahead_seconds{{of=\"{of}\"}}")), "{}", metrics.body);
    }
    let fee = get(&format!("{url}/guichet/payment-methods"), &["Sec-Fetch-Site: same-origin"]).await;
    assert_eq!(fee.status, 200, "{}", fee.body);

    // A request in flight does not hold it: the application may think for longer than the process has.
    shop.application.state().pause = Duration::from_secs(60);
    let path = format!("{url}/guichet/intents");
    let waiting =
        tokio::spawn(async move { post(&path, &[AWA, "Origin: https://www.shop.example"], "{}").await.status });
    until("it asks", async || shop.application.messages("customer").len() > 1).await;
    let began = Instant::now();
    assert!(Command::new("kill").arg(process.pid().to_string()).status().unwrap().success());
    let mut process = process;
    let ended = tokio::task::spawn_blocking(move || process.child.wait().unwrap()).await.unwrap();
    assert!(ended.success() && began.elapsed() < Duration::from_secs(5), "{ended} after {:?}", began.elapsed());
    assert_eq!(waiting.await.unwrap(), 503, "what has begun is answered");
}

/// An attempt that was declined is approved after another one has paid: its money is to be given back, and a person
/// says when it was.
#[tokio::test]
async fn a_bookkeeper_sees_what_is_due_and_keeps_who_decided_what() {
    let shop = Shop::new("database = \"sqlite:orders.sqlite\"").await;
    let service = crate::support::service::Sandbox::start().await.unwrap();
    let merchant = api::Merchant::of(&service, "Bookkeeper").await;
    let process = shop.start_at(&merchant.base_url, &merchant.key());
    let run = async |arguments: &[&str]| shop.run(arguments, &merchant.key(), &merchant.base_url).await;
    let intent = process.begin("17").await;
    let id = intent["id"].as_str().unwrap();
    let attach = async |number: &str| {
        let path = format!("/v1/payment-intents/{id}/payment-method");
        let reply = process.call("POST", &path, phone(number)).await;
        assert!(reply.status < 300, "{}", reply.text);
    };
    for _ in 0..2 {
        attach("237670000013").await;
        merchant.tenant.clock().advance(10).await.unwrap();
    }
    attach(PAYS).await;
    process.status(&intent).await;
    let (code, listed) = run(&["refunds", "list"]).await;
    assert!(code == Some(0) && listed.contains("No refund is due"), "{listed}");
    merchant.tenant.clock().advance(300).await.unwrap();
    process.status(&intent).await;

    let (code, listed) = run(&["refunds", "list", "--json"]).await;
    let due = &serde_json::from_str::<Value>(listed.lines().next().unwrap()).unwrap()["refunds"];
    assert!(code == Some(0) && due[0]["id"] == id && due[0]["order"] == "ORDER-awa-17", "{listed}");
    let (_, orders) = run(&["orders", "list"]).await;
    assert!(orders.starts_with("ORDER-awa-17  paid  45"), "{orders}");
    let (code, output) = run(&["refunds", "done", id, "--note", "by bank transfer"]).await;
    assert!(code == Some(2) && output.contains("--by"), "{output}");
    // Two attempts were paid besides: one command says of one that it was given back.
    assert_eq!(due.as_array().unwrap().len(), 2, "{listed}");
    let done = ["refunds", "done", id, "--by", "Mireille", "--note", "by bank transfer"];
    let (code, output) = run(&done).await;
    assert!(code == Some(1) && output.contains("--attempt"), "{output}");
    let first = due[0]["attempt"].as_str().unwrap();
    let one = [&done[..], &["--attempt", first]].concat();
    let (code, output) = run(&one).await;
    assert_eq!(code, Some(0), "{output}");
    let (_, listed) = run(&["refunds", "list"]).await;
    let second = due[1]["attempt"].as_str().unwrap();
    assert!(listed.lines().count() == 1 && listed.contains(&format!("attempt {second}")), "{listed}");
    let (code, output) = run(&one).await;
    assert!(code == Some(1) && output.contains("No such refund"), "{output}");
    let (code, output) = run(&done).await;
    assert_eq!(code, Some(0), "{output}");
    let (_, shown) = run(&["orders", "show", "ORDER-awa-17"]).await;
    let history = format!("Mireille: refunded, attempt {first}: by bank transfer");
    assert!(shown.contains(&history) && !shown.contains("refund is due"), "{shown}");
    assert!(!shown.contains("awa@example.com"), "no personal data: {shown}");
    let last = shop.application.messages("order_changed").pop().unwrap();
    assert_eq!(last.body["refunds_due"], json!([]), "the application learns it, too");

    // Of a payment that is as it was sent nothing is to be decided, and no order becomes paid by a slip of the
    // keyboard.
    let (_, listed) = run(&["mismatches", "list"]).await;
    assert!(listed.contains("Nothing is to be decided"), "{listed}");
    let paid =
        ["mismatches", "resolve", "ORDER-awa-17", "--id", id, "--by", "Mireille", "--note", "x", "--paid", "45000"];
    let (code, output) = run(&paid).await;
    assert!(code == Some(2) && output.contains("--confirm"), "{output}");
    let (code, output) = run(&[&paid[..], &["--confirm", "4500"]].concat()).await;
    assert!(code == Some(1) && output.contains("Nothing was decided"), "{output}");
}

#[tokio::test]
async fn an_application_may_listen_on_a_unix_socket() {
    let shop = Shop { folder: Folder::new("shop-socket"), application: Application::default() };
    let socket = shop.folder.path.join("app.sock");
    let routes = Router::new().route("/payments", axum::routing::post(receive)).with_state(shop.application.clone());
    let listener = tokio::net::UnixListener::bind(&socket).unwrap();
    tokio::spawn(async { axum::serve(listener, routes).await });
    // The host is of no network: it is not looked up.
    let lines = "app = \"http://application.invalid/payments\"\napp_socket = \"app.sock\"\ndatabase = \"memory:\"";
    Shop::write(&shop.folder, lines);
    let process = shop.start();
    process.begin("17").await;
    assert_eq!(shop.application.messages("customer")[0].headers["host"], "www.shop.example");
}

#[tokio::test]
async fn an_application_to_begin_with_is_written_into_an_empty_folder() {
    let shop = Shop { folder: Folder::new("shop-init"), application: Application::default() };
    let package = shop.folder.path.join("package");
    fs::create_dir(&package).unwrap();
    for (name, text) in [("package.json", "{}"), ("guichet.js", "// the package")] {
        fs::write(package.join(name), text).unwrap();
    }
    for (kind, file) in [("django", "shop.py"), ("go", "main.go"), ("laravel", "index.php")] {
        let init = ["init", "--package", "package", kind, kind];
        let (code, output) = shop.run(&init, "", "").await;
        assert!(code == Some(0) && output.contains("guichet shop --sandbox"), "{output}");
        let folder = shop.folder.path.join(kind);
        for name in [file, "shop.toml", "README.md", "page/page.js", "page/package/guichet.js", ".gitignore"] {
            assert!(folder.join(name).is_file(), "{kind}: {name}");
        }
        let secret = folder.join("app-secret");
        assert_eq!(fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::read_to_string(&secret).unwrap().starts_with("whsec_"));
        let (code, output) = shop.run(&init, "", "").await;
        assert!(code == Some(1) && output.contains("Nothing was written"), "{output}");
    }
    let (code, output) = shop.run(&["init", "rails", "rails"], "", "").await;
    assert!(code == Some(2) && output.contains("django"), "{output}");
    // Every user of the machine could read the secret.
    let folder = shop.folder.path.join("go");
    fs::set_permissions(folder.join("app-secret"), fs::Permissions::from_mode(0o644)).unwrap();
    let mut command = shop.command(&["--config", "go/shop.toml"]);
    command.env_remove("GUICHET_APP_SECRET").stderr(Stdio::piped());
    let output = command.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("chmod 600"), "{output:?}");
}

#[tokio::test]
async fn a_ledger_of_test_payments_is_none_of_live_ones() {
    let shop = Shop::new("database = \"sqlite:orders.sqlite\"").await;
    drop(shop.start());
    let live = "sk_live_0123456789abcdefghij";
    let (code, output) = shop.run(&[], live, "http://127.0.0.1:9").await;
    assert!(code == Some(1) && output.contains("Name another database"), "{output}");
}

/// An order's guest becomes a customer by the sign-in that ends the visit.
#[tokio::test]
async fn a_guest_buys_and_reads_the_payment_after_the_sign_in() {
    let shop = Shop::new("database = \"memory:\"").await;
    let process = shop.start();
    shop.application.answers("customer", || {
        let guest = json!({"guest": "visit-1", "firstname": "Awa", "lastname": "Ngono", "phone": "237670000000"});
        guest.to_string().into_response()
    });
    let origin = "Origin: https://www.shop.example";
    // The application of this test names the order by the customer's id; a guest has none.
    shop.application.answers("purchase", || {
        let purchase = json!({"amount": "45000", "description": "Wouri trainers"});
        json!({"name": "ORDER-of-a-guest", "purchase": purchase}).to_string().into_response()
    });
    let begun = post(&format!("{}/guichet/intents", process.url), &["Cookie: v=1", origin], "{}").await;
    assert_eq!(begun.status, 200, "{}", begun.body);
    let session = post(&format!("{}/guichet/session", process.url), &["Cookie: v=1", origin], "").await;
    assert_eq!(session.status, 401, "a guest has no session");
    let path = format!("{}/guichet/intents/{}", process.url, begun.json()["intent"]["payment_ref"].as_str().unwrap());
    shop.application.answers("customer", || json!({"id": "awa"}).to_string().into_response());
    assert_eq!(get(&path, &["Cookie: c=1"]).await.status, 404, "the visit is not named");
    shop.application.answers("customer", || json!({"id": "awa", "visit": "visit-1"}).to_string().into_response());
    assert_eq!(get(&path, &["Cookie: c=2"]).await.status, 200);
}

#[tokio::test]
async fn wrong_settings_end_it_with_a_sentence() {
    let folder = Folder::new("shop-settings");
    let shop = Shop { folder, application: Application::default() };
    let started = async |lines: &str| {
        Shop::write(&shop.folder, lines);
        shop.run(&[], "sk_test_0123456789abcdef", "http://127.0.0.1:9").await
    };
    let app = "app = \"http://127.0.0.1:9/payments\"";
    for (lines, sentence) in [
        ("", "missing field `app`".to_owned()),
        ("app = \"http://app.internal/payments\"", "private_network = true".to_owned()),
        (&format!("{app}\nlisten_at = 3"), "listen_at".to_owned()),
        (&format!("{app}\npath = \"guichet\""), "`path`".to_owned()),
        (&format!("{app}\norigins = [\"https://shop.example/x\"]"), "https://shop.example/x".to_owned()),
        (&format!("{app}\ndatabase = \"mysql://x\""), "`database`".to_owned()),
        (&format!("{app}\nprofile = \"none.json\""), "none.json".to_owned()),
    ] {
        let (code, output) = started(lines).await;
        assert!(code == Some(1) && output.contains(&sentence), "{code:?} {output}");
    }
    fs::remove_file(shop.folder.path.join("shop.toml")).unwrap();
    let (code, output) = shop.run(&[], "sk_test_0123456789abcdef", "http://127.0.0.1:9").await;
    assert!(code == Some(1) && output.contains("guichet shop init"), "{output}");
}
