//! The shop's pages, their files, and the npm package that they import.

use crate::encoding::media_type;
use crate::package::Package;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use include_dir::{Dir, include_dir};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/www/shop");

/// The pages of a shop that buys from the service at this origin.
pub(super) fn router(package: &Package, service: &str) -> Router {
    let policy = format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' {service}; style-src 'self'; img-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    // What is no header value names no origin that a page could reach either.
    let policy = HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    let page = |name: &'static str| {
        let package = package.clone();
        // Without the package the pages could show nothing but an empty shelf.
        get(async move || match package.missing("guichet.js") {
            None => file(name),
            Some(missing) => (StatusCode::SERVICE_UNAVAILABLE, Html(missing)).into_response(),
        })
    };
    Router::new()
        .route("/", page("index.html"))
        .route("/return", page("return.html"))
        .route("/subscriptions", page("subscriptions.html"))
        .route("/assets/{*path}", get(async |Path(path): Path<String>| file(&path)))
        .nest("/package", package.files())
        .layer(axum::middleware::map_response_with_state(policy, guarded))
}

async fn guarded(State(policy): State<HeaderValue>, mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn file(path: &str) -> Response {
    let Some(found) = FILES.get_file(path) else { return StatusCode::NOT_FOUND.into_response() };
    ([(header::CONTENT_TYPE, media_type(path))], found.contents()).into_response()
}
