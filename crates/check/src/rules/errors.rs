//! What the page gets when the service fails.

use super::sessions::session_request;
use crate::payment::Payment;
use crate::service::{Kind, Target};
use crate::shop::Exchange;
use crate::{Check, Outcome, RuleError, not_checked};
use futures_util::future::join;

pub(super) async fn refusing_service(check: &Check) -> Outcome {
    let (_, payment) = check.open_payment().await?;
    for status in [503, 401] {
        for exchange in exchanges_during(check, &payment, Kind::Refuse(status)).await? {
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
    failing_service(check, Kind::Malformed, "The service answered the shop with HTML.").await
}

pub(super) async fn slow_service(check: &Check) -> Outcome {
    failing_service(check, Kind::Hold, "The service did not answer the shop.").await
}

/// The service answers each call with a redirect to another origin of its own, where a call with the key must not
/// arrive.
pub(super) async fn redirect_is_not_followed(check: &Check) -> Outcome {
    let (customer, payment) = check.open_payment().await?;
    let Some(origin) = check.service.other_origin() else {
        return not_checked(
            "The shop does not call the service at 127.0.0.1 or localhost, so the service has no other origin to redirect to.",
        );
    };
    // The shop has sent nothing for it yet.
    let order = check.fresh_order().unwrap_or_else(|| payment.order.clone());
    let mark = check.service.mark();
    let mut outcome = Ok(());
    for status in [302, 307, 308] {
        let redirecting = check.service.interfere(Target::Every, Kind::Redirect(status, origin.clone()));
        session_request(check, &customer).await;
        drop(check.buy(&customer, &order).await);
        check.status(&customer, &payment).await;
        drop(redirecting);
        // A shop may take the address of a redirect for the service's new one.
        check.status(&customer, &payment).await;
        let calls = check.service.calls_since(mark);
        if let Some(call) = calls.iter().find(|call| call.is_elsewhere() && call.with_key) {
            let why = format!(
                "The service answered with a redirect to another origin ({status}), and the shop sent its secret key there."
            );
            let came = format!("{} {origin}{} with the secret key", call.method, call.path);
            outcome =
                Err(RuleError::Failed { why, sent: "POST /session, POST /intents and GET /intents".into(), came });
            break;
        }
    }
    if let (true, Ok(opened)) = (check.has_fresh_orders(), check.buy(&customer, &order).await) {
        check.release(&customer, &opened).await;
    }
    outcome
}

async fn failing_service(check: &Check, kind: Kind, cause: &str) -> Outcome {
    let (customer, payment) = check.open_payment().await?;
    let exchanges = exchanges_during(check, &payment, kind).await?;
    exchanges.iter().try_for_each(|exchange| must_be_error_or_true(exchange, &payment, cause))?;
    super::settling::same_payment_still(check, &customer, &payment, cause.trim_end_matches('.')).await
}

/// Sends the order and asks for its payment's status, while every call of the shop is interfered with.
async fn exchanges_during(check: &Check, payment: &Payment, kind: Kind) -> Result<[Exchange; 2], RuleError> {
    let customer = check.customer(0).await?;
    let _interfering = check.service.interfere(Target::Every, kind);
    let mark = check.service.mark();
    let order = check.route_request(&customer, "POST", "/intents").on_own_page().json(&payment.order);
    // Together: each may take as long as the shop waits for the service.
    let (order, status) = join(order.send(), check.status(&customer, payment)).await;
    if check.service.mark() == mark {
        return not_checked("The shop answered without a call to the service.");
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
        Ok(_) if exchange.is_success() => "The page got a status although the status is unknown.",
        Ok(_) => "The page got no error in the service's shape.",
    };
    Err(exchange.fail(format!("{cause} {why}")))
}
