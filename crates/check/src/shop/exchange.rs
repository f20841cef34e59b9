//! A request of a browser, and what the shop answered.

use crate::environment::{Response, SendError};
use crate::outcome::RuleError;
use serde_json::Value;

/// A request and its response.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) sent: String,
    pub(crate) response: Result<Response, SendError>,
}

impl Exchange {
    /// The response's status; 0 if there is no response.
    pub(crate) fn status(&self) -> u16 {
        self.response.as_ref().map_or(0, |response| response.status)
    }

    /// The JSON of the response, or what is in its envelope.
    pub(crate) fn data(&self) -> Value {
        let mut body = self.json();
        if body["data"].is_object() { body["data"].take() } else { body }
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status())
    }

    /// Whether the shop did not answer, or could not reach the service.
    pub(crate) fn is_unavailable(&self) -> bool {
        [0, 502, 503].contains(&self.status())
    }

    pub(crate) fn is_sign_in_required(&self) -> bool {
        [401, 403, 419].contains(&self.status())
    }

    /// The response's body; null if it is no JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.text()).unwrap_or_default()
    }

    /// The response's body; empty if there is no response.
    pub(crate) fn text(&self) -> &str {
        self.response.as_ref().map(|response| response.body.as_str()).unwrap_or_default()
    }

    /// The first value of a header of the response; empty if there is none.
    pub(crate) fn header<'a>(&'a self, name: &'a str) -> &'a str {
        let response = self.response.as_ref().ok();
        response.and_then(|response| response.headers(name).next()).unwrap_or_default()
    }

    /// Whether the response says that the payment has this status.
    pub(crate) fn tells(&self, status: &str) -> bool {
        self.json()["status"] == status
    }

    /// Whether it says that the payment has ended.
    pub(crate) fn tells_end(&self) -> bool {
        ["succeeded", "failed", "canceled"].iter().any(|status| self.tells(status))
    }

    /// The response for a report.
    pub(crate) fn response_text(&self) -> String {
        match &self.response {
            Err(broken) => broken.to_string(),
            Ok(response) => {
                let locations = response.headers("location").map(|location| format!(" Location: {location}"));
                format!("{}{} {}", response.status, locations.collect::<String>(), response.body)
            }
        }
    }

    /// A failed rule, because of this exchange.
    pub(crate) fn fail(&self, why: impl Into<String>) -> RuleError {
        RuleError::Failed { why: why.into(), sent: self.sent.clone(), came: self.response_text() }
    }

    /// Whether the response is an error in the service's shape.
    pub(crate) fn is_error_in_shape(&self) -> bool {
        let body = self.json();
        let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        let status_agrees = body["status_code"].as_u64().is_none_or(|status| status == u64::from(self.status()));
        self.status() >= 400
            && body["response_type"] == "error"
            && is_text(&body["message"])
            && is_text(&body["error"]["code"])
            && status_agrees
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, body: &str) -> Response {
        Response { status, headers: Vec::new(), body: body.to_owned() }
    }

    #[test]
    fn an_error_has_the_services_shape_only_with_its_status_code_and_message() {
        let exchange = |status, body: &str| Exchange { sent: String::new(), response: Ok(response(status, body)) };
        let shaped = r#"{"status_code":502,"response_type":"error","message":"No.","data":null,
            "error":{"code":"service_failed"}}"#;
        assert!(exchange(502, shaped).is_error_in_shape());
        assert!(!exchange(200, shaped).is_error_in_shape());
        assert!(!exchange(503, shaped).is_error_in_shape(), "another status");
        for body in
            ["", "<html>", r#"{"error":"No."}"#, r#"{"response_type":"error","message":"","error":{"code":"x"}}"#]
        {
            assert!(!exchange(502, body).is_error_in_shape(), "{body}");
        }
        let guide =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/shop.md")).expect("the guide");
        let (_, shown) = guide.split_once("```json shop Error\n").expect("the guide shows an error");
        let (shown, _) = shown.split_once("```").expect("the block ends");
        assert!(exchange(503, shown).is_error_in_shape(), "{shown}");
    }
}
