//! The bookkeeper's page of `guichet shop`, checked by axe-core and used by its forms, without script.

use crate::accessible::Accessibility;
use crate::support::bookkeeping::{different, paid_twice, payment, store};
use crate::support::child::{ends_with_tests, spawn};
use crate::support::engine::{Engine, only_in_chromium};
use crate::support::folder::Folder;
use guichet::native::ledger::Store;
use guichet_orders::AnyOrders;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

only_in_chromium!(
    "it uses Chromium's DevTools protocol":
    #[ignore = "needs axe-core: cargo xtask test"]
    the_bookkeepers_page_is_accessible_and_works_without_script,
);

/// A running `guichet shop`, which is killed when it is dropped.
struct Shop(Child);

impl Drop for Shop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn the_bookkeepers_page_is_accessible_and_works_without_script(engine: Engine) {
    let folder = Folder::new("bookkeeper");
    let settings = "name = \"pas-a-pas\"\napp = \"http://127.0.0.1:9/payments\"\npublic_url = \"http://127.0.0.1:8000\"
        listen = \"127.0.0.1:0\"\ndatabase = \"sqlite:orders.sqlite\"\nadmin = \"127.0.0.1:0\"";
    std::fs::write(folder.path.join("shop.toml"), settings).unwrap();
    let mut command = ends_with_tests(env!("CARGO_BIN_EXE_guichet"));
    command.args(["shop", "--sandbox=127.0.0.1:0", "--json"]).current_dir(&folder.path);
    command.env("GUICHET_APP_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=");
    let mut child = spawn({
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command
    });
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let _shop = Shop(child);
    let ready: Value = serde_json::from_str(&line).expect("it starts");
    let page = ready["admin_url"].as_str().unwrap().to_owned();
    let file = folder.path.join("orders.sqlite");
    let orders = AnyOrders::connect(&format!("sqlite:{}", file.display()), "guichet_").await.unwrap();

    let browser = engine.start("bookkeeper").await;
    let look = Accessibility::new(&browser);
    browser.open(&format!("{page}?lang=en")).await;
    look.once("bookkeeper-empty-en").await;
    paid_twice(&orders, "ORDER-17", "pi_4Kx9Qm2T").await;
    paid_twice(&orders, &"Donaudampfschifffahrt".repeat(9), "pi_long").await;
    different(&orders, "ORDER-18", "pi_7Hs1Lp8W").await;
    let now = orders.now().await.unwrap();
    let left = json!({"reference": "ORDER-19", "created_at": now, "closed": {"at": now, "why": "left"}});
    store(&orders, json!({"name": "ORDER-19", "payments": [left]}), false).await;
    let paid = payment("ORDER-20", "pi_2Vn5Rt6Y", json!({"paid": {"at": now}}), now);
    let asked = json!({"amount": "50000", "currency": "XAF"});
    store(
        &orders,
        json!({"name": "ORDER-20", "version": 1, "paid_by": "pi_2Vn5Rt6Y", "asked": asked, "payments": [paid]}),
        true,
    )
    .await;
    let paid = payment("ORDER-21", "pi_8Wm3Zc1D", json!({"paid": {"at": now}}), now);
    let asked = json!({"amount": "45000", "currency": "XAF"});
    store(
        &orders,
        json!({"name": "ORDER-21", "paid_by": "pi_8Wm3Zc1D", "asked": asked, "has_ended": true, "payments": [paid]}),
        false,
    )
    .await;
    let before = orders.shared().await.unwrap();
    let mut after = before.clone();
    let restore = json!({"copied_at": now - 7200, "at": now, "who": "Ada", "why": "the disk", "is_read": true});
    after.declare_restore(serde_json::from_value(restore).unwrap());
    assert!(orders.replace_shared(&before, &after).await.unwrap());
    for language in ["en", "fr"] {
        browser.open(&format!("{page}?lang={language}&utc_offset=%2B01:00")).await;
        look.once(&format!("bookkeeper-{language}")).await;
        browser.run("for (const one of document.querySelectorAll('details')) one.open = true").await;
        look.once(&format!("bookkeeper-forms-{language}")).await;
        browser.open(&format!("{page}/orders/ORDER%2D17?lang={language}")).await;
        look.once(&format!("bookkeeper-order-{language}")).await;
        browser.open(&format!("{page}/orders?find=none&lang={language}")).await;
        look.once(&format!("bookkeeper-missing-{language}")).await;
    }
    browser.open(&format!("{page}?lang=en")).await;
    browser.set_medium("print").await;
    browser.screenshot("bookkeeper-print").await;
    assert_eq!(
        browser.run("return [...document.forms].filter((form) => form.checkVisibility()).length").await,
        json!(0)
    );
    browser.set_medium("screen").await;

    // The first card that can be paid asks before anything is stored.
    browser.run("document.querySelector('button[value=paid]').closest('details').open = true").await;
    let form = "form:has(button[value='paid'])";
    for (field, value) in
        [("amount", "44000"), ("again", "44000"), ("by", "Mireille"), ("note", "seen in the statement")]
    {
        browser.fill(&format!("{form} input[name='{field}']"), value).await;
    }
    browser.click("button[value='paid']").await;
    browser.wait_for("button[value='confirmed']").await;
    look.once("bookkeeper-confirm-en").await;
    browser.click("button[value='confirmed']").await;
    browser.wait_for_text("[role='status']", "history").await;
    look.once("bookkeeper-done-en").await;
    // The sum is another one than the shop's, so the same card now asks whether it is delivered.
    let form = "#decide ~ .cards > li:has(a[href*='ORDER%2D18']) form:has(button[value='accepted'])";
    browser.run(&format!("document.querySelector(\"{form}\").closest('details').open = true")).await;
    for (field, value) in [("by", "Mireille"), ("note", "a discount")] {
        browser.fill(&format!("{form} input[name='{field}']"), value).await;
    }
    browser.click(&format!("{form} button")).await;
    browser.wait_for_text("[role='status']", "history").await;
    assert!(!orders.order("ORDER-18").await.unwrap().unwrap().changed().state.needs_a_person());
    assert_eq!(orders.order("ORDER-18").await.unwrap().unwrap().paid_by.as_deref(), Some("pi_7Hs1Lp8W"));
    browser.close().await;
}
