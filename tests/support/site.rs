//! A web server for one test: pages, the npm package, and canned responses.

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state, map_response};
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower_http::services::ServeDir;

/// The path of the npm package on every site.
pub const PACKAGE: &str = "/package";
/// The path of the files of `examples/rust-page` on every site.
pub const RUST_PAGE: &str = "/rust-page";

/// A web server on a free port of this machine. It ends with the test.
pub struct Site {
    url: String,
    traffic: Arc<Mutex<Traffic>>,
}

/// The requests so far, and the canned responses by path.
#[derive(Default)]
struct Traffic {
    requests: Vec<RecordedRequest>,
    /// The paths of requests whose client has left before the response.
    given_up: Vec<String>,
    once: HashMap<String, VecDeque<CannedResponse>>,
    always: HashMap<String, CannedResponse>,
}

/// One request that the site received.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    pub method: String,
    pub path: String,
    pub headers: HeaderMap,
}

/// A response that a test defines.
#[derive(Clone, Debug, Default)]
pub struct CannedResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
    delay: Duration,
}

impl CannedResponse {
    pub fn json(body: &Value) -> Self {
        Self { body: body.to_string(), ..Self::default() }.header("content-type", "application/json")
    }

    pub fn html(body: &str) -> Self {
        Self { body: body.into(), ..Self::default() }.header("content-type", "text/html; charset=utf-8")
    }

    pub fn body(self, body: &str) -> Self {
        Self { body: body.into(), ..self }
    }

    pub fn status(self, status: u16) -> Self {
        Self { status: StatusCode::from_u16(status).unwrap(), ..self }
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        self
    }

    /// Sends the response after this delay.
    pub fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }
}

impl Site {
    /// A site with these routes. Every other path is an empty page.
    pub async fn open(routes: Router) -> Self {
        let traffic = Arc::<Mutex<Traffic>>::default();
        let package = crate::support::root().join("target/npm/package");
        assert!(package.join("guichet.js").is_file(), "the package is missing. Run `cargo xtask pack --quick`.");
        // Not cached, so that a test can make its loading fail.
        let package = Router::new()
            .fallback_service(ServeDir::new(package))
            .layer(map_response(async |response: Response<Body>| ([(header::CACHE_CONTROL, "no-store")], response)));
        let rust_page = ServeDir::new(crate::support::root().join("target/rust-page"));
        let pages = routes
            .nest(PACKAGE, package)
            .nest_service(RUST_PAGE, rust_page)
            .fallback(async || ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], EMPTY))
            .layer(from_fn_with_state(Arc::clone(&traffic), respond));
        let url = crate::support::http::serve(pages).await;
        Self { url, traffic }
    }

    /// Its origin.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// From now on, this path sends this response.
    pub fn respond(&self, path: &str, response: CannedResponse) {
        self.traffic.lock().unwrap().always.insert(path.into(), response);
    }

    /// This path sends this response once, before any response of [`Site::respond`]. Each call adds one.
    pub fn respond_once(&self, path: &str, response: CannedResponse) {
        self.traffic.lock().unwrap().once.entry(path.into()).or_default().push_back(response);
    }

    /// Removes the canned responses of this path, so that the site's routes serve it again.
    pub fn remove_responses(&self, path: &str) {
        let mut traffic = self.traffic.lock().unwrap();
        traffic.once.remove(path);
        traffic.always.remove(path);
    }

    /// Every request for this path, the oldest first.
    pub fn requests(&self, path: &str) -> Vec<RecordedRequest> {
        self.traffic.lock().unwrap().requests.iter().filter(|request| request.path == path).cloned().collect()
    }

    /// How many requests for this path have ended before their response: the browser has closed their connection.
    pub fn given_up(&self, path: &str) -> usize {
        self.traffic.lock().unwrap().given_up.iter().filter(|request| *request == path).count()
    }
}

/// Records a request as given up if it is dropped before it is responded.
struct Pending<'a> {
    path: String,
    is_responded: bool,
    traffic: &'a Mutex<Traffic>,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.is_responded {
            self.traffic.lock().unwrap().given_up.push(std::mem::take(&mut self.path));
        }
    }
}

const EMPTY: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>A page</title>\
    <link rel=\"icon\" href=\"data:,\"><button>Pay</button></html>";

async fn respond(State(traffic): State<Arc<Mutex<Traffic>>>, request: Request, next: Next) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let canned = {
        let mut traffic = traffic.lock().unwrap();
        let canned =
            traffic.once.get_mut(&path).and_then(VecDeque::pop_front).or_else(|| traffic.always.get(&path).cloned());
        traffic.requests.push(RecordedRequest {
            method: request.method().to_string(),
            path: path.clone(),
            headers: request.headers().clone(),
        });
        canned
    };
    let Some(CannedResponse { status, headers, body, delay }) = canned else { return next.run(request).await };
    let mut pending = Pending { path, is_responded: false, traffic: &traffic };
    tokio::time::sleep(delay).await;
    pending.is_responded = true;
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
