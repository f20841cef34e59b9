//! Whose requests the shop refuses.

use super::*;
use axum::extract::{Request, State};
use axum::middleware::Next;

/// The preflights of other origins, which the right shop does not answer.
pub(super) async fn answer_preflights(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let origin = text(request.headers(), "origin").unwrap_or_default();
    let is_answered = match server.broken {
        AnswersAnyOrigin => !origin.is_empty(),
        AnswersNullOrigin => origin == "null",
        AnswersOriginsBySuffix => origin.ends_with(server.name()),
        _ => false,
    };
    let mut response = next.run(request).await;
    if is_answered {
        let headers = response.headers_mut();
        headers.insert("access-control-allow-origin", origin.parse().unwrap());
        headers.insert("access-control-allow-credentials", "true".parse().unwrap());
    }
    response
}

impl Server {
    /// The host and the port.
    fn name(&self) -> &str {
        self.origin.trim_start_matches("http://")
    }

    pub(super) fn needs_csrf_token(&self) -> bool {
        matches!(self.broken, NeedsCsrfToken | NeedsCsrfTokenAlone)
    }

    pub(super) fn refuse_other_sites(&self, headers: &HeaderMap, route: &str) -> Answer<()> {
        let (origin, site) = (text(headers, "origin"), text(headers, "sec-fetch-site"));
        let has_token = || cookie(headers, "csrf").is_some_and(|token| text(headers, "x-csrf-token") == Some(token));
        if self.needs_csrf_token() && route != "status" && !has_token() {
            return Err(error(403, "csrf"));
        }
        let is_form = content_type(headers).contains("form");
        let trusts_form = match self.broken {
            TrustsForms => is_form,
            TrustsFormsWithoutSite => is_form && site.is_none(),
            TrustsFormsOfAnyOrigin => is_form && origin.is_none(),
            _ => false,
        };
        let origin_is_ours =
            origin.as_ref().is_none_or(|origin| *origin == self.origin || self.trusts_origin(origin, route));
        let site_is_ours = match site.as_deref() {
            None | Some("same-origin" | "none") => true,
            Some("same-site") => self.trusts_same_site(route),
            Some(_) => match self.broken {
                TrustsCrossSite => true,
                ChecksSiteBesideOriginAlone => origin.is_none(),
                TrustsCrossSiteReads => route == "status",
                TrustsCrossSiteSessions => route == "session",
                _ => false,
            },
        };
        if trusts_form || (origin_is_ours && site_is_ours) { Ok(()) } else { Err(error(403, "cross_site")) }
    }

    fn trusts_origin(&self, origin: &str, route: &str) -> bool {
        let host = |name: &str| name.split(':').next().map(str::to_owned);
        match self.broken {
            TrustsOrigins => origin.starts_with("https:"),
            TrustsPrefix => origin.starts_with(&self.origin),
            TrustsSuffix => origin.ends_with(self.name()),
            TrustsAnyPort => origin.split_once("://").and_then(|(_, rest)| host(rest)) == host(self.name()),
            TrustsOwnNameAnywhere => origin.contains(self.name()),
            NeedsCsrfTokenAlone => origin.starts_with("http"),
            ChecksOriginOfOrdersAlone => route != "intents",
            TrustsNull => origin == "null",
            TrustsNullForOrders => origin == "null" && route == "intents",
            TrustsNullForReads => origin == "null" && route == "status",
            TrustsNullForSessions => origin == "null" && route == "session",
            _ => false,
        }
    }

    fn trusts_same_site(&self, route: &str) -> bool {
        match self.broken {
            TrustsSameSite => true,
            TrustsSameSiteOrders => route == "intents",
            TrustsSameSiteReads => route == "status",
            TrustsSameSiteSessions => route == "session",
            _ => false,
        }
    }
}
