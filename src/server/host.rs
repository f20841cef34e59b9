//! Checks the `Host` of a request, against DNS rebinding: another site's page whose name resolves to this machine.

use axum::http::header;
use axum::http::request::Parts;
use std::net::IpAddr;

/// The host of a request, with its port: from the request target, otherwise from the `Host` header. Empty if there is none.
pub(crate) fn requested(parts: &Parts) -> &str {
    let target = parts.uri.authority().map(|authority| authority.as_str());
    target.or_else(|| parts.headers.get(header::HOST)?.to_str().ok()).unwrap_or_default()
}

/// Whether a host, with or without a port, is `localhost`, a loopback address, or one of these names.
pub(crate) fn is_known(host: &str, names: &[String]) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        || names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_and_allowed_names_are_known_with_and_without_a_port() {
        let names = ["sandbox.test".to_owned()];
        for known in ["localhost", "LOCALHOST:4242", "127.0.0.1:1", "127.9.9.9", "[::1]:4242", "Sandbox.test:80"] {
            assert!(is_known(known, &names), "{known}");
        }
        for unknown in ["", "evil.example", "localhost.evil.example", "192.0.2.1", "127.0.0.1.evil.example:80", ":80"] {
            assert!(!is_known(unknown, &names), "{unknown}");
        }
    }
}
