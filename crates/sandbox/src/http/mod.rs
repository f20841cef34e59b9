//! The HTTP routes: one for each operation of `every_operation!`, from its own description.

mod cors;
mod exact;
mod fault_injection;
mod read;
mod respond;

pub use exact::json_errors;
pub(super) use read::{read_body, read_object};
pub(super) use respond::{RETRY_AFTER, envelope, plain, refuse};

use super::FaultKind;
use super::auth::{advise_page, authenticate, authorize, is_public};
use super::caller::Caller;
use super::problem::Problem;
use super::requests::{Listed, Request as Received};
use super::service::{Done, Handle, Merchant, Service};
use super::tokens;
use crate::server::DropConnection;
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::routing::any;
use guichet::operations::*;
use guichet::protocol::{CredentialKind, Envelope, ErrorCode, Fields, Method, Operation, Role, Served, Spec};
use serde_json::Value;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

/// The service's routes.
pub(super) fn routes() -> Router<Arc<Service>> {
    let mut paths: BTreeMap<&'static str, Vec<Route>> = BTreeMap::new();
    macro_rules! add_routes {
        ($($operation:ident)*) => {$(
            paths.entry(<$operation as Operation>::SPEC.path).or_default().push(Route::of::<$operation>());
        )*};
    }
    guichet::every_operation!(add_routes);
    let not_found = |State(service): State<Arc<Service>>, request: Request| async move {
        let mut response = cors::not_found(&service, &request.into_parts().0, &tokens::id("req_"));
        service.catch_up().await;
        respond::date(&mut response, service.now());
        response
    };
    paths.into_iter().fold(Router::new().fallback(not_found), |router, (path, routes)| {
        let routes: Arc<[Route]> = routes.into();
        let answer = move |State(service): State<Arc<Service>>, path: PathFields, request: Request| {
            dispatch(service, Arc::clone(&routes), path, request)
        };
        router.route(path, any(answer))
    })
}

/// The route of one operation.
#[derive(Clone, Copy)]
struct Route {
    spec: Spec,
    /// Whether a browser may send it: its role is not Merchant.
    open_to_browsers: bool,
    /// Whether it can be called without a credential.
    is_public: fn(&Service) -> bool,
    /// Adds the remedy to an error for a page.
    advise_page: fn(Problem) -> Problem,
    serve: fn(Arc<Service>, Caller, RawRequest) -> Serving,
}

type Serving = Pin<Box<dyn Future<Output = Result<Done, Problem>> + Send>>;

/// The fields of the path, decoded; an error where they are not UTF-8.
type PathFields = Result<RawPathParams, RawPathParamsRejection>;

/// The parts of a request that an operation reads.
struct RawRequest {
    path: PathFields,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
}

impl Route {
    fn of<O>() -> Self
    where
        O: Served + Send + 'static,
        O::Role: Send,
        Service: Handle<O>,
    {
        Self {
            spec: O::SPEC,
            open_to_browsers: is_open::<O::Role>(),
            is_public: is_public::<O::Role>,
            advise_page: advise_page::<O::Role>,
            serve: |service, caller, request| Box::pin(serve::<O>(service, caller, request)),
        }
    }

    fn answers(&self, method: &axum::http::Method) -> bool {
        // HEAD is GET without its body, which the server leaves out.
        self.spec.method.as_str() == method.as_str()
            || (*method == axum::http::Method::HEAD && self.spec.method == Method::Get)
    }
}

fn is_open<R: Role>() -> bool {
    R::admits(CredentialKind::SessionToken) || R::admits(CredentialKind::ClientSecret)
}

/// Finds the operation of a request's method and runs it.
async fn dispatch(service: Arc<Service>, routes: Arc<[Route]>, path: PathFields, request: Request) -> Response {
    let request_id = tokens::id("req_");
    let (parts, body) = request.into_parts();
    service.catch_up().await;
    if let Some(mut preflight) = cors::preflight(&service, &routes, &parts, &request_id) {
        respond::date(&mut preflight, service.now());
        return preflight;
    }
    let Some(route) = routes.iter().find(|route| route.answers(&parts.method)) else {
        let mut refused = refuse(method_not_allowed(&routes), &request_id, Envelope::Standard);
        respond::date(&mut refused, service.now());
        return refused;
    };
    let origin = parts.headers.get(axum::http::header::ORIGIN).cloned();
    let request = RawRequest { path, uri: parts.uri, headers: parts.headers, body };
    let answered = answer(&service, route, request, origin.is_some(), &request_id).await;
    let mut response = answered.unwrap_or_else(|problem| {
        let mut refused = refuse(problem, &request_id, route.spec.envelope);
        respond::date(&mut refused, service.now());
        refused
    });
    if route.open_to_browsers {
        cors::allow(&service, origin.as_ref(), response.headers_mut());
    }
    tracing::debug!(operation = route.spec.name, status = response.status().as_u16(), request_id, "answered");
    response
}

/// Authenticates the caller, lists the request with its merchant, injects the merchant's fault and executes the
/// operation.
///
/// # Errors
/// 503 if the store fails before the merchant is known. The request is not listed then.
async fn answer(
    service: &Arc<Service>,
    route: &Route,
    mut request: RawRequest,
    is_from_page: bool,
    request_id: &str,
) -> Result<Response, Problem> {
    let caller = match authenticate(service, &request.headers).await {
        Err(problem) if problem.code == ErrorCode::Unavailable => return Err(problem),
        caller => caller,
    };
    // Requests without a known merchant are listed with the first one.
    let known = caller.as_ref().ok().and_then(Caller::known_merchant).cloned();
    // Only an authorized caller uses up a fault.
    let may_call = known.is_some() || matches!(caller, Ok(Caller::Anonymous)) && (route.is_public)(service);
    let is_known = known.is_some();
    let merchant = match known {
        Some(merchant) => merchant,
        None => service.merchants.first(),
    };
    let fault = if may_call { merchant.take_fault(route.spec.name) } else { None };
    let kind = caller.as_ref().ok().map(Caller::kind);
    let received = Received::new(merchant.now(), &route.spec, id_of(&request.path), kind, request_id);
    let mut response = observe(&merchant, received, fault, route.spec.envelope, async {
        let answer = match caller {
            Ok(caller) => match record_reference(&merchant, route, &mut request, request_id).await {
                Ok(()) => (route.serve)(Arc::clone(service), caller, request).await,
                Err(problem) => Err(problem),
            },
            Err(problem) => Err(problem),
        };
        match answer {
            Ok(done) => respond::answer(done, request_id, &route.spec),
            Err(problem) => {
                let problem = if is_from_page { (route.advise_page)(problem) } else { problem };
                refuse(problem, request_id, route.spec.envelope)
            }
        }
    })
    .await;
    respond::date(&mut response, if is_known { merchant.now() } else { service.now() });
    Ok(response)
}

/// Records the reference in the body of a creation. Here, because a member of [`RawRequest`] would be in the code of each
/// operation.
async fn record_reference(
    merchant: &Merchant,
    route: &Route,
    request: &mut RawRequest,
    request_id: &str,
) -> Result<(), Problem> {
    if route.spec.name == CreatePaymentIntent::SPEC.name {
        let body = read_body(std::mem::take(&mut request.body)).await?;
        let fields: Value = serde_json::from_slice(&body).unwrap_or_default();
        merchant.record_reference(request_id, &fields["merchant_reference"]);
        request.body = Body::from(body);
    }
    Ok(())
}

/// Lists a request with its merchant, injects the fault and executes the call.
pub(super) async fn observe(
    merchant: &Merchant,
    received: Received,
    fault: Option<FaultKind>,
    envelope: Envelope,
    call: impl Future<Output = Response>,
) -> Response {
    let request_id = received.request_id.clone();
    let mut listed = None;
    merchant.add_request(Received { fault: fault.map(FaultKind::as_str), ..received });
    let response = match fault_injection::before(fault, &request_id, envelope).await {
        Some(instead) => instead,
        None => {
            let mut response = call.await;
            listed = response.extensions_mut().remove::<Listed>();
            fault_injection::after(fault, response).await
        }
    };
    let is_dropped = response.extensions().get::<DropConnection>().is_some();
    let status = (!is_dropped).then(|| response.status().as_u16());
    merchant.record_response(&request_id, status, listed.unwrap_or_default());
    response
}

/// Authorizes the caller, reads the operation and handles it.
async fn serve<O: Served>(service: Arc<Service>, caller: Caller, request: RawRequest) -> Result<Done, Problem>
where
    Service: Handle<O>,
{
    let caller = authorize::<O::Role>(&service, caller)?;
    let mut fields = Fields::new(read::fields(&O::SPEC, request).await?);
    if service.strict {
        fields = fields.strict();
    }
    let operation = O::parse(fields).map_err(Problem::fields)?;
    // Reading the body or a fault may have taken time.
    service.catch_up().await;
    service.handle(caller, operation).await
}

/// The `{id}` of a path, if it has one.
fn id_of(path: &PathFields) -> Option<&str> {
    path.as_ref().ok()?.iter().find_map(|(name, value)| (name == "id").then_some(value))
}

fn method_not_allowed(routes: &[Route]) -> Problem {
    let mut methods: Vec<&str> = routes.iter().map(|route| route.spec.method.as_str()).collect();
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    Problem::method_not_allowed(methods.join(", "))
}
