//! Refuses requests that pages of other sites send.

use axum::extract::{Request, State};
use axum::http::header::{HOST, HeaderMap, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderName, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use guichet::native::{Reason, Refused};
use std::net::IpAddr;

/// Refuses a request whose `Host` is not this machine: the domain of another site may resolve to it (DNS rebinding),
/// and that site's pages would count as the shop's own.
pub(crate) async fn known_hosts_only(request: Request, next: Next) -> Response {
    let host = request.uri().authority().cloned().or_else(|| text(request.headers(), HOST)?.parse().ok());
    if host.as_ref().is_some_and(is_this_machine) {
        return next.run(request).await;
    }
    let message = "This shop answers only under localhost or a loopback address. Open the address that it printed when it started.";
    (StatusCode::MISDIRECTED_REQUEST, message).into_response()
}

/// Refuses a request of another site's page, to which the browser may add the shop's cookie. Browsers set these
/// headers, and no page can; a request without them does not come from a page. (The three routes do the same by
/// themselves.) A page of an origin that the shop has named names it in each request, also where a proxy has changed
/// `Host`.
pub(crate) async fn own_pages_only(
    State(origins): State<Vec<String>>,
    request: Request,
    next: Next,
) -> Result<Response, Refused> {
    let headers = request.headers();
    let origin = text(headers, ORIGIN);
    let is_named = origin.is_some_and(|origin| origins.iter().any(|named| named == origin));
    let is_own = match text(headers, HeaderName::from_static("sec-fetch-site")) {
        Some("none") | None => origin.is_none_or(|origin| origin.strip_prefix("http://") == text(headers, HOST)),
        site => site == Some("same-origin"),
    };
    if is_own || is_named {
        return Ok(next.run(request).await);
    }
    Err(Refused::new(403, Reason { code: "cross_site", message: "Only the shop's own pages may call this address." }))
}

fn is_this_machine(host: &Authority) -> bool {
    let name = host.host().trim_start_matches('[').trim_end_matches(']');
    let lower = name.to_ascii_lowercase();
    lower == "localhost"
        || lower.ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"))
}
