//! The reply to a request: the service's own object, or the error of a refusal.

use super::error::{CallError, field_error};
use super::value::{Members, display, get, get_list, optional, parse};
use crate::flow::Ms;
use crate::protocol::{AttemptResult, Kind, ReplyStatus, Spec};
use crate::values::whole_number;
use gloo_net::http;
use js_sys::{Array, Date, JsString};
use std::rc::Rc;
use std::time::Duration;
use wasm_bindgen::prelude::*;
use web_sys::Response;

#[wasm_bindgen]
extern "C" {
    /// The headers of an object that a custom `fetch` returns.
    type ReplyHeaders;
    #[wasm_bindgen(catch, method, structural)]
    fn get(this: &ReplyHeaders, name: &str) -> Result<Option<Members>, JsValue>;
}

/// What `fetch` resolved to.
pub(crate) enum Received {
    /// The browser's own response.
    Response(http::Response),
    /// An object of a custom `fetch`, which may lack what a `Response` has: then gloo-net panics.
    Unknown(Response),
}

impl Received {
    pub(crate) fn new(response: Response, is_browsers: bool) -> Self {
        if is_browsers { Self::Response(response.into()) } else { Self::Unknown(response) }
    }

    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Response(response) => response.status(),
            Self::Unknown(response) => response.status(),
        }
    }
}

/// The status of a reply with this body, as `ReplyStatus::read` reads it from bytes.
fn stated(http: u16, body: &JsValue) -> u16 {
    let is = |name, word| get(body, name).is_some_and(|value| display(&value) == word);
    let code = get(body, "status_code").and_then(|code| code.as_f64()).unwrap_or_default() as u16;
    ReplyStatus::stated(http, code, is("response_type", "error") || is("success", "false")).counts_as
}

/// A whole reply, of any status.
pub(crate) type Reply = Rc<ReplyContent>;

pub(crate) struct ReplyContent {
    spec: &'static Spec,
    pub(crate) status: u16,
    pub(crate) text: JsValue,
    /// The parsed JSON; `None` if the text is no JSON, or `null`.
    pub(crate) body: Option<JsValue>,
    /// For its headers.
    response: Received,
    /// The credential of the request. The service may repeat it, and no error may show it.
    credential: Option<String>,
}

impl ReplyContent {
    pub(crate) fn new(
        spec: &'static Spec,
        status: u16,
        text: JsValue,
        response: Received,
        credential: Option<String>,
    ) -> Reply {
        let body = parse(&text);
        let status = body.as_ref().filter(|_| status < 300).map_or(status, |body| stated(status, body));
        Rc::new(Self { spec, status, text, body, response, credential })
    }

    /// The member `data` of the envelope, or the whole body without one.
    pub(crate) fn data(&self) -> JsValue {
        self.body.clone().map(data_of).unwrap_or_default()
    }

    /// [`ReplyContent::data`], which must be an array.
    pub(crate) fn array(&self) -> Result<Array, CallError> {
        self.data().dyn_into().map_err(|_| self.unreadable())
    }

    /// The error of a reply that cannot be read.
    pub(crate) fn unreadable(&self) -> CallError {
        let message = match self.body {
            Some(_) => "The reply could not be read.",
            None => "The reply is not JSON: it may be a login form.",
        };
        CallError::of(Kind::Unreadable, message, self.spec.name, Some(self.content()))
    }

    /// The content that an error keeps: the body, or the text if it is not JSON.
    fn content(&self) -> JsValue {
        self.body.as_ref().unwrap_or(&self.text).clone()
    }

    /// The result for the retry table.
    pub(crate) fn result(&self) -> AttemptResult {
        let (mut retry_after, mut retryable) = (None, None);
        if !self.is_success() {
            retry_after = self.header("retry-after").as_deref().and_then(whole_number).map(Duration::from_secs);
            retryable = get(&self.error(), "retryable").map(|retryable| retryable.is_truthy());
        }
        AttemptResult::Reply { status: self.status, retry_after, retryable }
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The service's identifier of the request.
    pub(crate) fn request_id(&self) -> Option<String> {
        self.header("request-id").map(|id| self.redact(id))
    }

    /// The error of a reply with an error status, and with this result, without the credential.
    #[inline(never)]
    pub(crate) fn refused(&self, result: &AttemptResult) -> CallError {
        let fields: Array = get_list(&self.error(), "errors")
            .iter()
            .filter_map(|field| {
                let [code, message] = ["code", "message"].map(|name| self.text_of(&field, name).unwrap_or_default());
                Some(field_error(&self.text_of(&field, "param")?, &code, &message))
            })
            .collect();
        let message = ["message", "error", "detail", "title"].iter().find_map(|name| self.text_of_refusal(name));
        let code = self.text_of_refusal("code");
        CallError::with(
            Kind::of_refusal(self.status, code.as_deref()),
            message.as_deref().unwrap_or("The request was refused: see `reply`."),
            &[
                ("operation", Some(self.spec.name.into())),
                ("retryable", Some(result.is_retryable(self.spec.repeat).into())),
                ("status", Some(self.status.into())),
                ("code", optional(code.as_deref())),
                ("requestId", optional(self.text_of_refusal("request_id").or_else(|| self.request_id()))),
                ("fields", Some(fields.into())),
                ("reply", Some(self.content())),
            ],
        )
    }

    /// A member that is a text and not empty, without the credential.
    #[inline(never)]
    fn text_of(&self, object: &JsValue, name: &str) -> Option<String> {
        get(object, name)?.as_string().filter(|text| !text.is_empty()).map(|text| self.redact(text))
    }

    /// A text of a refusal: of its `error`, or else of the body. As `Refusal::read` reads them, but for the fields of
    /// Laravel and RFC 9457 and the words of a reply that is no JSON, which `reply` keeps: half a kilobyte.
    #[inline(never)]
    fn text_of_refusal(&self, name: &str) -> Option<String> {
        self.text_of(&self.error(), name).or_else(|| self.text_of(self.body.as_ref()?, name))
    }

    /// The body's `error`.
    #[inline(never)]
    fn error(&self) -> JsValue {
        self.body.as_ref().and_then(|body| get(body, "error")).unwrap_or_default()
    }

    /// Its `Date`, in milliseconds since 1970: NaN if it cannot be read.
    pub(crate) fn date(&self) -> Ms {
        Date::parse(&self.header("date").unwrap_or_default())
    }

    fn header(&self, name: &str) -> Option<String> {
        match &self.response {
            Received::Response(response) => response.headers().get(name),
            Received::Unknown(response) => {
                let headers = get(response, "headers")?;
                headers.unchecked_ref::<ReplyHeaders>().get(name).ok()??.as_string()
            }
        }
    }

    /// A text of the reply without the credential.
    fn redact(&self, text: String) -> String {
        match &self.credential {
            Some(secret) if secret.len() > 7 => JsString::from(text).replace_all(secret, "***").into(),
            _ => text,
        }
    }
}

/// The member `data` of a value, or the value itself without one.
pub(crate) fn data_of(value: JsValue) -> JsValue {
    get(&value, "data").unwrap_or(value)
}
