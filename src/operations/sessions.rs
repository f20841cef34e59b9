//! Customer sessions: a customer acts in the merchant's application without the merchant's secret key.

use super::{operation, resource};
use crate::protocol::{Merchant, Session};
use crate::values::{Email, Moment, SessionToken};

/// `POST /v1/sessions/create`: make a token that one customer uses for 30 minutes.
///
/// ```
/// use guichet::operations::CreateSession;
/// use guichet::values::Email;
/// let create = CreateSession::new(Email::new("awa@example.com")?);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// Whether several sessions of one e-mail may live side by side: they may (a decision). That is why this operation may be
/// sent again when its answer was lost: the session that nobody has seen ends by itself.
#[operation(
    POST "/v1/sessions/create" -> CustomerSession,
    role = Merchant,
    command = "sessions create",
    envelope = Session,
    repeatable,
)]
pub struct CreateSession {
    /// The customer's e-mail address.
    pub customer_email: Email,
}

/// `POST /v1/sessions/validate`: whether the session token it is sent with is still valid.
///
/// ```
/// use guichet::operations::ValidateSession;
/// let validate = ValidateSession::new();
/// ```
///
/// # Undocumented
/// The reply. Chosen: 200 `{valid: true, customer_email, expires_at}`, or 401 with `{valid: false, reason}`.
#[operation(
    POST "/v1/sessions/validate" -> SessionState,
    role = Session,
    command = "sessions validate",
    envelope = Session,
    repeatable,
)]
pub struct ValidateSession {}

/// `POST /v1/sessions/revoke`: end the session whose token it is sent with.
///
/// ```
/// use guichet::operations::RevokeSession;
/// let revoke = RevokeSession::new();
/// ```
///
/// # Undocumented
/// The reply. Chosen: 200 `{revoked: true, customer_email, revoked_at}`, again for a token already revoked, so that a
/// logout can be repeated.
#[operation(
    POST "/v1/sessions/revoke" -> RevokedSession,
    role = Session,
    command = "sessions revoke",
    envelope = Session,
    repeatable,
)]
pub struct RevokeSession {}

/// A session that was made.
///
/// ```
/// use guichet::operations::CustomerSession;
/// let session: CustomerSession = guichet::protocol::decode(br#"{"data": {"session_token": "cst_test_1", "customer_email": "awa@example.com"}}"#)?;
/// assert_eq!(format!("{:?}", session.session_token), "SessionToken(***)");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource]
pub struct CustomerSession {
    /// Give it to the customer's browser, and to nobody else.
    #[field(required, schema("pattern" = "^cst_test_[0-9A-Za-z]{43}$"))]
    pub session_token: SessionToken,
    /// The e-mail address the session was made for.
    pub customer_email: String,
    /// When it ends, as the service writes it. A session is good whether or not this can be read.
    #[field(like = Moment)]
    pub expires_at: Option<String>,
}

impl CustomerSession {
    /// When it ends, where the service says so in a form that can be read.
    #[must_use]
    pub fn ends(&self) -> Option<Moment> {
        self.expires_at.as_deref().and_then(|text| Moment::new(text).ok())
    }
}

/// What a service says of a session. Its fields are a decision: all may be absent.
///
/// ```
/// use guichet::operations::SessionState;
/// let state: SessionState = guichet::protocol::decode(br#"{"data": {"valid": false, "reason": "expired"}}"#)?;
/// assert_eq!(state.reason.as_deref(), Some("expired"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource(undocumented)]
pub struct SessionState {
    /// Whether the token is still valid; a service that answers with a success and says nothing means that it is.
    #[field(absent = true)]
    pub valid: bool,
    /// Whose session it is.
    pub customer_email: Option<String>,
    /// When it ends.
    pub expires_at: Option<Moment>,
    /// Why it is not valid: `expired`, `revoked`, `unknown`.
    #[field(omitted)]
    pub reason: Option<String>,
}

/// What a service says of a session it has ended. Its fields are a decision: all may be absent.
///
/// ```
/// use guichet::operations::RevokedSession;
/// let session: RevokedSession = guichet::protocol::decode(br#"{"data": {"revoked": true}}"#)?;
/// assert!(session.revoked);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource(undocumented)]
pub struct RevokedSession {
    /// That it has ended.
    #[field(absent = true)]
    pub revoked: bool,
    /// Whose session it was.
    pub customer_email: Option<String>,
    /// When it was ended.
    pub revoked_at: Option<Moment>,
}
