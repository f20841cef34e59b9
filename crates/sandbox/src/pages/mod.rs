//! The hosted checkout page, under `/checkout`, which uses the npm package like any page; and the page at `/`.

mod challenge;
mod checkout;
mod document;
mod front;
mod merchant;

use super::problem::Problem;
use super::rules::{MAX_ATTEMPTS, Operator};
use super::service::Service;
use crate::http::{plain, refuse};
use crate::package::{Files, Package};
use crate::server::site::{Page, Site};
use crate::tokens;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::middleware::map_response;
use axum::routing::get;
use guichet::protocol::Envelope;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

/// The content security policy: `decisions.md` 10.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; style-src 'self'; \
                      img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/// The files of `www`, embedded by `build.rs`.
static FILES: Files = include!(concat!(env!("OUT_DIR"), "/pages.rs"));
const CHECKOUT: Page = Page { name: "index.html", needs: Some("hosted.js") };
const CHALLENGE: Page = Page { name: "challenge.html", needs: None };

/// The style of the hosted page, which is in its HTML: a page without it would be drawn twice.
static CHECKOUT_STYLE: LazyLock<&'static str> = LazyLock::new(|| {
    let style = FILES.iter().find(|(name, _)| *name == "checkout.css").map_or(&b""[..], |(_, bytes)| bytes);
    std::str::from_utf8(style).expect("the style is UTF-8")
});

/// The state of the handlers.
pub(super) struct Pages {
    service: Arc<Service>,
    site: Arc<Site>,
}

impl Pages {
    pub(super) fn new(service: Arc<Service>, package: Package) -> Arc<Self> {
        let site = Site::new("/checkout/assets", FILES, &[CHECKOUT, CHALLENGE, front::ENGLISH, front::FRENCH], package)
            .value("attempts", MAX_ATTEMPTS.to_string())
            .value("prefixes", Operator::prefixes())
            .value("origin", service.public_origin.clone())
            .value("version", front::VERSION.to_owned());
        Arc::new(Self { service, site: Arc::new(site) })
    }
}

/// The routes of the pages.
pub(super) fn routes(pages: Arc<Pages>) -> Router {
    Router::new()
        .route("/", get(front::page))
        .route("/checkout/{id}", get(checkout::show).post(checkout::act))
        .route("/checkout/{id}/merchant", get(merchant::name))
        .route("/checkout/{id}/challenge", get(challenge).post(challenge::decide))
        .route("/checkout/assets/{*path}", get(file))
        .layer(map_response(guarded))
        .with_state(pages)
}

/// The page of the card's issuer. It too is the same for every id.
async fn challenge(State(pages): State<Arc<Pages>>, headers: HeaderMap) -> Response<Body> {
    pages.site.page(CHALLENGE.name, headers).await
}

async fn file(State(pages): State<Arc<Pages>>, Path(path): Path<String>, headers: HeaderMap) -> Response<Body> {
    pages.site.file(path, headers).await
}

/// The response to a page's own request, which is no operation of the interface.
fn reply(result: Result<Value, Problem>) -> Response<Body> {
    let request_id = tokens::id("req_");
    match result {
        Ok(data) => {
            let body = json!({ "status_code": 200, "response_type": "success", "data": data });
            plain(StatusCode::OK, body.to_string(), &request_id)
        }
        Err(problem) => refuse(problem, &request_id, Envelope::Standard),
    }
}

/// Adds the security headers of the pages.
async fn guarded(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
