//! Reads the fields of an operation from a request.

use super::RawRequest;
use super::exact::json_errors;
use crate::problem::Problem;
use crate::surroundings::within;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use guichet::protocol::{ErrorCode, FieldLocation, IDEMPOTENCY_KEY, Method, Spec};
use serde_json::{Map, Value};
use std::time::Duration;
use url::form_urlencoded;

/// The largest body, in bytes.
const BODY_LIMIT: usize = 64 * 1024;
/// The timeout for receiving the body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// The deepest nesting of a body.
const DEPTH_LIMIT: usize = 32;

/// The fields of a request, from path, query, body and the header `Idempotency-Key`.
pub(super) async fn fields(spec: &Spec, request: RawRequest) -> Result<Map<String, Value>, Problem> {
    let mut fields = match spec.method {
        Method::Get => Map::new(),
        _ => read_object(&request.headers, &read_body(request.body).await?)?,
    };
    if let Some(name) = fields.keys().find(|name| spec.location(name) != FieldLocation::Body) {
        let message = match spec.location(name) {
            FieldLocation::Header => format!("{name} belongs in a header, and not in the body."),
            _ => format!("{name} belongs in the address alone, and not in the body."),
        };
        return Err(Problem::field(name, ErrorCode::ParameterInvalid, message));
    }
    if spec.location(IDEMPOTENCY_KEY) == FieldLocation::Header
        && let Some(key) = request.headers.get(IDEMPOTENCY_KEY)
    {
        // A key that is not text is refused like an empty one.
        fields.insert(IDEMPOTENCY_KEY.to_owned(), Value::String(key.to_str().unwrap_or_default().to_owned()));
    }
    let path = request.path.map_err(|_| malformed(ErrorCode::InvalidUtf8, "The path is not UTF-8."))?;
    let path = path.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    // Body fields are not read from the query, which logs may store: a one-time code, an amount.
    let query = form_urlencoded::parse(request.uri.query().unwrap_or_default().as_bytes())
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .filter(|(name, _)| spec.location(name) == FieldLocation::Query);
    for (name, value) in path.chain(query) {
        if fields.contains_key(&name) {
            return Err(Problem::field(&name, ErrorCode::ParameterInvalid, format!("{name} is given twice.")));
        }
        fields.insert(name, Value::String(value));
    }
    Ok(fields)
}

/// Reads a body, up to the limit.
pub(crate) async fn read_body(body: Body) -> Result<Bytes, Problem> {
    read_within(body, BODY_TIMEOUT).await
}

async fn read_within(body: Body, time_limit: Duration) -> Result<Bytes, Problem> {
    let too_slow = || Problem::new(ErrorCode::BodyTooSlow, "The body did not arrive in time.").without_response();
    let read = within(time_limit, axum::body::to_bytes(body, BODY_LIMIT)).await.ok_or_else(too_slow)?;
    read.map_err(|_| Problem::new(ErrorCode::BodyTooLarge, "A body is 64 KiB at most."))
}

/// Reads a JSON object. An empty body counts as `{}`. A body that the reader would change, or that cannot be stored, is
/// refused.
pub(crate) fn read_object(headers: &HeaderMap, body: &[u8]) -> Result<Map<String, Value>, Problem> {
    if body.is_empty() {
        return Ok(Map::new());
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        let message = "A body is JSON: send Content-Type: application/json.";
        return Err(Problem::new(ErrorCode::UnsupportedMediaType, message));
    }
    let text = std::str::from_utf8(body).map_err(|_| malformed(ErrorCode::InvalidUtf8, "The body is not UTF-8."))?;
    if depth(text) > DEPTH_LIMIT {
        return Err(malformed(ErrorCode::InvalidJson, "The body is nested too deeply."));
    }
    let errors = json_errors(text);
    if !errors.is_empty() {
        return Err(Problem::fields(errors));
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(malformed(ErrorCode::BodyNotObject, "The body is not a JSON object.")),
        Err(error) => {
            let message = format!("The body is not JSON: look at line {}, column {}.", error.line(), error.column());
            Err(malformed(ErrorCode::InvalidJson, &message))
        }
    }
}

fn malformed(code: ErrorCode, message: &str) -> Problem {
    Problem::new(code, message)
}

/// The deepest nesting of a JSON text.
fn depth(text: &str) -> usize {
    let (mut now, mut most, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                now += 1;
                most = most.max(now);
            }
            b'}' | b']' if !in_string => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;

    #[tokio::test]
    async fn a_body_that_does_not_arrive_in_time_is_refused() {
        let silent = Body::new(Silent);
        let refused = read_within(silent, Duration::from_millis(1)).await.unwrap_err();
        assert_eq!((refused.status, refused.code), (StatusCode::REQUEST_TIMEOUT, ErrorCode::BodyTooSlow));
    }

    /// A body that never sends anything.
    struct Silent;

    impl axum::body::HttpBody for Silent {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
            std::task::Poll::Pending
        }
    }

    #[test]
    fn nesting_depth_ignores_quoted_brackets() {
        assert_eq!(depth(r#"{"a":[{"b":1},2]}"#), 3);
        assert_eq!(depth(r#"{"a":"[[[[","b":"\"[["}"#), 1);
        assert_eq!(depth("]]["), 1);
    }
}
