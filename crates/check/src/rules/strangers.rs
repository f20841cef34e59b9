//! Who may see a payment: strangers, guests and other customers.

use super::forged::{OWNER_HEADERS, OWNERS, names};
use super::{LOGIN, Rule, TWO_LOGINS};
use crate::payment::Payment;
use crate::shop::{Customer, Exchange};
use crate::{Check, Outcome, RuleError, not_checked};
use serde_json::Value;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "stranger_gets_nothing",
        title: "Without a login nobody orders or reads a payment; where guests may buy (--guests), none but their own",
        needs: &[LOGIN],
        guide: "whose-payment-it-is",
        fix: "Answer 401 on all three routes if nobody is signed in. If guests may buy, a payment belongs to the login of the guest.",
        run: |check| Box::pin(stranger_gets_nothing(check)),
    },
    Rule {
        id: "other_customer_sees_nothing",
        title: "Another customer's payment is answered like an unknown one: 404",
        needs: &[TWO_LOGINS],
        guide: "get-guichetintentspayment_ref",
        fix: "Look up a payment by its reference and the signed-in customer together, and answer 404 if there is none.",
        run: |check| Box::pin(other_customer_sees_nothing(check)),
    },
];

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
    let mut known = Vec::new();
    found.retain(|text| {
        !text.is_empty() && !known.contains(text) && {
            known.push(text.clone());
            true
        }
    });
    found
}

/// The shop's answers to requests for a payment by each of its identifiers.
async fn reads(check: &Check, visitor: &Customer, payment: &Payment) -> Vec<Exchange> {
    let mut exchanges = Vec::new();
    for identifier in identifiers(payment) {
        let segment = percent_encoding::utf8_percent_encode(&identifier, percent_encoding::NON_ALPHANUMERIC);
        // Shops use underscores and hyphens as they are.
        let path = format!("/intents/{segment}").replace("%5F", "_").replace("%2D", "-").replace("%2E", ".");
        exchanges.push(check.route_request(visitor, "GET", &path).on_own_page().send().await);
    }
    exchanges
}

/// Where shops list orders and payments. A shop may do so, without those of others.
const LISTS: [&str; 8] =
    ["/orders", "/payments", "/api/orders", "/api/payments", "/admin", "/admin/orders", "/admin/payments", "/shop"];

/// No list shows this payment to somebody else.
async fn must_not_list(check: &Check, visitor: &Customer, payment: &Payment) -> Outcome {
    let own = format!("{}/intents", check.options.shop.routes);
    for path in LISTS.into_iter().chain([own.as_str()]) {
        let exchange = check.request(visitor, "GET", path).on_own_page().send().await;
        let text = exchange.response.as_ref().map(|response| response.body.as_str()).unwrap_or_default();
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
    let text = exchange.response.as_ref().map(|response| response.body.clone()).unwrap_or_default();
    // A short reference may stand in any text.
    let names = [&payment.id, &payment.payment_ref, &payment.reference].into_iter().filter(|name| name.len() >= 8);
    let is_shown = |name: &String| text.contains(name.as_str()) && !exchange.sent.contains(name.as_str());
    (exchange.is_success() && is_of_payment) || names.into_iter().any(is_shown)
}

async fn stranger_gets_nothing(check: &Check) -> Outcome {
    if check.options.logins.is_empty() && !check.options.guests {
        return not_checked("Missing option --login: nobody is signed in, so nobody is a stranger.");
    }
    let (_, payment) = check.open_payment().await?;
    let visitor = Customer::default();
    check.open_page(&visitor).await;
    must_not_list(check, &visitor, &payment).await?;
    let mut exchanges = reads(check, &visitor, &payment).await;
    // The first is that of the payment_ref. The others are no identifiers of this route, which may not know their form.
    let others = 1..exchanges.len();
    for order in [Some(payment.order.clone()), check.fresh_order()].into_iter().flatten() {
        let is_new = order != payment.order;
        let mark = check.service.mark();
        let exchange = check.route_request(&visitor, "POST", "/intents").on_own_page().json(&order).send().await;
        // The known order may be repeated by the shop's timer at the same time.
        if is_new && !check.options.guests && !check.service.creations_since(mark).is_empty() {
            return Err(exchange.fail(WITHOUT_LOGIN_CREATED));
        }
        if !is_new || !check.options.guests {
            exchanges.push(exchange);
        }
    }
    names_no_other_owner(check, &visitor, &payment).await?;
    for (place, exchange) in exchanges.into_iter().enumerate() {
        if shows(&exchange, &payment) {
            return Err(exchange.fail("A stranger, who is not signed in, was shown a payment."));
        }
        let may_be_unknown = check.options.guests || others.contains(&place);
        let is_unknown = may_be_unknown && (400..500).contains(&exchange.status());
        let is_guests_own = check.options.guests && exchange.is_success();
        if !exchange.is_sign_in_required() && !is_unknown && !is_guests_own {
            return Err(exchange.fail(format!("A stranger was not answered with 401. {IF_GUESTS}")));
        }
    }
    if check.options.guests { guests_are_apart(check).await } else { Ok(()) }
}

const IF_GUESTS: &str = "If the shop sells to customers without a login, add --guests.";
const WITHOUT_LOGIN_CREATED: &str = "A stranger, who is not signed in, sent an order, and the shop created a payment. \
                                     If the shop sells to customers without a login, add --guests.";

/// What one guest has ordered, another guest does not see.
async fn guests_are_apart(check: &Check) -> Outcome {
    let guest = Customer::default();
    check.open_page(&guest).await;
    let order = match check.fresh_order() {
        Some(order) => order,
        None => check.open_payment().await?.1.order,
    };
    let payment = match check.buy(&guest, &order).await {
        Ok(payment) => payment,
        Err(exchange) => return not_checked(check.no_payment(&exchange)),
    };
    let other = Customer::default();
    check.open_page(&other).await;
    for exchange in reads(check, &other, &payment).await {
        if shows(&exchange, &payment) {
            return Err(exchange.fail("A guest was shown the payment of another guest."));
        }
    }
    match check.buy(&other, &order).await {
        Ok(bought) if bought.id == payment.id => {
            Err(bought.exchange.fail("A guest sent the order of another guest, and got its payment."))
        }
        _ => Ok(()),
    }
}

async fn other_customer_sees_nothing(check: &Check) -> Outcome {
    let other = check.customer(1).await?;
    let (owner, payment) = check.open_payment().await?;
    let unknown = check.route_request(&owner, "GET", "/intents/gch_unknown").on_own_page().send().await;
    if unknown.status() != 404 {
        return Err(unknown.fail("An unknown payment was not answered with 404."));
    }
    let marker = check.service.mark();
    for (number, exchange) in reads(check, &other, &payment).await.into_iter().enumerate() {
        // The first is that of the payment_ref. The others are no identifiers of this route.
        let is_unknown = exchange.status() == 404 || (number > 0 && (400..500).contains(&exchange.status()));
        if !is_unknown || shows(&exchange, &payment) {
            return Err(exchange.fail("Another customer asked for the payment, and was not answered with 404."));
        }
    }
    must_not_list(check, &other, &payment).await?;
    names_no_other_owner(check, &other, &payment).await?;
    match check.buy(&other, &payment.order).await {
        Ok(bought) if bought.id == payment.id => {
            return Err(bought.exchange.fail("Another customer sent the order, and got the payment of its owner."));
        }
        Ok(_) => {}
        Err(exchange) if shows(&exchange, &payment) => {
            return Err(exchange.fail("Another customer sent the order, and was shown the payment of its owner."));
        }
        Err(exchange) => {
            let calls = check.service.calls_since(marker);
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
async fn names_no_other_owner(check: &Check, other: &Customer, payment: &Payment) -> Result<(), RuleError> {
    let owner = super::forged::names_of(check, 0).await;
    for name in owner {
        let pairs = names(OWNERS).chain(["email"]).map(|field| (field, &name));
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs.clone()).finish();
        let path = format!("/intents/{}", payment.payment_ref);
        let by_query = check.route_request(other, "GET", &format!("{path}?{query}")).on_own_page();
        let mut by_header = check.route_request(other, "GET", &path).on_own_page();
        for header in names(OWNER_HEADERS) {
            by_header = by_header.header(header, &name);
        }
        let cookies: Vec<String> = pairs.map(|(field, name)| format!("{field}={name}")).collect();
        let by_cookie = check.route_request(other, "GET", &path).on_own_page().header("Cookie", &cookies.join("; "));
        for request in [by_query, by_header, by_cookie] {
            let exchange = request.send().await;
            if exchange.is_success() {
                return Err(exchange.fail("Somebody else said to be the owner of the payment, and was shown it."));
            }
        }
    }
    Ok(())
}
