//! CORS, `decisions.md` 13: pages may call the operations whose role is not Merchant.

use super::{Route, respond};
use crate::problem::Problem;
use crate::service::Service;
use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use guichet::protocol::Envelope;

/// The response to a preflight of an operation that is open to browsers. `None` for any other request.
pub(super) fn preflight(
    service: &Service,
    routes: &[Route],
    parts: &Parts,
    request_id: &str,
) -> Option<Response<Body>> {
    let wanted =
        parts.headers.get(header::ACCESS_CONTROL_REQUEST_METHOD).filter(|_| parts.method == Method::OPTIONS)?;
    let open = routes
        .iter()
        .find(|route| route.open_to_browsers && route.spec.method.as_str().as_bytes() == wanted.as_bytes())?;
    let mut response = permission(HeaderValue::from_static(open.spec.method.as_str()), request_id);
    allow(service, parts.headers.get(header::ORIGIN), response.headers_mut());
    Some(response)
}

/// The response to a preflight that is allowed.
fn permission(method: HeaderValue, request_id: &str) -> Response<Body> {
    let mut response = respond::plain(StatusCode::NO_CONTENT, String::new(), request_id);
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_TYPE);
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, method);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("authorization, content-type"));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

/// The 404 of an unknown path. It has CORS headers (a decision): no merchant operation is there, and a page that calls
/// an operation which this service does not have must be able to read the 404.
pub(super) fn not_found(service: &Service, parts: &Parts, request_id: &str) -> Response<Body> {
    let for_pages = parts.uri.path().starts_with("/v1/");
    let wanted = parts.headers.get(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match wanted.filter(|_| for_pages && parts.method == Method::OPTIONS) {
        Some(wanted) => permission(wanted.clone(), request_id),
        None => respond::refuse(Problem::route_not_found(), request_id, Envelope::Standard),
    };
    if for_pages {
        allow(service, parts.headers.get(header::ORIGIN), response.headers_mut());
    }
    response
}

/// Allows the pages of every origin to read a response, or only those of `--allow-origin`.
pub(super) fn allow(service: &Service, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
    let allowed = if service.allow_origins.is_empty() {
        Some(HeaderValue::from_static("*"))
    } else {
        headers.append(header::VARY, HeaderValue::from_static("origin"));
        origin
            .filter(|origin| service.allow_origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes()))
            .cloned()
    };
    if let Some(allowed) = allowed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        let exposed = HeaderValue::from_static("request-id, retry-after, date");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
}
