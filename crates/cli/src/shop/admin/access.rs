//! Who may open the page, and the tokens by which its forms are known.

use crate::shop::application::now;
use crate::shop::secret::Secret;
use hmac::{Hmac, Mac};
use http::{HeaderMap, header};
use serde::Serialize;
use sha2::Sha256;
use std::net::{Ipv4Addr, SocketAddr};
use zeroize::Zeroizing;

/// For how long a form can be sent, in seconds.
const FORM_LASTS: i64 = 12 * 60 * 60;
/// How far the clock of another instance may be ahead, in seconds.
const CLOCKS_DIFFER: i64 = 5 * 60;
/// What a proxy adds to a request, beside `X-Forwarded-…`.
const OF_A_PROXY: [&str; 3] = ["forwarded", "via", "x-real-ip"];

/// Whether a person of this machine sends a request to this machine: no proxy has passed it on, and no page of
/// another name that leads to a loopback address (DNS rebinding) reads the answer.
pub(super) fn is_local(peer: SocketAddr, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok()?.rsplit_once(':'));
    let is_own = host.is_some_and(|(host, port)| {
        let is_port = !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit());
        let is_ipv4 = || host.parse().is_ok_and(|ip: Ipv4Addr| ip.is_loopback());
        is_port && (["localhost", "[::1]"].contains(&host) || is_ipv4())
    });
    let is_proxied =
        headers.keys().any(|name| name.as_str().starts_with("x-forwarded") || OF_A_PROXY.contains(&name.as_str()));
    peer.ip().to_canonical().is_loopback() && is_own && hosts.next().is_none() && !is_proxied
}

/// Whether a form may be of the page itself, as far as the browser says it. `Origin: null` is sent by a page without
/// a referrer, as this is: then the token alone decides.
pub(super) fn may_be_own_form(headers: &HeaderMap, origins: &[String]) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"));
    match (text("sec-fetch-site"), text("origin")) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        (None, None | Some("null")) => true,
        (None, Some(origin)) => {
            let authority = origin.split_once("://").map(|(_, authority)| authority);
            origins.iter().any(|own| own == origin) || (authority.is_some() && authority == text("host"))
        }
    }
}

/// Whether a page of another site reads this in the background. A link or an address leads to it by a navigation.
pub(super) fn is_read_by_another_site(headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|found| found == value);
    is("sec-fetch-site", "cross-site") && !is("sec-fetch-mode", "navigate")
}

/// Makes the tokens of forms, by a key that is derived from the application's secret: each instance knows those of
/// the others.
pub(super) struct Forms(Vec<Zeroizing<String>>);

impl Forms {
    /// During a rotation of the secret the tokens of both are known.
    pub(super) fn new(secret: &Secret, shop: &str) -> Result<Self, String> {
        // No message is of the year 1970, so a signature of then is of none.
        let signed = Zeroizing::new(secret.sign("guichet-admin-forms", 0, shop));
        let keys: Vec<_> = signed.split_whitespace().map(|key| Zeroizing::new(key.to_owned())).collect();
        if keys.is_empty() { Err("The forms of the bookkeeper's page have no key.".to_owned()) } else { Ok(Self(keys)) }
    }

    /// A token of this person and what they are to send.
    pub(super) fn token(&self, of: &impl Serialize) -> String {
        let at = now();
        let codes = self.codes(at, of).next().map(|code| hex::encode(code.finalize().into_bytes()));
        format!("{at}.{}", codes.unwrap_or_default())
    }

    /// Whether a token was made for this, within the last twelve hours.
    pub(super) fn is_token(&self, token: &str, of: &impl Serialize) -> bool {
        let read = || {
            let (at, code) = token.split_once('.')?;
            let (at, code) = (at.parse::<i64>().ok()?, hex::decode(code).ok()?);
            let is_young = (-CLOCKS_DIFFER..FORM_LASTS).contains(&now().saturating_sub(at));
            Some(is_young && self.codes(at, of).any(|own| own.verify_slice(&code).is_ok()))
        };
        read().unwrap_or_default()
    }

    fn codes(&self, at: i64, of: &impl Serialize) -> impl Iterator<Item = Hmac<Sha256>> {
        // As JSON, so that no two lists of texts are the same bytes.
        let text = serde_json::to_string(&(at, of)).unwrap_or_default();
        self.0.iter().filter_map(move |key| Some(Hmac::new_from_slice(key.as_bytes()).ok()?.chain_update(&text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_request_is_local_by_its_peer_its_host_and_no_proxy() {
        let is = |peer: &str, lines: &[(&'static str, &str)]| is_local(peer.parse().unwrap(), &headers(lines));
        for host in ["127.0.0.1:4244", "127.0.0.2:4244", "localhost:9000", "[::1]:4244"] {
            for peer in ["127.0.0.1:5000", "[::1]:5000", "[::ffff:127.0.0.1]:5000"] {
                assert!(is(peer, &[("host", host)]), "{peer} {host}");
            }
            assert!(!is("192.168.1.4:5000", &[("host", host)]));
            for name in OF_A_PROXY.into_iter().chain(["x-forwarded-for", "x-forwarded-proto"]) {
                assert!(!is("127.0.0.1:5000", &[("host", host), (name, "x")]), "{name}");
            }
        }
        for host in
            ["127.0.0.1", "127.0.0.1:", "evil.example:4244", "localhost.evil.example:1", "a@localhost:4244", ":1"]
        {
            assert!(!is("127.0.0.1:5000", &[("host", host)]), "{host}");
        }
        assert!(!is("127.0.0.1:5000", &[]));
    }

    #[test]
    fn a_form_of_another_site_is_refused() {
        let origins = ["https://www.shop.example".to_owned()];
        for (lines, is_own) in [
            (&[][..], true),
            (&[("sec-fetch-site", "same-origin"), ("origin", "null")], true),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("sec-fetch-site", "cross-site"), ("origin", "https://www.shop.example")], false),
            (&[("origin", "null")], true),
            (&[("origin", "https://www.shop.example")], true),
            (&[("origin", "http://127.0.0.1:4244"), ("host", "127.0.0.1:4244")], true),
            (&[("origin", "https://evil.example"), ("host", "127.0.0.1:4244")], false),
        ] {
            assert_eq!(may_be_own_form(&headers(lines), &origins), is_own, "{lines:?}");
        }
    }

    #[test]
    fn another_site_leads_to_the_page_and_does_not_read_it() {
        let (cross, navigate) = (("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"));
        for (lines, is_refused) in [
            (&[][..], false),
            (&[cross], true),
            (&[cross, ("sec-fetch-mode", "no-cors")], true),
            (&[cross, navigate], false),
            (&[("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "cors")], false),
        ] {
            assert_eq!(is_read_by_another_site(&headers(lines)), is_refused, "{lines:?}");
        }
    }

    #[test]
    fn a_token_is_of_one_person_one_purpose_and_twelve_hours() {
        let forms = |keys: &[&str]| Forms(keys.iter().map(|key| Zeroizing::new((*key).to_owned())).collect());
        let (one, both) = (forms(&["a"]), forms(&["b", "a"]));
        let token = one.token(&["awa", "form"]);
        assert!(one.is_token(&token, &["awa", "form"]) && both.is_token(&token, &["awa", "form"]));
        assert!(!forms(&["b"]).is_token(&token, &["awa", "form"]));
        for of in [["ben", "form"], ["awa", "paid"], ["awaf", "orm"]] {
            assert!(!one.is_token(&token, &of));
        }
        let code = token.split_once('.').unwrap().1;
        for wrong in ["", ".", "x.y", &format!("0.{code}"), &token[1..], &token[..token.len() - 2]] {
            assert!(!one.is_token(wrong, &["awa", "form"]), "{wrong}");
        }
        let of = |at: i64| {
            let code = one.codes(at, &"x").next().unwrap().finalize().into_bytes();
            one.is_token(&format!("{at}.{}", hex::encode(code)), &"x")
        };
        assert!(of(now() - FORM_LASTS + 60) && !of(now() - FORM_LASTS - 1) && !of(now() + 2 * CLOCKS_DIFFER));
    }
}
