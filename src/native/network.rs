//! The reason why there is no reply: the HTTP library's error, in words that a person can act on.

use crate::protocol::{AttemptResult, Error, Kind, NetworkFailure};
use std::error::Error as StdError;
use std::io;
use std::iter::successors;

/// The reason why there is no reply.
pub(super) enum Lost {
    /// The request was not sent, so nothing was executed.
    NotSent(Error),
    /// The request was sent and may have been executed.
    Unanswered(Error),
    /// The HTTP client refuses the address, or the redirect in the reply, and would refuse it again.
    RefusedByHttpClient {
        /// The reason.
        error: Error,
        /// Whether the request was sent and may have been executed.
        is_sent: bool,
    },
}

impl Lost {
    /// The result for the retry table.
    pub(super) fn result(&self) -> AttemptResult {
        match self {
            Self::NotSent(_) => AttemptResult::NotSent,
            Self::Unanswered(_) => AttemptResult::NoReply,
            Self::RefusedByHttpClient { is_sent, .. } => AttemptResult::Final { may_have_executed: *is_sent },
        }
    }

    pub(super) fn error(&self) -> &Error {
        let (Self::NotSent(error) | Self::Unanswered(error) | Self::RefusedByHttpClient { error, .. }) = self;
        error
    }

    /// The error of the call. `is_uncertain`: the request may have been executed, and must not be repeated.
    pub(super) fn into_error(self, is_uncertain: bool) -> Error {
        let message = match &self {
            Self::RefusedByHttpClient { error, .. } => format!("{} {MAY_HAVE_EXECUTED}", error.message()),
            Self::NotSent(_) | Self::Unanswered(_) => MAY_HAVE_EXECUTED.to_owned(),
        };
        let (Self::NotSent(error) | Self::Unanswered(error) | Self::RefusedByHttpClient { error, .. }) = self;
        if is_uncertain { error.uncertain(message) } else { error }
    }
}

/// What an uncertain error says.
pub(super) const MAY_HAVE_EXECUTED: &str =
    "The service may have executed the request. Read the current state before you send anything again.";

const REFUSED_ADDRESS: &str = "The HTTP client refuses to send this request. If it is set up with `https_only(true)`, the \
                               client's address must begin with https.";
const REFUSED_REDIRECT: &str = "The service answered with a redirect that the HTTP client refuses to follow, and a request that \
                                carries a credential follows none. Build the `reqwest::Client` with \
                                `redirect(reqwest::redirect::Policy::none())`, and set the client's address to the one that answers.";

impl From<reqwest::Error> for Lost {
    fn from(error: reqwest::Error) -> Self {
        // The address may contain an id and a query, and errors show neither.
        let error = error.without_url();
        if error.is_builder() {
            let error = Error::new(Kind::Input, REFUSED_ADDRESS).caused_by(error);
            return Self::RefusedByHttpClient { error, is_sent: false };
        }
        if error.is_redirect() {
            let error = Error::new(Kind::Address, REFUSED_REDIRECT).caused_by(error);
            return Self::RefusedByHttpClient { error, is_sent: true };
        }
        let is_sent = !error.is_connect();
        let failure = if is_sent { NetworkFailure::Interrupted } else { failure(&error) };
        let error = Error::new(Kind::Offline, sentence(failure)).network_failure(failure).caused_by(error);
        if is_sent { Self::Unanswered(error) } else { Self::NotSent(error) }
    }
}

/// The reason why no connection could be made.
fn failure(error: &reqwest::Error) -> NetworkFailure {
    for cause in causes(error) {
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return match tls {
                rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
                    NetworkFailure::Certificate
                }
                _ => NetworkFailure::Tls,
            };
        }
        match cause.downcast_ref().map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => return NetworkFailure::Refused,
            Some(io::ErrorKind::TimedOut) => return NetworkFailure::ConnectTimeout,
            // The peer closed the connection in the middle of the handshake.
            Some(io::ErrorKind::UnexpectedEof) => return NetworkFailure::Tls,
            _ => {}
        }
        // The connector's error has no public type. A test checks this text with a name that does not exist.
        if cause.to_string().starts_with("dns error") {
            return NetworkFailure::Dns;
        }
    }
    if error.is_timeout() { NetworkFailure::ConnectTimeout } else { NetworkFailure::Unreachable }
}

/// An error and its causes, the outermost first.
fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    successors(Some(error), |&error| {
        // An `io::Error` does not return the error that it wraps as its source.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        wrapped.map(|wrapped| wrapped as &(dyn StdError + 'static)).or_else(move || error.source())
    })
}

fn sentence(failure: NetworkFailure) -> &'static str {
    match failure {
        NetworkFailure::Certificate => {
            "This machine does not trust the service's certificate: no connection was made. For a private authority, add its \
             root with `ClientBuilder::root_certificate`."
        }
        NetworkFailure::ConnectTimeout => "No connection could be made in time: the service's address does not answer.",
        NetworkFailure::Dns => {
            "The service's host name cannot be resolved. Check the address, and this machine's DNS and network."
        }
        NetworkFailure::Interrupted => "The connection to the service ended before its reply was whole.",
        NetworkFailure::Refused => {
            "The service refused the connection: nothing listens at this address. Check the address, its port too."
        }
        NetworkFailure::Tls => {
            "No encrypted connection could be made: the server at this address does not support https, or shares \
             no version of TLS with this machine. Check the address, its port too."
        }
        NetworkFailure::Unreachable => "The service cannot be reached: no connection could be made to its address.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::{CertificateError, InvalidMessage};

    #[test]
    fn a_tls_error_is_found_however_deep_it_is_wrapped() {
        let wrapped = |error| io::Error::other(io::Error::new(io::ErrorKind::InvalidData, error));
        for error in [
            rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer),
            rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType),
        ] {
            let outer = wrapped(error.clone());
            let found = causes(&outer).find_map(|cause| cause.downcast_ref::<rustls::Error>());
            assert_eq!(found, Some(&error));
        }
    }
}
