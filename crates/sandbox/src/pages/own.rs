//! A company's own checkout page in the place of the sandbox's: its folder is at `/checkout/`, and its `index.html` is
//! the page of every payment. `decisions.md` 10.

use super::Pages;
use crate::auth::client_secret;
use crate::server::site::Version;
use crate::server::static_file::{Caching, StaticFile};
use crate::start_error::StartError;
use crate::surroundings;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Response, Uri, header};
use axum::routing::get;
use std::path::PathBuf;
use std::sync::Arc;
use url::form_urlencoded;

/// The content security policy of the page: that of `docs/hosted.md`.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; style-src 'self'; \
                      img-src 'self'; font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";
/// The file of the page.
const PAGE: &str = "index.html";

/// The folder of the page. Its files are read at each request, so that a developer who changes one only reloads the
/// page.
pub(crate) struct OwnPage(PathBuf);

impl OwnPage {
    /// # Errors
    /// If the folder has no `index.html`.
    pub(crate) fn new(folder: PathBuf) -> Result<Self, StartError> {
        let own = Self(folder);
        if own.file(PAGE).is_some() {
            return Ok(own);
        }
        Err(StartError::Config(format!(
            "There is no {PAGE} in {}, the folder of your own checkout page (option `checkout`). Write the page there, or begin with a copy \
             of guichet's examples/hosted. Without the option, the sandbox serves its own page.",
            own.0.display()
        )))
    }

    /// A file of a type that pages load. A path has no `..`, no hidden file and no encoded character.
    /// A symbolic link in the folder is followed.
    fn file(&self, path: &str) -> Option<Arc<StaticFile>> {
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.~@+".contains(character);
        let is_name = |name: &str| !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain);
        if !path.split('/').all(is_name) || !StaticFile::is_typed(path) {
            return None;
        }
        let bytes = surroundings::read_file(&self.0.join(path))?;
        Some(StaticFile::new(path, Bytes::from(bytes)))
    }

    /// The page. Its address has the client secret, which `guichet/hosted` moves to the history's state.
    fn page(&self, request: &HeaderMap) -> Option<Response<Body>> {
        let mut response = self.file(PAGE)?.respond(request, Caching::Revalidate);
        let headers = response.headers_mut();
        headers.remove(header::ETAG);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        Some(response)
    }

    /// A file of the folder; otherwise one of the package, under `guichet/`, or of the sandbox's other pages, under
    /// `assets/`; otherwise the page, unless the path names a file.
    fn respond(&self, path: &str, site: &Version, request: &HeaderMap) -> Response<Body> {
        if path == PAGE || !path.contains(['/', '.']) {
            return self.page(request).unwrap_or_else(|| site.file("", request));
        }
        if let Some(file) = self.file(path) {
            return file.respond(request, Caching::Revalidate);
        }
        match path.split_once('/') {
            Some(("guichet", file)) => site.file(&format!("package/{file}"), request),
            Some(("assets", file)) => site.file(file, request),
            _ => site.file("", request),
        }
    }
}

/// Adds the routes in the place of those of the sandbox's page. No form is posted to it.
pub(super) fn add_routes(mut router: Router<Arc<Pages>>) -> Router<Arc<Pages>> {
    for path in ["/checkout/{id}", "/checkout/{id}/{*path}", "/checkout/assets/{*path}"] {
        router = router.route(path, get(show));
    }
    router
}

async fn show(State(pages): State<Arc<Pages>>, uri: Uri, request: HeaderMap) -> Response<Body> {
    list_visit(&pages, &uri).await;
    let site = Arc::clone(&pages.site);
    let respond = move |files: &Version| {
        let path = uri.path().strip_prefix("/checkout/").unwrap_or_default();
        pages.own.as_ref().map_or_else(|| files.file(path, &request), |own| own.respond(path, files, &request))
    };
    site.respond(respond).await
}

/// Lists that a customer opened the page, if its address has the client secret of its payment.
async fn list_visit(pages: &Pages, uri: &Uri) {
    let mut query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let secret = query.find_map(|(name, value)| (name == "client_secret").then_some(value));
    let Some(id) = secret.and_then(|secret| pages.service.instance_key.intent_of(&secret)) else { return };
    pages.service.catch_up().await;
    if uri.path().ends_with(id.as_str())
        && let Ok(caller) = client_secret(&pages.service, id.clone()).await
    {
        caller.known_merchant().into_iter().for_each(|merchant| merchant.add_visit(id.as_str()));
    }
}
