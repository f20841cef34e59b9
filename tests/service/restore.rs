//! A ledger that is copied while it sells, goes on selling, is killed and restored: nothing is paid twice unnoticed,
//! and nothing is lost in silence.

use crate::shop_process::{Process, Shop};
use crate::support::api::Merchant;
use crate::support::service::Sandbox;
use crate::support::wait::until;
use guichet::native::Profile;
use guichet_sandbox::Config;
use serde_json::{Value, json};
use std::fs;

/// A service that finds a payment by its reference.
const FINDS: &str = r#"{"base_url": "https://api.example.com", "read": {"method": "GET", "path": "/v1/payment-intents/{id}"},
    "find_by_reference": {"method": "GET", "path": "/find/{merchant_reference}:all"},
    "cancel": {"method": "POST", "path": "/v1/payment-intents/{id}/cancel"}}"#;

struct Restored {
    shop: Shop,
    merchant: Merchant,
    process: Process,
    _service: Sandbox,
}

impl Restored {
    async fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        self.shop.run(arguments, &self.merchant.key(), &self.merchant.base_url).await
    }

    /// How many payments the service has of this order.
    async fn payments_of(&self, order: &str) -> usize {
        let all = self.process.call("GET", "/v1/payment-intents?limit=100", Value::Null).await;
        let references = all.body["data"].as_array().unwrap().iter().map(|one| one["merchant_reference"].clone());
        references.filter(|reference| reference.as_str().unwrap().starts_with(&format!("ORDER-awa-{order}"))).count()
    }

    async fn cancel(process: &Process, intent: &Value) {
        let path = format!("/v1/payment-intents/{}/cancel", intent["id"].as_str().unwrap());
        let reply = process.call("POST", &path, json!({})).await;
        assert!(reply.status < 300, "{}", reply.text);
        process.status(intent).await;
    }

    /// Sells, copies, sells on, kills, restores, and starts again.
    async fn new(finds: bool) -> Self {
        let profile = finds.then(|| Profile::new(FINDS).unwrap());
        let service = Sandbox::start_with(Config { profile, ..Config::default() }).await.unwrap();
        let merchant = Merchant::of(&service, "Restored").await;
        let profile = if finds { "\nprofile = \"service.json\"" } else { "" };
        let shop = Shop::new(&format!("database = \"sqlite:orders.sqlite\"{profile}")).await;
        fs::write(shop.file("service.json"), FINDS).unwrap();
        let run = async |arguments: &[&str]| shop.run(arguments, &merchant.key(), &merchant.base_url).await;
        let mut process = shop.start_at(&merchant.base_url, &merchant.key());

        // The copy has one that is paid, one that is open, and one whose first payment has ended.
        let paid = process.begin("paid").await;
        process.pay(&paid).await;
        until("it is shipped", async || shop.application.shipped().len() == 1).await;
        let open = process.begin("open").await;
        let ended = process.begin("ended").await;
        Self::cancel(&process, &ended).await;
        let (code, output) = run(&["backup", "copy.sqlite"]).await;
        assert!(code == Some(0) && output.contains("complete"), "{output}");
        let (code, output) = run(&["backup", "copy.sqlite"]).await;
        assert!(code == Some(1) && output.contains("exists"), "{output}");

        // It does not have what is paid, begun and tried again after that.
        process.pay(&open).await;
        let again = process.begin("ended").await;
        process.pay(&again).await;
        let new = process.begin("new").await;
        process.pay(&new).await;
        until("all are shipped", async || shop.application.shipped().len() == 4).await;
        process.begin("late").await;
        process.child.kill().unwrap();
        process.child.wait().unwrap();
        let declare = ["restore", "declare", "--by", "Mireille", "--note", "the disk"];
        if finds {
            let declare = [&declare[..], &["--copy", "copy.sqlite"]].concat();
            let (code, output) = run(&declare).await;
            assert!(code == Some(0) && output.contains("3 orders were read"), "{output}");
            assert!(output.contains("orders.sqlite.before-"), "what was there is kept: {output}");
        } else {
            for name in ["orders.sqlite-wal", "orders.sqlite-shm"] {
                let _ = fs::remove_file(shop.file(name));
            }
            fs::copy(shop.file("copy.sqlite"), shop.file("orders.sqlite")).unwrap();
            // A copy is not served.
            let (code, output) = run(&[]).await;
            assert!(code == Some(1) && output.contains("restore declare"), "{output}");
            // Another merchant's key, and a live one, would find nothing of it.
            let other = Merchant::of(&service, "Another").await;
            let (code, output) = shop.run(&declare, &other.key(), &merchant.base_url).await;
            assert!(code == Some(1) && output.contains("has not answered for 3 orders"), "{output}");
            let (code, output) = shop.run(&declare, "sk_live_0123456789abcdef", "https://127.0.0.1:9").await;
            assert!(code == Some(1) && output.contains("another environment"), "{output}");
            let (code, output) = run(&declare).await;
            assert!(code == Some(0) && output.contains("3 orders were read"), "{output}");
        }
        let process = shop.start_at(&merchant.base_url, &merchant.key());
        Self { shop, merchant, process, _service: service }
    }

    /// What the application has received of an order: that of the highest version.
    fn last(&self, order: &str) -> Value {
        let name = format!("ORDER-awa-{order}");
        let messages = self.shop.application.messages("order_changed");
        let bodies = messages.into_iter().map(|message| message.body).filter(|body| body["name"] == json!(name));
        bodies.max_by_key(|body| body["version"].as_i64()).unwrap_or_default()
    }

    async fn is_reported(&self) {
        for order in ["paid", "open", "ended"] {
            until("each order was reported", async || self.last(order)["restored"] == json!(true)).await;
        }
        assert_eq!(self.last("paid")["state"], "paid");
        assert_eq!(self.last("open")["state"], "paid", "it was paid after the copy, and read");
        let shipped = self.shop.application.shipped();
        assert_eq!(shipped.len(), 4, "goods leave once: {shipped:?}");
    }
}

#[tokio::test]
async fn what_a_copy_does_not_have_is_found_where_the_service_can_be_asked() {
    let restored = Restored::new(true).await;
    restored.is_reported().await;
    assert_eq!(restored.last("ended")["state"], "paid", "its second payment was found by its reference");
    // An order that the copy does not have is found before anything is sent.
    let again = restored.process.click("new").await;
    assert_eq!(again.status, 200, "{}", again.body);
    assert_eq!(again.json()["intent"]["status"], "succeeded", "{}", again.body);
    let late = restored.process.begin("late").await;
    assert_eq!(late["status"], "requires_action");
    for (order, count) in [("paid", 1), ("open", 1), ("ended", 2), ("new", 1), ("late", 1)] {
        assert_eq!(restored.payments_of(order).await, count, "{order}");
    }
    let (_, listed) = restored.run(&["mismatches", "list"]).await;
    assert!(listed.contains("is lost"), "the span is named: {listed}");
    let fresh = restored.process.begin("fresh").await;
    restored.process.pay(&fresh).await;
    until("what is sold since is shipped", async || restored.shop.application.shipped().len() == 5).await;
    let (code, output) =
        restored.run(&["restore", "close", "--by", "Mireille", "--note", "the statement agrees"]).await;
    assert!(code == Some(0) && output.contains("Closed"), "{output}");
    let (_, shown) = restored.run(&["restore", "show"]).await;
    assert!(shown.contains("by Mireille: the disk") && shown.contains("the statement agrees"), "{shown}");
    let (_, listed) = restored.run(&["mismatches", "list"]).await;
    assert!(listed.contains("Nothing is to be decided"), "{listed}");
}

/// The service refuses the same reference with another return address: a person decides, and no customer pays once
/// more.
#[tokio::test]
async fn what_cannot_be_found_waits_for_a_person_and_is_not_paid_twice() {
    let restored = Restored::new(false).await;
    restored.is_reported().await;
    for order in ["ended", "new", "late"] {
        let refused = restored.process.click(order).await;
        assert_eq!(
            (refused.status, refused.json()["error"]["code"].clone()),
            (409, json!("payment_mismatch")),
            "{order}"
        );
    }
    for (order, count) in [("paid", 1), ("open", 1), ("ended", 2), ("new", 1), ("late", 1)] {
        assert_eq!(restored.payments_of(order).await, count, "{order}");
    }
    let (_, listed) = restored.run(&["mismatches", "list"]).await;
    for reference in ["ORDER-awa-ended-1", "ORDER-awa-new", "ORDER-awa-late"] {
        assert!(listed.contains(reference), "{reference}: {listed}");
    }
    let (code, output) = restored.run(&["restore", "declare", "--by", "Mireille", "--note", "again"]).await;
    assert!(code == Some(1) && output.contains("when the copy was written"), "it is none any more: {output}");
}

#[tokio::test]
async fn a_restored_ledger_is_not_served_before_each_order_was_read() {
    let service = Sandbox::start().await.unwrap();
    let merchant = Merchant::of(&service, "Unread").await;
    let shop = Shop::new("database = \"sqlite:orders.sqlite\"").await;
    let mut process = shop.start_at(&merchant.base_url, &merchant.key());
    process.begin("open").await;
    process.child.kill().unwrap();
    process.child.wait().unwrap();
    let nowhere = "http://127.0.0.1:9";
    // A database that is not there is neither copied nor restored.
    let settings = fs::read_to_string(shop.file("shop.toml")).unwrap();
    fs::write(shop.file("typo.toml"), settings.replace("orders.sqlite", "order.sqlite")).unwrap();
    for command in [&["backup", "empty.sqlite"][..], &["restore", "declare", "--by", "M", "--note", "x"]] {
        let (code, output) = shop.run(&[command, &["--config", "typo.toml"]].concat(), &merchant.key(), nowhere).await;
        assert!(code == Some(1) && output.contains("`database`"), "{output}");
    }
    assert!(!shop.file("order.sqlite").exists() && !shop.file("empty.sqlite").exists());
    let declare = ["restore", "declare", "--by", "Mireille", "--note", "pg_restore"];
    let (code, output) = shop.run(&declare, &merchant.key(), nowhere).await;
    assert!(code == Some(1) && output.contains("when the copy was written"), "{output}");
    let at = [&declare[..], &["--copied-at", "2026-11-27T06:00:00Z"]].concat();
    let (code, output) = shop.run(&at, &merchant.key(), nowhere).await;
    assert!(code == Some(1) && output.contains("ORDER-awa-open"), "{output}");
    let (code, output) = shop.run(&[], &merchant.key(), &merchant.base_url).await;
    assert!(code == Some(1) && output.contains("not every order was read"), "{output}");
    let (code, output) = shop.run(&["restore", "close", "--by", "M", "--note", "x"], &merchant.key(), nowhere).await;
    assert!(code == Some(1) && output.contains("Read the restored orders first"), "{output}");
    let (code, output) = shop.run(&[&declare[..], &["--leave-unread"]].concat(), &merchant.key(), nowhere).await;
    assert!(code == Some(0) && output.contains("1 were left unread: ORDER-awa-open"), "{output}");
    let (_, shown) = shop.run(&["restore", "show"], &merchant.key(), nowhere).await;
    assert!(shown.contains("left unread: ORDER-awa-open"), "{shown}");
    let process = shop.start_at(&merchant.base_url, &merchant.key());
    until("it is reported", async || !shop.application.messages("order_changed").is_empty()).await;
    drop(process);
}
