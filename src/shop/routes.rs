//! What the merchant's routes answer. What each says of an order is the ledger's.

use super::{Buyer, Grants, Owner, Reading, Reason, Refused};
use crate::flow::checkout_address;
use crate::operations::ApprovableUntil;
use crate::platform::to_json;
use crate::values::{Amount, printable};
use serde_json::{Value, json};

/// A reply to a page.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// Its headers, with names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// JSON, a page, or nothing.
    pub body: String,
}

impl Reply {
    /// A reply that no cache stores, because it contains a token or a current state.
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self::of_json(status, to_json(body).unwrap_or_default())
    }

    /// The same of a text that is JSON.
    #[must_use]
    pub fn of_json(status: u16, body: String) -> Self {
        let headers = vec![("cache-control", "no-store".to_owned()), ("content-type", "application/json".to_owned())];
        Self { status, headers, body }
    }
}

/// A session of the service, for a page.
#[derive(Clone)]
pub struct Granted {
    /// The token, which no log may show.
    pub session_token: String,
    /// The customer as whom it acts.
    pub customer_email: String,
    /// When it ends.
    pub expires_at: Option<String>,
}

/// `POST {m}/session`: a session token for the customer who is signed in.
///
/// # Errors
/// [`Refused`] for a guest, and for a customer whose e-mail address may be another's.
pub async fn session(grants: &impl Grants, buyer: Buyer) -> Result<Reply, Refused> {
    let Buyer { owner, login, verified_email, .. } = buyer;
    if matches!(owner, Owner::Guest(_)) {
        return Err(Refused::not_signed_in());
    }
    let email = verified_email.ok_or_else(Refused::email_not_verified)?;
    let granted = grants.session(login.as_deref(), &email).await?;
    if !granted.customer_email.is_empty() && !granted.customer_email.eq_ignore_ascii_case(email.as_str()) {
        let message = "The payment service did not answer the shop as it should. Please try later.";
        let refused = Refused::new(502, Reason { code: "service_failed", message });
        return Err(refused.because("a session is another customer's", printable(granted.customer_email).to_string()));
    }
    let Granted { session_token, customer_email, expires_at } = granted;
    let body = json!({"session_token": session_token, "customer_email": customer_email, "expires_at": expires_at});
    Ok(Reply::json(200, &body))
}

/// Whether a plain form sends the order of a request; otherwise it is JSON. A page of another site could send any other
/// content type without a CORS preflight.
///
/// # Errors
/// [`Refused`] with 415.
pub fn is_form(content_type: &str) -> Result<bool, Refused> {
    match content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "application/json" => Ok(false),
        "application/x-www-form-urlencoded" => Ok(true),
        _ => {
            let message = "An order is sent as application/json, or by a form.";
            Err(Refused::new(415, Reason { code: "unsupported_media_type", message }))
        }
    }
}

/// Sends a plain form's customer on to where it is paid.
pub(super) fn redirect(checkout_url: &str, checkout_origins: &[String]) -> Result<Reply, Refused> {
    let address = checkout_address(checkout_url, checkout_origins).map_err(|invalid| {
        let message = "The payment service named no address that can be followed.";
        let event = "a form was not sent on to where it is paid: see `checkoutOrigins` or Routes::checkout_origin";
        Refused::new(502, Reason { code: "address", message }).because(event, printable(invalid).to_string())
    })?;
    Ok(see_other(address.as_str().to_owned()))
}

pub(super) fn see_other(location: String) -> Reply {
    let headers = vec![("location", location), ("cache-control", "no-store".to_owned())];
    Reply { status: 303, headers, body: String::new() }
}

/// The reply with the state of a payment that was read.
pub(super) fn status_reply(reading: Reading, merchant_reference: &str, is_received: bool) -> Reply {
    let (late_approval, Reading { intent, as_of, plus_fee, .. }) = (reading.late_approval(), reading);
    let mut late = json!({"state": late_approval.state()});
    if let Some(until) = late_approval.until() {
        late["until"] = json!(until);
    }
    let declined = intent
        .last_payment_error
        .map(|error| with_time(json!({"code": error.code, "message": error.message}), error.approvable_until));
    // The customer may know that they have paid twice and will get a refund.
    let duplicates = intent.duplicate_payments.iter().map(|duplicate| {
        let approved_at = duplicate.approved_at.map(|at| at.to_string());
        let amount = duplicate.amount.map_or_else(String::new, |amount| amount.without_zeros().to_string());
        json!({"attempt": duplicate.attempt, "amount": amount, "currency": duplicate.currency, "approved_at": approved_at})
    });
    let duplicates: Vec<Value> = duplicates.collect();
    let mut body = json!({
        "status": intent.status.as_str(), "last_payment_error": declined, "merchant_reference": merchant_reference,
        "amount": intent.amount.without_zeros(), "amount_payable": intent.amount_payable.map(Amount::without_zeros), "duplicate_payments": duplicates,
        "as_of": as_of, "late": late, "delivered": is_received,
    });
    if plus_fee {
        body["plus_fee"] = json!(true);
    }
    Reply::json(200, &with_time(body, intent.approvable_until))
}

/// Adds until when an operator may still approve what it has declined, if the service says it: without the member, a
/// page must not say that nothing was charged.
fn with_time(mut body: Value, until: Option<ApprovableUntil>) -> Value {
    if let Some(until) = until {
        body["approvable_until"] = json!(until);
    }
    body
}
