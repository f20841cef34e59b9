//! Whose session it is.

use crate::foreign_names::{Claim, claims};
use crate::outcome::{Outcome, not_checked};
use crate::service::{Call, Kind, Target};
use crate::shop::{CheckedShop, Customer, Exchange, NO_SESSION, email_in};
use futures_util::future::{join, join_all};
use serde_json::json;
use std::time::Duration;

pub(super) async fn session_needs_login(shop: &CheckedShop) -> Outcome {
    let (mark, visitor) = (shop.service.mark(), shop.visitor().await);
    let exchange = shop.request_session(&visitor).await;
    if !exchange.is_sign_in_required() {
        return Err(exchange.fail("A stranger, who is not signed in, was not answered with 401."));
    }
    if shop.service.calls_since(mark).iter().any(Call::is_session) {
        return Err(exchange.fail("The shop created a session for a stranger."));
    }
    for name in shop.names_of(0).await {
        for claim in claims(&name) {
            let exchange = request_as(shop, &visitor, &claim).await;
            if shop.issued_for(&exchange).is_some() {
                let why = format!("A stranger named a customer in the {}, and got a session.", claim.place);
                return Err(exchange.fail(why));
            }
        }
    }
    let customer = shop.customer(0).await?;
    let exchange = shop.request_session(&customer).await;
    if exchange.is_sign_in_required() && shop.options.logins.is_empty() {
        return not_checked("Missing option --login: a stranger gets no session, and nobody is signed in.");
    }
    if exchange.json()["error"]["code"] == "email_not_verified" {
        return not_checked("The customer of --login has no e-mail that the shop has verified, and gets no session.");
    }
    let (session, is_issued) = (exchange.data(), shop.issued_for(&exchange).is_some());
    if !exchange.is_success() || !is_issued || !session["expires_at"].is_string() {
        let why = "A customer who is signed in did not get the service's session_token and expires_at.";
        return Err(exchange.fail(why));
    }
    Ok(())
}

pub(super) async fn session_is_of_login(shop: &CheckedShop) -> Outcome {
    let customer = shop.customer(0).await?;
    let Some(own) = shop.email_of(0).await? else { return not_checked(NO_SESSION) };
    let mut foreign = vec!["forged@evil.example".to_owned()];
    if shop.options.logins.len() > 1 {
        foreign.extend(shop.email_of(1).await?);
        foreign.extend(shop.names_of(1).await);
    }
    foreign.retain(|name| !name.eq_ignore_ascii_case(&own));
    foreign.dedup();
    for name in &foreign {
        for claim in claims(name) {
            let mark = shop.service.mark();
            let exchange = request_as(shop, &customer, &claim).await;
            let created = shop.service.calls_since(mark);
            let others = created.iter().filter(|call| call.is_session()).map(email_in).find(|email| *email != own);
            let issued = shop.issued_for(&exchange).filter(|email| *email != own);
            if let Some(email) = others.or(issued) {
                return Err(exchange.fail(format!(
                    "The page named another customer in the {}, and the shop created a session for {email}.",
                    claim.place
                )));
            }
        }
    }
    foreign_session_is_kept_back(shop, &customer).await
}

/// A session acts for the e-mail in the service's reply.
async fn foreign_session_is_kept_back(shop: &CheckedShop, customer: &Customer) -> Outcome {
    let mark = shop.service.mark();
    let fields = Kind::Fields(json!({"customer_email": "somebody.else@evil.example"}));
    let lying = shop.service.interfere(Target::Sessions, fields);
    let exchange = shop.request_session(customer).await;
    drop(lying);
    let token = exchange.data()["session_token"].take();
    // A shop may answer with a session that it has kept.
    let is_foreign = shop.service.calls_since(mark).iter().any(|call| call.reply["data"]["session_token"] == token);
    if token.is_string() && is_foreign {
        let why =
            "The service's reply had another customer_email than the shop had sent, and the page got its session.";
        return Err(exchange.fail(why));
    }
    Ok(())
}

/// A request for a session that says to be of somebody.
async fn request_as(shop: &CheckedShop, browser: &Customer, claim: &Claim) -> Exchange {
    let request = shop.route_request(browser, "POST", &format!("/session{}", claim.query)).on_own_page();
    let request = claim.headers.iter().fold(request, |request, (name, value)| request.header(name, value));
    request.json(&claim.body).send().await
}

pub(super) async fn sessions_are_apart(shop: &CheckedShop) -> Outcome {
    let customers = [shop.customer(0).await?, shop.customer(1).await?];
    let (Some(first), Some(second)) = (shop.email_of(0).await?, shop.email_of(1).await?) else {
        return not_checked(NO_SESSION);
    };
    let emails = [first, second];
    if emails[0] == emails[1] {
        let exchange = shop.request_session(&customers[1]).await;
        return Err(exchange.fail(format!("Both customers get a session for {}.", emails[0])));
    }
    let is_own = |number: usize, exchange: &Exchange| match shop.issued_for(exchange) {
        Some(email) if email != emails[number] => {
            Err(exchange.fail(format!("The customer with the e-mail {} got a session for {email}.", emails[number])))
        }
        _ => Ok(()),
    };
    for number in [0, 1, 0, 1, 1, 0] {
        is_own(number, &shop.request_session(&customers[number]).await)?;
    }
    for are_held in [false, true] {
        let holding = are_held.then(|| shop.service.interfere(Target::Every, Kind::Hold));
        let mark = shop.service.mark();
        let requests = join_all((0..6).map(|place| shop.request_session(&customers[place % 2])));
        let releasing = async {
            // A shop that answers one request at a time never has two of them held.
            let both = async || (shop.service.count_since(mark, Call::is_session) >= 2).then_some(());
            shop.wait_for(Duration::from_secs(1), both).await;
            drop(holding);
        };
        let (exchanges, ()) = join(requests, releasing).await;
        for (place, exchange) in exchanges.iter().enumerate() {
            is_own(place % 2, exchange)?;
        }
    }
    Ok(())
}
