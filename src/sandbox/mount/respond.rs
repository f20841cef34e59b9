//! From what an operation came to, to a response: the two envelopes, and the headers that every response has.

use crate::protocol::Envelope;
use crate::sandbox::desk::Done;
use crate::sandbox::problem::Problem;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};

const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The answer of an operation that was done.
pub(super) fn answer(done: Done, request_id: &str, envelope: Envelope) -> Response<Body> {
    let Done { status, data, message, replayed } = done;
    let body = match envelope {
        Envelope::Session => {
            format!(r#"{{"success":true,"message":"{}","data":{data}}}"#, message.unwrap_or_default())
        }
        Envelope::Standard => {
            let message = message.map(|message| format!(r#","message":"{message}""#)).unwrap_or_default();
            format!(r#"{{"status_code":{},"response_type":"success","data":{data}{message}}}"#, status.as_u16())
        }
    };
    let mut response = plain(status, body, request_id);
    if replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// The answer of a request that was refused.
pub(in crate::sandbox) fn refuse(problem: Problem, request_id: &str, envelope: Envelope) -> Response<Body> {
    let mut response = plain(problem.status, problem.body(request_id, envelope == Envelope::Session), request_id);
    let headers = response.headers_mut();
    if let Some(challenge) = problem.challenge() {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    if let Some(allow) = problem.allow.and_then(|allow| HeaderValue::try_from(allow).ok()) {
        headers.insert(header::ALLOW, allow);
    }
    if problem.status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// A JSON response with the headers that every one has.
pub(in crate::sandbox) fn plain(status: StatusCode, body: String, request_id: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(request_id) = HeaderValue::from_str(request_id) {
        headers.insert(REQUEST_ID, request_id);
    }
    response
}
