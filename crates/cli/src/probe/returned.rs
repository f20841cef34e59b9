//! A return page on this machine: what a service adds to its address.

use crate::failure::Failure;
use axum::Router;
use axum::http::Uri;
use axum::response::Html;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;

/// Has the shape of a return nonce.
const NONCE: &str = "0000000000guichetProbe";
/// Parameters of a shop's own. Some services add theirs after a second `?`, or drop these.
const QUERY: &str = "?order=17&guichet_return=0000000000guichetProbe";
const PAGE: &str = "<!doctype html><title>guichet</title><p>You are back. Go on at the terminal.";

pub(super) struct Listener {
    origin: String,
    first: Arc<Mutex<Option<String>>>,
}

impl Listener {
    /// Listens on a free port for as long as the process runs.
    pub(super) async fn open() -> Result<Self, Failure> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(Box::<dyn std::error::Error>::from)?;
        let address = listener.local_addr().map_err(Box::<dyn std::error::Error>::from)?;
        let first = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&first);
        let page = move |uri: Uri| async move {
            if uri.path() == "/return" {
                seen.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(uri.to_string());
            }
            Html(PAGE)
        };
        drop(tokio::spawn(async move { axum::serve(listener, Router::new().fallback(page)).await }));
        Ok(Self { origin: format!("http://{address}"), first })
    }

    /// What a payment's `redirect_url` is.
    pub(super) fn address(&self) -> String {
        [&self.origin, "/return", QUERY].concat()
    }

    /// What the customer came back with, if they did: names of parameters, and no value, which may be a secret.
    pub(super) fn returned(&self) -> Option<String> {
        let target = self.first.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let address = [&self.origin, &*target].concat();
        let has_nonce = guichet::flow::arrival(&address).is_some_and(|arrival| arrival.nonce.as_deref() == Some(NONCE));
        let (_, query) = target.split_once('?').unwrap_or_default();
        let names = query.split(['&', '?']).filter_map(|pair| pair.split('=').next());
        let (own, more): (Vec<&str>, Vec<&str>) = names.partition(|name| QUERY.contains(&[name, "="].concat()));
        let added = if more.is_empty() { "nothing".to_owned() } else { more.join(", ") };
        let kept = if has_nonce { "the return nonce is found" } else { "THE RETURN NONCE IS LOST" };
        Some(format!("{kept}; of the shop's own parameters it keeps {}, and it adds {added}", own.join(", ")))
    }
}
