//! A merchant's site for tests that write their own pages: the merchant's three routes at one origin, the service at
//! another.

use super::browser::Browser;
use super::diagnostics;
use super::engine::Engine;
use super::orders;
use super::service::Tenant;
use super::site::{CannedResponse, Site};
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use guichet::native::ledger::Changed;
use guichet::native::{Buyer, Ledger, Purchase, Reason, Refused, Routes, Shop};
use guichet::operations::{CreatePaymentIntent, CreatedSession, CustomerName};
use guichet::values::{Amount, Email, MerchantReference, Phone, RedirectUrl, SessionToken};
use guichet::{Client, SecretKey};
use guichet_sandbox::{Config, Sandbox};
use serde_json::{Value, json};
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock};

/// The path of the merchant's session route.
pub const SESSION: &str = "/guichet/session";
/// The path of the merchant's intent route.
pub const INTENTS: &str = "/guichet/intents";
/// The path of the page to which the service sends customers back.
pub const RETURN: &str = "/return";
/// The customer who is signed in.
pub const CUSTOMER: &str = "awa@example.com";

/// The merchant's site and its sandbox. It dereferences to [`Site`], for `respond` and `requests`.
pub struct Storefront {
    site: Site,
    pub tenant: Arc<Tenant>,
    shop: Arc<TestShop>,
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
        Self::with_config(Config::default()).await
    }

    /// The same with a browser, which has opened an empty page and created `window.guichet`.
    pub async fn visited(engine: Engine, scenario: &'static str) -> (Self, Browser) {
        let (shop, browser) = (Self::open().await, engine.start(scenario).await);
        shop.visit(&browser, "{}").await;
        (shop, browser)
    }

    /// The same with this configuration of the sandbox.
    pub async fn with_config(config: Config) -> Self {
        Self::build(config, false).await
    }

    /// The same for a merchant whose customers do not sign in: there is no session route.
    pub async fn for_guests() -> Self {
        let storefront = Self::build(Config::default(), true).await;
        storefront.respond(SESSION, CannedResponse::default().status(404));
        storefront
    }

    async fn build(config: Config, guests: bool) -> Self {
        let sandbox = Sandbox::start_with(config).await.expect("a sandbox starts on a free port");
        let tenant = Arc::new(Tenant::new(&sandbox, "Sandbox shop").await);
        diagnostics::print_requests_on_panic(&tenant);
        let key = SecretKey::new(tenant.secret_key().expose()).expect("the sandbox's key is a secret key");
        let client =
            Client::builder(tenant.base_url(), key).build().expect("plain http is allowed to a loopback address");
        let shop = Arc::new(TestShop {
            client: client.clone(),
            guests,
            return_url: OnceLock::new(),
            tokens: Mutex::default(),
        });
        // This session route takes the place of guichet's, to record the tokens.
        let session = Router::new().route("/session", post(create_session)).with_state(Arc::clone(&shop));
        let routes =
            Routes::new(Ledger::new(client, orders::in_memory().await), Arc::clone(&shop)).public_reads().router();
        let site = Site::open(Router::new().nest("/guichet", session.fallback_service(routes))).await;
        shop.return_url.set(format!("{}{RETURN}", site.url())).expect("only this line sets it");
        Self { site, tenant, shop, _sandbox: sandbox }
    }

    /// The service's address.
    pub fn service(&self) -> &str {
        self.tenant.base_url()
    }

    /// The merchant's own client, with the secret key.
    pub fn client(&self) -> &Client {
        &self.shop.client
    }

    /// Creates a session of the customer. Returns the body of the session route, which has no envelope.
    pub async fn session(&self) -> Value {
        session_json(&self.shop.create_session().await)
    }

    /// Every token that was created, oldest first.
    pub fn tokens(&self) -> Vec<SessionToken> {
        self.shop.tokens.lock().unwrap().clone()
    }

    /// Revokes every session at the service, without telling any page.
    pub async fn end_sessions(&self) {
        for token in self.tokens() {
            let _ = self.client().customer(&token).revoke().await;
        }
    }

    /// Whether the service still accepts a token.
    pub async fn accepts(&self, token: &SessionToken) -> bool {
        self.client().customer(token).validate().await.expect("the service responds").valid
    }

    /// How many requests for an operation the service has received.
    pub async fn count(&self, operation: &str) -> usize {
        self.tenant.requests().await.iter().filter(|request| request.operation == operation).count()
    }

    /// Opens an empty page and creates `window.guichet` with these options added to the default ones.
    pub async fn visit(&self, browser: &Browser, options: &str) {
        browser.open(&format!("{}/", self.url())).await;
        self.create_client(browser, options).await;
    }

    /// Creates `window.guichet` on the page that is open.
    pub async fn create_client(&self, browser: &Browser, options: &str) {
        let created = browser
            .run_async(&format!(
                "const {{ createGuichet, GuichetError }} = await import('/package/guichet.js');
                 Object.assign(window, {{ createGuichet, GuichetError }});
                 window.options = {{ baseUrl: '{}', merchant: '/guichet', ...({options}) }};
                 window.guichet = createGuichet(options);
                 return true",
                self.service()
            ))
            .await;
        assert_eq!(created, true, "the client is created");
    }
}

/// The merchant's side of the three routes.
struct TestShop {
    client: Client,
    guests: bool,
    return_url: OnceLock<String>,
    tokens: Mutex<Vec<SessionToken>>,
}

impl TestShop {
    async fn create_session(&self) -> CreatedSession {
        let email = Email::new(CUSTOMER).expect("a valid e-mail address");
        let session = self.client.create_session(&email).await.expect("the sandbox creates a session");
        self.tokens.lock().unwrap().push(session.session_token.clone());
        session
    }
}

async fn create_session(State(shop): State<Arc<TestShop>>) -> impl IntoResponse {
    (StatusCode::CREATED, Json(session_json(&shop.create_session().await)))
}

fn session_json(session: &CreatedSession) -> Value {
    json!({
        "session_token": session.session_token.expose(), "customer_email": session.customer_email,
        "expires_at": session.expires_at,
    })
}

/// The order `{id: "17"}` has the reference `ORDER-17` and costs 5,000 XAF.
impl Shop for TestShop {
    async fn buyer(&self, _: &Parts) -> Result<Option<Buyer>, Refused> {
        if self.guests {
            return Ok(Some(Buyer::guest("a guest")));
        }
        Ok(Some(Buyer::customer("awa").verified_email(Email::new(CUSTOMER).map_err(Refused::broken)?)))
    }

    async fn purchase(&self, buyer: &Buyer, order: Value) -> Result<Purchase, Refused> {
        let missing = || Refused::new(404, Reason { code: "order_missing", message: "There is no such order." });
        let id = order["id"].as_str().ok_or_else(missing)?;
        let reference = MerchantReference::new(format!("ORDER-{id}")).map_err(Refused::broken)?;
        let amount = Amount::units(5_000);
        let return_url = RedirectUrl::new(self.return_url.get().expect("the site is open")).map_err(Refused::broken)?;
        let purchase =
            CreatePaymentIntent::new(reference, amount, "Shoes", CustomerName { firstname: "Awa", lastname: "Ngono" })
                .redirect_url(return_url);
        let purchase = match &buyer.verified_email {
            Some(email) => purchase.email(email.clone()),
            None => purchase.phone(Phone::new("237670000000").map_err(Refused::broken)?),
        };
        Ok(purchase.into())
    }

    async fn order_changed(&self, _: &Changed) -> Result<(), Refused> {
        Ok(())
    }
}
