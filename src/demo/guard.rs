//! What every request to the shop must be: for a host name that is the shop's own, and complete in time.

use crate::server::host;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::time::Duration;

/// How much of a body is read. An order is far smaller.
const BODY_LIMIT: usize = 64 * 1024;
/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Refuses a request for a host that is not this machine: another site's page may have been pointed at it (DNS rebinding),
/// and would then read as the shop's own.
pub(super) async fn known_hosts_only(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    if host::is_known(host::requested(&parts), &[]) {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let message =
        "This shop answers under localhost or a loopback address. Open the address that it printed when it started.";
    (StatusCode::MISDIRECTED_REQUEST, message).into_response()
}

/// Reads the body before anything else does, so that a client that sends it slowly cannot hold a connection for ever.
pub(super) async fn body_in_time(request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, BODY_LIMIT)).await {
        Ok(Ok(body)) => next.run(Request::from_parts(parts, Body::from(body))).await,
        Ok(Err(_)) => (StatusCode::PAYLOAD_TOO_LARGE, "A body is 64 KiB at most.").into_response(),
        Err(_) => (StatusCode::REQUEST_TIMEOUT, "The body did not arrive in time.").into_response(),
    }
}
