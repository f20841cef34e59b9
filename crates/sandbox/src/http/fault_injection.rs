//! Injects faults into a call, before or after it is executed.

use super::respond::{drop_connection, error};
use crate::FaultKind;
use crate::problem::Problem;
use crate::surroundings::sleep;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use guichet::protocol::{Envelope, ErrorCode};
use http_body::Frame;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Applies a fault that acts before the call. Returns the response that replaces the call, or `None` if the call must
/// be executed.
pub(super) async fn before(fault: Option<FaultKind>, request_id: &str, envelope: Envelope) -> Option<Response<Body>> {
    match fault? {
        FaultKind::Drop => Some(drop_connection()),
        FaultKind::Status { status, retry_after } => {
            let mut response = error(Problem::injected(status), request_id, envelope);
            if let Some(seconds) = retry_after {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            }
            Some(response)
        }
        FaultKind::Delay { milliseconds } => {
            sleep(Duration::from_millis(milliseconds)).await;
            None
        }
        FaultKind::LostResponse | FaultKind::Malformed | FaultKind::Truncate => None,
    }
}

/// Applies a fault to the response of an executed call.
pub(super) async fn after(fault: Option<FaultKind>, mut response: Response<Body>) -> Response<Body> {
    match fault {
        Some(FaultKind::LostResponse) => drop_connection(),
        Some(FaultKind::Malformed) => {
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
            *response.body_mut() =
                Body::from("<!doctype html><html><title>Bad gateway</title><h1>Bad gateway</h1></html>");
            response
        }
        Some(FaultKind::Truncate) => truncate(response).await,
        Some(FaultKind::Delay { .. } | FaultKind::Drop | FaultKind::Status { .. }) | None => response,
    }
}

/// The same response with a body that fails after its first half.
async fn truncate(mut response: Response<Body>) -> Response<Body> {
    let body = std::mem::take(response.body_mut());
    let Ok(whole) = axum::body::to_bytes(body, usize::MAX).await else { return drop_connection() };
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(whole.len()));
    *response.body_mut() = Body::new(Half { first: Some(whole.slice(..whole.len() / 2)), has_yielded: false });
    response
}

/// A body that fails after its first half.
struct Half {
    first: Option<Bytes>,
    has_yielded: bool,
}

impl axum::body::HttpBody for Half {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        if !self.has_yielded {
            // Yields once: the server sends the first half before it reads the error.
            self.has_yielded = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(io::Error::other("the injected fault ends the body here"))))
    }
}

impl Problem {
    /// The error of an injected `status` fault. Nothing was done.
    fn injected(status: u16) -> Self {
        let code = match status {
            400 => ErrorCode::InvalidJson,
            401 => ErrorCode::SessionExpired,
            403 => ErrorCode::RoleRequired,
            404 => ErrorCode::ResourceMissing,
            405 => ErrorCode::MethodNotAllowed,
            408 => ErrorCode::BodyTooSlow,
            409 => ErrorCode::IntentNotConfirmable,
            413 => ErrorCode::BodyTooLarge,
            415 => ErrorCode::UnsupportedMediaType,
            422 => ErrorCode::ParameterInvalid,
            429 => ErrorCode::RateLimited,
            503 => ErrorCode::Unavailable,
            _ => ErrorCode::InternalError,
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::with_status(status, code, "This fault was injected by the control API. Nothing was done.")
    }
}
