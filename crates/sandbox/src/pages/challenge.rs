//! The simulated page of the card's issuer, to which a test card that requires a redirect sends its customer.

use super::{Pages, reply};
use crate::http::{read_body, read_object};
use crate::problem::Problem;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::Response;
use guichet::protocol::ErrorCode;
use guichet::values::IntentId;
use serde_json::{Value, json};
use std::sync::Arc;

/// Receives the customer's decision. The token in the body authenticates the page; cookies and credentials are not read.
pub(super) async fn decide(
    State(pages): State<Arc<Pages>>,
    Path(id): Path<String>,
    request: Request,
) -> Response<Body> {
    reply(decided(&pages, id, request).await.map(|checkout_url| json!({ "checkout_url": checkout_url })))
}

async fn decided(pages: &Pages, id: String, request: Request) -> Result<String, Problem> {
    let (parts, body) = request.into_parts();
    let fields = read_object(&parts.headers, &read_body(body).await?)?;
    let approved = match fields.get("decision").and_then(Value::as_str) {
        Some("approve") => true,
        Some("refuse") => false,
        _ => {
            return Err(Problem::field("decision", ErrorCode::ParameterInvalid, "decision must be approve or refuse."));
        }
    };
    let token = fields.get("token").and_then(Value::as_str).unwrap_or_default();
    let id = IntentId::new(id).map_err(|_| Problem::missing("payment intent"))?;
    pages.service.catch_up().await;
    pages.service.decide_challenge(&id, token, approved).await
}
