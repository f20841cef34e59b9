//! What a profile makes of the service: other requests read, find and cancel a payment, and its words for a status are
//! others. Requests of pages stay as they are, because the hosted page is this project's own.

use super::auth::authenticate;
use super::caller::Caller;
use super::service::Service;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, Response, StatusCode, Uri, header};
use guichet::shop::{Profile, Wanted};
use guichet::values::IntentId;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const INTENTS: &str = "/v1/payment-intents/";

/// A request as the document has it.
pub struct Documented {
    /// The request.
    pub request: Request<Body>,
    /// What the reply becomes.
    pub reply: ReplyByProfile,
}

/// What the reply to a request becomes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ReplyByProfile {
    /// It stays.
    Same,
    /// Its words become the profile's.
    InItsWords,
    /// The same, and a payment becomes a list.
    List,
}

impl Documented {
    /// The request by the document that a request to a service of this profile is.
    pub(super) async fn of(service: &Service, profile: &Profile, mut request: Request<Body>) -> Self {
        let is_of_page =
            [header::ORIGIN.as_str(), "sec-fetch-site"].iter().any(|name| request.headers().contains_key(*name));
        let target = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        let authorization = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let asked = profile.asked(request.method().as_str(), &target, authorization.unwrap_or_default());
        if is_of_page || (asked.is_none() && !target.starts_with(INTENTS.trim_end_matches('/'))) {
            return Self { request, reply: ReplyByProfile::Same };
        }
        let mut reply = ReplyByProfile::InItsWords;
        let documented = match asked {
            Some((wanted, names)) => {
                let caller = authenticate(service, request.headers()).await.ok();
                // An id that no payment has gets the service's own 404, and a caller who may not read, what such a one
                // gets.
                let id = id_of(service, &names, caller.as_ref()).await.unwrap_or_else(|| "pi_unknown".to_owned());
                if wanted == Wanted::Find && matches!(caller, Some(Caller::Merchant(_))) {
                    reply = ReplyByProfile::List;
                }
                Some(match wanted {
                    Wanted::Cancel => (Method::POST, [INTENTS, &id, "/cancel"].concat()),
                    Wanted::Read | Wanted::Find => (Method::GET, [INTENTS, &id].concat()),
                })
            }
            None => is_elsewhere(profile, request.method(), &target).then(|| (Method::GET, "/v1/elsewhere".to_owned())),
        };
        if let Some((method, target)) = documented
            && let Ok(uri) = target.parse::<Uri>()
        {
            (*request.method_mut(), *request.uri_mut()) = (method, uri);
        }
        Self { request, reply }
    }
}

/// Whether the document has this request, and the service of the profile does not.
fn is_elsewhere(profile: &Profile, method: &Method, target: &str) -> bool {
    let rest = target.split('?').next().and_then(|path| path.strip_prefix(INTENTS)).unwrap_or_default();
    match rest.split_once('/') {
        None => method == Method::GET && !rest.is_empty(),
        Some((_, verb)) => verb == "cancel" && !profile.cancels_as_documented(),
    }
}

/// The id of the payment that has all these names.
async fn id_of(service: &Service, names: &BTreeMap<&str, String>, caller: Option<&Caller>) -> Option<String> {
    let of_secret = |secret: &String| service.instance_key.intent_of(secret);
    let id = match (names.get("id"), names.get("client_secret")) {
        (Some(id), _) => Some(IntentId::new(id.clone()).ok()?),
        (None, Some(secret)) => Some(of_secret(secret)?),
        (None, None) => None,
    };
    if let Some(id) = id.as_ref().filter(|_| names.len() == 1) {
        return Some(id.to_string());
    }
    let (Caller::Merchant(merchant) | Caller::ClientSecret(merchant, _)) = caller? else { return None };
    let store = &service.store;
    let found = match (id, names.get("merchant_reference"), names.get("payment_ref")) {
        (Some(id), ..) => store.intent(&id).await,
        (None, Some(reference), _) => store.intent_by_reference(merchant.id(), reference).await,
        (None, None, Some(own)) => store.intent_by_payment_ref(merchant.id(), own).await,
        (None, None, None) => return None,
    };
    let intent = found.ok()??;
    let is_its = |(name, value): (&&str, &String)| match *name {
        "id" => intent.id.as_str() == value,
        "client_secret" => of_secret(value).is_some_and(|id| id == intent.id),
        "payment_ref" => intent.payment_ref == *value,
        _ => intent.terms.merchant_reference.as_str() == value,
    };
    names.iter().all(is_its).then(|| intent.id.to_string())
}

impl ReplyByProfile {
    /// The response of a service of this profile, from that of the document.
    pub async fn apply(self, profile: &Profile, response: Response<Body>) -> Response<Body> {
        if self == Self::Same {
            return response;
        }
        let (mut parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
        let Ok(mut reply) = serde_json::from_slice::<Value>(&body) else {
            return Response::from_parts(parts, Body::from(body));
        };
        if self == Self::List && parts.status == StatusCode::NOT_FOUND {
            parts.status = StatusCode::OK;
            reply = json!({"status_code": 200, "response_type": "success", "data": []});
        } else if self == Self::List && parts.status == StatusCode::OK {
            reply["data"] = json!([reply["data"].take()]);
        }
        let intents = match reply.get_mut("data") {
            Some(Value::Array(list)) => list.iter_mut().collect(),
            one => Vec::from_iter(one),
        };
        for intent in intents {
            if let Some(word) = intent["status"].as_str().and_then(|ours| profile.word_for(ours)) {
                intent["status"] = json!(word);
            }
        }
        parts.headers.remove(header::CONTENT_LENGTH);
        Response::from_parts(parts, Body::from(reply.to_string()))
    }
}
