//! The page at `/`: what runs here, and where to go. It shows no secret, since any host name may resolve to this
//! address.

use super::{Pages, language_of};
use crate::http::plain;
use crate::server::accept;
use crate::tokens;
use crate::words::Language;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header};
use serde_json::json;
use std::sync::Arc;

pub(super) const ENGLISH: &str = "sandbox.en.html";
pub(super) const FRENCH: &str = "sandbox.fr.html";
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
        let page = if language_of(&uri, &headers) == Language::French { FRENCH } else { ENGLISH };
        pages.site.page(page, headers).await
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

/// The language that the browser prefers of those that the page has.
pub(super) fn preferred(request: &HeaderMap) -> Language {
    let known = accept::items(request, &header::ACCEPT_LANGUAGE).filter_map(|(range, weight)| {
        let code = range.split('-').next().unwrap_or_default();
        let language = Language::ALL.into_iter().find(|language| language.code().eq_ignore_ascii_case(code));
        language.filter(|_| weight > 0.0).map(|language| (language, weight))
    });
    // The first of those with the greatest weight.
    let best = known.reduce(|best, one| if one.1 > best.1 { one } else { best });
    best.map(|(language, _)| language).unwrap_or_default()
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
            let language = |address: &'static str| language_of(&Uri::from_static(address), &request);
            assert_eq!(language("/") == Language::French, french, "{accepts}");
            assert_eq!(language("/?a=b&lang=fr"), Language::French, "{accepts}");
            assert_eq!(language("/?lang=en"), Language::English, "{accepts}");
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
