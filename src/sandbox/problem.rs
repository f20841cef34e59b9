//! Why a request was refused, and how that is written: the error envelope of `decisions.md` 1.

use super::rules::Conflict;
use super::store::Unavailable;
use crate::protocol::{ErrorCode, ErrorType, FieldError, is_retryable_status};
use crate::values::printable;
use axum::http::StatusCode;
use serde::Serialize;

/// A refusal.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    pub(super) code: ErrorCode,
    pub(super) message: String,
    more: Box<More>,
}

/// What few refusals have.
#[derive(Debug, Default)]
struct More {
    fields: Vec<FieldError>,
    existing_id: Option<String>,
    data: Option<String>,
    allow: Option<String>,
}

impl Problem {
    /// A refusal with this code, and the status that it comes with.
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let status = code.status().and_then(|status| StatusCode::from_u16(status).ok());
        Self::with_status(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), code, message)
    }

    /// A refusal with another status than its code comes with.
    pub(super) fn with_status(status: StatusCode, code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), more: Box::default() }
    }

    /// Fields that were refused, all together.
    pub(super) fn fields(errors: Vec<FieldError>) -> Self {
        let (code, message) =
            errors.first().map_or((ErrorCode::ParameterInvalid, "A field is wrong.".to_owned()), |first| {
                (ErrorCode::from(first.code.as_str()), first.message.clone())
            });
        let mut problem = Self::with_status(StatusCode::UNPROCESSABLE_ENTITY, code, message);
        problem.more.fields = errors;
        problem
    }

    /// One field that a rule refuses.
    pub(super) fn field(param: &str, code: ErrorCode, message: impl Into<String>) -> Self {
        Self::fields(vec![FieldError::of(param, &code, message)])
    }

    /// Not there, or not this caller's: the answer is the same, so that nobody learns that it exists.
    pub(super) fn missing(what: &str) -> Self {
        Self::new(ErrorCode::ResourceMissing, format!("There is no such {what}."))
    }

    /// A move that the state of an intent does not allow; the sentence names the state.
    pub(super) fn state(code: ErrorCode, conflict: Conflict) -> Self {
        let message = format!("The payment intent is {} {}", conflict.status.as_str(), conflict.why);
        Self::new(code, message)
    }

    /// With the id of what is there already.
    pub(super) fn existing(mut self, id: &str) -> Self {
        self.more.existing_id = Some(id.to_owned());
        self
    }

    /// With `data`, as JSON: only the 401 of a session that is asked about has some.
    pub(super) fn with_data(mut self, data: String) -> Self {
        self.more.data = Some(data);
        self
    }

    /// A method that a path does not take, and those that it does.
    pub(super) fn method_not_allowed(allow: String) -> Self {
        let mut problem = Self::new(ErrorCode::MethodNotAllowed, format!("This path takes {allow}."));
        problem.more.allow = Some(allow);
        problem
    }

    /// A path that is no route.
    pub(super) fn route_not_found() -> Self {
        Self::new(ErrorCode::RouteNotFound, "There is nothing at this address.")
    }

    /// Something of ours is broken; what it is goes to the log.
    pub(super) fn internal(cause: &dyn std::fmt::Display) -> Self {
        tracing::error!(cause = %printable(cause), "a request could not be answered");
        Self::new(ErrorCode::InternalError, "The sandbox has a defect. Its log says more.")
    }

    /// Whether the same request can succeed later.
    pub(super) fn retryable(&self) -> bool {
        is_retryable_status(self.status.as_u16())
    }

    /// The body; `session` adds what the session envelope always has.
    pub(super) fn body(&self, request_id: &str, session: bool) -> String {
        #[derive(Serialize)]
        struct Body<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            success: Option<bool>,
            status_code: u16,
            response_type: &'static str,
            message: &'a str,
            data: Option<&'a serde_json::value::RawValue>,
            error: Member<'a>,
        }
        #[derive(Serialize)]
        struct Member<'a> {
            r#type: &'static str,
            code: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            param: Option<&'a str>,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            errors: &'a [FieldError],
            #[serde(skip_serializing_if = "Option::is_none")]
            existing_id: Option<&'a str>,
            request_id: &'a str,
            retryable: bool,
        }
        let body = Body {
            success: session.then_some(false),
            status_code: self.status.as_u16(),
            response_type: "error",
            message: &self.message,
            data: self.more.data.as_deref().and_then(|data| serde_json::from_str(data).ok()),
            error: Member {
                r#type: ErrorType::of(self.status.as_u16()).as_str(),
                code: self.code.as_str(),
                param: self.more.fields.first().map(|field| field.param.as_str()),
                errors: &self.more.fields,
                existing_id: self.more.existing_id.as_deref(),
                request_id,
                retryable: self.retryable(),
            },
        };
        serde_json::to_string(&body).expect("an error is plain words and numbers")
    }

    /// The methods that a path takes, of a 405.
    pub(super) fn allow(&self) -> Option<&str> {
        self.more.allow.as_deref()
    }

    /// What the challenge of a 401 says.
    pub(super) fn challenge(&self) -> Option<&'static str> {
        match (self.status, &self.code) {
            (StatusCode::UNAUTHORIZED, ErrorCode::AuthenticationRequired) => Some(r#"Bearer realm="guichet""#),
            (StatusCode::UNAUTHORIZED, _) => Some(r#"Bearer realm="guichet", error="invalid_token""#),
            _ => None,
        }
    }
}

impl From<Unavailable> for Problem {
    fn from(cause: Unavailable) -> Self {
        tracing::error!(cause = %printable(cause), "the store did not answer");
        Self::new(ErrorCode::Unavailable, "The sandbox cannot store or read anything now. Try again.")
    }
}
