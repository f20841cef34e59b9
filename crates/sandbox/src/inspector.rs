//! The inspector: a page at `/inspector` over the control API. Its printed address has a token that is used once, in the fragment, which no
//! request has. The page exchanges it for a cookie.

use crate::control::ControlApi;
use crate::http::{plain, read_body, read_object, refuse};
use crate::pages::{cookies, guarded};
use crate::problem::Problem;
use crate::server::host;
use crate::server::site::Site;
use crate::tokens::{fingerprint, id, secret};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state, map_response};
use axum::routing::{get, post};
use guichet::protocol::{Envelope, ErrorCode};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The page's content security policy: that of the hosted page, without wasm, and without markup from a script.
const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; form-action 'none'; \
                      base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const PAGE: &str = "inspector.html";
/// The beginning of the cookie's name. The port follows, because the sandboxes of one host share its cookies.
const COOKIE: &str = "guichet_inspector_";
/// The header of the page's requests. Another site's page cannot send it without a preflight, which the control API refuses.
const HEADER: &str = "guichet-inspector";
/// The beginning of the tokens.
const TOKEN: &str = "ins_";
/// How many links that were not used, and how many cookies, are valid.
const MAX_TOKENS: usize = 100;

/// The page's files, embedded by `build.rs`.
static FILES: crate::package::Files = include!(concat!(env!("OUT_DIR"), "/inspector.rs"));

/// The links and the cookies of this start.
#[derive(Default)]
pub(crate) struct Access {
    links: Mutex<VecDeque<String>>,
    cookies: Mutex<VecDeque<String>>,
}

impl Access {
    /// A new address of the page at this origin, which opens it once.
    pub(crate) fn address(&self, origin: &str) -> String {
        format!("{origin}/inspector#token={}", add(&self.links))
    }

    /// The value of a new cookie for the token of an address. `None` if the token is unknown, or was used.
    fn exchange(&self, token: &str) -> Option<String> {
        let token = fingerprint(token);
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let position = links.iter().position(|link| *link == token)?;
        links.remove(position);
        Some(add(&self.cookies))
    }

    /// Whether a request is the page's own.
    pub(crate) fn admits(&self, parts: &Parts) -> bool {
        let known = self.cookies.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sent = cookies(&parts.headers).filter(|(name, _)| name.starts_with(COOKIE));
        is_own(parts) && sent.any(|(_, value)| known.contains(&fingerprint(value)))
    }
}

/// Adds a new token, and forgets the oldest if there are too many. Only fingerprints are kept.
fn add(tokens: &Mutex<VecDeque<String>>) -> String {
    let token = secret(TOKEN);
    let mut tokens = tokens.lock().unwrap_or_else(PoisonError::into_inner);
    if tokens.len() == MAX_TOKENS {
        tokens.pop_front();
    }
    tokens.push_back(fingerprint(token.expose()));
    token.expose().to_owned()
}

/// Whether a request comes from a page of this origin. `SameSite` alone would admit the pages of the other ports of this host.
fn is_own(parts: &Parts) -> bool {
    let text = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let is_origin = |origin: &str| origin.split_once("://").is_some_and(|(_, host)| host == host::requested(parts));
    text(HEADER).is_some()
        && text("origin").is_none_or(is_origin)
        && text("sec-fetch-site").is_none_or(|site| site == "same-origin")
}

struct Inspector {
    control: Arc<ControlApi>,
    site: Arc<Site>,
}

/// The routes of the page.
pub(crate) fn routes(control: Arc<ControlApi>) -> Router {
    let site = Site::new("/inspector/assets", FILES, &[PAGE], crate::Package::Nowhere);
    let inspector = Arc::new(Inspector { control, site: Arc::new(site) });
    Router::new()
        .route("/inspector", get(page))
        .route("/inspector/{payment}", get(page))
        .route("/inspector/session", post(begin))
        .route("/inspector/assets/{*path}", get(file))
        .layer(from_fn_with_state(Arc::clone(&inspector), known_hosts))
        .layer(map_response(guarded))
        .with_state(inspector)
}

/// Refuses a request under an unknown host, as the control API does.
async fn known_hosts(State(inspector): State<Arc<Inspector>>, request: Request, next: Next) -> Response<Body> {
    let (parts, body) = request.into_parts();
    match inspector.control.check_host(&parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(problem) => refuse(problem, &id("req_"), Envelope::Standard),
    }
}

async fn page(State(inspector): State<Arc<Inspector>>, headers: HeaderMap) -> Response<Body> {
    let mut response = inspector.site.page(PAGE, headers).await;
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

async fn file(State(inspector): State<Arc<Inspector>>, Path(path): Path<String>, headers: HeaderMap) -> Response<Body> {
    inspector.site.file(path, headers).await
}

/// Exchanges the token of the page's address for a cookie.
async fn begin(State(inspector): State<Arc<Inspector>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let token = async {
        if !is_own(&parts) {
            return Err(Problem::new(ErrorCode::HostNotAllowed, "Only the inspector's own page may send this."));
        }
        let fields = read_object(&parts.headers, &read_body(body).await?)?;
        let token = fields.get("token").and_then(Value::as_str).unwrap_or_default();
        inspector.control.access.exchange(token).ok_or_else(|| {
            let message = "This address of the inspector was used, or is of an earlier start. `guichet inspector` prints another.";
            Problem::new(ErrorCode::InvalidKey, message)
        })
    };
    let request_id = id("req_");
    match token.await {
        Ok(token) => {
            let mut response = plain(StatusCode::OK, "{}", &request_id);
            let port = host::requested(&parts).rsplit_once(':').map_or("80", |(_, port)| port).to_owned();
            let port = if port.bytes().all(|byte| byte.is_ascii_digit()) { &port } else { "80" };
            let cookie = format!("{COOKIE}{port}={token}; Path=/sandbox; HttpOnly; SameSite=Strict");
            response
                .headers_mut()
                .extend(HeaderValue::try_from(cookie).ok().map(|cookie| (header::SET_COOKIE, cookie)));
            response
        }
        Err(problem) => refuse(problem, &request_id, Envelope::Standard),
    }
}
