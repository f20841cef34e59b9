//! The shop's routes: its pages, the three routes that `guichet` calls in them, and the shop's own API.

use crate::open::ShopLedger;
use crate::seller::Seller;
use crate::{api, own_pages, plain, subscriptions};
use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method, Response};
use axum::middleware::{from_fn, from_fn_with_state, map_response_with_state};
use guichet::Client;
use guichet::native::Routes;
use guichet::native::{SessionGuard, Sessions};
use guichet::values::{Address, Invalid};
use std::path::PathBuf;
use tower_http::cors::CorsLayer;
use tower_http::services::{ServeDir, ServeFile};

/// What the handlers share.
#[derive(Clone)]
pub(crate) struct App {
    pub client: Client,
    pub seller: Seller,
    /// The session tokens of the signed-in customers.
    pub sessions: Sessions,
    pub guard: SessionGuard,
    pub ledger: ShopLedger,
    /// The address of the payment service, and of its checkout pages.
    pub service: Address,
    /// The shop's own address, as browsers name it.
    pub url: String,
    /// The origin of its page, if that is another one.
    pub page_origin: Option<String>,
    /// The folder of the pages.
    pub pages: PathBuf,
    /// The folder of the npm package.
    pub package: PathBuf,
}

impl App {
    /// # Errors
    /// [`Invalid`] if `url` or `page_origin` is no origin.
    pub(crate) fn router(self) -> Result<Router, Invalid> {
        let mut routes = Routes::new(self.ledger.clone(), self.seller.clone()).sessions(self.sessions.clone());
        // Opened under either name of this machine, and behind a proxy, which may change `Host`.
        let mut origins = vec![self.url.clone(), self.url.replace("127.0.0.1", "localhost")];
        origins.extend(self.page_origin.clone());
        for origin in &origins {
            routes = routes.allow_origin(origin)?;
        }
        let own_pages = || from_fn_with_state(origins.clone(), own_pages::own_pages_only);
        let mut api = api::router().merge(subscriptions::router()).layer(own_pages());
        let plain = plain::router().layer(own_pages());
        if let Some(page) = &self.page_origin {
            // That page, and no other, may read the answers, with the cookie.
            let page = HeaderValue::from_str(page).expect("an origin is ASCII");
            let cors = CorsLayer::new().allow_origin(page).allow_credentials(true);
            api =
                api.layer(cors.allow_methods([Method::GET, Method::POST]).allow_headers([AUTHORIZATION, CONTENT_TYPE]));
        }
        let pages = self.pages();
        let router = Router::new().nest("/api", api).nest("/plain", plain).with_state(self);
        let router = router.nest("/guichet", routes.router()).merge(pages);
        Ok(router.layer(DefaultBodyLimit::max(64 * 1024)).layer(from_fn(own_pages::known_hosts_only)))
    }

    /// The address at which the customer comes back from paying.
    pub(crate) fn return_url(&self) -> String {
        format!("{}/return", self.page_origin.as_ref().unwrap_or(&self.url))
    }

    /// The pages and their files. The package is also under an address of its own, for pages that a developer writes.
    fn pages(&self) -> Router {
        let page = |name| ServeFile::new(self.pages.join(name));
        let policy = HeaderValue::from_str(&format!(
            "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' {}; style-src 'self'; img-src 'self'; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            self.service.origin()
        ));
        Router::new()
            .route_service("/", page("index.html"))
            .route_service("/return", page("return.html"))
            .route_service("/subscriptions", page("subscriptions.html"))
            .nest_service("/assets", ServeDir::new(&self.pages))
            .nest_service("/assets/package", ServeDir::new(&self.package))
            .nest_service("/package", ServeDir::new(&self.package))
            .layer(map_response_with_state(policy.expect("an origin is ASCII"), add_headers))
    }
}

/// Lets the extractor `CustomerSession` find the guard.
impl FromRef<App> for SessionGuard {
    fn from_ref(app: &App) -> Self {
        app.guard.clone()
    }
}

async fn add_headers<B>(State(policy): State<HeaderValue>, mut response: Response<B>) -> Response<B> {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    // The browser asks each time whether a file has changed.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}
