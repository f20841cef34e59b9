//! The shop's own JSON API, for its pages.

use super::catalogue::{COUNTRY, CURRENCY, CUSTOMERS, Customer, Language, PRODUCTS};
use super::logins::Logins;
use super::orders::lines_of;
use super::seller::Seller;
use crate::native::{Reason, Refused, Sessions};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;

const MAX_QUANTITY: u32 = 99;

/// The state of the API's handlers.
#[derive(Clone)]
pub(super) struct Api {
    pub seller: Seller,
    /// The session tokens of the signed-in customers.
    pub sessions: Sessions,
    /// The address of the payment service, for the pages.
    pub base_url: String,
    /// The origins of checkout pages that the pages may open.
    pub checkout_origins: Vec<String>,
    /// The page to which a customer returns after paying.
    pub return_url: String,
}

pub(super) fn router(api: Api) -> Router {
    Router::new()
        .route("/shop", get(shop))
        .route("/sign-in", post(sign_in))
        .route("/sign-out", post(sign_out))
        .route("/orders", post(place_order))
        .route("/orders/{id}", get(order))
        .with_state(api)
}

impl Api {
    async fn customer(&self, headers: &HeaderMap) -> Result<Option<&'static Customer>, Refused> {
        self.seller.logins.customer(headers).await.map_err(Refused::broken)
    }

    async fn signed_in(&self, headers: &HeaderMap) -> Result<&'static Customer, Refused> {
        let unauthenticated =
            || Refused::new(401, Reason { code: "authentication_required", message: "Nobody is signed in." });
        self.customer(headers).await?.ok_or_else(unauthenticated)
    }
}

async fn shop(State(api): State<Api>, headers: HeaderMap) -> Result<Response, Refused> {
    let body = json!({
        "base_url": api.base_url, "checkout_origins": api.checkout_origins, "country_code": COUNTRY, "currency": CURRENCY,
        "customers": CUSTOMERS, "customer": api.customer(&headers).await?, "products": PRODUCTS, "has_subscriptions": true,
    });
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response())
}

#[derive(Deserialize)]
struct SignIn {
    customer: String,
}

async fn sign_in(State(api): State<Api>, Json(sign_in): Json<SignIn>) -> Result<Response, Refused> {
    let unknown = || Refused::new(422, Reason { code: "customer_unknown", message: "There is no such customer." });
    let customer = Customer::of(&sign_in.customer).ok_or_else(unknown)?;
    let cookie = api.seller.logins.begin(customer).await.map_err(Refused::broken)?;
    Ok(([(header::SET_COOKIE, cookie)], Json(json!({"customer": customer}))).into_response())
}

async fn sign_out(State(api): State<Api>, headers: HeaderMap) -> Result<Response, Refused> {
    let cookie = api.seller.logins.end(&headers).await.map_err(Refused::broken)?;
    if let Some(login) = Logins::name(&headers)
        && let Err(refused) = api.sessions.sign_out(&login).await
    {
        // The customer is signed out of the shop anyway, and the token expires by itself.
        tracing::warn!(code = %crate::values::printable(refused.code()), "a session was not revoked at the payment service");
    }
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}

#[derive(Deserialize)]
struct Basket {
    lines: Vec<BasketLine>,
    /// The language of the page: the names of the order's lines are in it.
    #[serde(default)]
    language: Language,
}

#[derive(Deserialize)]
struct BasketLine {
    sku: String,
    quantity: u32,
}

/// Places the order of a basket. An equal basket returns the same order until that is paid.
async fn place_order(
    State(api): State<Api>,
    headers: HeaderMap,
    Json(basket): Json<Basket>,
) -> Result<Response, Refused> {
    let customer = api.signed_in(&headers).await?;
    let mut quantities = BTreeMap::<String, u32>::new();
    for line in basket.lines {
        let quantity = quantities.entry(line.sku).or_default();
        *quantity = quantity.saturating_add(line.quantity);
    }
    if quantities.is_empty() || quantities.values().any(|quantity| !(1..=MAX_QUANTITY).contains(quantity)) {
        return Err(Refused::new(
            422,
            Reason {
                code: "basket_invalid",
                message: &format!("A basket holds 1 to {MAX_QUANTITY} pairs of each shoe."),
            },
        ));
    }
    let lines = lines_of(&quantities, basket.language).ok_or_else(|| {
        Refused::new(422, Reason { code: "sku_unknown", message: "The shop does not sell this product." })
    })?;
    let order = api.seller.orders.place(customer.id, &lines, &api.return_url).await.map_err(Refused::broken)?;
    Ok((StatusCode::CREATED, Json(order.to_json())).into_response())
}

async fn order(State(api): State<Api>, headers: HeaderMap, Path(id): Path<String>) -> Result<Response, Refused> {
    let customer = api.signed_in(&headers).await?;
    let missing = || Refused::new(404, Reason { code: "order_missing", message: "There is no such order." });
    let order = api.seller.orders.find(&id, customer.id).await.map_err(Refused::broken)?.ok_or_else(missing)?;
    let order = api.seller.orders.with_refunds(&order).await.map_err(Refused::broken)?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(order)).into_response())
}
