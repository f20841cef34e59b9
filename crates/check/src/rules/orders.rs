//! How an order becomes a payment.

use crate::payment::Payment;
use crate::{Check, Outcome, not_checked};
use serde_json::Value;

pub(super) async fn order_becomes_payment(check: &Check) -> Outcome {
    let customer = check.customer(0).await?;
    let Some(order) = check.orders.borrow().front().cloned() else {
        return not_checked("Missing option --order: an order of the customer that is not paid yet.");
    };
    match check.buy(&customer, &order).await {
        Ok(_) => Ok(()),
        Err(exchange) if exchange.is_sign_in_required() && check.options.logins.is_empty() => {
            not_checked("Missing option --login: without it the shop sells nothing.")
        }
        Err(exchange) if exchange.is_success() => Err(exchange.fail(
            "The answer is not that of a payment which the shop has created: {\"intent\": {id, checkout_url, payment_ref, \
             merchant_reference, status}}.",
        )),
        Err(exchange) => Err(exchange.fail("The order did not become a payment.")),
    }
}

pub(super) async fn server_decides(check: &Check) -> Outcome {
    let (customer, payment) = check.open_payment().await?;
    let Value::Object(mut forged) = payment.order.clone() else {
        return not_checked("The value of --order is no JSON object, so a page can add nothing to it.");
    };
    let forgeries = serde_json::json!({
        "amount": "1", "price": 1, "total": "1", "currency": "UGX", "email": "eve@evil.example", "customer_email": "eve@evil.example",
        "customer": {"firstname": "Eve", "lastname": "Eve", "email": "eve@evil.example"}, "phone": "237699999999",
        "merchant_reference": "FORGED", "reference": "FORGED", "description": "Forged", "redirect_url": "https://evil.example/",
        "confirmation_method": "manual", "metadata": {"forged": "yes"},
    });
    forged.extend(forgeries.as_object().cloned().unwrap_or_default());
    let mark = check.service.mark();
    let exchange =
        check.route_request(&customer, "POST", "/intents").on_own_page().json(&Value::Object(forged)).send().await;
    let original = &payment.creation.body;
    for call in check.service.calls_since(mark).iter().filter(|call| call.is_creation()) {
        for field in ["amount", "currency", "email", "phone"] {
            if call.body[field] != original[field] {
                let (forged, original) = (&call.body[field], &original[field]);
                let why = format!("The page changed {field} of the payment from {original} to {forged}.");
                return Err(exchange.fail(why));
            }
        }
        if call.body["merchant_reference"] == "FORGED" {
            return Err(exchange.fail("The page set the reference of the payment."));
        }
        if call.body["redirect_url"].as_str().is_some_and(|address| address.starts_with("https://evil.example")) {
            return Err(exchange.fail("The page set redirect_url: any page may send the customer to another site."));
        }
    }
    Ok(())
}

pub(super) async fn same_order_same_payment(check: &Check) -> Outcome {
    let (customer, payment) = check.open_payment().await?;
    match check.buy(&customer, &payment.order).await {
        Ok(again) if again.id == payment.id => Ok(()),
        Ok(again) => Err(again.exchange.fail(format!(
            "The order became two payments, {} and {}: the customer may pay both.",
            payment.reference, again.reference
        ))),
        Err(exchange) => Err(exchange.fail("The second time, the same order did not get its payment.")),
    }
}

pub(super) async fn same_payment_after_restart(check: &Check) -> Outcome {
    if check.options.restart_command.is_none() {
        return not_checked("Missing option --restart: a command that restarts the shop.");
    }
    let (_, payment) = check.open_payment().await?;
    if same_order_same_payment(check).await.is_err() {
        return not_checked("See same_order_same_payment.");
    }
    check.restart().await?;
    let customer = check.customer(0).await?;
    match check.buy(&customer, &payment.order).await {
        Ok(again) if again.id == payment.id => Ok(()),
        Ok(again) => {
            Err(again.exchange.fail("After the restart the order became another payment: the customer may pay both."))
        }
        Err(exchange) => Err(exchange.fail("After the restart the order did not get its payment.")),
    }
}

pub(super) async fn return_nonce_agrees(check: &Check) -> Outcome {
    let (customer, payment) = check.open_payment().await?;
    let exchange = &payment.exchange;
    let Some(nonce) = &payment.return_nonce else { return Err(exchange.fail("The answer has no return_nonce.")) };
    let Some(in_address) = nonce_of(&payment) else {
        let why = "The redirect_url of the payment has no guichet_return, so the page cannot match the return.";
        return Err(exchange.fail(why));
    };
    if *nonce != in_address {
        let why = format!("return_nonce is {nonce}, and guichet_return in redirect_url is {in_address}.");
        return Err(exchange.fail(why));
    }
    if nonce.len() != 22 || !nonce.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(exchange.fail("return_nonce is not 22 characters of [0-9A-Za-z]."));
    }
    match check.buy(&customer, &payment.order).await {
        Ok(again) if again.reference == payment.reference && again.return_nonce != payment.return_nonce => {
            Err(again.exchange.fail("The second time, return_nonce of the same payment is another one."))
        }
        _ => Ok(()),
    }
}

/// `guichet_return` in the payment's return address.
fn nonce_of(payment: &Payment) -> Option<String> {
    let address = url::Url::parse(payment.creation.body["redirect_url"].as_str()?).ok()?;
    let mut pairs = address.query_pairs();
    pairs.find(|(name, _)| name == guichet::values::RETURN_PARAMETER).map(|(_, value)| value.into_owned())
}

pub(super) async fn other_customer_sees_nothing(check: &Check) -> Outcome {
    let other = check.customer(1).await?;
    let (owner, payment) = check.open_payment().await?;
    let unknown = check.route_request(&owner, "GET", "/intents/gch_unknown").on_own_page().send().await;
    if unknown.status() != 404 {
        return Err(unknown.fail("An unknown payment was not answered with 404."));
    }
    let exchange = check.status(&other, &payment).await;
    if exchange.status() != 404 {
        return Err(exchange.fail("Another customer asked for the payment, and was not answered with 404."));
    }
    match check.buy(&other, &payment.order).await {
        Ok(bought) if bought.id == payment.id => {
            Err(bought.exchange.fail("Another customer sent the order, and got the payment of its owner."))
        }
        _ => Ok(()),
    }
}
