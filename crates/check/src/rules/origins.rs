//! Requests from pages of other sites, which the browser sends with the customer's cookies, and other requests that no
//! page of the shop sends.

use super::Rule;
use crate::shop::{Customer, Exchange, RequestBuilder};
use crate::{Check, Outcome, RuleError};
use serde_json::{Value, json};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "foreign_origin_refused",
        title: "A request with another site's Origin is refused, also if it only looks like the shop's",
        needs: &[],
        guide: "refuse-other-sites-requests-csrf",
        fix: FIX_ORIGIN,
        run: |check| Box::pin(foreign_origin_refused(check)),
    },
    Rule {
        id: "null_origin_refused",
        title: "A request with the Origin null is refused",
        needs: &[],
        guide: "refuse-other-sites-requests-csrf",
        fix: FIX_ORIGIN,
        run: |check| Box::pin(refused(check, &[("Origin", "null")])),
    },
    Rule {
        id: "same_site_refused",
        title: "A request from another origin of the same site is refused",
        needs: &[],
        guide: "refuse-other-sites-requests-csrf",
        fix: FIX_SITE,
        run: |check| Box::pin(refused(check, &[("Sec-Fetch-Site", "same-site")])),
    },
    Rule {
        id: "cross_site_refused",
        title: "A request from another site is refused by Sec-Fetch-Site",
        needs: &[],
        guide: "refuse-other-sites-requests-csrf",
        fix: FIX_SITE,
        run: |check| Box::pin(refused(check, &[("Sec-Fetch-Site", "cross-site")])),
    },
    Rule {
        id: "text_plain_refused",
        title: "A body of text/plain, or of another type that needs no permission across sites, is refused",
        needs: &[],
        guide: "refuse-other-sites-requests-csrf",
        fix: "Accept application/json only, and answer 415 otherwise: a page of another site sends text/plain without asking.",
        run: |check| Box::pin(text_plain_refused(check)),
    },
    Rule {
        id: "foreign_form_refused",
        title: "A form of another site is refused; one of the shop may answer 303 to checkout_url",
        needs: &[],
        guide: "refuse-other-sites-requests-csrf",
        fix: "Check Origin and Sec-Fetch-Site before the body is read, also for forms, or accept JSON only.",
        run: |check| Box::pin(foreign_form_refused(check)),
    },
    Rule {
        id: "other_methods_do_nothing",
        title: "Sessions and payments are created by POST alone: a link and an image send GET with the cookie",
        needs: &[],
        guide: "refuse-other-sites-requests-csrf",
        fix: "Route POST /session, POST /intents and GET /intents/{payment_ref} alone, and answer 404 or 405 to all other methods.",
        run: |check| Box::pin(other_methods_do_nothing(check)),
    },
    Rule {
        id: "cors_for_own_page",
        title: "No other site may read an answer; a page on another origin (--page-origin) may, with the cookie",
        needs: &[],
        guide: "refuse-other-sites-requests-csrf",
        fix: "Answer Access-Control-Allow-Origin with the one origin of your page and Access-Control-Allow-Credentials: true, also to the \
              preflight. Never answer with * or with whatever Origin was sent.",
        run: |check| Box::pin(cors_for_own_page(check)),
    },
];

const FIX_ORIGIN: &str = "Refuse a request whose Origin is not your own with 403, on all three routes: compare the whole text, and null is not your own either.";
const FIX_SITE: &str =
    "Refuse a request whose Sec-Fetch-Site is neither same-origin nor none with 403, on all three routes.";

/// Origins of other sites that a careless comparison takes for this one.
fn hostile_origins(check: &Check) -> Vec<String> {
    let own = check.page_origin();
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

async fn foreign_origin_refused(check: &Check) -> Outcome {
    for origin in hostile_origins(check) {
        refused(check, &[("Origin", &origin)]).await?;
    }
    Ok(())
}

/// A request with these headers is refused on all three routes, and has no effect.
async fn refused(check: &Check, headers: &[(&str, &str)]) -> Outcome {
    let (customer, payment) = check.open_payment().await?;
    let status = format!("/intents/{}", payment.payment_ref);
    // An order that the shop has not seen shows whether a refused one is placed.
    let order = check.fresh_order().unwrap_or_else(|| payment.order.clone());
    let session = with(check.route_request(&customer, "POST", "/session"), headers).json(&json!({}));
    must_be_refused(check, session).await?;
    let sent = with(check.route_request(&customer, "POST", "/intents"), headers).json(&order);
    must_be_refused(check, sent).await?;
    must_be_refused(check, with(check.route_request(&customer, "GET", &status), headers)).await
}

/// With the CSRF token: without it the shop refuses the request for another reason.
fn with<'a>(request: RequestBuilder<'a>, headers: &[(&str, &str)]) -> RequestBuilder<'a> {
    headers.iter().fold(request.with_csrf_token(), |request, (name, value)| request.header(name, value))
}

async fn text_plain_refused(check: &Check) -> Outcome {
    let (customer, payment) = check.open_payment().await?;
    for content_type in [
        "text/plain",
        "text/plain; charset=UTF-8",
        "text/plain; application/json",
        "text/plain;application/json",
        "multipart/form-data; boundary=application/json",
    ] {
        let order = check.fresh_order().unwrap_or_else(|| payment.order.clone());
        let request = check.route_request(&customer, "POST", "/intents").body(content_type, order.to_string());
        must_be_refused(check, request).await?;
    }
    Ok(())
}

async fn foreign_form_refused(check: &Check) -> Outcome {
    let (customer, payment) = check.open_payment().await?;
    let order = check.fresh_order().unwrap_or_else(|| payment.order.clone());
    let foreign = form(check, &customer, &order);
    must_be_refused(check, foreign.header("Origin", "https://evil.example").header("Sec-Fetch-Site", "cross-site"))
        .await?;
    must_be_refused(check, form(check, &customer, &order).header("Sec-Fetch-Site", "cross-site")).await?;
    must_be_refused(check, form(check, &customer, &order).header("Origin", "https://evil.example")).await?;
    let parts = multipart(check, &customer, &order).header("Origin", "https://evil.example");
    must_be_refused(check, parts.header("Sec-Fetch-Site", "cross-site")).await?;

    let own = form(check, &customer, &payment.order).on_own_page().send().await;
    let location =
        own.response.as_ref().ok().and_then(|response| response.headers("location").next()).unwrap_or_default();
    let is_checkout = check.service.checkout_urls().iter().any(|checkout_url| checkout_url == location);
    // A form that lacks something goes back to the shop's own page.
    let origin = &check.options.shop.origin;
    let is_own_page =
        location.starts_with(&format!("{origin}/")) || location.starts_with('/') && !location.starts_with("//");
    if (300..400).contains(&own.status()) && !is_checkout && !is_own_page {
        return Err(own.fail("A form of the shop's own page was redirected, but not to checkout_url."));
    }
    Ok(())
}

fn form<'a>(check: &'a Check, customer: &'a Customer, order: &Value) -> RequestBuilder<'a> {
    let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields(order)).finish();
    check.route_request(customer, "POST", "/intents").body("application/x-www-form-urlencoded", form)
}

fn multipart<'a>(check: &'a Check, customer: &'a Customer, order: &Value) -> RequestBuilder<'a> {
    let mut body: String = fields(order)
        .map(|(name, value)| format!("--part\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"))
        .collect();
    body.push_str("--part--\r\n");
    check.route_request(customer, "POST", "/intents").body("multipart/form-data; boundary=part", body)
}

/// The fields of an order, as a form has them.
fn fields(order: &Value) -> impl Iterator<Item = (&str, String)> {
    let fields = order.as_object().into_iter().flatten();
    fields.map(|(name, value)| (name.as_str(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
}

/// Sends a request that the shop refuses with a 4xx status, without a call that creates something.
async fn must_be_refused(check: &Check, request: RequestBuilder<'_>) -> Outcome {
    let mark = check.service.mark();
    let exchange = request.send().await;
    if !(400..500).contains(&exchange.status()) {
        return Err(exchange.fail("The request was not refused with a 4xx status."));
    }
    must_have_no_effect(check, mark, &exchange, "The request was refused")
}

/// The shop's timer may read meanwhile. It creates nothing that is new.
fn must_have_no_effect(check: &Check, mark: usize, exchange: &Exchange, what: &str) -> Result<(), RuleError> {
    let before = check.service.calls_since(0);
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

async fn other_methods_do_nothing(check: &Check) -> Outcome {
    let (customer, payment) = check.open_payment().await?;
    for method in ["GET", "HEAD", "PUT", "PATCH", "DELETE"] {
        let order = check.fresh_order().unwrap_or_else(|| payment.order.clone());
        let query = form_query(&order);
        let session = "/session?_method=POST".to_owned();
        for path in ["/session".to_owned(), session, format!("/intents?{query}"), "/intents".to_owned()] {
            let mark = check.service.mark();
            let mut request = check.route_request(&customer, method, &path);
            if !["GET", "HEAD"].contains(&method) {
                request = request.on_own_page().json(&order);
            }
            let exchange = request.send().await;
            let body = exchange.json();
            if exchange.is_success() && (body["session_token"].is_string() || body["intent"].is_object()) {
                return Err(exchange.fail("The shop answered another method than POST with a session or a payment."));
            }
            must_have_no_effect(check, mark, &exchange, "The method was not POST")?;
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

async fn cors_for_own_page(check: &Check) -> Outcome {
    let (customer, payment) = check.open_payment().await?;
    let status = format!("/intents/{}", payment.payment_ref);
    let routes = [("POST", "/session"), ("POST", "/intents"), ("GET", status.as_str())];
    let mut foreign = hostile_origins(check);
    foreign.push("null".to_owned());
    for origin in &foreign {
        for (method, path) in routes {
            let exchange = preflight(check, &customer, method, path, origin).send().await;
            let [allowed, credentials] = cors_of(&exchange);
            if allowed == *origin && credentials == "true" {
                return Err(
                    exchange.fail("The shop lets a page of another site read its answers with the customer's cookies.")
                );
            }
        }
        let mut request = check.route_request(&customer, "GET", &status).header("Origin", origin);
        request = request.header("Sec-Fetch-Site", "cross-site");
        let exchange = request.send().await;
        let [allowed, credentials] = cors_of(&exchange);
        if allowed == *origin && credentials == "true" {
            return Err(
                exchange.fail("The shop lets a page of another site read its answers with the customer's cookies.")
            );
        }
    }
    let Some(own) = &check.options.page_origin else { return Ok(()) };
    if *own == check.options.shop.origin {
        return Ok(());
    }
    for (method, path) in routes {
        let asked = preflight(check, &customer, method, path, own).send().await;
        let allowed_headers = header_of(&asked, "access-control-allow-headers").to_ascii_lowercase();
        let may_send_json = allowed_headers.split(',').any(|name| name.trim() == "content-type");
        if !asked.is_success() || (method == "POST" && !may_send_json) {
            return Err(asked.fail("The preflight of the shop's page was not answered with its permission."));
        }
        let request = check.route_request(&customer, method, path).on_own_page();
        let request = match path {
            "/session" => request.json(&json!({})),
            "/intents" => request.json(&payment.order),
            _ => request,
        };
        for exchange in [asked, request.send().await] {
            let [allowed, credentials] = cors_of(&exchange);
            if allowed != *own || credentials != "true" {
                let why = format!("The answer does not let the shop's page at {own} read it with the cookies.");
                return Err(exchange.fail(why));
            }
        }
    }
    Ok(())
}

fn preflight<'a>(
    check: &'a Check,
    customer: &'a Customer,
    method: &str,
    path: &str,
    origin: &str,
) -> RequestBuilder<'a> {
    let request = check.route_request(customer, "OPTIONS", path).header("Origin", origin);
    let request = request.header("Access-Control-Request-Method", method);
    request.header("Access-Control-Request-Headers", "content-type")
}

/// Access-Control-Allow-Origin and -Credentials.
fn cors_of(exchange: &Exchange) -> [String; 2] {
    ["access-control-allow-origin", "access-control-allow-credentials"].map(|name| header_of(exchange, name))
}

fn header_of(exchange: &Exchange, name: &str) -> String {
    let response = exchange.response.as_ref().ok();
    response.and_then(|response| response.headers(name).next()).unwrap_or_default().to_owned()
}
