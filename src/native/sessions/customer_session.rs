use crate::values::{Email, Moment};

pub(super) const INVALID: &str = "Bearer realm=\"guichet\", error=\"invalid_token\"";

/// A customer whose request brings a valid session token.
///
/// With the feature `axum` it is an extractor, which uses the [`SessionGuard`](super::SessionGuard) in the router's
/// state: a router without one does not compile.
///
#[cfg_attr(feature = "axum", doc = "```")]
#[cfg_attr(not(feature = "axum"), doc = "```text")]
/// use axum::{Router, routing::get};
/// use guichet::native::{CustomerSession, SessionGuard};
///
/// async fn me(session: CustomerSession) -> String {
///     session.customer_email.to_string()
/// }
///
/// fn api(client: guichet::Client) -> Router {
///     Router::new().route("/me", get(me)).with_state(SessionGuard::new(client))
/// }
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct CustomerSession {
    /// The customer's e-mail address. Decide by this alone what they may see and change, and by nothing else in the
    /// request.
    pub customer_email: Email,
    /// When the session ends, if the service sends it.
    pub expires_at: Option<Moment>,
}

impl CustomerSession {
    /// Whether an object with this e-mail belongs to the customer, such as a subscription by its `customer_email`. Case
    /// is ignored; an object without an e-mail belongs to no customer.
    #[must_use]
    pub fn owns<'a>(&self, email: impl Into<Option<&'a str>>) -> bool {
        email.into().is_some_and(|email| self.customer_email.as_str().eq_ignore_ascii_case(email))
    }
}
