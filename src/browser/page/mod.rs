//! The client over a page, on wasm32: it decodes the service's objects.

mod decode;
mod popup;

use self::decode::decode;
pub(super) use self::popup::Popup;
use self::popup::Popups;
use super::PublicReads;
use super::builder::{Call, ClientBuilder};
use super::client::{Outcome, Quote, Return};
use super::core::browser::{Place, page, page_origin};
use super::core::checkout::{Checkout, purchase_of, reference, returned};
use super::core::error::{CallError, check_no_secret_key_in};
use super::core::merchant::{MerchantRoutes, check_merchant};
use super::core::outcome::{Outcome as Found, OutcomeOptions};
use super::core::quotes::{QuoteSelection, quotes};
use super::core::reply::Reply;
use super::core::session::SessionStatus;
use super::core::shop::{Shop, ShopConfig};
use super::core::time::{CallOptions, MAX_DURATION};
use super::core::transport::{CallReport, Transport};
use super::core::value::{get, stringify};
use crate::flow::{Base, Purchase, QuoteRequest, State};
use crate::operations::{CalculateFee, FeeBreakdown, ListPaymentMethods, PaymentMethod, SessionState};
use crate::protocol::{Error, Kind};
use crate::values::{Address, IntentStatus};
use js_sys::Reflect;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_wasm_bindgen::Serializer;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use wasm_bindgen::JsValue;
use web_sys::Headers;

#[derive(Clone)]
pub(super) struct Engine {
    shop: Rc<Shop>,
    popups: Popups,
}

impl PartialEq for Engine {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.shop, &other.shop)
    }
}

/// The order for which the merchant's server creates an intent.
pub(super) struct Order {
    value: JsValue,
    json: String,
}

impl Order {
    pub(super) fn new<T: Serialize>(order: &T) -> Result<Self, Error> {
        // As a plain object: JSON would write a `Map` as `{}`.
        let value = order.serialize(&Serializer::new().serialize_maps_as_objects(true)).unwrap_or_default();
        let Some(json) = stringify(&value) else {
            return Err(Error::new(
                Kind::Input,
                "order: It is sent to your server as JSON, and cannot be written as JSON.",
            ));
        };
        check_no_secret_key_in(&json)?;
        Ok(Self { value, json })
    }
}

impl Engine {
    pub(super) fn new(options: ClientBuilder) -> Result<Self, Error> {
        for text in options.checkout_origins.iter().chain([&options.base_url]).chain(&options.merchant) {
            check_no_secret_key_in(text)?;
        }
        let base = Base::new(&options.base_url, page_origin().as_deref())?;
        let mut checkout_origins = vec![];
        for origin in &options.checkout_origins {
            checkout_origins.push(Address::new(origin)?.origin().to_owned());
        }
        if checkout_origins.is_empty() {
            checkout_origins.push(base.origin().to_owned());
        }
        let on_call = options.on_call.map(|on_call| -> Box<dyn Fn(CallReport)> {
            Box::new(move |CallReport { operation, attempt, ms, status, kind, request_id }| {
                let kind = kind.and_then(|kind| Kind::of_word(&kind));
                on_call(Call { operation, attempt, ms, status, kind, request_id });
            })
        });
        options.merchant.as_deref().map_or(Ok(()), check_merchant)?;
        let headers = options.merchant_headers.map(|headers| -> Box<dyn Fn() -> Result<Headers, CallError>> {
            Box::new(move || {
                let invalid = |_| CallError::field("merchant_headers", "Invalid header.");
                written(headers()).map_err(invalid)
            })
        });
        let merchant = MerchantRoutes {
            transport: Rc::new(Transport { base, fetch: None, on_call, shared_calls: Default::default() }),
            merchant: options.merchant.map_or(JsValue::UNDEFINED, JsValue::from),
            headers,
            includes_credentials: options.includes_credentials,
            locale: options.locale.clone(),
        };
        let public_reads = match options.public_reads {
            PublicReads::Merchant if !merchant.has("session") => {
                return Err(Error::new(Kind::Input, "merchant: `merchant_reads` needs the address of your routes."));
            }
            PublicReads::Session if !merchant.has("session") => PublicReads::Anonymous,
            reads => reads,
        };
        let (last_state, on_session) = (Cell::new(State::None), options.on_session);
        let on_session = Box::new(move |status: SessionStatus| {
            if last_state.replace(status.state) != status.state {
                on_session(status.state);
            }
        });
        let shop = Shop::new(ShopConfig { merchant, checkout_origins, public_reads, on_session });
        Ok(Self { shop: Rc::new(shop), popups: Popups::new(options.locale) })
    }

    pub(super) async fn methods(
        &self,
        of: &ListPaymentMethods,
        timeout: Duration,
    ) -> Result<Vec<PaymentMethod>, Error> {
        decoded(self.shop.reader.methods(of, options(timeout))?.await?)
    }

    pub(super) async fn fee(&self, of: &CalculateFee, timeout: Duration) -> Result<FeeBreakdown, Error> {
        decoded(self.shop.reader.fee(of, options(timeout))?.await?)
    }

    pub(super) async fn quotes(&self, request: &QuoteRequest, timeout: Duration) -> Result<Vec<Quote>, Error> {
        let selection = QuoteSelection { request: request.clone(), methods: vec![], codes: JsValue::UNDEFINED };
        let found = quotes(Rc::clone(&self.shop.reader), selection, options(timeout)).await?;
        let typed = found.into_iter().map(|quote| {
            let unreadable = |_| Error::new(Kind::Unreadable, "The method could not be read.");
            let method = decode(quote.method).map_err(unreadable)?;
            let price = quote.price.map_err(Error::from);
            Ok(Quote { fee: quote.fee, ..Quote::new(request, method, quote.payment_method, quote.card_type, price) })
        });
        typed.collect()
    }

    pub(super) fn session(&self) -> SessionStatus {
        self.shop.session.status()
    }

    pub(super) async fn validate(&self, timeout: Duration) -> Result<SessionState, Error> {
        let state = Rc::clone(&self.shop.session).validate(options(timeout)).await?;
        decode(state).map_err(|_| Error::new(Kind::Unreadable, "The reply could not be read."))
    }

    pub(super) async fn renew(&self) -> Result<(), Error> {
        Ok(Rc::clone(&self.shop.session).renew().await?)
    }

    pub(super) async fn revoke(&self, timeout: Duration) -> Result<(), Error> {
        Ok(Rc::clone(&self.shop.session).revoke(options(timeout)).await?)
    }

    pub(super) fn popup(&self, order: &Order) -> Option<Rc<Popup>> {
        self.popups.open(&order.json)
    }

    pub(super) async fn checkout(
        &self,
        order: Order,
        popup: Option<&Popup>,
        in_top: bool,
        timeout: Duration,
    ) -> Result<Outcome, Error> {
        if page().is_none() {
            return Err(Error::new(Kind::Unsupported, "A checkout needs a page: a worker has none."));
        }
        let Order { value: order, json } = order;
        let place = match popup.and_then(Popup::take) {
            Some(window) => Place::Popup(window),
            None if in_top => Place::Top,
            None => Place::Here,
        };
        let (outcome, options) = (outcome_options(true, timeout), options(timeout));
        let checkout = Checkout { order, json, place, outcome, options };
        Ok(Rc::clone(&self.shop.checkouts).start_or_join(checkout).await?.into())
    }

    pub(super) fn returned(&self) -> Option<Return> {
        returned().map(|found| Return { matched: found.matched, purchase: found.purchase })
    }

    pub(super) async fn wait_for_outcome(&self, purchase: &Purchase, timeout: Duration) -> Result<Outcome, Error> {
        let outcome = outcome_options(false, timeout);
        Ok(Rc::clone(&self.shop.purchases).follow(reference(purchase), outcome).await?.into())
    }
}

impl From<Found> for Outcome {
    fn from(found: Found) -> Self {
        // `null` says more than an absent member, which `get` does not tell apart.
        let until = Reflect::get(&found.reply, &"approvable_until".into()).unwrap_or_default();
        Self {
            state: found.state,
            status: found.status().map(IntentStatus::from),
            purchase: purchase_of(&found.reference),
            last_payment_error: member(&found.reply, "last_payment_error"),
            approvable_until: if until.is_undefined() { None } else { decode(until).ok() },
            late_approval: found.late_approval(),
            amount: member(&found.reply, "amount"),
            amount_payable: member(&found.reply, "amount_payable"),
            plus_fee: member(&found.reply, "plus_fee").unwrap_or_default(),
        }
    }
}

fn decoded<T: DeserializeOwned>(reply: Reply) -> Result<T, Error> {
    decode(reply.data()).map_err(|_| reply.unreadable().into())
}

/// A member of a reply; `None` if it is missing or cannot be read.
fn member<T: DeserializeOwned>(reply: &JsValue, name: &str) -> Option<T> {
    decode(get(reply, name)?).ok()
}

fn written(headers: Vec<(String, String)>) -> Result<Headers, JsValue> {
    let written = Headers::new()?;
    for (name, value) in headers {
        written.set(&name, &value)?;
    }
    Ok(written)
}

fn options(timeout: Duration) -> CallOptions {
    CallOptions::with_timeout((timeout.as_secs_f64() * 1000.0).clamp(1.0, MAX_DURATION))
}

fn outcome_options(turned_back: bool, timeout: Duration) -> OutcomeOptions {
    let (budget, options) = (OutcomeOptions::DEFAULT_BUDGET, options(timeout));
    OutcomeOptions { budget, on_status: None, options, turned_back }
}

#[cfg(test)]
mod tests {
    use super::super::{Client, Outcome};
    use crate::protocol::Error;
    use js_sys::Function;
    use wasm_bindgen::prelude::*;
    use wasm_bindgen_test::wasm_bindgen_test;

    #[wasm_bindgen_test]
    fn an_order_has_one_popup_which_closes_with_the_last_who_waits() {
        count_open_windows();
        let client = Client::builder("https://api.example.com").merchant("/guichet").build().expect("it is an address");
        let [order, other] = ["17", "18"].map(|id| std::collections::BTreeMap::from([("id", id)]));
        let first = client.checkout(&order).popup();
        let second = client.clone().checkout(&order).popup();
        assert_eq!(open_windows(), 1, "one order, one popup");
        let third = client.checkout(&other).popup();
        assert_eq!(open_windows(), 2);
        drop(first);
        assert_eq!(open_windows(), 2, "the second call still uses it");
        drop((second, third));
        assert_eq!(open_windows(), 0, "no checkout, no window");
        drop(client.checkout(&order).popup().into_future());
        assert_eq!(open_windows(), 0);
    }

    #[wasm_bindgen_test]
    async fn an_order_that_cannot_be_sent_opens_no_window_and_is_refused() {
        count_open_windows();
        let client = Client::builder("https://api.example.com").build().expect("it is an address");
        let kind = |result: Result<Outcome, Error>| result.err().map(|error| error.kind());
        assert_eq!(kind(client.checkout(&()).popup().await), Some(crate::protocol::Kind::Input));
        assert_eq!(kind(client.checkout(&"sk_test_123456").popup().await), Some(crate::protocol::Kind::SecretKey));
        assert_eq!(open_windows(), 0);
    }

    fn count_open_windows() {
        run("globalThis.windows = []; const open = globalThis.realOpen ??= window.open.bind(window);
             window.open = (...how) => { const popup = open(...how); windows.push(popup); return popup; }");
    }

    fn open_windows() -> u32 {
        run("return windows.filter((popup) => popup?.closed === false).length").as_f64().map_or(0, |count| count as u32)
    }

    fn run(script: &str) -> JsValue {
        Function::new_no_args(script).call0(&JsValue::UNDEFINED).expect("the script does not throw")
    }
}
