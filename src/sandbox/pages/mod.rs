//! The hosted checkout page, under `/checkout`. It uses the npm package as any page would.

mod challenge;
mod files;

use super::desk::Desk;
use super::rules::MOST_ATTEMPTS;
use crate::package::Package;
use crate::values::{IntentId, printable};
use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::middleware::map_response;
use axum::routing::get;
use std::sync::Arc;

/// What the page may do: `decisions.md` 10.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; style-src 'self'; \
                      img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";
/// The entry of the package that the page imports.
const ENTRY: &str = "hosted.js";

/// What the pages need to know.
pub(super) struct Pages {
    pub(super) desk: Arc<Desk>,
    pub(super) package: Package,
}

#[derive(Template)]
#[template(path = "checkout/index.html")]
struct Checkout<'a> {
    merchant: &'a str,
    /// How many attempts a payment has: the service's rule, which the page only counts by.
    attempts: u32,
}

/// The routes of the hosted page.
pub(super) fn routes(pages: Arc<Pages>) -> Router {
    Router::new()
        .route("/checkout/{id}", get(checkout))
        .route("/checkout/{id}/challenge", get(challenge::page).post(challenge::decide))
        .route("/checkout/assets/{*path}", get(asset))
        .nest("/checkout/package", pages.package.files())
        .layer(map_response(guarded))
        .with_state(pages)
}

/// The page of one payment. Whose it is, it says; whether it exists, it does not: the client secret in the address's
/// fragment reaches no server.
async fn checkout(State(pages): State<Arc<Pages>>, Path(id): Path<String>) -> Response<Body> {
    if let Some(missing) = pages.package.missing(ENTRY) {
        return page(StatusCode::SERVICE_UNAVAILABLE, missing);
    }
    let merchant = match IntentId::new(id) {
        Ok(id) => pages
            .desk
            .store
            .intent(&id)
            .await
            .ok()
            .flatten()
            .and_then(|intent| pages.desk.merchants.by_id(&intent.merchant)),
        Err(_) => None,
    };
    let merchant = merchant.as_ref().map_or("", |merchant| merchant.name.as_str());
    match (Checkout { merchant, attempts: MOST_ATTEMPTS }).render() {
        Ok(text) => page(StatusCode::OK, text),
        Err(error) => {
            tracing::error!(error = %printable(error), "the checkout page cannot be rendered");
            page(StatusCode::INTERNAL_SERVER_ERROR, "The page cannot be shown.".into())
        }
    }
}

async fn asset(Path(path): Path<String>) -> Response<Body> {
    files::embedded(&path)
}

fn page(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

/// With the headers that everything under `/checkout` has.
async fn guarded(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    // What a page is told (`no-store`) is not kept; the page itself may be, and is asked for again.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
