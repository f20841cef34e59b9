//! The sender of a request, once it is authenticated.

use super::problem::Problem;
use super::rules::Session;
use super::service::merchants::Merchant;
use guichet::protocol::CredentialKind;
use guichet::values::IntentId;

/// The authenticated sender of a request.
pub(super) enum Caller {
    /// The holder of the client secret of this intent of this merchant.
    ClientSecret(Merchant, IntentId),
    /// The holder of a client secret that has ended, or whose intent does not exist.
    EndedClientSecret,
    /// The merchant's server.
    Merchant(Merchant),
    /// A sender without a credential.
    Anonymous,
    /// A customer. For operations of the role Session, the session may have ended.
    Session(Merchant, Session),
    /// The sender of an unknown session token. Only operations of the role Session see it.
    UnknownSession,
}

impl Caller {
    /// The merchant, for an operation of the role `Customer`.
    pub(super) fn shop(&self) -> Result<&Merchant, Problem> {
        match self {
            Self::Merchant(merchant) | Self::Session(merchant, _) => Ok(merchant),
            _ => Err(Problem::internal(&"an operation of the role Customer was called without it")),
        }
    }

    /// The merchant, for an operation of the role `Merchant`.
    pub(super) fn merchant(&self) -> Result<&Merchant, Problem> {
        match self {
            Self::Merchant(merchant) => Ok(merchant),
            _ => Err(Problem::internal(&"an operation of the role Merchant was called without it")),
        }
    }

    /// The merchant that the caller belongs to, if known.
    pub(super) fn known_merchant(&self) -> Option<&Merchant> {
        match self {
            Self::ClientSecret(merchant, _) | Self::Merchant(merchant) | Self::Session(merchant, _) => Some(merchant),
            Self::EndedClientSecret | Self::Anonymous | Self::UnknownSession => None,
        }
    }

    /// The kind of credential.
    pub(super) fn kind(&self) -> CredentialKind {
        match self {
            Self::ClientSecret(..) | Self::EndedClientSecret => CredentialKind::ClientSecret,
            Self::Merchant(_) => CredentialKind::SecretKey,
            Self::Anonymous => CredentialKind::None,
            Self::Session(..) | Self::UnknownSession => CredentialKind::SessionToken,
        }
    }
}
