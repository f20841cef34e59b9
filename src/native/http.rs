//! Sets up the HTTP library's client for a secret key.

use crate::protocol::{Error, Kind};
use std::time::Duration;

/// The settings of the HTTP client, unless the application brings its own.
#[derive(Default)]
pub(super) struct HttpOptions {
    pub proxies: Vec<reqwest::Proxy>,
    pub roots: Vec<reqwest::Certificate>,
    pub connect_timeout: Option<Duration>,
    pub user_agent_suffix: Option<String>,
}

impl HttpOptions {
    pub(super) fn is_default(&self) -> bool {
        let Self { proxies, roots, connect_timeout, user_agent_suffix } = self;
        proxies.is_empty() && roots.is_empty() && connect_timeout.is_none() && user_agent_suffix.is_none()
    }

    pub(super) fn has_proxy(&self) -> bool {
        !self.proxies.is_empty()
    }

    /// Builds the client. It follows no redirect, which would carry the credential to another address, and uses no
    /// proxy of the environment, which would read plain http. If every address is plain http (`encrypted` is false), it
    /// does not load the machine's certificates.
    pub(super) fn build(self, encrypted: bool) -> Result<reqwest::Client, Error> {
        require_crypto_provider()?;
        let mut user_agent = concat!("guichet/", env!("CARGO_PKG_VERSION")).to_owned();
        if let Some(suffix) = self.user_agent_suffix {
            user_agent.extend([" ", &suffix]);
        }
        let mut builder = reqwest::Client::builder()
            .tls_backend_rustls()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .user_agent(user_agent);
        builder = match (encrypted, self.roots) {
            (true, roots) if roots.is_empty() => builder,
            (true, roots) => builder.tls_certs_merge(roots),
            (false, _) => builder.tls_certs_only([]),
        };
        if let Some(connect_timeout) = self.connect_timeout {
            builder = builder.connect_timeout(connect_timeout);
        }
        for proxy in self.proxies {
            builder = builder.proxy(proxy);
        }
        builder.build().map_err(|error| {
            let message = "The HTTP client cannot be set up. Check the user-agent suffix, the proxies and the root certificates, and \
                           that this machine has CA certificates.";
            Error::new(Kind::Input, message).caused_by(error)
        })
    }
}

/// Makes sure that this process has a crypto provider for TLS, for a library that takes the process's own: rustls
/// panics if it must choose between two. With the feature `native`, aws-lc-rs is installed unless the application has
/// installed another.
///
/// ```
/// # #[cfg(feature = "native")]
/// guichet::native::install_crypto_provider()?;
/// # Ok::<(), guichet::protocol::Error>(())
/// ```
///
/// # Errors
/// Kind `input` without the feature `native`, if the application has installed none.
pub fn install_crypto_provider() -> Result<(), Error> {
    #[cfg(feature = "native")]
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // It fails if another thread has installed one in the meantime.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    }
    require_crypto_provider()
}

/// Checks that TLS has a cryptography provider: the one that the application has installed for its process, or else
/// that of the feature `native`.
fn require_crypto_provider() -> Result<(), Error> {
    if cfg!(feature = "native") || rustls::crypto::CryptoProvider::get_default().is_some() {
        return Ok(());
    }
    Err(Error::new(
        Kind::Input,
        "No crypto provider is installed for TLS. With the feature `native-no-provider`, call `install_default()` of the provider that \
         you have chosen, for example `rustls::crypto::ring::default_provider().install_default()`, before you build the client; or \
         use the feature `native`.",
    ))
}
