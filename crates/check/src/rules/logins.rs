//! The cookie of the login.

use crate::outcome::{Outcome, not_checked};
use crate::shop::{CheckedShop, Customer, NO_SESSION, Payment};
use std::time::Duration;

/// The cookies without which a signed-in browser is signed out. If there is none, because one of a pair stands for the
/// other (an access and a refresh token), those that are enough to be signed in.
async fn login_cookies(shop: &CheckedShop, customer: &Customer, payment: &Payment) -> Vec<(String, String)> {
    let all = customer.cookies();
    // A read needs no CSRF token, so only the login's cookie matters to it.
    let read = async |cookies| shop.status(&Customer::with_cookies(cookies), payment).await;
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

pub(super) async fn login_is_guarded(shop: &CheckedShop) -> Outcome {
    if shop.email_of(0).await?.is_none() {
        return not_checked(NO_SESSION);
    }
    let (_, payment) = shop.open_payment().await?;
    let browser = shop.visitor().await;
    // The answer to a stranger may set a cookie too.
    shop.request_session(&browser).await;
    let before = browser.cookies();
    let signed_in = shop.sign_in_again(&browser, 0).await?;
    let is_https = shop.options.shop.origin.starts_with("https:");
    let logins = login_cookies(shop, &browser, &payment).await;
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
    takes_no_given_login(shop, &logins).await?;
    if logins.is_empty() {
        return Ok(());
    }
    is_new_each_time(shop, &logins).await?;
    cannot_be_changed(shop, &browser, &logins).await
}

/// The login's cookie is another one at each sign-in, and one does not tell the next.
async fn is_new_each_time(shop: &CheckedShop, logins: &[(String, String)]) -> Outcome {
    let mut before = logins.to_vec();
    for is_last in [false, true] {
        let browser = shop.visitor().await;
        let exchange = shop.sign_in_again(&browser, 0).await?;
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
        shop.pause(Duration::from_millis(1_100)).await;
    }
    Ok(())
}

/// A cookie in which the customer's own name stands is that of another customer once the name is another.
async fn cannot_be_changed(shop: &CheckedShop, browser: &Customer, logins: &[(String, String)]) -> Outcome {
    let Ok(Some(others)) = shop.email_of(1).await else { return Ok(()) };
    let names = shop.names_of(0).await.into_iter().zip(shop.names_of(1).await);
    for (own, other) in names {
        for (name, value) in logins {
            for changed in with_other_name(value, &own, &other) {
                let cookies = browser.cookies().into_iter().map(|(known, kept)| {
                    let value = if known == *name { changed.clone() } else { kept };
                    (known, value)
                });
                let exchange = shop.request_session(&Customer::with_cookies(cookies.collect())).await;
                if shop.issued_for(&exchange).is_some_and(|email| email == others) {
                    return Err(exchange.fail(format!(
                        "The cookie {name} of the login names the customer, and with another name it is another \
                         customer's login."
                    )));
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
async fn takes_no_given_login(shop: &CheckedShop, logins: &[(String, String)]) -> Outcome {
    let given: Vec<(String, String)> = logins
        .iter()
        .map(|(name, value)| (name.clone(), "a1b2c3d4".repeat(8)[..value.len().min(64)].to_owned()))
        .collect();
    let browser = Customer::with_cookies(given.clone());
    shop.open_page(&browser).await;
    let exchange = shop.send_login(&browser, 0).await;
    if (400..500).contains(&exchange.status()) {
        // It refuses a login that it did not give.
        return Ok(());
    }
    // What the browser was given, with the other cookies of this browser.
    let others = browser.cookies().into_iter().filter(|(name, _)| !logins.iter().any(|(login, _)| login == name));
    let planted = Customer::with_cookies(given.into_iter().chain(others).collect());
    if !logins.is_empty() && shop.issued_for(&shop.request_session(&planted).await).is_some() {
        return Err(exchange.fail("A login that another person has put into the browser became that of the customer."));
    }
    Ok(())
}
