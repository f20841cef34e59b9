//! Checks the `Host` of a request, against DNS rebinding: another site's page whose name resolves to this machine.

use axum::http::header;
use axum::http::request::Parts;
use std::net::IpAddr;

/// The host of a request, with its port: from the request target, otherwise from the `Host` header. Empty if there is
/// none.
pub(crate) fn requested(parts: &Parts) -> &str {
    let target = parts.uri.authority().map(|authority| authority.as_str());
    target.or_else(|| parts.headers.get(header::HOST)?.to_str().ok()).unwrap_or_default()
}

/// Whether a host, with or without a port, is `localhost` or a name under it (RFC 6761), a loopback address, or one of
/// these names.
pub(crate) fn is_known(host: &str, names: &[String]) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let lower = name.to_ascii_lowercase();
    lower == "localhost"
        || lower.ends_with(".localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        || names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Reads a host name without a port, and writes it as browsers send it: in lower case and in ASCII. `None` if the text
/// is none.
pub(crate) fn read_name(text: &str) -> Option<String> {
    let host = url::Host::parse(text).ok()?;
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let is_name = match &host {
        url::Host::Domain(name) => name.len() <= 253 && name.split('.').all(is_label),
        url::Host::Ipv4(_) | url::Host::Ipv6(_) => true,
    };
    is_name.then(|| host.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_name_is_read_and_what_is_none_is_not() {
        for (text, name) in [
            ("sandbox.test", "sandbox.test"),
            ("Sandbox_1.Test", "sandbox_1.test"),
            ("château.test", "xn--chteau-xta.test"),
            ("192.168.1.20", "192.168.1.20"),
            ("[fd00::1]", "[fd00::1]"),
        ] {
            assert_eq!(read_name(text).as_deref(), Some(name), "{text}");
        }
        for text in
            ["", " ", ".", "a..b", "sandbox.test:4243", "http://sandbox.test", "a/b", "*.test", "a b", "fd00::1"]
        {
            assert_eq!(read_name(text), None, "{text}");
        }
    }

    #[test]
    fn loopback_and_allowed_names_are_known_with_and_without_a_port() {
        let names = ["sandbox.test".to_owned()];
        for known in [
            "localhost",
            "LOCALHOST:4242",
            "127.0.0.1:1",
            "127.9.9.9",
            "[::1]:4242",
            "pay.Localhost:1",
            "Sandbox.test:80",
        ] {
            assert!(is_known(known, &names), "{known}");
        }
        for unknown in [
            "",
            "evil.example",
            "localhost.evil.example",
            "notlocalhost",
            "192.0.2.1",
            "127.0.0.1.evil.example:80",
            ":80",
        ] {
            assert!(!is_known(unknown, &names), "{unknown}");
        }
    }
}
