//! What the page gets when the service fails.

use crate::outcome::{Outcome, RuleError, not_checked};
use crate::service::{Kind, Target};
use crate::shop::{CheckedShop, Exchange, Payment};
use futures_util::future::join;

pub(super) async fn refusing_service(shop: &CheckedShop) -> Outcome {
    let (_, payment) = shop.open_payment().await?;
    for status in [503, 401] {
        for exchange in exchanges_during(shop, &payment, Kind::Refuse(status)).await? {
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

pub(super) async fn unreadable_service(shop: &CheckedShop) -> Outcome {
    failing_service(shop, Kind::Malformed, "The service answered the shop with HTML.").await
}

pub(super) async fn slow_service(shop: &CheckedShop) -> Outcome {
    failing_service(shop, Kind::Hold, "The service did not answer the shop.").await
}

/// The service answers each call with a redirect to another origin of its own, where a call with the key must not
/// arrive.
pub(super) async fn redirect_is_not_followed(shop: &CheckedShop) -> Outcome {
    let (customer, payment) = shop.open_payment().await?;
    let Some(origin) = shop.service.other_origin() else {
        return not_checked(
            "The shop does not call the service at 127.0.0.1 or localhost, so the service has no other origin to \
             redirect to.",
        );
    };
    // The shop has sent nothing for it yet.
    let order = shop.fresh_order_or(&payment);
    let mark = shop.service.mark();
    let mut led = None;
    for status in [302, 307, 308] {
        let redirecting = shop.service.interfere(Target::Every, Kind::Redirect(status, origin.clone()));
        shop.request_session(&customer).await;
        drop(shop.buy(&customer, &order).await);
        shop.status(&customer, &payment).await;
        drop(redirecting);
        // A shop may take the address of a redirect for the service's new one.
        shop.status(&customer, &payment).await;
        let calls = shop.service.calls_since(mark);
        if let Some(call) = calls.into_iter().find(|call| call.is_elsewhere() && call.with_key) {
            led = Some((status, call));
            break;
        }
    }
    if let (true, Ok(opened)) = (shop.has_fresh_orders(), shop.buy(&customer, &order).await) {
        shop.release(&customer, &opened).await;
    }
    let Some((status, call)) = led else { return Ok(()) };
    Err(RuleError::Failed {
        why: format!(
            "The service answered with a redirect to another origin ({status}), and the shop sent its secret key there."
        ),
        sent: "POST /session, POST /intents and GET /intents".into(),
        came: format!("{} {origin}{} with the secret key", call.method, call.path),
    })
}

async fn failing_service(shop: &CheckedShop, kind: Kind, cause: &str) -> Outcome {
    let (customer, payment) = shop.open_payment().await?;
    let exchanges = exchanges_during(shop, &payment, kind).await?;
    exchanges.iter().try_for_each(|exchange| must_be_error_or_true(exchange, &payment, cause))?;
    shop.same_payment_still(&customer, &payment, cause.trim_end_matches('.')).await
}

/// Sends the order and asks for its payment's status, while every call of the shop is interfered with.
async fn exchanges_during(shop: &CheckedShop, payment: &Payment, kind: Kind) -> Result<[Exchange; 2], RuleError> {
    let customer = shop.customer(0).await?;
    let _interfering = shop.service.interfere(Target::Every, kind);
    let mark = shop.service.mark();
    // Together: each may take as long as the shop waits for the service.
    let order = shop.send_order(&customer, &payment.order);
    let (order, status) = join(order, shop.status(&customer, payment)).await;
    if shop.service.mark() == mark {
        return not_checked("The shop answered without a call to the service.");
    }
    Ok([order, status])
}

/// The answer is an error in the service's shape, or true: the same payment, or a status that is not final.
fn must_be_error_or_true(exchange: &Exchange, payment: &Payment, cause: &str) -> Outcome {
    let is_same_payment = exchange.json()["intent"]["id"] == *payment.id;
    let is_pending = ["requires_action", "processing"].iter().any(|status| exchange.tells(status));
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
