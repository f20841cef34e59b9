//! A shop's ledger, whose store, requests and shop are JavaScript's.

use crate::{Host, lock};
use guichet::operations::{CreatePaymentIntent, ListPaymentMethods};
use guichet::protocol::{Completed, Error, Operation};
use guichet::shop::ledger::{
    Alarm, Answer, Asked, Body, Changed, Click, Clock, Commit, Due, Event, Led, Ledger, Loaded, ONCE, OpenEvent,
    Outcome, Payment, Purchase, Receiver, Requests, Round, Service, Shared, Store, Time, answer,
};
use guichet::shop::{Buyer, Owner, PaymentRequest, Profile, Reading, Refused, Reply, nonce, payment_of};
use guichet::values::{Amount, CheckoutUrl, ClientSecret, Language};
use js_sys::Uint8Array;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wasm_bindgen::prelude::*;

/// What a shop keeps between its tasks: the time of its ledger, and what it can do at the service.
#[wasm_bindgen]
#[derive(Clone)]
pub struct ShopLedger {
    clock: Arc<Clock>,
    service: Arc<Service>,
    /// What the payment company does otherwise.
    profile: Option<Arc<Profile>>,
}

#[wasm_bindgen]
impl ShopLedger {
    /// Of a shop whose key is, or is not, one of a test environment, and which keeps personal data for so many days
    /// after a payment's end. `profile` is JSON.
    ///
    /// # Errors
    /// What is wrong with the profile.
    #[wasm_bindgen(constructor)]
    pub fn new(is_test: bool, keep_days: Option<u16>, profile: Option<String>) -> Result<ShopLedger, String> {
        let profile = profile.as_deref().map(Profile::new).transpose().map_err(|wrong| wrong.reason().to_owned())?;
        let service = Service { keep_days, ..Service::of(profile.as_ref()) };
        let (clock, service) = (Arc::new(Clock::new(is_test)), Arc::new(service));
        Ok(Self { clock, service, profile: profile.map(Arc::new) })
    }
}

/// What all servers of a ledger share when it is created now, as JSON.
#[wasm_bindgen]
pub fn first_shared(now: f64) -> String {
    json!(Shared::new(now as Time)).to_string()
}

/// The work of a ledger in one task.
pub(crate) struct Work<'a> {
    host: &'a Host,
    ledger: &'a ShopLedger,
}

impl<'a> Work<'a> {
    pub(crate) fn new(host: &'a Host, ledger: &'a ShopLedger) -> Self {
        Self { host, ledger }
    }

    fn rules(&self) -> Ledger<'_, Host, Self, Host> {
        let (store, ShopLedger { clock, service, .. }) = (self.host, self.ledger);
        Ledger { store, requests: self, receiver: store, service, clock }
    }

    /// `POST {m}/intents`.
    pub(crate) async fn click(&self, buyer: Buyer, is_form: bool, origins: &[String]) -> Result<Reply, Refused> {
        let order: ShopOrder = read(&self.host.ask("purchase", &[is_form.into()]).await?)?;
        let name =
            order.name.ok_or_else(|| Refused::broken("`purchase` must return `name`, the order's own, a text"))?;
        let shared = self.host.shared().await?;
        let bytes = async |action: &str, text: &str| {
            let bytes = Uint8Array::new(&self.host.ask(action, &[text.into()]).await?).to_vec();
            bytes.try_into().map_err(|_| Refused::broken("32 bytes are needed"))
        };
        let return_nonce = nonce(&bytes("random", "").await?);
        let mark = nonce(&bytes("hmac", &shared.text_of_mark(&buyer.owner, &name)).await?);
        let quote = order.quote.as_deref().map(Amount::of_request).transpose();
        let quote = quote.map_err(|wrong| Refused::broken(["`purchase`: `quote`: ", wrong.reason()].concat()))?;
        let purchase = match order.ended {
            true => Purchase::OrderEnded,
            false => Purchase::Costs(order.costs.clone()),
        };
        let owner = buyer.owner.clone();
        let click = Click { owner: buyer.owner, visit: buyer.visit, purchase, nonce: return_nonce, mark, quote };
        let done = self.rules().handle(&name, &owner, Event::Click(click)).await?;
        if let (Some(Answer::Error { status: 500, .. }), Err(wrong)) = (&done.answer, Body::new(&order.costs)) {
            return Err(Refused::broken(["`purchase`: ", wrong.reason.reason()].concat()));
        }
        let opened = match &done.answer {
            Some(Answer::Lead { address: Led::Sealed(sealed), .. }) => {
                self.host.ask("open", &[sealed.into()]).await?.as_string()
            }
            _ => None,
        };
        answer::ticket(&done, is_form, origins, |_| opened)
    }

    /// `GET {m}/intents/{payment_ref}`.
    pub(crate) async fn status(&self, buyer: &Buyer, payment_ref: &str) -> Result<Reply, Refused> {
        answer::status(self.rules().read_named(buyer, &[payment_ref.to_owned()]).await?)
    }

    /// `GET {m}/return`.
    pub(crate) async fn payment(&self, buyer: &Buyer, names: &[String], language: Language) -> Result<Reply, Refused> {
        answer::payment(self.rules().read_named(buyer, names).await?, language)
    }

    /// What a page shows of an order; null if the service has no payment of it.
    pub(crate) async fn order(&self, name: &str) -> Result<Value, Refused> {
        let order = Store::order(self.host, name).await?;
        let Some((order, (payment, found))) = order.as_ref().and_then(|order| Some((order, order.shown()?))) else {
            return Ok(Value::Null);
        };
        let (payment_ref, sum) = (found.payment_ref.as_ref().unwrap_or(&found.id), payment.body.sum());
        Ok(json!({
            "reference": payment.reference, "payment_ref": payment_ref, "amount": sum.amount, "currency": sum.currency,
            "approvable_until": order.approvable_until(),
        }))
    }

    /// Begins a round. Returns it as JSON, with what is to be read of it.
    pub(crate) async fn begin_round(&self) -> Result<Value, Refused> {
        let (Round { due, oldest, until, .. }, claimed) = self.rules().begin_round().await?;
        Ok(json!({"due": due, "oldest": oldest, "until": until, "claimed": claimed}))
    }

    /// Reads what is due of one payment, by the round's time.
    pub(crate) async fn read_due(&self, due: &str, until: Time) -> Result<Value, Refused> {
        let Round { read, not_readable, .. } = self.rules().read_due(&self::read::<Due>(&due.into())?, until).await?;
        Ok(json!({"read": read, "notReadable": not_readable}))
    }

    /// Ends a round, if it has claimed something, and brings the shop what it has not received.
    pub(crate) async fn end_round(&self, until: Time, has_claimed: bool) -> Result<Value, Refused> {
        let ledger = self.rules();
        if has_claimed {
            ledger.end_round(until).await?;
        }
        Ok(json!({"notReceived": ledger.deliver().await?}))
    }
}

/// What `purchase` says of an order.
#[derive(Deserialize)]
struct ShopOrder {
    name: Option<String>,
    #[serde(default)]
    ended: bool,
    quote: Option<String>,
    #[serde(flatten)]
    costs: Value,
}

/// Reads a JSON text that JavaScript gives.
fn read<T: DeserializeOwned>(text: &JsValue) -> Result<T, Refused> {
    serde_json::from_str(&text.as_string().unwrap_or_default()).map_err(Refused::broken)
}

impl Store for Host {
    type Error = Refused;

    async fn now(&self) -> Result<Time, Refused> {
        let now = self.ask("now", &[]).await?.as_f64();
        now.map(|now| now as Time).ok_or_else(|| Refused::broken("`now` of the orders must return a number"))
    }

    async fn load(&self, name: &str, owner: &Owner, now: Time) -> Result<Loaded, Refused> {
        #[derive(Deserialize)]
        struct Row {
            order: Option<String>,
            open: usize,
            taken: BTreeSet<String>,
        }
        let row: Row = read(&self.ask("load", &[name.into(), owner.to_string().into(), number(now)]).await?)?;
        let order = row.order.map(|order| serde_json::from_str(&order).map_err(Refused::broken)).transpose()?;
        Ok(Loaded { order, open: row.open, taken: row.taken })
    }

    async fn commit(&self, Commit { order, before, open, now, rows, event }: &Commit) -> Result<bool, Refused> {
        let event = event.as_ref().map(|event| json!({"version": event.version, "body": json!(event).to_string()}));
        let rows = rows.iter().map(|row| {
            json!({
                "reference": row.reference, "created_at": row.created_at, "due_at": row.due_at, "counts_until": row.counts_until,
                "names": row.names,
            })
        });
        let commit = json!({
            "name": order.name, "version": order.version, "body": json!(order).to_string(), "owner": order.owner.to_string(),
            "before": before, "open": open, "now": now, "rows": rows.collect::<Vec<_>>(), "event": event,
        });
        Ok(self.ask("commit", &[commit.to_string().into()]).await?.is_truthy())
    }

    async fn find(&self, payment: &str) -> Result<Vec<String>, Refused> {
        read(&self.ask("findNames", &[payment.into()]).await?)
    }

    async fn returned(&self, reference: &str, now: Time) -> Result<(), Refused> {
        self.ask("returned", &[reference.into(), number(now)]).await.map(drop)
    }

    async fn due(&self, now: Time, beyond: Time) -> Result<Vec<Due>, Refused> {
        read(&self.ask("due", &[number(now), number(beyond)]).await?)
    }

    async fn postpone(&self, reference: &str, due_at: Time) -> Result<(), Refused> {
        self.ask("postpone", &[reference.into(), number(due_at)]).await.map(drop)
    }

    async fn shared(&self) -> Result<Shared, Refused> {
        let stored = self.ask("shared", &[]).await?;
        Ok(Shared { stored: stored.as_string(), ..read(&stored)? })
    }

    async fn replace_shared(&self, before: &Shared, after: &Shared) -> Result<bool, Refused> {
        let texts = [before.stored.clone().unwrap_or_default(), json!(after).to_string()].map(JsValue::from);
        Ok(self.ask("replaceShared", &texts).await?.is_truthy())
    }

    async fn events(&self, name: Option<&str>) -> Result<Vec<OpenEvent>, Refused> {
        #[derive(Deserialize)]
        struct Row {
            name: String,
            version: i64,
            body: String,
        }
        let rows: Vec<Row> = read(&self.ask("events", &[]).await?)?;
        let events = rows.into_iter().map(|Row { name, version, body }| OpenEvent { name, version, body });
        Ok(events.filter(|event| name.is_none_or(|name| event.name == name)).collect())
    }

    async fn close(&self, event: &OpenEvent) -> Result<(), Refused> {
        self.ask("close", &[event.name.as_str().into(), number(event.version)]).await.map(drop)
    }
}

impl Requests for Work<'_> {
    async fn create(&self, payment: &Payment, may_retry: bool) -> Outcome {
        let spec = if may_retry { const { &CreatePaymentIntent::SPEC } } else { ONCE };
        self.outcome(payment, Ok(PaymentRequest::creation(spec)), Some(payment.creation())).await
    }

    async fn ask(&self, payment: &Payment, asked: &Asked) -> Outcome {
        let secret = match PaymentRequest::kept(payment, asked) {
            Some(sealed) => self.secret("open", sealed).await,
            None => None,
        };
        let request = PaymentRequest::new(self.ledger.profile.as_deref(), payment, asked, secret.as_deref());
        self.outcome(payment, request, None).await
    }

    async fn date(&self) -> Option<Time> {
        let spec = const { &ListPaymentMethods::SPEC };
        self.host.fetch(None, spec, spec.method, spec.path, None).await.result.ok()?.date
    }
}

impl Work<'_> {
    /// What comes of a call about a payment.
    async fn outcome(
        &self,
        payment: &Payment,
        request: Result<PaymentRequest, Error>,
        body: Option<String>,
    ) -> Outcome {
        let profile = self.ledger.profile.as_deref();
        let Completed { attempts, result: reading } = match request {
            Ok(PaymentRequest { spec, method, target, client_secret, may_list }) => {
                let completed = self.host.fetch(client_secret.as_deref(), spec, method, &target, body).await;
                completed.and_then(|reply| {
                    let intent = reply.payment(spec, |body| payment_of(profile, &payment.reference, may_list, body))?;
                    Ok(intent.map(|intent| Reading::new(intent, reply.date)))
                })
            }
            Err(error) => Completed::not_sent(error),
        };
        let intent = reading.as_ref().ok().and_then(Option::as_ref).map(|reading| &reading.intent);
        let keeps_secret = profile.is_some_and(Profile::needs_client_secret);
        let address = intent.and_then(|intent| intent.checkout_url.as_ref()).map(CheckoutUrl::expose);
        let secret = intent.and_then(|intent| intent.client_secret.as_ref()).filter(|_| keeps_secret);
        let mut sealed = BTreeMap::new();
        for plain in address.into_iter().chain(secret.map(ClientSecret::expose)) {
            sealed.insert(plain.to_owned(), self.secret("seal", plain).await.unwrap_or_default());
        }
        Outcome::new(&attempts, reading, keeps_secret, |plain| sealed.get(plain).cloned().unwrap_or_default())
    }

    /// A text that is encrypted or decrypted.
    async fn secret(&self, action: &str, text: &str) -> Option<String> {
        self.host.ask(action, &[text.into()]).await.ok()?.as_string()
    }
}

impl Receiver for Host {
    async fn order_changed(&self, changed: &Changed) -> Result<(), Refused> {
        Host::ask(self, "orderChanged", &[json!(changed).to_string().into()]).await.map(drop)
    }

    fn alarm(&self, Alarm { what, about }: &Alarm) {
        lock(&self.alarms).push([what, " ", about.as_str()].concat());
    }
}

fn number(time: Time) -> JsValue {
    (time as f64).into()
}
