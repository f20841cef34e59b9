//! What a page gets from the ledger.

use super::event::{Answer, Led};
use super::order::{Found, FoundState, Order, Payment};
use super::outcome::{Done, Read};
use crate::protocol::Kind;
use crate::shop::routes::{redirect, see_other, status_reply};
use crate::shop::{Buyer, Reading, Reason, Refused, Reply, page::payment_page};
use crate::values::{IntentStatus, Language};
use serde_json::json;

const NOT_AS_IT_SHOULD: &str = "The payment service did not answer the shop as it should. Please try later.";

/// The reply to a click: the payment, and its return nonce. A plain form's customer is redirected to where it is paid,
/// if one of `checkout_origins` is, and from a paid order to the page that says so. `open` decrypts an address that was
/// stored.
///
/// # Errors
/// [`Refused`] as the ledger has answered.
pub fn ticket(
    done: &Done,
    is_form: bool,
    checkout_origins: &[String],
    open: impl FnOnce(&str) -> Option<String>,
) -> Result<Reply, Refused> {
    let (reference, id, address) = match &done.answer {
        Some(Answer::Lead { reference, id, address: Led::Plain(plain) }) => (reference, id, Some(plain.clone())),
        Some(Answer::Lead { reference, id, address: Led::Sealed(sealed) }) => {
            (reference, id, Some(open(sealed).ok_or_else(Refused::unavailable)?))
        }
        Some(Answer::Paid { reference, id }) => (reference, id, None),
        Some(Answer::Error { status, code }) => return Err(refused(done, *status, code)),
        None => return Err(Refused::unavailable()),
    };
    let payment = done.order.as_ref().and_then(|order| order.payment(reference));
    let found = payment.and_then(|payment| payment.found.iter().find(|found| found.id == *id));
    let (payment, found) = payment.zip(found).ok_or_else(Refused::unavailable)?;
    let payment_ref = found.payment_ref.as_ref().unwrap_or(id);
    match (is_form, &address) {
        (true, Some(address)) => return redirect(address, checkout_origins),
        (true, None) => {
            let query =
                url::form_urlencoded::Serializer::new(String::new()).append_pair("payment_ref", payment_ref).finish();
            return Ok(see_other(["return?", &query].concat()));
        }
        (false, _) => {}
    }
    let sum = payment.body.sum();
    let intent = json!({
        "id": id, "checkout_url": address, "payment_ref": payment_ref, "merchant_reference": reference,
        "status": found.status.as_str(), "amount": sum.amount, "currency": sum.currency,
    });
    Ok(Reply::json(200, &json!({"intent": intent, "return_nonce": payment.nonce})))
}

/// The reply with the state of a payment that was just read.
///
/// # Errors
/// [`Refused`] if there is none, if it could not be read, or if it is another one.
pub fn status(read: Option<Read>) -> Result<Reply, Refused> {
    let (reading, reference, is_received) = checked(read)?;
    Ok(status_reply(reading, &reference, is_received))
}

/// The same as a page, for a customer whose browser executes no script.
///
/// # Errors
/// [`Refused`] if there is none, if it could not be read, or if it is another one.
pub fn payment(read: Option<Read>, language: Language) -> Result<Reply, Refused> {
    let (reading, reference, is_received) = checked(read)?;
    Ok(payment_page(&reading, &reference, is_received, language))
}

/// The payment as it was read, its reference, and whether the shop has received what its order has become, if it is the
/// one that was sent.
fn checked(read: Option<Read>) -> Result<(Reading, String, bool), Refused> {
    let Read { done, reference, id } = read.ok_or_else(Refused::payment_missing)?;
    let payment = done.order.as_ref().and_then(|order| order.payment(&reference));
    let found = payment.and_then(|payment| payment.found.iter().find(|found| found.id == id));
    let is_received = done.is_received;
    let mut reading = done.reading.unwrap_or_else(|| Err(Refused::unavailable()))?;
    let is_other = reading.intent.id.as_str() != id
        || reading.intent.merchant_reference.as_deref().is_some_and(|named| named != reference)
        || found.is_none_or(|found| found.state == FoundState::Different);
    if is_other {
        return Err(Refused::payment_mismatch());
    }
    // One that says so of an unknown sum has paid nothing yet.
    let is_open = found.is_some_and(|found| found.state == FoundState::Open);
    if is_open && reading.intent.status == IntentStatus::Succeeded {
        return Err(Refused::payment_unclear());
    }
    if let Some(payment) = payment {
        let payable = &mut reading.intent.amount_payable;
        *payable = payable.or(payment.quote);
        reading.plus_fee = payable.is_none() && payment.body.fee_is_on_top();
    }
    Ok((reading, reference, is_received))
}

/// The payment of this buyer that a page names: by its return nonce, the service's id or its public reference. Of two
/// that the service made, the one that another of the page's names means, or one that has paid.
pub(super) fn named<'a>(
    order: &'a Order,
    buyer: &Buyer,
    name: &str,
    names: &[String],
) -> Option<(&'a Payment, &'a Found)> {
    let is_theirs = order.owner == buyer.owner || Some(&order.owner) == buyer.visit.as_ref();
    let is_its = |found: &Found, name: &str| found.id == name || found.payment_ref.as_deref() == Some(name);
    let of_owner =
        order.all_found().filter(|(payment, found)| is_theirs && (payment.nonce == name || is_its(found, name)));
    of_owner.min_by_key(|(_, found)| {
        let is_meant = names.iter().any(|name| is_its(found, name));
        (!is_meant, !matches!(found.state, FoundState::Paid { .. }))
    })
}

/// A refusal in words: the service's own, if a call brought nothing.
fn refused(done: &Done, status: u16, code: &str) -> Refused {
    let of_service = done.reading.as_ref().and_then(|reading| reading.as_ref().err());
    let message = match code {
        "unavailable" | "service_failed" | "rate_limited" => match of_service {
            // That the service refuses a repeat, or does not know a payment which was read, is no answer to a click.
            Some(refused)
                if refused.kind() != Some(Kind::Uncertain) && (code != "unavailable" || has_not_refused(refused)) =>
            {
                return refused.clone();
            }
            _ if status == 502 => NOT_AS_IT_SHOULD,
            _ => return Refused::new(status, Reason { code, message: Refused::unavailable().message() }),
        },
        "order_missing" => return Refused::order_missing(),
        "order_ended" => "The shop no longer sells this order.",
        "payment_mismatch" => return Refused::payment_mismatch(),
        "parameter_invalid" => "The e-mail address or phone number is none that can be used. Please correct it.",
        "too_many_open_payments" => return Refused::too_many_open_payments(),
        _ => return Refused::broken(code),
    };
    Refused::new(status, Reason { code, message })
}

/// Whether there was no reply, or none that can be read.
fn has_not_refused(refused: &Refused) -> bool {
    matches!(refused.kind(), Some(Kind::Offline | Kind::Timeout | Kind::Unreadable))
}
