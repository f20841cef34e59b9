//! The inspector: a page at `/inspector` over the control API. Its printed address has a token that is used once, in
//! the fragment, which no request has. The page exchanges it for a cookie.

use crate::control::ControlApi;
use crate::http::{plain, read_body, read_object, refuse};
use crate::package::{Files, Package};
use crate::pages::{cookies, guarded};
use crate::problem::Problem;
use crate::server::host;
use crate::server::site::Site;
use crate::tokens::{fingerprint, id, secret};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use axum::routing::any;
use guichet::protocol::{Envelope, ErrorCode};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The page's content security policy: that of the hosted page, without wasm, and without markup from a script.
const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; \
                      form-action 'none'; base-uri 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";
const PAGE: &str = "inspector.html";
/// The path of the page's files, after that of the page.
const ASSETS: &str = "/assets/";
/// The beginning of the cookie's name. The port follows, because the sandboxes of one host share its cookies.
const COOKIE: &str = "guichet_inspector_";
/// The header of the page's requests. Another site's page cannot send it without a preflight, which the control API
/// refuses.
const HEADER: &str = "guichet-inspector";
/// The beginning of the tokens.
const TOKEN: &str = "ins_";
/// How many links that were not used, and how many cookies, are valid.
const MAX_TOKENS: usize = 100;

/// The page's files, embedded by `build.rs`. In wasm32 there are none: the npm package has them, in this folder.
static EMBEDDED: Files = include!(concat!(env!("OUT_DIR"), "/inspector.rs"));
const FOLDER: &str = "inspector/";

/// The page's files. Those of the npm package stay in memory as long as the process, as embedded ones do.
fn files(package: &Package) -> Files {
    static GIVEN: OnceLock<Files> = OnceLock::new();
    if !EMBEDDED.is_empty() {
        return EMBEDDED;
    }
    GIVEN.get_or_init(|| {
        let given = package.files().into_iter().filter_map(|(name, bytes)| {
            let name: &'static str = name.strip_prefix(FOLDER)?.to_owned().leak();
            let bytes: &'static [u8] = bytes.to_vec().leak();
            Some((name, bytes))
        });
        given.collect::<Vec<_>>().leak()
    })
}

/// The page and its files.
pub(crate) fn site(package: &Package) -> Arc<Site> {
    Arc::new(Site::new("/inspector/assets", files(package), &[PAGE], Package::Nowhere))
}

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

/// Whether a request comes from a page of this origin. `SameSite` alone would admit the pages of the other ports of
/// this host.
fn is_own(parts: &Parts) -> bool {
    let text = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let is_origin = |origin: &str| origin.split_once("://").is_some_and(|(_, host)| host == host::requested(parts));
    text(HEADER).is_some()
        && text("origin").is_none_or(is_origin)
        && text("sec-fetch-site").is_none_or(|site| site == "same-origin")
}

/// The routes of the page. They answer under the host names of the control API.
pub(crate) fn routes(control: Arc<ControlApi>) -> Router {
    Router::new().route("/inspector", any(answer)).route("/inspector/{*rest}", any(answer)).with_state(control)
}

/// Answers all of them: a router for each would make the wasm of the npm package 10,000 bytes larger.
async fn answer(State(control): State<Arc<ControlApi>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().trim_start_matches("/inspector");
    let answered = async {
        control.check_host(&parts)?;
        match (&parts.method, path) {
            (&Method::POST, "/session") => begin(&control, &parts, body).await,
            (&Method::GET | &Method::HEAD, _) => Ok(match path.strip_prefix(ASSETS) {
                Some(file) => control.site.file(file.to_owned(), parts.headers.clone()).await,
                None => {
                    let mut page = control.site.page(PAGE, parts.headers.clone()).await;
                    let policy = HeaderValue::from_static(POLICY);
                    page.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
                    page
                }
            }),
            (_, "/session") => Err(Problem::method_not_allowed("POST".to_owned())),
            _ => Err(Problem::method_not_allowed("GET, HEAD".to_owned())),
        }
    };
    let answered = answered.await;
    guarded(answered.unwrap_or_else(|problem| refuse(problem, &id("req_"), Envelope::Standard))).await
}

/// Exchanges the token of the page's address for a cookie.
async fn begin(control: &ControlApi, parts: &Parts, body: Body) -> Result<Response<Body>, Problem> {
    if !is_own(parts) {
        return Err(Problem::new(ErrorCode::HostNotAllowed, "Only the inspector's own page may send this."));
    }
    let fields = read_object(&parts.headers, &read_body(body).await?)?;
    let token = fields.get("token").and_then(Value::as_str).unwrap_or_default();
    let token = control.access.exchange(token).ok_or_else(|| {
        let message =
            "This address of the inspector was used, or is of an earlier start. `guichet inspector` prints another.";
        Problem::new(ErrorCode::InvalidKey, message)
    })?;
    let mut response = plain(StatusCode::OK, "{}", &id("req_"));
    let port = host::requested(parts).rsplit_once(':').map(|(_, port)| port);
    let port = port.filter(|port| port.bytes().all(|byte| byte.is_ascii_digit())).unwrap_or("80");
    let cookie = format!("{COOKIE}{port}={token}; Path=/sandbox; HttpOnly; SameSite=Strict");
    response.headers_mut().extend(HeaderValue::try_from(cookie).ok().map(|cookie| (header::SET_COOKIE, cookie)));
    Ok(response)
}
