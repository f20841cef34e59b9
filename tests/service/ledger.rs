//! The ledger of a shop in Rust over real sockets: at a service that loses, doubles, forgets or refuses, and with
//! stores on real databases. What is decided is in `tests/shop/ledger.json`.

use crate::orders::sqlite;
use crate::support::fake_service::{FakeService, ScriptedResponse, reply};
use crate::support::folder::Folder;
use crate::support::http::{Reply, get, post};
use axum::http::request::Parts;
use guichet::native::ledger::{Changed, OrderState, Resolve, Verdict};
use guichet::native::{Buyer, Ledger, Purchase, Refused, Routes, Shop};
use guichet::operations::{CreatePaymentIntent, CustomerName};
use guichet::values::{Amount, Email, FeeBearer, MerchantReference, RedirectUrl};
use guichet::{Client, SecretKey};
use guichet_orders::SqliteOrders;
use serde_json::{Value, json};
use sqlx::{Row, SqlitePool, query};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Of no test environment: the ledger's time is the machine's.
const KEY: &str = "sk_live_1";
const PAGES: &str = "https://pay.example";
const PAID: &str = "https://pay.example/checkout/pi_1#client_secret=pi_1_secret_2";

#[tokio::test]
async fn a_creation_whose_replies_are_lost_is_sent_again_with_the_same_body_and_leads_to_its_address() {
    let lost = || ScriptedResponse::CloseConnection;
    let world = World::of("lost", vec![lost(), lost(), lost(), lost(), intent("requires_action", json!({}))]).await;
    let first = world.click().await;
    assert_eq!((first.status, &first.json()["error"]["code"]), (503, &json!("unavailable")), "{}", first.body);
    let second = world.click().await;
    assert_eq!((second.status, &second.json()["intent"]["checkout_url"]), (200, &json!(PAID)), "{}", second.body);
    let bodies = world.bodies();
    assert_eq!(bodies.len(), 5);
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:#?}");
    let nonce = second.json()["return_nonce"].as_str().unwrap().to_owned();
    let back = format!("https://shop.example/return?guichet_return={nonce}");
    assert_eq!((&bodies[0]["redirect_url"], &bodies[0]["merchant_reference"]), (&json!(back), &json!("ORDER-17")));
    let mark = bodies[0]["metadata"]["guichet_mark"].as_str().unwrap();
    assert!(mark.len() == 22 && mark != nonce, "{mark}");
}

/// No page gets the address of a payment of another sum, and the log alarms a person.
#[tokio::test]
async fn a_payment_of_another_sum_is_never_handed_out_and_pays_nothing() {
    let other = || intent("requires_action", json!({"amount": "1"}));
    let paid = intent("succeeded", json!({"amount": "1"}));
    let world = World::of("different", vec![other(), paid]).await;
    for _ in 0..2 {
        let refused = world.click().await;
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (409, &json!("payment_mismatch")));
        assert!(!refused.body.contains("checkout"), "{}", refused.body);
    }
    let status = world.get("/intents/gch_1").await;
    assert_eq!((status.status, &status.json()["error"]["code"]), (409, &json!("payment_mismatch")), "{}", status.body);
    assert!(world.events().iter().all(|event| event.state == OrderState::Unpaid), "{:?}", world.events());
    assert_eq!(world.bodies().len(), 1, "it is not created again");
}

/// A reply may have the address, and neither a repeat nor a reading. It is stored, and no reader of the store learns
/// it.
#[tokio::test]
async fn an_address_that_comes_once_is_kept_encrypted() {
    let without = || intent("requires_action", json!({"checkout_url": null}));
    let first = intent("requires_action", json!({}));
    let world = World::of("sealed", vec![first, without(), without(), without(), without()]).await;
    for _ in 0..3 {
        let led = world.click().await;
        assert_eq!((led.status, &led.json()["intent"]["checkout_url"]), (200, &json!(PAID)), "{}", led.body);
    }
    let stored = world.stored().await;
    assert!(stored.contains("sealed") && !stored.contains("secret") && !stored.contains("pay.example"), "{stored}");
    // After another key, it cannot be opened: nothing wrong is handed out.
    let other = ledger_of(&world.service.base_url, "sk_live_2", &world.pool).await;
    let refused = click(&serve(&other, &world.shop, PAGES).await).await;
    assert_eq!(refused.status, 503, "{}", refused.body);
}

#[tokio::test]
async fn a_creation_that_is_refused_for_its_data_takes_the_next_reference() {
    let refused = json!({"message": "The phone is not one.", "error": {"code": "phone_invalid"}}).to_string();
    let next = intent("requires_action", json!({"merchant_reference": "ORDER-17-1"}));
    let world = World::of("refused", vec![reply("422 Unprocessable Content", refused), next]).await;
    let first = world.click().await;
    assert_eq!((first.status, &first.json()["message"]), (422, &json!("The phone is not one.")), "{}", first.body);
    let second = world.click().await;
    assert_eq!(second.json()["intent"]["merchant_reference"], "ORDER-17-1", "{}", second.body);
}

#[tokio::test]
async fn an_event_that_the_shop_cannot_store_comes_again_with_the_next_round() {
    let world = World::of("events", vec![intent("requires_action", json!({})), intent("succeeded", json!({}))]).await;
    world.click().await;
    world.shop.fails.store(true, Ordering::Relaxed);
    let status = world.get("/intents/gch_1").await;
    assert_eq!((status.status, &status.json()["status"]), (200, &json!("succeeded")), "{}", status.body);
    assert!(world.events().iter().all(|event| event.state == OrderState::Unpaid));
    world.shop.fails.store(false, Ordering::Relaxed);
    world.ledger.settle_due(&world.shop).await.unwrap();
    let paid = world.events().pop().expect("an event");
    assert_eq!((paid.name.as_str(), paid.state), ("ORDER-17", OrderState::Paid));
    assert_eq!(paid.paid_by.map(|paid| paid.id).as_deref(), Some("pi_1"));
    world.ledger.settle_due(&world.shop).await.unwrap();
    assert_eq!(
        world.events().iter().filter(|event| event.state == OrderState::Paid).count(),
        1,
        "the event was delivered twice"
    );
}

/// A paid order leads to what was paid, from what is stored: the service is not asked.
#[tokio::test]
async fn a_paid_order_leads_to_what_was_paid_also_from_a_form() {
    let world = World::of("paid", vec![intent("succeeded", json!({}))]).await;
    world.click().await;
    let again = world.click().await;
    let paid = &again.json()["intent"];
    assert_eq!((&paid["status"], &paid["checkout_url"]), (&json!("succeeded"), &Value::Null), "{}", again.body);
    let form = "Content-Type: application/x-www-form-urlencoded";
    let sent_on = post(&format!("{}/guichet/intents", world.url), &[form], "id=17").await;
    assert_eq!((sent_on.status, sent_on.header("location")), (303, Some("return?payment_ref=gch_1")));
    assert_eq!(world.bodies().len(), 1);
}

#[tokio::test]
async fn a_person_decides_what_cannot_be_read() {
    let world = World::of("resolve", vec![intent("requires_action", json!({"currency": "EUR"}))]).await;
    assert_eq!(world.click().await.status, 409);
    let resolve = |id: Option<&str>, verdict| Resolve {
        reference: "ORDER-17".to_owned(),
        id: id.map(str::to_owned),
        attempt: None,
        verdict,
        who: "Paul".to_owned(),
        why: "the bank has it".to_owned(),
    };
    let sum = world.ledger.order("ORDER-17").await.unwrap().unwrap().payments[0].body.sum();
    let nameless = world.ledger.resolve(&world.shop, "ORDER-17", resolve(None, Verdict::Paid(sum.clone()))).await;
    assert_eq!(nameless.unwrap_err().code(), "payment_id_missing");
    world.ledger.resolve(&world.shop, "ORDER-17", resolve(Some("pi_1"), Verdict::Paid(sum))).await.unwrap();
    assert_eq!(world.events().pop().map(|event| event.state), Some(OrderState::Paid));
    let missing = world.ledger.resolve(&world.shop, "ORDER-18", resolve(None, Verdict::Ended)).await;
    assert_eq!(missing.unwrap_err().code(), "order_missing");
}

/// An operator may approve a declined attempt for a day after the final word was first seen: by the service's clock.
#[tokio::test]
async fn whether_a_decline_may_still_become_money_is_judged_by_when_its_end_was_seen() {
    let failed = || json!({"attempts": 1, "payment_method": {"type": "mobile_money", "phone": "237*****0002"}, "last_payment_error": {"code": "payer_timeout"}});
    let at = |date: &'static [&'static str], status, more| match intent(status, more) {
        ScriptedResponse::Reply(status, _, body) => ScriptedResponse::Reply(status, date, body),
        other => other,
    };
    let (first, second) = (&["Date: Wed, 25 Nov 2026 18:40:00 GMT"], &["Date: Thu, 26 Nov 2026 18:40:01 GMT"]);
    let responses = vec![
        // The payment methods, for the time alone.
        ScriptedResponse::Reply("200 OK", first, "{}".to_owned()),
        at(first, "requires_action", json!({})),
        at(first, "failed", failed()),
        at(second, "failed", failed()),
    ];
    let world = World::with_key("sk_test_1", "late", responses).await;
    world.click().await;
    for state in ["open", "never"] {
        let read = world.get("/intents/gch_1").await;
        assert_eq!(read.json()["late"]["state"], state, "{}", read.body);
    }
}

/// A service that answers every read with 429 and `Retry-After` is left alone for so long.
#[tokio::test]
async fn a_service_that_asks_for_a_pause_gets_it() {
    let busy = |status| ScriptedResponse::Reply(status, &["Retry-After: 40"], "{}".to_owned());
    let world = World::of("pause", vec![intent("requires_action", json!({})), busy("429 Too Many Requests")]).await;
    world.click().await;
    let status = world.get("/intents/gch_1").await;
    assert_eq!(status.status, 429, "{}", status.body);
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let round = world.ledger.settle_due(&world.shop).await.unwrap();
    assert_eq!((round.due, round.read, world.service.requests().len()), (1, 0, 2), "it was asked in its pause");
}

struct World {
    service: FakeService,
    ledger: Ledger<SqliteOrders>,
    shop: Arc<TestShop>,
    pool: SqlitePool,
    url: String,
    _folder: Folder,
}

impl World {
    /// A shop with an empty ledger, at a service that answers so.
    async fn of(name: &str, responses: Vec<ScriptedResponse>) -> Self {
        Self::with_key(KEY, name, responses).await
    }

    async fn with_key(key: &str, name: &str, responses: Vec<ScriptedResponse>) -> Self {
        let folder = Folder::new(&format!("ledger-{name}"));
        let service = FakeService::start(responses).await;
        let pool = sqlite(&folder).await;
        let (shop, ledger) = (Arc::default(), ledger_of(&service.base_url, key, &pool).await);
        let url = serve(&ledger, &shop, PAGES).await;
        Self { service, ledger, shop, pool, url, _folder: folder }
    }

    async fn click(&self) -> Reply {
        click(&self.url).await
    }

    async fn get(&self, path: &str) -> Reply {
        get(&format!("{}/guichet{path}", self.url), &[]).await
    }

    /// The bodies of the creations that the service has got.
    fn bodies(&self) -> Vec<Value> {
        let requests = self.service.requests();
        let creations = requests.iter().filter(|request| request.starts_with("POST /v1/payment-intents HTTP"));
        creations.map(|request| serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()).collect()
    }

    fn events(&self) -> Vec<Changed> {
        self.shop.events.lock().unwrap().clone()
    }

    /// What the ledger has stored of its orders.
    async fn stored(&self) -> String {
        let rows = query("SELECT body FROM guichet_orders").fetch_all(&self.pool).await.unwrap();
        rows.iter().map(|row| row.get::<String, _>(0)).collect()
    }
}

pub async fn ledger_of(service: &str, key: &str, pool: &SqlitePool) -> Ledger<SqliteOrders> {
    let client = Client::builder(service, SecretKey::new(key).unwrap()).build().unwrap();
    Ledger::new(client, SqliteOrders::open(pool.clone(), "guichet_").await.unwrap())
}

pub async fn serve(ledger: &Ledger<SqliteOrders>, shop: &Arc<TestShop>, pages: &str) -> String {
    let routes = Routes::new(ledger.clone(), Arc::clone(shop)).checkout_origin(pages).unwrap();
    let router = axum::Router::new().nest("/guichet", routes.router());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async { axum::serve(listener, router).await });
    url
}

async fn click(url: &str) -> Reply {
    post(&format!("{url}/guichet/intents"), &[], r#"{"id":"17"}"#).await
}

#[derive(Default)]
pub struct TestShop {
    pub events: Mutex<Vec<Changed>>,
    fails: AtomicBool,
}

impl Shop for TestShop {
    async fn buyer(&self, _: &Parts) -> Result<Option<Buyer>, Refused> {
        Ok(Some(Buyer::customer("awa")))
    }

    async fn purchase(&self, _: &Buyer, order: Value) -> Result<Purchase, Refused> {
        let name = MerchantReference::new(format!("ORDER-{}", order["id"].as_str().unwrap())).unwrap();
        let awa = CustomerName { firstname: "Awa", lastname: "Ngono" };
        let purchase = CreatePaymentIntent::new(name, Amount::units(45_000), "Shoes", awa)
            .email(Email::new("awa@example.com").unwrap())
            .fee_bearer(FeeBearer::Customer)
            .redirect_url(RedirectUrl::new("https://shop.example/return").unwrap());
        Ok(purchase.into())
    }

    async fn order_changed(&self, changed: &Changed) -> Result<(), Refused> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(Refused::broken("the disk is full"));
        }
        self.events.lock().unwrap().push(changed.clone());
        Ok(())
    }
}

fn intent(status: &str, more: Value) -> ScriptedResponse {
    let mut intent = json!({
        "id": "pi_1", "object": "payment_intent", "amount": "45000", "currency": "XAF", "status": status,
        "payment_ref": "gch_1", "merchant_reference": "ORDER-17", "checkout_url": PAID,
        "customer": {"firstname": "Awa", "lastname": "Ngono", "email": "awa@example.com"},
    });
    for (name, value) in more.as_object().unwrap() {
        intent[name] = value.clone();
    }
    reply("200 OK", json!({"status_code": 200, "response_type": "success", "data": intent}).to_string())
}
