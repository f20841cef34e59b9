use crate::operations::{ApprovableUntil, LastPaymentError};

/// Whether an operator may still approve an attempt that it declined.
///
/// ```
/// use guichet::flow::{LateApproval, late_approval};
/// use guichet::operations::ApprovableUntil;
/// let until = Some(ApprovableUntil::Unix(1_795_257_900));
/// assert_eq!(late_approval(false, None, until, 1_795_257_000), LateApproval::Until(1_795_257_900));
/// assert_eq!(late_approval(false, None, until, 1_795_258_000), LateApproval::Never);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LateApproval {
    /// Its word is final.
    Never,
    /// Until this time, in Unix seconds.
    Until(i64),
    /// The service does not say until when.
    Open,
}

/// The declines that are the operator's last word. Real operators report others while the customer can still confirm.
const FINAL: [&str; 10] = [
    "insufficient_funds",
    "incorrect_otp",
    "incorrect_cvc",
    "expired_card",
    "processing_error",
    "authentication_required",
    "payer_not_found",
    "limit_exceeded",
    "fraud_blocked",
    "generic_decline",
];

/// Whether an operator may still approve what it has declined, at this time in Unix seconds. `latest` is the payment's own
/// `approvable_until`.
#[must_use]
pub fn late_approval(
    is_paid: bool,
    declined: Option<&LastPaymentError>,
    latest: Option<ApprovableUntil>,
    now: i64,
) -> LateApproval {
    match latest.or(declined.and_then(|error| error.approvable_until)) {
        Some(ApprovableUntil::Unix(until)) if until > now => LateApproval::Until(until),
        Some(_) => LateApproval::Never,
        // Without a time nothing is known of the attempts before the one that succeeded.
        None if !is_paid && declined.is_some_and(|error| !FINAL.contains(&error.code.as_str())) => LateApproval::Open,
        None => LateApproval::Never,
    }
}
