//! Checks of every request to the shop: a known host name, and a body that arrives in time.

use crate::server::host;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::time::Duration;

/// The largest body that is read, in bytes. An order is far smaller.
const BODY_LIMIT: usize = 64 * 1024;
/// The timeout for receiving a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Refuses a request whose `Host` is not this machine (DNS rebinding): a page of another site would be treated as the shop's
/// own.
pub(super) async fn known_hosts_only(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    if host::is_known(host::requested(&parts), &[]) {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let message = "This shop answers only under localhost or a loopback address. Open the address that it printed when it started.";
    (StatusCode::MISDIRECTED_REQUEST, message).into_response()
}

/// Reads the whole body before the handler runs, so that a slow client cannot hold a connection for ever.
pub(super) async fn body_in_time(request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, BODY_LIMIT)).await {
        Ok(Ok(body)) => next.run(Request::from_parts(parts, Body::from(body))).await,
        Ok(Err(_)) => (StatusCode::PAYLOAD_TOO_LARGE, "The body is larger than 64 KiB.").into_response(),
        Err(_) => (StatusCode::REQUEST_TIMEOUT, "The body did not arrive within 30 seconds.").into_response(),
    }
}
