//! The native client, the ledger in Rust and the command at the services of `tests/manners`, which say what the document leaves open in
//! other ways. `tests/manners/run.mjs` walks the same with guichet-server and a page, in more steps.

use crate::ledger::{TestShop, serve};
use crate::orders::sqlite;
use crate::support::folder::Folder;
use crate::support::http::{Reply, get, post};
use axum::http::{HeaderMap, header};
use guichet::native::ledger::{Changed, OrderState};
use guichet::native::{Ledger, Profile, SessionGuard, Sessions};
use guichet::operations::ListPaymentMethods;
use guichet::protocol::Kind;
use guichet::values::{Email, SessionToken};
use guichet::{Client, SecretKey};
use guichet_orders::SqliteOrders;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;

const KEY: &str = "sk_test_manners";

macro_rules! at_each_service {
    ($($test:ident),*) => {
        at_each_service!(@ minimal: $($test),*);
        at_each_service!(@ laravel: $($test),*);
        at_each_service!(@ always200: $($test),*);
        at_each_service!(@ proxy: $($test),*);
    };
    (@ $manner:ident: $($test:ident),*) => {
        mod $manner {
            $(
                #[tokio::test]
                #[ignore = "needs Node.js"]
                async fn $test() {
                    super::$test(&super::World::open(stringify!($manner)).await).await;
                }
            )*
        }
    };
}

at_each_service!(
    a_session_is_created_and_guarded_and_ends,
    an_order_is_paid,
    an_order_that_is_paid_twice_is_paid_back_once,
    a_creation_that_is_never_answered_is_named,
    a_command_exits_by_what_was_done
);

// These two need a profile.
at_each_service!(@ elsewhere: an_order_is_paid, an_order_that_is_paid_twice_is_paid_back_once, a_creation_that_is_never_answered_is_found);
at_each_service!(@ secret: an_order_is_paid, an_order_that_is_paid_twice_is_paid_back_once, a_creation_that_is_never_answered_is_named);

async fn a_session_is_created_and_guarded_and_ends(world: &World) {
    let methods = world.client.list_payment_methods(&ListPaymentMethods::new()).await.unwrap();
    let codes: Vec<_> = methods.iter().map(|method| method.id.to_string()).collect();
    assert!(codes.iter().any(|code| code == "svc_mobile_money"), "{codes:?}");

    let guard = SessionGuard::new(world.client.clone());
    let sessions = Sessions::new(world.client.clone()).guarded_by(guard.clone());
    let kept = sessions.get_or_create("login", &Email::new("awa@example.com").unwrap()).await.unwrap();
    let customer = guard.check(&bearer(&kept.token)).await.unwrap();
    assert_eq!(customer.customer_email.as_str(), "awa@example.com");
    sessions.sign_out("login").await.unwrap();
    assert_eq!(guard.check(&bearer(&kept.token)).await.unwrap_err().status(), 401);
    match world.client.customer(&kept.token).validate().await {
        Ok(state) => assert!(!state.valid, "a revoked session is valid"),
        Err(error) => assert_eq!(error.kind(), Kind::Session, "{error}"),
    }
}

async fn an_order_is_paid(world: &World) {
    let first = world.led_to("ORDER-17").await;
    let second = world.click("17").await;
    assert_eq!(
        (second.status, &second.json()["intent"]["id"]),
        (200, &first.json()["intent"]["id"]),
        "{}",
        second.body
    );
    let status = world.status(&first).await;
    assert_eq!((status.status, &status.json()["status"]), (200, &json!("requires_action")), "{}", status.body);
    world.test("pay", json!({"reference": "ORDER-17"})).await;
    world.ledger.settle(&world.shop, "ORDER-17").await.unwrap();
    let paid = world.changed("ORDER-17");
    assert_eq!((paid.state, paid.refunds_due.len()), (OrderState::Paid, 0));
    // The customer bears the fee: where nobody says it, the sum is not named as what was paid.
    let status = world.status(&first).await.json();
    assert!(status["amount_payable"] == "45900" || status["plus_fee"] == true, "{status}");
}

async fn an_order_that_is_paid_twice_is_paid_back_once(world: &World) {
    world.click("17").await;
    world.test("decline", json!({"reference": "ORDER-17"})).await;
    world.ledger.settle(&world.shop, "ORDER-17").await.unwrap();
    world.led_to("ORDER-17-1").await;
    for reference in ["ORDER-17", "ORDER-17-1"] {
        world.test("pay", json!({"reference": reference})).await;
    }
    world.ledger.settle(&world.shop, "ORDER-17").await.unwrap();
    let paid = world.changed("ORDER-17");
    assert_eq!((paid.state, paid.refunds_due.len()), (OrderState::Paid, 1), "{paid:?}");
}

/// Whether the service repeats creations is not known. The money is that of a paid order, or somebody is told to look for it.
async fn a_creation_that_is_never_answered_is_named(world: &World) {
    world.test("lose", json!({"reply": "create", "times": 9})).await;
    let lost = world.click("17").await;
    assert!([502, 503].contains(&lost.status), "{}", lost.body);
    world.test("pay", json!({"reference": "ORDER-17"})).await;
    world.test("clock", json!({"seconds": 3600})).await;
    // The first round learns the service's time.
    let mut named = Vec::new();
    for _ in 0..3 {
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        named.extend(world.ledger.settle_due(&world.shop).await.unwrap().not_readable);
    }
    assert!(named.contains(&("ORDER-17".to_owned(), None)), "{named:?}");
}

/// By its reference. Its customer is led to it at once.
async fn a_creation_that_is_never_answered_is_found(world: &World) {
    world.test("lose", json!({"reply": "create", "times": 9})).await;
    world.led_to("ORDER-17").await;
    world.test("pay", json!({"reference": "ORDER-17"})).await;
    world.ledger.settle(&world.shop, "ORDER-17").await.unwrap();
    assert_eq!(world.changed("ORDER-17").state, OrderState::Paid);
}

async fn a_command_exits_by_what_was_done(world: &World) {
    let order =
        "intents create --amount 45000 --description Shoes --firstname Awa --lastname Ngono --email awa@example.com";
    let order: Vec<_> = order.split(' ').chain(["--merchant-reference", "ORDER-18", "--json"]).collect();
    let created = world.run(&order);
    let printed = String::from_utf8_lossy(&created.stdout);
    assert!(created.status.success(), "{created:?}");
    let id =
        printed.split(['"', ' ']).find(|word| word.starts_with("pi_") && !word.contains("secret")).expect("its id");
    let read = world.run(&["intents", "read", id]);
    assert!(read.status.success(), "{read:?}");
    world.test("pay", json!({"reference": "ORDER-18"})).await;
    let refused = world.run(&["intents", "cancel", id]);
    assert!(!refused.status.success(), "a cancellation that was refused: {refused:?}");
    assert!(!world.run(&["intents", "read", "pi_none"]).status.success(), "a payment that is not there");
}

fn bearer(token: &SessionToken) -> HeaderMap {
    HeaderMap::from_iter([(header::AUTHORIZATION, format!("Bearer {}", token.expose()).parse().unwrap())])
}

/// A shop with an empty ledger at one of the services.
struct World {
    service: String,
    client: Client,
    ledger: Ledger<SqliteOrders>,
    shop: Arc<TestShop>,
    url: String,
    _process: Service,
    _folder: Folder,
}

impl World {
    async fn open(manner: &str) -> Self {
        let folder_of_services = crate::support::root().join("tests/manners");
        let program = folder_of_services.join(format!("{manner}.mjs"));
        let mut process = Command::new("node").arg(program).stdout(Stdio::piped()).spawn().expect("Node.js");
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let service = format!("http://127.0.0.1:{}", port.trim());
        let folder = Folder::new(&format!("manner-{manner}"));
        let mut client = Client::builder(&service, SecretKey::new(KEY).unwrap());
        if let Ok(profile) = std::fs::read_to_string(folder_of_services.join(format!("{manner}.json"))) {
            client = client.profile(Profile::new(&profile).unwrap());
        }
        let client = client.build().unwrap();
        let orders = SqliteOrders::open(sqlite(&folder).await, "guichet_").await.unwrap();
        let (shop, ledger) = (Arc::default(), Ledger::new(client.clone(), orders));
        let url = serve(&ledger, &shop, &service).await;
        Self { service, client, ledger, shop, url, _process: Service(process), _folder: folder }
    }

    async fn click(&self, id: &str) -> Reply {
        post(&format!("{}/guichet/intents", self.url), &[], &json!({"id": id}).to_string()).await
    }

    /// A click that leads to the payment of this reference.
    async fn led_to(&self, reference: &str) -> Reply {
        let led = self.click("17").await;
        let came = &led.json()["intent"]["merchant_reference"];
        assert_eq!((led.status, came), (200, &json!(reference)), "{}", led.body);
        led
    }

    async fn status(&self, click: &Reply) -> Reply {
        let payment_ref = click.json()["intent"]["payment_ref"].as_str().unwrap().to_owned();
        get(&format!("{}/guichet/intents/{payment_ref}", self.url), &[]).await
    }

    /// Moves the service.
    async fn test(&self, what: &str, body: Value) {
        let moved = post(&format!("{}/test/{what}", self.service), &[], &body.to_string()).await;
        assert_eq!(moved.status, 200, "{what}: {}", moved.body);
    }

    /// What the order has become.
    fn changed(&self, name: &str) -> Changed {
        let events = self.shop.events.lock().unwrap();
        events.iter().filter(|event| event.name == name).max_by_key(|event| event.version).expect("an event").clone()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_guichet"));
        command.args(arguments).env("GUICHET_BASE_URL", &self.service).env("GUICHET_SECRET_KEY", KEY);
        command.output().unwrap()
    }
}

struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
