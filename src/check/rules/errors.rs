//! What the page gets when the service fails.

use crate::check::payment::Payment;
use crate::check::service::{Kind, Target};
use crate::check::shop::{Customer, Exchange};
use crate::check::{Check, Outcome, RuleError};

pub(super) async fn refusing_service(check: &Check) -> Outcome {
    let payment = check.open_payment().await?;
    let customer = check.customer(0).await?;
    for status in [503, 401] {
        let refusing = check.service.interfere(Target::Every, Kind::Refuse(status));
        let exchanges = request_both(check, &customer, &payment).await?;
        drop(refusing);
        for exchange in exchanges {
            if exchange.is_sign_in_required() {
                return Err(exchange.fail(format!(
                    "The service answered the shop with {status}, and the page was told that nobody is signed in."
                )));
            }
            must_be_error_or_true(&exchange, &payment, &format!("The service answered the shop with {status}."))?;
        }
    }
    Ok(())
}

pub(super) async fn unreadable_service(check: &Check) -> Outcome {
    let payment = check.open_payment().await?;
    let customer = check.customer(0).await?;
    let malformed = check.service.interfere(Target::Every, Kind::Malformed);
    let exchanges = request_both(check, &customer, &payment).await?;
    drop(malformed);
    exchanges
        .iter()
        .try_for_each(|exchange| must_be_error_or_true(exchange, &payment, "The service answered the shop with HTML."))
}

pub(super) async fn slow_service(check: &Check) -> Outcome {
    let payment = check.open_payment().await?;
    let customer = check.customer(0).await?;
    let holding = check.service.interfere(Target::Every, Kind::Hold);
    let exchanges = request_both(check, &customer, &payment).await?;
    drop(holding);
    exchanges
        .iter()
        .try_for_each(|exchange| must_be_error_or_true(exchange, &payment, "The service did not answer the shop."))
}

/// Sends the order, and then asks for its payment's status.
async fn request_both(check: &Check, customer: &Customer, payment: &Payment) -> Result<[Exchange; 2], RuleError> {
    let mark = check.service.mark();
    let order = check.route_request(customer, "POST", "/intents").on_own_page().json(&payment.order).send().await;
    let status = check.status(customer, payment).await;
    if check.service.mark() == mark {
        return Err(RuleError::NotChecked("The shop answered without a call to the service.".into()));
    }
    Ok([order, status])
}

/// The answer is an error in the service's shape, or true: the same payment, or a status that is not final.
fn must_be_error_or_true(exchange: &Exchange, payment: &Payment, cause: &str) -> Outcome {
    let body = exchange.json();
    let is_same_payment = body["intent"]["id"] == *payment.id;
    let is_pending = ["requires_action", "processing"].iter().any(|status| body["status"] == *status);
    if exchange.is_error_in_shape() || (exchange.is_success() && (is_same_payment || is_pending)) {
        return Ok(());
    }
    let why = match exchange.response {
        Err(_) => "The page got no answer.",
        Ok(_) if exchange.is_success() => "The page was told something else than that it is not known.",
        Ok(_) => "The page got no error in the service's shape.",
    };
    Err(exchange.fail(format!("{cause} {why}")))
}
