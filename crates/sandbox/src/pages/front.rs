//! The page at `/`: what runs here, and where to go. It shows no secret, since any host name may resolve to this address.

use super::Pages;
use crate::http::plain;
use crate::server::accept;
use crate::server::site::Page;
use crate::tokens;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header};
use serde_json::json;
use std::sync::Arc;
use url::form_urlencoded;

pub(super) const ENGLISH: Page = Page { name: "sandbox.en.html", needs: None };
pub(super) const FRENCH: Page = Page { name: "sandbox.fr.html", needs: None };
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Responds with the page, or with JSON to a client that prefers it.
pub(super) async fn page(State(pages): State<Arc<Pages>>, uri: Uri, headers: HeaderMap) -> Response<Body> {
    let mut response = if prefers_json(&headers) {
        let origin = &pages.service.public_origin;
        let body = json!({
            "name": "guichet sandbox", "version": VERSION, "service": format!("{origin}/v1"), "control_api": format!("{origin}/sandbox"),
            "openapi": format!("{origin}/sandbox/openapi.json"),
        });
        plain(StatusCode::OK, body.to_string(), &tokens::id("req_"))
    } else {
        let page = if is_french(uri.query(), &headers) { FRENCH } else { ENGLISH };
        pages.site.page(page.name, headers).await
    };
    response.headers_mut().append(header::VARY, HeaderValue::from_static("accept, accept-language"));
    response
}

fn prefers_json(request: &HeaderMap) -> bool {
    let weight = |name: &str| {
        let named = accept::items(request, &header::ACCEPT).find(|(item, _)| item.eq_ignore_ascii_case(name));
        named.map_or(0.0, |(_, weight)| weight)
    };
    weight("application/json") > weight("text/html")
}

/// Whether the page is in French: by `?lang=`, otherwise by the browser's languages.
pub(super) fn is_french(query: Option<&str>, request: &HeaderMap) -> bool {
    let language = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).find(|(name, _)| name == "lang");
    if let Some((_, language)) = language {
        return language.starts_with("fr");
    }
    let known = accept::items(request, &header::ACCEPT_LANGUAGE).filter_map(|(range, weight)| {
        let language = range.split('-').next().unwrap_or_default().to_ascii_lowercase();
        (weight > 0.0 && ["en", "fr"].contains(&language.as_str())).then_some((language, weight))
    });
    // The first of those with the greatest weight.
    let best = known.reduce(|best, one| if one.1 > best.1 { one } else { best });
    best.is_some_and(|(language, _)| language == "fr")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request_with(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn the_language_is_the_chosen_one_otherwise_the_browsers_best() {
        for (accepts, french) in [
            ("fr-CM,fr;q=0.9,en;q=0.8", true),
            ("FR", true),
            ("de, fr;q=0.5", true),
            ("en;q=0.5, fr;q=0.7", true),
            ("en-US,en;q=0.9,fr;q=0.8", false),
            ("en, fr", false),
            ("fr;q=0", false),
            ("de", false),
            ("fro", false),
            ("*", false),
            ("", false),
        ] {
            let request = request_with(header::ACCEPT_LANGUAGE, accepts);
            assert_eq!(is_french(None, &request), french, "{accepts}");
            assert!(is_french(Some("a=b&lang=fr"), &request) && !is_french(Some("lang=en"), &request), "{accepts}");
        }
    }

    #[test]
    fn json_is_for_clients_that_prefer_it() {
        for (accepts, json) in [
            ("application/json", true),
            ("application/json, text/plain, */*", true),
            ("text/html;q=0.5, application/json", true),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false),
            ("text/html, application/json", false),
            ("*/*", false),
            ("", false),
        ] {
            assert_eq!(prefers_json(&request_with(header::ACCEPT, accepts)), json, "{accepts}");
        }
    }
}
