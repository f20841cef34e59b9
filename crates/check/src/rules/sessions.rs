//! Whose session it is, and the login that it belongs to.

use super::forged::{EMAILS, OWNER_HEADERS, OWNERS, names};
use super::{LOGIN, Rule, TWO_LOGINS};
use crate::options::Login;
use crate::payment::Payment;
use crate::service::{Call, Kind, Target};
use crate::shop::{Customer, Exchange};
use crate::{Check, Outcome, RuleError, not_checked};
use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "session_needs_login",
        title: "Only a customer who is signed in gets a session; all others get 401, 403 or 419",
        needs: &[LOGIN],
        guide: "post-guichetsession",
        fix: "Answer POST /session with 401 unless your own login knows the customer, and create the session for that customer's e-mail.",
        run: |check| Box::pin(session_needs_login(check)),
    },
    Rule {
        id: "session_is_of_login",
        title: "A session is for the e-mail of the customer who is signed in, whatever the page sends",
        needs: &[LOGIN],
        guide: "post-guichetsession",
        fix: "Create the session for the e-mail that your own data has of the customer of the login. Read no e-mail and no id from the request.",
        run: |check| Box::pin(session_is_of_login(check)),
    },
    Rule {
        id: "sessions_are_apart",
        title: "Two customers, one after the other and at once, get sessions of their own",
        needs: &[TWO_LOGINS],
        guide: "post-guichetsession",
        fix: "Keep the customer and the session of a request in variables of that request, and what you keep by the customer's id.",
        run: |check| Box::pin(sessions_are_apart(check)),
    },
    Rule {
        id: "login_is_guarded",
        title: "The login's cookie is random, HttpOnly, SameSite, Secure under https, and new at each sign-in",
        needs: &[LOGIN],
        guide: "whose-payment-it-is",
        fix: "Set the login's cookie with HttpOnly, SameSite=Lax and (under https) Secure, to a new random text at each sign-in.",
        run: |check| Box::pin(login_is_guarded(check)),
    },
    Rule {
        id: "sign_out_ends_login",
        title: "If the shop has an address to sign out, its use ends the login on the server",
        needs: &[LOGIN],
        guide: "whose-payment-it-is",
        fix: "Delete the login on the server when the customer signs out: the cookie may be kept elsewhere.",
        run: |check| Box::pin(sign_out_ends_login(check)),
    },
    Rule {
        id: "sign_out_ends_sessions",
        title: "If the shop has an address to sign out, the service accepts no session token of the login afterwards",
        needs: &[LOGIN],
        guide: "whose-payment-it-is",
        fix: "Keep each session token with the login that it was given to, and send POST /v1/sessions/revoke with each when the customer signs out.",
        run: |check| Box::pin(sign_out_ends_sessions(check)),
    },
];

async fn session_needs_login(check: &Check) -> Outcome {
    let (mark, visitor) = (check.service.mark(), Customer::default());
    // The page sets the cookie of a CSRF token.
    check.open_page(&visitor).await;
    let exchange = session_request(check, &visitor).await;
    if !exchange.is_sign_in_required() {
        return Err(exchange.fail("A stranger, who is not signed in, was not answered with 401."));
    }
    if check.service.calls_since(mark).iter().any(Call::is_session) {
        return Err(exchange.fail("The shop created a session for a stranger."));
    }
    for name in super::forged::names_of(check, 0).await {
        for (place, body, path, headers) in lies(&name) {
            let exchange = named_request(check, &visitor, &path, &headers, &body).await;
            if issued_for(check, &exchange).is_some() {
                let why = format!("A stranger named a customer in the {place}, and got a session.");
                return Err(exchange.fail(why));
            }
        }
    }
    let customer = check.customer(0).await?;
    let exchange = session_request(check, &customer).await;
    if exchange.is_sign_in_required() && check.options.logins.is_empty() {
        return not_checked("Missing option --login: a stranger gets no session, and nobody is signed in.");
    }
    if exchange.json()["error"]["code"] == "email_not_verified" {
        return not_checked("The customer of --login has no e-mail that the shop has verified, and gets no session.");
    }
    let (session, is_issued) = (exchange.data(), issued_for(check, &exchange).is_some());
    if !exchange.is_success() || !is_issued || !session["expires_at"].is_string() {
        let why = "A customer who is signed in did not get the service's session_token and expires_at.";
        return Err(exchange.fail(why));
    }
    Ok(())
}

/// Requests a session from the shop's page.
pub(super) async fn session_request(check: &Check, customer: &Customer) -> Exchange {
    check.route_request(customer, "POST", "/session").on_own_page().json(&json!({})).send().await
}

/// The e-mail for which the service has created the session of an answer.
fn issued_for(check: &Check, exchange: &Exchange) -> Option<String> {
    let token = exchange.data()["session_token"].as_str()?.to_owned();
    let calls = check.service.calls_since(0);
    let creation = calls.iter().find(|call| call.is_session() && call.reply["data"]["session_token"] == *token)?;
    Some(email_in(creation))
}

fn email_in(creation: &Call) -> String {
    creation.body["customer_email"].as_str().unwrap_or_default().to_lowercase()
}

/// The e-mail for which a customer gets a session; `None` if this customer gets none.
pub(super) async fn email_of(check: &Check, number: usize) -> Result<Option<String>, RuleError> {
    let customer = check.customer(number).await?;
    Ok(issued_for(check, &session_request(check, &customer).await))
}

const NO_SESSION: &str = "The customer gets no session: see session_needs_login.";

async fn session_is_of_login(check: &Check) -> Outcome {
    if check.options.logins.is_empty() {
        return not_checked("Missing option --login: it signs the customer in.");
    }
    let customer = check.customer(0).await?;
    let Some(own) = email_of(check, 0).await? else { return not_checked(NO_SESSION) };
    let mut foreign = vec!["forged@evil.example".to_owned()];
    if check.options.logins.len() > 1 {
        foreign.extend(email_of(check, 1).await?);
        foreign.extend(super::forged::names_of(check, 1).await);
    }
    foreign.retain(|name| !name.eq_ignore_ascii_case(&own));
    foreign.dedup();
    for name in &foreign {
        for (place, body, path, headers) in lies(name) {
            let mark = check.service.mark();
            let exchange = named_request(check, &customer, &path, &headers, &body).await;
            let created = check.service.calls_since(mark);
            let others = created.iter().filter(|call| call.is_session()).map(email_in).find(|email| *email != own);
            let issued = issued_for(check, &exchange).filter(|email| *email != own);
            if let Some(email) = others.or(issued) {
                return Err(exchange.fail(format!(
                    "The page named another customer in the {place}, and the shop created a session for {email}."
                )));
            }
        }
    }
    foreign_session_is_kept_back(check, &customer).await
}

/// A session acts for the e-mail in the service's reply.
async fn foreign_session_is_kept_back(check: &Check, customer: &Customer) -> Outcome {
    let mark = check.service.mark();
    let fields = Kind::Fields(json!({"customer_email": "somebody.else@evil.example"}));
    let lying = check.service.interfere(Target::Sessions, fields);
    let exchange = session_request(check, customer).await;
    drop(lying);
    let token = exchange.data()["session_token"].take();
    // A shop may answer with a session that it has kept.
    let is_foreign = check.service.calls_since(mark).iter().any(|call| call.reply["data"]["session_token"] == token);
    if token.is_string() && is_foreign {
        let why =
            "The service's reply had another customer_email than the shop had sent, and the page got its session.";
        return Err(exchange.fail(why));
    }
    Ok(())
}

/// A request for a session that names a customer.
async fn named_request(
    check: &Check,
    browser: &Customer,
    path: &str,
    headers: &[(&'static str, String)],
    body: &Value,
) -> Exchange {
    let request = check.route_request(browser, "POST", path).on_own_page();
    headers.iter().fold(request, |request, (name, value)| request.header(name, value)).json(body).send().await
}

type LieAboutCustomer = (&'static str, Value, String, Vec<(&'static str, String)>);

/// Requests for a session that name another customer.
fn lies(name: &str) -> Vec<LieAboutCustomer> {
    let fields: Vec<&str> = names(EMAILS).chain(names(OWNERS)).chain(["id", "name"]).collect();
    let body: Value = fields.iter().map(|field| ((*field).to_owned(), Value::from(name))).collect();
    let person = json!({"email": name, "customer_email": name, "id": name, "name": name});
    let nested = json!({"customer": person, "user": person, "data": person, "session": person, "account": person});
    let pairs = fields.iter().map(|field| (field, name));
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    let cookies: Vec<String> = fields.iter().map(|field| format!("{field}={name}")).collect();
    let headers = names(OWNER_HEADERS).map(|header| (header, name.to_owned())).collect();
    let path = || "/session".to_owned();
    vec![
        ("body", body, path(), Vec::new()),
        ("body", nested, path(), Vec::new()),
        ("query", json!({}), format!("/session?{query}"), Vec::new()),
        ("headers", json!({}), path(), headers),
        ("cookies", json!({}), path(), vec![("Cookie", cookies.join("; "))]),
    ]
}

async fn sessions_are_apart(check: &Check) -> Outcome {
    if check.options.logins.len() < 2 {
        return not_checked("Missing option --login, a second time: it signs in another customer.");
    }
    let customers = [check.customer(0).await?, check.customer(1).await?];
    let (Some(first), Some(second)) = (email_of(check, 0).await?, email_of(check, 1).await?) else {
        return not_checked(NO_SESSION);
    };
    let emails = [first, second];
    if emails[0] == emails[1] {
        let exchange = session_request(check, &customers[1]).await;
        return Err(exchange.fail(format!("Both customers get a session for {}.", emails[0])));
    }
    let is_own = |number: usize, exchange: &Exchange| match issued_for(check, exchange) {
        Some(email) if email != emails[number] => {
            Err(exchange.fail(format!("The customer with the e-mail {} got a session for {email}.", emails[number])))
        }
        _ => Ok(()),
    };
    for number in [0, 1, 0, 1, 1, 0] {
        is_own(number, &session_request(check, &customers[number]).await)?;
    }
    for are_held in [false, true] {
        let holding = are_held.then(|| check.service.interfere(Target::Every, Kind::Hold));
        let mark = check.service.mark();
        let requests = join_all((0..6).map(|place| session_request(check, &customers[place % 2])));
        let releasing = async {
            // A shop that answers one request at a time never has two of them held.
            let both = async || {
                let calls = check.service.calls_since(mark);
                (calls.iter().filter(|call| call.is_session()).count() >= 2).then_some(())
            };
            check.wait_for(Duration::from_secs(1), both).await;
            drop(holding);
        };
        let (exchanges, ()) = join(requests, releasing).await;
        for (place, exchange) in exchanges.iter().enumerate() {
            is_own(place % 2, exchange)?;
        }
    }
    Ok(())
}

/// The cookies without which a signed-in browser is signed out. If there is none, because one of a pair stands for the
/// other (an access and a refresh token), those that are enough to be signed in.
async fn login_cookies(check: &Check, customer: &Customer, payment: &Payment) -> Vec<(String, String)> {
    let all = customer.cookies();
    // A read needs no CSRF token, so only the login's cookie matters to it.
    let read = async |cookies| check.status(&Customer::with_cookies(cookies), payment).await;
    let (mut necessary, mut sufficient) = (Vec::new(), Vec::new());
    for cookie in &all {
        let others = all.iter().filter(|other| *other != cookie).cloned().collect();
        let exchange = read(others).await;
        if exchange.is_sign_in_required() || exchange.status() == 404 || (300..400).contains(&exchange.status()) {
            necessary.push(cookie.clone());
        } else if read(vec![cookie.clone()]).await.is_success() {
            sufficient.push(cookie.clone());
        }
    }
    if necessary.is_empty() { sufficient } else { necessary }
}

/// The shortest text of 64 random bits, in the digits of base64.
const SHORTEST: usize = 11;

async fn login_is_guarded(check: &Check) -> Outcome {
    if check.options.logins.is_empty() {
        return not_checked("Missing option --login: it signs the customer in.");
    }
    if email_of(check, 0).await?.is_none() {
        return not_checked(NO_SESSION);
    }
    let (_, payment) = check.open_payment().await?;
    let browser = Customer::default();
    check.open_page(&browser).await;
    // The answer to a stranger may set a cookie too.
    session_request(check, &browser).await;
    let before = browser.cookies();
    let signed_in = check.sign_in_again(&browser, 0).await?;
    let is_https = check.options.shop.origin.starts_with("https:");
    let logins = login_cookies(check, &browser, &payment).await;
    for (name, value) in &logins {
        let sets = signed_in.response.iter().flat_map(|response| response.headers("set-cookie"));
        // A cookie that the page has set before is set without a login too.
        let set = sets.filter(|set| set.split('=').next().is_some_and(|found| found.trim() == name)).last();
        let Some(set) = set else {
            let why = format!(
                "The cookie {name} is the same before and after the sign-in: whoever knew it is signed in too."
            );
            return Err(signed_in.fail(why));
        };
        if before.iter().any(|(_, known)| known == value) {
            return Err(signed_in.fail(format!("The sign-in keeps the value that the cookie {name} had before.")));
        }
        let attributes: Vec<String> = set.split(';').skip(1).map(|part| part.trim().to_ascii_lowercase()).collect();
        let has = |attribute: &str| attributes.iter().any(|found| found == attribute);
        let missing = match () {
            () if !has("httponly") => Some("HttpOnly: a script can read the login"),
            () if !has("samesite=lax") && !has("samesite=strict") => {
                Some("SameSite=Lax or SameSite=Strict: requests of other sites carry the login")
            }
            () if is_https && !has("secure") => Some("Secure: the login is sent by http too"),
            () => None,
        };
        if let Some(missing) = missing {
            return Err(signed_in.fail(format!("The cookie {name} of the login has no {missing}.")));
        }
        if value.len() < SHORTEST {
            return Err(signed_in.fail(format!("The cookie {name} of the login can be guessed: {value}.")));
        }
    }
    takes_no_given_login(check, &logins).await?;
    if logins.is_empty() {
        return Ok(());
    }
    is_new_each_time(check, &logins).await?;
    cannot_be_changed(check, &browser, &logins).await
}

/// The login's cookie is another one at each sign-in, and one does not tell the next.
async fn is_new_each_time(check: &Check, logins: &[(String, String)]) -> Outcome {
    let mut before = logins.to_vec();
    for is_last in [false, true] {
        let browser = Customer::default();
        check.open_page(&browser).await;
        let exchange = check.sign_in_again(&browser, 0).await?;
        let mut are_same = true;
        for (name, value) in &mut before {
            let Some(next) = browser.cookie(name) else { return Ok(()) };
            if is_near(value, &next) {
                return Err(
                    exchange.fail(format!("The cookie {name} of the login can be guessed: after {value} came {next}."))
                );
            }
            are_same &= *value == next;
            *value = next;
        }
        if !are_same {
            return Ok(());
        }
        if is_last {
            let why =
                "The cookie of the login is the same at each sign-in: whoever has seen it once is signed in for ever.";
            return Err(exchange.fail(why));
        }
        // A signed token of the same second is the same.
        check.pause(Duration::from_millis(1_100)).await;
    }
    Ok(())
}

/// A cookie in which the customer's own name stands is that of another customer once the name is another.
async fn cannot_be_changed(check: &Check, browser: &Customer, logins: &[(String, String)]) -> Outcome {
    let Ok(Some(others)) = email_of(check, 1).await else { return Ok(()) };
    let names = super::forged::names_of(check, 0).await.into_iter().zip(super::forged::names_of(check, 1).await);
    for (own, other) in names {
        for (name, value) in logins {
            for changed in with_other_name(value, &own, &other) {
                let cookies = browser.cookies().into_iter().map(|(known, kept)| {
                    let value = if known == *name { changed.clone() } else { kept };
                    (known, value)
                });
                let exchange = session_request(check, &Customer::with_cookies(cookies.collect())).await;
                if issued_for(check, &exchange).is_some_and(|email| email == others) {
                    let why = format!(
                        "The cookie {name} of the login names the customer, and with another name it is another customer's login."
                    );
                    return Err(exchange.fail(why));
                }
            }
        }
    }
    Ok(())
}

/// The value of a cookie with another name in it: as it is, in base64, or in a token of three parts (JWT), with its
/// signature and without.
fn with_other_name(value: &str, own: &str, other: &str) -> Vec<String> {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    let decode = |part: &str| {
        let part = part.trim_end_matches('=').replace('+', "-").replace('/', "_");
        URL_SAFE_NO_PAD.decode(part).ok().and_then(|bytes| String::from_utf8(bytes).ok())
    };
    let plain = percent_encoding::percent_decode_str(value).decode_utf8_lossy().into_owned();
    let encode =
        |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
    let mut found = Vec::new();
    if value.contains(own) {
        found.push(value.replace(own, other));
    }
    if plain.contains(own) {
        found.push(encode(&plain.replace(own, other)));
    }
    if let Some(text) = decode(&plain).filter(|text| text.contains(own)) {
        let text = text.replace(own, other);
        found.extend([encode(&STANDARD.encode(&text)), URL_SAFE_NO_PAD.encode(&text)]);
    }
    if let [header, payload, signature] = plain.split('.').collect::<Vec<_>>()[..]
        && let Some(text) = decode(payload).filter(|text| text.contains(own))
    {
        let payload = URL_SAFE_NO_PAD.encode(text.replace(own, other));
        let unsigned = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#);
        found.extend([format!("{header}.{payload}.{signature}"), format!("{unsigned}.{payload}.")]);
    }
    found
}

/// Whether one is counted on from the other, or both are the time.
fn is_near(one: &str, other: &str) -> bool {
    /// Of random numbers of 64 bits, one pair in four thousand millions is nearer.
    const NEAR: u128 = 1 << 31;
    [10, 16].iter().any(|radix| {
        let number = |text: &str| u128::from_str_radix(text, *radix).ok();
        matches!((number(one), number(other)), (Some(one), Some(other)) if one != other && one.abs_diff(other) < NEAR)
    })
}

/// A login that another person has put into the browser before is not the customer's afterwards.
async fn takes_no_given_login(check: &Check, logins: &[(String, String)]) -> Outcome {
    let given: Vec<(String, String)> = logins
        .iter()
        .map(|(name, value)| (name.clone(), "a1b2c3d4".repeat(8)[..value.len().min(64)].to_owned()))
        .collect();
    let browser = Customer::with_cookies(given.clone());
    check.open_page(&browser).await;
    let exchange = check.send_login(&browser, 0).await;
    if (400..500).contains(&exchange.status()) {
        // It refuses a login that it did not give.
        return Ok(());
    }
    // What the browser was given, with the other cookies of this browser.
    let others = browser.cookies().into_iter().filter(|(name, _)| !logins.iter().any(|(login, _)| login == name));
    let planted = Customer::with_cookies(given.into_iter().chain(others).collect());
    if !logins.is_empty() && issued_for(check, &session_request(check, &planted).await).is_some() {
        return Err(exchange.fail("A login that another person has put into the browser became that of the customer."));
    }
    Ok(())
}

async fn sign_out_ends_login(check: &Check) -> Outcome {
    let Some(login) = check.options.logins.first() else {
        return not_checked("Missing option --login: it signs the customer in.");
    };
    if email_of(check, 0).await?.is_none() {
        return not_checked(NO_SESSION);
    }
    let (_, payment) = check.open_payment().await?;
    let browser = check.sign_in(0).await?;
    let SignedOut { kept, by } = match sign_out(check, &browser, login).await {
        Ok(signed_out) => signed_out,
        Err(Some(exchange)) => {
            return Err(exchange.fail("The shop signed the customer out, and the same browser is still signed in."));
        }
        Err(None) => return Ok(()),
    };
    // Only the login may differ: a new CSRF token belongs to the same browser. Where guests may buy, it is a guest's
    // now.
    let bought = check.buy(&kept, &payment.order).await;
    let is_guests = check.options.guests && bought.as_ref().is_ok_and(|bought| bought.id != payment.id);
    let bought = bought.map_or_else(|exchange| exchange, |payment| payment.exchange);
    let asked = [session_request(check, &kept).await, check.status(&kept, &payment).await];
    for request in asked.into_iter().chain((!is_guests).then_some(bought)) {
        if request.is_success() {
            let why = format!("After {by} the login goes on: a copy of its cookie is still signed in.");
            return Err(request.fail(why));
        }
    }
    Ok(())
}

async fn sign_out_ends_sessions(check: &Check) -> Outcome {
    let Some(login) = check.options.logins.first() else {
        return not_checked("Missing option --login: it signs the customer in.");
    };
    let browser = check.sign_in(0).await?;
    // A tab, and then two at once.
    let first = session_request(check, &browser).await;
    let (second, third) = join(session_request(check, &browser), session_request(check, &browser)).await;
    let given = [first, second, third];
    let tokens = given.iter().filter_map(|exchange| Some(exchange.data()["session_token"].as_str()?.to_owned()));
    let tokens: BTreeSet<String> = tokens.collect();
    if tokens.is_empty() {
        return not_checked(NO_SESSION);
    }
    let by = match sign_out(check, &browser, login).await {
        Ok(SignedOut { by, .. }) => by,
        Err(Some(_)) => return not_checked("See sign_out_ends_login."),
        Err(None) => return Ok(()),
    };
    let mut accepted = 0;
    let have_ended = async || {
        accepted = 0;
        for token in &tokens {
            accepted += usize::from(check.service.accepts(token).await);
        }
        (accepted == 0).then_some(())
    };
    // The shop may answer before it has revoked them.
    if check.wait_for(check.options.limit, have_ended).await.is_some() {
        return Ok(());
    }
    let (sent, all) = (format!("POST /session three times, then {by}"), tokens.len());
    let why = "The customer signed out, and the service still accepts a session token of the login: whoever has it acts as the customer for up \
               to 30 minutes.";
    let came = format!("{accepted} of {all} tokens are valid.");
    Err(RuleError::Failed { why: why.into(), sent, came })
}

/// A browser that has signed out.
struct SignedOut {
    /// What it was before.
    kept: Customer,
    /// The request: `POST /sign-out`.
    by: String,
}

/// Signs this browser out, at the first of the usual addresses at which that succeeds. The error is the answer of an
/// address that has accepted it without effect, if there is one: otherwise the shop has no address to sign out.
async fn sign_out(check: &Check, browser: &Customer, login: &Login) -> Result<SignedOut, Option<Exchange>> {
    // Signing out may end every login of the customer.
    check.customers.borrow_mut().clear();
    let mut without_effect = None;
    for path in sign_out_paths(login) {
        for (method, content_type, body) in
            [("POST", "application/json", "{}"), ("POST", "application/x-www-form-urlencoded", ""), ("GET", "", "")]
        {
            let kept = browser.clone();
            let mut request = check.request(browser, method, &path).on_own_page();
            if !content_type.is_empty() {
                request = request.body(content_type, body.to_owned());
            }
            let exchange = request.send().await;
            if !(200..400).contains(&exchange.status()) {
                continue;
            }
            if session_request(check, browser).await.is_sign_in_required() {
                return Ok(SignedOut { kept, by: format!("{method} {path}") });
            }
            if method == "POST" && without_effect.is_none() && !answers_anything(check, browser).await {
                without_effect = Some(exchange);
            }
        }
    }
    Err(without_effect)
}

/// Whether the shop answers a POST to an address that it does not have as if it had it.
async fn answers_anything(check: &Check, browser: &Customer) -> bool {
    let origin = check.options.logins.first().map(Login::origin).unwrap_or_default();
    let request = check.request(browser, "POST", &[&origin, "/no-such-address"].concat()).on_own_page();
    (200..400).contains(&request.json(&json!({})).send().await.status())
}

/// The addresses at which shops sign out.
fn sign_out_paths(login: &Login) -> Vec<String> {
    let origin = login.origin();
    let login = login.path.split('?').next().unwrap_or_default();
    let mut paths = Vec::new();
    for (to_sign_in, to_sign_out) in [
        ("sign-in", "sign-out"),
        ("signin", "signout"),
        ("sign_in", "sign_out"),
        ("log-in", "log-out"),
        ("login", "logout"),
        ("log_in", "log_out"),
        ("connexion", "deconnexion"),
    ] {
        if login.contains(to_sign_in) {
            paths.push(login.replace(to_sign_in, to_sign_out));
        }
    }
    let usual = ["/logout", "/sign-out", "/signout", "/api/logout", "/api/sign-out", "/auth/logout", "/logout/"];
    paths.extend(usual.map(|path| [&*origin, path].concat()));
    paths.dedup();
    paths
}
