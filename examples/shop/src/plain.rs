//! The shop without script, for a browser that does not run the pages': forms that sign in and buy one pair. `Routes`
//! answers what they pay.

use crate::api::begin_login;
use crate::app::App;
use crate::catalogue::{CURRENCY, CUSTOMERS, Customer, Language, PRODUCTS, Product, SHOP_NAME};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use guichet::native::Refused;
use guichet::values::Amount;

pub(crate) fn router() -> Router<App> {
    Router::new().route("/", get(shop).post(sign_in))
}

/// All of its texts are the shop's own.
async fn shop(State(app): State<App>, headers: HeaderMap) -> Result<Response, Refused> {
    let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let page = guichet::values::Language::of_tag(accepted);
    let (language, sign_in, buy) = page.pick((Language::En, "I am", "Buy"), (Language::Fr, "Je suis", "Acheter"));
    let code = page.code();
    let body: String = if app.seller.customer(&headers).await?.is_some() {
        let product = |product: &Product| {
            let (sku, name) = (product.sku, product.name.read_in(language));
            let price = page.money(Amount::units(product.price), CURRENCY);
            format!(
                "<li>{name}, {price} <form method=\"post\" action=\"/guichet/intents\"><input type=\"hidden\" name=\"sku\" value=\"{sku}\">\
                 <button aria-label=\"{buy}, {name}\">{buy}</button></form></li>"
            )
        };
        PRODUCTS.iter().map(product).collect()
    } else {
        let customer = |Customer { id, name, .. }: &Customer| {
            format!(
                "<li><form method=\"post\"><button name=\"customer\" value=\"{id}\">{sign_in} {name}</button></form></li>"
            )
        };
        CUSTOMERS.iter().map(customer).collect()
    };
    let html = format!(
        "<!doctype html>\n<html lang=\"{code}\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{SHOP_NAME}</title>\n<link rel=\"stylesheet\" href=\"/assets/shop.css\">\n<main class=\"narrow\"><h1>{SHOP_NAME}</h1>\n\
         <ul>{body}</ul></main>\n</html>\n"
    );
    Ok(([(header::CACHE_CONTROL, "no-store"), (header::VARY, "Accept-Language")], Html(html)).into_response())
}

async fn sign_in(State(app): State<App>, body: Bytes) -> Result<Response, Refused> {
    // The ids are plain letters, which no form escapes.
    let id = std::str::from_utf8(&body).ok().and_then(|form| form.strip_prefix("customer=")).unwrap_or_default();
    let (_, cookie) = begin_login(&app, id).await?;
    Ok((StatusCode::SEE_OTHER, [(header::SET_COOKIE, &*cookie), (header::LOCATION, "/plain")]).into_response())
}
