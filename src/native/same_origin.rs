//! The merchant's routes are called with cookies: only the merchant's own pages may do it.

use super::Refused;
use crate::platform::read_origin;
use crate::values::Invalid;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Refuses what another site's page has sent.
pub(crate) async fn guard(State(allowed): State<Arc<[String]>>, request: Request, next: Next) -> Response {
    let authority = request.uri().authority().map(ToString::to_string);
    if is_of_another_site(request.headers(), authority.as_deref(), &allowed) {
        return Refused::new(403, "cross_site", "This address answers the shop's own pages alone.").into_response();
    }
    next.run(request).await
}

/// An origin as browsers write it: a slash at its end and capitals in its host are mended, anything more is refused.
pub(super) fn origin(text: &str) -> Result<String, Invalid> {
    read_origin(text).ok_or(Invalid::because(
        "An origin is scheme and host, and a port where it needs one: https://www.example.com.",
    ))
}

/// Both headers are the browser's own, which no page can set; a request without either comes from no page.
fn is_of_another_site(headers: &HeaderMap, authority: Option<&str>, allowed: &[String]) -> bool {
    let text = |name| headers.get(name).map(|value: &axum::http::HeaderValue| value.to_str().unwrap_or("unreadable"));
    let origin = text(header::ORIGIN);
    if origin.is_some_and(|origin| allowed.iter().any(|allowed| allowed == origin)) {
        return false;
    }
    let site = text(header::HeaderName::from_static("sec-fetch-site"));
    let foreign_site = site.is_some_and(|site| site != "same-origin" && site != "none");
    let foreign_origin = origin.is_some_and(|origin| match origin.split_once("://") {
        Some((_, host)) => text(header::HOST).or(authority) != Some(host),
        // A page that sends no referrer sends `null` with its own forms, too: then the other header decides.
        None => site.is_none(),
    });
    foreign_site || foreign_origin
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn an_origin_with_a_slash_is_mended_and_more_than_an_origin_is_refused() {
        for text in ["https://www.shop.example", "https://www.shop.example/", "HTTPS://WWW.shop.example:443"] {
            assert_eq!(origin(text).as_deref(), Ok("https://www.shop.example"), "{text}");
        }
        assert_eq!(origin("http://localhost:3000/").as_deref(), Ok("http://localhost:3000"));
        for text in [
            "",
            "null",
            "*",
            "www.shop.example",
            "https://shop.example/pay",
            "https://u@shop.example",
            "https://shop.example?x",
        ] {
            assert!(origin(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_the_merchants_own_pages_are_answered() {
        let allowed = ["https://www.shop.example".to_owned()];
        for (origin, site, refused) in [
            (None, None, false),
            (Some("http://shop.example:4242"), None, false),
            (Some("http://shop.example:4242"), Some("same-origin"), false),
            (None, Some("same-origin"), false),
            (None, Some("none"), false),
            (Some("null"), Some("same-origin"), false),
            (Some("https://www.shop.example"), Some("same-site"), false),
            (Some("https://www.shop.example"), None, false),
            (Some("http://shop.example:4243"), None, true),
            (Some("http://shop.example:4243"), Some("same-site"), true),
            (Some("https://evil.example"), None, true),
            (Some("https://evil.example"), Some("cross-site"), true),
            (Some("https://shop.example:4242.evil.example"), None, true),
            (Some("null"), None, true),
            (Some("null"), Some("cross-site"), true),
            (None, Some("cross-site"), true),
            (None, Some("same-site"), true),
            (Some("https://evil.example"), Some("same-origin"), true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("shop.example:4242"));
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            }
            if let Some(site) = site {
                headers.insert("sec-fetch-site", HeaderValue::from_static(site));
            }
            assert_eq!(is_of_another_site(&headers, None, &allowed), refused, "{origin:?} {site:?}");
        }
    }
}
