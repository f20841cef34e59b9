//! The logins of the shop: an HttpOnly cookie whose token is stored only as a hash.

use super::catalogue::Customer;
use crate::encoding::hex;
use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use sqlx::Row;
use sqlx::sqlite::SqlitePool;

const COOKIE: &str = "shop_login";

/// The logins of the shop.
#[derive(Clone)]
pub(super) struct Logins {
    pool: SqlitePool,
}

impl Logins {
    pub(super) fn new(pool: SqlitePool) -> Self {
        Self { pool }
    }

    /// Signs a customer in. Returns the value of the `Set-Cookie` header.
    pub(super) async fn begin(&self, customer: &Customer) -> Result<String, sqlx::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| sqlx::Error::Encode(error.into()))?;
        let token = hex(&bytes);
        sqlx::query("INSERT INTO logins (token_hash, customer) VALUES ($1, $2)")
            .bind(hash(&token))
            .bind(customer.id)
            .execute(&self.pool)
            .await?;
        Ok(format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax"))
    }

    /// The customer who sent the request.
    pub(super) async fn customer(&self, headers: &HeaderMap) -> Result<Option<&'static Customer>, sqlx::Error> {
        let Some(token) = token_of(headers) else { return Ok(None) };
        let row = sqlx::query("SELECT customer FROM logins WHERE token_hash = $1")
            .bind(hash(token))
            .fetch_optional(&self.pool)
            .await?;
        row.map(|row| row.try_get("customer").map(Customer::of)).transpose().map(Option::flatten)
    }

    /// An identifier of the request's login that does not reveal its cookie.
    pub(super) fn name(headers: &HeaderMap) -> Option<String> {
        token_of(headers).map(hash)
    }

    /// Signs the sender of the request out. Returns the value of the `Set-Cookie` header.
    pub(super) async fn end(&self, headers: &HeaderMap) -> Result<String, sqlx::Error> {
        if let Some(token) = token_of(headers) {
            sqlx::query("DELETE FROM logins WHERE token_hash = $1").bind(hash(token)).execute(&self.pool).await?;
        }
        Ok(format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"))
    }
}

fn token_of(headers: &HeaderMap) -> Option<&str> {
    let mut cookies =
        headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(';'));
    cookies.find_map(|cookie| cookie.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

/// The token is 256 random bits, so a plain SHA-256 of it cannot be reversed.
fn hash(token: &str) -> String {
    hex(&Sha256::digest(token))
}
