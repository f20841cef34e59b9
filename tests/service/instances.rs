//! Several sandboxes on one PostgreSQL database.

use crate::support::api::{Merchant, control, order, phone};
use crate::support::folder::Folder;
use crate::support::postgres::PostgresServer;
use crate::support::service::{on_postgres, start_on_postgres};
use crate::support::subscriptions::DAY;
use crate::support::wait::until;
use guichet::operations::{CreatePaymentIntent, ListPaymentMethods};
use guichet::values::Secret;
use guichet_sandbox::{Config, Fault, Sandbox};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

const CREATE: &str = "/v1/payment-intents";

/// Two sandboxes on one new database.
async fn two() -> [Sandbox; 2] {
    two_on(&PostgresServer::shared().create_database()).await
}

/// Two sandboxes that start on this database at once.
async fn two_on(database: &str) -> [Sandbox; 2] {
    let (one, other) = tokio::join!(start(database), start(database));
    [one, other]
}

/// The number of rows that SQL after `SELECT count(*) FROM` selects.
fn count(database: &str, sql: &str) -> usize {
    let name = database.rsplit('/').next().unwrap();
    PostgresServer::shared().psql(name, &format!("SELECT count(*) FROM {sql}")).parse().unwrap()
}

async fn start(database: &str) -> Sandbox {
    start_on_postgres(on_postgres(Config::default(), database)).await.unwrap()
}

async fn refused(config: Config) -> String {
    start_on_postgres(config).await.expect_err("it does not start").to_string()
}

/// The same merchant as this sandbox answers it.
fn at(sandbox: &Sandbox, merchant: &Merchant) -> Merchant {
    let mut merchant = merchant.clone();
    merchant.base_url = sandbox.base_url().to_owned();
    merchant
}

async fn shop(sandbox: &Sandbox) -> (Merchant, String) {
    let shop = Merchant::of(sandbox, "Sandbox shop").await;
    let id = shop.tenant.id().to_owned();
    (shop, id)
}

#[tokio::test]
async fn two_sandboxes_that_start_at_once_on_an_empty_database_have_one_first_merchant() {
    let database = PostgresServer::shared().create_database();
    let [one, other] = two_on(&database).await;
    assert_eq!((count(&database, "merchants"), count(&database, "merchants WHERE place = 0")), (1, 1));
    let merchant = |sandbox: &Sandbox| {
        let (url, key) = (sandbox.base_url().to_owned(), sandbox.secret_key().expose().to_owned());
        async move {
            let client = crate::support::api::client();
            let path = format!("{url}/v1/payment-intents");
            crate::support::api::send(
                &client,
                "POST",
                &path,
                Some(&key),
                Some(order("ORDER-1").to_string()),
                &[("content-type", "application/json")],
            )
            .await
        }
    };
    assert_eq!(merchant(&one).await.status, 201);
    let repeated = merchant(&other).await;
    assert_eq!((repeated.status, repeated.header("idempotent-replayed")), (200, Some("true")));
    assert_eq!(one.secret_key(), other.secret_key());
    let clock = control(&other, "GET", "/clock", Value::Null).await;
    assert_eq!(clock.status, 200, "{}", clock.text);
}

#[tokio::test]
async fn a_merchant_made_at_one_is_known_at_the_other_at_once() {
    let [one, other] = two().await;
    for _ in 0..5 {
        let (merchant, _) = shop(&one).await;
        let created = at(&other, &merchant).call("POST", CREATE, order("ORDER-1")).await;
        assert_eq!(created.status, 201, "{}", created.text);
        // The other's client secret is valid here.
        let paid = merchant.attach(&created.body["data"], phone("237670000000")).await;
        assert_eq!(paid.body["data"]["status"], "succeeded", "{}", paid.text);
        assert_eq!(at(&other, &merchant).read_intent(&created.body["data"]).await["status"], "succeeded");
    }
}

#[tokio::test]
async fn a_clock_moved_at_one_shows_at_the_other_in_the_next_request() {
    let [one, other] = two().await;
    let (merchant, id) = shop(&one).await;
    let mut now = merchant.tenant.now().await.unix();
    for advance in [60, 1, 3_600] {
        let moved = control(&one, "POST", "/clock", json!({ "merchant": id, "advance_seconds": advance })).await;
        let moved = moved.body["now"].as_i64().unwrap();
        assert!(moved >= now + advance);
        let shown = control(&other, "GET", &format!("/clock?merchant={id}"), Value::Null).await;
        assert!(shown.body["now"].as_i64().unwrap() >= moved, "the other shows an earlier time");
        now = moved;
    }
    // A session ends at both.
    let session =
        at(&other, &merchant).call("POST", "/v1/sessions/create", json!({ "customer_email": "awa@example.com" })).await;
    let token = session.body["data"]["session_token"].as_str().unwrap_or_else(|| panic!("{}", session.text)).to_owned();
    let validate = |merchant: Merchant| {
        let token = token.clone();
        async move { merchant.call_as("POST", "/v1/sessions/validate", Some(&token), Value::Null).await.status }
    };
    assert_eq!(validate(merchant.clone()).await, 200);
    control(&one, "POST", "/clock", json!({ "merchant": id, "advance_seconds": 1_800 })).await;
    assert_eq!(validate(at(&other, &merchant)).await, 401);
}

#[tokio::test]
async fn a_session_revoked_at_one_is_revoked_at_the_other() {
    let [one, other] = two().await;
    let (merchant, _) = shop(&one).await;
    let session = merchant.call("POST", "/v1/sessions/create", json!({ "customer_email": "awa@example.com" })).await;
    let token = session.body["data"]["session_token"].as_str().unwrap();
    let there = at(&other, &merchant);
    assert_eq!(there.call_as("POST", "/v1/sessions/validate", Some(token), Value::Null).await.status, 200);
    assert_eq!(merchant.call_as("POST", "/v1/sessions/revoke", Some(token), Value::Null).await.status, 200);
    let ended = there.call_as("POST", "/v1/sessions/validate", Some(token), Value::Null).await;
    assert_eq!((ended.status, &ended.body["data"]["reason"]), (401, &json!("revoked")));
}

#[tokio::test]
async fn a_clock_that_is_ahead_at_one_is_ahead_at_the_other() {
    let database = PostgresServer::shared().create_database();
    let ahead = on_postgres(Config::default(), &database);
    ahead.wall_clock.shift(1_000);
    let ahead = start_on_postgres(ahead).await.unwrap();
    let other = start(&database).await;
    for _ in 0..20 {
        let shown = control(&ahead, "GET", "/clock", Value::Null).await.body["now"].as_i64().unwrap();
        let then = control(&other, "GET", "/clock", Value::Null).await.body["now"].as_i64().unwrap();
        assert!(then >= shown, "{then} after {shown}");
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
}

#[tokio::test]
async fn a_fault_is_taken_exactly_as_often_as_it_counts_under_load_from_both() {
    let [one, other] = two().await;
    let (merchant, id) = shop(&one).await;
    let fault =
        json!({ "merchant": id, "operation": "create_payment_intent", "kind": "status", "status": 503, "count": 25 });
    assert_eq!(control(&other, "POST", "/faults", fault).await.status, 200);
    merchant.tenant.fault(Fault::status::<CreatePaymentIntent>(500).times(7)).await;
    let there = at(&other, &merchant);
    let calls = (0..100).map(|number| {
        let merchant = if number % 2 == 0 { merchant.clone() } else { there.clone() };
        tokio::spawn(async move { merchant.call("POST", CREATE, order(&format!("ORDER-{number}"))).await.status })
    });
    let mut statuses = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        statuses.push(call.await.unwrap());
    }
    let count = |status: u16| statuses.iter().filter(|of| **of == status).count();
    assert_eq!((count(503), count(500), count(201)), (25, 7, 68), "{statuses:?}");
    assert_eq!(merchant.tenant.faults().await, Vec::<String>::new());
}

#[tokio::test]
async fn at_most_1000_faults_wait_and_deleting_them_at_one_deletes_them_at_the_other() {
    let [one, other] = two().await;
    let (merchant, id) = shop(&one).await;
    let add = |sandbox: &Sandbox| {
        let fault = json!({ "merchant": id, "operation": "create_payment_intent", "kind": "drop" });
        let (url, token) = (format!("{}/faults", sandbox.control_url()), sandbox.control_token().expose().to_owned());
        async move {
            let client = crate::support::api::client();
            let headers = [("content-type", "application/json")];
            crate::support::api::send(&client, "POST", &url, Some(&token), Some(fault.to_string()), &headers)
                .await
                .status
        }
    };
    for _ in 0..995 {
        merchant.tenant.fault(Fault::drop::<CreatePaymentIntent>()).await;
    }
    let calls: Vec<_> = (0..15).map(|number| tokio::spawn(add(if number % 2 == 0 { &one } else { &other }))).collect();
    let mut refused = 0;
    for call in calls {
        match call.await.unwrap() {
            200 => {}
            422 => refused += 1,
            status => panic!("{status}"),
        }
    }
    assert_eq!(refused, 10);
    merchant.tenant.clear_faults().await;
    let left = control(&other, "GET", &format!("/faults?merchant={id}"), Value::Null).await;
    assert_eq!(left.body["faults"], json!([]));
    assert_eq!(at(&other, &merchant).call("POST", CREATE, order("ORDER-1")).await.status, 201);
}

#[tokio::test]
async fn the_requests_to_both_are_listed_at_either_within_a_second_in_order() {
    let [one, other] = two().await;
    let (merchant, id) = shop(&one).await;
    let there = at(&other, &merchant);
    let mut sent = Vec::new();
    for number in 0..10 {
        let merchant = if number % 2 == 0 { &merchant } else { &there };
        let reply = merchant.call("POST", CREATE, order(&format!("ORDER-{number}"))).await;
        sent.push(reply.header("request-id").unwrap().to_owned());
    }
    // Each shows its own at once.
    let own = requests_of(&one, &id).await;
    assert!(sent.iter().step_by(2).all(|id| own.iter().any(|request| request["request_id"] == **id)));
    for sandbox in [&one, &other] {
        until("all requests are listed", async || {
            let listed = requests_of(sandbox, &id).await;
            listed.len() == sent.len() && listed.iter().all(|request| request["status"].is_u64())
        })
        .await;
        let listed = requests_of(sandbox, &id).await;
        let ids: Vec<_> = listed.iter().map(|request| request["request_id"].as_str().unwrap()).collect();
        assert_eq!(ids, sent, "oldest first");
        assert!(listed.iter().all(|request| request["status"] == 201), "{listed:?}");
    }
}

/// The requests of a merchant that this sandbox lists.
async fn requests_of(sandbox: &Sandbox, merchant: &str) -> Vec<Value> {
    let reply = control(sandbox, "GET", &format!("/requests?merchant={merchant}"), Value::Null).await;
    reply.body["requests"].as_array().unwrap().clone()
}

#[tokio::test]
async fn only_the_newest_1000_requests_are_kept() {
    let database = PostgresServer::shared().create_database();
    let [one, other] = two_on(&database).await;
    let (merchant, _) = shop(&one).await;
    let there = at(&other, &merchant);
    for _ in 0..26 {
        let calls = (0..40).map(|number| {
            let merchant = if number % 2 == 0 { merchant.clone() } else { there.clone() };
            tokio::spawn(async move {
                merchant.call("GET", "/v1/payment-methods?country_code=CM", Value::Null).await.status
            })
        });
        for call in calls.collect::<Vec<_>>() {
            assert_eq!(call.await.unwrap(), 200);
        }
    }
    let last = merchant.call("POST", CREATE, order("ORDER-1")).await.header("request-id").unwrap().to_owned();
    // Those of the other sandbox are listed a moment later.
    until("the newest 1,000 requests are listed", async || {
        let requests = merchant.tenant.requests().await;
        assert!(requests.len() <= 1_000);
        requests.len() == 1_000 && requests.iter().any(|request| request.request_id == last)
    })
    .await;
    until("the others are deleted", async || count(&database, "requests") == 1_000).await;
}

#[tokio::test]
async fn a_reset_at_one_is_a_reset_at_the_other() {
    let [one, other] = two().await;
    let (merchant, id) = shop(&one).await;
    let there = at(&other, &merchant);
    assert_eq!(there.call("POST", CREATE, order("ORDER-1")).await.status, 201);
    control(&one, "POST", "/clock", json!({ "merchant": id, "advance_seconds": 1_000 })).await;
    merchant.tenant.fault(Fault::status::<ListPaymentMethods>(500)).await;
    // The requests to the other may not be written yet: they must not come back.
    assert_eq!(there.call("POST", CREATE, order("ORDER-2")).await.status, 201);
    let reset = control(&one, "POST", "/reset", json!({ "merchant": id })).await;
    assert_eq!(reset.status, 200, "{}", reset.text);
    let requests = control(&other, "GET", &format!("/requests?merchant={id}"), Value::Null).await;
    assert_eq!(requests.body["requests"], json!([]));
    let clock =
        control(&other, "GET", &format!("/clock?merchant={id}"), Value::Null).await.body["now"].as_i64().unwrap();
    assert!(clock - reset.body["now"].as_i64().unwrap() < 60, "the clock shows the service's time");
    assert_eq!(there.call("GET", "/v1/payment-methods?country_code=CM", Value::Null).await.status, 200);
    assert_eq!(there.call("GET", CREATE, Value::Null).await.body["data"], json!([]));
    // Those from before the reset would be written with them.
    until("the requests from after the reset are listed", async || merchant.tenant.requests().await.len() >= 2).await;
    assert_eq!(merchant.tenant.requests().await.len(), 2, "those from after the reset");
}

#[tokio::test]
async fn due_periods_are_charged_once_when_both_do_due_work() {
    let [one, other] = two().await;
    let (merchant, id) = shop(&one).await;
    let there = at(&other, &merchant);
    let plan = merchant.plan("daily", 0).await;
    let mut subscriptions = Vec::new();
    for _ in 0..5 {
        subscriptions.push(there.subscribe(&plan, phone("237670000000")).await);
    }
    for day in 0..3 {
        let sandbox = if day % 2 == 0 { &one } else { &other };
        let reads = (0..6).map(|number| {
            let merchant = if number % 2 == 0 { merchant.clone() } else { there.clone() };
            tokio::spawn(async move { merchant.call("GET", "/v1/subscriptions", Value::Null).await.status })
        });
        let reads: Vec<_> = reads.collect();
        let moved = control(sandbox, "POST", "/clock", json!({ "merchant": id, "advance_seconds": 10 * DAY })).await;
        assert_eq!(moved.status, 200, "{}", moved.text);
        for read in reads {
            assert_eq!(read.await.unwrap(), 200);
        }
        // Due work was done before the clock answered.
        let all = if day % 2 == 0 { &there } else { &merchant }.intents().await;
        let references: Vec<_> =
            all.iter().map(|intent| intent["merchant_reference"].as_str().unwrap().to_owned()).collect();
        assert_eq!(references.iter().collect::<HashSet<_>>().len(), references.len(), "charged twice");
        assert_eq!(references.len(), 5 * (10 * (day + 1) + 1));
    }
}

#[tokio::test]
async fn equal_references_at_both_in_opposite_orders_make_one_intent_each_and_no_error() {
    let [one, other] = two().await;
    let (merchant, _) = shop(&one).await;
    let there = at(&other, &merchant);
    let create = |merchant: &Merchant, number: usize| {
        let merchant = merchant.clone();
        tokio::spawn(async move { (number, merchant.call("POST", CREATE, order(&format!("ORDER-{number}"))).await) })
    };
    let calls: Vec<_> = (0..100).flat_map(|number| [create(&merchant, number), create(&there, 99 - number)]).collect();
    let mut ids: HashMap<usize, HashSet<String>> = HashMap::new();
    let mut created = 0;
    for call in calls {
        let (number, reply) = call.await.unwrap();
        assert!(matches!(reply.status, 200 | 201), "{}", reply.text);
        created += usize::from(reply.status == 201);
        ids.entry(number).or_default().insert(reply.body["data"]["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(created, 100, "each is created once, and the other response is 200");
    assert!(ids.values().all(|ids| ids.len() == 1), "{ids:?}");
    assert_eq!(merchant.intents().await.len(), 100);
}

#[tokio::test]
async fn a_sandbox_with_other_keys_does_not_start() {
    let database = PostgresServer::shared().create_database();
    let first = start(&database).await;
    let usual = || on_postgres(Config::default(), &database);
    let other_key = || Some(Secret::new("sk_test_anotherKey0123456789"));
    let other_instance = || Some(Secret::new("another instance key of 32 characters"));
    let cases = [
        (Config { secret_key: other_key(), ..usual() }, "The first merchant's secret key of this sandbox differs"),
        (Config { instance_key: other_instance(), ..usual() }, "The instance key of this sandbox differs"),
        (
            Config { secret_key: other_key(), instance_key: other_instance(), ..usual() },
            "The keys of this sandbox differ",
        ),
    ];
    for (config, expected) in cases {
        let message = refused(config).await;
        assert!(message.contains(expected) && message.contains("GUICHET_INSTANCE_KEY"), "{message}");
        assert!(!message.contains("anotherKey") && !message.contains("another instance"), "{message}");
    }
    // The first one goes on, with its key.
    let key = first.secret_key().expose();
    let url = format!("{}/v1/payment-intents", first.base_url());
    let client = crate::support::api::client();
    assert_eq!(crate::support::api::send(&client, "GET", &url, Some(key), None, &[]).await.status, 200);
}

#[tokio::test]
async fn sandboxes_that_start_at_once_with_one_file_of_keys_have_the_same_keys() {
    let folder = Folder::new("keys-file");
    let database = PostgresServer::shared().create_database();
    let keys = folder.path.join("sandbox.keys");
    let config = || Config { database: database.clone(), keys: Some(keys.clone()), ..Config::default() };
    let (one, other) = tokio::join!(start_on_postgres(config()), start_on_postgres(config()));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(one.secret_key(), other.secret_key());
    assert_ne!(one.control_token(), other.control_token());
    let secret_key = one.secret_key().clone();
    drop((one, other));
    let elsewhere = Config { keys: Some(folder.path.join("other.keys")), ..config() };
    assert!(refused(elsewhere).await.contains("The keys of this sandbox differ"));
    drop(start_on_postgres(Config { secret_key: Some(secret_key), ..config() }).await.unwrap());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(refused(config()).await.contains("Other users can read the keys"));
    }
}

#[tokio::test]
async fn a_file_of_keys_gets_the_given_key_and_another_one_is_refused() {
    let folder = Folder::new("given-keys");
    let database = PostgresServer::shared().create_database();
    let keys = folder.path.join("sandbox.keys");
    let config = |key: &str| Config {
        database: database.clone(),
        keys: Some(keys.clone()),
        secret_key: Some(Secret::new(key)),
        ..Config::default()
    };
    let given = "sk_test_4eC39HqLyjWDarjtT1zdp7dc";
    drop(start_on_postgres(config(given)).await.unwrap());
    assert!(std::fs::read_to_string(&keys).unwrap().contains(given), "the file has the key of the sandbox");
    let message = refused(config("sk_test_anotherKey0123456789")).await;
    assert!(message.starts_with("GUICHET_SECRET_KEY differs from the key in "), "{message}");
    assert!(message.contains("sandbox.keys. Unset it") && !message.contains("anotherKey"), "{message}");
    // Another machine has a copy of the file, and no variable.
    let copied = start_on_postgres(Config { secret_key: None, ..config(given) }).await.unwrap();
    assert_eq!(copied.secret_key().expose(), given);
}

#[tokio::test]
async fn missing_keys_are_reported_before_the_database_is_opened() {
    let without = |instance_key: Option<Secret>, secret_key: Option<Secret>| Config {
        instance_key,
        secret_key,
        ..on_postgres(Config::default(), "postgres://guichet@127.0.0.1:1/absent")
    };
    let key = || Some(Secret::new("sk_test_4eC39HqLyjWDarjtT1zdp7dc"));
    let instance = || Some(Secret::new("0123456789abcdef0123456789abcdef"));
    for (config, missing) in [
        (without(None, None), "GUICHET_INSTANCE_KEY and GUICHET_SECRET_KEY are missing. "),
        (without(None, key()), "GUICHET_INSTANCE_KEY is missing. "),
        (without(instance(), None), "GUICHET_SECRET_KEY is missing. "),
    ] {
        let message = refused(config).await;
        assert!(message.starts_with(missing) && message.contains("Or give --keys FILE"), "{message}");
        assert!(message.contains("GUICHET_INSTANCE_KEY=$(openssl rand -hex 32)"), "{message}");
    }
    assert!(refused(without(instance(), key())).await.contains("cannot be reached"));
}

#[tokio::test]
async fn a_database_that_restarts_gives_a_retryable_503_and_recovers_by_itself() {
    let mut server = PostgresServer::start(&[]);
    let database = server.create_database();
    let sandbox = start(&database).await;
    let (merchant, _) = shop(&sandbox).await;
    assert_eq!(merchant.call("POST", CREATE, order("ORDER-1")).await.status, 201);
    server.stop();
    for method in ["POST", "GET"] {
        let fields = if method == "POST" { order("ORDER-2") } else { Value::Null };
        let begun = Instant::now();
        let unavailable = merchant.call(method, CREATE, fields).await;
        assert_eq!((unavailable.status, unavailable.code()), (503, "unavailable"), "{}", unavailable.text);
        assert_eq!(unavailable.body["error"]["retryable"], true);
        assert_eq!(unavailable.header("retry-after"), Some("1"));
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    }
    server.run();
    until("it recovers", async || merchant.call("POST", CREATE, order("ORDER-2")).await.status != 503).await;
    assert_eq!(merchant.call("POST", CREATE, order("ORDER-1")).await.status, 200, "it is still stored");
    sandbox.stop().await;
}
