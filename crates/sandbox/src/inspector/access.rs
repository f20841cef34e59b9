//! Who may use the page: its links, its cookies, and where its requests come from.

use crate::pages::cookies;
use crate::server::host;
use crate::tokens::{fingerprint, secret};
use axum::http::request::Parts;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// The beginning of the cookie's name. The port follows, because the sandboxes of one host share its cookies.
pub(super) const COOKIE: &str = "guichet_inspector_";
/// The header of the page's requests. Another site's page cannot send it without a preflight, which the control API
/// refuses.
const HEADER: &str = "guichet-inspector";
/// The beginning of the tokens.
const TOKEN: &str = "ins_";
/// How many links that were not used, and how many cookies, are valid.
const MAX_TOKENS: usize = 100;

/// The links and the cookies of this start.
#[derive(Default)]
pub(crate) struct Access {
    links: Mutex<VecDeque<String>>,
    cookies: Mutex<VecDeque<String>>,
}

impl Access {
    /// A new address of the page at this origin, which opens it once.
    pub(crate) fn address(&self, origin: &str) -> String {
        format!("{origin}/inspector#token={}", add(&self.links))
    }

    /// The value of a new cookie for the token of an address. `None` if the token is unknown, or was used.
    pub(super) fn exchange(&self, token: &str) -> Option<String> {
        let token = fingerprint(token);
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let position = links.iter().position(|link| *link == token)?;
        links.remove(position);
        Some(add(&self.cookies))
    }

    /// Whether a request is the page's own.
    pub(crate) fn admits(&self, parts: &Parts) -> bool {
        let known = self.cookies.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sent = cookies(&parts.headers).filter(|(name, _)| name.starts_with(COOKIE));
        is_own(parts) && sent.any(|(_, value)| known.contains(&fingerprint(value)))
    }
}

/// Adds a new token, and forgets the oldest if there are too many. Only fingerprints are kept.
fn add(tokens: &Mutex<VecDeque<String>>) -> String {
    let token = secret(TOKEN);
    let mut tokens = tokens.lock().unwrap_or_else(PoisonError::into_inner);
    if tokens.len() == MAX_TOKENS {
        tokens.pop_front();
    }
    tokens.push_back(fingerprint(token.expose()));
    token.expose().to_owned()
}

/// Whether a request comes from a page of this origin. `SameSite` alone would admit the pages of the other ports of
/// this host.
pub(super) fn is_own(parts: &Parts) -> bool {
    let text = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let is_origin = |origin: &str| origin.split_once("://").is_some_and(|(_, host)| host == host::requested(parts));
    text(HEADER).is_some()
        && text("origin").is_none_or(is_origin)
        && text("sec-fetch-site").is_none_or(|site| site == "same-origin")
}
