//! The logins of the shop: an HttpOnly cookie with a random token. The database has its hash.

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};

const COOKIE: &str = "shop_login";

/// A new login: the value of the `Set-Cookie` header, and the hash of its token.
pub(crate) fn new_login() -> Result<(String, String), getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    let token = hex::encode(bytes);
    Ok((format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax"), hash(&token)))
}

/// The value of the `Set-Cookie` header that ends a login in the browser.
pub(crate) fn ended_cookie() -> String {
    format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0")
}

/// The login of a request: the hash of its token, which does not reveal the cookie.
pub(crate) fn login_of(headers: &HeaderMap) -> Option<String> {
    let mut cookies =
        headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(';'));
    cookies.find_map(|cookie| cookie.trim().strip_prefix(COOKIE)?.strip_prefix('=')).map(hash)
}

/// The token is 256 random bits, so a plain SHA-256 of it cannot be reversed.
fn hash(token: &str) -> String {
    hex::encode(Sha256::digest(token))
}
