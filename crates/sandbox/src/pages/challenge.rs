//! The simulated page of the card's issuer, to which a test card that requires a redirect sends its customer. It needs
//! no script.

use super::checkout::{Parameters, parameters, see_other};
use super::{Pages, document, language_of, reply};
use crate::http::{read_body, read_object};
use crate::problem::Problem;
use crate::words::{Language, Sentences, hosted, issuer};
use askama::Template;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Response, StatusCode, Uri, header};
use guichet::protocol::ErrorCode;
use guichet::values::IntentId;
use serde_json::{Value, json};
use std::sync::Arc;

/// The page. It says nothing of the shop, and is the same for every id. Without a token it says that it is over.
#[derive(Template)]
#[template(path = "challenge.html")]
struct Challenge<'a> {
    language: Language,
    assets: &'a str,
    token: &'a str,
}

pub(super) async fn show(State(pages): State<Arc<Pages>>, uri: Uri, headers: HeaderMap) -> Response<Body> {
    let token = parameters(uri.query().unwrap_or_default().as_bytes()).remove("token").unwrap_or_default();
    page(&pages, language_of(&uri, &headers), token, StatusCode::OK, headers).await
}

/// Receives the customer's decision: the page's form, or JSON of a program. The token authenticates it; no cookie and
/// no other credential is read.
pub(super) async fn decide(
    State(pages): State<Arc<Pages>>,
    Path(id): Path<String>,
    request: Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = match read_body(body).await {
        Ok(body) => body,
        Err(problem) => return reply(Err(problem)),
    };
    let media_type = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if media_type.is_none_or(|media_type| !media_type.starts_with("application/x-www-form-urlencoded")) {
        let fields = read_object(&parts.headers, &body);
        let decided = match fields {
            Ok(fields) => decided(&pages, id, |name| fields.get(name).and_then(Value::as_str)).await,
            Err(problem) => Err(problem),
        };
        return reply(decided.map(|checkout_url| json!({ "checkout_url": checkout_url })));
    }
    let form: Parameters = parameters(&body);
    match decided(&pages, id, |name| form.get(name).map(String::as_str)).await {
        // Under the name that the customer's browser used: it may have the payment's cookie there.
        Ok(checkout_url) => see_other(checkout_url.strip_prefix(&pages.service.public_origin).unwrap_or(&checkout_url)),
        Err(problem) => {
            let language = language_of(&parts.uri, &parts.headers);
            page(&pages, language, String::new(), problem.status, parts.headers).await
        }
    }
}

async fn page(
    pages: &Pages,
    language: Language,
    token: String,
    status: StatusCode,
    headers: HeaderMap,
) -> Response<Body> {
    let write = move |assets: &str| document::html(&Challenge { language, assets, token: &token }, status, &headers);
    pages.site.respond(move |files| write(files.assets())).await
}

async fn decided<'a>(pages: &Pages, id: String, field: impl Fn(&str) -> Option<&'a str>) -> Result<String, Problem> {
    let approved = match field("decision") {
        Some("approve") => true,
        Some("refuse") => false,
        _ => {
            return Err(Problem::field("decision", ErrorCode::ParameterInvalid, "decision must be approve or refuse."));
        }
    };
    let id = IntentId::new(id).map_err(|_| Problem::missing("payment intent"))?;
    pages.service.catch_up().await;
    pages.service.decide_challenge(&id, field("token").unwrap_or_default(), approved).await
}
