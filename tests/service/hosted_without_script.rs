//! The hosted page without a script: each state is a page of its own, and forms pay.

use crate::support::api::{self, Merchant, card, control, order, phone, shop};
use crate::support::folder::Folder;
use crate::support::service::on_each_service;
use base64::Engine;
use guichet::operations::AttachPaymentMethod;
use guichet_sandbox::Fault;
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

on_each_service!(a_customer_without_script_pays_and_is_led_to_the_shop,);

const DAY: u32 = 24 * 60 * 60;

/// A browser without scripts at the page of one payment: it keeps the payment's cookie.
struct Customer {
    client: reqwest::Client,
    cookie: String,
    /// For how many seconds a browser keeps the cookie.
    lasts: u32,
    page: String,
}

struct Page {
    status: u16,
    text: String,
    headers: reqwest::header::HeaderMap,
}

impl Page {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    fn state(&self) -> &str {
        self.text
            .split_once("data-status=\"")
            .and_then(|(_, rest)| rest.split_once('"'))
            .map_or("none", |(name, _)| name)
    }

    /// When and where a browser without script loads the page again.
    fn refresh(&self) -> &str {
        let meta = self.text.split_once("<noscript><meta http-equiv=\"refresh\" content=\"").map(|(_, rest)| rest);
        meta.and_then(|rest| rest.split_once("\"></noscript>")).map_or("", |(content, _)| content)
    }

    fn field(&self, name: &str) -> String {
        let (_, rest) = self
            .text
            .split_once(&format!("name=\"{name}\" value=\""))
            .unwrap_or_else(|| panic!("{name}: {}", self.text));
        rest.split_once('"').unwrap().0.to_owned()
    }
}

/// For how many seconds a browser keeps this cookie.
fn max_age(cookie: &str) -> u32 {
    let (_, rest) = cookie.split_once("Max-Age=").unwrap_or_else(|| panic!("{cookie}"));
    rest.split(';').next().unwrap().parse().unwrap()
}

fn browser() -> reqwest::Client {
    drop(api::client());
    reqwest::Client::builder().no_proxy().tls_certs_only([]).redirect(Policy::none()).build().unwrap()
}

impl Customer {
    /// Opens the link of a payment, which leads to the page's address.
    async fn open(shop: &Merchant, intent: &Value) -> Self {
        let client = browser();
        let page = format!("{}/checkout/{}", shop.base_url, intent["id"].as_str().unwrap());
        let secret = intent["client_secret"].as_str().unwrap();
        let opened = client.get(format!("{page}?client_secret={secret}")).send().await.unwrap();
        assert_eq!(opened.status(), 303);
        let location = opened.headers()["location"].to_str().unwrap();
        assert!(page.ends_with(location), "the secret is no longer in the address: {location}");
        let cookie = opened.headers()["set-cookie"].to_str().unwrap().to_owned();
        for attribute in ["HttpOnly", "SameSite=Lax", &format!("Path={location}"), "Max-Age="] {
            assert!(cookie.contains(attribute), "{attribute}: {cookie}");
        }
        Self { client, lasts: max_age(&cookie), cookie: cookie.split(';').next().unwrap().to_owned(), page }
    }

    async fn read(&self, query: &str) -> Page {
        let request = self.client.get(format!("{}{query}", self.page)).header("cookie", &self.cookie);
        Self::sent(request).await
    }

    async fn send(&self, form: &[(&str, &str)]) -> Page {
        let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = self.client.post(&self.page).header("cookie", &self.cookie);
        Self::sent(request.header("content-type", "application/x-www-form-urlencoded").body(form)).await
    }

    async fn sent(request: reqwest::RequestBuilder) -> Page {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Page { status, headers, text: response.text().await.unwrap() }
    }

    /// Sends a form of this page.
    async fn submit(&self, page: &Page, action: &str, fields: &[(&str, &str)]) -> Page {
        let (token, version) = (page.field("token"), page.field("version"));
        let form = [("token", token.as_str()), ("version", version.as_str()), ("action", action)];
        self.send(&[&form[..], fields].concat()).await
    }

    /// Sends a form that is accepted, or that changes nothing, and reads the page that it leads to.
    async fn act(&self, page: &Page, action: &str, fields: &[(&str, &str)]) -> Page {
        let sent = self.submit(page, action, fields).await;
        assert_eq!(sent.status, 303, "{}", sent.text);
        self.read("").await
    }

    async fn pay(&self, page: &Page, phone: &str) -> Page {
        self.act(page, "pay", &[("phone", phone)]).await
    }
}

async fn a_customer_without_script_pays_and_is_led_to_the_shop() {
    let (_sandbox, shop) = shop().await;
    let mut body = order("PLAIN-1");
    body["redirect_url"] = json!("https://shop.example/été?x=ü");
    let intent = shop.call("POST", "/v1/payment-intents", body).await.body["data"].clone();
    let customer = Customer::open(&shop, &intent).await;
    let page = customer.read("").await;
    assert_eq!((page.status, page.state(), page.header("cache-control")), (200, "ready", "no-store"));
    let policy = page.header("content-security-policy");
    assert!(policy.contains("form-action 'self'") && policy.contains("style-src 'self' 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe-inline"), "{policy}");
    for part in ["Shoes", "FCFA\u{a0}5,000", "name=\"phone\"", "name=\"number\"", "MTN Mobile Money"] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    let waiting = customer.pay(&page, "6 70 00 00 01").await;
    assert_eq!((waiting.status, waiting.state()), (200, "waiting"));
    let id = intent["id"].as_str().unwrap();
    assert_eq!(waiting.refresh(), format!("3; url=/checkout/{id}"));
    assert!(waiting.text.contains("<a href=\"tel:*126%23\""), "{}", waiting.text);
    shop.tenant.clock().advance(30).await.unwrap();
    let paid = customer.read("").await;
    assert_eq!(paid.state(), "succeeded");
    let (payment_ref, refresh) = (intent["payment_ref"].as_str().unwrap(), paid.refresh().replace("&#38;", "&"));
    let shop_address = format!(
        "https://shop.example/%C3%A9t%C3%A9?x=%C3%BC&payment_intent={id}&payment_ref={payment_ref}&merchant_reference=PLAIN-1&status=succeeded"
    );
    assert_eq!(refresh, format!("6; url={shop_address}"));
    shop.tenant.clock().advance(60).await.unwrap();
    assert_eq!(customer.read("").await.refresh(), "", "a customer who comes back stays");
    assert_eq!(shop.read_intent(&intent).await["attempts"], 1);
}

#[tokio::test]
async fn a_waiting_page_is_loaded_again_where_its_script_does_not_run() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("PLAIN-7").await;
    let customer = Customer::open(&shop, &intent).await;
    let ready = customer.read("").await;
    let inline = |page: &Page| page.text.matches("<script>").count();
    assert_eq!((inline(&ready), ready.text.matches("<script ").count()), (0, 1), "{}", ready.text);
    assert!(!ready.text.contains("_secret_"), "the secret is in the cookie alone: {}", ready.text);
    let waiting = customer.pay(&ready, "237670000001").await;
    let (_, script) = waiting.text.split_once("<script>").unwrap();
    let (script, _) = script.split_once("</script>").unwrap();
    assert!(script.contains("location.reload()") && inline(&waiting) == 1, "{}", waiting.text);
    let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(script));
    let policy = waiting.header("content-security-policy");
    assert!(policy.contains(&format!("script-src 'self' 'sha256-{digest}';")), "{policy}");
    assert!(policy.contains("trusted-types guichet-page; require-trusted-types-for 'script'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
}

#[tokio::test]
async fn a_link_preview_or_a_head_request_changes_nothing() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("PLAIN-8").await;
    let customer = Customer::open(&shop, &intent).await;
    let before = shop.read_intent(&intent).await;
    let page = customer.read("").await;
    let (token, version) = (page.field("token"), page.field("version"));
    let query = format!("?token={token}&version={version}&action=pay&type=mobile_money&phone=237670000000");
    assert_eq!(customer.read(&query).await.state(), "ready");
    let head =
        customer.client.head(format!("{}{query}", customer.page)).header("cookie", &customer.cookie).send().await;
    assert_eq!(head.unwrap().status(), 200);
    assert_eq!(customer.submit(&page, "erase", &[]).await.status, 303, "a form has no such action");
    assert_eq!(shop.read_intent(&intent).await, before);
}

#[tokio::test]
async fn the_control_api_sees_a_form_as_its_operation() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("PLAIN-9").await;
    let customer = Customer::open(&shop, &intent).await;
    let page = customer.read("?lang=fr").await;
    let phone = [("phone", "237670000001")];
    shop.tenant.fault(Fault::status::<AttachPaymentMethod>(503).retry_after(7)).await;
    let failed = customer.submit(&page, "pay", &phone).await;
    assert_eq!((failed.status, failed.state(), failed.header("retry-after")), (503, "trouble", "7"), "{}", failed.text);
    assert!(failed.text.contains("<a class=\"primary\" href=\"\" data-test=\"again\">"), "{}", failed.text);
    assert_eq!(shop.read_intent(&intent).await["attempts"], 0);
    assert_eq!(customer.submit(&page, "pay", &phone).await.status, 303);
    assert_eq!(customer.send(&[("token", "x"), ("version", "1"), ("action", "pay"), phone[0]]).await.status, 403);
    let requests = shop.tenant.requests().await;
    let seen: Vec<_> = requests
        .iter()
        .filter(|request| request.operation == "attach_payment_method")
        .map(|request| (&*request.credential, request.status, request.fault.as_deref(), request.intent.as_deref()))
        .collect();
    let id = intent["id"].as_str();
    assert_eq!(seen, [("client_secret", Some(503), Some("status"), id), ("client_secret", Some(303), None, id)]);
}

#[tokio::test]
async fn two_payments_in_two_tabs_do_not_disturb_each_other() {
    let (_sandbox, shop) = shop().await;
    let (one, other) = (shop.create_intent("PLAIN-10").await, shop.create_intent("PLAIN-11").await);
    let first = Customer::open(&shop, &one).await;
    let second = Customer::open(&shop, &other).await;
    // The path of a cookie is its payment's page, so a browser sends each page its own.
    let page = first.read("").await;
    assert_eq!(first.pay(&page, "237670000000").await.state(), "succeeded");
    assert_eq!(second.read("").await.state(), "ready");
    assert_eq!(shop.read_intent(&other).await["attempts"], 0);
}

#[tokio::test]
async fn the_issuers_page_needs_no_script() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("PLAIN-12").await;
    let customer = Customer::open(&shop, &intent).await;
    let sent = shop.attach(&intent, card("4000000000003220")).await;
    let issuer = sent.body["data"]["next_action"]["url"].as_str().unwrap();
    let (client, cookie) = (customer.client.clone(), customer.cookie.clone());
    let at_the_issuer = Customer { client, cookie, lasts: customer.lasts, page: issuer.to_owned() };
    let page = at_the_issuer.read("").await;
    assert!(page.status == 200 && !page.text.contains("<script"), "{}", page.text);
    assert!(page.header("content-security-policy").contains("form-action 'self'"));
    let forged = at_the_issuer.send(&[("token", "x"), ("decision", "approve")]).await;
    assert_eq!((forged.status, customer.read("").await.state()), (404, "bank"));
    let token = page.field("token");
    let decided = at_the_issuer.send(&[("token", &token), ("decision", "approve")]).await;
    let secret = intent["client_secret"].as_str().unwrap();
    let back = format!("/checkout/{}?client_secret={secret}", intent["id"].as_str().unwrap());
    assert_eq!((decided.status, decided.header("location")), (303, back.as_str()));
    assert_eq!(customer.read("").await.state(), "succeeded");
}

#[tokio::test]
async fn the_language_is_kept_in_a_cookie_of_the_payment() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("PLAIN-13").await;
    let customer = Customer::open(&shop, &intent).await;
    let french = customer.read("?lang=fr").await;
    let id = intent["id"].as_str().unwrap();
    let mut cookies = french.headers.get_all("set-cookie").iter();
    let language = format!("guichet_language=fr; Path=/checkout/{id}; SameSite=Lax");
    assert!(cookies.any(|cookie| cookie == language.as_str()), "{:?}", french.headers);
    let cookie = format!("{}; guichet_language=fr", customer.cookie);
    let request = customer.client.get(&customer.page).header("accept-language", "en");
    let later = Customer::sent(request.header("cookie", cookie)).await;
    assert!(later.text.contains("<html lang=\"fr\">"), "{}", later.text);
    let strange = browser().get(format!("{}?lang=fr", customer.page)).send().await.unwrap();
    assert_eq!((strange.status().as_u16(), strange.headers().get("set-cookie")), (404, None));
    let refused = strange.text().await.unwrap();
    assert!(refused.contains("Autorisez-les pour ce site"), "cookies are refused, or the link is wrong: {refused}");
}

/// What a phone of 2019 does not know (Android WebView 74) must have a fallback where a page without script uses it.
#[test]
fn the_style_has_a_fallback_for_each_feature_that_android_webview_74_lacks() {
    const SELECTORS: [&str; 4] = [":has(", ":is(", ":where(", ":focus-visible"];
    const VALUES: [&str; 7] = ["min(", "max(", "clamp(", "cqi", "dvh", "anywhere", "color-mix("];
    const PROPERTIES: [&str; 4] = ["inset", "aspect-ratio", "translate", "margin-inline"];
    // Parts that the script alone draws.
    const OF_THE_SCRIPT: [&str; 1] = [".tests button"];
    let style = include_str!("../../www/checkout/checkout.css");
    let (before, supports) = style.split_once("@supports").expect("the sizes of long amounts");
    let (_, after) = supports.split_once("\n}\n").expect("it ends");
    let mut wrong = Vec::new();
    for rule in [before, after].concat().split('}') {
        let Some((selectors, declarations)) = rule.rsplit_once('{') else { continue };
        let selectors = selectors.rsplit(['{', '/']).next().unwrap_or_default().trim();
        // A browser drops a whole rule for one selector that it does not know.
        let is_new = |selector: &str| SELECTORS.iter().any(|new| selector.contains(new));
        let mixed = selectors.split(", ").filter(|selector| is_new(selector)).count();
        if mixed > 0 && mixed < selectors.split(", ").count() && !selectors.contains(":is(") {
            wrong.push(selectors.to_owned());
        }
        let declared: Vec<_> = declarations.split(';').filter_map(|text| text.trim().split_once(':')).collect();
        for (index, (property, value)) in declared.iter().enumerate() {
            let has_fallback = declared[..index].iter().any(|(earlier, _)| earlier == property);
            let is_new =
                VALUES.iter().any(|new| value.replace("minmax(", "").contains(new)) || PROPERTIES.contains(property);
            if is_new && !has_fallback && !selectors.contains(":has(") {
                wrong.push(format!("{selectors} {property}:{value}"));
            }
        }
        let is_flex = declared.iter().any(|(property, value)| *property == "display" && value.trim() == "flex");
        let has_gap = declared.iter().any(|(property, _)| *property == "gap");
        if is_flex && has_gap && !OF_THE_SCRIPT.contains(&selectors) {
            wrong.push(format!("{selectors}: a gap of flex"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// lynx is a browser without scripts and without styles. It buys as its user does: by keys.
#[tokio::test]
async fn a_customer_with_lynx_pays() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("PLAIN-14").await;
    let folder = Folder::new("lynx");
    let keys = folder.path.join("keys");
    // By Tab past the languages and the ways of paying to the field of the phone, and past its operators to its button.
    let mut pressed = vec!["<tab>"; 4];
    pressed.extend("237670000000".split("").filter(|digit| !digit.is_empty()));
    pressed.extend(["<tab>", "<tab>", "<tab>", "<tab>", "^J"]);
    let script = pressed.iter().map(|key| format!("key {key}\n")).collect::<String>();
    std::fs::write(&keys, script + "exit\n").unwrap();
    let mut lynx = std::process::Command::new("lynx");
    lynx.args(["-accept_all_cookies", "-nopause", "-term=vt100"]).arg(format!("-cmd_script={}", keys.display()));
    lynx.arg(intent["checkout_url"].as_str().unwrap()).env_remove("http_proxy").stdin(std::process::Stdio::null());
    let seen = tokio::task::spawn_blocking(move || lynx.output()).await.unwrap();
    let seen = seen.expect("lynx is missing. `cargo xtask test` installs it.");
    let screen = String::from_utf8_lossy(&seen.stdout).into_owned();
    assert!(screen.contains("You paid FCFA"), "{screen}");
    assert_eq!(shop.read_intent(&intent).await["status"], "succeeded", "{screen}");
}

#[tokio::test]
async fn a_form_that_is_sent_twice_acts_once() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("PLAIN-2").await;
    let customer = Customer::open(&shop, &intent).await;
    let first = customer.read("").await;
    let declined = customer.pay(&first, "237670000002").await;
    assert_eq!(declined.state(), "declined");
    assert!(declined.text.contains("not enough money"), "{}", declined.text);
    assert_eq!(customer.pay(&first, "237670000002").await.state(), "declined");
    assert_eq!(shop.read_intent(&intent).await["attempts"], 1, "the form was of attempt 0");
    assert_eq!(customer.act(&first, "cancel", &[]).await.state(), "declined", "another attempt was made since");
    assert_eq!(customer.act(&declined, "cancel", &[]).await.state(), "canceled");
}

#[tokio::test]
async fn an_outdated_form_changes_no_method_and_is_not_validated() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("PLAIN-15").await;
    let customer = Customer::open(&shop, &intent).await;
    let ready = customer.read("").await;
    let code = customer.pay(&ready, "237670000010").await;
    assert_eq!(code.state(), "code");
    let chosen = async || shop.read_intent(&intent).await["payment_method"].clone();
    let by_phone = chosen().await;
    // The first page is still in another tab, and was of a payment without an attempt, as this one is.
    let card =
        [("type", "card"), ("number", "4000000000003220"), ("exp_month", "12"), ("exp_year", "34"), ("cvc", "1")];
    for outdated in [&[("phone", "237690000000")][..], &[("phone", "12")], &card] {
        assert_eq!(customer.act(&ready, "pay", outdated).await.state(), "code");
    }
    assert_eq!(chosen().await, by_phone);
    // A customer who wants another method has its form, also after a wrong number.
    let choosing = customer.read("?choose=1").await;
    let wrong = customer.submit(&choosing, "pay", &[("phone", "12")]).await;
    assert_eq!((choosing.state(), wrong.status, wrong.state()), ("ready", 422, "ready"), "{}", wrong.text);
    assert_eq!(customer.pay(&wrong, "237670000012").await.state(), "declined", "the operator is not available");
    assert_eq!(customer.pay(&choosing, "237670000010").await.state(), "declined", "a second click");
    let declined = customer.read("").await;
    // The operator approves it late, which is no new version.
    shop.tenant.clock().advance(600).await.unwrap();
    assert_eq!(customer.pay(&declined, "12").await.state(), "succeeded");
    assert_eq!(customer.act(&declined, "cancel", &[]).await.state(), "succeeded");
}

#[tokio::test]
async fn a_refused_form_says_which_field_is_wrong() {
    let (sandbox, shop) = shop().await;
    let mut body = order("PLAIN-16");
    body["payment_method_types"] = json!(["card"]);
    let by_card = shop.call("POST", "/v1/payment-intents", body).await.body["data"].clone();
    let intents = [by_card, shop.create_intent("PLAIN-17").await, shop.create_intent("PLAIN-18").await];
    assert_eq!(shop.attach(&intents[2], phone("237670000010")).await.status, 200);
    let closed = json!({ "code": "orange_cm", "status": "closed", "merchant": shop.tenant.id() });
    assert_eq!(control(&sandbox, "POST", "/operators", closed).await.status, 200);
    let card = |wrong: (&'static str, &'static str)| {
        let right = [("number", "4242424242424242"), ("exp_month", "12"), ("exp_year", "34"), ("cvc", "123")];
        let fields = right.map(|(name, value)| (name, if name == wrong.0 { wrong.1 } else { value }));
        [&[("type", "card")], &fields[..]].concat()
    };
    let refused = [
        (0, "pay", "codes", "payment_method_unavailable", "", vec![("phone", "237670000000")]),
        (1, "pay", "hosted", "phone_wrong", "phone", vec![("phone", "12")]),
        (1, "pay", "hosted", "phone_wrong", "phone", vec![]),
        (1, "pay", "hosted", "phone_closed", "phone", vec![("phone", "237690000000")]),
        (1, "pay", "hosted", "card_number_wrong", "card-number", card(("number", "4242"))),
        (1, "pay", "hosted", "exp_month_wrong", "exp-month", card(("exp_month", "13"))),
        (1, "pay", "hosted", "exp_year_wrong", "exp-year", card(("exp_year", "x"))),
        (1, "pay", "hosted", "cvc_wrong", "cvc", card(("cvc", "12"))),
        (1, "pay", "codes", "test_card_required", "card-number", card(("number", "4242424242424241"))),
        (2, "answer", "hosted", "otp_wrong", "otp", vec![]),
    ];
    for language in ["en", "fr"] {
        let words = crate::support::root().join(format!("words/{language}.json"));
        let words: Value = serde_json::from_slice(&std::fs::read(words).unwrap()).unwrap();
        for (intent, action, group, sentence, field, fields) in &refused {
            let mut customer = Customer::open(&shop, &intents[*intent]).await;
            customer.cookie += &format!("; guichet_language={language}");
            let sent = customer.submit(&customer.read("").await, action, fields).await;
            let place = match *field {
                "" => "role=\"alert\" data-test=\"wrong\"".to_owned(),
                id => format!("id=\"{id}-wrong\""),
            };
            let alert = format!("<p class=\"wrong\" {place}>{}</p>", words[group][sentence].as_str().unwrap());
            assert!(sent.status == 422 && sent.text.contains(&alert), "{language} {fields:?}: {}", sent.text);
            let marked = sent.text.matches("aria-invalid=\"true\"").count();
            assert_eq!(marked, usize::from(!field.is_empty()), "{language} {fields:?}: {}", sent.text);
        }
    }
    // A number of another country has none of the operators, and pays without.
    let customer = Customer::open(&shop, &intents[1]).await;
    let abroad = [("phone", "+221 77 000 00 00"), ("operator", "mtn_cm")];
    assert_eq!(customer.act(&customer.read("").await, "pay", &abroad).await.state(), "succeeded");
}

/// What the package refuses before it sends anything, the page's forms mark. What is read is a test of the forms
/// themselves.
#[tokio::test]
async fn a_form_marks_what_cannot_be_read() {
    let (_sandbox, shop) = shop().await;
    let cases: Value = serde_json::from_str(include_str!("../typed.json")).unwrap();
    let cases = |of: &str| cases[of].as_array().unwrap().clone();
    let [intent, asked] = [shop.create_intent("PLAIN-19").await, shop.create_intent("PLAIN-20").await];
    assert_eq!(shop.attach(&asked, phone("237670000010")).await.status, 200);
    let customer = Customer::open(&shop, &intent).await;
    let page = customer.read("").await;
    let marked = |page: &Page| -> Vec<String> {
        let fields = page.text.split("<input ").filter(|field| field.contains("aria-invalid=\"true\""));
        let name = |field: &str| field.split_once("name=\"").unwrap().1.split('"').next().unwrap().to_owned();
        fields.map(name).collect()
    };
    let mut count = 0;
    let phones = cases("phones");
    let unread = |case: &&Value| case["phone"].is_null() && case.get("country").is_none_or(|country| country == "CM");
    for case in phones.iter().filter(unread) {
        let sent = customer.submit(&page, "pay", &[("phone", case["typed"].as_str().unwrap())]).await;
        assert_eq!((sent.status, marked(&sent)), (422, vec!["phone".to_owned()]), "{case}");
        count += 1;
    }
    for case in cases("cards").iter().chain(&cases("months_with_a_year")).filter(|case| case.get("card").is_none()) {
        let usual = [("number", "4242424242424242"), ("exp_month", "12"), ("exp_year", "2034"), ("cvc", "123")];
        let typed = usual.map(|(name, value)| (name, case["typed"][name].as_str().unwrap_or(value)));
        let sent = customer.submit(&page, "pay", &[&[("type", "card")], &typed[..]].concat()).await;
        assert_eq!((sent.status, json!(marked(&sent))), (422, case["wrong"].clone()), "{case}");
        let number = typed[0].1.trim();
        assert!(
            number.len() < 4 || !sent.text.contains(&format!("value=\"{number}")),
            "{case}: it is not written back"
        );
        count += 1;
    }
    let customer = Customer::open(&shop, &asked).await;
    let page = customer.read("").await;
    for case in cases("codes").iter().filter(|case| case["otp"].is_null()) {
        let sent = customer.submit(&page, "answer", &[("otp", case["typed"].as_str().unwrap())]).await;
        assert_eq!((sent.status, marked(&sent)), (422, vec!["otp".to_owned()]), "{case}");
        count += 1;
    }
    assert!(count > 10, "{count} cases");
    assert_eq!(shop.read_intent(&intent).await["attempts"], 0);
}

#[tokio::test]
async fn a_form_needs_the_cookie_and_the_token_of_its_payment() {
    let (_sandbox, shop) = shop().await;
    let (intent, other) = (shop.create_intent("PLAIN-3").await, shop.create_intent("PLAIN-4").await);
    let mut customer = Customer::open(&shop, &intent).await;
    let token = customer.read("").await.field("token");
    let others = Customer::open(&shop, &other).await;
    let foreign = others.read("").await.field("token");
    for wrong in ["", "x", &foreign] {
        let sent = customer.send(&[("token", wrong), ("version", "1"), ("action", "cancel")]).await;
        assert_eq!((sent.status, sent.state()), (403, "link_wrong"), "{wrong}");
    }
    let cookie = std::mem::replace(&mut customer.cookie, others.cookie.clone());
    for wrong in [others.cookie.as_str(), "a=b", "guichet_checkout=x"] {
        wrong.clone_into(&mut customer.cookie);
        let sent = customer.send(&[("token", &token), ("version", "1"), ("action", "cancel")]).await;
        assert_eq!(sent.status, 403, "{wrong}");
    }
    assert_eq!(shop.read_intent(&intent).await["status"], "requires_action");
    customer.cookie = cookie;
    assert_eq!(customer.send(&[("token", &token), ("version", "1"), ("action", "cancel")]).await.status, 303);
    let link = format!("{}?client_secret={}", customer.page, other["client_secret"].as_str().unwrap());
    let opened = browser().get(&link).send().await.unwrap();
    assert_eq!(
        (opened.status().as_u16(), opened.headers().get("set-cookie")),
        (404, None),
        "a secret of another payment"
    );
    let opened = customer.read(&link[customer.page.len()..]).await;
    let path = format!("/checkout/{}", intent["id"].as_str().unwrap());
    assert_eq!((opened.status, opened.header("location")), (303, path.as_str()), "the cookie still opens it");
}

#[tokio::test]
async fn each_state_is_a_page_of_its_own_in_the_customers_language() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("PLAIN-5").await;
    let customer = Customer::open(&shop, &intent).await;
    let ready = customer.read("?lang=fr").await;
    assert!(ready.text.contains("<html lang=\"fr\">") && ready.text.contains("Payer 5"), "{}", ready.text);
    let sent = customer.submit(&ready, "pay", &[("phone", "<12>")]).await;
    assert_eq!((sent.status, sent.state()), (422, "ready"));
    assert!(
        sent.text.contains("value=\"&#60;12&#62;\"") && sent.text.contains("aria-invalid=\"true\" autofocus"),
        "{}",
        sent.text
    );
    let card =
        [("type", "card"), ("number", "4242 4242 4242 4241"), ("exp_month", "12"), ("exp_year", "34"), ("cvc", "123")];
    let sent = customer.submit(&ready, "pay", &card).await;
    assert_eq!(sent.status, 422);
    assert!(!sent.text.contains("4241") && sent.text.contains("Only test cards"), "{}", sent.text);
    let code = customer.pay(&ready, "237670000010").await;
    assert_eq!(code.state(), "code");
    let declined = customer.act(&code, "answer", &[("otp", "000000")]).await;
    assert_eq!(declined.state(), "declined");
    let issuer = [card[0], ("number", "4000000000003220"), card[2], card[3], card[4]];
    let bank = customer.act(&declined, "pay", &issuer).await;
    assert!(bank.state() == "bank" && bank.text.contains("/challenge?token="), "{}", bank.text);
    let waiting = customer.pay(&customer.read("?choose=1").await, "237670000005").await;
    assert_eq!(waiting.state(), "waiting");
    let unsure = customer.act(&waiting, "abandon", &[]).await;
    assert_eq!(unsure.state(), "declined");
    assert!(unsure.text.contains("We do not know yet whether your operator took the money"), "{}", unsure.text);
    assert!(!unsure.text.contains("Nothing was charged"), "{}", unsure.text);
    shop.tenant.clock().advance(25 * 60 * 60).await.unwrap();
    assert_eq!(customer.read("").await.state(), "expired");
    shop.tenant.clock().advance(25 * 60 * 60).await.unwrap();
    let ended = customer.read("").await;
    assert_eq!((ended.status, ended.state()), (404, "link_wrong"));
}

#[tokio::test]
async fn the_cookie_of_a_payment_ends_with_its_client_secret() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("PLAIN-COOKIE").await;
    let customer = Customer::open(&shop, &intent).await;
    let waiting = customer.pay(&customer.read("").await, "237670000005").await;
    assert_eq!(waiting.state(), "waiting");
    shop.tenant.clock().advance(2 * DAY).await.unwrap();
    let opened = Customer::open(&shop, &intent).await;
    assert_eq!(opened.read("").await.state(), "waiting", "a payment that is processing for two days can be opened");
    assert!(opened.lasts >= DAY, "{} s", opened.lasts);

    let paid = shop.create_intent("PLAIN-PAID").await;
    let customer = Customer::open(&shop, &paid).await;
    assert_eq!(customer.pay(&customer.read("").await, "237670000000").await.state(), "succeeded");
    shop.tenant.clock().advance(DAY - 100).await.unwrap();
    let opened = Customer::open(&shop, &paid).await;
    assert!((1..=100).contains(&opened.lasts), "{} s", opened.lasts);
    let page = customer.read("").await;
    assert_eq!(page.state(), "succeeded");
    let renewed = max_age(page.header("set-cookie"));
    assert!((1..=opened.lasts).contains(&renewed), "a page renews it: {renewed} s");
}

#[tokio::test]
async fn the_first_response_has_at_most_6_kb() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("PLAIN-6").await;
    let customer = Customer::open(&shop, &intent).await;
    let request =
        customer.client.get(&customer.page).header("cookie", &customer.cookie).header("accept-encoding", "gzip");
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let bytes = response.bytes().await.unwrap().len();
    assert!(bytes <= 6_000, "{bytes} bytes");
    println!("{bytes} bytes");
}
