//! What customers see of the shop.

use super::support::http::{get, post};
use super::{APPROVED_LATE, FAILS, PAYS, Visitor, World, intent_of, on_each_database};
use crate::settler::keep_settling;
use serde_json::{Value, json};
use std::time::Duration;

on_each_database! {
    the_merchants_route_called_twice_and_on_another_server_gives_the_same_intent
    the_same_basket_is_one_order_until_it_is_paid
    after_a_final_decline_the_order_gets_a_new_reference
    a_customer_who_pays_and_closes_the_tab_has_paid_the_order
    an_unreadable_payment_does_not_block_settling_the_others
    a_customer_who_paid_twice_after_a_late_approval_is_owed_a_refund
    an_order_is_visible_only_to_its_owner
    the_21st_open_payment_is_refused_and_a_repeated_create_is_not
    signing_out_ends_the_cookie_and_the_only_session_token_of_the_login
    a_customer_without_script_signs_in_buys_and_reads_that_they_have_paid
}

/// They use no database.
#[tokio::test]
async fn a_page_of_the_named_origin_and_no_other_calls_the_server() {
    let page = "http://localhost:5173";
    let shop = World::on_sqlite().await.serve_for_a_page_at(Some(page)).await;
    for path in ["/api/sign-in", "/guichet/session", "/plain"] {
        for (origin, is_the_pages) in [(page, true), ("http://localhost:5174", false), ("null", false)] {
            let headers = [format!("Origin: {origin}"), "Sec-Fetch-Site: same-site".to_owned()];
            let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
            let reply = post(&format!("{shop}{path}"), &headers, r#"{"customer":"awa"}"#).await;
            assert_eq!(reply.status == 403, !is_the_pages, "{path} {origin}: {}", reply.status);
            let allowed = reply.header("access-control-allow-origin");
            assert_eq!(allowed == Some(origin), is_the_pages && path != "/plain", "{path} {origin}: {allowed:?}");
        }
    }
}

async fn a_customer_without_script_signs_in_buys_and_reads_that_they_have_paid(world: World) {
    let shop = world.serve().await;
    let (form, french) = ("Content-Type: application/x-www-form-urlencoded", "Accept-Language: fr-CM");
    assert!(get(&format!("{shop}/plain"), &[]).await.body.contains("I am Awa"));
    assert_eq!(post(&format!("{shop}/plain"), &[form], "customer=eve").await.status, 422);
    let signed_in = post(&format!("{shop}/plain"), &[form], "customer=awa").await;
    assert_eq!((signed_in.status, signed_in.header("location")), (303, Some("/plain")));
    let cookie = signed_in.cookie().unwrap();
    assert!(
        get(&format!("{shop}/plain"), &[&cookie, french]).await.body.contains("Baskets Wouri, 45\u{202f}000\u{a0}FCFA")
    );

    let buy = async |sku: &str| post(&format!("{shop}/guichet/intents"), &[&cookie, form], &format!("sku={sku}")).await;
    let (first, second, unknown) = (buy("trainers").await, buy("trainers").await, buy("skates").await);
    assert_eq!((first.status, first.header("location")), (303, second.header("location")), "{}", first.body);
    assert!(unknown.status == 404 && unknown.body.contains("<p>There is no such order.</p>"), "{}", unknown.body);
    let intents = world.client.list_payment_intents(&Default::default()).await.unwrap().entries;
    assert_eq!(intents.len(), 1, "a second click is the same order");
    let back = format!("{shop}/guichet/return?payment_ref={}", intents[0].payment_ref.as_ref().unwrap().as_str());
    assert!(get(&back, &[&cookie, french]).await.body.contains("Vous n’avez pas encore payé."));
    world.attach(&intents[0].id, PAYS).await;
    assert!(get(&back, &[&cookie]).await.body.contains("Thank you. You have paid."));
    assert_eq!(get(&back, &[]).await.status, 401);
    assert_ne!(buy("trainers").await.header("location"), first.header("location"), "the next pair is another order");
}

async fn the_merchants_route_called_twice_and_on_another_server_gives_the_same_intent(world: World) {
    let awa = Visitor::sign_in(&world.serve().await, "awa").await;
    let id = awa.place(1).await;
    let first = awa.ticket(&id).await;
    assert_eq!(awa.ticket(&id).await, first);
    let elsewhere = awa.at(&world.serve().await);
    assert_eq!(elsewhere.ticket(&id).await, first, "the cookie, the order and its payment are known there");
}

async fn the_same_basket_is_one_order_until_it_is_paid(world: World) {
    let awa = Visitor::sign_in(&world.serve().await, "awa").await;
    let id = awa.place(1).await;
    assert_eq!(awa.place(1).await, id);
    let in_french = r#"{"lines":[{"sku":"trainers","quantity":1}],"language":"fr"}"#;
    let same = awa.post("/api/orders", in_french).await.json();
    assert_eq!((&same["id"], &same["lines"][0]["name"]), (&json!(id), &json!("Wouri trainers")));
    world.attach(&intent_of(&awa.ticket(&id).await), PAYS).await;
    assert_eq!(awa.status(&id).await, "unpaid", "the shop has not read it yet");
    let payment_ref = awa.order(&id).await["payment_ref"].as_str().unwrap().to_owned();
    let read = awa.get(&format!("/guichet/intents/{payment_ref}")).await;
    assert_eq!(read.json()["status"], "succeeded");
    assert_eq!(awa.status(&id).await, "paid");
    assert_ne!(awa.place(1).await, id, "buying the same shoes again is another order");
    let paid = awa.ticket(&id).await;
    assert_eq!(paid["intent"]["status"], "succeeded", "a paid order is not paid twice");
}

async fn after_a_final_decline_the_order_gets_a_new_reference(world: World) {
    let awa = Visitor::sign_in(&world.serve().await, "awa").await;
    let id = awa.place(1).await;
    let first = awa.ticket(&id).await;
    assert_eq!(first["intent"]["merchant_reference"], format!("ORDER-{id}"));
    world.attach(&intent_of(&first), FAILS).await;

    let next = awa.ticket(&id).await;
    assert_eq!(next["intent"]["merchant_reference"], format!("ORDER-{id}-1"));
    assert_ne!(next["return_nonce"], first["return_nonce"]);
    assert_eq!(awa.status(&id).await, "unpaid");
    assert_eq!(awa.ticket(&id).await, next);

    // Reading the failed payment late does not change the new one.
    let payment_ref = first["intent"]["payment_ref"].as_str().unwrap();
    awa.get(&format!("/guichet/intents/{payment_ref}")).await;
    assert_eq!(awa.status(&id).await, "unpaid");
}

async fn a_customer_who_pays_and_closes_the_tab_has_paid_the_order(world: World) {
    let shop = world.serve().await;
    let (awa, paul) = (Visitor::sign_in(&shop, "awa").await, Visitor::sign_in(&shop, "paul").await);
    let (id, abandoned) = (awa.place(1).await, paul.place(1).await);
    paul.ticket(&abandoned).await;
    let ticket = awa.ticket(&id).await;
    world.attach(&intent_of(&ticket), PAYS).await;
    // From here on only the shop reads the payment.
    tokio::spawn(keep_settling(world.ledger.clone(), world.seller.clone(), Duration::from_millis(20)));
    // The shop waits for a minute if the service does not respond, as may happen on a busy machine.
    until(150, async || awa.status(&id).await == "paid").await;
    assert_eq!(paul.status(&abandoned).await, "unpaid");
    let back = format!("/guichet/intents/{}", ticket["intent"]["payment_ref"].as_str().unwrap());
    assert_eq!(awa.get(&back).await.json()["status"], "succeeded", "a customer who comes back later sees it");
}

async fn an_unreadable_payment_does_not_block_settling_the_others(world: World) {
    use guichet::operations::ReadPaymentIntent;
    use guichet_sandbox::Fault;

    let shop = world.serve().await;
    let (awa, paul) = (Visitor::sign_in(&shop, "awa").await, Visitor::sign_in(&shop, "paul").await);
    paul.ticket(&paul.place(1).await).await;
    world.merchant.fault(Fault::status::<ReadPaymentIntent>(400)).await.expect("a fault");
    tokio::spawn(keep_settling(world.ledger.clone(), world.seller.clone(), Duration::from_millis(20)));
    until(60, async || world.merchant.faults().await.unwrap().is_empty()).await;
    let id = awa.place(1).await;
    world.attach(&intent_of(&awa.ticket(&id).await), PAYS).await;
    // Well under the minute after which the first one is read again.
    until(45, async || awa.status(&id).await == "paid").await;
}

async fn a_customer_who_paid_twice_after_a_late_approval_is_owed_a_refund(world: World) {
    let awa = Visitor::sign_in(&world.serve().await, "awa").await;
    let id = awa.place(1).await;
    let intent = intent_of(&awa.ticket(&id).await);
    world.attach(&intent, APPROVED_LATE).await;
    world.attach(&intent, PAYS).await;
    tokio::spawn(keep_settling(world.ledger.clone(), world.seller.clone(), Duration::from_millis(20)));
    until(60, async || awa.status(&id).await == "paid").await;
    assert_eq!(awa.order(&id).await["refunds_due"], json!([]));
    // A payment that has ended is read 40 times in its day.
    world.merchant.clock().advance(2_200).await.unwrap();
    until(60, async || awa.order(&id).await["refunds_due"] != json!([])).await;
    let owed = awa.order(&id).await;
    let refund = &owed["refunds_due"][0];
    // The customer bears the fee and paid it both times.
    assert_eq!((&refund["amount"], &refund["currency"]), (&json!("45900"), &json!("XAF")));
    assert_eq!((&owed["status"], owed["refunds_due"].as_array().map(Vec::len)), (&json!("paid"), Some(1)));
}

async fn an_order_is_visible_only_to_its_owner(world: World) {
    let shop = world.serve().await;
    let (awa, paul) = (Visitor::sign_in(&shop, "awa").await, Visitor::sign_in(&shop, "paul").await);
    let id = awa.place(1).await;
    let payment_ref = awa.ticket(&id).await["intent"]["payment_ref"].as_str().unwrap().to_owned();
    for path in [format!("/api/orders/{id}"), format!("/guichet/intents/{payment_ref}")] {
        assert_eq!(awa.get(&path).await.status, 200);
        assert_eq!(paul.get(&path).await.status, 404);
        assert_eq!(get(&format!("{shop}{path}"), &[]).await.status, 401);
    }
    assert_eq!(paul.begin(&id).await.status, 404);
    assert_eq!(post(&format!("{shop}/api/orders"), &[], r#"{"lines":[]}"#).await.status, 401);
}

async fn the_21st_open_payment_is_refused_and_a_repeated_create_is_not(world: World) {
    let shop = world.serve().await;
    let (awa, paul) = (Visitor::sign_in(&shop, "awa").await, Visitor::sign_in(&shop, "paul").await);
    let mut orders = Vec::new();
    for pairs in 1..=21 {
        orders.push(awa.place(pairs).await);
    }
    let first = awa.ticket(&orders[0]).await;
    for id in &orders[1..20] {
        awa.ticket(id).await;
    }
    let refused = awa.begin(&orders[20]).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (409, &json!("too_many_open_payments")));
    awa.ticket(&orders[19]).await;
    paul.ticket(&paul.place(1).await).await;

    // The customer cancels one, and the page asks for its status.
    world.client.cancel_payment_intent(&intent_of(&first)).await.unwrap();
    let back = format!("/guichet/intents/{}", first["intent"]["payment_ref"].as_str().unwrap());
    assert_eq!(awa.get(&back).await.json()["status"], "canceled");
    awa.ticket(&orders[20]).await;
}

async fn signing_out_ends_the_cookie_and_the_only_session_token_of_the_login(world: World) {
    let shop = world.serve().await;
    let awa = Visitor::sign_in(&shop, "awa").await;
    assert_eq!(post(&format!("{shop}/guichet/session"), &[], "").await.status, 401, "nobody is signed in");
    let token = awa.token().await;
    assert_eq!(awa.token().await, token, "another tab gets the same token");
    let subscriptions = format!("{shop}/api/subscriptions");
    assert_eq!(get(&subscriptions, &[&token]).await.status, 200);
    assert_eq!(awa.post("/api/sign-out", "{}").await.status, 204);
    let refused = get(&subscriptions, &[&token]).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (401, &json!("session_revoked")));
    assert_eq!(awa.post("/guichet/session", "").await.status, 401);
    assert_eq!(awa.get("/api/shop").await.json()["customer"], Value::Null);
}

#[tokio::test]
async fn prices_are_the_shops_own_and_a_foreign_page_is_refused() {
    let world = World::on_sqlite().await;
    let shop = world.serve().await;
    let awa = Visitor::sign_in(&shop, "awa").await;
    let cheap = r#"{"lines":[{"sku":"trainers","quantity":2,"price":"1"}],"total":"1"}"#;
    assert_eq!(awa.post("/api/orders", cheap).await.json()["total"], "90000");
    for basket in [
        r#"{"lines":[]}"#,
        r#"{"lines":[{"sku":"trainers","quantity":0}]}"#,
        r#"{"lines":[{"sku":"yacht","quantity":1}]}"#,
    ] {
        assert_eq!(awa.post("/api/orders", basket).await.status, 422, "{basket}");
    }
    let foreign = format!("Origin: {}", world.merchant.base_url());
    for (path, headers) in [
        ("/api/orders", vec![&*foreign]),
        ("/api/orders", vec!["Sec-Fetch-Site: same-site"]),
        ("/guichet/session", vec![&*foreign]),
    ] {
        let sent = [&[&*awa.cookie], &*headers].concat();
        assert_eq!(post(&format!("{shop}{path}"), &sent, cheap).await.status, 403, "{path} {headers:?}");
    }
    let own = format!("Origin: {shop}");
    assert_eq!(post(&format!("{shop}/api/orders"), &[&awa.cookie, &own], cheap).await.status, 201);
}

#[tokio::test]
async fn the_shops_pages_may_connect_only_to_the_shop_and_the_service() {
    let world = World::on_sqlite().await;
    let shop = world.serve().await;
    let pages = ["/", "/return", "/subscriptions", "/assets/shop.js", "/assets/pictures/boots.svg"];
    for path in pages.into_iter().chain(["/assets/package/guichet.js", "/package/guichet.js"]) {
        let page = get(&format!("{shop}{path}"), &[]).await;
        let policy = page.header("content-security-policy").unwrap();
        assert_eq!(page.status, 200, "{path}");
        assert!(policy.contains(&format!("connect-src 'self' {};", world.merchant.base_url())), "{policy}");
        assert!(policy.contains("script-src 'self' 'wasm-unsafe-eval';"), "{policy}");
        assert!(!page.body.contains("sk_test_"));
    }
    let shown = get(&format!("{shop}/api/shop"), &[]).await;
    assert_eq!(shown.json()["products"].as_array().map(Vec::len), Some(6));
    assert!(!shown.body.contains("sk_test_"));
    for product in shown.json()["products"].as_array().unwrap() {
        let picture = product["picture"].as_str().unwrap();
        assert_eq!(get(&format!("{shop}/assets/{picture}"), &[]).await.status, 200, "{picture}");
    }
}

#[tokio::test]
async fn the_shop_responds_only_to_its_own_host_names() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let world = World::on_sqlite().await;
    let shop = world.serve().await;
    for path in ["/", "/api/shop", "/package/guichet.js"] {
        let call = async |host: &str| {
            let mut stream = tokio::net::TcpStream::connect(&shop["http://".len()..]).await.unwrap();
            let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut reply = String::new();
            stream.read_to_string(&mut reply).await.unwrap();
            reply["HTTP/1.1 ".len()..][..3].to_owned()
        };
        for known in ["localhost:4242", "127.0.0.1", "[::1]:4242"] {
            assert_eq!(call(known).await, "200", "{path} under {known}");
        }
        for unknown in ["evil.example", "localhost.evil.example:4242", "192.168.1.9", ""] {
            assert_eq!(call(unknown).await, "421", "{path} under {unknown}");
        }
    }
}

#[tokio::test]
async fn a_customer_pauses_resumes_and_ends_their_own_subscription_and_no_other() {
    let world = World::on_sqlite().await;
    let shop = world.serve().await;
    let awa = Visitor::sign_in(&shop, "awa").await.token().await;
    let paul = Visitor::sign_in(&shop, "paul").await.token().await;
    let at = |path: &str| format!("{shop}/api/subscriptions{path}");
    let wish = r#"{"plan":"care-monthly"}"#;
    assert_eq!(post(&at(""), &[], wish).await.json()["error"]["code"], "authentication_required");
    let created = post(&at(""), &[&awa], wish).await;
    assert_eq!((created.status, &created.json()["status"]), (201, &json!("active")), "{}", created.body);
    let subscription = created.json();
    let plan = json!({"code": "care-monthly", "name": "Shoe care", "amount": "3500", "currency": "XAF", "billing_cycle": "monthly"});
    assert_eq!(subscription["plan"], plan);
    assert_eq!(subscription["next_charge_at"], subscription["current_period_end"]);
    let repeated = post(&at(""), &[&awa], wish).await;
    let is_the_same = (repeated.status, repeated.json()) == (200, subscription.clone());
    assert!(is_the_same, "a second click creates no second subscription");
    assert_eq!(get(&at(""), &[&awa]).await.json(), json!({"subscriptions": [subscription]}));
    assert_eq!(get(&at(""), &[&paul]).await.json(), json!({"subscriptions": []}));

    let id = subscription["id"].as_str().unwrap();
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
}

/// Waits until this is so.
async fn until(seconds: u64, is_so: impl AsyncFn() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(seconds), waiting).await.expect("the shop reads without a page");
}
