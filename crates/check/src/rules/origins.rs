//! Requests from pages of other sites, which the browser sends with the customer's cookies, and other requests that no
//! page of the shop sends.

use crate::outcome::{Outcome, RuleError};
use crate::shop::{CheckedShop, Customer, Exchange, RequestBuilder};
use serde_json::{Value, json};

/// Origins of other sites that a careless comparison takes for this one.
fn hostile_origins(shop: &CheckedShop) -> Vec<String> {
    let own = shop.page_origin();
    let (scheme, host) = own.split_once("://").unwrap_or(("https", own));
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let mut origins = vec![
        "https://evil.example".to_owned(),
        format!("{own}.evil.example"),
        format!("{scheme}://evil-{host}"),
        format!("{scheme}://evil{host}"),
        format!("{scheme}://evil.{host}"),
        format!("{own}@evil.example"),
        format!("{scheme}://evil.example?{own}"),
        format!("{scheme}://evil.example/{host}"),
        format!("{scheme}://evil.example#{host}"),
        format!("{scheme}://{name}:1"),
        format!("{scheme}://{name}.evil.example"),
        format!("{own}0"),
    ];
    if scheme == "https" {
        origins.push(format!("http://{host}:80"));
    }
    origins
}

pub(super) async fn foreign_origin_refused(shop: &CheckedShop) -> Outcome {
    for origin in hostile_origins(shop) {
        refused(shop, ("Origin", &origin)).await?;
    }
    Ok(())
}

pub(super) async fn null_origin_refused(shop: &CheckedShop) -> Outcome {
    refused(shop, ("Origin", "null")).await
}

pub(super) async fn same_site_refused(shop: &CheckedShop) -> Outcome {
    refused(shop, ("Sec-Fetch-Site", "same-site")).await
}

pub(super) async fn cross_site_refused(shop: &CheckedShop) -> Outcome {
    refused(shop, ("Sec-Fetch-Site", "cross-site")).await
}

/// A request with this header is refused on all three routes, and has no effect.
async fn refused(shop: &CheckedShop, header: (&str, &str)) -> Outcome {
    let (customer, payment) = shop.open_payment().await?;
    let status = format!("/intents/{}", payment.payment_ref);
    // An order that the shop has not seen shows whether a refused one is placed.
    let order = shop.fresh_order_or(&payment);
    let session = with(shop.route_request(&customer, "POST", "/session"), header).json(&json!({}));
    must_be_refused(shop, session).await?;
    let sent = with(shop.route_request(&customer, "POST", "/intents"), header).json(&order);
    must_be_refused(shop, sent).await?;
    must_be_refused(shop, with(shop.route_request(&customer, "GET", &status), header)).await
}

/// With the CSRF token: without it the shop refuses the request for another reason.
fn with<'a>(request: RequestBuilder<'a>, (name, value): (&str, &str)) -> RequestBuilder<'a> {
    request.with_csrf_token().header(name, value)
}

pub(super) async fn text_plain_refused(shop: &CheckedShop) -> Outcome {
    let (customer, payment) = shop.open_payment().await?;
    for content_type in [
        "text/plain",
        "text/plain; charset=UTF-8",
        "text/plain; application/json",
        "text/plain;application/json",
        "multipart/form-data; boundary=application/json",
    ] {
        let order = shop.fresh_order_or(&payment);
        let request = shop.route_request(&customer, "POST", "/intents").body(content_type, order.to_string());
        must_be_refused(shop, request).await?;
    }
    Ok(())
}

pub(super) async fn foreign_form_refused(shop: &CheckedShop) -> Outcome {
    let (customer, payment) = shop.open_payment().await?;
    let order = shop.fresh_order_or(&payment);
    let foreign = form(shop, &customer, &order);
    must_be_refused(shop, foreign.header("Origin", "https://evil.example").header("Sec-Fetch-Site", "cross-site"))
        .await?;
    must_be_refused(shop, form(shop, &customer, &order).header("Sec-Fetch-Site", "cross-site")).await?;
    must_be_refused(shop, form(shop, &customer, &order).header("Origin", "https://evil.example")).await?;
    let parts = multipart(shop, &customer, &order).header("Origin", "https://evil.example");
    must_be_refused(shop, parts.header("Sec-Fetch-Site", "cross-site")).await?;

    let own = form(shop, &customer, &payment.order).on_own_page().send().await;
    let location = own.header("location");
    let is_checkout = shop.service.checkout_urls().iter().any(|checkout_url| checkout_url == location);
    // A form that lacks something goes back to the shop's own page.
    let origin = &shop.options.shop.origin;
    let is_own_page =
        location.starts_with(&format!("{origin}/")) || location.starts_with('/') && !location.starts_with("//");
    if (300..400).contains(&own.status()) && !is_checkout && !is_own_page {
        return Err(own.fail("A form of the shop's own page was redirected, but not to checkout_url."));
    }
    Ok(())
}

fn form<'a>(shop: &'a CheckedShop, customer: &'a Customer, order: &Value) -> RequestBuilder<'a> {
    let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields(order)).finish();
    shop.route_request(customer, "POST", "/intents").body("application/x-www-form-urlencoded", form)
}

fn multipart<'a>(shop: &'a CheckedShop, customer: &'a Customer, order: &Value) -> RequestBuilder<'a> {
    let mut body: String = fields(order)
        .map(|(name, value)| format!("--part\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"))
        .collect();
    body.push_str("--part--\r\n");
    shop.route_request(customer, "POST", "/intents").body("multipart/form-data; boundary=part", body)
}

/// The fields of an order, as a form has them.
fn fields(order: &Value) -> impl Iterator<Item = (&str, String)> {
    let fields = order.as_object().into_iter().flatten();
    fields.map(|(name, value)| (name.as_str(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
}

/// Sends a request that the shop refuses with a 4xx status, without a call that creates something.
async fn must_be_refused(shop: &CheckedShop, request: RequestBuilder<'_>) -> Outcome {
    let mark = shop.service.mark();
    let exchange = request.send().await;
    if !(400..500).contains(&exchange.status()) {
        return Err(exchange.fail("The request was not refused with a 4xx status."));
    }
    must_have_no_effect(shop, mark, &exchange, "The request was refused")
}

/// The shop's timer may read meanwhile. It creates nothing that is new.
fn must_have_no_effect(shop: &CheckedShop, mark: usize, exchange: &Exchange, what: &str) -> Result<(), RuleError> {
    let before = shop.service.calls_since(0);
    let is_known = |reference: &Value| {
        before[..mark].iter().any(|call| call.is_creation() && call.body["merchant_reference"] == *reference)
    };
    let created = before[mark..]
        .iter()
        .find(|call| call.is_session() || (call.is_creation() && !is_known(&call.body["merchant_reference"])));
    match created {
        Some(call) => {
            Err(exchange.fail(format!("{what}, and the shop sent {} {} {}.", call.method, call.path, call.body)))
        }
        None => Ok(()),
    }
}

pub(super) async fn other_methods_do_nothing(shop: &CheckedShop) -> Outcome {
    let (customer, payment) = shop.open_payment().await?;
    for method in ["GET", "HEAD", "PUT", "PATCH", "DELETE"] {
        let order = shop.fresh_order_or(&payment);
        let query = form_query(&order);
        let session = "/session?_method=POST".to_owned();
        for path in ["/session".to_owned(), session, format!("/intents?{query}"), "/intents".to_owned()] {
            let mark = shop.service.mark();
            let mut request = shop.route_request(&customer, method, &path);
            if !["GET", "HEAD"].contains(&method) {
                request = request.on_own_page().json(&order);
            }
            let exchange = request.send().await;
            let body = exchange.json();
            if exchange.is_success() && (body["session_token"].is_string() || body["intent"].is_object()) {
                return Err(exchange.fail("The shop answered another method than POST with a session or a payment."));
            }
            must_have_no_effect(shop, mark, &exchange, "The method was not POST")?;
        }
    }
    Ok(())
}

fn form_query(order: &Value) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(fields(order)).append_pair("order", &order.to_string());
    // Some frameworks take it for the method.
    query.append_pair("_method", "POST").append_pair("method", "POST").finish()
}

pub(super) async fn cors_for_own_page(shop: &CheckedShop) -> Outcome {
    let (customer, payment) = shop.open_payment().await?;
    let status = format!("/intents/{}", payment.payment_ref);
    let routes = [("POST", "/session"), ("POST", "/intents"), ("GET", status.as_str())];
    let mut foreign = hostile_origins(shop);
    foreign.push("null".to_owned());
    for origin in &foreign {
        let read = shop.route_request(&customer, "GET", &status).header("Origin", origin);
        let mut requests = vec![read.header("Sec-Fetch-Site", "cross-site")];
        requests.extend(routes.map(|(method, path)| preflight(shop, &customer, method, path, origin)));
        for request in requests {
            let exchange = request.send().await;
            if lets_read(&exchange, origin) {
                return Err(
                    exchange.fail("The shop lets a page of another site read its answers with the customer's cookies.")
                );
            }
        }
    }
    let Some(own) = &shop.options.page_origin else { return Ok(()) };
    if *own == shop.options.shop.origin {
        return Ok(());
    }
    for (method, path) in routes {
        let asked = preflight(shop, &customer, method, path, own).send().await;
        let allowed_headers = asked.header("access-control-allow-headers").to_ascii_lowercase();
        let may_send_json = allowed_headers.split(',').any(|name| name.trim() == "content-type");
        if !asked.is_success() || (method == "POST" && !may_send_json) {
            return Err(asked.fail("The preflight of the shop's page was not answered with its permission."));
        }
        let request = shop.route_request(&customer, method, path).on_own_page();
        let request = match path {
            "/session" => request.json(&json!({})),
            "/intents" => request.json(&payment.order),
            _ => request,
        };
        for exchange in [asked, request.send().await] {
            if !lets_read(&exchange, own) {
                let why = format!("The answer does not let the shop's page at {own} read it with the cookies.");
                return Err(exchange.fail(why));
            }
        }
    }
    Ok(())
}

fn preflight<'a>(
    shop: &'a CheckedShop,
    customer: &'a Customer,
    method: &str,
    path: &str,
    origin: &str,
) -> RequestBuilder<'a> {
    let request = shop.route_request(customer, "OPTIONS", path).header("Origin", origin);
    let request = request.header("Access-Control-Request-Method", method);
    request.header("Access-Control-Request-Headers", "content-type")
}

/// Whether a page of this origin may read the answer, with the customer's cookies.
fn lets_read(exchange: &Exchange, origin: &str) -> bool {
    exchange.header("access-control-allow-origin") == origin
        && exchange.header("access-control-allow-credentials") == "true"
}
