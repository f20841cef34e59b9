//! The shop's own JSON API, for its pages.

use crate::app::App;
use crate::catalogue::{COUNTRY, CURRENCY, CUSTOMERS, Customer, Language, PRODUCTS};
use crate::logins::{ended_cookie, login_of, new_login};
use crate::orders::lines_of;
use crate::seller::order_missing;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use guichet::native::{Reason, Refused};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;

const MAX_QUANTITY: u32 = 99;

pub(crate) fn router() -> Router<App> {
    Router::new()
        .route("/shop", get(shop))
        .route("/sign-in", post(sign_in))
        .route("/sign-out", post(sign_out))
        .route("/orders", post(place_order))
        .route("/orders/{id}", get(order))
}

async fn shop(State(app): State<App>, headers: HeaderMap) -> Result<Response, Refused> {
    let customer = app.seller.customer(&headers).await?.map(|(customer, _)| customer);
    let body = json!({
        "base_url": app.service.as_str(), "checkout_origins": [app.service.origin()], "country_code": COUNTRY, "currency": CURRENCY,
        "customers": CUSTOMERS, "customer": customer, "products": PRODUCTS, "has_subscriptions": true,
    });
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response())
}

#[derive(Deserialize)]
struct SignIn {
    customer: String,
}

async fn sign_in(State(app): State<App>, Json(sign_in): Json<SignIn>) -> Result<Response, Refused> {
    let (customer, cookie) = begin_login(&app, &sign_in.customer).await?;
    Ok(([(header::SET_COOKIE, cookie)], Json(json!({"customer": customer}))).into_response())
}

/// Signs a customer in. Returns the cookie, too.
pub(crate) async fn begin_login(app: &App, id: &str) -> Result<(&'static Customer, String), Refused> {
    let unknown = || Refused::new(422, Reason { code: "customer_unknown", message: "There is no such customer." });
    let customer = Customer::of(id).ok_or_else(unknown)?;
    let (cookie, login) = new_login().map_err(Refused::broken)?;
    app.seller.database.begin_login(&login, customer.id).await?;
    Ok((customer, cookie))
}

async fn sign_out(State(app): State<App>, headers: HeaderMap) -> Result<Response, Refused> {
    if let Some(login) = login_of(&headers) {
        app.seller.database.end_login(&login).await?;
        if let Err(refused) = app.sessions.sign_out(&login).await {
            // The customer is signed out of the shop anyway, and the token expires by itself.
            tracing::warn!(code = ?refused.code(), "a session was not revoked at the payment service");
        }
    }
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, ended_cookie())]).into_response())
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
    State(app): State<App>,
    headers: HeaderMap,
    Json(basket): Json<Basket>,
) -> Result<Response, Refused> {
    let (customer, _) = app.seller.customer(&headers).await?.ok_or_else(nobody_is_signed_in)?;
    let mut quantities = BTreeMap::<String, u32>::new();
    for line in basket.lines {
        let quantity = quantities.entry(line.sku).or_default();
        *quantity = quantity.saturating_add(line.quantity);
    }
    if quantities.is_empty() || quantities.values().any(|quantity| !(1..=MAX_QUANTITY).contains(quantity)) {
        let message = &format!("A basket holds 1 to {MAX_QUANTITY} pairs of each shoe.");
        return Err(Refused::new(422, Reason { code: "basket_invalid", message }));
    }
    let unknown = || Refused::new(422, Reason { code: "sku_unknown", message: "The shop does not sell this product." });
    let lines = lines_of(&quantities, basket.language).ok_or_else(unknown)?;
    let order = app.seller.database.place(customer.id, &lines, &app.return_url()).await?;
    Ok((StatusCode::CREATED, Json(order.to_json(None))).into_response())
}

async fn order(State(app): State<App>, headers: HeaderMap, Path(id): Path<String>) -> Result<Response, Refused> {
    let (customer, _) = app.seller.customer(&headers).await?.ok_or_else(nobody_is_signed_in)?;
    let order = app.seller.database.order(&id, customer.id).await?.ok_or_else(order_missing)?;
    let in_ledger = app.ledger.order(order.name().map_err(Refused::broken)?.as_str()).await?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(order.to_json(in_ledger.as_ref()))).into_response())
}

fn nobody_is_signed_in() -> Refused {
    Refused::new(401, Reason { code: "authentication_required", message: "Nobody is signed in." })
}
