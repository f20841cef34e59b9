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
/// A shop with this setting, its process, and the store of its orders.
async fn shop(admin: &str) -> (Shop, Process, AnyOrders) {
    let shop = Shop::new(&format!("{DATABASE}\n{admin}")).await;
    let process = shop.start();
    let file = shop.folder.path.join("orders.sqlite");
    let orders = AnyOrders::connect(&format!("sqlite:{}", file.display()), "guichet_").await.unwrap();
    (shop, process, orders)
}

async fn page(process: &Process, path: &str, headers: &[&str]) -> Reply {
    get(&format!("{}/guichet/admin{path}", process.url), headers).await
}

/// Sends a form with these fields.
async fn form(process: &Process, headers: &[&str], fields: &[(&str, &str)]) -> Reply {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let typed = [headers, &["Content-Type: application/x-www-form-urlencoded"]].concat();
    post(&format!("{}/guichet/admin", process.url), &typed, &body).await
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
    let other = Shop::new("admin = \"everyone\"").await;
    let (code, output) = other.run(&[], "sk_test_0123456789abcdef", "http://127.0.0.1:9").await;
    assert!(
        code == Some(1) && output.contains("everyone") && output.contains("`loopback` or `bookkeeper`"),
        "{output}"
    );
    drop(shop);
}

#[tokio::test]
async fn on_loopback_no_proxy_and_no_other_name_leads_to_the_page() {
    let (_shop, process, orders) = shop("admin = \"loopback\"").await;
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
    let port = process.url.rsplit_once(':').unwrap().1;
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
    assert_eq!(orders.order("R-1").await.unwrap(), Some(order), "nothing was changed");
    assert_eq!(send("PUT", &format!("{}/guichet/admin", process.url), &[], "").await.status, 405);
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
    let (shop, process, orders) = shop("admin = \"loopback\"").await;
    paid_twice(&orders, "R-1", "pi_r").await;
    let shown = page(&process, "", &[]).await.body;
    assert!(
        shown.contains("Refunds due") && shown.contains("45\u{a0}000\u{a0}XAF") && shown.contains("pi_r-2"),
        "{shown}"
    );
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
    assert_eq!((done.status, done.header("location")), (303, Some("/guichet/admin?done=decided")));
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
    assert_eq!((&day["paid"], &day["given_back"], &day["refunds_due"]), (&row, &row, &json!([])));
    let (_, text) = shop.run(&["day", "--utc-offset", "+01:00"], "", "").await;
    assert!(text.contains("UTC+01:00\npaid  mobile_money  45 000 XAF  1 payment\ngiven back"), "{text}");
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
    assert_eq!((day.paid[0].count, day.besides[0].count), (1, 1));
    assert_eq!(ledger.day(0, now - 60).await.unwrap(), Day::default());
}

#[tokio::test]
async fn a_sum_is_paid_only_after_its_confirmation() {
    let (shop, process, orders) = shop("admin = \"loopback\"").await;
    let before = different(&orders, "M-1", "pi_m").await;
    let shown = page(&process, "", &[]).await.body;
    assert!(shown.contains("another payment by this reference"), "{shown}");
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
    assert!(asked.status == 200 && asked.body.contains("44\u{a0}000\u{a0}XAF"), "{}", asked.body);
    assert!(asked.body.contains("not the sum that was asked for"), "{}", asked.body);
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
    assert_eq!(mismatches(&order, 0), []);
    let sent = shop.application.messages("order_changed").pop().unwrap();
    assert_eq!(sent.body["state"], "paid", "the application learns it");
    assert!(page(&process, "", &[]).await.body.contains("Nothing is to be decided."));
}

#[tokio::test]
async fn what_was_left_and_what_will_not_be_paid_is_decided_by_its_form() {
    let (_shop, process, orders) = shop("admin = \"loopback\"").await;
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
    assert_eq!(orders.order("L-2").await.unwrap().unwrap().paid_by.as_deref(), Some("pi_found"));
    assert!(page(&process, "", &[]).await.body.contains("Nothing is to be decided."));
}

#[tokio::test]
async fn what_the_application_has_not_received_is_delivered_by_a_button() {
    let (shop, process, orders) = shop("admin = \"loopback\"").await;
    shop.application.answers("order_changed", || StatusCode::SERVICE_UNAVAILABLE.into_response());
    let paid = payment("E-1", "pi_e", json!({"paid": {"at": 1}}), 1);
    let asked = json!({"amount": "50000", "currency": "XAF"});
    let odd = json!({"name": "E-1", "version": 7, "paid_by": "pi_e", "asked": asked, "payments": [paid]});
    store(&orders, odd, true).await;
    let shown = page(&process, "", &[]).await.body;
    assert!(shown.contains("Deliver them again now") && shown.contains("paid with another sum"), "{shown}");
    assert!(shown.contains("It named 50\u{a0}000\u{a0}XAF."), "a person decides about it: {shown}");
    let token = hidden(&shown, "token");
    let deliver = [("action", "deliver"), ("token", &*token)];
    let failed = form(&process, &[], &deliver).await;
    assert_eq!((failed.status, failed.header("location")), (303, Some("/guichet/admin?done=waiting")));
    shop.application.answers_well();
    let done = form(&process, &[], &deliver).await;
    assert_eq!((done.status, done.header("location")), (303, Some("/guichet/admin?done=delivered")));
    let (_, listed) = shop.run(&["orders", "list", "--state", "paid_other_sum"], "", "").await;
    assert!(listed.starts_with("E-1  paid_other_sum"), "{listed}");
    let (_, listed) = shop.run(&["orders", "list", "--state", "paid"], "", "").await;
    assert_eq!(listed, "There is no order.\n");
    let (code, output) = shop.run(&["orders", "list", "--state", "odd"], "", "").await;
    assert!(code == Some(2) && output.contains("paid_after_end"), "{output}");
}

#[tokio::test]
async fn hostile_names_are_text_and_no_page_has_a_secret() {
    let (_shop, process, orders) = shop("admin = \"loopback\"").await;
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
        let links: Vec<_> = link.filter(|link| link.starts_with("/guichet/admin/orders/")).collect();
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
    let (_shop, process, orders) = shop("admin = \"loopback\"").await;
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
    assert!(chosen.contains("UTC+01:00") && chosen.contains("Montants") | chosen.contains("montants"), "{chosen}");
    assert!(chosen.contains("/guichet/admin/orders/R%2D1?lang=fr&#38;utc_offset=%2B01%3A00"), "{chosen}");
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
    let url = format!("{}/guichet/admin?lang=fr&utc_offset=%2B01:00", process.url);
    let done = post(&url, &["Content-Type: application/x-www-form-urlencoded"], &body).await;
    let back = done.header("location").unwrap().to_owned();
    assert_eq!(back, "/guichet/admin?lang=fr&utc_offset=%2B01%3A00&done=decided");
    let shown = page(&process, back.strip_prefix("/guichet/admin").unwrap(), &[]).await.body;
    assert!(shown.contains("C’est noté dans l’historique"), "{shown}");
    let history = page(&process, "/orders/R-1?lang=fr", &[]).await.body;
    assert!(history.contains("M · remboursé: x"), "{history}");
}
