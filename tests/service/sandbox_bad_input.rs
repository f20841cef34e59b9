//! Invalid requests: every field error is reported, all together, and nothing is stored.

use crate::support::api::{Merchant, Reply, client, order, phone, shop, try_send};
use crate::support::service::Sandbox;
use guichet::operations::{CreatePaymentIntent, CustomerName};
use guichet_sandbox::Config;
use serde_json::{Value, json};

const CREATE: &str = "/v1/payment-intents";

#[tokio::test]
async fn different_bodies_are_never_treated_as_equal() {
    let (_sandbox, shop) = shop().await;
    let whole = order("ORDER-17").to_string();
    let with = |members: &str| format!("{},{members}}}", whole.strip_suffix('}').unwrap());
    let create =
        async |body: String| shop.send("POST", "/v1/payment-intents", Some(&shop.key()), Some(body), &[]).await;
    let first = create(with(r#""metadata":{"n":9007199254740992,"x":0.1}"#)).await;
    assert_eq!(first.status, 201, "{}", first.text);
    // Regression: each was treated as equal to the first or to another of them, or was silently changed.
    for (members, param) in [
        (r#""metadata":{"n":9007199254740993,"x":0.1}"#, "metadata.n"),
        (r#""metadata":{"n":9007199254740992,"x":0.1000000000000000055511151231257827}"#, "metadata.x"),
        (r#""metadata":{"n":9007199254740992,"n":9007199254740992,"x":0.1}"#, "metadata.n"),
        (r#""metadata":{"deep":[{"n":1},{"n":-9007199254740993}]}"#, "metadata.deep[1].n"),
        (r#""metadata":{"n":1e400}"#, "metadata.n"),
        (r#""metadata":{},"metadata":{"n":9007199254740992,"x":0.1}"#, "metadata"),
        (r#""amount":"1","amount":"5000""#, "amount"),
        (r#""items":[{"name":"Shoe","price":1,"currency":"XAF","quantity":9007199254740993}]"#, "items[0].quantity"),
    ] {
        let refused = create(with(members)).await;
        assert_eq!((refused.status, refused.code()), (422, "parameter_invalid"), "{members}: {}", refused.text);
        assert_eq!(refused.body["error"]["param"], param, "{members}");
    }
    let repeated = create(with(r#""metadata":{"x":0.1,"n":9007199254740992}"#)).await;
    assert_eq!(
        (repeated.status, &repeated.body["data"]["id"]),
        (200, &first.body["data"]["id"]),
        "an equal body returns the same intent"
    );

    // A price that readers of JSON would round.
    let items = r#""items":[{"name":"Ship","price":"9007199254740993","currency":"XAF","quantity":1}]"#;
    let other = whole.replace("ORDER-17", "ORDER-18");
    let exact = create(format!("{},{items}}}", other.strip_suffix('}').unwrap())).await;
    assert_eq!(exact.body["data"]["items"][0]["price"], "9007199254740993", "{}", exact.text);

    // The same under an idempotency key, and for operations that compare no bodies.
    let keyed = r#"{"package_id":"esp_cm_1gb","quantity":1,"quantity":2}"#.to_owned();
    let refused =
        shop.send("POST", "/v1/esim/orders", Some(&shop.key()), Some(keyed), &[("idempotency-key", "k")]).await;
    assert_eq!((refused.status, &refused.body["error"]["param"]), (422, &json!("quantity")), "{}", refused.text);
    let twice = r#"{"customer_email":"awa@example.com","customer_email":"ngo@example.com"}"#.to_owned();
    let refused = shop.send("POST", "/v1/sessions/create", Some(&shop.key()), Some(twice), &[]).await;
    assert_eq!((refused.status, &refused.body["error"]["param"]), (422, &json!("customer_email")), "{}", refused.text);
}

#[tokio::test]
async fn a_text_with_u0000_is_refused_and_an_id_with_it_is_unknown() {
    let (sandbox, shop) = shop().await;
    let with = |name: &str, value: Value| {
        let mut body = order("ORDER-17");
        body[name] = value;
        body
    };
    for (path, body, param) in [
        (CREATE, with("firstname", json!("A\0wa")), "firstname"),
        (CREATE, with("description", json!("\0")), "description"),
        (CREATE, with("merchant_reference", json!("ORDER\0")), "merchant_reference"),
        (CREATE, with("metadata", json!({ "deep": ["\0"] })), "metadata.deep[0]"),
        (CREATE, with("metadata", json!({ "\0": 1 })), r"metadata.\u0000"),
        ("/v1/subscriptions/plans", json!({ "name": "Go\0ld", "amount": "500", "billing_cycle": "monthly" }), "name"),
        ("/v1/sessions/create", json!({ "customer_email": "awa@example.com\0" }), "customer_email"),
    ] {
        let refused = shop.send("POST", path, Some(&shop.key()), Some(body.to_string()), &[]).await;
        assert_eq!((refused.status, refused.code()), (422, "parameter_invalid"), "{body}: {}", refused.text);
        assert_eq!(refused.body["error"]["param"], param, "{body}");
    }
    let name = json!({ "name": "Sh\0op" }).to_string();
    let token = sandbox.control_token().expose();
    let refused = shop.send("POST", "/sandbox/merchants", Some(token), Some(name), &[]).await;
    assert_eq!((refused.status, &refused.body["error"]["param"]), (422, &json!("name")), "{}", refused.text);
    for path in ["/v1/payment-intents/pi_%00", "/v1/subscriptions/%00", "/v1/customers?starting_after=%00"] {
        let unknown = shop.send("GET", path, Some(&shop.key()), None, &[]).await;
        assert!(matches!(unknown.status, 404 | 422), "{path}: {}", unknown.text);
    }
}

#[tokio::test]
async fn an_inexact_number_is_sent_unchanged_and_refused() {
    let (_sandbox, shop) = shop().await;
    let key = guichet::SecretKey::new(shop.key()).unwrap();
    let client = guichet::Client::builder(&shop.base_url, key).build().unwrap();
    let purchase = |number: Value| {
        let reference = guichet::values::MerchantReference::new("ORDER-17").unwrap();
        let amount = guichet::values::Amount::units(5_000);
        CreatePaymentIntent::new(reference, amount, "Shoes", CustomerName { firstname: "Awa", lastname: "Ngo" })
            .email(guichet::values::Email::new("awa@example.com").unwrap())
            .metadata([("n".to_owned(), number)].into())
    };
    let refused = client.create_payment_intent(&purchase(json!(u64::MAX))).await.unwrap_err();
    assert_eq!((refused.status(), refused.code()), (Some(422), Some("parameter_invalid")));
    assert_eq!(refused.fields()[0].param, "metadata.n");
    let created = client.create_payment_intent(&purchase(json!(1_u64 << 53))).await.unwrap();
    assert_eq!(created.metadata["n"], json!(1_u64 << 53));
}

#[tokio::test]
async fn an_amount_is_a_string_of_up_to_fifteen_digits_and_nothing_else() {
    let (_sandbox, shop) = shop().await;
    let wrong = [
        json!("-1"),
        json!("0"),
        json!("5.5"),
        json!("1e3"),
        json!(""),
        json!(" "),
        json!("５０００"),
        json!("٥٠٠٠"),
        json!("1234567890123456"),
        json!("05000"),
        json!("+5000"),
        json!(" 5000"),
        json!("5000 "),
        json!("5,000"),
        json!("0x10"),
        json!("NaN"),
        json!("Infinity"),
        json!(5000),
        json!(5000.0),
        json!(-1),
        json!(true),
        json!(["5000"]),
        json!({ "value": "5000" }),
    ];
    for amount in wrong {
        let mut fields = order("ORDER-17");
        fields["amount"] = amount.clone();
        let refused = shop.call("POST", CREATE, fields).await;
        assert_eq!((refused.status, refused.body["error"]["param"].as_str()), (422, Some("amount")), "{amount}");
        let is_a_number = ["-1", "0", "1234567890123456"].iter().any(|text| amount == *text);
        let code = if is_a_number { "amount_out_of_range" } else { "parameter_invalid" };
        assert_eq!(refused.code(), code, "{amount}");
        assert!(refused.message().contains("\"5000\""), "the message shows an example amount: {}", refused.message());
        if let Some(text) = amount.as_str().filter(|text| !text.trim().is_empty()) {
            let path = format!("/v1/payment-methods/fee/card/XAF/{}", text.replace(' ', "%20"));
            assert_eq!(shop.call("GET", &path, Value::Null).await.params(), ["amount"], "{path}");
        }
    }
    for amount in ["1", "999999999999999"] {
        let mut fields = order(&format!("ORDER-{amount}"));
        fields["amount"] = json!(amount);
        let created = shop.call("POST", CREATE, fields).await;
        assert_eq!((created.status, created.body["data"]["amount"].as_str()), (201, Some(amount)));
    }
}

#[tokio::test]
async fn unknown_currencies_countries_and_methods_are_refused_by_name() {
    let (_sandbox, shop) = shop().await;
    for (currency, code) in [
        ("ZZZ", "currency_unsupported"),
        ("JPY", "currency_unsupported"),
        ("xaf", "parameter_invalid"),
        ("XAFF", "parameter_invalid"),
        ("", "parameter_invalid"),
        ("ＸＡＦ", "parameter_invalid"),
    ] {
        let mut fields = order("ORDER-17");
        fields["currency"] = json!(currency);
        let refused = shop.call("POST", CREATE, fields).await;
        assert_eq!((refused.status, refused.code(), refused.params()), (422, code, vec!["currency"]), "{currency}");
    }
    for (path, param) in [
        ("/v1/payment-methods?country_code=cm", "country_code"),
        ("/v1/payment-methods?country_code=CMR", "country_code"),
        ("/v1/payment-methods/fee/mobile_money/XAF/5000?country_code=ZZ", "country_code"),
        ("/v1/payment-methods/fee/mobile_money/ZZZ/5000", "currency"),
        ("/v1/payment-methods/fee/cheque/XAF/5000", "payment_method"),
        ("/v1/payment-methods/fee/card/XAF/5000?card_type=black", "card_type"),
    ] {
        let refused = shop.call("GET", path, Value::Null).await;
        assert_eq!((refused.status, refused.params()), (422, vec![param]), "{path}");
    }
    let mut fields = order("ORDER-17");
    fields["payment_method_types"] = json!(["cheque"]);
    assert_eq!(shop.call("POST", CREATE, fields).await.code(), "payment_method_unavailable");
    let intent = shop.create_intent("ORDER-17").await;
    for method in [
        json!({ "type": "cheque" }),
        json!({}),
        json!("card"),
        json!({ "type": "mobile_money" }),
        json!({ "type": "card" }),
        json!({ "type": "mobile_money", "phone": "+237 670 00 00 00" }),
    ] {
        let refused = shop.attach(&intent, json!({ "payment_method": method })).await;
        assert_eq!((refused.status, refused.params()), (422, vec!["payment_method"]), "{method}");
    }
    assert_eq!(shop.read_intent(&intent).await["attempts"], 0);
}

#[tokio::test]
async fn an_unserved_country_has_no_methods_and_no_fee() {
    let (_sandbox, shop) = shop().await;
    let here = shop.call("GET", "/v1/payment-methods", Value::Null).await;
    let ids: Vec<_> =
        here.body["data"].as_array().unwrap().iter().map(|method| method["id"].as_str().unwrap()).collect();
    assert_eq!((ids, &here.body["data"][0]["fee_type"]), (vec!["svc_mobile_money", "svc_card"], &json!("percentage")));
    for country in ["ZZ", "FR"] {
        let listed = shop.call("GET", &format!("/v1/payment-methods?country_code={country}"), Value::Null).await;
        assert_eq!((listed.status, &listed.body["data"]), (200, &json!([])), "{country}");
        let fee = format!("/v1/payment-methods/fee/mobile_money/XAF/5000?country_code={country}");
        let refused = shop.call("GET", &fee, Value::Null).await;
        assert_eq!((refused.status, refused.code()), (422, "payment_method_unavailable"), "{country}");
    }
}

#[tokio::test]
async fn collect_shipping_address_is_accepted_and_part_of_the_canonical_body() {
    let (_sandbox, shop) = shop().await;
    let wishing = |wish: Value| {
        let mut fields = order("ORDER-17");
        fields["collect_shipping_address"] = wish;
        fields
    };
    let refused = shop.call("POST", CREATE, wishing(json!("yes"))).await;
    assert_eq!((refused.status, refused.params()), (422, vec!["collect_shipping_address"]));
    let created = shop.call("POST", CREATE, wishing(json!(true))).await;
    assert_eq!(created.status, 201, "{}", created.text);
    assert_eq!(shop.call("POST", CREATE, wishing(json!(true))).await.status, 200);
    for other in [json!(false), Value::Null] {
        let refused = shop.call("POST", CREATE, wishing(other)).await;
        assert_eq!((refused.status, refused.code()), (409, "merchant_reference_conflict"));
    }
}

#[tokio::test]
async fn all_field_errors_are_reported_together() {
    let (_sandbox, shop) = shop().await;
    let refused = shop
        .call("POST", CREATE, json!({
            "firstname": "", "lastname": 7, "amount": "5.5", "currency": "franc", "merchant_reference": "", "fee_bearer": "unknown",
            "confirmation_method": "later", "confirm": "yes", "items": {}, "redirect_url": "javascript:alert(1)", "metadata": [],
            "collect_shipping_address": 1, "payment_method_types": "card",
        }))
        .await;
    assert_eq!((refused.status, &refused.body["error"]["type"]), (422, &json!("invalid_request")));
    assert_eq!(refused.body["error"]["request_id"], refused.header("request-id").unwrap());
    let mut listed = refused.params();
    listed.sort_unstable();
    let expected = "amount collect_shipping_address confirm confirmation_method currency description email fee_bearer firstname items \
                    lastname merchant_reference metadata payment_method_types redirect_url";
    assert_eq!(listed, expected.split_whitespace().collect::<Vec<_>>());

    let mut ruled = order("ORDER-17");
    ruled["currency"] = json!("ZZZ");
    ruled["items"] = json!([{ "name": "Shoes", "price": 1, "currency": "JPY", "quantity": 1 }]);
    ruled["payment_method_types"] = json!(["cheque"]);
    assert_eq!(shop.call("POST", CREATE, ruled).await.params(), ["currency", "items", "payment_method_types"]);
    let mut both = order("ORDER-17");
    both["amount"] = json!("5.5");
    both["currency"] = json!("ZZZ");
    both["payment_method_types"] = json!(["cheque"]);
    let both = shop.call("POST", CREATE, both).await;
    assert_eq!(
        both.params(),
        ["amount", "currency", "payment_method_types"],
        "errors of rules are reported beside errors of format"
    );

    let intent = shop.create_intent("ORDER-18").await;
    let card = json!({ "number": "42", "exp_month": 13, "exp_year": "2034" });
    let refused = shop.attach(&intent, json!({ "payment_method": { "type": "card", "card": card } })).await;
    let members = ["number", "exp_month", "exp_year", "cvc"].map(|name| format!("payment_method.card.{name}"));
    assert_eq!(refused.status, 422);
    assert_eq!(refused.params(), members);
    assert_eq!(refused.body["error"]["errors"][3]["code"], "parameter_missing");

    let mut without_contact = order("ORDER-17");
    without_contact.as_object_mut().unwrap().remove("email");
    let refused = shop.call("POST", CREATE, without_contact).await;
    assert_eq!((refused.status, refused.code(), refused.params()), (422, "parameter_missing", vec!["email"]));
    assert_eq!(shop.call("POST", CREATE, order("ORDER-17")).await.status, 201, "nothing was reserved");
}

#[tokio::test]
async fn unknown_fields_are_ignored_and_under_strict_reported_beside_invalid_ones() {
    let (_sandbox, shop) = shop().await;
    let mut odd = order("ORDER-17");
    odd["colour"] = json!("red");
    assert_eq!(shop.call("POST", CREATE, odd.clone()).await.status, 201);
    let sandbox = Sandbox::start_with(Config { strict: true, ..Config::default() }).await.unwrap();
    let shop = Merchant::new(sandbox.merchant().await.unwrap());
    let refused = shop.call("POST", CREATE, odd).await;
    assert_eq!((refused.status, refused.code(), refused.params()), (422, "parameter_unknown", vec!["colour"]));
    let mut fields = order("ORDER-17");
    fields["amount"] = json!("5.5");
    fields["status"] = json!("succeeded");
    fields["amount_payable"] = json!("1");
    let refused = shop.call("POST", CREATE, fields).await;
    let mut listed = refused.params();
    listed.sort_unstable();
    assert_eq!((refused.status, listed), (422, vec!["amount", "amount_payable", "status"]));
}

#[tokio::test]
async fn a_hostile_redirect_url_is_refused_and_never_repeated() {
    let (_sandbox, shop) = shop().await;
    let long = format!("https://shop.example/{}", "a".repeat(2048 - 20));
    let hostile = [
        "",
        " ",
        "return",
        "/return",
        "//evil.example",
        "///evil.example",
        "?return",
        "#return",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "java\nscript:alert(1)",
        "javascript://shop.example/%0aalert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "blob:https://shop.example/x",
        "about:blank",
        "ftp://shop.example/",
        "ws://shop.example/",
        "intent://shop.example/",
        "mailto:awa@example.com",
        "tel:+237",
        "http://shop.example/",
        "HTTP://shop.example/",
        "http://localhost.evil.example/",
        "http://127.0.0.1.evil.example/",
        "http://192.168.1.1/",
        "http://0.0.0.0/",
        "http://[::2]/",
        "https:shop.example",
        "https:/shop.example",
        "https:///shop.example",
        "https://",
        "https://?x",
        "https://#x",
        "https://user@shop.example/",
        "https://user:password@shop.example/",
        "https://:@shop.example/",
        "https://@shop.example/",
        "https://shop.example@evil.example/",
        "https://shop.example\\@evil.example/",
        "https:\\\\evil.example",
        "https://shop.example\\",
        " https://shop.example/",
        "https://shop.example/ ",
        "\u{a0}https://shop.example/",
        "\thttps://shop.example/",
        "https://shop.example/\n",
        "https://sh\top.example/",
        "https://shop.example/\r\nSet-Cookie: x=1",
        "https://shop.example/\u{0}",
        "https://shop.example/\u{7f}",
        "https://shop.example:99999/",
        "https://shop.example:port/",
        "https://[::1",
        "https://sho p.example/",
        "https://shop%00.example/",
        "https://256.256.256.256/",
        long.as_str(),
    ];
    for url in hostile {
        let mut fields = order("ORDER-17");
        fields["redirect_url"] = json!(url);
        let refused = shop.call("POST", CREATE, fields).await;
        assert_eq!(
            (refused.status, refused.code(), refused.params()),
            (422, "parameter_invalid", vec!["redirect_url"]),
            "{url:?}"
        );
        assert!(
            url.trim().len() < 9 || !refused.text.contains(url),
            "the message repeats an address, which may carry a secret: {url:?}"
        );
    }
    for odd in [json!(7), json!(["https://shop.example/"]), json!({})] {
        let mut fields = order("ORDER-17");
        fields["redirect_url"] = odd;
        assert_eq!(shop.call("POST", CREATE, fields).await.params(), ["redirect_url"]);
    }
}

#[tokio::test]
async fn a_valid_redirect_url_is_stored_unchanged() {
    let (_sandbox, shop) = shop().await;
    let longest = format!("https://shop.example/{}", "é".repeat(2048 - 21));
    let honest = [
        "https://shop.example",
        "https://shop.example/",
        "https://shop.example/return?order=17#top",
        "https://shop.example:8443/return",
        "https://bücher.example/é",
        "https://例え.jp/戻る?注文=17",
        "https://xn--bcher-kva.example/",
        "HTTPS://SHOP.EXAMPLE/Return",
        "https://shop.example/@awa",
        "https://shop.example/?next=https://other.example/a@b",
        "https://shop.example/a b",
        "https://[2001:db8::1]/",
        "https://203.0.113.7/return",
        "http://localhost:3000/return",
        "http://127.0.0.1:8080/",
        "http://127.9.9.9/",
        "http://[::1]:3000/return",
        longest.as_str(),
    ];
    for (number, url) in honest.into_iter().enumerate() {
        let mut fields = order(&format!("ORDER-{number}"));
        fields["redirect_url"] = json!(url);
        let created = shop.call("POST", CREATE, fields).await;
        assert_eq!(
            (created.status, created.body["data"]["redirect_url"].as_str()),
            (201, Some(url)),
            "{}",
            created.text
        );
    }
}

#[tokio::test]
async fn a_body_over_64_kib_is_refused_and_one_of_64_kib_is_not() {
    let (_sandbox, shop) = shop().await;
    for (size, status) in [(64 * 1024, 201), (64 * 1024 + 1, 413)] {
        let mut fields = order(&format!("ORDER-{size}"));
        let rest = size - fields.to_string().len();
        fields["description"] = json!("x".repeat(rest + "Shoes".len()));
        let body = fields.to_string();
        assert_eq!(body.len(), size);
        assert_eq!(bytes(&shop, CREATE, body.into_bytes(), JSON).await.status, status, "{size}");
    }
    let endless = reqwest::Body::from(vec![b'['; 4 << 20]);
    let url = format!("{}{CREATE}", shop.base_url);
    // The service may close the connection while the rest is still being sent. If there is a response, it is the
    // refusal.
    if let Ok(refused) = try_send(&client(), "POST", &url, Some(&shop.key()), Some(endless), &[]).await {
        assert_eq!((refused.status, refused.code()), (413, "body_too_large"));
    }
    assert_eq!(shop.call("POST", CREATE, order("ORDER-17")).await.status, 201);
}

#[tokio::test]
async fn a_body_that_is_not_a_json_object_is_refused_with_the_reason() {
    let (_sandbox, shop) = shop().await;
    let deep =
        |open: &str, close: &str| format!("{{\"metadata\":{}1{}}}", open.repeat(1000), close.repeat(1000)).into_bytes();
    let table: Vec<(Vec<u8>, &str, u16, &str)> = vec![
        (deep("[", "]"), JSON, 400, "invalid_json"),
        (deep("{\"a\":", "}"), JSON, 400, "invalid_json"),
        (vec![b'['; 60_000], JSON, 400, "invalid_json"),
        (b"{\"firstname\":\"\xff\xfe\"}".to_vec(), JSON, 400, "invalid_utf8"),
        (b"{\"firstname\":\"\xed\xa0\x80\"}".to_vec(), JSON, 400, "invalid_utf8"),
        (b"\xef\xbb\xbf{}".to_vec(), JSON, 400, "invalid_json"),
        (b"{\"a\":1,}".to_vec(), JSON, 400, "invalid_json"),
        (b"{".to_vec(), JSON, 400, "invalid_json"),
        (format!("{{\"metadata\":{}1{}}}", "[".repeat(40), "]".repeat(40)).into_bytes(), JSON, 400, "invalid_json"),
        (b"{\"a\":\"\\ud800\"}".to_vec(), JSON, 400, "invalid_json"),
        (b"{} {}".to_vec(), JSON, 400, "invalid_json"),
        (b"NaN".to_vec(), JSON, 400, "invalid_json"),
        (b"null".to_vec(), JSON, 400, "body_not_object"),
        (b"\"x\"".to_vec(), JSON, 400, "body_not_object"),
        (b"[{}]".to_vec(), JSON, 400, "body_not_object"),
        (b"a=1".to_vec(), "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
        (b"{}".to_vec(), "text/plain", 415, "unsupported_media_type"),
        (b"{}".to_vec(), "application/jsonx", 415, "unsupported_media_type"),
        (b"{}".to_vec(), "", 415, "unsupported_media_type"),
        (b"{}".to_vec(), "Application/JSON; charset=utf-8", 422, "parameter_missing"),
    ];
    for (body, kind, status, code) in table {
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        is_refused(&bytes(&shop, CREATE, body, kind).await, status, code, &format!("{shown} as {kind}"));
    }
    for (method, path, headers, status, code) in [
        ("POST", CREATE, &[("content-type", "text/plain")][..], 422, "parameter_missing"),
        ("GET", "/v1/nowhere", &[], 404, "route_not_found"),
        ("GET", "/nowhere", &[], 404, "route_not_found"),
        ("GET", "/v1/payment-intents/pi_unknown", &[], 404, "resource_missing"),
        ("GET", "/v1/payment-intents/%FF", &[], 400, "invalid_utf8"),
        ("PUT", CREATE, &[], 405, "method_not_allowed"),
    ] {
        let refused = shop.send(method, path, Some(&shop.key()), None, headers).await;
        is_refused(&refused, status, code, &format!("{method} {path}"));
    }
    let head = shop.send("HEAD", "/v1/payment-methods", Some(&shop.key()), None, &[]).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    let twice = "{\"id\":\"pi_other\",\"payment_method\":{\"type\":\"mobile_money\",\"phone\":\"237670000000\"}}";
    let intent = shop.create_intent("ORDER-17").await;
    let path = format!("{CREATE}/{}/payment-method", intent["id"].as_str().unwrap());
    assert_eq!(bytes(&shop, &path, twice.into(), JSON).await.params(), ["id"], "a body cannot name another intent");
}

#[tokio::test]
async fn a_missing_foreign_or_expired_token_changes_no_payment() {
    let (sandbox, shop) = shop().await;
    let other = Merchant::new(sandbox.merchant().await.unwrap());
    let (intent, others) = (shop.create_intent("ORDER-17").await, other.create_intent("ORDER-17").await);
    let session = async |shop: &Merchant, email: &str| {
        let created = shop.call("POST", "/v1/sessions/create", json!({ "customer_email": email })).await;
        created.body["data"]["session_token"].as_str().unwrap().to_owned()
    };
    let revoked = session(&shop, "awa@example.com").await;
    shop.call_as("POST", "/v1/sessions/revoke", Some(&revoked), Value::Null).await;
    let expired = session(&shop, "awa@example.com").await;
    shop.tenant.clock().advance(30 * 60).await.unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let table = [
        (None, 401, "authentication_required"),
        (Some(revoked), 401, "session_revoked"),
        (Some(expired), 401, "session_expired"),
        (Some("cst_test_unknown".into()), 401, "session_unknown"),
        (Some("sk_test_unknown".into()), 401, "invalid_key"),
        (Some("sk_live_unknown".into()), 401, "live_key_in_sandbox"),
        (Some(format!("{}_secret_{}", text(&intent["id"]), "x".repeat(43))), 401, "invalid_key"),
        (Some(text(&others["client_secret"])), 404, "resource_missing"),
        (Some(session(&shop, "ngo@example.com").await), 404, "resource_missing"),
        (Some(session(&other, "awa@example.com").await), 404, "resource_missing"),
        (Some(other.key()), 404, "resource_missing"),
    ];
    for (token, status, code) in table {
        for (verb, fields) in [
            ("payment-method", phone("237670000000")),
            ("confirm", Value::Null),
            ("cancel", Value::Null),
            ("answer", json!({ "otp": "123456" })),
        ] {
            let path = format!("{CREATE}/{}/{verb}", text(&intent["id"]));
            let refused = shop.call_as("POST", &path, token.as_deref(), fields).await;
            assert_eq!((refused.status, refused.code()), (status, code), "{verb} with {token:?}");
            assert!(
                token.as_ref().is_none_or(|token| !refused.text.contains(token.as_str())),
                "a refusal repeats no credential"
            );
        }
    }
    let read = shop.read_intent(&intent).await;
    assert_eq!((&read["status"], &read["attempts"]), (&json!("requires_action"), &json!(0)));
}

#[tokio::test]
async fn texts_of_a_merchant_are_returned_unchanged() {
    let (_sandbox, shop) = shop().await;
    let odd = "<script>alert(1)</script> \"quoted\" \\ \u{2028} \u{202e} 🥿 &amp; ${x} {{ y }}";
    let mut fields = order("ORDER-17");
    for name in ["firstname", "lastname", "description"] {
        fields[name] = json!(odd);
    }
    fields["metadata"] = json!({ odd: [odd, 1.50, null] });
    fields["items"] = json!([{ "name": odd, "price": "1", "currency": "XAF", "quantity": 1 }]);
    let created = shop.call("POST", CREATE, fields).await;
    let data = &created.body["data"];
    assert_eq!(created.status, 201);
    assert_eq!(
        (&data["customer"]["firstname"], &data["description"], &data["items"][0]["name"]),
        (&json!(odd), &json!(odd), &json!(odd))
    );
    assert_eq!(data["metadata"][odd][0], odd);
}

/// Checks a refusal, and what every refusal has.
fn is_refused(reply: &Reply, status: u16, code: &str, what: &str) {
    assert_eq!((reply.status, reply.code()), (status, code), "{what}");
    assert_eq!((&reply.body["status_code"], &reply.body["data"]), (&json!(status), &Value::Null), "{what}");
    assert!(!reply.message().is_empty() && reply.header("request-id").unwrap().starts_with("req_"), "{what}");
    assert_eq!(reply.header("cache-control"), Some("no-store"), "{what}");
    assert_eq!(reply.header("content-type"), Some("application/json"), "{what}");
}

const JSON: &str = "application/json";

/// Sends exactly these bytes with the secret key.
async fn bytes(shop: &Merchant, path: &str, body: Vec<u8>, kind: &str) -> Reply {
    let url = format!("{}{path}", shop.base_url);
    try_send(&client(), "POST", &url, Some(&shop.key()), Some(body.into()), &[("content-type", kind)]).await.unwrap()
}
