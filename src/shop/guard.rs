//! Protects the merchant's routes, which are called with cookies, so that only the merchant's own pages can call them.

use super::{Reason, Refused, Reply};

/// The headers of a request that say which page sent it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sender<'a> {
    /// `Origin`.
    pub origin: Option<&'a str>,
    /// `Sec-Fetch-Site`.
    pub site: Option<&'a str>,
    /// `Host`, or the authority of the request's address.
    pub host: &'a str,
}

impl Sender<'_> {
    /// Refuses a request from a page of another site. `allowed` are the origins that the shop has named.
    ///
    /// # Errors
    /// [`Refused`] with 403 `cross_site`.
    pub fn admit(&self, allowed: &[String]) -> Result<(), Refused> {
        if self.is_of_another_site(allowed) {
            let message = "Only the shop's own pages may call this address.";
            return Err(Refused::new(403, Reason { code: "cross_site", message }));
        }
        Ok(())
    }

    /// The headers by which a page of a named origin may read the reply, which may be another than the shop's.
    #[must_use]
    pub fn cors(&self, allowed: &[String]) -> Vec<(&'static str, String)> {
        let named = self.origin.filter(|origin| allowed.iter().any(|allowed| allowed == origin));
        let headers = |origin: &str| {
            let credentials = ("access-control-allow-credentials", "true".to_owned());
            vec![("access-control-allow-origin", origin.to_owned()), credentials]
        };
        let mut headers = named.map(headers).unwrap_or_default();
        if !allowed.is_empty() {
            headers.push(("vary", "Origin".to_owned()));
        }
        headers
    }

    /// The reply to a page's question whether it may send a request with these headers, which has passed
    /// [`Self::admit`].
    #[must_use]
    pub fn preflight(&self, allowed: &[String], requested_headers: &str) -> Reply {
        let mut headers = self.cors(allowed);
        headers.push(("access-control-allow-methods", "GET, POST".to_owned()));
        headers.push(("access-control-allow-headers", requested_headers.to_owned()));
        headers.push(("access-control-max-age", "600".to_owned()));
        Reply { status: 204, headers, body: String::new() }
    }

    /// The browser sets both headers, and no page can set them; a request without either is from no page.
    ///
    /// If the shop has named its origins, the whole origin is compared. Otherwise `Sec-Fetch-Site` decides. Without it,
    /// and where it says that no page has caused the request, only the host is compared, and http and https are equal:
    /// a proxy may end TLS, and `X-Forwarded-Proto` cannot be trusted.
    fn is_of_another_site(&self, allowed: &[String]) -> bool {
        // A page without a referrer sends `null` with its own forms too: then the other header decides.
        if let Some(origin) = self.origin.filter(|origin| *origin != "null" && !allowed.is_empty()) {
            return !allowed.iter().any(|allowed| allowed == origin);
        }
        match self.site {
            Some("same-origin") => false,
            Some("none") | None => self.origin.is_some_and(|origin| !is_of_host(origin, self.host)),
            Some(_) => true,
        }
    }
}

/// Whether an http or https origin has this host. The scheme's default port may be left out.
fn is_of_host(origin: &str, host: &str) -> bool {
    let (name, port) = match origin.split_once("://") {
        Some(("https", name)) => (name, ":443"),
        Some(("http", name)) => (name, ":80"),
        _ => return false,
    };
    name.eq_ignore_ascii_case(host) || host.strip_suffix(port).is_some_and(|host| name.eq_ignore_ascii_case(host))
}
