//! The shop of `guichet demo`, which uses the routes as a merchant would, against the sandbox.

use crate::support::api::{client, control, send};
use crate::support::folder::Folder;
use crate::support::http::{get, post};
use guichet::demo::{Shop, ShopConfig};
use guichet::operations::{Instrument, PaymentIntent};
use guichet::sandbox::Sandbox;
use guichet::values::{IntentId, Phone};
use guichet::{Client, SecretKey};
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn the_merchants_route_called_twice_and_after_a_restart_gives_the_same_intent() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let folder = Folder::new("shop");
    let database = folder.database();
    let shop = open(&sandbox, &database, None).await;
    let awa = sign_in(&shop, "awa").await;
    let id = place(&shop, &awa).await;
    let first = ticket(&shop, &awa, &id).await;
    assert_eq!(ticket(&shop, &awa, &id).await, first);

    let address = shop.url().to_owned();
    shop.stop().await;
    let shop = open(&sandbox, &database, Some(&address)).await;
    assert_eq!(ticket(&shop, &awa, &id).await, first, "the cookie, the order and its payment are still known");
    shop.stop().await;
    sandbox.stop().await;
}

#[tokio::test]
async fn the_same_basket_is_one_order_until_it_is_paid() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let shop = open(&sandbox, "memory:", None).await;
    let awa = sign_in(&shop, "awa").await;
    let id = place(&shop, &awa).await;
    assert_eq!(place(&shop, &awa).await, id);
    let in_french = r#"{"lines":[{"sku":"trainers","quantity":1}],"language":"fr"}"#;
    let same = post(&format!("{}/api/orders", shop.url()), &[&awa], in_french).await.json();
    assert_eq!((&same["id"], &same["lines"][0]["name"]), (&json!(id), &json!("Wouri trainers")));
    pay(&sandbox, &ticket(&shop, &awa, &id).await, "237670000000").await;
    assert_eq!(status(&shop, &awa, &id).await, "unpaid", "the shop has not read it yet");
    let payment_ref = order(&shop, &awa, &id).await["payment_ref"].as_str().expect("a reference").to_owned();
    let read = get(&format!("{}/guichet/intents/{payment_ref}", shop.url()), &[&awa]).await;
    assert_eq!(read.json()["status"], "succeeded");
    assert_eq!(status(&shop, &awa, &id).await, "paid");
    assert_ne!(place(&shop, &awa).await, id, "buying the same shoes again is another order");
    let paid = ticket(&shop, &awa, &id).await;
    assert_eq!(paid["intent"]["status"], "succeeded", "a paid order is not paid twice");
    shop.stop().await;
    sandbox.stop().await;
}

#[tokio::test]
async fn after_a_final_decline_the_order_gets_a_new_reference() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let shop = open(&sandbox, "memory:", None).await;
    let awa = sign_in(&shop, "awa").await;
    let id = place(&shop, &awa).await;
    let first = ticket(&shop, &awa, &id).await;
    assert_eq!(first["intent"]["merchant_reference"], format!("ORDER-{id}"));
    pay(&sandbox, &first, "237670000009").await;

    let replayed = ticket(&shop, &awa, &id).await;
    assert_eq!((&replayed["intent"]["id"], &replayed["intent"]["status"]), (&first["intent"]["id"], &json!("failed")));
    assert_eq!(status(&shop, &awa, &id).await, "failed");
    let next = ticket(&shop, &awa, &id).await;
    assert_eq!(next["intent"]["merchant_reference"], format!("ORDER-{id}.1"));
    assert_ne!(next["return_nonce"], first["return_nonce"]);
    assert_eq!(status(&shop, &awa, &id).await, "unpaid");
    assert_eq!(ticket(&shop, &awa, &id).await, next);

    // Reading the failed payment late does not change the new one.
    let payment_ref = first["intent"]["payment_ref"].as_str().expect("a reference");
    get(&format!("{}/guichet/intents/{payment_ref}", shop.url()), &[&awa]).await;
    assert_eq!(status(&shop, &awa, &id).await, "unpaid");
    shop.stop().await;
    sandbox.stop().await;
}

#[tokio::test]
async fn a_customer_who_pays_and_closes_the_tab_has_paid_the_order() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let mut config = ShopConfig::for_tests(&sandbox);
    config.settle_every = Duration::from_millis(20);
    let shop = Shop::start(config).await.expect("a shop");
    let (awa, paul) = (sign_in(&shop, "awa").await, sign_in(&shop, "paul").await);
    let abandoned = place(&shop, &paul).await;
    ticket(&shop, &paul, &abandoned).await;
    let id = place(&shop, &awa).await;
    pay(&sandbox, &ticket(&shop, &awa, &id).await, "237670000000").await;
    // From here on only the shop reads the payment.
    let paid = async {
        while status(&shop, &awa, &id).await != "paid" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    // The shop pauses for a minute if the service does not respond, as may happen on a busy machine.
    tokio::time::timeout(Duration::from_secs(150), paid).await.expect("the order becomes paid");
    assert_eq!(status(&shop, &paul, &abandoned).await, "unpaid");
    shop.stop().await;
    sandbox.stop().await;
}

#[tokio::test]
async fn an_unreadable_payment_does_not_block_settling_the_others() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let mut config = ShopConfig::for_tests(&sandbox);
    config.settle_every = Duration::from_millis(20);
    let fault = json!({"operation": "read_payment_intent", "kind": "status", "status": 400, "count": 1});
    let reply = control(&sandbox, "POST", "/faults", fault).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let shop = Shop::start(config).await.expect("a shop");
    let (awa, paul) = (sign_in(&shop, "awa").await, sign_in(&shop, "paul").await);
    let abandoned = place(&shop, &paul).await;
    ticket(&shop, &paul, &abandoned).await;
    let refused = async {
        while control(&sandbox, "GET", "/faults", Value::Null).await.body["faults"] != json!([]) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), refused).await.expect("the shop reads the payment");
    let id = place(&shop, &awa).await;
    pay(&sandbox, &ticket(&shop, &awa, &id).await, "237670000000").await;
    let paid = async {
        while status(&shop, &awa, &id).await != "paid" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    // Well under the minute for which the shop pauses if the service does not respond.
    tokio::time::timeout(Duration::from_secs(45), paid).await.expect("the order becomes paid");
    shop.stop().await;
    sandbox.stop().await;
}

#[tokio::test]
async fn a_customer_who_paid_twice_after_a_late_approval_is_owed_a_refund() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let mut config = ShopConfig::for_tests(&sandbox);
    config.settle_every = Duration::from_millis(20);
    let shop = Shop::start(config).await.expect("a shop");
    let awa = sign_in(&shop, "awa").await;
    let id = place(&shop, &awa).await;
    let ticket = ticket(&shop, &awa, &id).await;
    attach(&sandbox, &ticket, "237670000012").await;
    pay(&sandbox, &ticket, "237670000000").await;
    let until = async |wanted: &dyn Fn(&Value) -> bool| {
        let waiting = async {
            loop {
                let order = order(&shop, &awa, &id).await;
                if wanted(&order) {
                    return order;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("the shop reads without a page")
    };
    let paid = until(&|order| order["status"] == "paid").await;
    assert_eq!(paid["refunds_due"], json!([]));
    let moved = format!("{}/clock", sandbox.control_url());
    let token = format!("Authorization: Bearer {}", sandbox.control_token().expose());
    assert_eq!(post(&moved, &[&token], r#"{"advance_seconds":600}"#).await.status, 200);
    let owed = until(&|order| order["refunds_due"] != json!([])).await;
    let refund = &owed["refunds_due"][0];
    // The customer bears the fee and paid it both times.
    assert_eq!((&refund["amount"], &refund["currency"]), (&json!("45900"), &json!("XAF")));
    assert_eq!((&owed["status"], owed["refunds_due"].as_array().map(Vec::len)), (&json!("paid"), Some(1)));
    shop.stop().await;
    sandbox.stop().await;
}

#[tokio::test]
async fn a_shop_with_an_invalid_return_address_does_not_start() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let mut config = ShopConfig::for_tests(&sandbox);
    config.listen = "0.0.0.0:0".parse().expect("an address");
    let error = Shop::start(config).await.expect_err("plain http is for loopback");
    assert!(error.to_string().contains("--listen 127.0.0.1"), "{error}");
    sandbox.stop().await;
}

#[tokio::test]
async fn an_order_is_visible_only_to_its_owner() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let shop = open(&sandbox, "memory:", None).await;
    let (awa, paul) = (sign_in(&shop, "awa").await, sign_in(&shop, "paul").await);
    let id = place(&shop, &awa).await;
    let payment_ref = ticket(&shop, &awa, &id).await["intent"]["payment_ref"].as_str().expect("a reference").to_owned();
    let order = format!("{}/api/orders/{id}", shop.url());
    let payment = format!("{}/guichet/intents/{payment_ref}", shop.url());
    for (who, expected) in [(vec![awa.as_str()], 200), (vec![paul.as_str()], 404), (vec![], 401)] {
        assert_eq!(get(&order, &who).await.status, expected);
        assert_eq!(get(&payment, &who).await.status, expected);
    }
    let stolen = post(&format!("{}/guichet/intents", shop.url()), &[&paul], &json!({"id": id}).to_string()).await;
    assert_eq!(stolen.status, 404);
    shop.stop().await;
    sandbox.stop().await;
}

#[tokio::test]
async fn prices_are_the_shops_own_and_a_foreign_page_is_refused() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let shop = open(&sandbox, "memory:", None).await;
    let awa = sign_in(&shop, "awa").await;
    let orders = format!("{}/api/orders", shop.url());
    let cheap = r#"{"lines":[{"sku":"trainers","quantity":2,"price":"1"}],"total":"1"}"#;
    assert_eq!(post(&orders, &[&awa], cheap).await.json()["total"], "90000");
    for basket in [
        r#"{"lines":[]}"#,
        r#"{"lines":[{"sku":"trainers","quantity":0}]}"#,
        r#"{"lines":[{"sku":"yacht","quantity":1}]}"#,
    ] {
        assert_eq!(post(&orders, &[&awa], basket).await.status, 422, "{basket}");
    }
    let foreign = format!("Origin: {}", sandbox.base_url());
    assert_eq!(post(&orders, &[&awa, &foreign], cheap).await.status, 403);
    assert_eq!(post(&format!("{}/guichet/session", shop.url()), &[&awa, &foreign], "").await.status, 403);
    shop.stop().await;
    sandbox.stop().await;
}

#[tokio::test]
async fn signing_out_ends_the_cookie() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let shop = open(&sandbox, "memory:", None).await;
    let awa = sign_in(&shop, "awa").await;
    let session = format!("{}/guichet/session", shop.url());
    assert_eq!(post(&session, &[&awa], "").await.status, 200);
    assert_eq!(post(&format!("{}/api/sign-out", shop.url()), &[&awa], "{}").await.status, 204);
    assert_eq!(post(&session, &[&awa], "").await.status, 401);
    shop.stop().await;
    sandbox.stop().await;
}

#[tokio::test]
async fn the_shops_pages_may_connect_only_to_the_shop_and_the_service() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let package = Folder::new("shop-package");
    std::fs::write(package.path.join("guichet.js"), "export {};").expect("a file");
    let mut config = ShopConfig::for_tests(&sandbox);
    config.package = Some(package.path.clone());
    let shop = Shop::start(config).await.expect("a shop");
    for path in ["/", "/return", "/assets/shop.js", "/assets/pictures/boots.svg", "/package/guichet.js"] {
        let page = get(&format!("{}{path}", shop.url()), &[]).await;
        let policy = page.header("content-security-policy").expect("a policy");
        assert_eq!(page.status, 200, "{path}");
        assert!(policy.contains(&format!("connect-src 'self' {};", sandbox.base_url())), "{policy}");
        assert!(policy.contains("script-src 'self' 'wasm-unsafe-eval';"), "{policy}");
        assert!(!page.body.contains("sk_test_"));
    }
    let shown = get(&format!("{}/api/shop", shop.url()), &[]).await;
    assert_eq!(shown.json()["products"].as_array().map(Vec::len), Some(6));
    assert!(!shown.body.contains("sk_test_"));
    for product in shown.json()["products"].as_array().expect("products") {
        let picture = product["picture"].as_str().expect("a picture");
        assert_eq!(get(&format!("{}/assets/{picture}", shop.url()), &[]).await.status, 200, "{picture}");
    }
    shop.stop().await;
    sandbox.stop().await;
}

#[tokio::test]
async fn the_shop_responds_only_to_its_own_host_names() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let shop = open(&sandbox, "memory:", None).await;
    let client = client();
    for path in ["/", "/api/shop", "/package/guichet.js"] {
        let url = format!("{}{path}", shop.url());
        let call = async |host: &'static str| send(&client, "GET", &url, None, None, &[("host", host)]).await.status;
        for known in ["localhost:4242", "127.0.0.1", "[::1]:4242"] {
            assert_eq!(call(known).await, 200, "{path} under {known}");
        }
        for unknown in ["evil.example", "localhost.evil.example:4242", "192.168.1.9", ""] {
            assert_eq!(call(unknown).await, 421, "{path} under {unknown}");
        }
    }
    shop.stop().await;
    sandbox.stop().await;
}

#[tokio::test]
async fn a_customer_pauses_resumes_and_ends_their_own_subscription_and_no_other() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let shop = open(&sandbox, "memory:", None).await;
    let (awa, paul) = (token(&shop, "awa").await, token(&shop, "paul").await);
    let at = |path: &str| format!("{}/api/subscriptions{path}", shop.url());
    let wish = r#"{"plan":"care-monthly"}"#;
    assert_eq!(post(&at(""), &[], wish).await.json()["error"]["code"], "authentication_required");
    let created = post(&at(""), &[&awa], wish).await;
    assert_eq!((created.status, &created.json()["status"]), (201, &json!("active")), "{}", created.body);
    let subscription = created.json();
    let plan = json!({"code": "care-monthly", "name": "Shoe care", "amount": "3500", "currency": "XAF", "billing_cycle": "monthly"});
    assert_eq!(subscription["plan"], plan);
    assert_eq!(subscription["next_charge_at"], subscription["current_period_end"]);
    let repeated = post(&at(""), &[&awa], wish).await;
    assert_eq!(
        (repeated.status, repeated.json()),
        (200, subscription.clone()),
        "a second click creates no second subscription"
    );
    assert_eq!(get(&at(""), &[&awa]).await.json(), json!({"subscriptions": [subscription]}));
    assert_eq!(get(&at(""), &[&paul]).await.json(), json!({"subscriptions": []}));

    let id = subscription["id"].as_str().expect("an identifier");
    for verb in ["pause", "resume", "cancel"] {
        let path = at(&format!("/{id}/{verb}"));
        assert_eq!(post(&path, &[], "").await.status, 401, "{verb}");
        let of_paul = post(&path, &[&paul], "").await;
        assert_eq!((of_paul.status, &of_paul.json()["error"]["code"]), (404, &json!("resource_missing")), "{verb}");
        let unknown = post(&at(&format!("/sub_unknown/{verb}")), &[&awa], "").await;
        assert_eq!((unknown.status, unknown.json()["message"].clone()), (404, of_paul.json()["message"].clone()));
    }
    let later = post(&at(&format!("/{id}/pause")), &[&awa], r#"{"immediately":false}"#).await.json();
    assert_eq!((&later["status"], &later["pause_at_period_end"]), (&json!("active"), &json!(true)));
    let paused = post(&at(&format!("/{id}/pause")), &[&awa], "").await.json();
    assert_eq!((&paused["status"], &paused["next_charge_at"]), (&json!("paused"), &Value::Null));
    assert_eq!(post(&at(&format!("/{id}/resume")), &[&awa], "").await.json()["status"], "active");
    let ending = post(&at(&format!("/{id}/cancel")), &[&awa], "").await.json();
    assert_eq!((&ending["status"], &ending["cancel_at_period_end"]), (&json!("active"), &json!(true)));
    let ended = post(&at(&format!("/{id}/cancel")), &[&awa], r#"{"immediately":true}"#).await.json();
    assert_eq!(ended["status"], "canceled");
    let too_late = post(&at(&format!("/{id}/resume")), &[&awa], "").await;
    assert_eq!((too_late.status, &too_late.json()["error"]["code"]), (409, &json!("subscription_state")));
    shop.stop().await;
    sandbox.stop().await;
}

#[tokio::test]
async fn a_login_of_the_shop_has_one_session_token_which_ends_with_it() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let shop = open(&sandbox, "memory:", None).await;
    let cookie = sign_in(&shop, "awa").await;
    let session = format!("{}/guichet/session", shop.url());
    let first = post(&session, &[&cookie], "").await.json();
    assert_eq!(post(&session, &[&cookie], "").await.json(), first, "another tab gets the same token");
    let token = format!("Authorization: Bearer {}", first["session_token"].as_str().expect("a token"));
    let subscriptions = format!("{}/api/subscriptions", shop.url());
    assert_eq!(get(&subscriptions, &[&token]).await.status, 200);
    post(&format!("{}/api/sign-out", shop.url()), &[&cookie], "{}").await;
    let refused = get(&subscriptions, &[&token]).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (401, &json!("session_revoked")));
    assert_eq!(post(&session, &[&cookie], "").await.status, 401);
    shop.stop().await;
    sandbox.stop().await;
}

#[tokio::test]
async fn a_missing_package_and_a_port_in_use_are_reported() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let mut config = ShopConfig::for_tests(&sandbox);
    config.package = Some("there/is/no/package/here".into());
    let shop = Shop::start(config).await.expect("a shop");
    let page = get(&format!("{}/", shop.url()), &[]).await;
    assert_eq!(page.status, 503);
    assert!(page.body.contains("cargo xtask pack --quick"));

    let mut config = ShopConfig::for_tests(&sandbox);
    config.listen = shop.url().strip_prefix("http://").expect("plain http").parse().expect("an address");
    let error = Shop::start(config).await.expect_err("the port is taken");
    assert!(error.to_string().contains("already in use"), "{error}");
    shop.stop().await;
    sandbox.stop().await;
}

pub async fn open(sandbox: &Sandbox, database: &str, address: Option<&str>) -> Shop {
    let mut config = ShopConfig::for_tests(sandbox);
    config.database = database.to_owned();
    // These tests need settling on a page's request only.
    config.settle_every = Duration::from_secs(3600);
    if let Some(address) = address {
        config.listen = address.strip_prefix("http://").expect("plain http").parse().expect("an address");
    }
    Shop::start(config).await.expect("a shop")
}

/// The cookie of a customer who has signed in.
pub async fn sign_in(shop: &Shop, customer: &str) -> String {
    let reply = post(&format!("{}/api/sign-in", shop.url()), &[], &json!({"customer": customer}).to_string()).await;
    assert_eq!(reply.status, 200);
    let set = reply.header("set-cookie").expect("a cookie").to_owned();
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Lax"), "{set}");
    reply.cookie().expect("a cookie")
}

/// The header of a signed-in customer for the shop's own API.
async fn token(shop: &Shop, customer: &str) -> String {
    let cookie = sign_in(shop, customer).await;
    let session = post(&format!("{}/guichet/session", shop.url()), &[&cookie], "").await.json();
    format!("Authorization: Bearer {}", session["session_token"].as_str().expect("a token"))
}

pub async fn place(shop: &Shop, cookie: &str) -> String {
    let basket = r#"{"lines":[{"sku":"trainers","quantity":1}]}"#;
    let reply = post(&format!("{}/api/orders", shop.url()), &[cookie], basket).await;
    assert_eq!(reply.status, 201, "{}", reply.body);
    reply.json()["id"].as_str().expect("a number").to_owned()
}

async fn order(shop: &Shop, cookie: &str, id: &str) -> Value {
    get(&format!("{}/api/orders/{id}", shop.url()), &[cookie]).await.json()
}

async fn status(shop: &Shop, cookie: &str, id: &str) -> Value {
    order(shop, cookie, id).await["status"].clone()
}

async fn ticket(shop: &Shop, cookie: &str, id: &str) -> Value {
    let reply = post(&format!("{}/guichet/intents", shop.url()), &[cookie], &json!({"id": id}).to_string()).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.json()
}

/// Pays as the hosted page does, with a test phone that succeeds or fails at once.
async fn pay(sandbox: &Sandbox, ticket: &Value, phone: &str) {
    assert!(attach(sandbox, ticket, phone).await.status.is_final());
}

async fn attach(sandbox: &Sandbox, ticket: &Value, phone: &str) -> PaymentIntent {
    let key = SecretKey::new(sandbox.secret_key().expose()).expect("a key");
    let client = Client::builder(sandbox.base_url(), key).build().expect("a client");
    let id = IntentId::new(ticket["intent"]["id"].as_str().expect("an identifier")).expect("an identifier");
    let phone = Phone::new(phone).expect("a phone");
    client.attach_payment_method(&id, Instrument::MobileMoney { phone }).await.expect("it is tried");
    client.read_payment_intent(&id).await.expect("the intent")
}
