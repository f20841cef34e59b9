//! Requests to the shop, as browsers send them.

use super::environment::{Request, Response, SendError};
use super::{Check, RuleError};
use serde_json::Value;
use std::cell::RefCell;
use std::time::Duration;

/// A browser with its cookies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Customer {
    cookies: RefCell<Vec<(String, String)>>,
}

impl Customer {
    /// Another browser with these cookies.
    pub(crate) fn with_cookies(cookies: Vec<(String, String)>) -> Self {
        Self { cookies: RefCell::new(cookies) }
    }

    /// The names and values of the cookies.
    pub(crate) fn cookies(&self) -> Vec<(String, String)> {
        self.cookies.borrow().clone()
    }

    fn store(&self, response: &Response) {
        let mut cookies = self.cookies.borrow_mut();
        for set in response.headers("set-cookie") {
            let pair = set.split(';').next().unwrap_or_default();
            let Some((name, value)) = pair.split_once('=') else { continue };
            let name = name.trim();
            cookies.retain(|(known, _)| known != name);
            if !value.is_empty() {
                cookies.push((name.to_owned(), value.trim().to_owned()));
            }
        }
    }

    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.borrow().iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    fn header(&self) -> Option<String> {
        let cookies = self.cookies.borrow();
        let pairs: Vec<String> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

/// A request that is being written.
#[derive(Clone)]
pub(crate) struct RequestBuilder<'a> {
    check: &'a Check,
    customer: &'a Customer,
    request: Request,
    /// What a report shows of the request.
    shown: String,
    notes: Vec<String>,
}

impl Check {
    /// A request to a path or an address of the shop, by this customer's browser, without any header but the cookies.
    pub(crate) fn request<'a>(
        &'a self,
        customer: &'a Customer,
        method: &'static str,
        path: &str,
    ) -> RequestBuilder<'a> {
        let origin = if path.starts_with('/') { &*self.options.shop.origin } else { "" };
        let url = format!("{origin}{path}");
        let headers = customer.header().map(|cookies| ("Cookie".to_owned(), cookies)).into_iter().collect();
        let request = Request { method, url, headers, body: String::new() };
        RequestBuilder { check: self, customer, request, shown: format!("{method} {path}"), notes: Vec::new() }
    }

    /// The origin of the shop's page.
    pub(crate) fn page_origin(&self) -> &str {
        self.options.page_origin.as_ref().unwrap_or(&self.options.shop.origin)
    }

    /// Opens the page that a customer opens first.
    pub(crate) async fn open_page(&self, customer: &Customer) -> Exchange {
        self.request(customer, "GET", &self.options.page).send().await
    }

    /// A request to one of the three routes.
    pub(crate) fn route_request<'a>(
        &'a self,
        customer: &'a Customer,
        method: &'static str,
        path: &str,
    ) -> RequestBuilder<'a> {
        let mut request = self.request(customer, method, &format!("{}{path}", self.options.shop.routes));
        // As the page asks: some frameworks answer an error as a page or a redirect otherwise.
        request.set("Accept", "application/json");
        request
    }

    /// Sends a request. A shop that limits requests answers 429: it is sent again after the pause that the shop asks
    /// for.
    async fn send(&self, request: &Request) -> Result<Response, SendError> {
        let mut left = 5;
        loop {
            let response = self.environment.send(request.clone()).await?;
            if response.status != 429 || left == 0 {
                return Ok(response);
            }
            left -= 1;
            let seconds = response.headers("retry-after").next().and_then(|text| text.trim().parse().ok());
            self.pause(Duration::from_secs(seconds.unwrap_or(2_u64).clamp(1, 60))).await;
        }
    }
}

impl RequestBuilder<'_> {
    /// Sends it from a page of the shop: with the headers that the browser adds there, and the CSRF token.
    pub(crate) fn on_own_page(mut self) -> Self {
        let origin = self.check.page_origin().to_owned();
        let is_same_origin = self.request.url.strip_prefix(&*origin).is_some_and(|path| path.starts_with('/'));
        if self.request.method != "GET" || !is_same_origin {
            self.set("Origin", &origin);
        }
        self.set("Referer", &format!("{origin}/"));
        self.set("Sec-Fetch-Site", if is_same_origin { "same-origin" } else { "same-site" });
        self.set("Sec-Fetch-Mode", "cors");
        self.set("Sec-Fetch-Dest", "empty");
        self.with_csrf_token()
    }

    /// Adds the CSRF token of this browser, if the shop has one.
    pub(crate) fn with_csrf_token(mut self) -> Self {
        if let Some(csrf) = &self.check.options.csrf
            && let Some(token) = self.customer.cookie(&csrf.cookie)
        {
            let token = percent_encoding::percent_decode_str(&token).decode_utf8_lossy().into_owned();
            self.set(&csrf.header, &token);
        }
        self
    }

    /// Adds a header that the report shows, in the place of one that the page has set. Cookies are added to those of
    /// the browser.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        let headers = &mut self.request.headers;
        let known = headers.iter().position(|(known, _)| known.eq_ignore_ascii_case(name));
        let known = known.map(|place| headers.remove(place).1);
        match known.filter(|_| name == "Cookie") {
            Some(cookies) => {
                // The login's own cookie stays what it is.
                let is_new =
                    |cookie: &&str| self.customer.cookie(cookie.split('=').next().unwrap_or_default()).is_none();
                let new: Vec<&str> = value.split("; ").filter(is_new).collect();
                self.set(name, &format!("{cookies}; {}", new.join("; ")));
            }
            None => self.set(name, value),
        }
        self.notes.push(format!("{name}: {value}"));
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    pub(crate) fn body(mut self, content_type: &str, body: String) -> Self {
        if content_type != "application/json" {
            self.notes.push(format!("Content-Type: {content_type}"));
        }
        self.shown.push(' ');
        self.shown.push_str(&body);
        self.secret_body(content_type, body)
    }

    /// Sets a body that no report shows: that of a login may have a password.
    pub(crate) fn secret_body(mut self, content_type: &str, body: String) -> Self {
        self.set("Content-Type", content_type);
        self.request.body = body;
        self
    }

    fn set(&mut self, name: &str, value: &str) {
        self.request.headers.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) async fn send(mut self) -> Exchange {
        if !self.notes.is_empty() {
            self.shown.push_str(&format!(" ({})", self.notes.join(", ")));
        }
        let response = self.check.send(&self.request).await;
        if let Ok(response) = &response {
            self.customer.store(response);
            self.check.responses.borrow_mut().push((self.shown.clone(), response.clone()));
        }
        Exchange { sent: self.shown, response }
    }
}

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

    pub(crate) fn is_sign_in_required(&self) -> bool {
        [401, 403, 419].contains(&self.status())
    }

    /// The response's body; null if it is no JSON.
    pub(crate) fn json(&self) -> Value {
        self.response.as_ref().ok().and_then(|response| serde_json::from_str(&response.body).ok()).unwrap_or_default()
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

    fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Response {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Response { status, headers, body: body.to_owned() }
    }

    #[test]
    fn a_customer_sends_each_cookie_once_and_forgets_an_emptied_one() {
        let customer = Customer::default();
        customer.store(&response(200, &[("Set-Cookie", "login=1; Path=/; HttpOnly"), ("set-cookie", "csrf=a=b")], ""));
        customer.store(&response(200, &[("set-cookie", "login=2")], ""));
        assert_eq!(customer.header().as_deref(), Some("csrf=a=b; login=2"));
        customer.store(&response(200, &[("set-cookie", "login=; Max-Age=0")], ""));
        assert_eq!(customer.header().as_deref(), Some("csrf=a=b"));
    }

    #[test]
    fn an_error_has_the_services_shape_only_with_its_status_code_and_message() {
        let exchange = |status, body: &str| Exchange { sent: String::new(), response: Ok(response(status, &[], body)) };
        let shaped = r#"{"status_code":502,"response_type":"error","message":"No.","data":null,"error":{"code":"service_failed"}}"#;
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
