//! Requests to the shop, as browsers send them.

use super::checked_shop::CheckedShop;
use super::customer::Customer;
use super::exchange::Exchange;
use crate::environment::{Request, Response, SendError};
use serde_json::{Value, json};
use std::time::Duration;

/// A request that is being written.
#[derive(Clone)]
pub(crate) struct RequestBuilder<'a> {
    shop: &'a CheckedShop,
    customer: &'a Customer,
    request: Request,
    /// What a report shows of the request.
    shown: String,
    notes: Vec<String>,
}

impl CheckedShop {
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
        RequestBuilder { shop: self, customer, request, shown: format!("{method} {path}"), notes: Vec::new() }
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

    /// Sends an order from the shop's page.
    pub(crate) async fn send_order(&self, customer: &Customer, order: &Value) -> Exchange {
        self.route_request(customer, "POST", "/intents").on_own_page().json(order).send().await
    }

    /// Requests a session from the shop's page.
    pub(crate) async fn request_session(&self, customer: &Customer) -> Exchange {
        self.route_request(customer, "POST", "/session").on_own_page().json(&json!({})).send().await
    }

    /// Asks for the status of what this stands for, from the shop's page.
    pub(crate) async fn request_status(&self, customer: &Customer, payment_ref: &str) -> Exchange {
        self.route_request(customer, "GET", &format!("/intents/{payment_ref}")).on_own_page().send().await
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
        let origin = self.shop.page_origin().to_owned();
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
        if let Some(csrf) = &self.shop.options.csrf
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
        let response = self.shop.send(&self.request).await;
        if let Ok(response) = &response {
            self.customer.store(response);
            self.shop.responses.borrow_mut().push((self.shown.clone(), response.clone()));
        }
        Exchange { sent: self.shown, response }
    }
}
