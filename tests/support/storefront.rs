//! A merchant whose pages a test writes: the merchant's three routes at an origin of their own, and the service at another.

use super::browser::Browser;
use super::evidence;
use super::site::{CannedResponse, Site};
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use guichet::native::{Refused, Routes, Shop, Sold};
use guichet::operations::{CreatePaymentIntent, CustomerSession, DuplicatePayment, PaymentIntent};
use guichet::sandbox::{Config, Sandbox, Tenant};
use guichet::values::{Amount, Email, MerchantReference, PaymentRef, Phone, RedirectUrl, SessionToken};
use guichet::{Client, SecretKey};
use serde_json::{Value, json};
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock};

/// The paths of the merchant's routes.
pub const SESSION: &str = "/guichet/session";
pub const INTENTS: &str = "/guichet/intents";
/// Where customers come back to.
pub const RETURN: &str = "/return";
/// Who is signed in.
pub const CUSTOMER: &str = "awa@example.com";

/// The merchant's site (it is one: `answers`, `asked`), and the service it sells by.
pub struct Storefront {
    site: Site,
    pub tenant: Arc<Tenant>,
    counter: Arc<Counter>,
    _sandbox: Sandbox,
}

impl Deref for Storefront {
    type Target = Site;

    fn deref(&self) -> &Site {
        &self.site
    }
}

impl Storefront {
    pub async fn open() -> Self {
        Self::with(Config::default()).await
    }

    /// The same, whose service is started so.
    pub async fn with(config: Config) -> Self {
        Self::made(config, false).await
    }

    /// The same, where nobody signs in.
    pub async fn for_guests() -> Self {
        let shop = Self::made(Config::default(), true).await;
        shop.answers(SESSION, CannedResponse::default().status(404));
        shop
    }

    async fn made(config: Config, guests: bool) -> Self {
        let sandbox = Sandbox::start_with(config).await.expect("a sandbox starts on a free port");
        let tenant = Arc::new(sandbox.merchant().await.expect("a sandbox takes another merchant"));
        evidence::watch(&tenant);
        let key = SecretKey::new(tenant.secret_key().expose()).expect("the sandbox's key is a secret key");
        let client = Client::builder(tenant.base_url(), key).build().expect("a loopback address may be sent to");
        let counter =
            Arc::new(Counter { client: client.clone(), guests, back: OnceLock::new(), kept: Mutex::default() });
        let begin = Router::new().route("/session", post(begin)).with_state(Arc::clone(&counter));
        let theirs = Routes::new(client, Arc::clone(&counter)).router();
        let site = Site::open(Router::new().nest("/guichet", begin.fallback_service(theirs))).await;
        counter.back.set(format!("{}{RETURN}", site.url())).expect("it is set here alone");
        Self { site, tenant, counter, _sandbox: sandbox }
    }

    /// The service's address.
    pub fn service(&self) -> &str {
        self.tenant.base_url()
    }

    /// The merchant's own client, with the secret key.
    pub fn client(&self) -> &Client {
        &self.counter.client
    }

    /// A session of the customer's, as the session route answers it: the bare object.
    pub async fn session(&self) -> Value {
        written(&self.counter.session().await)
    }

    /// Every token that was given out, the oldest first.
    pub fn tokens(&self) -> Vec<SessionToken> {
        self.counter.kept.lock().unwrap().tokens.clone()
    }

    /// The service ends every session that there is, and no page hears of it.
    pub async fn end_sessions(&self) {
        for token in self.tokens() {
            let _ = self.client().customer(&token).revoke().await;
        }
    }

    /// Whether the service still takes a token.
    pub async fn takes(&self, token: &SessionToken) -> bool {
        self.client().customer(token).validate().await.expect("the service answers").valid
    }

    /// How often an operation was asked of the service.
    pub fn count(&self, operation: &str) -> usize {
        self.tenant.requests().iter().filter(|request| request.operation == operation).count()
    }

    /// Opens an empty page of the merchant's, with a client: `window.guichet`. Its options are added to these.
    pub async fn visit(&self, browser: &Browser, options: &str) {
        browser.open(&format!("{}/", self.url())).await;
        self.begin(browser, options).await;
    }

    /// Makes a client on the page that is open.
    pub async fn begin(&self, browser: &Browser, options: &str) {
        let made = browser
            .run_async(&format!(
                "const {{ createGuichet, GuichetError }} = await import('/package/guichet.js');
                 Object.assign(window, {{ createGuichet, GuichetError }});
                 window.options = {{ baseUrl: '{}', merchant: '/guichet', ...({options}) }};
                 window.guichet = createGuichet(options);
                 return true",
                self.service()
            ))
            .await;
        assert_eq!(made, true, "a client is made");
    }
}

/// What the merchant's routes are made of.
struct Counter {
    client: Client,
    guests: bool,
    back: OnceLock<String>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    tokens: Vec<SessionToken>,
    sold: Vec<Sold>,
}

impl Counter {
    async fn session(&self) -> CustomerSession {
        let email = Email::new(CUSTOMER).expect("it is an e-mail address");
        let session = self.client.create_session(&email).await.expect("the sandbox makes a session");
        self.kept.lock().unwrap().tokens.push(session.session_token.clone());
        session
    }
}

async fn begin(State(counter): State<Arc<Counter>>) -> impl IntoResponse {
    (StatusCode::CREATED, Json(written(&counter.session().await)))
}

fn written(session: &CustomerSession) -> Value {
    json!({
        "session_token": session.session_token.expose(), "customer_email": session.customer_email,
        "expires_at": session.expires_at,
    })
}

/// Sells one order a number: `{id: "17"}` is `ORDER-17`, for 5,000 XAF.
impl Shop for Counter {
    async fn customer(&self, _: &Parts) -> Result<Option<Email>, Refused> {
        if self.guests { Ok(None) } else { Email::new(CUSTOMER).map(Some).map_err(Refused::broken) }
    }

    fn guests_may_buy(&self) -> bool {
        self.guests
    }

    async fn purchase(&self, customer: Option<&Email>, order: Value) -> Result<CreatePaymentIntent, Refused> {
        let missing = || Refused::new(404, "order_missing", "There is no such order.");
        let id = order["id"].as_str().ok_or_else(missing)?;
        let reference = MerchantReference::new(format!("ORDER-{id}")).map_err(Refused::broken)?;
        let amount = Amount::new("5000").map_err(Refused::broken)?;
        let back = RedirectUrl::new(self.back.get().expect("it is open")).map_err(Refused::broken)?;
        let purchase = CreatePaymentIntent::new(reference, amount, "Shoes", "Awa", "Ngono").redirect_url(back);
        Ok(match customer {
            Some(customer) => purchase.email(customer.clone()),
            None => purchase.phone(Phone::new("237670000000").map_err(Refused::broken)?),
        })
    }

    async fn remember(&self, sold: &Sold) -> Result<(), Refused> {
        self.kept.lock().unwrap().sold.push(sold.clone());
        Ok(())
    }

    async fn find(&self, payment_ref: &PaymentRef, _: Option<&Email>) -> Result<Option<Sold>, Refused> {
        Ok(self.kept.lock().unwrap().sold.iter().find(|sold| sold.payment_ref == *payment_ref).cloned())
    }

    async fn settled(&self, _: &Sold, _: &PaymentIntent) -> Result<(), Refused> {
        Ok(())
    }

    async fn overpaid(&self, _: &Sold, _: &DuplicatePayment) -> Result<(), Refused> {
        Ok(())
    }
}
