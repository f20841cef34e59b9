//! Secrets, where an attacker looks for them.

use super::{LOGIN, Rule};
use crate::environment::Response;
use crate::service::{Kind, Target};
use crate::shop::{Customer, Exchange};
use crate::{Check, Outcome, RuleError, not_checked};
use aho_corasick::AhoCorasick;
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "token_in_no_url",
        title: "A session token is in no address, redirect or referrer",
        needs: &[LOGIN],
        guide: "post-guichetsession",
        fix: "Send the token in the body of the answer to POST /session alone.",
        run: |check| Box::pin(token_in_no_url(check)),
    },
    Rule {
        id: "secrets_where_needed",
        title: "A session token is in the answer to POST /session alone, and a client secret in checkout_url alone",
        needs: &[],
        guide: "post-guichetintents",
        fix: "Answer with the fields that the page needs, one by one: no client_secret, no checkout_url beside a status, no token in a page, \
              a cookie or a payment's fields.",
        run: |check| Box::pin(secrets_where_needed(check)),
    },
    Rule {
        id: "answers_are_not_stored",
        title: "No cache stores an answer of the three routes",
        needs: &[],
        guide: "the-three-routes",
        fix: "Answer with Cache-Control: no-store on all three routes.",
        run: |check| Box::pin(answers_are_not_stored(check)),
    },
    Rule {
        id: "key_in_no_answer",
        title: "The secret key is in no answer of the shop and in no file that anyone can load, encoded or not",
        needs: &[],
        guide: "calls-to-the-service",
        fix: "Keep the key on the server: in no page, script, header or error. Then replace it, since it is known now.",
        run: |check| Box::pin(key_in_no_answer(check)),
    },
    Rule {
        id: "secrets_are_not_logged",
        title: "The shop's log has no secret key, session token or client secret",
        needs: &["--log"],
        guide: "what-to-monitor",
        fix: "Log the request_id and the code of an error, and no header, body or address of a call.",
        run: |check| Box::pin(secrets_are_not_logged(check)),
    },
];

/// Makes the answers that the rules look into: those of the three routes, and those to what goes wrong.
async fn provoke(check: &Check) {
    let Ok(customer) = check.customer(0).await else { return };
    ask(check, &customer).await;
    check.open_page(&customer).await;
    for kind in [Kind::Refuse(401), Kind::Malformed] {
        let _interfering = check.service.interfere(Target::Every, kind);
        ask(check, &customer).await;
    }
    for body in [
        "{",
        "",
        "null",
        "[]",
        "1",
        "\"17\"",
        "{\"id\":null}",
        "{\"id\":{}}",
        "{\"id\":[\"17\"]}",
        "{\"id\":\"\\u0000\"}",
    ] {
        let odd = check.route_request(&customer, "POST", "/intents").on_own_page();
        odd.body("application/json", body.to_owned()).send().await;
    }
    for path in ["/intents/gch_unknown", "/intents/%00", "/unknown"] {
        check.route_request(&customer, "GET", path).on_own_page().send().await;
    }
}

/// Requests a session, a payment and its status.
async fn ask(check: &Check, customer: &Customer) -> Vec<Exchange> {
    let mut exchanges = vec![super::sessions::session_request(check, customer).await];
    let order = check.orders.borrow().front().cloned().or_else(|| check.fresh_order());
    let Some(order) = order else { return exchanges };
    let exchange = check.route_request(customer, "POST", "/intents").on_own_page().json(&order).send().await;
    let payment = check.payment(&order, exchange.clone());
    exchanges.push(exchange);
    if let Ok(payment) = payment {
        exchanges.push(check.status(customer, &payment).await);
    }
    exchanges
}

async fn token_in_no_url(check: &Check) -> Outcome {
    provoke(check).await;
    let tokens = check.service.session_tokens();
    if tokens.is_empty() {
        return not_checked("The shop has created no session: see session_needs_login.");
    }
    let tokens = Secrets::new(&tokens);
    let has_token = |text: &str| tokens.is_in(text);
    for call in check.service.calls_since(0) {
        let return_address = call.body["redirect_url"].as_str().unwrap_or_default();
        if has_token(&call.path) || has_token(&call.referer) || has_token(return_address) {
            let sent = format!("{} {} (Referer: {}) {}", call.method, call.path, call.referer, call.body);
            let why = "The shop's call to the service has a session token in an address.".into();
            let came = "It is a call of the shop to the service.".to_owned();
            return Err(RuleError::Failed { why, sent, came });
        }
    }
    for (sent, response) in check.responses.borrow().iter() {
        for name in ["location", "refresh", "link", "content-location"] {
            if let Some(value) = response.headers(name).find(|value| has_token(value)) {
                let why = "The shop's answer has a session token in an address.".into();
                let came = format!("{} {name}: {value}", response.status);
                return Err(RuleError::Failed { why, sent: sent.clone(), came });
            }
        }
    }
    Ok(())
}

async fn secrets_where_needed(check: &Check) -> Outcome {
    provoke(check).await;
    load_page(check).await;
    let tokens = Secrets::new(&check.service.session_tokens());
    let client_secrets = Secrets::new(&check.service.client_secrets());
    for call in check.service.calls_since(0).iter().filter(|call| call.is_creation()) {
        let sent = call.body.to_string();
        if tokens.is_in(&sent) || client_secrets.is_in(&sent) {
            let why = "The shop put a session token or a client secret into the fields of a payment.".into();
            return Err(RuleError::Failed { why, sent: "POST /v1/payment-intents".into(), came: sent });
        }
    }
    let session = format!("POST {}/session", check.options.shop.routes);
    let intents = format!("POST {}/intents", check.options.shop.routes);
    for (sent, response) in check.responses.borrow().iter() {
        let (is_session, is_intents) = (is_to(sent, &session), is_to(sent, &intents));
        let headers: Vec<&str> = response
            .headers
            .iter()
            .filter(|(name, _)| !(is_intents && name.eq_ignore_ascii_case("location")))
            .map(|(_, value)| value.as_str())
            .collect();
        let body = if is_intents { without_checkout_url(&response.body) } else { response.body.clone() };
        let why = if headers.iter().any(|value| tokens.is_in(value) || client_secrets.is_in(value)) {
            "A header of this answer has a session token or a client secret."
        } else if !is_session && tokens.is_in(&body) {
            "This answer has a session token, and only POST /session needs one."
        } else if client_secrets.is_in(&body) {
            "This answer has a client secret, which is needed in the checkout_url of POST /intents alone."
        } else {
            continue;
        };
        let came = format!("{} {}", response.status, response.body);
        return Err(RuleError::Failed { why: why.into(), sent: sent.clone(), came });
    }
    Ok(())
}

/// Whether a request was sent to this method and path.
fn is_to(sent: &str, route: &str) -> bool {
    sent.strip_prefix(route).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '?']))
}

/// The JSON of an answer without the address that the page opens.
fn without_checkout_url(body: &str) -> String {
    let Ok(mut json) = serde_json::from_str::<Value>(body) else { return body.to_owned() };
    if let Some(intent) = json["intent"].as_object_mut() {
        intent.remove("checkout_url");
    }
    json.to_string()
}

async fn answers_are_not_stored(check: &Check) -> Outcome {
    let customer = check.customer(0).await?;
    for exchange in ask(check, &customer).await.iter().filter(|exchange| exchange.is_success()) {
        let Ok(response) = &exchange.response else { continue };
        let control = response.headers("cache-control").collect::<Vec<_>>().join(",").to_ascii_lowercase();
        let has = |directive: &str| control.split(',').any(|found| found.trim() == directive);
        let may_be_kept = |name: &str| {
            let seconds = control.split(',').filter_map(|found| found.trim().strip_prefix(name)?.parse::<u64>().ok());
            seconds.max().is_some_and(|seconds| seconds > 0)
        };
        let is_session = exchange.sent.contains("/session");
        let is_stored = has("public") || may_be_kept("max-age=") || may_be_kept("s-maxage=");
        if !has("no-store") && (is_session || is_stored) {
            let why = if control.is_empty() {
                "The answer has no Cache-Control: no-store.".to_owned()
            } else {
                format!("The answer may be stored: Cache-Control is {control}.")
            };
            return Err(exchange.fail(why));
        }
    }
    Ok(())
}

async fn key_in_no_answer(check: &Check) -> Outcome {
    provoke(check).await;
    load_page(check).await;
    let key = Secrets::new(&[check.service.secret_key().to_owned()]);
    for call in check.service.calls_since(0).iter().filter(|call| call.is_creation()) {
        let sent = call.body.to_string();
        if key.is_in(&sent) {
            let why = "The secret key is in a field of a payment, and the customer sees these fields.".into();
            return Err(RuleError::Failed { why, sent: "POST /v1/payment-intents".into(), came: sent });
        }
    }
    for (sent, response) in check.responses.borrow().iter() {
        let headers = response.headers.iter().any(|(_, value)| key.is_in(value));
        if headers || key.is_in(&response.body) {
            let why = format!("The secret key is in the {} of this answer.", if headers { "headers" } else { "body" });
            return Err(RuleError::Failed { why, sent: sent.clone(), came: response.status.to_string() });
        }
    }
    Ok(())
}

async fn secrets_are_not_logged(check: &Check) -> Outcome {
    if check.options.logs.is_empty() {
        return not_checked("Missing option --log: the file to which the shop writes its log.");
    }
    provoke(check).await;
    let secrets = [
        ("the secret key", vec![check.service.secret_key().to_owned()]),
        ("a session token", check.service.session_tokens()),
        ("a client secret", check.service.client_secrets()),
    ];
    for file in &check.options.logs {
        let text = check.environment.read(file).await;
        let text = text.or_else(|why| not_checked(format!("--log: {file} cannot be read: {why}")))?;
        for (name, secrets) in &secrets {
            let secrets = Secrets::new(secrets);
            if let Some(line) = text.lines().find(|line| secrets.is_in(line)) {
                let (why, came) = (format!("{file} has {name}."), line.to_owned());
                return Err(RuleError::Failed { why, sent: "the requests of the check".into(), came });
            }
        }
    }
    Ok(())
}

/// The most files that are loaded: a page has a few scripts.
const FILES: usize = 80;
/// What lies beside a page by mistake.
const BESIDE: &str = "\
    .env .env.local .env.production .git/config config.json config.js config.php settings.json package.json server.js \
    server.mjs app.py debug env api/config api/settings config settings info.php phpinfo.php phpinfo error.log \
    shop.log backup.sql";

/// Loads the page, what it loads, the source maps, and what may lie beside by mistake.
async fn load_page(check: &Check) {
    if check.is_page_loaded.replace(true) {
        return;
    }
    let Ok(customer) = check.customer(0).await else { return };
    let page = check.options.page.clone();
    let mut paths = VecDeque::from([page.clone()]);
    for path in ["/", "/return", "/shop", &check.options.shop.routes] {
        paths.push_back(path.to_owned());
    }
    for name in BESIDE.split_whitespace() {
        paths.push_back(format!("/{name}"));
        paths.push_back(format!("{}/{name}", check.options.shop.routes));
    }
    let mut loaded = BTreeSet::new();
    while let Some(path) = paths.pop_front() {
        if loaded.len() >= FILES || !loaded.insert(path.clone()) {
            continue;
        }
        let Ok(response) = check.request(&customer, "GET", &path).send().await.response else { continue };
        if response.status != 200 {
            continue;
        }
        // Before the names beside the page, which usually are not there.
        for address in addresses(&response) {
            if let Some(found) = resolve(check, &path, &address) {
                paths.push_front(found);
            }
        }
        if path.ends_with(".js") || path.ends_with(".mjs") || path.ends_with(".css") {
            paths.push_front(format!("{path}.map"));
        }
    }
}

/// The path of an address of the shop's own origin, as the file at `base` names it.
fn resolve(check: &Check, base: &str, address: &str) -> Option<String> {
    let base = url::Url::parse(&format!("{}{base}", check.options.shop.origin)).ok()?;
    let url = base.join(address).ok()?;
    let is_own = url.origin() == base.origin();
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    // Signing out is a link on many pages.
    let is_harmless = !["out", "deconnexion", "delete", "remove"].iter().any(|word| url.path().contains(word));
    (is_own && is_harmless).then(|| format!("{}{query}", url.path()))
}

/// The addresses in a page, a script or a style sheet: what follows `src=`, `import` and the like, in quotes.
fn addresses(response: &Response) -> Vec<String> {
    let kind = response.headers("content-type").next().unwrap_or_default().to_ascii_lowercase();
    let body = &response.body;
    let mut found = Vec::new();
    let mut after = |starts: &[&str]| {
        for start in starts {
            for (place, _) in body.match_indices(start) {
                let rest = body[place + start.len()..].trim_start();
                let quote = rest.chars().next().filter(|quote| ['"', '\'', '`'].contains(quote));
                let end = |text: &str| {
                    text.find(|end: char| end == '"' || end == '\'' || end == '`' || end.is_whitespace() || end == '>')
                };
                let text = quote.map_or(rest, |quote| &rest[quote.len_utf8()..]);
                let text = &text[..end(text).unwrap_or(text.len())];
                let is_address = !text.is_empty() && text.len() < 300 && !text.contains(['{', '(', '$']);
                if is_address && (quote.is_some() || start.ends_with('=')) {
                    found.push(text.to_owned());
                }
            }
        }
    };
    if kind.contains("html") {
        // A link to another page is not followed, except to a file.
        after(&["src=", "data-src="]);
        let links = ["stylesheet", "modulepreload", "preload", "manifest", "prefetch"];
        if links.iter().any(|link| body.contains(link)) {
            after(&["href="]);
        }
    }
    if kind.contains("html") || kind.contains("script") {
        after(&["import(", "import", "from", "new URL(", "fetch(", "importScripts("]);
    }
    after(&["sourceMappingURL="]);
    found
}

/// Secrets, as they are and encoded.
struct Secrets(AhoCorasick);

impl Secrets {
    fn new(secrets: &[String]) -> Self {
        let forms = secrets.iter().flat_map(|secret| forms(secret));
        Self(AhoCorasick::new(forms).expect("a few thousand short texts"))
    }

    fn is_in(&self, text: &str) -> bool {
        if self.0.is_match(text) {
            return true;
        }
        let plain = unescaped(text);
        // A text that a script puts together: "sk_test_0123" + "4567".
        let between = |char: &char| matches!(char, '"' | '\'' | '`' | '+' | ' ' | '\n' | '\r' | '\t');
        self.0.is_match(&plain) || self.0.is_match(&plain.chars().filter(|char| !between(char)).collect::<String>())
    }
}

/// The texts that give a secret away.
fn forms(secret: &str) -> Vec<String> {
    // What all keys of a kind begin with is in documents and in checks.
    let core = secret.rsplit('_').next().filter(|core| core.len() >= 16).unwrap_or(secret);
    if core.is_empty() {
        return Vec::new();
    }
    let hex: String = core.bytes().map(|byte| format!("{byte:02x}")).collect();
    let codes = core.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(",");
    let reversed: String = core.chars().rev().collect();
    let mut forms = vec![core.to_owned(), hex.to_uppercase(), hex, codes, reversed];
    let encoded = (0..3).map(|shift| base64_of(core, shift));
    forms.extend(encoded.flat_map(|text| [text.replace('+', "-").replace('/', "_"), text]));
    forms
}

/// The part of the base64 text that is the same whatever surrounds the secret, if it begins at this place of three
/// bytes.
fn base64_of(secret: &str, shift: usize) -> String {
    use base64::Engine;
    let mut bytes = vec![0; shift];
    bytes.extend(secret.bytes());
    let whole = bytes.len() - bytes.len() % 3;
    let encoded = base64::engine::general_purpose::STANDARD.encode(&bytes[..whole]);
    encoded[if shift == 0 { 0 } else { 4 }..].to_owned()
}

/// The text without the escapes of addresses (`%5F`), of JSON (`\u005f`, `\x5f`) and of HTML (`&#95;`, `&#x5f;`).
fn unescaped(text: &str) -> String {
    let text = percent_encoding::percent_decode_str(text).decode_utf8_lossy();
    let mut plain = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(place) = rest.find(['\\', '&']) {
        plain.push_str(&rest[..place]);
        rest = &rest[place..];
        match escape(rest) {
            Some((char, length)) => {
                plain.push(char);
                rest = &rest[length..];
            }
            None => {
                plain.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// The character that an escape at the start of the text stands for, and the escape's length.
fn escape(text: &str) -> Option<(char, usize)> {
    let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    if text.starts_with("\\u") {
        return Some((number(text.get(2..6)?, 16)?, 6));
    }
    if text.starts_with("\\x") {
        return Some((number(text.get(2..4)?, 16)?, 4));
    }
    let end = text.find(';').filter(|end| *end < 10)?;
    let digits = text.strip_prefix("&#")?.get(..end - 2)?;
    let hex = digits.strip_prefix(['x', 'X']);
    Some((hex.map_or_else(|| number(digits, 10), |hex| number(hex, 16))?, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_however_it_is_encoded() {
        let secrets = Secrets::new(&["sk_test_0123456789abcdefghijklmn".to_owned()]);
        for text in [
            "key=sk_test_0123456789abcdefghijklmn;",
            r#"{"key":"\u0073k_test_0123456789abcdefghijklm\u006e"}"#,
            "sk_test_0123456789abcdefghijklm%6e",
            "sk_test_0123456789abcdefghijklm&#x6e;",
            r#""sk_test_0123456" + "789abcdefghijklmn""#,
            "const key = [\"0123456789\",\n 'abcdefghijklmn']".replace(',', "+").as_str(),
            "c2tfdGVzdF8wMTIzNDU2Nzg5YWJjZGVmZ2hpamtsbW4=",
            "QmVhcmVyIHNrX3Rlc3RfMDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1u",
            "3031323334353 63738396162636465666768 696a6b6c6d6e".replace(' ', "").as_str(),
        ] {
            assert!(secrets.is_in(text), "{text}");
        }
        for text in ["", "sk_test_", "sk_test_0123456789abcdefghijklmo", "&#; \\u12 \\ & %"] {
            assert!(!secrets.is_in(text), "{text}");
        }
    }

    #[test]
    fn the_files_of_a_page_are_found() {
        let response = |kind: &str, body: &str| Response {
            status: 200,
            headers: vec![("content-type".into(), kind.into())],
            body: body.into(),
        };
        let html = r#"<link rel="stylesheet" href=/a.css><script type=module src='app.js'></script><script>import {a} from "./b.js"</script>"#;
        assert_eq!(addresses(&response("text/html", html)), ["app.js", "/a.css", "./b.js"]);
        let script = "import\"./c.js\";const d=()=>import('./d.js');\n//# sourceMappingURL=app.js.map";
        let found = addresses(&response("text/javascript", script));
        for address in ["./c.js", "./d.js", "app.js.map"] {
            assert!(found.iter().any(|found| found == address), "{found:?}");
        }
    }
}
