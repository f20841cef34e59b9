//! Who may see a payment: strangers, guests and other customers.

use crate::foreign_names::{Claim, Meaning, claims, names};
use crate::outcome::{Outcome, not_checked};
use crate::shop::{CheckedShop, Customer, Exchange, Payment};
use serde_json::Value;
use std::collections::BTreeSet;

/// What an answer or an address has shown of a payment, and what may stand for it in an address.
fn identifiers(payment: &Payment) -> Vec<String> {
    let mut found = vec![payment.payment_ref.clone(), payment.id.clone(), payment.reference.clone()];
    let texts =
        |value: &Value| value.as_str().map(str::to_owned).or_else(|| value.is_number().then(|| value.to_string()));
    match &payment.order {
        Value::Object(order) => found.extend(order.values().filter_map(texts)),
        order => found.extend(texts(order)),
    }
    found.extend(payment.return_nonce.clone());
    let mut known = BTreeSet::new();
    found.retain(|text| !text.is_empty() && known.insert(text.clone()));
    found
}

/// The shop's answers to requests for a payment by each of its identifiers.
async fn reads(shop: &CheckedShop, visitor: &Customer, payment: &Payment) -> Vec<Exchange> {
    let mut exchanges = Vec::new();
    for identifier in identifiers(payment) {
        let segment = percent_encoding::utf8_percent_encode(&identifier, percent_encoding::NON_ALPHANUMERIC);
        // Shops use underscores and hyphens as they are.
        let segment = segment.to_string().replace("%5F", "_").replace("%2D", "-").replace("%2E", ".");
        exchanges.push(shop.request_status(visitor, &segment).await);
    }
    exchanges
}

/// No list shows this payment to somebody else.
async fn must_not_list(shop: &CheckedShop, visitor: &Customer, payment: &Payment) -> Outcome {
    let own = format!("{}/intents", shop.options.shop.routes);
    for path in names(Meaning::ListPath).map(str::to_owned).chain([own]) {
        let exchange = shop.request(visitor, "GET", &path).on_own_page().send().await;
        let text = exchange.text();
        if text.contains(&payment.id) || text.contains(&payment.payment_ref) {
            return Err(exchange.fail("The payment of a customer was listed for somebody else."));
        }
    }
    Ok(())
}

/// Whether an answer shows a payment: its status, or an identifier that was not in the address.
fn shows(exchange: &Exchange, payment: &Payment) -> bool {
    let body = exchange.json();
    let is_of_payment =
        body["status"].is_string() || body["intent"]["id"] == *payment.id || body["data"]["status"].is_string();
    // A short reference may stand in any text.
    let names = [&payment.id, &payment.payment_ref, &payment.reference].into_iter().filter(|name| name.len() >= 8);
    let is_shown = |name: &String| exchange.text().contains(name.as_str()) && !exchange.sent.contains(name.as_str());
    (exchange.is_success() && is_of_payment) || names.into_iter().any(is_shown)
}

pub(super) async fn stranger_gets_nothing(shop: &CheckedShop) -> Outcome {
    if shop.options.logins.is_empty() && !shop.options.guests {
        return not_checked("Missing option --login: nobody is signed in, so nobody is a stranger.");
    }
    let (_, payment) = shop.open_payment().await?;
    let visitor = shop.visitor().await;
    must_not_list(shop, &visitor, &payment).await?;
    let mut exchanges = reads(shop, &visitor, &payment).await;
    // The first is that of the payment_ref. The others are no identifiers of this route, which may not know their form.
    let others = 1..exchanges.len();
    for order in [Some(payment.order.clone()), shop.fresh_order()].into_iter().flatten() {
        let is_new = order != payment.order;
        let mark = shop.service.mark();
        let exchange = shop.send_order(&visitor, &order).await;
        // The known order may be repeated by the shop's timer at the same time.
        if is_new && !shop.options.guests && !shop.service.creations_since(mark).is_empty() {
            let why = "A stranger, who is not signed in, sent an order, and the shop created a payment.";
            return Err(exchange.fail(format!("{why} {IF_GUESTS}")));
        }
        if !is_new || !shop.options.guests {
            exchanges.push(exchange);
        }
    }
    names_no_other_owner(shop, &visitor, &payment).await?;
    for (place, exchange) in exchanges.into_iter().enumerate() {
        if shows(&exchange, &payment) {
            return Err(exchange.fail("A stranger, who is not signed in, was shown a payment."));
        }
        let may_be_unknown = shop.options.guests || others.contains(&place);
        let is_unknown = may_be_unknown && (400..500).contains(&exchange.status());
        let is_guests_own = shop.options.guests && exchange.is_success();
        if !exchange.is_sign_in_required() && !is_unknown && !is_guests_own {
            return Err(exchange.fail(format!("A stranger was not answered with 401. {IF_GUESTS}")));
        }
    }
    if shop.options.guests { guests_are_apart(shop).await } else { Ok(()) }
}

const IF_GUESTS: &str = "If the shop sells to customers without a login, add --guests.";

/// What one guest has ordered, another guest does not see.
async fn guests_are_apart(shop: &CheckedShop) -> Outcome {
    let guest = shop.visitor().await;
    let order = match shop.fresh_order() {
        Some(order) => order,
        None => shop.open_payment().await?.1.order,
    };
    let payment = match shop.buy(&guest, &order).await {
        Ok(payment) => payment,
        Err(exchange) => return not_checked(shop.no_payment(&exchange)),
    };
    let other = shop.visitor().await;
    for exchange in reads(shop, &other, &payment).await {
        if shows(&exchange, &payment) {
            return Err(exchange.fail("A guest was shown the payment of another guest."));
        }
    }
    match shop.buy(&other, &order).await {
        Ok(bought) if bought.id == payment.id => {
            Err(bought.exchange.fail("A guest sent the order of another guest, and got its payment."))
        }
        _ => Ok(()),
    }
}

pub(super) async fn other_customer_sees_nothing(shop: &CheckedShop) -> Outcome {
    let other = shop.customer(1).await?;
    let (owner, payment) = shop.open_payment().await?;
    let unknown = shop.request_status(&owner, "gch_unknown").await;
    if unknown.status() != 404 {
        return Err(unknown.fail("An unknown payment was not answered with 404."));
    }
    let marker = shop.service.mark();
    for (number, exchange) in reads(shop, &other, &payment).await.into_iter().enumerate() {
        // The first is that of the payment_ref. The others are no identifiers of this route.
        let is_unknown = exchange.status() == 404 || (number > 0 && (400..500).contains(&exchange.status()));
        if !is_unknown || shows(&exchange, &payment) {
            return Err(exchange.fail("Another customer asked for the payment, and was not answered with 404."));
        }
    }
    must_not_list(shop, &other, &payment).await?;
    names_no_other_owner(shop, &other, &payment).await?;
    match shop.buy(&other, &payment.order).await {
        Ok(bought) if bought.id == payment.id => {
            return Err(bought.exchange.fail("Another customer sent the order, and got the payment of its owner."));
        }
        Ok(_) => {}
        Err(exchange) if shows(&exchange, &payment) => {
            return Err(exchange.fail("Another customer sent the order, and was shown the payment of its owner."));
        }
        Err(exchange) => {
            let calls = shop.service.calls_since(marker);
            let resent = calls.iter().any(|call| {
                call.is_creation()
                    && call.body["merchant_reference"] == *payment.reference
                    && call.body != payment.creation.body
            });
            if resent {
                let why =
                    "Another customer sent the order, and the shop asked for its payment again with other fields.";
                return Err(exchange.fail(why));
            }
        }
    }
    Ok(())
}

/// A stranger or the other customer says in the query, in headers and in cookies to be the owner.
async fn names_no_other_owner(shop: &CheckedShop, other: &Customer, payment: &Payment) -> Outcome {
    for name in shop.names_of(0).await {
        // A GET has no body.
        for Claim { query, headers, .. } in claims(&name).into_iter().filter(|claim| claim.place != "body") {
            let path = format!("/intents/{}{query}", payment.payment_ref);
            let request = shop.route_request(other, "GET", &path).on_own_page();
            let request = headers.iter().fold(request, |request, (name, value)| request.header(name, value));
            let exchange = request.send().await;
            if exchange.is_success() {
                return Err(exchange.fail("Somebody else said to be the owner of the payment, and was shown it."));
            }
        }
    }
    Ok(())
}
