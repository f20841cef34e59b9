//! The guard in an axum router: as an extractor, and as a layer.

use super::{CustomerSession, SessionGuard};
use crate::native::Refused;
use axum::body::Body;
use axum::extract::{FromRef, FromRequestParts, Request};
use axum::http::Response;
use axum::http::request::Parts;
use axum::response::IntoResponse;
use std::pin::Pin;
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

/// The guards that have admitted a request, each with the admitted customer.
#[derive(Clone, Default)]
struct Admissions(Vec<(SessionGuard, CustomerSession)>);

impl Admissions {
    fn by(&self, guard: &SessionGuard) -> Option<&CustomerSession> {
        self.0.iter().find(|(by, _)| by.is(guard)).map(|(_, session)| session)
    }
}

#[cfg_attr(doc_labels, doc(cfg(feature = "axum")))]
impl<S> FromRequestParts<S> for CustomerSession
where
    S: Send + Sync,
    SessionGuard: FromRef<S>,
{
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let guard = SessionGuard::from_ref(state);
        match parts.extensions.get::<Admissions>().and_then(|admissions| admissions.by(&guard)) {
            Some(session) => Ok(session.clone()),
            None => guard.check(&parts.headers).await,
        }
    }
}

#[cfg_attr(doc_labels, doc(cfg(feature = "axum")))]
impl<S> Layer<S> for SessionGuard {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { guard: self.clone(), inner }
    }
}

/// A service behind a [`SessionGuard`], created by the guard's layer.
///
/// ```
/// use axum::{Extension, Router, routing::get};
/// use guichet::native::{CustomerSession, SessionGuard};
///
/// async fn me(Extension(customer): Extension<CustomerSession>) -> String {
///     customer.customer_email.to_string()
/// }
///
/// fn api(client: guichet::Client) -> Router {
///     Router::new().route("/me", get(me)).layer(SessionGuard::new(client))
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Guarded<S> {
    guard: SessionGuard,
    inner: S,
}

impl<S> Service<Request> for Guarded<S>
where
    S: Service<Request, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let guard = self.guard.clone();
        // Call the service that was polled ready; a clone of it may not be ready.
        let clone = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, clone);
        Box::pin(async move {
            match guard.check(request.headers()).await {
                Ok(session) => {
                    let admissions = request.extensions_mut().get_or_insert_default::<Admissions>();
                    admissions.0.push((guard, session.clone()));
                    request.extensions_mut().insert(session);
                    ready.call(request).await
                }
                Err(refused) => Ok(refused.into_response()),
            }
        })
    }
}
