//! The compared pages, with the package and with a hand-written client, and the server that serves them. `cargo xtask
//! bench` has bundled and compressed them, as a shop would.

use crate::servers::{self, Running};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use guichet::operations::CreatedSession;
use guichet::values::Email;
use guichet::{Client, SecretKey};
use std::path::PathBuf;
use std::sync::Arc;

/// The environment variable with the folder of the bundles.
const BUNDLES: &str = "GUICHET_BENCH_PAGES";

/// A shop's origin with the pages and the merchant's session route.
pub struct Shop {
    pub url: String,
    pub sandbox: Running,
}

impl Shop {
    /// Starts it with a sandbox.
    pub async fn open(name: &str) -> Result<Self, String> {
        let made =
            std::env::var_os(BUNDLES).ok_or_else(|| format!("not bundled ({BUNDLES} is the folder of the pages)"))?;
        let sandbox = Running::sandbox(&servers::folder(name).join("sandbox.sqlite"));
        let client = Client::builder(&sandbox.base_url, SecretKey::new(&sandbox.secret_key).unwrap()).build().unwrap();
        let session = client.create_session(&Email::new("awa@example.com").unwrap()).await.unwrap();
        let shop = Arc::new(Merchant { made: made.into(), session: answer(&session) });
        let url = servers::in_a_thread(move || {
            Router::new()
                .route("/", get(async || calls()))
                .route(
                    "/merchant/session",
                    post(async |State(shop): State<Arc<Merchant>>| shop.session.clone().into_response()),
                )
                .route("/{*file}", get(file))
                .with_state(shop)
        });
        Ok(Self { url, sandbox })
    }
}

struct Merchant {
    made: PathBuf,
    session: ([(header::HeaderName, &'static str); 1], String),
}

fn answer(session: &CreatedSession) -> ([(header::HeaderName, &'static str); 1], String) {
    let body = serde_json::json!({ "session_token": session.session_token.expose(), "expires_at": session.expires_at });
    ([(header::CONTENT_TYPE, "application/json")], body.to_string())
}

/// The page of the calls, with cross-origin isolation: a browser gives such a page timers with microseconds.
fn calls() -> Response {
    let isolated = [
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
    ];
    (isolated, Html(include_str!("pages/calls.html"))).into_response()
}

/// A page, or a file of it, compressed once, as a server sends it.
async fn file(State(shop): State<Arc<Merchant>>, Path(path): Path<String>) -> Response {
    if path.ends_with(".html") {
        return std::fs::read_to_string(shop.made.join(path))
            .map_or(StatusCode::NOT_FOUND.into_response(), |page| Html(page).into_response());
    }
    let kind = if path.ends_with(".wasm") { "application/wasm" } else { "text/javascript" };
    match std::fs::read(shop.made.join(format!("{path}.br"))) {
        Ok(bytes) => ([(header::CONTENT_TYPE, kind), (header::CONTENT_ENCODING, "br")], bytes).into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}
