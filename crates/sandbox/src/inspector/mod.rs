//! The inspector: a page at `/inspector` over the control API. Its printed address has a token that is used once, in
//! the fragment, which no request has. The page exchanges it for a cookie.

pub(crate) mod access;

use crate::control::ControlApi;
use crate::http::{plain, read_body, read_object, refuse};
use crate::package::{Files, Package};
use crate::pages::guarded;
use crate::problem::Problem;
use crate::server::host;
use crate::server::site::Site;
use crate::tokens::id;
use access::{COOKIE, is_own};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use axum::routing::any;
use guichet::protocol::{Envelope, ErrorCode};
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// The page's content security policy: that of the hosted page, without wasm, and without markup from a script.
const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; \
                      form-action 'none'; base-uri 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";
const PAGE: &str = "inspector.html";
/// The path of the page's files, after that of the page.
const ASSETS: &str = "/assets/";
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
