use super::settle::{Settled, settle, verify_and_settle};
use super::shop::MAX_OPEN_PAYMENTS;
use super::{Buyer, Client, Owner, Reason, Refused, ReturnKey, Sessions, Shop, Sold, same_origin};
use crate::flow::checkout_address;
use crate::values::{Address, CheckoutUrl, Invalid, PaymentRef, printable};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The merchant's three routes, which the browser's client calls:
///
/// | route | reply |
/// |---|---|
/// | `POST {m}/session` | a session token for the customer who is signed in; 401 if no customer is, 403 `email_not_verified` if the shop does not know their e-mail address to be theirs |
/// | `POST {m}/intents` | the payment of an order, and its return nonce; for a plain form, a 303 redirect to the page where it is paid; 409 `too_many_open_payments` for the 21st payment of a customer without a final status |
/// | `GET {m}/intents/{payment_ref}` | `{status}`, after the payment was read with the secret key and checked |
///
/// ```no_run
/// # fn app<S: guichet::native::Shop>(client: guichet::Client, my_shop: S) -> axum::Router {
/// use guichet::native::Routes;
/// axum::Router::new().nest("/guichet", Routes::new(client, my_shop).router())
/// # }
/// ```
///
/// They are called with the shop's cookies, and refuse requests from pages of other sites.
#[derive(Debug)]
#[must_use = "routes answer nothing until `router`"]
pub struct Routes<S> {
    client: Client,
    shop: S,
    return_key: ReturnKey,
    sessions: Sessions,
    origins: Vec<String>,
    checkout_origins: Vec<String>,
}

impl<S: Shop> Routes<S> {
    /// Creates the routes of a shop that sells through this client.
    pub fn new(client: Client, shop: S) -> Self {
        let return_key = client.return_key();
        let sessions = Sessions::new(client.clone());
        Self { client, shop, return_key, sessions, origins: Vec::new(), checkout_origins: Vec::new() }
    }

    /// Hands out the session tokens that `sessions` keeps, so that the shop can end them when a customer signs out. It
    /// requires [`Buyer::login`].
    pub fn sessions(mut self, sessions: Sessions) -> Self {
        self.sessions = sessions;
        self
    }

    /// Sets a separate return key, for a shop whose secret keys rotate.
    pub fn return_key(mut self, return_key: ReturnKey) -> Self {
        self.return_key = return_key;
        self
    }

    /// Names an origin of the shop's own pages, for example `https://www.example.com`. It may be repeated.
    ///
    /// If an origin is named, only pages of named origins get a reply. Otherwise the browser's `Sec-Fetch-Site`
    /// decides; for a browser that sends none, the request's host is compared with that of its page.
    ///
    /// # Errors
    /// [`Invalid`] if the text is no origin, for example if it has a path: a browser's `Origin` would never be equal.
    pub fn allow_origin(mut self, origin: &str) -> Result<Self, Invalid> {
        self.origins.push(same_origin::origin(origin)?);
        Ok(self)
    }

    /// Names an origin that a `checkout_url` may have, for example `https://pay.example.com`: a plain form's customer
    /// is redirected to no other. It may be repeated. Default: the origin of the client's base address. The page has
    /// the same rule, as `checkoutOrigins`.
    ///
    /// # Errors
    /// [`Invalid`] if the text is no origin.
    pub fn checkout_origin(mut self, origin: &str) -> Result<Self, Invalid> {
        self.checkout_origins.push(same_origin::origin(origin)?);
        Ok(self)
    }

    /// The router. Nest it at the path that `createGuichet({merchant})` names.
    pub fn router(self) -> Router {
        let Self { client, shop, return_key, sessions, origins, mut checkout_origins } = self;
        if checkout_origins.is_empty() {
            checkout_origins.extend(Address::new(client.base_url()).map(|address| address.origin().to_owned()));
        }
        Router::new()
            .route("/session", post(session::<S>))
            .route("/intents", post(create_intent::<S>))
            .route("/intents/{payment_ref}", get(status::<S>))
            .with_state(Arc::new(RoutesState { client, shop, return_key, sessions, checkout_origins }))
            .layer(DefaultBodyLimit::max(64 * 1024))
            .layer(axum::middleware::from_fn_with_state(Arc::<[String]>::from(origins), same_origin::guard))
    }
}

struct RoutesState<S> {
    client: Client,
    shop: S,
    return_key: ReturnKey,
    sessions: Sessions,
    /// The origins that a form's customer may be redirected to.
    checkout_origins: Vec<String>,
}

impl<S: Shop> RoutesState<S> {
    /// Who sent the request.
    async fn buyer(&self, request: &Parts) -> Result<Buyer, Refused> {
        self.shop.buyer(request).await?.ok_or_else(Refused::not_signed_in)
    }
}

async fn session<S: Shop>(State(state): State<Arc<RoutesState<S>>>, request: Parts) -> Result<Response, Refused> {
    let Buyer { owner, login, verified_email } = state.buyer(&request).await?;
    if matches!(owner, Owner::Guest(_)) {
        return Err(Refused::not_signed_in());
    }
    let email = verified_email.ok_or_else(Refused::email_not_verified)?;
    if let Some(login) = login {
        let kept = state.sessions.get_or_create(&login, &email).await?;
        let expires_at = kept.ends_at.map(|end| end.to_string());
        return Ok(granted(kept.token.expose(), kept.customer_email.as_str(), expires_at));
    }
    let session = state.client.create_session(&email).await?;
    // In UTC if it can be parsed, so that no page reads a time without an offset as its local time.
    let expires_at = session.ends().map(|end| end.to_string()).or(session.expires_at);
    Ok(granted(session.session_token.expose(), &session.customer_email, expires_at))
}

fn granted(token: &str, customer_email: &str, expires_at: Option<String>) -> Response {
    no_store_json(json!({"session_token": token, "customer_email": customer_email, "expires_at": expires_at}))
}

async fn create_intent<S: Shop>(
    State(state): State<Arc<RoutesState<S>>>,
    request: Parts,
    body: Bytes,
) -> Result<Response, Refused> {
    let buyer = state.buyer(&request).await?;
    let (order, by_form) = read_order(&request.headers, &body)?;
    let purchase = state.shop.purchase(&buyer, order).await?;
    if state.shop.open_payments(&buyer.owner, &purchase.merchant_reference).await? >= MAX_OPEN_PAYMENTS {
        return Err(Refused::too_many_open_payments());
    }
    let (purchase, nonce) = state.return_key.mark(purchase).map_err(Refused::broken)?;
    let intent = state.client.create_payment_intent(&purchase).await?;
    let sold = Sold::new(&purchase, &intent, buyer.owner)?;
    state.shop.remember(&sold).await?;
    verify_and_settle(&state.shop, &sold, &intent).await?;

    let checkout_url = intent.checkout_url.as_ref().map(CheckoutUrl::expose);
    if by_form {
        let unusable = || {
            Refused::new(
                502,
                Reason { code: "address", message: "The payment service named no address that can be followed." },
            )
        };
        let address =
            checkout_address(checkout_url.unwrap_or_default(), &state.checkout_origins).map_err(|invalid| {
                let reason = printable(&invalid);
                tracing::error!(%reason, "a form was not sent on to where it is paid: see Routes::checkout_origin");
                unusable()
            })?;
        let headers = [(header::LOCATION, address.as_str()), (header::CACHE_CONTROL, "no-store")];
        return Ok((StatusCode::SEE_OTHER, headers).into_response());
    }
    let intent = json!({
        "id": intent.id, "checkout_url": checkout_url, "payment_ref": sold.payment_ref, "merchant_reference": sold.merchant_reference,
        "status": intent.status.as_str(), "amount": intent.amount, "currency": intent.currency,
    });
    Ok(no_store_json(json!({"intent": intent, "return_nonce": nonce})))
}

async fn status<S: Shop>(
    State(state): State<Arc<RoutesState<S>>>,
    Path(payment_ref): Path<String>,
    request: Parts,
) -> Result<Response, Refused> {
    let missing = || Refused::new(404, Reason { code: "resource_missing", message: "There is no such payment." });
    let Buyer { owner, .. } = state.buyer(&request).await?;
    let payment_ref = PaymentRef::new(payment_ref).map_err(|_| missing())?;
    let sold = state.shop.find(&payment_ref, &owner).await?;
    // Compared again, for a shop that forgets it.
    let sold = sold.filter(|sold| sold.owner == owner).ok_or_else(missing)?;
    let Settled { intent, .. } = settle(&state.client, &state.shop, &sold).await?;
    let declined = intent.last_payment_error.map(|error| json!({"code": error.code, "message": error.message}));
    // The customer may know that they have paid twice and will get a refund.
    let duplicates = intent.duplicate_payments.iter().map(|duplicate| {
        let approved_at = duplicate.approved_at.map(|at| at.to_string());
        let amount = duplicate.amount.map_or_else(String::new, |amount| amount.to_string());
        json!({"attempt": duplicate.attempt, "amount": amount, "currency": duplicate.currency, "approved_at": approved_at})
    });
    let duplicates: Vec<Value> = duplicates.collect();
    let body =
        json!({"status": intent.status.as_str(), "last_payment_error": declined, "duplicate_payments": duplicates});
    Ok(no_store_json(body))
}

/// Reads the order of a request, and whether a plain form sent it. A page of another site could send any other content
/// type without a CORS preflight.
fn read_order(headers: &HeaderMap, body: &[u8]) -> Result<(Value, bool), Refused> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "application/json" => {
            let invalid = |_| Refused::new(400, Reason { code: "invalid_json", message: "The order is not JSON." });
            Ok((serde_json::from_slice(body).map_err(invalid)?, false))
        }
        "application/x-www-form-urlencoded" => {
            let fields = url::form_urlencoded::parse(body).map(|(name, value)| (name.into_owned(), value.into()));
            Ok((Value::Object(fields.collect::<Map<_, _>>()), true))
        }
        _ => Err(Refused::new(
            415,
            Reason { code: "unsupported_media_type", message: "An order is sent as application/json, or by a form." },
        )),
    }
}

/// A response that no cache stores, because it contains a token or a current state.
fn no_store_json(body: Value) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], axum::Json(body)).into_response()
}
