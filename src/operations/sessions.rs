//! Customer sessions: a customer acts in the merchant's application without the merchant's secret key.

use crate::protocol::{Envelope, Fields, Merchant, Operation, Served, Session, Spec, lenient};
use crate::values::{Email, Moment, SessionToken};
use serde::{Deserialize, Serialize};

/// `POST /v1/sessions/create`: make a token that one customer uses for 30 minutes.
///
/// # Not shown
/// Whether several sessions of one e-mail may live side by side: they may (a decision). That is why this operation may be
/// sent again when its answer was lost: the session that nobody has seen ends by itself.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct CreateSession {
    /// The customer's e-mail address.
    pub customer_email: Email,
}

impl CreateSession {
    /// A session of this customer.
    #[must_use]
    pub fn new(customer_email: Email) -> Self {
        Self { customer_email }
    }
}

impl Operation for CreateSession {
    type Role = Merchant;
    type Output = CustomerSession;
    const SPEC: Spec = Spec::post("create_session", "/v1/sessions/create").sealed_in(Envelope::Session).repeatable();
}

impl Served for CreateSession {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self::new(fields.required("customer_email")?))
    }
}

/// `POST /v1/sessions/validate`: whether the session token it is sent with is still valid.
///
/// # Not shown
/// The reply. Chosen: 200 `{valid: true, customer_email, expires_at}`, or 401 with `{valid: false, reason}`.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct ValidateSession {}

impl ValidateSession {
    /// About the token that it is sent with.
    #[must_use]
    pub fn new() -> Self {
        Self {}
    }
}

impl Operation for ValidateSession {
    type Role = Session;
    type Output = SessionState;
    const SPEC: Spec =
        Spec::post("validate_session", "/v1/sessions/validate").sealed_in(Envelope::Session).repeatable();
}

impl Served for ValidateSession {
    fn read(_: &mut Fields) -> Option<Self> {
        Some(Self::new())
    }
}

/// `POST /v1/sessions/revoke`: end the session whose token it is sent with.
///
/// # Not shown
/// The reply. Chosen: 200 `{revoked: true, customer_email, revoked_at}`, again for a token already revoked, so that a
/// logout can be repeated.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct RevokeSession {}

impl RevokeSession {
    /// The session of the token that it is sent with.
    #[must_use]
    pub fn new() -> Self {
        Self {}
    }
}

impl Operation for RevokeSession {
    type Role = Session;
    type Output = RevokedSession;
    const SPEC: Spec = Spec::post("revoke_session", "/v1/sessions/revoke").sealed_in(Envelope::Session).repeatable();
}

impl Served for RevokeSession {
    fn read(_: &mut Fields) -> Option<Self> {
        Some(Self::new())
    }
}

/// A session that was made.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema), schemars(extend("x-guichet-documented" = ["session_token", "customer_email", "expires_at"])))]
pub struct CustomerSession {
    /// Give it to the customer's browser, and to nobody else.
    #[cfg_attr(feature = "sandbox", schemars(extend("pattern" = "^cst_test_[0-9A-Za-z]{43}$")))]
    pub session_token: SessionToken,
    /// The e-mail address the session was made for.
    #[serde(default, deserialize_with = "lenient")]
    pub customer_email: String,
    /// When it ends, as the service writes it. A session is good whether or not this can be read.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "Moment"))]
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
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct SessionState {
    /// Whether the token is still valid; a service that answers with a success and says nothing means that it is.
    #[serde(default = "super::yes")]
    pub valid: bool,
    /// Whose session it is.
    #[serde(default, deserialize_with = "lenient")]
    pub customer_email: Option<String>,
    /// When it ends.
    #[serde(default, deserialize_with = "lenient")]
    pub expires_at: Option<Moment>,
    /// Why it is not valid: `expired`, `revoked`, `unknown`.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(skip_serializing_if = "Option::is_none"))]
    pub reason: Option<String>,
}

/// What a service says of a session it has ended. Its fields are a decision: all may be absent.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct RevokedSession {
    /// That it has ended.
    #[serde(default = "super::yes")]
    pub revoked: bool,
    /// Whose session it was.
    #[serde(default, deserialize_with = "lenient")]
    pub customer_email: Option<String>,
    /// When it was ended.
    #[serde(default, deserialize_with = "lenient")]
    pub revoked_at: Option<Moment>,
}
