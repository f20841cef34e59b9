//! The control API under `/sandbox`, `decisions.md` 12: its own token, known hosts only, no CORS. It is outside `/v1`,
//! so that the interface itself stays as documented.

pub(crate) mod calls;
mod fields;
mod purchases;

pub use calls::{Call, LONGEST_NAME};

use crate::auth::bearer;
use crate::events::Event;
use crate::faults::{AddFaultError, Fault, FaultKind, operation_named};
use crate::http::{plain, read_body, read_object, refuse};
use crate::inspector::access::Access;
use crate::openapi;
use crate::problem::Problem;
use crate::redact::redacted;
use crate::requests::Request;
use crate::rules::{HandsetDecision, OPERATORS, Operator, OperatorStatus};
use crate::server::host;
use crate::server::site::Site;
use crate::service::{Merchant, Service};
use crate::tokens::{id, same};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request as Incoming, State};
use axum::http::request::Parts;
use axum::http::{Response, StatusCode};
use axum::routing::any;
use fields::{Fields, missing, wrong};
use guichet::protocol::{Envelope, ErrorCode};
use guichet::values::Secret;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How long a call waits for a change.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// The control API's state.
pub(crate) struct ControlApi {
    pub(crate) service: Arc<Service>,
    pub(crate) token: Secret,
    /// Host names under which it answers, besides loopback.
    pub(crate) hosts: Vec<String>,
    /// The links and cookies of the inspector.
    pub(crate) access: Arc<Access>,
    /// The inspector's page.
    pub(crate) site: Arc<Site>,
}

/// Finds a call by its method and its path.
fn find(method: &str, path: &str) -> Result<Call, Problem> {
    let at_path = || Call::ALL.iter().copied().filter(|call| call.spec().path == path);
    if let Some(call) = at_path().find(|call| call.spec().method.as_str() == method) {
        return Ok(call);
    }
    let methods: Vec<&str> = at_path().map(|call| call.spec().method.as_str()).collect();
    Err(if methods.is_empty() { Problem::route_not_found() } else { Problem::method_not_allowed(methods.join(", ")) })
}

/// The routes of the control API.
pub(crate) fn routes(control: Arc<ControlApi>) -> Router {
    Router::new().route("/sandbox", any(answer)).route("/sandbox/{*rest}", any(answer)).with_state(control)
}

async fn answer(State(control): State<Arc<ControlApi>>, request: Incoming) -> Response<Body> {
    let request_id = id("req_");
    // In its own task, so that the database and the memory change together even if the client disconnects. Without a
    // listener there is no connection to lose.
    #[cfg(feature = "serve")]
    let answered = tokio::spawn(async move { control.answer(request).await })
        .await
        .unwrap_or_else(|error| Err(Problem::internal(&error)));
    #[cfg(not(feature = "serve"))]
    let answered = control.answer(request).await;
    match answered {
        Ok(reply) => plain(StatusCode::OK, reply, &request_id),
        Err(problem) => refuse(problem, &request_id, Envelope::Standard),
    }
}

impl ControlApi {
    async fn answer(&self, request: Incoming) -> Result<Bytes, Problem> {
        let (parts, body) = request.into_parts();
        self.check_host(&parts)?;
        let call = find(parts.method.as_str(), parts.uri.path());
        if parts.uri.path() == Call::ReadDescription.spec().path {
            return call.map(|_| openapi::text());
        }
        let token = bearer(&parts.headers);
        if token.is_some() || !self.access.admits(&parts) {
            self.check_token(token)?;
        }
        self.service.catch_up().await;
        let call = call?;
        let fields = read_object(&parts.headers, &read_body(body).await?)?;
        let query = query(&parts);
        let fields = Fields::of(call, fields, &query)?;
        let merchant = self.merchant(merchant_id(&fields, &query)?)?;
        if call == Call::OpenInspector {
            let host = host::requested(&parts);
            let public = Some(&self.service.public_origin).filter(|origin| origin.ends_with(&format!("://{host}")));
            let origin = public.map_or_else(|| format!("http://{host}"), String::clone);
            return Ok(Bytes::from(json!({ "inspector_url": self.access.address(&origin) }).to_string()));
        }
        self.dispatch(call, &merchant, &fields).await
    }

    /// Refuses an unknown host, against DNS rebinding: another site's page whose name resolves to this address.
    pub(crate) fn check_host(&self, parts: &Parts) -> Result<(), Problem> {
        if host::is_known(host::requested(parts), &self.hosts) {
            return Ok(());
        }
        let message = "The control API answers only under a loopback name, or one given with --allow-host.";
        Err(Problem::new(ErrorCode::HostNotAllowed, message))
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

    async fn dispatch(&self, call: Call, merchant: &Merchant, fields: &Fields) -> Result<Bytes, Problem> {
        let reply = match call {
            Call::ReadDescription | Call::OpenInspector => return Ok(openapi::text()),
            Call::CreateMerchant => {
                let (merchant, secret_key) = self.service.merchants.make(fields.required("name")?).await?;
                json!({ "merchant": merchant.id(), "secret_key": secret_key.expose() })
            }
            Call::ReadClock => json!({ "now": merchant.now().unix() }),
            Call::AdvanceClock => {
                let invalid = "advance_seconds must be a whole number of seconds from 0 to 3,162,240,000 (a hundred years): the clock only goes forward.";
                let seconds =
                    fields.whole("advance_seconds", invalid)?.ok_or_else(|| wrong("advance_seconds", invalid))?;
                json!({ "now": self.service.advance(merchant, seconds).await?.unix() })
            }
            Call::ListFaults => faults_of(merchant),
            Call::AddFault => {
                merchant.add_fault(read_fault(fields)?)?;
                faults_of(merchant)
            }
            Call::ClearFaults => {
                merchant.clear_faults();
                faults_of(merchant)
            }
            Call::SetOperator => {
                let operator = Operator::of_code(fields.required("code")?);
                let unknown =
                    |what: &str, all: Vec<&str>| wrong(what, format!("{what} must be one of {}.", all.join(", ")));
                let operator = operator.ok_or_else(|| unknown("code", Operator::codes()))?;
                let named = fields.required("status")?;
                let status = OperatorStatus::ALL.into_iter().find(|status| status.as_str() == named);
                let words = || OperatorStatus::ALL.map(OperatorStatus::as_str).to_vec();
                let status = status.ok_or_else(|| unknown("status", words()))?;
                self.service.merchants.set_operator(merchant, operator.code, status).await?;
                json!({ "operators": operators_of(merchant) })
            }
            Call::ListRequests => {
                let requests = merchant.requests();
                json!({ "requests": requests.iter().map(Request::to_json).collect::<Vec<_>>() })
            }
            Call::ListEvents => {
                json!({ "events": self.service.events(merchant).await?.iter().map(Event::to_json).collect::<Vec<_>>() })
            }
            Call::ListPurchases => {
                let invalid = "limit must be a whole number from 1 to 100.";
                let limit = fields.whole("limit", invalid)?.ok_or_else(|| wrong("limit", invalid))?;
                self.service.bill(merchant).await?;
                let (search, after) = (fields.text("search")?, fields.text("starting_after")?);
                let found = self.service.search_intents(merchant, search, after, limit as usize).await?;
                let (intents, has_more) = found;
                let last = intents.last().filter(|_| has_more).map(|intent| intent.id.to_string());
                let purchases = purchases::list(merchant, &intents);
                let (now, operators) = (merchant.now().unix(), operators_of(merchant));
                let mut reply =
                    json!({ "now": now, "purchases": purchases, "next_cursor": last, "operators": operators });
                reply["refused"] = purchases::refused(merchant).into();
                redacted(reply)
            }
            Call::ReadThread => {
                let invalid = "limit must be a whole number from 1 to 2,000.";
                let limit = fields.whole("limit", invalid)?.ok_or_else(|| wrong("limit", invalid))?;
                let intent = self.service.find_intent(merchant, fields.required("payment")?).await?;
                let mut thread = redacted(purchases::thread(&self.service, merchant, &intent, limit as usize));
                thread["now"] = merchant.now().unix().into();
                thread
            }
            Call::AwaitChanges => {
                let invalid = "after must be the number that an earlier call has returned.";
                let after = fields.whole("after", invalid)?;
                json!({ "changes": merchant.changes(after.map(u64::from), LONGEST_WAIT).await })
            }
            Call::DecideOnHandset => {
                let decision = HandsetDecision::of_word(fields.required("decision")?);
                let words = || format!("decision must be one of {}.", HandsetDecision::words().join(", "));
                let decision = decision.ok_or_else(|| wrong("decision", words()))?;
                let attempt = fields.whole("attempt", "attempt must be the number of an attempt, from 1.")?;
                let payment = fields.required("payment")?;
                let intent = self.service.decide_on_handset(merchant, payment, attempt, decision).await?;
                redacted(json!({ "purchase": purchases::list(merchant, &[intent]).pop() }))
            }
            Call::ResetMerchant => {
                self.service.merchants.reset(merchant).await?;
                json!({ "merchant": merchant.id(), "now": merchant.now().unix() })
            }
        };
        Ok(Bytes::from(reply.to_string()))
    }

    fn merchant(&self, id: Option<&str>) -> Result<Merchant, Problem> {
        match id {
            None => Ok(self.service.merchants.first()),
            Some(id) => self.service.merchants.by_id(id).ok_or_else(|| Problem::missing("merchant")),
        }
    }
}

fn faults_of(merchant: &Merchant) -> Value {
    json!({ "faults": merchant.faults().iter().map(Fault::to_json).collect::<Vec<_>>() })
}

fn operators_of(merchant: &Merchant) -> Vec<Value> {
    let statuses = merchant.operators();
    let operator = |Operator { code, name, .. }: &Operator| json!({ "code": code, "name": name, "status": statuses.of(code).as_str() });
    OPERATORS.iter().map(operator).collect()
}

impl From<AddFaultError> for Problem {
    fn from(error: AddFaultError) -> Self {
        match error {
            AddFaultError::TooMany => Self::field("count", ErrorCode::TooManyFaults, error.to_string()),
            AddFaultError::Unavailable(error) => error.into(),
        }
    }
}

/// Reads the fault that the fields of a body describe.
fn read_fault(fields: &Fields) -> Result<Fault, Problem> {
    let operation = operation_named(fields.required("operation")?).map_err(|message| wrong("operation", message))?;
    let count = fields.whole("count", "count must be a whole number from 1 to 10,000.")?.unwrap_or(1);
    let name = fields.required("kind")?;
    for (field, kind) in [("milliseconds", "delay"), ("status", "status"), ("retry_after", "status")] {
        if kind != name && fields.has(field) {
            return Err(wrong(field, format!("Only a fault of the kind {kind} has {field}.")));
        }
    }
    let unknown =
        || wrong("kind", format!("kind must be one of {}.", FaultKind::ALL.map(FaultKind::as_str).join(", ")));
    let kind = match FaultKind::ALL.into_iter().find(|kind| kind.as_str() == name).ok_or_else(unknown)? {
        FaultKind::Delay { .. } => {
            let invalid = "A delay requires milliseconds: a whole number, at most 600,000.";
            let milliseconds =
                fields.whole("milliseconds", invalid)?.ok_or_else(|| missing("milliseconds", invalid))?;
            FaultKind::Delay { milliseconds: milliseconds.into() }
        }
        FaultKind::Status { status: default, .. } => {
            let status = fields.whole("status", "status must be a whole number from 400 to 599.")?;
            let invalid = "retry_after must be a whole number of seconds, at most 86,400 (a day).";
            FaultKind::Status {
                status: status.and_then(|status| u16::try_from(status).ok()).unwrap_or(default),
                retry_after: fields.whole("retry_after", invalid)?,
            }
        }
        kind => kind,
    };
    Ok(Fault { operation, kind, count })
}

fn query(parts: &Parts) -> Vec<(String, String)> {
    url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes()).into_owned().collect()
}

/// Reads the merchant's id from the body or the query.
fn merchant_id<'a>(fields: &'a Fields, query: &'a [(String, String)]) -> Result<Option<&'a str>, Problem> {
    let in_query = query.iter().filter(|(name, _)| name == "merchant").map(|(_, id)| id.as_str());
    let mut ids = fields.text("merchant")?.into_iter().chain(in_query);
    let first = ids.next();
    if ids.any(|id| Some(id) != first) {
        return Err(wrong(
            "merchant",
            "The request names more than one merchant. Name one, in the body or in the query.",
        ));
    }
    Ok(first)
}
