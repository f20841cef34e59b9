//! The shop whose application is asked by messages: who a customer is, what an order costs, and what it has become.

use super::application::{Answer, Application, Message};
use super::customer::{Customer, credentials_of, joined};
use super::deliveries::Deliveries;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use guichet::native::ledger::Changed;
use guichet::native::{Buyer, Purchase, Reason, Refused, Shop};
use guichet::operations::CreatePaymentIntent;
use guichet::protocol::{Fields, Served};
use guichet::values::{Amount, MerchantReference};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long a page waits for the application.
const PAGE_WAITS: Duration = Duration::from_secs(3);
/// How long the application has for an event, if the ledger gives it no less.
const DELIVERY: Duration = Duration::from_secs(9);
/// For how long status readings ask nothing of a customer who was signed in.
const CACHE_TIME: Duration = Duration::from_secs(5);
/// The most customers in the cache.
const MOST_CACHED: usize = 1_000;

/// The application, as a shop.
pub(super) struct Seller {
    pub application: Application,
    redirect_url: String,
    cache: Mutex<Cache>,
    /// Set if the service is a sandbox in this process.
    deliveries: OnceLock<Deliveries>,
}

/// Customers by the hash of their credentials.
#[derive(Default)]
struct Cache {
    customers: HashMap<String, (Instant, Customer)>,
    /// How many logins have ended: what was asked before is not cached after.
    ended: u64,
}

tokio::task_local! {
    /// What one request of a page leaves for its later steps.
    static PAGE: RefCell<PageRequest>;
}

#[derive(Default)]
struct PageRequest {
    /// The customer, as the application has answered.
    customer: Option<Customer>,
    /// What its session is continued by.
    cookies: Vec<HeaderValue>,
}

/// Carries the application's cookies to the browser.
pub(super) async fn with_cookies(request: Request, next: Next) -> Response {
    let answer = async {
        let mut response = next.run(request).await;
        let cookies = PAGE.with(|page| std::mem::take(&mut page.borrow_mut().cookies));
        response.headers_mut().extend(cookies.into_iter().map(|cookie| (header::SET_COOKIE, cookie)));
        response
    };
    PAGE.scope(RefCell::default(), answer).await
}

impl Seller {
    pub(super) fn new(application: Application, redirect_url: String) -> Self {
        Self { application, redirect_url, cache: Mutex::default(), deliveries: OnceLock::new() }
    }

    /// Shows each delivery from now on in the inspector of a sandbox.
    pub(super) fn record_deliveries(&self, deliveries: Deliveries) {
        let _ = self.deliveries.set(deliveries);
    }

    /// Forgets the customers of a login that has ended.
    pub(super) fn forget(&self, login: &str) {
        let mut cache = self.cache();
        cache.ended += 1;
        cache.customers.retain(|_, (_, customer)| customer.buyer.login.as_deref() != Some(login));
    }

    /// Asks who sends a request, never from the cache: a role may have been taken away.
    pub(super) async fn customer(&self, request: &Parts) -> Result<Option<Customer>, Refused> {
        let customer = self.ask_customer(request, &credentials_of(&request.headers)).await?;
        Ok(customer.map(|(customer, _)| customer))
    }

    fn cached(&self, credentials: &str) -> Option<Customer> {
        let cache = self.cache();
        let cached = cache.customers.get(credentials).filter(|(until, _)| *until > Instant::now());
        cached.map(|(_, customer)| customer.clone())
    }

    /// Keeps a customer for the next readings, unless a login has ended since they were asked for.
    fn cache_customer(&self, credentials: String, customer: Customer, ended: u64) {
        let (mut cache, now) = (self.cache(), Instant::now());
        if cache.customers.len() >= MOST_CACHED {
            cache.customers.retain(|_, (until, _)| *until > now);
        }
        if cache.customers.len() < MOST_CACHED && cache.ended == ended {
            cache.customers.insert(credentials, (now + CACHE_TIME, customer));
        }
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks who sends a request, and whether the answer has a cookie for them that they did not have.
    async fn ask_customer(&self, request: &Parts, credentials: &str) -> Result<Option<(Customer, bool)>, Refused> {
        let mut handed_on = HeaderMap::new();
        let forwarded_for = HeaderName::from_static("x-forwarded-for");
        for name in [header::COOKIE, header::AUTHORIZATION, header::ACCEPT_LANGUAGE, header::USER_AGENT, forwarded_for]
        {
            if let Ok(value) = HeaderValue::from_bytes(&joined(&request.headers, &name))
                && !value.is_empty()
            {
                handed_on.insert(name, value);
            }
        }
        let message = Message {
            kind: "customer",
            id: random_id()?,
            members: Map::from_iter([("credentials".to_owned(), json!(credentials))]),
            headers: handed_on,
            time: PAGE_WAITS,
            is_answer: |answer| answer.status == StatusCode::UNAUTHORIZED,
            about: "",
        };
        let Answer { status, cookies, json } = self.application.send(message).await?;
        let known = String::from_utf8_lossy(&joined(&request.headers, &header::COOKIE)).into_owned();
        let known: Vec<&str> = known.split("; ").filter_map(|cookie| Some(cookie.split_once('=')?.0)).collect();
        let name = |cookie: &HeaderValue| cookie.to_str().ok()?.split_once('=').map(|(name, _)| name.to_owned());
        let is_new = cookies.iter().any(|cookie| name(cookie).is_none_or(|name| !known.contains(&&*name)));
        let _ = PAGE.try_with(|page| page.borrow_mut().cookies = cookies);
        if status == StatusCode::UNAUTHORIZED {
            return Ok(None);
        }
        let customer = Customer::read(json, &request.headers);
        let customer = customer.map_err(|cause| self.application.failed("customer", "", cause))?;
        Ok(Some((customer, is_new)))
    }
}

impl Shop for Seller {
    async fn buyer(&self, request: &Parts) -> Result<Option<Buyer>, Refused> {
        let credentials = credentials_of(&request.headers);
        let is_reading = request.method == Method::GET;
        let cached = is_reading.then(|| self.cached(&credentials)).flatten();
        let customer = match cached {
            Some(customer) => customer,
            None => {
                let ended = self.cache().ended;
                let Some((customer, is_new)) = self.ask_customer(request, &credentials).await? else { return Ok(None) };
                // A browser without credentials, or with new ones from this answer, is not known by them the next time.
                let has_credentials =
                    [header::COOKIE, header::AUTHORIZATION].iter().any(|name| request.headers.contains_key(name));
                if is_reading && has_credentials && !is_new {
                    self.cache_customer(credentials, customer.clone(), ended);
                }
                customer
            }
        };
        let buyer = customer.buyer.clone();
        let _ = PAGE.try_with(|page| page.borrow_mut().customer = Some(customer));
        Ok(Some(buyer))
    }

    async fn purchase(&self, _: &Buyer, order: Value) -> Result<Purchase, Refused> {
        let customer = PAGE.try_with(|page| page.borrow().customer.clone()).ok().flatten();
        let customer = customer.ok_or_else(|| Refused::broken("a purchase has no customer"))?;
        let message = Message {
            kind: "purchase",
            id: random_id()?,
            members: Map::from_iter([
                ("order".to_owned(), order),
                ("customer".to_owned(), Value::Object(customer.answer.clone())),
            ]),
            headers: HeaderMap::new(),
            time: PAGE_WAITS,
            is_answer: |answer| answer.status.is_client_error() && answer.error().is_some(),
            about: "",
        };
        let answer = self.application.send(message).await?;
        if let Some((code, message)) = answer.error().filter(|_| answer.status.is_client_error()) {
            let ended = answer.json.as_ref().and_then(|json| json["name"].as_str()).filter(|_| code == "order_ended");
            return match ended.map(MerchantReference::new) {
                Some(Ok(name)) => Ok(Purchase::OrderEnded(name)),
                _ => Err(Refused::new(answer.status.as_u16(), Reason { code, message })),
            };
        }
        let purchase = self.read_purchase(answer.json.as_ref(), &customer);
        purchase.map_err(|cause| self.application.failed("purchase", "", format_args!("gives no purchase: {cause}")))
    }

    async fn order_changed(&self, changed: &Changed) -> Result<(), Refused> {
        let Ok(Value::Object(members)) = serde_json::to_value(changed) else {
            return Err(Refused::broken("an event is no object"));
        };
        let Changed { name, version, .. } = changed;
        let named = format!("{} {name} {version}", self.application.audience());
        let id = format!("evt_{}", hex::encode(&Sha256::digest(named)[..16]));
        let mut recorded = match self.deliveries.get() {
            Some(deliveries) => Some(deliveries.begin(changed, &members).await),
            None => None,
        };
        let message = Message {
            kind: "order_changed",
            id,
            members,
            headers: HeaderMap::new(),
            time: DELIVERY,
            is_answer: |_| false,
            about: name,
        };
        let answered = self.application.answer(message).await.map(|answer| answer.status.as_u16());
        if let Some(recorded) = &mut recorded {
            recorded.set_answer(answered.clone());
        }
        answered.map(drop).map_err(|cause| self.application.failed("order_changed", name, cause))
    }
}

impl Seller {
    /// Reads what an order is and costs. What the answer lacks of the customer is taken from the answer to `customer`.
    fn read_purchase(&self, answer: Option<&Value>, customer: &Customer) -> Result<Purchase, String> {
        let answer = answer.and_then(Value::as_object).ok_or("the answer is no object in JSON")?;
        let name = answer.get("name").and_then(Value::as_str).ok_or("`name` is missing, the order's own name")?;
        let name = MerchantReference::new(name).map_err(|invalid| format!("`name`: {invalid}"))?;
        let purchase = answer.get("purchase").and_then(Value::as_object).ok_or("`purchase` is missing, an object")?;
        let mut members = purchase.clone();
        for (member, value) in customer.payer() {
            members.entry(member).or_insert(value);
        }
        members.entry("redirect_url").or_insert_with(|| json!(self.redirect_url));
        members.insert("merchant_reference".to_owned(), json!(name));
        let purchase = CreatePaymentIntent::parse(Fields::new(members).strict()).map_err(|errors| {
            let errors = errors.iter().map(|error| format!("`{}`: {}", error.param, error.message));
            errors.collect::<Vec<_>>().join(" ")
        })?;
        match answer.get("payable") {
            None | Some(Value::Null) => Ok(purchase.into()),
            Some(payable) => {
                let text = payable.as_str().map_or_else(|| payable.to_string(), str::to_owned);
                let payable = Amount::of_request(&text).map_err(|invalid| format!("`payable`: {invalid}"))?;
                Ok(Purchase::Quoted { purchase: Box::new(purchase), payable })
            }
        }
    }
}

fn random_id() -> Result<String, Refused> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(Refused::broken)?;
    Ok(format!("msg_{}", hex::encode(random)))
}
