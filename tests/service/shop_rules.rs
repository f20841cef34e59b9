//! The rules of a merchant's server: `tests/shop/*.json`, against `Routes`. The npm package guichet-server passes the
//! same (`tests/shop/run.mjs`).

use crate::support::fake_service::{FakeService, ScriptedResponse};
use crate::support::http::{Reply, send};
use crate::support::orders;
use axum::http::request::Parts;
use guichet::native::ledger::Changed;
use guichet::native::{Buyer, Ledger, Owner, Purchase, Reason, Refused, Routes, Shop};
use guichet::operations::{CreatePaymentIntent, CustomerName};
use guichet::values::{Amount, Email, MerchantReference, RedirectUrl};
use guichet::{Client, SecretKey};
use guichet_orders::SqliteOrders;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// The service's time, as `run.mjs` has it.
const DATE: &[&str] = &["Date: Wed, 25 Nov 2026 18:40:00 GMT"];

#[tokio::test]
async fn which_page_may_ask() {
    check(include_str!("../shop/guard.json")).await;
}

#[tokio::test]
async fn the_route_of_sessions() {
    check(include_str!("../shop/session.json")).await;
}

#[tokio::test]
async fn the_route_of_payments() {
    check(include_str!("../shop/intents.json")).await;
}

#[tokio::test]
async fn the_route_of_their_status() {
    check(include_str!("../shop/status.json")).await;
}

#[tokio::test]
async fn the_page_of_a_customer_without_script() {
    check(include_str!("../shop/return.json")).await;
}

#[tokio::test]
async fn the_reads_of_methods_and_fees() {
    check(include_str!("../shop/reads.json")).await;
}

/// guichet-server answers so, too: `tests/shop/run.mjs`.
#[tokio::test]
async fn an_order_of_more_than_64_kib_is_refused() {
    let client = Client::builder("http://127.0.0.1:1", SecretKey::new("sk_test_1").unwrap()).build().unwrap();
    for (content_type, part) in [
        ("application/json", r#""code":"body_too_large""#),
        ("application/x-www-form-urlencoded", "<p>The order is too large.</p>"),
    ] {
        let request_of = json!({"method": "POST", "path": "/intents", "headers": {"content-type": content_type}});
        let mut case = json!({"shop": {"customer": {"id": "awa"}}, "request": request_of});
        case["request"]["body"] = json!("7".repeat(64 * 1024 + 1));
        let shop = Arc::new(TestShop { data: case["shop"].clone(), calls: Mutex::default() });
        let ledger = Ledger::new(client.clone(), orders::in_memory().await);
        let reply = request(&case, routes(&case, &ledger, &shop)).await;
        assert!(reply.status == 413 && reply.body.contains(part), "{}: {}", reply.status, reply.body);
    }
}

/// Runs each case of a file; a member of a case replaces the file's, and those of `shop` and `request` one by one.
async fn check(file: &str) {
    let file: Value = serde_json::from_str(file).expect("JSON");
    let mut failed = Vec::new();
    for case in file["cases"].as_array().expect("cases").iter() {
        let mut whole = file.clone();
        for (name, value) in case.as_object().expect("a case") {
            merge(&mut whole[name], value, matches!(name.as_str(), "shop" | "request"));
        }
        let wrong = run(&whole).await;
        failed.extend(wrong.iter().map(|wrong| format!("{}: {wrong}", case["name"])));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn merge(onto: &mut Value, value: &Value, one_by_one: bool) {
    match (onto.as_object_mut(), value.as_object()) {
        (Some(onto), Some(members)) if one_by_one => onto.extend(members.clone()),
        _ => *onto = value.clone(),
    }
}

/// What is wrong.
async fn run(case: &Value) -> Vec<String> {
    let none = Vec::new();
    let responses = case["service"].as_array().unwrap_or(&none).iter().map(|reply| response(case, reply));
    let service = FakeService::start(responses.collect()).await;
    // Of no test environment, where the service is also asked for its time.
    let key = SecretKey::new("sk_live_1").expect("a key");
    let client = Client::builder(&service.base_url, key).build().expect("a client");
    let shop = Arc::new(TestShop { data: case["shop"].clone(), calls: Mutex::default() });
    let (mut wrong, orders) = (Vec::new(), orders::in_memory().await);
    if let Some(kept) = case["shop"].get("kept") {
        let [name, id, payment_ref] = ["merchant_reference", "intent", "payment_ref"].map(|name| text(&kept[name]));
        let owner = text(&kept["owner"]);
        let (kind, login) = owner.split_once(':').expect("an owner");
        let owner: Owner = serde_json::from_value(json!({ kind: login })).expect("an owner");
        orders::begun(&orders, &owner, &name, kept, [&id, &payment_ref]).await;
    }
    for number in 0..case["shop"]["open"].as_u64().unwrap_or_default() {
        let (awa, name) = (Owner::Customer("awa".to_owned()), format!("OPEN-{number}"));
        let costs = json!({"amount": "1", "currency": "XAF"});
        orders::begun(&orders, &awa, &name, &costs, [&format!("pi_open_{number}"), &name]).await;
    }
    let ledger = Ledger::new(client, orders);
    let reply = request(case, routes(case, &ledger, &shop)).await;
    let nonce = match ledger.order(&text(&case["shop"]["purchase"]["merchant_reference"])).await.expect("the store") {
        Some(order) => order.payments[0].nonce.clone(),
        None => String::new(),
    };
    let filled = |expected: &Value| filled(expected, &nonce);
    verify(&mut wrong, &reply, &filled(&case["reply"]));
    let requests = service.requests();
    let sent: Vec<_> = requests.iter().map(|request| request.split(" HTTP").next().unwrap_or_default()).collect();
    expect(&mut wrong, "sent", &json!(sent), &case["sent"]);
    for (request, body) in requests.iter().zip(filled(&case["bodies"]).as_array().unwrap_or(&none)) {
        let (_, sent) = request.split_once("\r\n\r\n").expect("a body");
        expect(&mut wrong, "body", &serde_json::from_str(sent).unwrap_or_default(), body);
    }
    if let Some(calls) = case.get("calls") {
        expect(&mut wrong, "calls", &json!(*shop.calls.lock().expect("not poisoned")), calls);
    }
    wrong
}

fn routes(case: &Value, ledger: &Ledger<SqliteOrders>, shop: &Arc<TestShop>) -> axum::Router {
    let mut routes = Routes::new(ledger.clone(), Arc::clone(shop));
    for origin in texts(&case["shop"]["origins"]) {
        routes = routes.allow_origin(origin).expect("an origin");
    }
    for origin in texts(&case["shop"]["checkoutOrigins"]) {
        routes = routes.checkout_origin(origin).expect("an origin");
    }
    if case["shop"]["publicReads"] == true {
        routes = routes.public_reads();
    }
    axum::Router::new().nest("/guichet", routes.router())
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

async fn request(case: &Value, router: axum::Router) -> Reply {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let server = tokio::spawn(async { axum::serve(listener, router).await });
    let request = &case["request"];
    let headers = request["headers"].as_object().expect("headers");
    let headers: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {}", text(value))).collect();
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    let body = match &request["body"] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        json => json.to_string(),
    };
    let url = format!("http://{address}/guichet{}", text(&request["path"]));
    let reply = send(&text(&request["method"]), &url, &headers, &body).await;
    server.abort();
    reply
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn verify(wrong: &mut Vec<String>, reply: &Reply, expected: &Value) {
    expect(wrong, "status", &json!(reply.status), &expected["status"]);
    for (name, value) in expected["headers"].as_object().into_iter().flatten() {
        expect(wrong, name, &json!(reply.header(name)), value);
    }
    if let Some(body) = expected.get("body") {
        expect(wrong, "body", &serde_json::from_str(&reply.body).unwrap_or_default(), body);
    }
    for part in texts(&expected["has"]).filter(|part| !reply.body.contains(part)) {
        wrong.push(format!("the reply lacks {part}: {}", reply.body));
    }
    for secret in texts(&expected["not"]) {
        if reply.body.contains(secret) {
            wrong.push(format!("the reply contains {secret}: {}", reply.body));
        }
    }
}

/// Compares the members that are expected.
fn expect(wrong: &mut Vec<String>, what: &str, found: &Value, expected: &Value) {
    match (found, expected) {
        (Value::Object(found), Value::Object(members)) => {
            for (name, value) in members {
                expect(wrong, &format!("{what}.{name}"), found.get(name).unwrap_or(&Value::Null), value);
            }
        }
        _ => {
            if found != expected {
                wrong.push(format!("{what} is {found}, and not {expected}"));
            }
        }
    }
}

/// With the nonce of the order.
fn filled(expected: &Value, nonce: &str) -> Value {
    let text = expected.to_string().replace("{nonce}", nonce).replace("{nonce ORDER-18}", nonce);
    serde_json::from_str(&text).expect("JSON")
}

fn response(case: &Value, reply: &Value) -> ScriptedResponse {
    if reply == "lost" {
        return ScriptedResponse::CloseConnection;
    }
    if let Some(changed) = reply.get("intent") {
        let mut intent = case["intent"].clone();
        merge(&mut intent, changed, true);
        let headers = if reply["has_no_date"] == true { &[] } else { DATE };
        return ScriptedResponse::Reply("200 OK", headers, json!({ "status_code": 200, "data": intent }).to_string());
    }
    let headers: &[&str] = if reply["headers"].is_object() { &["Location: https://evil.example/"] } else { &[] };
    let status = match reply["status"].as_u64() {
        Some(201) => "201 Created",
        Some(302) => "302 Found",
        Some(401) => "401 Unauthorized",
        Some(404) => "404 Not Found",
        Some(409) => "409 Conflict",
        Some(422) => "422 Unprocessable Content",
        Some(429) => "429 Too Many Requests",
        Some(500) => "500 Internal Server Error",
        Some(502) => "502 Bad Gateway",
        Some(503) => "503 Service Unavailable",
        _ => "200 OK",
    };
    let body = reply["body"].as_str().map_or_else(|| reply["body"].to_string(), str::to_owned);
    ScriptedResponse::Reply(status, headers, body)
}

/// A shop that answers what a case says, and remembers what was called.
struct TestShop {
    data: Value,
    calls: Mutex<Vec<String>>,
}

impl TestShop {
    fn called(&self, name: &str, with: &str) -> Result<(), Refused> {
        self.calls.lock().expect("not poisoned").push(format!("{name} {with}"));
        if texts(&self.data["fails"]).any(|fails| fails == name) {
            return Err(Refused::broken("the disk is full"));
        }
        match &self.data["refuses"][name] {
            Value::Null => Ok(()),
            refusal => {
                let (code, message) = (&*text(&refusal["code"]), &*text(&refusal["message"]));
                let status = refusal["status"].as_u64().and_then(|status| status.try_into().ok()).expect("a status");
                Err(Refused::new(status, Reason { code, message }))
            }
        }
    }
}

impl Shop for TestShop {
    async fn buyer(&self, _: &Parts) -> Result<Option<Buyer>, Refused> {
        let customer = &self.data["customer"];
        let (id, login) = (customer["id"].as_str(), customer["login"].as_str());
        let Some(id) = id else { return Ok(login.map(Buyer::guest)) };
        let mut buyer = Buyer::customer(id);
        buyer.login = login.map(str::to_owned);
        if customer["emailVerified"] == true {
            buyer.verified_email = Some(Email::new(text(&customer["email"])).expect("an e-mail address"));
        }
        Ok(Some(buyer))
    }
    async fn purchase(&self, _: &Buyer, order: Value) -> Result<Purchase, Refused> {
        self.called("purchase", &order.to_string())?;
        let purchase = &self.data["purchase"];
        let of = |name: &str| text(&purchase[name]);
        let reference = MerchantReference::new(of("merchant_reference")).expect("a reference");
        let (firstname, lastname) = (&*of("firstname"), &*of("lastname"));
        let amount = Amount::new(&of("amount")).expect("an amount");
        let name = CustomerName { firstname, lastname };
        let mut create = CreatePaymentIntent::new(reference, amount, of("description"), name)
            .email(Email::new(of("email")).expect("an e-mail address"));
        create.redirect_url = purchase["redirect_url"].as_str().map(|url| RedirectUrl::new(url).expect("an address"));
        Ok(create.into())
    }
    async fn order_changed(&self, _: &Changed) -> Result<(), Refused> {
        Ok(())
    }
}
