//! Builds responses: the two envelopes, and the headers that every response has.

use crate::problem::Problem;
use crate::requests::Listed;
use crate::server::DropConnection;
use crate::service::{Done, Page};
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use guichet::protocol::{Envelope, Spec};
use guichet::values::Moment;
use serde::Serialize;
use serde_json::value::RawValue;
use std::time::{Duration, UNIX_EPOCH};

const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// After how many seconds a request may be repeated that can succeed later.
pub(crate) const RETRY_AFTER: &str = "1";

/// A response with the mark on which the server closes the connection instead of sending it.
pub(super) fn drop_connection() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    response.extensions_mut().insert(DropConnection);
    response
}

/// Sets the `Date` of a response by the merchant's clock, so that a client can compare `expires_at` with it without a
/// synchronized clock.
pub(super) fn date(response: &mut Response<Body>, now: Moment) {
    let seconds = u64::try_from(now.unix()).unwrap_or_default();
    let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds));
    response.headers_mut().extend(HeaderValue::try_from(date).ok().map(|date| (header::DATE, date)));
}

/// The response of a successful operation.
pub(super) fn answer(done: Done, request_id: &str, spec: &Spec) -> Response<Body> {
    let body = envelope(&done, spec);
    let Done { status, replayed, page, shown, .. } = done;
    let mut response = plain(status, body, request_id);
    if !shown.is_empty() {
        response.extensions_mut().insert(Listed { shown, error: None });
    }
    if replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    if let Some(Page { limit, next_cursor: Some(next), .. }) = page {
        let link = format!("<{}?limit={limit}&starting_after={next}>; rel=\"next\"", spec.path);
        response.headers_mut().extend(HeaderValue::try_from(link).ok().map(|link| (header::LINK, link)));
    }
    response
}

/// The body of a successful operation.
pub(crate) fn envelope(done: &Done, spec: &Spec) -> String {
    #[derive(Serialize)]
    struct OfSession<'a> {
        success: bool,
        message: &'a str,
        data: &'a RawValue,
    }
    #[derive(Serialize)]
    struct Standard<'a> {
        status_code: u16,
        response_type: &'a str,
        data: &'a RawValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pagination: Option<&'a Page>,
    }
    let Done { status, data, message, page, .. } = done;
    let (message, pagination, status_code) = (*message, page.as_ref(), status.as_u16());
    let body = match spec.envelope {
        Envelope::Session => {
            serde_json::to_string(&OfSession { success: true, message: message.unwrap_or_default(), data })
        }
        Envelope::Standard => {
            serde_json::to_string(&Standard { status_code, response_type: "success", data, message, pagination })
        }
    };
    body.expect("a reply is plain words and numbers")
}

/// The response with an error. A client that sends too slowly gets none: its connection is closed.
pub(crate) fn refuse(problem: Problem, request_id: &str, envelope: Envelope) -> Response<Body> {
    if problem.closes_connection { drop_connection() } else { error(problem, request_id, envelope) }
}

/// The response with an error, whatever its status.
pub(super) fn error(problem: Problem, request_id: &str, envelope: Envelope) -> Response<Body> {
    let mut response = plain(problem.status, problem.body(request_id, envelope == Envelope::Session), request_id);
    let error = Some(problem.code.as_str().to_owned());
    response.extensions_mut().insert(Listed { shown: Vec::new(), error });
    let headers = response.headers_mut();
    if let Some(challenge) = problem.challenge() {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    if let Some(allow) = problem.allow().and_then(|allow| HeaderValue::from_str(allow).ok()) {
        headers.insert(header::ALLOW, allow);
    }
    if problem.retryable() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER));
    }
    response
}

/// A JSON response with the headers that every response has.
pub(crate) fn plain(status: StatusCode, body: impl Into<Body>, request_id: &str) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(request_id) = HeaderValue::from_str(request_id) {
        headers.insert(REQUEST_ID, request_id);
    }
    response
}
