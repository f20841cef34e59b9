use super::ledger::Ledger;
use super::reads::PublicReads;
use super::{Buyer, Client, Reason, Refused, Sessions, Shop};
use crate::flow::payment_names;
use crate::platform::read_origin;
use crate::shop::ledger::{Store, answer};
use crate::shop::{self, Granted, Grants, PublicRead, Reply, Sender};
use crate::values::{Address, Email, Invalid, Language};
use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Map, Value};
use std::sync::Arc;
use tracing::Instrument as _;

/// The merchant's routes, which the browser's client calls:
///
/// | route | reply |
/// |---|---|
/// | `POST {m}/session` | a session token for the customer who is signed in; 401 if no customer is, 403 `email_not_verified` if the shop does not know their e-mail address to be theirs |
/// | `POST {m}/intents` | the payment of an order, and its return nonce; for a plain form, a 303 redirect to the page where it is paid. 409: the order was ended, is another than the payment, or is the customer's 21st open one. 503: not known yet, nothing is lost |
/// | `GET {m}/intents/{payment_ref}` | `{status}`, after the payment was read with the secret key and checked |
/// | `GET {m}/return?guichet_return=…` | the same as a page without a script, which loads itself again until the status is final: the `redirect_url` of an order that a plain form pays |
///
/// ```no_run
/// # fn app<S: guichet::native::Shop, T: guichet::native::ledger::Store + 'static>(client: guichet::Client, my_shop: S, store: T) -> Result<axum::Router, guichet::values::Invalid> {
/// use guichet::native::{Ledger, Routes};
/// let ledger = Ledger::new(client, store);
/// let routes = Routes::new(ledger, my_shop).allow_origin("https://shop.example")?; // the shop's own: a proxy may change `Host`
/// # Ok(
/// axum::Router::new().nest("/guichet", routes.router())
/// # ) }
/// ```
///
/// They are called with the shop's cookies, and refuse requests from pages of other sites. Only `return` answers a
/// customer who comes from there. A form and `return` get their errors as a page, in French if the browser's first
/// language is French, and else in English.
#[derive(Debug)]
#[must_use = "routes answer nothing until `router`"]
pub struct Routes<S, T> {
    ledger: Ledger<T>,
    shop: S,
    sessions: Sessions,
    origins: Vec<String>,
    checkout_origins: Vec<String>,
    public_reads: bool,
}

impl<S: Shop, T: Store + 'static> Routes<S, T> {
    /// Creates the routes of a shop with this ledger.
    pub fn new(ledger: Ledger<T>, shop: S) -> Self {
        let sessions = Sessions::new(ledger.client().clone());
        Self { ledger, shop, sessions, origins: Vec::new(), checkout_origins: Vec::new(), public_reads: false }
    }

    /// Hands out the session tokens that `sessions` keeps, so that the shop can end them when a customer signs out. It
    /// requires [`Buyer::login`].
    pub fn sessions(self, sessions: Sessions) -> Self {
        Self { sessions, ..self }
    }

    /// Names an origin of the shop's own pages, for example `https://www.example.com`. It may be repeated.
    ///
    /// If an origin is named, only pages of named origins get a reply: those of another origin than the shop's by CORS,
    /// with the shop's cookies. Otherwise the browser's `Sec-Fetch-Site` decides; for a browser that sends none, the
    /// request's host is compared with that of its page.
    ///
    /// # Errors
    /// [`Invalid`] if the text is no origin, for example if it has a path: a browser's `Origin` would never be equal.
    pub fn allow_origin(mut self, origin: &str) -> Result<Self, Invalid> {
        self.origins.push(self::origin(origin)?);
        Ok(self)
    }

    /// Names an origin that a `checkout_url` may have, for example `https://pay.example.com`: a plain form's customer
    /// is redirected to no other. It may be repeated. Default: the origin of the client's base address.
    ///
    /// # Errors
    /// [`Invalid`] if the text is no origin.
    pub fn checkout_origin(mut self, origin: &str) -> Result<Self, Invalid> {
        self.checkout_origins.push(self::origin(origin)?);
        Ok(self)
    }

    /// Serves methods and fees, too, which pages with `publicReads: "merchant"` read here: `GET {m}/payment-methods`
    /// and `GET {m}/fee`. For a service that wants the secret key for them.
    ///
    /// No login is needed. Only checked values are passed on, equal reads share one request, and an answer is kept for
    /// ten seconds. If a thousand are, further reads get 429.
    ///
    /// ```no_run
    /// # fn app<S: guichet::native::Shop, T: guichet::native::ledger::Store + 'static>(ledger: guichet::native::Ledger<T>, my_shop: S) -> axum::Router {
    /// guichet::native::Routes::new(ledger, my_shop).public_reads().router()
    /// # }
    /// ```
    pub fn public_reads(self) -> Self {
        Self { public_reads: true, ..self }
    }

    /// The router. Nest it at the path that `createGuichet({merchant})` names.
    pub fn router(self) -> Router {
        let Self { ledger, shop, sessions, origins, mut checkout_origins, public_reads } = self;
        if let Some(profile) = ledger.client().profile().filter(|_| checkout_origins.is_empty()) {
            checkout_origins.extend(profile.checkout_origins.iter().filter_map(|origin| read_origin(origin)));
        }
        if checkout_origins.is_empty() {
            checkout_origins.extend(Address::new(ledger.client().base_url()).map(|base| base.origin().to_owned()));
        }
        let mut router = Router::new()
            .route("/session", post(session::<S, T>))
            .route("/intents", post(create_intent::<S, T>))
            .route("/intents/{payment_ref}", get(status::<S, T>));
        if public_reads {
            let reads = Arc::new(PublicReads::new(ledger.client().clone()));
            let answer = |read: fn(&str) -> Result<PublicRead, Refused>| {
                let reads = Arc::clone(&reads);
                get(
                    move |request: Parts| async move { reads.reply(read(request.uri.query().unwrap_or_default())?).await },
                )
            };
            router =
                router.route("/payment-methods", answer(PublicRead::methods)).route("/fee", answer(PublicRead::fee));
        }
        router
            .layer(DefaultBodyLimit::max(64 * 1024))
            .layer(axum::middleware::from_fn_with_state(Arc::<[String]>::from(origins), guard))
            // After the guard: a customer comes to it from the service's site.
            .route("/return", get(payment::<S, T>))
            .with_state(Arc::new(RoutesState { ledger, shop, sessions, checkout_origins }))
    }
}

struct RoutesState<S, T> {
    ledger: Ledger<T>,
    shop: S,
    sessions: Sessions,
    /// The origins that a form's customer may be redirected to.
    checkout_origins: Vec<String>,
}

impl<S: Shop, T: Store> RoutesState<S, T> {
    /// Who sent the request.
    async fn buyer(&self, request: &Parts) -> Result<Buyer, Refused> {
        self.shop.buyer(request).await?.ok_or_else(Refused::not_signed_in)
    }
}

impl<S: Shop, T: Store> Grants for RoutesState<S, T> {
    async fn session(&self, login: Option<&str>, customer_email: &Email) -> Result<Granted, Refused> {
        granted(self.ledger.client(), &self.sessions, login, customer_email).await
    }
}

/// Carries out what a ledger has begun, also if the page goes away: a dropped request would leave it to a later round.
async fn to_its_end<R: Send + 'static>(
    work: impl Future<Output = Result<R, Refused>> + Send + 'static,
) -> Result<R, Refused> {
    tokio::spawn(work.in_current_span()).await.unwrap_or_else(|panicked| Err(Refused::broken(panicked)))
}

async fn session<S: Shop, T: Store + 'static>(
    State(state): State<Arc<RoutesState<S, T>>>,
    request: Parts,
) -> Result<Reply, Refused> {
    let buyer = state.buyer(&request).await?;
    shop::session(&*state, buyer).await
}

async fn create_intent<S: Shop, T: Store + 'static>(
    State(state): State<Arc<RoutesState<S, T>>>,
    request: Parts,
    body: Result<Bytes, BytesRejection>,
) -> Reply {
    let RoutesState { ledger, shop, checkout_origins, .. } = &*state;
    let create = async {
        let buyer = state.buyer(&request).await?;
        let too_large = |_| Refused::new(413, Reason { code: "body_too_large", message: "The order is too large." });
        let body = body.map_err(too_large)?;
        let is_form = shop::is_form(text(&request, header::CONTENT_TYPE))?;
        let purchase = shop.purchase(&buyer, read_order(is_form, &body)?).await?;
        let own = Arc::clone(&state);
        let done = to_its_end(async move { own.ledger.click(&own.shop, buyer, purchase).await }).await?;
        answer::ticket(&done, is_form, checkout_origins, |sealed| ledger.open(sealed))
    };
    create.await.unwrap_or_else(|refused| refused.reply(page_of(&request)))
}

async fn status<S: Shop, T: Store + 'static>(
    State(state): State<Arc<RoutesState<S, T>>>,
    Path(payment_ref): Path<String>,
    request: Parts,
) -> Result<Reply, Refused> {
    let buyer = state.buyer(&request).await?;
    answer::status(to_its_end(async move { state.ledger.read(&state.shop, &buyer, &[payment_ref]).await }).await?)
}

async fn payment<S: Shop, T: Store + 'static>(State(state): State<Arc<RoutesState<S, T>>>, request: Parts) -> Reply {
    let language = language(&request);
    let read = async {
        let buyer = state.buyer(&request).await?;
        let (names, own) = (payment_names(request.uri.query().unwrap_or_default()), Arc::clone(&state));
        let read = to_its_end(async move { own.ledger.read(&own.shop, &buyer, &names).await }).await?;
        answer::payment(read, language)
    };
    read.await.unwrap_or_else(|refused| refused.reply(Some(language)))
}

/// A session of this customer, whose token is the one of their login.
async fn granted(
    client: &Client,
    sessions: &Sessions,
    login: Option<&str>,
    customer_email: &Email,
) -> Result<Granted, Refused> {
    if let Some(login) = login {
        let kept = sessions.get_or_create(login, customer_email).await?;
        return Ok(Granted {
            session_token: kept.token.expose().to_owned(),
            customer_email: kept.customer_email.to_string(),
            expires_at: kept.ends_at.map(|end| end.to_string()),
        });
    }
    let session = client.create_session(customer_email).await?;
    Ok(Granted {
        session_token: session.session_token.expose().to_owned(),
        // In UTC if it can be parsed, so that no page reads a time without an offset as its local time.
        expires_at: session.ends().map(|end| end.to_string()).or(session.expires_at),
        customer_email: session.customer_email.to_string(),
    })
}

fn text(request: &Parts, name: HeaderName) -> &str {
    request.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The language of the page that a form's error is.
fn page_of(request: &Parts) -> Option<Language> {
    let is_form = shop::is_form(text(request, header::CONTENT_TYPE)).unwrap_or_default();
    is_form.then(|| language(request))
}

fn language(request: &Parts) -> Language {
    Language::of_tag(text(request, header::ACCEPT_LANGUAGE))
}

fn read_order(is_form: bool, body: &[u8]) -> Result<Value, Refused> {
    if is_form {
        let fields = url::form_urlencoded::parse(body).map(|(name, value)| (name.into_owned(), value.into()));
        return Ok(Value::Object(fields.collect::<Map<_, _>>()));
    }
    let invalid = |_| Refused::new(400, Reason { code: "invalid_json", message: "The order is not JSON." });
    serde_json::from_slice(body).map_err(invalid)
}

/// Refuses a request from a page of another site, and answers the preflight of one that may send it.
async fn guard(State(allowed): State<Arc<[String]>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let text = |name| parts.headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or("unreadable"));
    let [site, asked] =
        ["sec-fetch-site", "access-control-request-headers"].map(|name| text(HeaderName::from_static(name)));
    let authority = parts.uri.authority().map(ToString::to_string);
    let host = text(header::HOST).or(authority.as_deref()).unwrap_or_default();
    let sender = Sender { origin: text(header::ORIGIN), site, host };
    if let Err(refused) = sender.admit(&allowed) {
        return refused.reply(page_of(&parts)).into_response();
    }
    if parts.method == Method::OPTIONS && !allowed.is_empty() {
        return sender.preflight(&allowed, asked.unwrap_or_default()).into_response();
    }
    let cors = sender.cors(&allowed);
    let mut response = next.run(Request::from_parts(parts, body)).await;
    extend(&mut response, cors);
    response
}

/// Normalizes an origin to the browser's form: removes a slash at its end and lowers its host. Refuses any other text.
fn origin(text: &str) -> Result<String, Invalid> {
    read_origin(text).ok_or(Invalid::because(
        "An origin is scheme and host, and a port where it needs one: https://www.example.com. A `*` matches nothing: name each origin.",
    ))
}

fn extend(response: &mut Response, headers: Vec<(&'static str, String)>) {
    let headers =
        headers.into_iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::try_from(value)));
    response.headers_mut().extend(headers.filter_map(|(name, value)| Some((name, value.ok()?))));
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, self.body).into_response();
        response.headers_mut().clear();
        extend(&mut response, self.headers);
        response
    }
}

#[cfg_attr(doc_labels, doc(cfg(feature = "axum")))]
impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        Reply::from(&self).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_with_a_slash_is_mended_and_more_than_an_origin_is_refused() {
        for text in ["https://www.shop.example", "https://www.shop.example/", "HTTPS://WWW.shop.example:443"] {
            assert_eq!(origin(text).as_deref(), Ok("https://www.shop.example"), "{text}");
        }
        assert_eq!(origin("http://localhost:3000/").as_deref(), Ok("http://localhost:3000"));
        for text in [
            "",
            "null",
            "*",
            "www.shop.example",
            "https://shop.example/pay",
            "https://u@shop.example",
            "https://shop.example?x",
            "https://*.shop.example",
        ] {
            assert!(origin(text).is_err(), "{text}");
        }
    }
}
