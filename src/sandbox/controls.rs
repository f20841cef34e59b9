//! The tester's side door, `/sandbox`: its own token, known hosts alone, no CORS. Outside `/v1`, so that the interface
//! itself stays what the document says.

use super::admit::bearer;
use super::desk::{Desk, Merchant};
use super::mount::{plain, read_body, read_object, refuse};
use super::problem::Problem;
use super::tokens::{id, same};
use crate::protocol::Envelope;
use crate::values::Secret;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode, header};
use axum::routing::any;
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use std::sync::Arc;

/// What guards the side door.
pub(super) struct Door {
    pub(super) desk: Arc<Desk>,
    pub(super) token: Secret,
    /// Names beside loopback under which it may be asked.
    pub(super) hosts: Vec<String>,
}

/// The longest a clock is moved at once: a hundred years.
const FARTHEST: u64 = 100 * 366 * 86_400;

/// The routes of the side door.
pub(super) fn routes(door: Arc<Door>) -> Router {
    Router::new().route("/sandbox", any(answer)).route("/sandbox/{*rest}", any(answer)).with_state(door)
}

async fn answer(State(door): State<Arc<Door>>, request: Request) -> Response<Body> {
    let request_id = id("req_");
    match door.answer(request).await {
        Ok(reply) => plain(StatusCode::OK, reply.to_string(), &request_id),
        Err(problem) => refuse(problem, &request_id, Envelope::Standard),
    }
}

impl Door {
    async fn answer(&self, request: Request) -> Result<Value, Problem> {
        let (parts, body) = request.into_parts();
        // A page of another name may have been pointed at this address (DNS rebinding): it is told nothing.
        let host = parts.uri.authority().map(|authority| authority.as_str());
        let host = host.or_else(|| parts.headers.get(header::HOST)?.to_str().ok()).unwrap_or_default();
        if !self.knows(host) {
            let message = "The side door is asked under a loopback name, or one given with --allow-host.";
            return Err(Problem::new(StatusCode::FORBIDDEN, "host_not_allowed", message));
        }
        match bearer(&parts.headers) {
            None => return Err(Problem::unauthorized("authentication_required", "Send the control token that the sandbox printed.")),
            Some(token) if !same(token, self.token.expose()) => {
                return Err(Problem::unauthorized("invalid_key", "This is not the control token that the sandbox printed."));
            }
            Some(_) => {}
        }
        match (parts.method.as_str(), parts.uri.path()) {
            ("GET", "/sandbox/clock") => {
                let merchant = self.merchant(query(parts.uri.query(), "merchant").as_deref())?;
                Ok(json!({ "now": merchant.now().unix() }))
            }
            ("POST", "/sandbox/clock") => self.advance(&read_object(&parts.headers, &read_body(body).await?)?).await,
            ("POST", "/sandbox/merchants") => self.make_merchant(&read_object(&parts.headers, &read_body(body).await?)?).await,
            (_, "/sandbox/clock") => Err(Problem::method_not_allowed("GET, POST".into())),
            (_, "/sandbox/merchants") => Err(Problem::method_not_allowed("POST".into())),
            _ => Err(Problem::route_not_found()),
        }
    }

    fn knows(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        name.eq_ignore_ascii_case("localhost")
            || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            || self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
    }

    fn merchant(&self, id: Option<&str>) -> Result<Arc<Merchant>, Problem> {
        match id {
            None => Ok(self.desk.merchants.first()),
            Some(id) => self.desk.merchants.by_id(id).ok_or_else(|| Problem::missing("merchant")),
        }
    }

    async fn advance(&self, fields: &Map<String, Value>) -> Result<Value, Problem> {
        let merchant = self.merchant(text(fields, "merchant")?)?;
        let wrong = || {
            let message = "advance_seconds is a whole number of seconds. The clock goes forward alone, and a hundred years at most.";
            Problem::field("advance_seconds", "parameter_invalid", message)
        };
        let seconds = fields.get("advance_seconds").and_then(Value::as_u64).filter(|seconds| *seconds <= FARTHEST);
        let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok()).ok_or_else(wrong)?;
        let now = self.desk.merchants.advance(&self.desk.store, &merchant, seconds).await?;
        Ok(json!({ "now": now.unix() }))
    }

    async fn make_merchant(&self, fields: &Map<String, Value>) -> Result<Value, Problem> {
        let name = text(fields, "name")?.unwrap_or("Sandbox shop");
        if name.chars().count() > 100 {
            return Err(Problem::field("name", "parameter_invalid", "A name is 100 characters at most."));
        }
        let (merchant, secret_key) = self.desk.merchants.make(&self.desk.store, name).await?;
        Ok(json!({ "merchant": merchant.id, "secret_key": secret_key.expose() }))
    }
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, Problem> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text)),
        Some(_) => Err(Problem::field(name, "parameter_invalid", format!("{name} is a string that is not empty."))),
    }
}

fn query(query: Option<&str>, name: &str) -> Option<String> {
    url::form_urlencoded::parse(query?.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}
