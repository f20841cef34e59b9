//! Roles: an operation requires one, and a credential fulfils some.

use crate::values::{ClientSecret, SessionToken, words};

/// The role that an operation requires of its sender.
///
/// ```
/// use guichet::protocol::{CredentialKind, Merchant, Role};
/// assert!(!Merchant::admits(CredentialKind::SessionToken));
/// ```
pub trait Role {
    /// Its name in the error messages.
    const NAME: &'static str;
    /// Whether a credential of this kind fulfils it. The sandbox checks at run time what [`Fulfils`] checks at compile
    /// time.
    fn admits(kind: CredentialKind) -> bool;
}

macro_rules! roles {
    ($($(#[$doc:meta])* $name:ident ($word:literal): $($kind:ident)|+;)+) => {$(
        $(#[$doc])*
        #[doc = concat!(
            "\n```\nuse guichet::protocol::{CredentialKind, Role, ", stringify!($name), "};\n",
            $("assert!(", stringify!($name), "::admits(CredentialKind::", stringify!($kind), "));\n",)+ "```",
        )]
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub struct $name;

        impl Role for $name {
            const NAME: &'static str = $word;
            fn admits(kind: CredentialKind) -> bool {
                matches!(kind, $(CredentialKind::$kind)|+)
            }
        }
    )+};
}

roles! {
    /// The merchant's server: the secret key.
    Merchant("merchant"): SecretKey;
    /// One customer's session: the session token.
    Session("session"): SessionToken;
    /// The merchant or one of its customers: the secret key or a session token.
    Customer("customer"): SecretKey | SessionToken;
    /// The sender that may act on one intent: the merchant, a customer, or the intent's own client secret.
    Payer("payer"): SecretKey | SessionToken | ClientSecret;
    /// Any sender: every credential, and none if the service allows it.
    Anyone("anyone"): SecretKey | SessionToken | ClientSecret | None;
}

words! {
    /// The kinds of credential.
    ///
    /// ```
    /// use guichet::protocol::{CredentialKind, Payer, Role};
    /// assert!(Payer::admits(CredentialKind::ClientSecret));
    /// ```
    #[non_exhaustive]
    CredentialKind {
        /// The secret of one intent.
        ClientSecret = "client_secret",
        /// None at all.
        None = "none",
        /// The merchant's secret key.
        SecretKey = "secret_key",
        /// A customer's session token.
        SessionToken = "session_token",
    }
}

/// A credential, which is sent as the Bearer value.
///
/// ```
/// use guichet::protocol::Credential;
/// use guichet::values::SessionToken;
/// assert_eq!(SessionToken::new("cst_test_1").bearer(), Some("cst_test_1"));
/// ```
pub trait Credential {
    /// The Bearer value, if there is one.
    fn bearer(&self) -> Option<&str>;
}

/// A credential that may send operations with the role `R`.
///
/// A session token may validate a session:
/// ```
/// use guichet::{operations::ValidateSession, protocol::{Fulfils, Operation}, values::SessionToken};
/// fn may_send<O: Operation, C: Fulfils<O::Role>>(_: &C, _: &O) {}
/// may_send(&SessionToken::new("cst_test_…"), &ValidateSession::new());
/// ```
/// It may not create a session, which requires the secret key. This does not compile:
/// ```compile_fail,E0277
/// use guichet::{operations::{CreatePaymentIntent, CreateSession}, protocol::{Fulfils, Operation}, values::{Email, SessionToken}};
/// fn may_send<O: Operation, C: Fulfils<O::Role>>(_: &C, _: &O) {}
/// may_send(&SessionToken::new("cst_test_…"), &CreateSession::new(Email::new("awa@example.com").unwrap()));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` may not send an operation that asks for the role `{R}`",
    note = "operations of `Merchant` need the secret key, which exists only in `guichet::native`, on the merchant's server",
    note = "operations of `Session` are about one customer's session and take its token: `client.customer(&token)`"
)]
pub trait Fulfils<R: Role>: Credential {}

impl Credential for SessionToken {
    fn bearer(&self) -> Option<&str> {
        Some(self.expose())
    }
}
impl Fulfils<Session> for SessionToken {}
impl Fulfils<Customer> for SessionToken {}
impl Fulfils<Payer> for SessionToken {}
impl Fulfils<Anyone> for SessionToken {}

impl Credential for ClientSecret {
    fn bearer(&self) -> Option<&str> {
        Some(self.expose())
    }
}
impl Fulfils<Payer> for ClientSecret {}
impl Fulfils<Anyone> for ClientSecret {}

/// No credential, for operations that a service lets anyone send.
///
/// ```
/// use guichet::protocol::{Credential, NoCredential};
/// assert_eq!(NoCredential.bearer(), None);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCredential;

impl Credential for NoCredential {
    fn bearer(&self) -> Option<&str> {
        None
    }
}
impl Fulfils<Anyone> for NoCredential {}
