//! Requests from pages of other sites, which the browser sends with the customer's cookies.

use crate::payment::Payment;
use crate::shop::{Customer, Exchange};
use crate::{Check, Outcome};
use serde_json::{Value, json};

/// A request with this header is refused on all three routes.
pub(super) async fn refused(check: &Check, name: &str, value: &str) -> Outcome {
    let (customer, payment) = check.open_payment().await?;
    let status = format!("/intents/{}", payment.payment_ref);
    for exchange in [
        check.route_request(&customer, "POST", "/session").header(name, value).json(&json!({})).send().await,
        check.route_request(&customer, "POST", "/intents").header(name, value).json(&payment.order).send().await,
        check.route_request(&customer, "GET", &status).header(name, value).send().await,
    ] {
        must_be_refused(&exchange)?;
    }
    Ok(())
}

pub(super) async fn text_plain_refused(check: &Check) -> Outcome {
    let (customer, payment) = check.open_payment().await?;
    let exchange = check.route_request(&customer, "POST", "/intents").body("text/plain", payment.order.to_string());
    must_be_refused(&exchange.send().await)
}

pub(super) async fn foreign_form_refused(check: &Check) -> Outcome {
    let (customer, payment) = check.open_payment().await?;
    let foreign = form(check, &customer, &payment);
    let foreign = foreign.header("Origin", "https://evil.example").header("Sec-Fetch-Site", "cross-site");
    must_be_refused(&foreign.send().await)?;

    let own = form(check, &customer, &payment).on_own_page().send().await;
    let location =
        own.response.as_ref().ok().and_then(|response| response.headers("location").next()).unwrap_or_default();
    let is_checkout = check.service.checkout_urls().iter().any(|checkout_url| checkout_url == location);
    if (300..400).contains(&own.status()) && !is_checkout {
        return Err(own.fail("A form of the shop's own page was redirected, but not to checkout_url."));
    }
    Ok(())
}

fn form<'a>(check: &'a Check, customer: &'a Customer, payment: &Payment) -> crate::shop::RequestBuilder<'a> {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in payment.order.as_object().into_iter().flatten() {
        form.append_pair(name, &value.as_str().map_or_else(|| Value::to_string(value), str::to_owned));
    }
    check.route_request(customer, "POST", "/intents").body("application/x-www-form-urlencoded", form.finish())
}

fn must_be_refused(exchange: &Exchange) -> Outcome {
    match exchange.status() {
        400..=499 => Ok(()),
        _ => Err(exchange.fail("The request was not refused with a 4xx status.")),
    }
}
