//! The bookkeeper's page of `guichet shop`: who may open it, what it shows, and what a form of it changes.

use crate::shop_process::{Process, Shop};
use crate::support::bookkeeping::{SECRETS, different, paid_twice, payment, store};
use crate::support::http::{Reply, get, post, send};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use guichet::native::Ledger;
use guichet::native::ledger::{Day, MismatchReason, Store};
use guichet::shop::ledger::{mismatches, refunds};
use guichet::{Client, SecretKey};
use guichet_orders::AnyOrders;
use serde_json::{Value, json};

const DATABASE: &str = "database = \"sqlite:orders.sqlite\"";
const MIREILLE: &str = "Cookie: login=mireille-1";
/// The page at an address of its own.
const OWN: &str = "admin = \"127.0.0.1:0\"";

/// A shop with this setting, its process, and the store of its orders.
async fn shop(admin: &str) -> (Shop, Process, AnyOrders) {
    let shop = Shop::new(&format!("{DATABASE}\n{admin}")).await;
    let process = shop.start();
    let file = shop.folder.path.join("orders.sqlite");
    let orders = AnyOrders::connect(&format!("sqlite:{}", file.display()), "guichet_").await.unwrap();
    (shop, process, orders)
}

/// Where the page is, or would be beside the routes.
fn address(process: &Process) -> String {
    let own = Some(&process.admin_url).filter(|url| !url.is_empty());
    own.cloned().unwrap_or_else(|| format!("{}/guichet/admin", process.url))
}

async fn page(process: &Process, path: &str, headers: &[&str]) -> Reply {
    get(&format!("{}{path}", address(process)), headers).await
}

/// Sends a form with these fields.
async fn form(process: &Process, headers: &[&str], fields: &[(&str, &str)]) -> Reply {
    post_form(&address(process), headers, fields).await
}

async fn post_form(url: &str, headers: &[&str], fields: &[(&str, &str)]) -> Reply {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let typed = [headers, &["Content-Type: application/x-www-form-urlencoded"]].concat();
    post(url, &typed, &body).await
}

/// The value of a hidden field.
fn hidden(body: &str, name: &str) -> String {
    let value = body.split_once(&format!("name=\"{name}\" value=\"")).and_then(|(_, rest)| rest.split_once('"'));
    value.unwrap_or_else(|| panic!("no {name}: {body}")).0.to_owned()
}

#[tokio::test]
async fn the_page_is_off_by_default_and_an_unknown_setting_is_named() {
    let (shop, process, _) = shop("").await;
    for path in ["", "/orders", "/orders/ORDER-1"] {
        assert_eq!(page(&process, path, &[MIREILLE]).await.status, 404);
    }
    assert_eq!(form(&process, &[MIREILLE], &[("action", "deliver")]).await.status, 404);
    drop(process);
    for setting in ["everyone", "loopback", "0.0.0.0:4245"] {
        let other = Shop::new(&format!("admin = \"{setting}\"")).await;
        let (code, output) = other.run(&[], "sk_test_0123456789abcdef", "http://127.0.0.1:9").await;
        assert!(
            code == Some(1)
                && output.contains(setting)
                && output.contains("127.0.0.1:4245")
                && output.contains("\"bookkeeper\""),
            "{output}"
        );
    }
    drop(shop);
}

#[tokio::test]
async fn at_its_own_address_no_proxy_and_no_other_name_leads_to_the_page() {
    let (_shop, process, orders) = shop(OWN).await;
    let order = paid_twice(&orders, "R-1", "pi_r").await;
    let shown = page(&process, "", &[]).await;
    assert!(shown.status == 200 && shown.body.contains("R-1"), "{}", shown.body);
    assert_eq!(shown.header("cache-control"), Some("no-store"));
    assert_eq!(shown.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(shown.header("x-content-type-options"), Some("nosniff"));
    let policy = shown.header("content-security-policy").unwrap();
    for part in
        ["default-src 'none'", "style-src 'sha256-", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"]
    {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(["<script", " onclick", " onload"].iter().all(|script| !shown.body.contains(script)), "no script");
    let port = process.admin_url.strip_prefix("http://127.0.0.1:").unwrap().strip_suffix("/admin").unwrap();
    assert_eq!(page(&process, "", &[&format!("Host: localhost:{port}")]).await.status, 200);
    for header in [
        &*format!("Host: evil.example:{port}"),
        "Host: www.shop.example",
        "Host: 127.0.0.1",
        "X-Forwarded-For: 127.0.0.1",
        "Forwarded: for=127.0.0.1",
        "X-Real-IP: 127.0.0.1",
    ] {
        for path in ["", "/orders?find=R-1", "/orders/R-1"] {
            let refused = page(&process, path, &[header]).await;
            assert!(refused.status == 404 && !refused.body.contains("R-1"), "{header}: {}", refused.body);
        }
        let token = hidden(&shown.body, "token");
        let fields = [
            ("action", "refunded"),
            ("token", &*token),
            ("order", "R-1"),
            ("id", "pi_r-2"),
            ("by", "M"),
            ("note", "x"),
        ];
        assert_eq!(form(&process, &[header], &fields).await.status, 404, "{header}");
    }
    // What a proxy leads to is the other listener, whatever the headers are, and that one has no page.
    for path in ["/guichet/admin", "/admin", "/guichet/admin/orders/R-1", "/admin/orders/R-1"] {
        let refused = get(&format!("{}{path}", process.url), &[]).await;
        assert!(refused.status == 404 && !refused.body.contains("R-1"), "{path}: {}", refused.body);
        let host = format!("Host: 127.0.0.1:{port}");
        assert_eq!(get(&format!("{}{path}", process.url), &[&host]).await.status, 404);
        assert_eq!(post(&format!("{}{path}", process.url), &[], "").await.status, 404);
    }
    for path in ["", "guichet/admin", "app", "healthz", "metrics", "guichet/intents"] {
        assert_eq!(get(&format!("http://127.0.0.1:{port}/{path}"), &[]).await.status, 404, "{path}");
    }
    assert_eq!(orders.order("R-1").await.unwrap(), Some(order), "nothing was changed");
    assert_eq!(send("PUT", &process.admin_url, &[], "").await.status, 405);
}

#[tokio::test]
async fn both_listeners_stop_by_one_signal() {
    let (shop, process, _) = shop(OWN).await;
    let page = process.admin_url.clone();
    let taken = page.strip_prefix("http://").unwrap().strip_suffix("/admin").unwrap();
    let other = Shop::new(&format!("{DATABASE}\nadmin = \"{taken}\"")).await;
    let (code, output) = other.run(&[], "sk_test_0123456789abcdef", "http://127.0.0.1:9").await;
    assert!(code == Some(1) && output.contains(&format!("{taken} is already in use")), "{output}");
    assert!(output.contains("`admin`"), "{output}");
    let mut process = process;
    let killed = std::process::Command::new("kill").arg(process.child.id().to_string()).status().unwrap();
    let ended = tokio::task::spawn_blocking(move || process.child.wait().unwrap()).await.unwrap();
    assert!(killed.success() && ended.success(), "{ended}");
    drop(shop);
}

#[tokio::test]
async fn another_site_leads_to_the_page_and_does_not_read_it() {
    for (setting, login) in [(OWN, &[][..]), ("admin = \"bookkeeper\"", &[MIREILLE])] {
        let (_shop, process, orders) = shop(setting).await;
        paid_twice(&orders, "R-1", "pi_r").await;
        for path in ["", "/orders?find=R-1", "/orders/R-1"] {
            for mode in ["no-cors", "cors"] {
                let mode = format!("Sec-Fetch-Mode: {mode}");
                let headers = [login, &["Sec-Fetch-Site: cross-site", &mode]].concat();
                let refused = page(&process, path, &headers).await;
                assert!(refused.status == 403 && !refused.body.contains("pi_r"), "{}", refused.body);
            }
            let headers = [login, &["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"]].concat();
            let shown = page(&process, path, &headers).await;
            assert!(shown.status == 200 && shown.body.contains("pi_r"), "a link leads to it: {}", shown.body);
        }
    }
}

#[tokio::test]
async fn an_open_restore_is_named_on_every_page_and_list() {
    let (shop, process, orders) = shop(OWN).await;
    paid_twice(&orders, "R-1", "pi_r").await;
    different(&orders, "M-1", "pi_m").await;
    let token = hidden(&page(&process, "", &[]).await.body, "token");
    let fields = [
        ("action", "paid"),
        ("token", &*token),
        ("order", "M-1"),
        ("reference", "M-1"),
        ("id", "pi_m"),
        ("amount", "44000"),
        ("again", "44000"),
        ("by", "Mireille"),
        ("note", "x"),
    ];
    let both = async || {
        let mut bodies = Vec::new();
        for path in ["?", "/orders/R-1?", "/orders?find=none&"] {
            bodies.push(page(&process, &format!("{path}utc_offset=%2B01:00"), &[]).await.body);
        }
        bodies.push(post_form(&format!("{}?utc_offset=%2B01:00", process.admin_url), &[], &fields).await.body);
        bodies
    };
    for body in both().await {
        assert!(!body.contains("restored from a copy"), "{body}");
    }
    // 2026-11-27T06:00:00Z, and two hours later.
    let restore = json!({"copied_at": 1795759200, "at": 1795766400, "who": "M", "why": "the disk", "is_read": true});
    let before = orders.shared().await.unwrap();
    let mut after = before.clone();
    after.declare_restore(serde_json::from_value(restore.clone()).unwrap());
    assert!(orders.replace_shared(&before, &after).await.unwrap());
    for body in both().await {
        for words in ["restored from a copy", "2026-11-27 07:00", "2026-11-27 09:00", "before you give anything back"] {
            assert!(body.contains(words), "{words}: {body}");
        }
    }
    let french = page(&process, "?lang=fr", &[]).await.body;
    assert!(french.contains("restauré d’une copie") && french.contains("avant de rendre"), "{french}");
    for list in ["refunds", "mismatches"] {
        let (_, text) = shop.run(&[list, "list"], "", "").await;
        assert!(
            text.starts_with("what the ledger did from 2026-11-27T06:00:00Z to 2026-11-27T08:00:00Z is lost"),
            "{text}"
        );
        assert!(text.contains("before you give anything back"), "{text}");
        let (_, shown) = shop.run(&[list, "list", "--json"], "", "").await;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!((&shown["restores"], shown[list].as_array().unwrap().len()), (&json!([restore]), 1));
    }
}

#[tokio::test]
async fn behind_the_sign_in_only_the_bookkeeper_opens_it() {
    let (shop, process, orders) = shop("admin = \"bookkeeper\"").await;
    paid_twice(&orders, "R-1", "pi_r").await;
    for (headers, status, words) in [
        (&[][..], 401, "Sign in to the shop"),
        (&["Cookie: login=awa-1"], 403, "for the shop&#39;s bookkeeper"),
        (&["Cookie: login=awa-1", "Accept-Language: fr"], 403, "réservée au comptable"),
    ] {
        for path in ["", "/orders?find=R-1", "/orders/R-1"] {
            let refused = page(&process, path, headers).await;
            assert!(refused.status == status && refused.body.contains(words), "{}", refused.body);
            assert!(!refused.body.contains("pi_r") && !refused.body.contains("name=\"token\""));
            assert_eq!(refused.header("cache-control"), Some("no-store"));
        }
    }
    // A proxy is in front of it, so its headers are as they should be.
    let headers = [MIREILLE, "Host: www.shop.example", "X-Forwarded-For: 192.0.2.1"];
    let shown = page(&process, "", &headers).await;
    assert!(shown.status == 200 && shown.body.contains("mireille (mireille@example.com)"), "{}", shown.body);
    assert!(!shown.body.contains("name=\"by\""), "the name is not typed");
    assert!(shown.header("set-cookie").is_some_and(|cookie| cookie.starts_with("login=mireille-1")));
    // A role is nothing to the other routes.
    let url = format!("{}/guichet/intents", process.url);
    let bought = post(&url, &[MIREILLE, "Origin: https://www.shop.example"], "{\"id\":\"9\"}");
    assert_eq!(bought.await.status, 200);
    shop.application
        .answers("customer", || json!({"guest": "visit", "role": "bookkeeper"}).to_string().into_response());
    assert_eq!(page(&process, "", &headers).await.status, 403, "a guest keeps no books");
    shop.application.answers("customer", || StatusCode::INTERNAL_SERVER_ERROR.into_response());
    let failed = page(&process, "", &headers).await;
    assert!(failed.status == 503 && failed.body.contains("try again"), "{}", failed.body);
}

#[tokio::test]
async fn a_form_without_its_own_token_changes_nothing() {
    let (shop, process, orders) = shop("admin = \"bookkeeper\"").await;
    let before = paid_twice(&orders, "R-1", "pi_r").await;
    let own = hidden(&page(&process, "", &[MIREILLE]).await.body, "token");
    // Another bookkeeper's, which is good for that one.
    shop.application.answers("customer", || json!({"id": "other", "role": "bookkeeper"}).to_string().into_response());
    let others = hidden(&page(&process, "", &["Cookie: login=other-1"]).await.body, "token");
    shop.application.answers_well();
    let cut = &own[..own.len() - 1];
    let fields = |token: &'static str| {
        [("action", "refunded"), ("token", token), ("order", "R-1"), ("id", "pi_r-2"), ("note", "x")]
    };
    let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    for token in ["", "0.00", leak(cut), leak(&others)] {
        let refused = form(&process, &[MIREILLE], &fields(token)).await;
        assert!(refused.status == 403 && refused.body.contains("Nothing was changed"), "{}", refused.body);
    }
    for header in ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: https://evil.example"] {
        let refused = form(&process, &[MIREILLE, header], &fields(leak(&own))).await;
        assert!(refused.status == 403 && refused.body.contains("Another site"), "{}", refused.body);
    }
    assert_eq!(form(&process, &["Cookie: login=awa-1"], &fields(leak(&own))).await.status, 403);
    assert_eq!(form(&process, &[], &fields(leak(&own))).await.status, 401);
    let mut unnamed = fields(leak(&own));
    unnamed[4] = ("note", " ");
    assert_eq!(form(&process, &[MIREILLE], &unnamed).await.status, 422, "a note is required");
    assert_eq!(orders.order("R-1").await.unwrap(), Some(before), "nothing was changed");
    let done = form(&process, &[MIREILLE, "Sec-Fetch-Site: same-origin", "Origin: null"], &fields(leak(&own))).await;
    assert_eq!(done.status, 303, "the same form with its token: {}", done.body);
    assert_ne!(orders.order("R-1").await.unwrap().unwrap().entries, []);
}

#[tokio::test]
async fn a_refund_that_was_made_is_in_the_history_and_due_no_more() {
    let (shop, process, orders) = shop(OWN).await;
    paid_twice(&orders, "R-1", "pi_r").await;
    let shown = page(&process, "", &[]).await.body;
    assert!(shown.contains("Refunds due") && shown.contains("FCFA\u{a0}45,000") && shown.contains("pi_r-2"), "{shown}");
    let token = hidden(&shown, "token");
    let fields = [
        ("action", "refunded"),
        ("token", &*token),
        ("order", "R-1"),
        ("id", "pi_r-2"),
        ("by", "Mireille"),
        ("note", "by bank transfer"),
    ];
    let done = form(&process, &[], &fields).await;
    assert_eq!((done.status, done.header("location")), (303, Some("/admin?done=decided")));
    let shown = page(&process, "?done=decided", &[]).await.body;
    assert!(shown.contains("No refund is due.") && shown.contains("stored in the order&#39;s history"), "{shown}");
    let order = page(&process, "/orders/R%2D1", &[]).await.body;
    assert!(order.contains("Mireille · given back: by bank transfer (pi_r-ref-2)"), "{order}");
    let again = form(&process, &[], &fields).await;
    assert!(again.status == 409 && again.body.contains("no longer to be decided"), "{}", again.body);
    assert_eq!(orders.order("R-1").await.unwrap().unwrap().entries.len(), 1);
    // The same by reference, and by the payment's id.
    for text in ["R-1", "pi_r-ref-2", "pi_r-2", "%20R-1"] {
        assert!(page(&process, &format!("/orders?find={text}"), &[]).await.body.contains("Mireille"), "{text}");
    }
    let missing = page(&process, "/orders?find=none", &[]).await;
    assert!(missing.status == 404 && missing.body.contains("No order has this name"), "{}", missing.body);
    // The command sees what the page has stored, and the day's sums.
    let (_, day) = shop.run(&["day", "--json"], "", "").await;
    let day: Value = serde_json::from_str(&day).unwrap();
    let row = json!([{"method": "mobile_money", "currency": "XAF", "count": 1, "total": "45000"}]);
    assert_eq!((&day["paid"], &day["besides"]), (&row, &row), "given back since: the day does not change");
    let (_, text) = shop.run(&["day", "--utc-offset", "+01:00"], "", "").await;
    assert!(
        text.contains("UTC+01:00\npaid  mobile_money  45 000 XAF  1 payment\npaid besides, to be given back"),
        "{text}"
    );
    assert!(text.ends_with("What came in is both together.\n"), "{text}");
    let (code, text) = shop.run(&["day", "--date", "30.11.2026"], "", "").await;
    assert!(code == Some(2) && text.contains("YYYY-MM-DD, such as 2026-11-30"), "{text}");
    let (_, text) = shop.run(&["day", "--date", "2001-01-01"], "", "").await;
    assert_eq!(text, "2001-01-01, UTC+00:00\nNothing was paid.\n");
}

#[tokio::test]
async fn the_ledger_lists_what_the_page_shows() {
    let (_shop, _process, orders) = shop("").await;
    paid_twice(&orders, "R-1", "pi_r").await;
    different(&orders, "M-1", "pi_m").await;
    let key = SecretKey::new("sk_test_0123456789abcdefghijklmn").unwrap();
    let ledger = Ledger::new(Client::builder("http://127.0.0.1:9", key).build().unwrap(), orders.clone());
    let due = ledger.refunds_due().await.unwrap();
    assert_eq!((due.len(), &*due[0].order, &*due[0].due.key.id), (1, "R-1", "pi_r-2"));
    let listed = ledger.mismatches().await.unwrap();
    assert_eq!((listed.len(), &*listed[0].order, listed[0].why), (1, "M-1", MismatchReason::Different));
    let now = ledger.now().await.unwrap();
    let day = ledger.day(now - 60, now + 60).await.unwrap();
    assert_eq!((day.paid[0].count, day.besides[0].count, day.besides.len()), (1, 1, 1));
    assert_eq!(ledger.day(0, now - 60).await.unwrap(), Day::default());
}

#[tokio::test]
async fn a_sum_is_paid_only_after_its_confirmation() {
    let (shop, process, orders) = shop(OWN).await;
    let before = different(&orders, "M-1", "pi_m").await;
    let shown = page(&process, "", &[]).await.body;
    assert!(shown.contains("another payment by this reference"), "{shown}");
    assert!(shown.contains("what was sent; the payment company has another sum"), "{shown}");
    assert!(shown.contains("The payment company says</dt><dd>in progress"), "{shown}");
    assert!(shown.contains("Cancel it at the payment company first"), "{shown}");
    assert!(!shown.contains("value=\"accepted\"") && !shown.contains("value=\"given_back\""), "{shown}");
    let token = hidden(&shown, "token");
    let fields = |action, amount, again, confirmed| {
        [
            ("action", action),
            ("token", &*token),
            ("order", "M-1"),
            ("reference", "M-1"),
            ("id", "pi_m"),
            ("amount", amount),
            ("again", again),
            ("by", "Mireille"),
            ("note", "seen in the statement"),
            ("confirmed", confirmed),
        ]
    };
    for (amount, again) in [("45000", "4500"), ("45 000", "45 000"), ("", ""), ("0", "0"), ("-5", "-5")] {
        let refused = form(&process, &[], &fields("paid", amount, again, "")).await;
        assert!(refused.status == 422 && refused.body.contains("twice the same"), "{}", refused.body);
    }
    let asked = form(&process, &[], &fields("paid", "44000", "44000", "")).await;
    assert!(asked.status == 200 && asked.body.contains("FCFA\u{a0}44,000"), "{}", asked.body);
    assert!(asked.body.contains("not the sum that was asked for"), "{}", asked.body);
    assert!(asked.body.contains("waits for a decision whether it is delivered"), "{}", asked.body);
    assert!(!asked.body.contains("may deliver"), "{}", asked.body);
    let whole = form(&process, &[], &fields("paid", "45000", "45000", "")).await.body;
    assert!(whole.contains("may deliver") && !whole.contains("waits for a decision"), "{whole}");
    let confirmed = hidden(&asked.body, "confirmed");
    for (amount, confirmed) in [("44000", ""), ("44000", &*token), ("45000", &*confirmed)] {
        let refused = form(&process, &[], &fields("confirmed", amount, amount, confirmed)).await;
        assert!(refused.status == 403 && refused.body.contains("not confirmed"), "{}", refused.body);
    }
    assert_eq!(orders.order("M-1").await.unwrap(), Some(before), "nothing was changed");
    let done = form(&process, &[], &fields("confirmed", "44000", "44000", &confirmed)).await;
    assert_eq!(done.status, 303, "{}", done.body);
    let order = orders.order("M-1").await.unwrap().unwrap();
    let paid = order.changed().paid_by.unwrap();
    assert_eq!((paid.sum.amount.to_string(), order.entries[0].who.as_deref()), ("44000".to_owned(), Some("Mireille")));
    assert_eq!(
        mismatches(&order, 0)[0].why,
        MismatchReason::OtherSum,
        "it waits for a decision whether it is delivered"
    );
    let sent = shop.application.messages("order_changed").pop().unwrap();
    assert_eq!(sent.body["state"], "paid_other_sum", "the application learns it");
    let shown = page(&process, "", &[]).await.body;
    assert!(shown.contains("with another sum than the shop named last"), "{shown}");
    assert!(!shown.contains("value=\"paid\"") && !shown.contains("value=\"ended\""), "{shown}");
    let shown = page(&process, "/orders/M-1", &[]).await.body;
    assert!(shown.contains("paid with another sum · FCFA\u{a0}44,000"), "{shown}");
    assert!(shown.contains("The shop asked for</dt><dd>FCFA\u{a0}45,000"), "{shown}");
    let (_, listed) = shop.run(&["orders", "list"], "", "").await;
    assert_eq!(listed, "M-1  paid_other_sum  45 000 XAF  M-1  paid 44 000 XAF\n");
    let (_, text) = shop.run(&["orders", "show", "M-1"], "", "").await;
    assert!(text.starts_with("M-1  paid_other_sum  45 000 XAF  paid 44 000 XAF\n"), "{text}");
    let (_, json) = shop.run(&["orders", "show", "M-1", "--json"], "", "").await;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["paid"], json!({"amount": "44000", "currency": "XAF"}));

    // A form of before it was paid decides nothing now, and no sum is typed any more.
    for (action, status) in [("ended", 409), ("paid", 409), ("confirmed", 409), ("other", 400)] {
        let refused = form(&process, &[], &fields(action, "44000", "44000", &confirmed)).await;
        assert!(refused.status == status && refused.body.contains("Nothing was changed"), "{}", refused.body);
    }
    let accepted = form(&process, &[], &fields("accepted", "", "", "")).await;
    assert_eq!(accepted.status, 303, "{}", accepted.body);
    let order = orders.order("M-1").await.unwrap().unwrap();
    assert_eq!(json!(order.changed().state), "paid");
    assert_eq!(order.entries[1].what, "accepted: seen in the statement");
    let sent = shop.application.messages("order_changed").pop().unwrap();
    assert_eq!((&sent.body["state"], &sent.body["paid_by"]["amount"]), (&json!("paid"), &json!("44000")));
    assert!(page(&process, "", &[]).await.body.contains("Nothing is to be decided."));
    let again = form(&process, &[], &fields("accepted", "", "", "")).await;
    assert!(again.status == 409 && again.body.contains("no longer to be decided"), "{}", again.body);
}

/// An order that was paid in another way than the shop sells it: with another sum, or after its end.
async fn paid_otherwise(orders: &AnyOrders, name: &str, members: Value) {
    let paid = payment(name, &format!("pi_{name}"), json!({"paid": {"at": 1}}), 1);
    let mut order = json!({"name": name, "version": 7, "paid_by": format!("pi_{name}"), "payments": [paid]});
    order.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    store(orders, order, false).await;
}

#[tokio::test]
async fn what_has_paid_otherwise_is_accepted_or_given_back() {
    let (shop, process, orders) = shop(OWN).await;
    let other_sum = json!({"asked": {"amount": "50000", "currency": "XAF"}});
    let after_end = json!({"asked": {"amount": "45000", "currency": "XAF"}, "has_ended": true});
    for (name, members) in [("S-1", &other_sum), ("S-2", &other_sum), ("E-1", &after_end), ("E-2", &after_end)] {
        paid_otherwise(&orders, name, members.clone()).await;
    }
    let shown = page(&process, "", &[]).await.body;
    assert_eq!(shown.matches("value=\"accepted\"").count(), 4, "{shown}");
    assert_eq!(shown.matches("value=\"given_back\"").count(), 4, "{shown}");
    assert!(!shown.contains("value=\"paid\"") && !shown.contains("value=\"ended\""), "{shown}");
    assert!(shown.contains("The order was paid after the shop had ended it."), "{shown}");
    let token = hidden(&shown, "token");
    let fields = |action, name, id| {
        [
            ("action", action),
            ("token", &*token),
            ("order", name),
            ("reference", name),
            ("id", id),
            ("by", "M"),
            ("note", "agreed"),
        ]
    };
    let mut unsigned = fields("given_back", "S-1", "pi_S-1");
    unsigned[6] = ("note", "");
    assert_eq!(form(&process, &[], &unsigned).await.status, 422, "a note is required");
    let back = form(&process, &[], &fields("given_back", "S-1", "pi_S-1")).await;
    assert_eq!(back.status, 303, "{}", back.body);
    let order = orders.order("S-1").await.unwrap().unwrap();
    assert_eq!((json!(order.changed().state), order.waits_for_a_person()), (json!("paid_other_sum"), None));
    assert_eq!(order.entries[0].what, "refunded: agreed");
    assert_eq!(form(&process, &[], &fields("given_back", "S-1", "pi_S-1")).await.status, 409);
    let accepted = form(&process, &[], &fields("accepted", "E-1", "pi_E-1")).await;
    assert_eq!(accepted.status, 303, "{}", accepted.body);
    let sent = shop.application.messages("order_changed").pop().unwrap();
    assert_eq!((&sent.body["name"], &sent.body["state"]), (&json!("E-1"), &json!("paid")));

    // The same by the command, which refuses what is not listed, and what is decided in another way.
    let key = "sk_test_0123456789abcdefghijklmn";
    let nowhere = "http://127.0.0.1:9";
    let resolve = async |arguments: &[&str]| {
        let all = [&["mismatches", "resolve"][..], arguments, &["--by", "M", "--note", "agreed"]].concat();
        shop.run(&all, key, nowhere).await
    };
    for (arguments, code, words) in [
        (&["S-2", "--id", "pi_S-2"][..], 2, "--given-back"),
        (&["S-2", "--id", "pi_S-2", "--accept", "--given-back"], 2, "cannot be used with"),
        (&["S-2", "--accept"], 2, "--id"),
        (&["S-2", "--id", "pi_S-2", "--ended"], 1, "by --accept or --given-back"),
        (&["S-2", "--id", "pi_S-2", "--paid", "1", "--confirm", "1"], 1, "another sum than the shop named last"),
        (&["S-2", "--id", "pi_other", "--accept"], 1, "as `mismatches list` shows them"),
        (&["S-1", "--id", "pi_S-1", "--given-back"], 1, "Nothing is to be decided about this payment"),
        (&["none", "--id", "pi_none", "--accept"], 1, "No order has a payment of this reference"),
    ] {
        let (found, output) = resolve(arguments).await;
        assert!(found == Some(code) && output.contains(words), "{arguments:?}: {output}");
    }
    different(&orders, "M-1", "pi_m").await;
    let (code, output) = resolve(&["M-1", "--id", "pi_m", "--accept"]).await;
    assert!(code == Some(1) && output.contains("by --ended or --paid"), "{output}");
    for arguments in [
        &["S-2", "--id", "pi_S-2", "--accept"][..],
        &["E-2", "--id", "pi_E-2", "--given-back"],
        &["M-1", "--id", "pi_m", "--ended"],
    ] {
        let (code, output) = resolve(arguments).await;
        assert_eq!(code, Some(0), "{arguments:?}: {output}");
    }
    let state = async |name: &str| json!(orders.order(name).await.unwrap().unwrap().changed().state);
    assert_eq!((state("S-2").await, state("E-2").await), (json!("paid"), json!("paid_after_end")));
    assert!(page(&process, "", &[]).await.body.contains("Nothing is to be decided."));
}

#[tokio::test]
async fn what_was_left_and_what_will_not_be_paid_is_decided_by_its_form() {
    let (shop, process, orders) = shop(OWN).await;
    let now = orders.now().await.unwrap();
    let left = |name: &str| json!({"reference": name, "created_at": now, "closed": {"at": now, "why": "left"}});
    for name in ["L-1", "L-2"] {
        store(&orders, json!({"name": name, "payments": [left(name)]}), false).await;
    }
    different(&orders, "M-1", "pi_m").await;
    let shown = page(&process, "", &[]).await.body;
    let token = hidden(&shown, "token");
    let base = |action, name| {
        vec![("action", action), ("token", &*token), ("order", name), ("reference", name), ("by", "M"), ("note", "x")]
    };
    assert_eq!(form(&process, &[], &base("ended", "L-1")).await.status, 303);
    let mut ended = base("ended", "M-1");
    assert_eq!(form(&process, &[], &ended).await.status, 409, "its id is missing");
    ended.push(("id", "pi_m"));
    assert_eq!(form(&process, &[], &ended).await.status, 303);
    let mut paid = base("paid", "L-2");
    paid.extend([("amount", "45000"), ("again", "45000")]);
    assert_eq!(form(&process, &[], &paid).await.status, 422, "its id at the payment company is missing");
    paid.push(("paid_id", "pi_found"));
    let asked = form(&process, &[], &paid).await.body;
    assert!(asked.contains("It is the sum that was asked for") && asked.contains("pi_found"), "{asked}");
    let confirmed = hidden(&asked, "confirmed");
    paid[0] = ("action", "confirmed");
    paid.push(("confirmed", &*confirmed));
    assert_eq!(form(&process, &[], &paid).await.status, 303);
    let (_, text) = shop.run(&["orders", "show", "L-2"], "", "").await;
    assert!(text.contains("pi_found  decided\n"), "no reading has shown it: {text}");
    assert_eq!(orders.order("L-2").await.unwrap().unwrap().paid_by.as_deref(), Some("pi_found"));
    assert!(page(&process, "", &[]).await.body.contains("Nothing is to be decided."));
}

#[tokio::test]
async fn what_the_application_has_not_received_is_delivered_by_a_button() {
    let (shop, process, orders) = shop(OWN).await;
    shop.application.answers("order_changed", || StatusCode::SERVICE_UNAVAILABLE.into_response());
    let paid = payment("E-1", "pi_e", json!({"paid": {"at": 1}}), 1);
    let asked = json!({"amount": "50000", "currency": "XAF"});
    let odd = json!({"name": "E-1", "version": 7, "paid_by": "pi_e", "asked": asked, "payments": [paid]});
    store(&orders, odd, true).await;
    let shown = page(&process, "", &[]).await.body;
    assert!(shown.contains("Deliver them again now") && shown.contains("paid with another sum"), "{shown}");
    assert!(shown.contains("It named FCFA\u{a0}50,000."), "a person decides about it: {shown}");
    let token = hidden(&shown, "token");
    let deliver = [("action", "deliver"), ("token", &*token)];
    let failed = form(&process, &[], &deliver).await;
    assert_eq!((failed.status, failed.header("location")), (303, Some("/admin?done=waiting")));
    shop.application.answers_well();
    let done = form(&process, &[], &deliver).await;
    assert_eq!((done.status, done.header("location")), (303, Some("/admin?done=delivered")));
    let (_, listed) = shop.run(&["orders", "list", "--state", "paid_other_sum"], "", "").await;
    assert!(listed.starts_with("E-1  paid_other_sum"), "{listed}");
    let (_, listed) = shop.run(&["orders", "list", "--state", "paid"], "", "").await;
    assert_eq!(listed, "There is no order.\n");
    let (code, output) = shop.run(&["orders", "list", "--state", "odd"], "", "").await;
    assert!(code == Some(2) && output.contains("paid_after_end"), "{output}");
}

#[tokio::test]
async fn hostile_names_are_text_and_no_page_has_a_secret() {
    let (_shop, process, orders) = shop(OWN).await;
    let names = [
        "<script>alert(1)</script>".to_owned(),
        "\"'><img src=x onerror=alert(1)>{{7*7}}&amp;".to_owned(),
        "RTL \u{202e}gnp.exe\u{200b}".to_owned(),
        "x".repeat(200),
        "../a?b=c#d/e%2F".to_owned(),
    ];
    let mut shown = Vec::new();
    for (number, name) in names.iter().enumerate() {
        let order = paid_twice(&orders, name, &format!("pi_{number}")).await;
        assert_eq!(refunds(&order).len(), 1);
        different(&orders, &format!("{name}!"), &format!("pi_m{number}")).await;
    }
    let first = page(&process, "", &[]).await.body;
    for (number, name) in names.iter().enumerate() {
        let path = url::form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>().replace('+', "%20");
        let found = page(&process, &format!("/orders?find={path}"), &[]).await;
        assert!(found.status == 200 && found.body.contains(&format!("pi_{number}-2")), "{name}: {}", found.body);
        let by_path = page(&process, &format!("/orders/{path}"), &[]).await;
        assert!(by_path.status == 200 && by_path.body.contains(&format!("pi_{number}-2")), "{name}: {}", by_path.body);
        // The links of the page are of this kind.
        let link = first.match_indices("href=\"").filter_map(|(at, found)| first[at + found.len()..].split('"').next());
        let links: Vec<_> = link.filter(|link| link.starts_with("/admin/orders/")).collect();
        assert_eq!(links.len(), 2 * names.len());
        shown.extend([found.body, by_path.body]);
    }
    let token = hidden(&first, "token");
    let [reference, id] = ["<b>!", "pi_m0"];
    let fields = [
        ("action", "paid"),
        ("token", &*token),
        ("order", "<script>alert(1)</script>!"),
        ("reference", "<script>alert(1)</script>!"),
        ("id", id),
        ("amount", "1"),
        ("again", "1"),
        ("by", reference),
        ("note", "<i>\u{202e}"),
    ];
    shown.push(form(&process, &[], &fields).await.body);
    assert!(shown.last().unwrap().contains("Was this sum paid?"), "{:?}", shown.last());
    shown.push(first);
    for body in &shown {
        for tag in ["<script", "<img", "<b>!", "<i>"] {
            assert!(!body.contains(tag), "{tag}: {body}");
        }
        let visible = body.split("value=\"").map(|part| part.split_once('"').map_or(part, |(_, rest)| rest));
        assert!(!visible.collect::<String>().contains('\u{202e}'), "what turns the text is shown as \\u{{202e}}");
        for secret in SECRETS.iter().chain(&["sk_test", "whsec_", "client_secret"]) {
            assert!(!body.contains(secret), "{secret}: {body}");
        }
    }
    assert!(shown.iter().any(|body| body.contains("\\u{202e}")));
    let stored = json!(orders.order(&names[0]).await.unwrap()).to_string();
    assert!(SECRETS.iter().all(|secret| stored.contains(secret)), "they were planted: {stored}");
}

#[tokio::test]
async fn the_page_is_in_french_and_keeps_its_language_and_clock() {
    let (_shop, process, orders) = shop(OWN).await;
    let french = page(&process, "", &["Accept-Language: fr-CM, en;q=0.5"]).await.body;
    for words in [
        "<html lang=\"fr\">",
        "Aucun remboursement n’est à faire.",
        "Rien n’est à décider.",
        "L’application a tout reçu.",
    ] {
        assert!(french.contains(words), "{words}: {french}");
    }
    paid_twice(&orders, "R-1", "pi_r").await;
    let chosen = page(&process, "?lang=fr&utc_offset=%2B01:00&date=2026-11-30", &[]).await.body;
    assert!(
        chosen.contains("<caption>2026-11-30, UTC+01:00") && chosen.contains("Montants") | chosen.contains("montants"),
        "{chosen}"
    );
    assert!(chosen.contains("/admin/orders/R%2D1?lang=fr&#38;utc_offset=%2B01%3A00"), "{chosen}");
    let token = hidden(&chosen, "token");
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("action", "refunded"),
            ("token", &*token),
            ("order", "R-1"),
            ("id", "pi_r-2"),
            ("by", "M"),
            ("note", "x"),
        ])
        .finish();
    let url = format!("{}?lang=fr&utc_offset=%2B01:00", process.admin_url);
    let done = post(&url, &["Content-Type: application/x-www-form-urlencoded"], &body).await;
    let back = done.header("location").unwrap().to_owned();
    assert_eq!(back, "/admin?lang=fr&utc_offset=%2B01%3A00&done=decided");
    let shown = page(&process, back.strip_prefix("/admin").unwrap(), &[]).await.body;
    assert!(shown.contains("C’est noté dans l’historique"), "{shown}");
    let history = page(&process, "/orders/R-1?lang=fr", &[]).await.body;
    assert!(history.contains("M · remboursé: x"), "{history}");
}
