//! How an order becomes a payment.

use crate::outcome::{Outcome, not_checked};
use crate::shop::{CheckedShop, Payment};

pub(super) async fn order_becomes_payment(shop: &CheckedShop) -> Outcome {
    let customer = shop.customer(0).await?;
    let Some(order) = shop.any_order() else {
        return not_checked("Missing option --order or --order-pattern: an order that is not paid yet.");
    };
    match shop.buy(&customer, &order).await {
        Ok(_) => Ok(()),
        Err(exchange) if exchange.is_sign_in_required() && shop.options.logins.is_empty() => {
            not_checked("Missing option --login: without it the shop sells nothing.")
        }
        Err(exchange) if exchange.is_success() => Err(exchange.fail(
            "The answer is not that of a payment which the shop has created: {\"intent\": {id, checkout_url, \
             payment_ref, merchant_reference, status}}.",
        )),
        Err(exchange) => Err(exchange.fail("The order did not become a payment.")),
    }
}

pub(super) async fn same_order_same_payment(shop: &CheckedShop) -> Outcome {
    let (customer, payment) = shop.open_payment().await?;
    let other = |again: &Payment| {
        let [first, second] = [&payment.reference, &again.reference];
        format!("The order became two payments, {first} and {second}: the customer may pay both.")
    };
    let none = "The second time, the same order did not get its payment.";
    shop.must_get_same(&customer, &payment, other, none).await
}

pub(super) async fn same_payment_after_restart(shop: &CheckedShop) -> Outcome {
    let (_, payment) = shop.open_payment().await?;
    if same_order_same_payment(shop).await.is_err() {
        return not_checked("See same_order_same_payment.");
    }
    shop.restart().await?;
    let customer = shop.customer(0).await?;
    let other = |_: &Payment| "After the restart the order became another payment: the customer may pay both.".into();
    let none = "After the restart the order did not get its payment.";
    shop.must_get_same(&customer, &payment, other, none).await
}

pub(super) async fn return_nonce_agrees(shop: &CheckedShop) -> Outcome {
    let (customer, payment) = shop.open_payment().await?;
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
    match shop.buy(&customer, &payment.order).await {
        Ok(again) if again.reference == payment.reference && again.return_nonce != payment.return_nonce => {
            return Err(again.exchange.fail("The second time, return_nonce of the same payment is another one."));
        }
        _ => {}
    }
    Ok(())
}

/// `guichet_return` in the payment's return address.
fn nonce_of(payment: &Payment) -> Option<String> {
    let address = url::Url::parse(payment.creation.body["redirect_url"].as_str()?).ok()?;
    let mut pairs = address.query_pairs();
    pairs.find(|(name, _)| name == guichet::values::RETURN_PARAMETER).map(|(_, value)| value.into_owned())
}
