//! The merchant's name, which the hosted page shows and no operation of the interface returns.

use super::{Pages, reply};
use crate::auth::authenticate;
use crate::problem::Problem;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Response};
use guichet::values::IntentId;
use serde_json::json;
use std::sync::Arc;

/// Responds with the merchant's name to a caller who may read the payment: the page sends the client secret as the Bearer value. For
/// anyone else the response is the same for every id.
pub(super) async fn name(
    State(pages): State<Arc<Pages>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response<Body> {
    reply(merchant_of(&pages, id, &headers).await.map(|name| json!({ "name": name })))
}

async fn merchant_of(pages: &Pages, id: String, headers: &HeaderMap) -> Result<String, Problem> {
    let missing = || Problem::missing("payment intent");
    let id = IntentId::new(id).map_err(|_| missing())?;
    pages.service.catch_up().await;
    let caller = authenticate(&pages.service, headers).await?;
    pages.service.intent_of(&caller, &id).await?;
    // The credential that may read the payment belongs to its merchant.
    caller.known_merchant().map(|merchant| merchant.name().to_owned()).ok_or_else(missing)
}
