//! The shop's pages, their files, and the npm package that they import.

use crate::package::Package;
use crate::server::site::{Page, Site};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use axum::routing::get;
use include_dir::{Dir, include_dir};
use std::sync::Arc;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/www/shop");
/// The pages need the package: without it they would show an empty shop.
const ENTRY: Option<&str> = Some("guichet.js");
const PAGES: [Page; 3] = [
    Page { name: "index.html", modules: &["shop.js"], needs: ENTRY },
    Page { name: "return.html", modules: &["return.js"], needs: ENTRY },
    Page { name: "subscriptions.html", modules: &["subscriptions.js"], needs: ENTRY },
];

/// The routes of the pages. They may connect to the payment service at this origin.
pub(super) fn router(package: Package, service: &str) -> Router {
    let policy = format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' {service}; style-src 'self'; img-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    // A text that is not a header value is not an origin that a page could reach either.
    let policy = HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    let page = |name: &'static str| {
        get(async move |State(site): State<Arc<Site>>, headers: HeaderMap| site.page(name, headers).await)
    };
    Router::new()
        .route("/", page("index.html"))
        .route("/return", page("return.html"))
        .route("/subscriptions", page("subscriptions.html"))
        .route("/assets/{*path}", get(file))
        .route("/package/{*path}", get(package_file))
        .with_state(Arc::new(Site::new("/assets", &FILES, &PAGES, package)))
        .layer(axum::middleware::map_response_with_state(policy, add_security_headers))
}

async fn file(State(site): State<Arc<Site>>, Path(path): Path<String>, headers: HeaderMap) -> Response {
    site.file(path, headers).await
}

/// The package under an address that does not change, for pages that a developer writes beside the shop.
async fn package_file(State(site): State<Arc<Site>>, Path(path): Path<String>, headers: HeaderMap) -> Response {
    site.package_file(&path, headers).await
}

async fn add_security_headers(State(policy): State<HeaderValue>, mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}
