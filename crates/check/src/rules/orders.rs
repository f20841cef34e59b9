//! How an order becomes a payment.

use super::{RESTART, Rule};
use crate::payment::Payment;
use crate::{Check, Outcome, not_checked};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "order_becomes_payment",
        title: "An order becomes a payment with all that the page needs",
        needs: &[],
        guide: "post-guichetintents",
        fix: "Answer POST /intents with {\"intent\": {id, checkout_url, payment_ref, merchant_reference, status}, \"return_nonce\"}, \
              from the reply to the create call.",
        run: |check| Box::pin(order_becomes_payment(check)),
    },
    Rule {
        id: "same_order_same_payment",
        title: "The same order twice is one payment",
        needs: &[],
        guide: "post-guichetintents",
        fix: "Send the same merchant_reference and the same body each time for one order: no time, no random text in it.",
        run: |check| Box::pin(same_order_same_payment(check)),
    },
    Rule {
        id: "same_payment_after_restart",
        title: "The same order is the same payment after a restart",
        needs: &[RESTART],
        guide: "what-to-store",
        fix: "Derive merchant_reference and return_nonce from stored data and a key that outlives the process.",
        run: |check| Box::pin(same_payment_after_restart(check)),
    },
    Rule {
        id: "return_nonce_agrees",
        title: "return_nonce is the guichet_return of redirect_url, and the same each time",
        needs: &[],
        guide: "guichet_return-how-the-page-recognizes-its-own-return",
        fix: "Derive 22 characters of [0-9A-Za-z] from the reference (an HMAC). Append guichet_return=<nonce> to redirect_url, and \
              answer the same text as return_nonce. Otherwise a popup never closes.",
        run: |check| Box::pin(return_nonce_agrees(check)),
    },
    Rule {
        id: "return_nonce_cannot_be_guessed",
        title: "return_nonce is no hash of what others know, no number that is counted on, and no padded text",
        needs: &[],
        guide: "guichet_return-how-the-page-recognizes-its-own-return",
        fix: "Store 22 random hexadecimal digits with the payment, or take them from an HMAC of the reference under a key that only the server has.",
        run: |check| Box::pin(super::nonces::return_nonce_cannot_be_guessed(check)),
    },
];

async fn order_becomes_payment(check: &Check) -> Outcome {
    let customer = check.customer(0).await?;
    let order = check.orders.borrow().front().cloned();
    let Some(order) = order.or_else(|| check.fresh_order()) else {
        return not_checked("Missing option --order or --order-pattern: an order that is not paid yet.");
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

async fn same_order_same_payment(check: &Check) -> Outcome {
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

async fn same_payment_after_restart(check: &Check) -> Outcome {
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

async fn return_nonce_agrees(check: &Check) -> Outcome {
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
