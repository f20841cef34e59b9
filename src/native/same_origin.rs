//! Protects the merchant's routes, which are called with cookies, so that only the merchant's own pages can call them.

use super::{Reason, Refused};
use crate::platform::read_origin;
use crate::values::Invalid;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Refuses a request from a page of another site.
pub(crate) async fn guard(State(allowed): State<Arc<[String]>>, request: Request, next: Next) -> Response {
    let authority = request.uri().authority().map(ToString::to_string);
    if is_of_another_site(request.headers(), authority.as_deref(), &allowed) {
        return Refused::new(
            403,
            Reason { code: "cross_site", message: "Only the shop's own pages may call this address." },
        )
        .into_response();
    }
    next.run(request).await
}

/// Normalizes an origin to the browser's form: removes a slash at its end and lowers its host. Refuses any other text.
pub(super) fn origin(text: &str) -> Result<String, Invalid> {
    read_origin(text).ok_or(Invalid::because(
        "An origin is scheme and host, and a port where it needs one: https://www.example.com.",
    ))
}

/// Whether a page of another site sent a request. The browser sets both headers, and no page can set them; a request
/// without either is from no page.
///
/// If the shop has named its origins, the whole origin is compared. Otherwise `Sec-Fetch-Site` decides. Without it only
/// the host is compared, and http and https are equal: a proxy may end TLS, and `X-Forwarded-Proto` cannot be trusted.
fn is_of_another_site(headers: &HeaderMap, authority: Option<&str>, allowed: &[String]) -> bool {
    let text = |name| headers.get(name).map(|value: &axum::http::HeaderValue| value.to_str().unwrap_or("unreadable"));
    let origin = text(header::ORIGIN);
    // A page without a referrer sends `null` with its own forms too: then the other header decides.
    if let Some(origin) = origin.filter(|origin| *origin != "null" && !allowed.is_empty()) {
        return !allowed.iter().any(|allowed| allowed == origin);
    }
    match text(header::HeaderName::from_static("sec-fetch-site")) {
        Some(site) => !matches!(site, "same-origin" | "none"),
        None => {
            let host = text(header::HOST).or(authority).unwrap_or_default();
            origin.is_some_and(|origin| !is_of_host(origin, host))
        }
    }
}

/// Whether an http or https origin has this host. The scheme's default port may be left out.
fn is_of_host(origin: &str, host: &str) -> bool {
    let (name, port) = match origin.split_once("://") {
        Some(("https", name)) => (name, ":443"),
        Some(("http", name)) => (name, ":80"),
        _ => return false,
    };
    name.eq_ignore_ascii_case(host) || host.strip_suffix(port).is_some_and(|host| name.eq_ignore_ascii_case(host))
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
        for (origin, site, refused) in [
            (None, None, false),
            (None, Some("same-origin"), false),
            (None, Some("none"), false),
            (None, Some("cross-site"), true),
            (None, Some("same-site"), true),
            (Some("http://shop.example:4242"), None, false),
            (Some("https://shop.example:4242"), None, false),
            (Some("http://shop.example:4242"), Some("same-origin"), false),
            // A proxy changes the `Host` that it sends.
            (Some("https://www.shop.example"), Some("same-origin"), false),
            (Some("null"), Some("same-origin"), false),
            (Some("http://shop.example:4243"), None, true),
            (Some("http://shop.example"), None, true),
            (Some("ftp://shop.example:4242"), None, true),
            (Some("http://shop.example:4242"), Some("cross-site"), true),
            (Some("http://shop.example:4243"), Some("same-site"), true),
            (Some("https://evil.example"), None, true),
            (Some("https://evil.example"), Some("cross-site"), true),
            (Some("https://shop.example:4242.evil.example"), None, true),
            (Some("null"), None, true),
            (Some("null"), Some("cross-site"), true),
        ] {
            assert_eq!(judge(origin, site, "shop.example:4242", &[]), refused, "{origin:?} {site:?}");
        }
        assert!(!judge(Some("https://shop.example"), None, "shop.example:443", &[]), "the port of the scheme");
        assert!(judge(Some("http://shop.example"), None, "shop.example:443", &[]));
    }

    #[test]
    fn where_the_shop_has_named_its_origins_the_whole_origin_is_compared() {
        let allowed = ["https://www.shop.example".to_owned(), "http://localhost:3000".to_owned()];
        for (origin, site, refused) in [
            (Some("https://www.shop.example"), None, false),
            (Some("https://www.shop.example"), Some("same-origin"), false),
            (Some("https://www.shop.example"), Some("cross-site"), false),
            (Some("http://localhost:3000"), None, false),
            (Some("null"), Some("same-origin"), false),
            (None, Some("same-origin"), false),
            (None, None, false),
            (Some("http://www.shop.example"), None, true),
            (Some("http://www.shop.example"), Some("same-origin"), true),
            (Some("https://www.shop.example:8443"), None, true),
            (Some("http://shop.example:4242"), None, true),
            (Some("http://shop.example:4242"), Some("same-origin"), true),
            (Some("null"), None, true),
            (Some("null"), Some("cross-site"), true),
            (None, Some("cross-site"), true),
        ] {
            assert_eq!(judge(origin, site, "shop.example:4242", &allowed), refused, "{origin:?} {site:?}");
        }
    }

    fn judge(origin: Option<&'static str>, site: Option<&'static str>, host: &'static str, allowed: &[String]) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static(host));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
        }
        if let Some(site) = site {
            headers.insert("sec-fetch-site", HeaderValue::from_static(site));
        }
        is_of_another_site(&headers, None, allowed)
    }
}
