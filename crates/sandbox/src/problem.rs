//! Errors of requests, and the error envelope in which they are sent: `decisions.md` 1.

use super::replies::Reply;
use super::rules::Conflict;
use super::store::Unavailable;
use axum::http::StatusCode;
use guichet::protocol::{ErrorCode, ErrorType, FieldError, is_retryable_status};
use guichet::values::printable;
use serde::Serialize;
use serde_json::value::RawValue;

/// The error with which a request is refused.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    pub(super) code: ErrorCode,
    pub(super) message: String,
    /// Whether the connection is closed instead of a response.
    pub(super) closes_connection: bool,
    more: Box<More>,
}

/// The parts that only few errors have.
#[derive(Debug, Default)]
struct More {
    fields: Vec<FieldError>,
    existing_id: Option<String>,
    data: Option<Reply>,
    allow: Option<String>,
}

impl Problem {
    /// An error with this code and its usual status.
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let status = code.status().and_then(|status| StatusCode::from_u16(status).ok());
        Self::with_status(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), code, message)
    }

    /// An error whose status is not the usual one of its code.
    pub(super) fn with_status(status: StatusCode, code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), closes_connection: false, more: Box::default() }
    }

    /// The 422 of all invalid fields of a request.
    pub(super) fn fields(errors: Vec<FieldError>) -> Self {
        let (code, message) =
            errors.first().map_or((ErrorCode::ParameterInvalid, "A field is wrong.".to_owned()), |first| {
                (ErrorCode::from(first.code.as_str()), first.message.clone())
            });
        let mut problem = Self::with_status(StatusCode::UNPROCESSABLE_ENTITY, code, message);
        problem.more.fields = errors;
        problem
    }

    /// The 422 of one field.
    pub(super) fn field(param: &str, code: ErrorCode, message: impl Into<String>) -> Self {
        Self::fields(vec![FieldError::of(param, &code, message)])
    }

    /// The 404 of an object that does not exist or belongs to another caller. Both get the same response, so that
    /// existence is not revealed.
    pub(super) fn missing(what: &str) -> Self {
        Self::new(ErrorCode::ResourceMissing, format!("There is no such {what}."))
    }

    /// The error for a change that an intent's status does not allow. Its message names the status.
    pub(super) fn state(code: ErrorCode, conflict: Conflict) -> Self {
        let message = format!("The payment intent is {} {}", conflict.status.into_str(), conflict.why);
        Self::new(code, message)
    }

    /// The fields that are wrong.
    pub(super) fn params(&self) -> impl Iterator<Item = &str> {
        self.more.fields.iter().map(|field| field.param.as_str())
    }

    /// The first field that is wrong.
    pub(super) fn param(&self) -> Option<&str> {
        self.params().next()
    }

    /// Closes the connection instead of a response.
    pub(super) fn without_response(self) -> Self {
        Self { closes_connection: true, ..self }
    }

    /// Adds the id of the existing object.
    pub(super) fn existing(mut self, id: &str) -> Self {
        self.more.existing_id = Some(id.to_owned());
        self
    }

    /// Sets `data`. Only the 401 of `validate_session` has one.
    pub(super) fn with_data(mut self, data: Reply) -> Self {
        self.more.data = Some(data);
        self
    }

    /// The 405 of a method that a path does not support. `allow` lists the supported ones.
    pub(super) fn method_not_allowed(allow: String) -> Self {
        let mut problem = Self::new(ErrorCode::MethodNotAllowed, format!("This path takes {allow}."));
        problem.more.allow = Some(allow);
        problem
    }

    /// The 404 of an unknown path.
    pub(super) fn route_not_found() -> Self {
        Self::new(ErrorCode::RouteNotFound, "There is nothing at this address.")
    }

    /// A 500 for a defect of the service. Its cause is logged and not sent.
    pub(super) fn internal(cause: &dyn std::fmt::Display) -> Self {
        tracing::error!(cause = %printable(cause), "a request failed because of a defect");
        Self::new(ErrorCode::InternalError, "The sandbox has a defect. Its log says more.")
    }

    /// Whether the same request can succeed later.
    pub(super) fn retryable(&self) -> bool {
        is_retryable_status(self.status.as_u16())
    }

    /// The body of the error response. `session` adds `success:false`, the member of the session envelope.
    pub(super) fn body(&self, request_id: &str, session: bool) -> String {
        #[derive(Serialize)]
        struct Body<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            success: Option<bool>,
            status_code: u16,
            response_type: &'static str,
            message: &'a str,
            data: Option<&'a RawValue>,
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
            data: self.more.data.as_deref(),
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

    /// The `Allow` header of a 405.
    pub(super) fn allow(&self) -> Option<&str> {
        self.more.allow.as_deref()
    }

    /// The `WWW-Authenticate` header of a 401.
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
        tracing::error!(cause = %printable(&cause), "the store is unavailable");
        let message = "The sandbox cannot store or read what this request needs now. Try again.";
        Self::new(ErrorCode::Unavailable, message)
    }
}
