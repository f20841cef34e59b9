//! The hosted checkout page, under `/checkout`, or a company's own in its place; and the page at `/`.

mod challenge;
mod checkout;
mod document;
mod front;
mod own;

pub(super) use own::OwnPage;

use super::problem::Problem;
use super::service::Service;
use crate::http::{plain, refuse};
use crate::package::{Files, Package};
use crate::server::site::Site;
use crate::tokens;
use crate::words::Language;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header};
use axum::middleware::map_response;
use axum::routing::get;
use guichet::protocol::Envelope;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};
use url::form_urlencoded;

/// The content security policy: `decisions.md` 10.
const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; \
                      img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/// The files of `www`, embedded by `build.rs`.
static FILES: Files = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The cookie of the language that the customer has chosen on the page of a payment.
const LANGUAGE_COOKIE: &str = "guichet_language";

/// The style of the hosted page, which is in its HTML: a page without it would be drawn twice.
static CHECKOUT_STYLE: LazyLock<&'static str> = LazyLock::new(|| {
    let style = FILES.iter().find(|(name, _)| *name == "checkout.css").map_or(&b""[..], |(_, bytes)| bytes);
    std::str::from_utf8(style).expect("the style is UTF-8")
});

/// The state of the handlers.
pub(super) struct Pages {
    service: Arc<Service>,
    site: Arc<Site>,
    own: Option<OwnPage>,
}

impl Pages {
    pub(super) fn new(service: Arc<Service>, package: Package, own: Option<OwnPage>) -> Arc<Self> {
        let site = Site::new("/checkout/assets", FILES, &[front::ENGLISH, front::FRENCH], package)
            .value("origin", service.public_origin.clone())
            .value("version", front::VERSION.to_owned());
        Arc::new(Self { service, site: Arc::new(site), own })
    }
}

/// The routes of the pages. A company's own page takes the place of the sandbox's.
pub(super) fn routes(pages: Arc<Pages>) -> Router {
    let router = Router::new()
        .route("/", get(front::page))
        .route("/checkout/{id}/challenge", get(challenge::show).post(challenge::decide));
    let router = match &pages.own {
        Some(_) => own::add_routes(router),
        None => router
            .route("/checkout/{id}", get(checkout::show).post(checkout::act))
            .route("/checkout/assets/{*path}", get(file)),
    };
    router.layer(map_response(guarded)).with_state(pages)
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

/// The customer's language: the address's, otherwise the one that was chosen before, otherwise the browser's.
fn language_of(uri: &Uri, headers: &HeaderMap) -> Language {
    let mut query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let in_address = query.find_map(|(name, value)| (name == "lang").then_some(value));
    let chosen = in_address.or_else(|| cookie(headers, LANGUAGE_COOKIE).map(Cow::Borrowed));
    chosen.map_or_else(|| front::preferred(headers), |chosen| Language::of_tag(&chosen))
}

/// The value of a cookie.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    cookies(headers).find_map(|(sent, value)| (sent == name).then_some(value))
}

/// The cookies of a request: their names and values.
pub(super) fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let sent = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    sent.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

/// Adds the security headers of the pages.
pub(super) async fn guarded(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
