//! What a purchase needs of a service: how a payment is created, read, found and canceled, its words for a status, and who may read
//! prices. What was found becomes a profile.

use super::intents::order;
use super::prober::Prober;
use super::{answer_to, returned};
use crate::failure::Failure;
use guichet::operations::{CalculateFee, CreateSession, CreatedSession, ListPaymentMethods, PaymentIntent};
use guichet::protocol::{Credential, Error, Kind, NoCredential, Operation, Request, decode};
use guichet::shop::ledger::{Asked, Payment};
use guichet::shop::{PaymentRequest, Profile};
use guichet::values::*;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How a payment is read by services that we know. A path of a search is never posted: it is that of a creation.
const READS: [&str; 8] = [
    "/v1/payment-intents/{id}",
    "/v1/payment-intents/{payment_ref}",
    "/v1/payment-intents/{merchant_reference}",
    "/v1/payment-intents?payment_ref={payment_ref}",
    "/v1/payment-intents?merchant_reference={merchant_reference}",
    "/v1/payment-intents?reference={merchant_reference}",
    "/v1/payment-intents/{id}?client_secret={client_secret}",
    "/v1/payment-intents?client_secret={client_secret}",
];
const FINDS: [&str; 3] = [
    "/v1/payment-intents?merchant_reference={merchant_reference}",
    "/v1/payment-intents?reference={merchant_reference}",
    "/v1/payment-intents/{merchant_reference}",
];
const CANCELS: [&str; 4] = [
    "POST /v1/payment-intents/{id}/cancel",
    "POST /v1/payment-intents/{payment_ref}/cancel",
    "DELETE /v1/payment-intents/{id}",
    "DELETE /v1/payment-intents/{payment_ref}",
];

/// The paths that its company documents, as the caller knows them. They are tried before ours.
#[derive(clap::Args)]
#[command(next_help_heading = "What your company documents")]
pub(super) struct Paths {
    /// How it reads a payment: '/charges/{payment_ref}', also with {id}, {merchant_reference} or {client_secret}, and 'POST ' in front if it
    /// is no GET. May be repeated.
    #[arg(long, value_name = "PATH")]
    read: Vec<String>,
    /// How it finds a payment by your reference: '/charges?reference={merchant_reference}'. May be repeated.
    #[arg(long, value_name = "PATH")]
    find: Vec<String>,
    /// How it cancels a payment: 'POST /charges/{id}/void'. May be repeated.
    #[arg(long, value_name = "PATH")]
    cancel: Vec<String>,
}

/// What was found.
pub(super) struct Found {
    pub rows: Vec<[String; 2]>,
    /// `None` if no payment could be created, or none can be read.
    pub profile: Option<Value>,
    /// The options of a page.
    pub page: Map<String, Value>,
}

/// A payment that the probe has created.
struct Created {
    intent: PaymentIntent,
    payment: Payment,
}

/// The search for what a purchase needs.
struct Search<'a> {
    probe: &'a Prober,
    base_url: String,
    rows: Vec<[String; 2]>,
    profile: Map<String, Value>,
}

pub(super) async fn find(probe: &Prober, base_url: &str, paths: &Paths, asks: bool) -> Result<Found, Failure> {
    let profile = Map::from_iter([("base_url".to_owned(), json!(base_url))]);
    let mut search = Search { probe, base_url: base_url.to_owned(), rows: Vec::new(), profile };
    let mut page = Map::from_iter([("baseUrl".to_owned(), json!(base_url))]);
    let is_readable = search.payments(paths, asks, &mut page).await?;
    search.prices(&mut page).await;
    let Search { rows, profile, .. } = search;
    Ok(Found { rows, profile: is_readable.then_some(Value::Object(profile)), page })
}

impl Search<'_> {
    fn row(&mut self, what: &str, found: impl Into<String>) {
        self.rows.push([what.to_owned(), found.into()]);
    }

    /// Returns whether a payment can be read.
    async fn payments(&mut self, paths: &Paths, asks: bool, page: &mut Map<String, Value>) -> Result<bool, Failure> {
        let first = match self.create(1).await {
            Ok(first) => first,
            Err(error) => {
                self.row("A payment is created", format!("no: {error}"));
                return Ok(false);
            }
        };
        self.row("A payment is created", format!("yes, `{}`", first.intent.status));
        self.row("It says the sum", sum_of(&first.intent));
        self.checkout(&first.intent, page);
        if let IntentStatus::Unknown(word) = &first.intent.status {
            // It permits neither goods nor a second charge.
            self.add_word(word.as_str(), "requires_action");
        }
        match self.create(1).await {
            Ok(again) if again.intent.id == first.intent.id => {
                self.row("The same creation again", "gives the same payment: one whose reply was lost is found by it");
            }
            Ok(_) => self.row(
                "The same creation again",
                "MAKES A SECOND PAYMENT: ask the company how to repeat a creation safely",
            ),
            Err(error) => self.row("The same creation again", format!("is refused: {error}")),
        }
        // A search that lists every payment would find it, too.
        let second = self.create(2).await?;
        if !self.find_read(&first, &second, &paths.read).await {
            let advice = "not by a path that was tried: ask the company how a payment is read, and give it by --read";
            self.row("A payment is read", advice);
            return Ok(false);
        }
        self.find_search(&first, &paths.find).await;
        self.find_cancellation(&second, &paths.cancel, asks).await;
        match asks {
            true => self.ask_for_words().await?,
            false => self.row("Its words for paid and declined", "not known: --pay asks you to pay a payment"),
        }
        Ok(true)
    }

    /// Creates a payment of this run.
    async fn create(&self, number: u32) -> Result<Created, Error> {
        self.create_with(number, None).await
    }

    async fn create_with(&self, number: u32, redirect_url: Option<RedirectUrl>) -> Result<Created, Error> {
        let mut operation = order(self.probe, number)?;
        if let Some(redirect_url) = redirect_url {
            operation = operation.redirect_url(redirect_url);
        }
        let reference = operation.merchant_reference.to_string();
        let intent: PaymentIntent = self.send(operation, &self.probe.key).await?;
        let found = json!([{"id": intent.id, "payment_ref": intent.payment_ref, "state": "open", "status": intent.status, "read_with": ""}]);
        let body = json!({"firstname": "", "lastname": "", "description": "", "amount": "1"});
        let payment = serde_json::from_value(json!({"reference": reference, "body": body, "found": found}));
        Ok(Created { intent, payment: payment.map_err(unreadable)? })
    }

    /// Sends an operation, and reads its reply as guichet does.
    async fn send<O: Operation>(&self, operation: O, credential: &(dyn Credential + Sync)) -> Result<O::Output, Error>
    where
        O::Output: DeserializeOwned,
    {
        let request = guichet::native::Transport::request(&operation)?;
        let reply = self.probe.transport.send(const { &O::SPEC }, request, credential).await?;
        decode(&reply).map_err(unreadable)
    }

    /// Where customers pay.
    fn checkout(&mut self, intent: &PaymentIntent, page: &mut Map<String, Value>) {
        let origin = |text: &str| url::Url::parse(text).ok().map(|url| url.origin().ascii_serialization());
        let Some(own) = intent.checkout_url.as_ref().and_then(|url| origin(url.expose())) else {
            self.row("Customers pay", "at no address: the reply has no checkout_url");
            return;
        };
        self.row("Customers pay", format!("at {own}: compare it with what the company says"));
        if origin(&self.base_url).as_ref() != Some(&own) {
            self.profile.insert("checkout_origins".to_owned(), json!([own]));
            page.insert("checkoutOrigins".to_owned(), json!([own]));
        }
    }

    /// Asks for a payment by a profile that is being tried.
    async fn ask(&self, members: &Value, created: &Created, asked: &Asked) -> Result<Vec<PaymentIntent>, Error> {
        let profile = Profile::new(&members.to_string())?;
        let secret = created.intent.client_secret.as_ref().map(ClientSecret::expose);
        let request = PaymentRequest::new(Some(&profile), &created.payment, asked, secret)?;
        let PaymentRequest { spec, method, target, client_secret, .. } = request;
        let secret = client_secret.map(ClientSecret::new);
        let credential: &(dyn Credential + Sync) = match &secret {
            Some(secret) => secret,
            None => &self.probe.key,
        };
        let request = Request { method, target, body: None, idempotency_key: None };
        let reply = self.probe.transport.send(spec, request, credential).await?;
        decode::<Vec<PaymentIntent>>(&reply).or_else(|_| Ok(vec![decode(&reply).map_err(unreadable)?]))
    }

    /// Whether a request gives this payment and no other.
    async fn gives(&self, members: &Value, created: &Created, asked: &Asked) -> bool {
        let read = self.ask(members, created, asked).await;
        matches!(read.as_deref(), Ok([one]) if one.id == created.intent.id)
    }

    async fn find_read(&mut self, first: &Created, second: &Created, own: &[String]) -> bool {
        let by_secret = |path: &str| path.contains("{client_secret}");
        let mut routes: Vec<Value> = routes(own, &READS, &["GET", "POST"]);
        // What needs no secret needs none to be kept.
        routes.sort_by_key(|route| by_secret(route["path"].as_str().unwrap_or_default()));
        let with_secret: Vec<Value> = routes
            .iter()
            .cloned()
            .map(|mut route| {
                route["credential"] = json!("client_secret");
                route
            })
            .collect();
        for route in routes.into_iter().chain(with_secret) {
            let members = self.with("read", route.clone());
            if self.gives(&members, first, &Asked::Read(first.intent.id.to_string())).await
                && self.gives(&members, second, &Asked::Read(second.intent.id.to_string())).await
            {
                self.row("A payment is read", words_of(&route));
                self.profile.insert("read".to_owned(), route);
                return true;
            }
        }
        false
    }

    async fn find_search(&mut self, first: &Created, own: &[String]) {
        let unknown = Payment { reference: format!("{}-unknown", self.probe.run), ..first.payment.clone() };
        let unknown = Created { intent: first.intent.clone(), payment: unknown };
        for route in routes(own, &FINDS, &["GET", "POST"]) {
            let members = self.with("find_by_reference", route.clone());
            let nothing = match self.ask(&members, &unknown, &Asked::Find).await {
                Ok(found) => found.is_empty(),
                Err(error) => error.status() == Some(404),
            };
            if nothing && self.gives(&members, first, &Asked::Find).await {
                self.row("A payment whose reply was lost is found", words_of(&route));
                self.profile.insert("find_by_reference".to_owned(), route);
                return;
            }
        }
        self.row("A payment whose reply was lost is found", "by no search that was tried: give one by --find");
    }

    async fn find_cancellation(&mut self, second: &Created, own: &[String], asks: bool) {
        let id = second.intent.id.to_string();
        let read = Asked::Read(id.clone());
        for route in routes(own, &CANCELS, &["POST", "PUT", "DELETE"]) {
            let members = self.with("cancel", route.clone());
            let canceled = self.ask_for_change(&members, second, &Asked::Cancel(id.clone())).await;
            let after = self.ask(&Value::Object(self.profile.clone()), second, &read).await;
            let Ok([after]) = after.as_deref() else { continue };
            if !canceled || after.status == second.intent.status {
                continue;
            }
            self.row("An open payment is canceled", format!("{}: `{}`", words_of(&route), after.status));
            let status = after.status.clone();
            if asks {
                eprintln!("\nThe probe has asked the service to cancel the payment {}.", second.payment.reference);
                self.ask_for_word(&status, "canceled");
            } else if let IntentStatus::Unknown(word) = &status {
                self.row(&format!("Its word `{word}`"), "is not known: --pay asks you what happened to the payment");
            }
            if words_of(&route) != CANCELS[0] {
                self.profile.insert("cancel".to_owned(), route);
            }
            return;
        }
        self.row("An open payment is canceled", "by no path that was tried: give one by --cancel");
        self.profile.insert("cancel".to_owned(), Value::Null);
    }

    /// Whether a request is done. Its reply may be no payment.
    async fn ask_for_change(&self, members: &Value, created: &Created, asked: &Asked) -> bool {
        !matches!(self.ask(members, created, asked).await, Err(error) if error.kind() != Kind::Unreadable)
    }

    /// Lets the caller pay one payment and decline another, and asks what a word that we do not know means.
    async fn ask_for_words(&mut self) -> Result<(), Failure> {
        for (number, what, ours) in [(3, "Pay", "succeeded"), (4, "Refuse or decline", "failed")] {
            let listener = returned::Listener::open().await?;
            let back = RedirectUrl::new(listener.address()).ok();
            let is_taken = self.create_with(number, back).await;
            let created = match is_taken {
                Ok(created) => created,
                Err(_) => self.create(number + 2).await?,
            };
            let Some(url) = &created.intent.checkout_url else { return Ok(()) };
            let before = self.status_of(&created).await;
            eprintln!("\n{what} this payment: {}", printable(url.expose()));
            if answer_to("Press Enter when it is done, or write `skip`.") == "skip" {
                continue;
            }
            if let Some(back) = listener.returned() {
                self.row("The customer comes back", back);
            }
            let Some(status) = self.changed(&created, before.as_ref()).await else {
                self.row(&format!("{what} a payment"), "the service still says the same: its word is not known");
                continue;
            };
            self.row(&format!("{what} a payment"), format!("`{status}`"));
            self.ask_for_word(&status, ours);
        }
        Ok(())
    }

    /// Asks what a word means, if it is none of ours. It permits goods or a second charge, so a person confirms what happened.
    fn ask_for_word(&mut self, status: &IntentStatus, ours: &str) {
        let IntentStatus::Unknown(word) = status else { return };
        let shown = printable(word);
        let question = format!("The service calls this payment `{shown}`. Is it {ours}, for good? Write yes or no.");
        match answer_to(&question).eq_ignore_ascii_case("yes") {
            true => self.add_word(word, ours),
            false => self.row(&format!("Its word `{word}`"), "means none of ours: a payment of it stays open"),
        }
    }

    async fn status_of(&self, created: &Created) -> Option<IntentStatus> {
        let asked = Asked::Read(created.intent.id.to_string());
        let read = self.ask(&Value::Object(self.profile.clone()), created, &asked).await.ok()?;
        read.into_iter().next().map(|intent| intent.status)
    }

    /// The status of a payment once it is another one, in twenty readings at most.
    async fn changed(&self, created: &Created, before: Option<&IntentStatus>) -> Option<IntentStatus> {
        for _ in 0..20 {
            let status = self.status_of(created).await;
            if status.is_some() && status.as_ref() != before {
                return status;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        None
    }

    fn add_word(&mut self, word: &str, ours: &str) {
        self.row(&format!("Its word `{word}`"), format!("is `{ours}`"));
        let statuses = self.profile.entry("statuses").or_insert_with(|| json!({}));
        statuses[word] = json!(ours);
    }

    /// The profile with one member more.
    fn with(&self, name: &str, route: Value) -> Value {
        let mut members = self.profile.clone();
        members.entry("read").or_insert_with(|| json!({"method": "GET", "path": READS[0]}));
        members.insert(name.to_owned(), route);
        Value::Object(members)
    }

    /// Who may read payment methods and fees.
    async fn prices(&mut self, page: &mut Map<String, Value>) {
        let Ok(email) = Email::new("probe@example.com") else { return };
        let session: Option<CreatedSession> = self.send(CreateSession::new(email), &self.probe.key).await.ok();
        self.row("A session is created", if session.is_some() { "yes" } else { "no" });
        let token = session.map(|session| session.session_token);
        let by_session = match &token {
            Some(token) => self.reads_prices(token).await,
            None => false,
        };
        let (by_nobody, by_key) = (self.reads_prices(&NoCredential).await, self.reads_prices(&self.probe.key).await);
        let readers = [("a session", by_session), ("nobody in particular", by_nobody), ("the secret key", by_key)];
        let named: Vec<&str> = readers.iter().filter(|(_, reads)| *reads).map(|(name, _)| *name).collect();
        self.row(
            "Methods and fees are read by",
            if named.is_empty() { "none of these".into() } else { named.join(", ") },
        );
        let option = match (by_session, by_nobody, by_key) {
            (true, ..) => return,
            (_, true, _) => "anonymous",
            (.., true) => "merchant",
            _ => return,
        };
        page.insert("publicReads".to_owned(), json!(option));
    }

    async fn reads_prices(&self, credential: &(dyn Credential + Sync)) -> bool {
        let Ok(method) = MethodCode::new("mobile_money") else { return false };
        let fee = CalculateFee::new(method, Currency::xaf(), Amount::units(5_000));
        // A service may not know this method. Then it refuses the fee, and not the caller.
        let is_open = |error: &Error| matches!(error.status(), Some(404 | 422));
        self.send(ListPaymentMethods::new(), credential).await.is_ok()
            && self.send(fee, credential).await.as_ref().map_or_else(is_open, |_| true)
    }
}

/// The routes that paths name, `POST /charges/{id}` or `/charges/{id}`, which is tried by each method. The caller's are first.
fn routes(own: &[String], ours: &[&str], methods: &[&str]) -> Vec<Value> {
    let paths = own.iter().map(String::as_str).chain(ours.iter().copied());
    let each = paths.flat_map(|text| match text.split_once(' ') {
        Some((method, path)) => vec![json!({"method": method, "path": path})],
        None => {
            let is_search = text.starts_with("/v1/payment-intents?");
            let methods = if is_search { &methods[..1] } else { methods };
            methods.iter().map(|method| json!({"method": method, "path": text})).collect()
        }
    });
    each.collect()
}

/// What a payment of 5000 XAF is said to be.
fn sum_of(PaymentIntent { amount, currency, .. }: &PaymentIntent) -> String {
    match *amount == Amount::units(5_000) && currency == "XAF" {
        true => "yes".to_owned(),
        false => format!("NO: `{amount} {currency}` for 5000 XAF, so guichet would take it for another sum"),
    }
}

fn words_of(route: &Value) -> String {
    let text = |name: &str| route[name].as_str().unwrap_or_default().to_owned();
    let with = if route["credential"] == "client_secret" { " with the client secret" } else { "" };
    format!("{} {}{with}", text("method"), text("path"))
}

fn unreadable(_: serde_json::Error) -> Error {
    Error::new(Kind::Unreadable, "The service's reply cannot be read.")
}
