//! What signing out ends.

use crate::foreign_names::{Meaning, names};
use crate::options::Login;
use crate::outcome::{Outcome, RuleError, not_checked};
use crate::shop::{CheckedShop, Customer, Exchange, NO_SESSION};
use futures_util::future::join;
use serde_json::json;
use std::collections::BTreeSet;

pub(super) async fn sign_out_ends_login(shop: &CheckedShop) -> Outcome {
    let login = &shop.options.logins[0];
    if shop.email_of(0).await?.is_none() {
        return not_checked(NO_SESSION);
    }
    let (_, payment) = shop.open_payment().await?;
    let browser = shop.sign_in(0).await?;
    let SignedOut { kept, by } = match sign_out(shop, &browser, login).await {
        Ok(signed_out) => signed_out,
        Err(Some(exchange)) => {
            return Err(exchange.fail("The shop signed the customer out, and the same browser is still signed in."));
        }
        Err(None) => return Ok(()),
    };
    // Only the login may differ: a new CSRF token belongs to the same browser. Where guests may buy, it is a guest's
    // now.
    let bought = shop.buy(&kept, &payment.order).await;
    let is_guests = shop.options.guests && bought.as_ref().is_ok_and(|bought| bought.id != payment.id);
    let bought = bought.map_or_else(|exchange| exchange, |payment| payment.exchange);
    let asked = [shop.request_session(&kept).await, shop.status(&kept, &payment).await];
    for request in asked.into_iter().chain((!is_guests).then_some(bought)) {
        if request.is_success() {
            let why = format!("After {by} the login goes on: a copy of its cookie is still signed in.");
            return Err(request.fail(why));
        }
    }
    Ok(())
}

pub(super) async fn sign_out_ends_sessions(shop: &CheckedShop) -> Outcome {
    let login = &shop.options.logins[0];
    let browser = shop.sign_in(0).await?;
    // A tab, and then two at once.
    let first = shop.request_session(&browser).await;
    let (second, third) = join(shop.request_session(&browser), shop.request_session(&browser)).await;
    let given = [first, second, third];
    let tokens = given.iter().filter_map(|exchange| Some(exchange.data()["session_token"].as_str()?.to_owned()));
    let tokens: BTreeSet<String> = tokens.collect();
    if tokens.is_empty() {
        return not_checked(NO_SESSION);
    }
    let by = match sign_out(shop, &browser, login).await {
        Ok(SignedOut { by, .. }) => by,
        Err(Some(_)) => return not_checked("See sign_out_ends_login."),
        Err(None) => return Ok(()),
    };
    let mut accepted = 0;
    let have_ended = async || {
        accepted = 0;
        for token in &tokens {
            accepted += usize::from(shop.service.accepts(token).await);
        }
        (accepted == 0).then_some(())
    };
    // The shop may answer before it has revoked them.
    if shop.wait_for(shop.options.limit, have_ended).await.is_some() {
        return Ok(());
    }
    let (sent, all) = (format!("POST /session three times, then {by}"), tokens.len());
    let why = "The customer signed out, and the service still accepts a session token of the login: whoever has it \
               acts as the customer for up to 30 minutes.";
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
async fn sign_out(shop: &CheckedShop, browser: &Customer, login: &Login) -> Result<SignedOut, Option<Exchange>> {
    // Signing out may end every login of the customer.
    shop.customers.borrow_mut().clear();
    let mut without_effect = None;
    for path in sign_out_paths(login) {
        for (method, content_type, body) in
            [("POST", "application/json", "{}"), ("POST", "application/x-www-form-urlencoded", ""), ("GET", "", "")]
        {
            let kept = browser.clone();
            let mut request = shop.request(browser, method, &path).on_own_page();
            if !content_type.is_empty() {
                request = request.body(content_type, body.to_owned());
            }
            let exchange = request.send().await;
            if !(200..400).contains(&exchange.status()) {
                continue;
            }
            if shop.request_session(browser).await.is_sign_in_required() {
                return Ok(SignedOut { kept, by: format!("{method} {path}") });
            }
            if method == "POST" && without_effect.is_none() && !answers_anything(shop, browser).await {
                without_effect = Some(exchange);
            }
        }
    }
    Err(without_effect)
}

/// Whether the shop answers a POST to an address that it does not have as if it had it.
async fn answers_anything(shop: &CheckedShop, browser: &Customer) -> bool {
    let origin = shop.options.logins.first().map(Login::origin).unwrap_or_default();
    let request = shop.request(browser, "POST", &[&origin, "/no-such-address"].concat()).on_own_page();
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
    paths.extend(names(Meaning::SignOutPath).map(|path| [&*origin, path].concat()));
    paths.dedup();
    paths
}
