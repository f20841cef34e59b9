//! Whether a declined attempt of a payment may still become money, of a payment as a reply has it.

use super::value::{get, get_list, get_object, get_text, try_get_any};
#[cfg(feature = "js-hosted")]
use super::value::{object, optional};
use crate::flow::{LateApproval, Ms, PaymentAsRead, late_approval};
use crate::operations::ApprovableUntil;
use crate::values::IntentStatus;
use js_sys::Date;
use wasm_bindgen::prelude::*;

/// What the reply itself says, as a merchant's route does. Otherwise what follows from its payment, by the time that it
/// names.
pub(crate) fn late_approval_of_reply(reply: &JsValue) -> LateApproval {
    let Some(late) = get_object(reply, "late") else {
        return late_approval_of_payment(reply, get(reply, "as_of").and_then(|at| whole(&at)));
    };
    match get(&late, "until").and_then(|until| whole(&until)) {
        _ if get_text(&late, "state").as_deref() == Some("never") => LateApproval::Never,
        Some(until) => LateApproval::Until(until),
        None => LateApproval::Open,
    }
}

/// What follows from the service's own payment. `as_of` is the `Date` of its reply.
pub(crate) fn late_approval_of_payment(payment: &JsValue, as_of: Option<i64>) -> LateApproval {
    let declined = get(payment, "last_payment_error");
    let method = get(payment, "payment_method").and_then(|method| get_text(&method, "type"));
    let status = IntentStatus::from(get_text(payment, "status").unwrap_or_default());
    let mut read = PaymentAsRead::new(status);
    read.attempts = get_text(payment, "attempts").and_then(|attempts| attempts.parse().ok());
    read.is_card = method.as_deref() == Some("card");
    read.is_declined = declined.is_some();
    read.declined_until = declined.as_ref().and_then(approvable_until);
    read.approvable_until = approvable_until(payment);
    read.duplicates = get_list(payment, "duplicate_payments").length() as usize;
    read.expires_at = get_text(payment, "expires_at").and_then(|at| seconds(Date::parse(&at)));
    read.as_of = as_of;
    late_approval(&read)
}

/// `{state, until?}`.
#[cfg(feature = "js-hosted")]
pub(crate) fn written(late: LateApproval) -> JsValue {
    let until = late.until().map(|until| until as f64);
    object(&[("state", optional(Some(late.state()))), ("until", optional(until))])
}

/// Milliseconds since 1970 in seconds. `None` for NaN.
pub(crate) fn seconds(milliseconds: Ms) -> Option<i64> {
    (!milliseconds.is_nan()).then_some((milliseconds / 1000.0) as i64)
}

/// `null` is the operator's final word; without the member the service does not say.
fn approvable_until(of: &JsValue) -> Option<ApprovableUntil> {
    let until = try_get_any(of, "approvable_until").ok()?;
    if until.is_null() { Some(ApprovableUntil::Never) } else { whole(&until).map(ApprovableUntil::Unix) }
}

fn whole(value: &JsValue) -> Option<i64> {
    value.as_f64().filter(|number| number.trunc() == *number).map(|number| number as i64)
}
