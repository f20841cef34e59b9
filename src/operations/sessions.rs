//! Customer sessions: a customer acts in the merchant's application without the merchant's secret key.

use super::{operation, resource};
use crate::protocol::{Merchant, Session};
use crate::values::{Email, Moment, SessionToken};

/// `POST /v1/sessions/create`: create a token that one customer uses for 30 minutes.
///
/// ```
/// use guichet::operations::CreateSession;
/// use guichet::values::Email;
/// let create = CreateSession::new(Email::new("awa@example.com")?);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// Whether one e-mail may have several sessions at the same time: it may (a decision). For this reason the operation
/// may be sent again if its response was lost: a session that no client received expires by itself.
#[operation(
    POST "/v1/sessions/create" -> CreatedSession,
    role = Merchant,
    envelope = Session,
    repeatable,
)]
pub struct CreateSession {
    /// The customer's e-mail address.
    pub customer_email: Email,
}

/// `POST /v1/sessions/validate`: whether the session token it is sent with is still valid.
///
/// # Undocumented
/// The reply. Chosen: 200 `{valid: true, customer_email, expires_at}`, or 401 with `{valid: false, reason}`.
#[operation(
    POST "/v1/sessions/validate" -> SessionState,
    role = Session,
    envelope = Session,
    repeatable,
)]
pub struct ValidateSession {}

/// `POST /v1/sessions/revoke`: end the session whose token it is sent with.
///
/// # Undocumented
/// The reply. Chosen: 200 `{revoked: true, customer_email, revoked_at}`, also for a token that is already revoked, so
/// that a logout can be repeated.
#[operation(
    POST "/v1/sessions/revoke" -> RevokedSession,
    role = Session,
    envelope = Session,
    repeatable,
)]
pub struct RevokeSession {}

/// A new session.
///
/// ```
/// use guichet::operations::CreatedSession;
/// let session: CreatedSession = guichet::protocol::decode(br#"{"data": {"session_token": "cst_test_1", "customer_email": "awa@example.com"}}"#)?;
/// assert_eq!(format!("{:?}", session.session_token), "SessionToken(***)");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource]
pub struct CreatedSession {
    /// The token. Give it to the customer's browser only.
    #[field(required, schema("pattern" = "^cst_test_[0-9A-Za-z]{43}$"))]
    pub session_token: SessionToken,
    /// The e-mail address the session was made for.
    pub customer_email: String,
    /// When it ends, as the service writes it. A session is valid even if this cannot be parsed.
    #[field(like = Moment)]
    pub expires_at: Option<String>,
}

impl CreatedSession {
    /// When it ends; `None` if the service does not say, or in a form that cannot be parsed.
    #[must_use]
    pub fn ends(&self) -> Option<Moment> {
        self.expires_at.as_deref().and_then(|text| Moment::new(text).ok())
    }
}

/// The service's reply about a session. Its fields are a decision: all may be absent.
#[resource(undocumented, example = r#"{"valid": false, "reason": "expired"}"#)]
pub struct SessionState {
    /// Whether the token is still valid; true if a successful reply does not say.
    #[field(absent = true)]
    pub valid: bool,
    /// The customer's e-mail address.
    pub customer_email: Option<String>,
    /// When it ends.
    pub expires_at: Option<Moment>,
    /// Why it is not valid: `expired`, `revoked`, `unknown`.
    #[field(omitted)]
    pub reason: Option<String>,
}

/// The service's reply when it has ended a session. Its fields are a decision: all may be absent.
#[resource(undocumented, example = r#"{"revoked": true}"#)]
pub struct RevokedSession {
    /// Whether it has ended; true if the service does not say.
    #[field(absent = true)]
    pub revoked: bool,
    /// The customer's e-mail address.
    pub customer_email: Option<String>,
    /// When it was ended.
    pub revoked_at: Option<Moment>,
}
