//! The native client, the ledger in Rust and the command at the services of `tests/manners`, which say what the
//! document leaves open in other ways. `tests/manners/run.mjs` walks the same with guichet-server and a page, in more
//! steps.

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
use guichet_sandbox::{Config, Sandbox};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
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

mod probe {
    use super::{World, the_probe_writes_the_profile};
    at_each_service!(@ minimal: the_probe_writes_the_profile);
    at_each_service!(@ laravel: the_probe_writes_the_profile);
    at_each_service!(@ always200: the_probe_writes_the_profile);
    at_each_service!(@ proxy: the_probe_writes_the_profile);
    at_each_service!(@ elsewhere: the_probe_writes_the_profile);
    at_each_service!(@ secret: the_probe_writes_the_profile);
}

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
    // The customer bears the fee: where no reply has it, the sum is not named as what was paid.
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

/// Whether the service repeats creations is not known. The money is that of a paid order, or somebody is told to look
/// for it.
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

/// Not the company: its requests and its words, over the sandbox's own payments.
#[tokio::test]
async fn a_sandbox_reads_finds_and_cancels_as_a_profile_says() {
    for manner in ["elsewhere", "secret"] {
        let file = crate::support::root().join(format!("tests/manners/{manner}.json"));
        let text = std::fs::read_to_string(&file).unwrap();
        let profile = Some(Profile::new(&text).unwrap());
        let sandbox = Sandbox::start_with(Config { profile, ..Config::default() }).await.unwrap();
        let key = sandbox.secret_key().expose();
        let mut probe = tokio::process::Command::new(env!("CARGO_BIN_EXE_guichet"));
        probe.args(["probe", "--yes", "--json", "--base-url", sandbox.base_url()]).env("GUICHET_SECRET_KEY", key);
        probe.args(["--read", "/charges/{payment_ref}", "--read", "/pay/status?charge={id}"]);
        probe.args([
            "--find",
            "/charges?reference={merchant_reference}",
            "--cancel",
            "POST /charges/{payment_ref}/void",
        ]);
        let probed = probe.output().await.unwrap();
        let report: Value = serde_json::from_slice(&probed.stdout).unwrap_or_else(|_| panic!("{probed:?}"));
        let mut expected: Value = serde_json::from_str(&text).unwrap();
        expected["base_url"] = json!(sandbox.base_url());
        // The words for what was not done are not known.
        if let Some(words) = expected.get_mut("statuses").and_then(Value::as_object_mut) {
            words.retain(|_, ours| ours == "requires_action");
            expected["cancel"] = Value::Null;
        }
        assert_eq!(report["profile"], expected, "{report}");

        let authorization = format!("authorization: Bearer {key}");
        let address = format!("{}/v1/payment-intents", sandbox.base_url());
        let body = r#"{"amount":"45000","firstname":"Awa","lastname":"Ngono","email":"awa@example.com","description":"Shoes","merchant_reference":"ORDER-1"}"#;
        let created = post(&address, &[&authorization], body).await.json();
        let word = if manner == "elsewhere" { "awaiting" } else { "requires_action" };
        assert_eq!(created["data"]["status"], word, "{created}");
        let id = created["data"]["id"].as_str().unwrap();
        let documented = format!("{}/v1/payment-intents/{id}", sandbox.base_url());
        assert_eq!(get(&documented, &[&authorization]).await.status, 404, "the profile reads elsewhere");
        assert_eq!(post(&format!("{documented}/cancel"), &[&authorization], "{}").await.status, 404);
        sandbox.stop().await;
    }
}

#[tokio::test]
async fn a_sandbox_with_a_profile_gives_no_other_payment_and_lists_for_its_merchant_only() {
    let profile = r#"{"base_url": "https://api.example.com", "read": {"method": "GET",
        "path": "/p/{id}.json?ref={payment_ref}&of={merchant_reference}&secret={client_secret}"},
        "find_by_reference": {"method": "GET", "path": "/find/{merchant_reference}:all"}}"#;
    let profile = Some(Profile::new(profile).unwrap());
    let sandbox = Sandbox::start_with(Config { profile, ..Config::default() }).await.unwrap();
    let base = sandbox.base_url();
    let by_key = format!("authorization: Bearer {}", sandbox.secret_key().expose());
    let mut payments = Vec::new();
    for number in 1..=2 {
        let order = json!({"amount": "45000", "firstname": "Awa", "lastname": "Ngono", "email": "awa@example.com",
            "description": "Shoes", "merchant_reference": format!("ORDER-{number}")});
        let created = post(&format!("{base}/v1/payment-intents"), &[&by_key], &order.to_string()).await.json();
        let value = |name: &str| created["data"][name].as_str().unwrap().to_owned();
        payments.push(["id", "payment_ref", "merchant_reference", "client_secret"].map(value));
    }
    let [one, other] = [&payments[0], &payments[1]];
    let read = async |[id, payment_ref, reference, secret]: [&String; 4]| {
        let target = format!("/p/{id}.json?ref={payment_ref}&of={reference}&secret={secret}");
        let reply = get(&format!("{base}{target}"), &[&by_key]).await;
        (reply.status, reply.json()["data"]["id"].clone())
    };
    assert_eq!(read(one.each_ref()).await, (200, json!(one[0])));
    for place in 0..4 {
        let mut names = one.each_ref();
        names[place] = &other[place];
        assert_eq!(read(names).await.0, 404, "another payment's at {place}");
    }
    let wrong = format!("{}_secret_wrong", one[0]);
    assert_eq!(read([&one[0], &one[1], &one[2], &wrong]).await.0, 404);

    let find = async |reference: &str, headers: &[&str]| {
        let reply = get(&format!("{base}/find/{reference}:all"), headers).await;
        (reply.status, reply.json()["data"].as_array().map(Vec::len))
    };
    assert_eq!(find("ORDER-2", &[&by_key]).await, (200, Some(1)));
    assert_eq!(find("ORDER-3", &[&by_key]).await, (200, Some(0)));
    let session = json!({"customer_email": "awa@example.com"}).to_string();
    let session = post(&format!("{base}/v1/sessions/create"), &[&by_key], &session).await.json();
    let by_session = format!("authorization: Bearer {}", session["data"]["session_token"].as_str().unwrap());
    for (headers, status) in [(vec![], 401), (vec![&*by_session], 404), (vec!["authorization: Bearer sk_test_no"], 401)]
    {
        let found = find("ORDER-3", &headers).await;
        assert_eq!(found, (status, None), "{headers:?}");
    }
    sandbox.stop().await;
}

/// Neither where the service cannot be reached nor where it refuses.
#[tokio::test]
#[ignore = "needs Node.js"]
async fn a_client_secret_of_a_query_is_in_no_error() {
    let profile = r#"{"base_url": "https://api.example.com", "cancel": null,
        "read": {"method": "POST", "path": "/pay/status?charge={id}&secret={client_secret}", "credential": "client_secret"}}"#;
    let mut world = World::open_with("secret", Some(profile.to_owned())).await;
    let first = world.led_to("ORDER-17").await;
    assert_eq!(world.status(&first).await.status, 200);
    world.test("set", json!({"reference": "ORDER-17", "is_broken": true})).await;
    let mut texts = vec![world.status(&first).await.body];
    world._process.0.kill().unwrap();
    texts.push(world.status(&first).await.body);
    let settled = world.ledger.settle(&world.shop, "ORDER-17").await;
    texts.push(format!("{settled:?}"));
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    texts.push(format!("{:?}", world.ledger.settle_due(&world.shop).await));
    assert!(texts.iter().all(|text| !text.contains("_secret_")), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("read_payment_intent")), "no error was seen: {texts:?}");
}

#[test]
fn the_schema_of_a_profile_refuses_what_is_refused() {
    let root = crate::support::root();
    let file =
        |name: &str| -> Value { serde_json::from_str(&std::fs::read_to_string(root.join(name)).unwrap()).unwrap() };
    let schema = jsonschema::validator_for(&file("docs/profile.schema.json")).unwrap();
    let cases = file("tests/shop/profile.json");
    for wrong in cases["wrong"].as_array().unwrap() {
        let profile: Value = serde_json::from_str(wrong[0].as_str().unwrap()).unwrap();
        assert!(!schema.is_valid(&profile), "{profile}");
    }
    let of_cases = cases["requests"].as_array().unwrap().iter().filter_map(|case| case["profile"].as_object());
    let mut profiles: Vec<Value> = of_cases.cloned().map(Value::Object).collect();
    assert!(profiles.len() > 5, "{}", profiles.len());
    for profile in &mut profiles {
        profile["base_url"] = json!("https://api.example.com/pay");
    }
    profiles.extend(["elsewhere", "secret"].map(|manner| file(&format!("tests/manners/{manner}.json"))));
    for profile in profiles {
        Profile::new(&profile.to_string()).unwrap();
        schema.validate(&profile).unwrap_or_else(|error| panic!("{profile}: {error}"));
    }
}

#[tokio::test]
#[ignore = "needs Node.js"]
async fn a_command_reads_and_cancels_as_a_profile_says() {
    let world = World::open("elsewhere").await;
    let led = world.led_to("ORDER-17").await;
    let name = led.json()["intent"]["payment_ref"].as_str().unwrap().to_owned();
    let profile = crate::support::root().join("tests/manners/elsewhere.json");
    for (verb, status) in [("read", "awaiting"), ("cancel", "void")] {
        let done = world.run(&["intents", verb, &name, "--profile", profile.to_str().unwrap()]);
        let printed = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && printed.contains(status), "{done:?}");
    }
    let secret = profile.with_file_name("secret.json");
    for verb in ["read", "cancel"] {
        let refused = world.run(&["intents", verb, &name, "--profile", secret.to_str().unwrap()]);
        assert!(String::from_utf8_lossy(&refused.stderr).contains("By the profile"), "{refused:?}");
    }
}

/// From the paths that its company documents and what its caller does to three payments.
async fn the_probe_writes_the_profile(world: &World) {
    let file = world.folder.path.join("service.json");
    let mut probe = world.command(&["probe", "--yes", "--pay", "--write", file.to_str().unwrap()]);
    probe.args(["--read", "/charges/{payment_ref}", "--read", "/pay/status?charge={id}"]);
    probe.args(["--find", "/charges?reference={merchant_reference}", "--cancel", "POST /charges/{payment_ref}/void"]);
    let mut probe = probe.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut answers = probe.stdin.take().unwrap();
    let mut shown = String::new();
    for line in BufReader::new(probe.stderr.take().unwrap()).lines().map(Result::unwrap) {
        if let Some(what) = ["Pay", "Decline"].iter().position(|what| line.starts_with(what)) {
            let intents = post(&format!("{}/test/intents", world.service), &[], "{}").await.json();
            let newest = intents.as_array().unwrap().last().unwrap();
            world.test(["pay", "decline"][what], json!({"reference": newest["merchant_reference"]})).await;
            get(&format!("{}&trxref=9", newest["redirect_url"].as_str().unwrap()), &[]).await;
            answers.write_all(b"\n").unwrap();
        } else if line.ends_with("Write yes or no.") {
            answers.write_all(b"yes\n").unwrap();
        }
        shown.push_str(&line);
    }
    let probed = probe.wait_with_output().unwrap();
    let printed = String::from_utf8(probed.stdout).unwrap();
    assert!(probed.status.success(), "{printed}{shown}");
    assert!(printed.contains("the return nonce is found") && printed.contains("it adds trxref"), "{printed}");
    assert!(!printed.contains("_secret_") && !format!("{printed}{shown}").contains(KEY), "{printed}{shown}");

    let written: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let documented = json!({"read": {"method": "GET", "path": "/v1/payment-intents/{id}"}});
    let mut expected = world.profile.clone().unwrap_or(documented);
    expected["base_url"] = json!(world.service);
    assert_eq!(written, expected, "{printed}");
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
    profile: Option<Value>,
    folder: Folder,
    _process: Service,
}

impl World {
    async fn open(manner: &str) -> Self {
        let profile = crate::support::root().join(format!("tests/manners/{manner}.json"));
        Self::open_with(manner, std::fs::read_to_string(profile).ok()).await
    }

    async fn open_with(manner: &str, profile: Option<String>) -> Self {
        let folder_of_services = crate::support::root().join("tests/manners");
        let program = folder_of_services.join(format!("{manner}.mjs"));
        let mut process = Command::new("node").arg(program).stdout(Stdio::piped()).spawn().expect("Node.js");
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let service = format!("http://127.0.0.1:{}", port.trim());
        let folder = Folder::new(&format!("manner-{manner}"));
        let mut client = Client::builder(&service, SecretKey::new(KEY).unwrap());
        if let Some(profile) = &profile {
            client = client.profile(Profile::new(profile).unwrap());
        }
        let profile = profile.map(|json| serde_json::from_str(&json).unwrap());
        let client = client.build().unwrap();
        let orders = SqliteOrders::open(sqlite(&folder).await, "guichet_").await.unwrap();
        let (shop, ledger) = (Arc::default(), Ledger::new(client.clone(), orders));
        let url = serve(&ledger, &shop, &service).await;
        Self { service, client, ledger, shop, url, profile, folder, _process: Service(process) }
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

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_guichet"));
        command.args(arguments).env("GUICHET_BASE_URL", &self.service).env("GUICHET_SECRET_KEY", KEY);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
