//! An origin of a test's own: its pages, the npm package, and answers as the test words them.

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

/// Where the package is on every site.
pub const PACKAGE: &str = "/package";
/// Where the files of `examples/rust-page` are on every site.
pub const RUST_PAGE: &str = "/rust-page";

/// A web server on a free port of this machine, gone with the test.
pub struct Site {
    url: String,
    book: Arc<Mutex<Book>>,
}

/// What was asked, and what is to be answered, by path.
#[derive(Default)]
struct Book {
    asked: Vec<Asked>,
    next: HashMap<String, VecDeque<CannedResponse>>,
    always: HashMap<String, CannedResponse>,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub headers: HeaderMap,
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct CannedResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
    after: Duration,
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

    /// It is said only after a while.
    pub fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }
}

impl Site {
    /// A site whose pages are empty, but for what these routes answer.
    pub async fn open(routes: Router) -> Self {
        let book = Arc::<Mutex<Book>>::default();
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/npm/package");
        assert!(package.join("guichet.js").is_file(), "there is no package: `cargo xtask pack --quick` makes it");
        // A page loads it anew each time, so that its loading can be troubled.
        let package = Router::new()
            .fallback_service(ServeDir::new(package))
            .layer(map_response(async |response: Response<Body>| ([(header::CACHE_CONTROL, "no-store")], response)));
        let rust_page = ServeDir::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("target/rust-page"));
        let pages = routes
            .nest(PACKAGE, package)
            .nest_service(RUST_PAGE, rust_page)
            .fallback(async || ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], EMPTY))
            .layer(from_fn_with_state(Arc::clone(&book), answer));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, pages).await });
        Self { url, book }
    }

    /// Its origin.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// This path answers so from now on.
    pub fn answers(&self, path: &str, said: CannedResponse) {
        self.book.lock().unwrap().always.insert(path.into(), said);
    }

    /// This path answers so once, and once more each time this is called.
    pub fn answers_once(&self, path: &str, said: CannedResponse) {
        self.book.lock().unwrap().next.entry(path.into()).or_default().push_back(said);
    }

    /// This path answers by itself again.
    pub fn answers_by_itself(&self, path: &str) {
        let mut book = self.book.lock().unwrap();
        book.next.remove(path);
        book.always.remove(path);
    }

    /// Every request for this path, the oldest first.
    pub fn asked(&self, path: &str) -> Vec<Asked> {
        self.book.lock().unwrap().asked.iter().filter(|asked| asked.path == path).cloned().collect()
    }
}

const EMPTY: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>A page</title>\
    <link rel=\"icon\" href=\"data:,\"><button>Pay</button></html>";

async fn answer(State(book): State<Arc<Mutex<Book>>>, request: Request, next: Next) -> Response<Body> {
    let said = {
        let mut book = book.lock().unwrap();
        let path = request.uri().path().to_owned();
        let said = book.next.get_mut(&path).and_then(VecDeque::pop_front).or_else(|| book.always.get(&path).cloned());
        book.asked.push(Asked { method: request.method().to_string(), path, headers: request.headers().clone() });
        said
    };
    let Some(CannedResponse { status, headers, body, after }) = said else { return next.run(request).await };
    tokio::time::sleep(after).await;
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
