//! What the page gets when the service fails.

use crate::check::payment::Payment;
use crate::check::service::{Kind, Target};
use crate::check::shop::{Customer, Exchange};
use crate::check::{Check, Outcome, Stop};

pub(super) async fn refusing_service(check: &Check) -> Outcome {
    let payment = check.open_payment().await?;
    let customer = check.customer(0).await?;
    for status in [503, 401] {
        let refusing = check.service.interfere(Target::Every, Kind::Refuse(status));
        let asked = ask_both(check, &customer, &payment).await?;
        drop(refusing);
        for asked in asked {
            if asked.is_sign_in_required() {
                return Err(asked.fail(format!(
                    "The service answered the shop with {status}, and the page was told that nobody is signed in."
                )));
            }
            must_be_honest(&asked, &payment, &format!("The service answered the shop with {status}."))?;
        }
    }
    Ok(())
}

pub(super) async fn unreadable_service(check: &Check) -> Outcome {
    let payment = check.open_payment().await?;
    let customer = check.customer(0).await?;
    let malformed = check.service.interfere(Target::Every, Kind::Malformed);
    let asked = ask_both(check, &customer, &payment).await?;
    drop(malformed);
    asked.iter().try_for_each(|asked| must_be_honest(asked, &payment, "The service answered the shop with HTML."))
}

pub(super) async fn slow_service(check: &Check) -> Outcome {
    let payment = check.open_payment().await?;
    let customer = check.customer(0).await?;
    let holding = check.service.interfere(Target::Every, Kind::Hold);
    let asked = ask_both(check, &customer, &payment).await?;
    drop(holding);
    asked.iter().try_for_each(|asked| must_be_honest(asked, &payment, "The service did not answer the shop."))
}

/// Sends the order, and then asks for its payment's status.
async fn ask_both(check: &Check, customer: &Customer, payment: &Payment) -> Result<[Exchange; 2], Stop> {
    let mark = check.service.mark();
    let order = check.ask_route(customer, "POST", "/intents").on_own_page().json(&payment.order).send().await;
    let status = check.status(customer, payment).await;
    if check.service.mark() == mark {
        return Err(Stop::NotChecked("The shop answered without a call to the service.".into()));
    }
    Ok([order, status])
}

/// The answer is an error in the service's shape, or true: the same payment, or a status that is not final.
fn must_be_honest(asked: &Exchange, payment: &Payment, cause: &str) -> Outcome {
    let body = asked.json();
    let is_same_payment = body["intent"]["id"] == *payment.id;
    let is_pending = ["requires_action", "processing"].iter().any(|status| body["status"] == *status);
    if asked.is_error_in_shape() || (asked.is_success() && (is_same_payment || is_pending)) {
        return Ok(());
    }
    let why = match asked.response {
        Err(_) => "The page got no answer.",
        Ok(_) if asked.is_success() => "The page was told something else than that it is not known.",
        Ok(_) => "The page got no error in the service's shape.",
    };
    Err(asked.fail(format!("{cause} {why}")))
}
