//! What a purchase needs of a service: how a payment is created, read, found and canceled, its words for a status, and
//! who may read prices. What was found becomes a profile. What would let a shop take one payment for another, or a sum
//! for another, is not written.

use super::draft::{Candidates, Draft};
use super::intents::order;
use super::prober::Prober;
use super::{answer_to, returned};
use crate::failure::Failure;
use guichet::operations::{CalculateFee, CreateSession, CreatedSession, ListPaymentMethods, PaymentIntent};
use guichet::protocol::{Credential, Error, Kind, NoCredential, Operation, Request, decode};
use guichet::shop::PaymentRequest;
use guichet::shop::ledger::{Asked, Payment};
use guichet::values::*;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How often a payment is read until its status is final, once a second.
const READINGS: usize = 30;
/// How often a foreign word is read before its meaning is asked: a service may have one for a payment that is under
/// way.
const SAME: usize = 3;

/// What was found.
pub(super) struct Findings {
    pub rows: Vec<[String; 2]>,
    /// `None` if no payment could be created, or none can be read.
    pub profile: Option<Draft>,
    /// The options of a page.
    pub page: Map<String, Value>,
    /// What a purchase lacks here.
    pub lacks: Vec<&'static str>,
}

/// A payment that the probe has created.
struct Created {
    intent: PaymentIntent,
    payment: Payment,
}

/// The search for what a purchase needs.
struct Search<'a> {
    probe: &'a Prober,
    draft: Draft,
    /// Words that the service uses for two things, so they say nothing.
    ambiguous: Vec<String>,
    secrets: Vec<String>,
    findings: Findings,
}

/// Finds it. With `asks` it lets the caller pay a payment and decline another, and asks what was seen.
pub(super) async fn find(
    probe: &Prober,
    draft: Draft,
    candidates: &Candidates,
    asks: bool,
) -> Result<Findings, Failure> {
    let page = Map::from_iter([("baseUrl".to_owned(), json!(draft.base_url))]);
    let findings = Findings { rows: Vec::new(), profile: None, page, lacks: Vec::new() };
    let mut search = Search { probe, draft, ambiguous: Vec::new(), secrets: Vec::new(), findings };
    if search.payments(candidates, asks).await? {
        search.draft.profile().map_err(Error::from)?;
        search.findings.profile = Some(search.draft.clone());
    }
    search.prices().await;
    Ok(search.findings)
}

impl Search<'_> {
    /// A row of the table, without a client secret that a service repeats.
    fn row(&mut self, what: &str, found: impl Into<String>) {
        let shown = |text: String| self.secrets.iter().fold(text, |text, secret| text.replace(secret, "***"));
        self.findings.rows.push([shown(what.to_owned()), shown(found.into())]);
    }

    fn lacks(&mut self, what: &str, why: impl Into<String>, lack: &'static str) {
        self.row(what, why);
        self.findings.lacks.push(lack);
    }

    /// Returns whether a payment can be read.
    async fn payments(&mut self, candidates: &Candidates, asks: bool) -> Result<bool, Failure> {
        const CREATED: &str = "A payment is created";
        let first = match self.create(1, None).await {
            Ok(first) => first,
            Err(error) => {
                self.lacks(CREATED, format!("no: {error}"), "no payment is created");
                return Ok(false);
            }
        };
        self.row(CREATED, format!("yes, `{}`", first.intent.status));
        if let Some(wrong) = wrong_sum(&first) {
            self.lacks("It says the sum", wrong, "a payment has another sum or reference than was sent");
        }
        self.checkout(&first.intent);
        if let IntentStatus::Unknown(word) = &first.intent.status {
            // It permits neither goods nor a second charge.
            self.add_word(word, "requires_action");
        }
        const AGAIN: &str = "The same creation again";
        match self.create(1, None).await {
            Ok(again) if again.intent.id == first.intent.id => {
                self.row(AGAIN, "gives the same payment, so a lost one is found by it")
            }
            Ok(_) => self.lacks(
                AGAIN,
                "MAKES A SECOND PAYMENT: ask the company how a creation is repeated safely",
                "a repeated creation makes a second payment",
            ),
            Err(error) => self.row(AGAIN, format!("is refused: {error}")),
        }
        // What lists every payment, or gives the same one whatever is asked, is seen by it.
        let second = match self.create(2, None).await {
            Ok(second) => second,
            Err(error) => {
                self.lacks("A second payment is created", format!("no: {error}"), "no second payment is created");
                return Ok(false);
            }
        };
        if !self.find_read(&first, &second, candidates).await {
            return Ok(false);
        }
        self.find_search(&first, &second, candidates).await;
        self.find_cancellation(&second, candidates, asks).await;
        self.keep_search_if_it_gives(&second, "canceled").await;
        match asks {
            true => self.ask_for_words().await?,
            false => self.row("Its words for paid and declined", "not known: --pay asks you to pay a payment"),
        }
        Ok(true)
    }

    /// Creates a payment of this run, or repeats its creation.
    async fn create(&mut self, number: u32, redirect_url: Option<RedirectUrl>) -> Result<Created, Error> {
        let mut operation = order(self.probe, number)?;
        if let Some(redirect_url) = redirect_url {
            operation = operation.redirect_url(redirect_url);
        }
        let reference = operation.merchant_reference.to_string();
        let intent: PaymentIntent = self.send(operation, &self.probe.key).await?;
        self.secrets.extend(intent.client_secret.as_ref().map(|secret| secret.expose().to_owned()));
        // As the ledger keeps it. What was sent is not asked for.
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
    fn checkout(&mut self, intent: &PaymentIntent) {
        const PAY: &str = "Customers pay";
        let Some(url) = intent.checkout_url.as_ref().map(|url| url.expose()) else {
            return self.lacks(PAY, "at no address: the reply has no checkout_url", "customers pay at no address");
        };
        let origin =
            |text: &str| url::Url::parse(text).ok().and_then(|url| read_origin(&url.origin().ascii_serialization()));
        let Some(own) = origin(url) else {
            return self.lacks(PAY, "at what is no address of a page", "customers pay at no address");
        };
        self.row(PAY, format!("at {own}: compare it with what the company says"));
        if origin(&self.draft.base_url).as_ref() != Some(&own) {
            self.findings.page.insert("checkoutOrigins".to_owned(), json!([own]));
            self.draft.checkout_origins = vec![own];
        }
    }

    /// Asks for a payment by a profile that is being tried. A list gives each of its payments.
    async fn ask(&self, draft: &Draft, created: &Created, asked: &Asked) -> Result<Vec<PaymentIntent>, Error> {
        let profile = draft.profile()?;
        let secret = created.intent.client_secret.as_ref().map(ClientSecret::expose);
        let request = PaymentRequest::new(Some(&profile), &created.payment, asked, secret)?;
        let PaymentRequest { spec, method, target, client_secret, .. } = request;
        let secret = client_secret.map(ClientSecret::new);
        let credential: &(dyn Credential + Sync) = match &secret {
            Some(secret) => secret,
            None => &self.probe.key,
        };
        let reply = self.probe.transport.send(spec, Request::new(method, target), credential).await?;
        decode::<Vec<PaymentIntent>>(&reply).or_else(|_| Ok(vec![decode(&reply).map_err(unreadable)?]))
    }

    async fn read(&self, draft: &Draft, created: &Created) -> Result<Vec<PaymentIntent>, Error> {
        self.ask(draft, created, &Asked::Read(created.intent.id.to_string())).await
    }

    async fn find_read(&mut self, first: &Created, second: &Created, candidates: &Candidates) -> bool {
        const READ: &str = "A payment is read";
        for route in &candidates.reads {
            progress(route);
            let draft = self.draft.reading(route);
            let read = self.read(&draft, first).await;
            if matches!(&read, Err(error) if matches!(error.kind(), Kind::Timeout | Kind::Offline)) {
                self.lacks(READ, format!("{route}: the service does not answer"), "no payment is read");
                return false;
            }
            let is_one = gives(&read, first) && gives(&self.read(&draft, second).await, second);
            let Some(read) = read.ok().and_then(|list| list.into_iter().next()).filter(|_| is_one) else { continue };
            let read = Created { intent: read, payment: first.payment.clone() };
            if let Some(wrong) = wrong_sum(&read) {
                self.lacks(
                    READ,
                    format!("{route}, and it {wrong}"),
                    "a reading has another sum or reference than was sent",
                );
                return false;
            }
            self.row(READ, route.to_string());
            self.draft.read = route.clone();
            return true;
        }
        let advice = "by no request that was tried: ask the company how a payment is read, and give its path by --read";
        self.lacks(READ, advice, "no payment is read");
        false
    }

    /// The payment and no other is found, and none of an unknown reference: a search that gives none permits a second
    /// charge.
    async fn find_search(&mut self, first: &Created, second: &Created, candidates: &Candidates) {
        const FOUND: &str = "A payment whose reply was lost is found";
        let unknown = Payment { reference: format!("{}-unknown", self.probe.run), ..first.payment.clone() };
        let unknown = Created { intent: first.intent.clone(), payment: unknown };
        for route in &candidates.finds {
            progress(route);
            let draft = self.draft.finding(route);
            let finds_none = match self.ask(&draft, &unknown, &Asked::Find).await {
                Ok(found) => found.is_empty(),
                Err(error) => error.status() == Some(404),
            };
            if finds_none && gives(&self.ask(&draft, second, &Asked::Find).await, second) {
                self.row(FOUND, route.to_string());
                self.draft = draft;
                return;
            }
        }
        self.row(FOUND, "by no search that was tried: give one by --find");
    }

    /// A search that does not find a payment which has ended would let an order be paid twice.
    async fn keep_search_if_it_gives(&mut self, created: &Created, state: &str) {
        if self.draft.find_by_reference.is_some()
            && !gives(&self.ask(&self.draft, created, &Asked::Find).await, created)
        {
            self.draft.find_by_reference = None;
            self.row("The search", format!("DOES NOT FIND a payment that was {state}, so it is not used"));
        }
    }

    async fn find_cancellation(&mut self, second: &Created, candidates: &Candidates, asks: bool) {
        const CANCELED: &str = "An open payment is canceled";
        let cancel = Asked::Cancel(second.intent.id.to_string());
        for route in &candidates.cancels {
            progress(route);
            // Its reply may be no payment.
            let done = self.ask(&self.draft.canceling(route), second, &cancel).await;
            let is_done = !matches!(&done, Err(error) if error.kind() != Kind::Unreadable);
            let read = self.read(&self.draft, second).await;
            let Some(status) = read.ok().and_then(|list| list.into_iter().next()).map(|intent| intent.status) else {
                continue;
            };
            if status == second.intent.status {
                continue;
            }
            let is_canceled = is_done
                && match &status {
                    IntentStatus::Canceled => true,
                    IntentStatus::Unknown(word) if asks => {
                        eprintln!(
                            "\nThe probe has asked the service to cancel the payment {}.",
                            second.payment.reference
                        );
                        self.asks_whether(word, "canceled")
                    }
                    _ => false,
                };
            if is_canceled {
                self.row(CANCELED, route.to_string());
                self.draft.cancel = (!route.is_documented_cancellation()).then(|| Some(route.clone()));
                return;
            }
            let remedy = if asks { "" } else { ": --pay asks you whether it is a cancellation" };
            self.row(CANCELED, format!("not known: after {route} it is `{status}`{remedy}"));
            self.draft.cancel = Some(None);
            return;
        }
        self.row(CANCELED, "by no request that was tried: give one by --cancel");
        self.draft.cancel = Some(None);
    }

    /// Lets the caller pay one payment and decline another, and learns the word for it.
    async fn ask_for_words(&mut self) -> Result<(), Failure> {
        for (number, what, ours) in [(3, "Pay", "succeeded"), (4, "Decline", "failed")] {
            let listener = returned::Listener::open().await?;
            let back = RedirectUrl::new(listener.address()).ok();
            let mut created = self.create(number, back).await;
            if created.is_err() {
                self.row("A return address on this machine", "is refused, so the customer's return is not tried");
                created = self.create(number + 2, None).await;
            }
            let what = format!("{what} a payment");
            let url = created.as_ref().ok().and_then(|created| created.intent.checkout_url.as_ref());
            let (Some(url), Ok(created)) = (url, &created) else {
                self.row(&what, "not tried: no payment was created that can be paid");
                continue;
            };
            eprintln!("\n{what}, in a browser: {}", printable(url.expose()));
            let answer = answer_to("Press Enter when it is done, or write `skip`.");
            if answer.is_none_or(|answer| answer == "skip") {
                self.row(&what, "not tried: you have skipped it, so the word for it is not known");
                continue;
            }
            self.row("The customer comes back", listener.returned().unwrap_or_else(|| "not seen".to_owned()));
            match self.final_status(created, ours).await {
                Some(status) => self.row(&what, format!("`{status}`")),
                None if ours == "succeeded" => {
                    self.lacks(
                        &what,
                        "the service has no word for it that is known",
                        "its word for a paid payment is not known",
                    );
                }
                None => self.row(&what, "the service has no word for it that is known"),
            }
            if ours == "succeeded" {
                self.keep_search_if_it_gives(created, "paid").await;
            }
        }
        Ok(())
    }

    /// The final status of a payment. What a foreign word means is asked once it stays.
    async fn final_status(&mut self, created: &Created, ours: &'static str) -> Option<IntentStatus> {
        let (mut last, mut same) = (String::new(), 0);
        for _ in 0..READINGS {
            let read = self.read(&self.draft, created).await.ok().and_then(|list| list.into_iter().next());
            match read.map(|intent| intent.status) {
                Some(status @ (IntentStatus::Succeeded | IntentStatus::Failed | IntentStatus::Canceled)) => {
                    return Some(status);
                }
                Some(IntentStatus::Unknown(word))
                    if !matches!(self.draft.statuses.get(&word), Some(&"requires_action")) =>
                {
                    same = if word == last { same + 1 } else { 1 };
                    if same == SAME {
                        let is_so = self.asks_whether(&word, ours);
                        if is_so || self.ambiguous.contains(&word) {
                            return is_so.then_some(IntentStatus::Unknown(word));
                        }
                    }
                    last = word;
                }
                _ => {}
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        None
    }

    /// Whether a word that is none of ours has this meaning. It permits goods or a second charge, so a person confirms
    /// what happened.
    fn asks_whether(&mut self, word: &str, ours: &'static str) -> bool {
        let question =
            format!("The service calls this payment `{}`. Is it {ours}, for good? Write yes or no.", printable(word));
        let is_so = answer_to(&question).is_some_and(|answer| answer.eq_ignore_ascii_case("yes"));
        is_so && self.add_word(word, ours)
    }

    /// Returns whether the word has this meaning alone.
    fn add_word(&mut self, word: &str, ours: &'static str) -> bool {
        let what = format!("Its word `{word}`");
        let other = self.draft.statuses.get(word).copied().filter(|other| *other != ours);
        if other.is_some() || self.ambiguous.iter().any(|one| one == word) {
            self.draft.statuses.remove(word);
            self.ambiguous.push(word.to_owned());
            let other = other.unwrap_or("another");
            self.lacks(
                &what,
                format!("means two things, `{other}` and `{ours}`, so it is not used"),
                "a word means two things",
            );
            return false;
        }
        self.draft.statuses.insert(word.to_owned(), ours);
        self.row(&what, format!("is `{ours}`"));
        true
    }

    /// Who may read payment methods and fees.
    async fn prices(&mut self) {
        let Ok(email) = Email::new("probe@example.com") else { return };
        let session: Option<CreatedSession> = self.send(CreateSession::new(email), &self.probe.key).await.ok();
        self.row("A session is created", if session.is_some() { "yes" } else { "no" });
        let by_session = match session {
            Some(session) => self.reads_prices(&session.session_token).await,
            None => false,
        };
        let (by_anyone, by_key) = (self.reads_prices(&NoCredential).await, self.reads_prices(&self.probe.key).await);
        let readers = [("a session", by_session), ("anyone", by_anyone), ("the secret key", by_key)];
        let named: Vec<&str> = readers.iter().filter(|(_, reads)| *reads).map(|(name, _)| *name).collect();
        self.row(
            "Methods and fees are read by",
            if named.is_empty() { "none of these".into() } else { named.join(", ") },
        );
        let option = match (by_session, by_anyone, by_key) {
            (true, ..) => return,
            (_, true, _) => "anonymous",
            (.., true) => "merchant",
            _ => return,
        };
        self.findings.page.insert("publicReads".to_owned(), json!(option));
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

/// Whether a reply is this payment and no other.
fn gives(reply: &Result<Vec<PaymentIntent>, Error>, created: &Created) -> bool {
    matches!(reply.as_deref(), Ok([one]) if one.id == created.intent.id)
}

/// What is wrong in the sum or the reference of a payment of 5000 XAF, by which the ledger would refuse it.
fn wrong_sum(Created { intent, payment }: &Created) -> Option<String> {
    let PaymentIntent { amount, currency, merchant_reference, .. } = intent;
    if *amount != Amount::units(5_000) || currency != "XAF" {
        return Some(format!("SAYS {amount} {currency} for 5000 XAF"));
    }
    let other = merchant_reference.as_ref().filter(|reference| **reference != payment.reference)?;
    Some(format!("SAYS the reference {other} for {}", payment.reference))
}

/// Each request may take half a minute.
fn progress(route: impl std::fmt::Display) {
    eprintln!("guichet: trying {}", printable(route));
}

fn unreadable(_: serde_json::Error) -> Error {
    Error::new(Kind::Unreadable, "The service's reply cannot be read.")
}
