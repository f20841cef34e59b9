//! The control API under `/sandbox`, `decisions.md` 12: its own token, known hosts only, no CORS. It is outside `/v1`, so that the
//! interface itself stays as documented.

use super::auth::bearer;
use super::control_fields::refuse_unknown;
use super::events::Event;
use super::faults::{AddFaultError, Fault, FaultKind, LONGEST_DELAY, operation_named};
use super::http::{plain, read_body, read_object, refuse};
use super::openapi;
use super::problem::Problem;
use super::requests::Request;
use super::service::{Merchant, Service};
use super::tokens::{id, same};
use crate::protocol::{Envelope, ErrorCode, whole};
use crate::server::host;
use crate::values::Secret;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request as Incoming, State};
use axum::http::request::Parts;
use axum::http::{Response, StatusCode};
use axum::routing::any;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The control API's state.
pub(super) struct ControlApi {
    pub(super) service: Arc<Service>,
    pub(super) token: Secret,
    /// Host names under which it answers, besides loopback.
    pub(super) hosts: Vec<String>,
}

/// A call of the control API. `openapi::control` describes each.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Call {
    AddFault,
    AdvanceClock,
    ClearFaults,
    CreateMerchant,
    ListEvents,
    ListFaults,
    ListRequests,
    ReadClock,
    /// The OpenAPI description, which is public.
    ReadDescription,
    ResetMerchant,
}

impl Call {
    /// Every call. The methods of a path are in the order in which `Allow` lists them.
    pub(super) const ALL: [Self; 10] = [
        Self::CreateMerchant,
        Self::ReadClock,
        Self::AdvanceClock,
        Self::ListFaults,
        Self::AddFault,
        Self::ClearFaults,
        Self::ListRequests,
        Self::ListEvents,
        Self::ResetMerchant,
        Self::ReadDescription,
    ];

    /// Its method and its path.
    pub(super) const fn endpoint(self) -> (&'static str, &'static str) {
        match self {
            Self::AddFault => ("POST", "/sandbox/faults"),
            Self::AdvanceClock => ("POST", "/sandbox/clock"),
            Self::ClearFaults => ("DELETE", "/sandbox/faults"),
            Self::CreateMerchant => ("POST", "/sandbox/merchants"),
            Self::ListEvents => ("GET", "/sandbox/events"),
            Self::ListFaults => ("GET", "/sandbox/faults"),
            Self::ListRequests => ("GET", "/sandbox/requests"),
            Self::ReadClock => ("GET", "/sandbox/clock"),
            Self::ReadDescription => ("GET", "/sandbox/openapi.json"),
            Self::ResetMerchant => ("POST", "/sandbox/reset"),
        }
    }

    /// Whether it is about one merchant, whom the body or the query may name.
    pub(super) const fn has_merchant(self) -> bool {
        !matches!(self, Self::CreateMerchant | Self::ReadDescription)
    }

    /// Finds a call by its method and its path.
    fn find(method: &str, path: &str) -> Result<Self, Problem> {
        let at_path = || Self::ALL.into_iter().filter(|call| call.endpoint().1 == path);
        if let Some(call) = at_path().find(|call| call.endpoint().0 == method) {
            return Ok(call);
        }
        let methods: Vec<&str> = at_path().map(|call| call.endpoint().0).collect();
        Err(if methods.is_empty() {
            Problem::route_not_found()
        } else {
            Problem::method_not_allowed(methods.join(", "))
        })
    }
}

/// The most seconds by which one call moves a clock: a hundred years.
pub(super) const MAX_ADVANCE: u64 = 100 * 366 * 86_400;

/// The most characters of a merchant's name.
pub(super) const LONGEST_NAME: usize = 100;

/// The routes of the control API.
pub(super) fn routes(control: Arc<ControlApi>) -> Router {
    Router::new().route("/sandbox", any(answer)).route("/sandbox/{*rest}", any(answer)).with_state(control)
}

async fn answer(State(control): State<Arc<ControlApi>>, request: Incoming) -> Response<Body> {
    let request_id = id("req_");
    // In its own task, so that the database and the memory change together even if the client disconnects. Without a listener there is no
    // connection to lose.
    #[cfg(feature = "sandbox-serve")]
    let answered = tokio::spawn(async move { control.answer(request).await })
        .await
        .unwrap_or_else(|error| Err(Problem::internal(&error)));
    #[cfg(not(feature = "sandbox-serve"))]
    let answered = control.answer(request).await;
    match answered {
        Ok(reply) => plain(StatusCode::OK, reply, &request_id),
        Err(problem) => refuse(problem, &request_id, Envelope::Standard),
    }
}

impl ControlApi {
    async fn answer(&self, request: Incoming) -> Result<Bytes, Problem> {
        let (parts, body) = request.into_parts();
        // Against DNS rebinding: another site's page whose name resolves to this address.
        if !host::is_known(host::requested(&parts), &self.hosts) {
            let message = "The control API answers only under a loopback name, or one given with --allow-host.";
            return Err(Problem::new(ErrorCode::HostNotAllowed, message));
        }
        let call = Call::find(parts.method.as_str(), parts.uri.path());
        if parts.uri.path() == Call::ReadDescription.endpoint().1 {
            return call.map(|_| openapi::text());
        }
        self.check_token(bearer(&parts.headers))?;
        self.service.catch_up().await;
        let call = call?;
        let fields = read_object(&parts.headers, &read_body(body).await?)?;
        let query = query(&parts);
        refuse_unknown(call, &fields, &query)?;
        let merchant = self.merchant(merchant_id(&fields, &query)?).await?;
        self.dispatch(call, &merchant, &fields).await
    }

    fn check_token(&self, token: Option<&str>) -> Result<(), Problem> {
        let (code, message) = match token {
            Some(token) if same(token, self.token.expose()) => return Ok(()),
            Some(_) => (
                ErrorCode::InvalidKey,
                "This is not the control token of this sandbox. Unless GUICHET_CONTROL_TOKEN sets it, the token is new at each start: use the one that was printed last.",
            ),
            None => (
                ErrorCode::AuthenticationRequired,
                "Missing control token. Send the token that the sandbox printed as Authorization: Bearer.",
            ),
        };
        Err(Problem::new(code, message))
    }

    async fn dispatch(
        &self,
        call: Call,
        merchant: &Arc<Merchant>,
        fields: &Map<String, Value>,
    ) -> Result<Bytes, Problem> {
        let reply = match call {
            Call::ReadDescription => return Ok(openapi::text()),
            Call::CreateMerchant => self.create_merchant(fields).await?,
            Call::ReadClock => json!({ "now": merchant.now().unix() }),
            Call::AdvanceClock => self.advance(merchant, fields).await?,
            Call::ListFaults => faults_of(merchant).await?,
            Call::AddFault => {
                merchant.add_fault(read_fault(fields)?).await?;
                faults_of(merchant).await?
            }
            Call::ClearFaults => {
                merchant.clear_faults().await?;
                faults_of(merchant).await?
            }
            Call::ListRequests => {
                let requests = merchant.requests().await?;
                json!({ "requests": requests.iter().map(Request::to_json).collect::<Vec<_>>() })
            }
            Call::ListEvents => {
                json!({ "events": self.service.events(merchant).await?.iter().map(Event::to_json).collect::<Vec<_>>() })
            }
            Call::ResetMerchant => {
                let merchant = self.service.merchants.reset(&self.service.store, merchant).await?;
                json!({ "merchant": merchant.id, "now": merchant.now().unix() })
            }
        };
        Ok(Bytes::from(reply.to_string()))
    }

    async fn merchant(&self, id: Option<&str>) -> Result<Arc<Merchant>, Problem> {
        match id {
            None => Ok(self.service.merchants.first().await?),
            Some(id) => self.service.merchants.by_id(id).await?.ok_or_else(|| Problem::missing("merchant")),
        }
    }

    async fn advance(&self, merchant: &Arc<Merchant>, fields: &Map<String, Value>) -> Result<Value, Problem> {
        let invalid = || {
            let message = "advance_seconds must be a whole number of seconds from 0 to 3,162,240,000 (a hundred years): the clock only goes forward.";
            Problem::field("advance_seconds", ErrorCode::ParameterInvalid, message)
        };
        let seconds = fields.get("advance_seconds").and_then(whole).filter(|seconds| *seconds <= MAX_ADVANCE);
        let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok()).ok_or_else(invalid)?;
        let now = self.service.advance(merchant, seconds).await?;
        Ok(json!({ "now": now.unix() }))
    }

    async fn create_merchant(&self, fields: &Map<String, Value>) -> Result<Value, Problem> {
        let name = text(fields, "name")?.unwrap_or("Sandbox shop");
        if name.chars().count() > LONGEST_NAME {
            let message = format!("name must have at most {LONGEST_NAME} characters.");
            return Err(Problem::field("name", ErrorCode::ParameterInvalid, message));
        }
        let (merchant, secret_key) = self.service.merchants.make(&self.service.store, name).await?;
        Ok(json!({ "merchant": merchant.id, "secret_key": secret_key.expose() }))
    }
}

async fn faults_of(merchant: &Merchant) -> Result<Value, Problem> {
    let faults = merchant.faults().await?;
    Ok(json!({ "faults": faults.iter().map(Fault::to_json).collect::<Vec<_>>() }))
}

impl From<AddFaultError> for Problem {
    fn from(error: AddFaultError) -> Self {
        match error {
            AddFaultError::TooMany => Self::field("count", ErrorCode::TooManyFaults, error.to_string()),
            AddFaultError::Unavailable(error) => error.into(),
        }
    }
}

/// The fields that only one kind of fault has, and that kind.
const OF_ONE_KIND: [(&str, &str); 3] = [("milliseconds", "delay"), ("status", "status"), ("retry_after", "status")];

/// Reads `{"operation", "kind", "count"?, "status"?, "retry_after"?, "milliseconds"?}`.
fn read_fault(fields: &Map<String, Value>) -> Result<Fault, Problem> {
    let wrong = |param: &str, message: &str| Problem::field(param, ErrorCode::ParameterInvalid, message);
    let integer = |name: &str, range: std::ops::RangeInclusive<u64>, message: &str| match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            whole(value).filter(|number| range.contains(number)).map(Some).ok_or_else(|| wrong(name, message))
        }
    };
    let required = |name: &'static str| {
        text(fields, name)?
            .ok_or_else(|| Problem::field(name, ErrorCode::ParameterMissing, format!("{name} is required.")))
    };
    let operation = operation_named(required("operation")?).map_err(|message| wrong("operation", &message))?;
    let count = integer("count", 1..=10_000, "count must be a whole number from 1 to 10,000.")?.unwrap_or(1);
    let kind = required("kind")?;
    for (name, of) in OF_ONE_KIND {
        if of != kind && fields.get(name).is_some_and(|value| !value.is_null()) {
            return Err(wrong(name, &format!("Only a fault of the kind {of} has {name}.")));
        }
    }
    let kind = match kind {
        "delay" => {
            let message = "A delay requires milliseconds: a whole number, at most 600,000.";
            let milliseconds = integer("milliseconds", 0..=LONGEST_DELAY, message)?;
            FaultKind::Delay {
                milliseconds: milliseconds
                    .ok_or_else(|| Problem::field("milliseconds", ErrorCode::ParameterMissing, message))?,
            }
        }
        "status" => {
            let status = integer("status", 400..=599, "status must be a whole number from 400 to 599.")?.unwrap_or(503);
            let retry_after = integer(
                "retry_after",
                0..=86_400,
                "retry_after must be a whole number of seconds, at most 86,400 (a day).",
            )?;
            FaultKind::Status {
                status: u16::try_from(status).unwrap_or(503),
                retry_after: retry_after.and_then(|seconds| u32::try_from(seconds).ok()),
            }
        }
        "drop" => FaultKind::Drop,
        "lost_response" => FaultKind::LostResponse,
        "malformed" => FaultKind::Malformed,
        "truncate" => FaultKind::Truncate,
        _ => return Err(wrong("kind", "kind must be one of status, delay, drop, truncate, malformed, lost_response.")),
    };
    Ok(Fault { operation, kind, count: u32::try_from(count).unwrap_or(1) })
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, Problem> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text)),
        Some(_) => Err(Problem::field(
            name,
            ErrorCode::ParameterInvalid,
            format!("{name} must be a string that is not empty."),
        )),
    }
}

fn query(parts: &Parts) -> Vec<(String, String)> {
    url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes()).into_owned().collect()
}

/// Reads the merchant's id from the body or the query, which has no other parameter.
fn merchant_id<'a>(fields: &'a Map<String, Value>, query: &'a [(String, String)]) -> Result<Option<&'a str>, Problem> {
    let in_query = query.iter().map(|(_, id)| id.as_str());
    let mut ids = text(fields, "merchant")?.into_iter().chain(in_query);
    let first = ids.next();
    if ids.any(|id| Some(id) != first) {
        let message = "The request names more than one merchant. Name one, in the body or in the query.";
        return Err(Problem::field("merchant", ErrorCode::ParameterInvalid, message));
    }
    Ok(first)
}
