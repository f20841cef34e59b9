//! The shop's pages, their files, and the npm package that they import.

use crate::encoding::media_type;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use include_dir::{Dir, include_dir};
use std::path::PathBuf;
use tower_http::services::ServeDir;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/www/shop");

/// Said in place of the pages: without the package they could show nothing but an empty shelf.
const NO_PACKAGE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>guichet</title><h1>The npm package is not built yet</h1>\
    <p>Run <code>cargo xtask pack --quick</code> in the project's folder, then load this page again.</p>\
    <p>Built elsewhere? Start with <code>guichet demo --package DIR</code>.</p></html>";

/// The pages of a shop that buys from the service at this origin, over the package in this folder.
pub(super) fn router(package: PathBuf, service: &str) -> Router {
    let policy = format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' {service}; style-src 'self'; img-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    // What is no header value names no origin that a page could reach either.
    let policy = HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    let entry = package.join("guichet.js");
    let page = move |name: &'static str| {
        let entry = entry.clone();
        get(async move || {
            if entry.is_file() {
                file(name)
            } else {
                (StatusCode::SERVICE_UNAVAILABLE, Html(NO_PACKAGE)).into_response()
            }
        })
    };
    Router::new()
        .route("/", page("index.html"))
        .route("/return", page("return.html"))
        .route("/assets/{*path}", get(async |Path(path): Path<String>| file(&path)))
        .nest_service("/package", ServeDir::new(package))
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

/// Where the npm package is: where somebody says, or else below the current folder, or below the project that this was
/// built from. Asked once, for the shop and for its sandbox.
#[must_use]
pub fn package_folder(said: Option<PathBuf>) -> PathBuf {
    const PLACE: &str = "target/npm/package";
    let here = PathBuf::from(PLACE);
    said.unwrap_or_else(|| if here.is_dir() { here } else { PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(PLACE) })
}

fn file(path: &str) -> Response {
    let Some(found) = FILES.get_file(path) else { return StatusCode::NOT_FOUND.into_response() };
    ([(header::CONTENT_TYPE, media_type(path))], found.contents()).into_response()
}
