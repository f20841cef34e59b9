//! The client that `createGuichet` returns: the module of a shop's page.

use super::options::{self, call_options, duration, function, origins};
use super::promise::Calls;
use super::quotes::{calculate_fee, country, quote_request, written};
use crate::browser::PublicReads;
use crate::browser::core::browser::{Place, notify};
use crate::browser::core::checkout::{Checkout, reference, returned};
use crate::browser::core::error::{CallError, Pending, check_no_secret_key};
use crate::browser::core::merchant::{MerchantRoutes, check_merchant};
use crate::browser::core::outcome::OutcomeOptions;
use crate::browser::core::quotes::{payment_methods, quotes};
use crate::browser::core::session::{Session, SessionStatus};
use crate::browser::core::shop::{Shop, ShopConfig};
use crate::browser::core::value::{display, get, get_text, object, optional, stringify, text};
use crate::flow::{Match, State};
use js_sys::{Function, Promise};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use web_sys::Headers;

/// The client of a page.
#[wasm_bindgen]
pub struct Client {
    shop: Shop,
    calls: Calls,
}

#[wasm_bindgen]
impl Client {
    /// Reads the options, whose names JavaScript has checked. Sends nothing. `on_session` is called when the session's
    /// state may have changed.
    #[wasm_bindgen(constructor)]
    pub fn new(given: &JsValue, on_session: Function) -> Result<Client, JsValue> {
        Ok(Self { shop: Shop::new(config(given, on_session)?), calls: Calls::default() })
    }

    /// Frees the client. The calls under way reject with this reason.
    pub fn close(self, reason: JsValue) {
        self.calls.close(reason);
        self.shop.session.close();
    }

    pub fn validate(&self, how: &JsValue) -> Promise {
        self.calls.promise(how, &|how| Ok(Box::pin(self.session().validate(call_options(how)?))))
    }

    pub fn renew(&self, how: &JsValue) -> Promise {
        self.calls.promise(how, &|how| {
            call_options(how)?;
            Ok(nothing(Box::pin(self.session().renew())))
        })
    }

    pub fn revoke(&self, how: &JsValue) -> Promise {
        self.calls.promise(how, &|how| Ok(nothing(Box::pin(self.session().revoke(call_options(how)?)))))
    }

    #[wasm_bindgen(js_name = paymentMethods)]
    pub fn payment_methods(&self, of: &JsValue, how: &JsValue) -> Promise {
        self.calls.promise(how, &|how| {
            let (read, options, country) = (Rc::clone(&self.shop.reader), call_options(how)?, country(of)?);
            Ok(Box::pin(async move { Ok(payment_methods(read, country, options).await?.into()) }))
        })
    }

    pub fn fee(&self, of: &JsValue, how: &JsValue) -> Promise {
        self.calls.promise(how, &|how| {
            let options = call_options(how)?;
            let reply = self.shop.reader.fee(&calculate_fee(of)?, options)?;
            Ok(Box::pin(async move {
                let reply = reply.await?;
                Some(reply.data()).filter(JsValue::is_object).ok_or_else(|| reply.unreadable())
            }))
        })
    }

    pub fn quotes(&self, of: &JsValue, how: &JsValue) -> Promise {
        self.calls.promise(how, &|how| {
            let (read, options, request) = (Rc::clone(&self.shop.reader), call_options(how)?, quote_request(of)?);
            Ok(Box::pin(async move { Ok(written(quotes(read, request, options).await?)) }))
        })
    }

    /// `popup` is the window that was opened in the click, if any.
    pub fn checkout(&self, what: &JsValue, how: &JsValue, popup: &JsValue) -> Promise {
        self.calls.promise(how, &|how| {
            let checkout = checkout(what, how, popup)?;
            let call = Rc::clone(&self.shop.checkouts).start_or_join(checkout);
            Ok(Box::pin(async move { Ok(call.await?.written()) }))
        })
    }

    pub fn returned(&self) -> JsValue {
        let Some(found) = returned() else { return JsValue::NULL };
        object(&[
            ("match", optional(Some(Match::as_str(found.matched)))),
            ("reference", Some(reference(&found.purchase))),
        ])
    }

    #[wasm_bindgen(js_name = waitForOutcome)]
    pub fn wait_for_outcome(&self, reference: &JsValue, how: &JsValue) -> Promise {
        self.calls.promise(how, &|how| {
            let outcome = outcome_options(how, false)?;
            let call = Rc::clone(&self.shop.purchases).follow(reference.clone(), outcome);
            Ok(Box::pin(async move { Ok(call.await?.written()) }))
        })
    }
}

impl Client {
    fn session(&self) -> Rc<Session> {
        Rc::clone(&self.shop.session)
    }
}

fn checkout(what: &JsValue, how: Option<&JsValue>, popup: &JsValue) -> Result<Checkout, CallError> {
    let options = call_options(how)?;
    let mode = how.and_then(|how| get(how, "mode")).map(|mode| display(&mode));
    if !matches!(mode.as_deref(), None | Some("popup" | "redirect" | "top")) {
        return Err(CallError::field("mode", ""));
    }
    let order = get(what, "order").unwrap_or_default();
    let Some(json) = stringify(&order) else {
        return Err(CallError::field("order", "It is required."));
    };
    let place = match mode.as_deref() {
        _ if popup.is_object() => Place::Popup(popup.clone().unchecked_into()),
        Some("top") => Place::Top,
        _ => Place::Here,
    };
    Ok(Checkout { order, json, place, outcome: outcome_options(how, true)?, options })
}

fn config(given: &JsValue, on_session: Function) -> Result<ShopConfig, CallError> {
    let transport = Rc::new(options::transport(given)?);
    let merchant = get(given, "merchant").unwrap_or_default();
    if let Some(address) = text(&merchant) {
        check_no_secret_key(&address)?;
        check_merchant(&address)?;
    }
    let includes_credentials = get_text(given, "merchantCredentials").as_deref() == Some("include");
    let headers = match (function(given, "merchantHeaders"), get(given, "merchantHeaders")) {
        (None, Some(_)) => return Err(no_headers()),
        (headers, _) => headers.map(|headers| -> Box<dyn Fn() -> Result<Headers, CallError>> {
            Box::new(move || merchant_headers(&headers))
        }),
    };
    let locale = get(given, "locale").map(|locale| display(&locale)).filter(|locale| !locale.is_empty());
    let mut checkout_origins = origins(given, "checkoutOrigins")?;
    if checkout_origins.is_empty() {
        checkout_origins.push(transport.base.origin().to_owned());
    }
    let merchant = MerchantRoutes { transport, merchant, headers, includes_credentials, locale };
    let public_reads = match get_text(given, "publicReads").as_deref() {
        None | Some("session") if merchant.has("session") => PublicReads::Session,
        None | Some("session" | "anonymous") => PublicReads::Anonymous,
        Some("merchant") if merchant.merchant.is_string() => PublicReads::Merchant,
        _ => return Err(CallError::field("publicReads", "")),
    };
    let on_session = Box::new(move |status| notify(&on_session, &written_session(status), &JsValue::UNDEFINED));
    Ok(ShopConfig { merchant, checkout_origins, public_reads, on_session })
}

/// The headers that the page's function gives.
fn merchant_headers(headers: &Function) -> Result<Headers, CallError> {
    let given = headers.call0(&JsValue::UNDEFINED).map_err(CallError::thrown)?;
    // `new Headers(promise)` is empty and throws nothing.
    if get(&given, "then").is_some_and(|then| then.is_function()) {
        return Err(no_headers());
    }
    // The browser's own words may have the value, which may be a token.
    Headers::new_with_str_sequence_sequence(&given).map_err(|_| no_headers())
}

fn no_headers() -> CallError {
    CallError::field("merchantHeaders", "")
}

fn outcome_options(how: Option<&JsValue>, turned_back: bool) -> Result<OutcomeOptions, CallError> {
    Ok(OutcomeOptions {
        budget: duration(how, "budgetMs")?.unwrap_or(OutcomeOptions::DEFAULT_BUDGET),
        on_status: how.and_then(|how| function(how, "onStatus")),
        options: call_options(how)?,
        turned_back,
    })
}

/// A call that resolves to `undefined`.
fn nothing(call: Pending<()>) -> Pending<JsValue> {
    Box::pin(async { call.await.map(|()| JsValue::UNDEFINED) })
}

fn written_session(SessionStatus { state, expires_at, email }: SessionStatus) -> JsValue {
    object(&[
        ("state", optional(Some(State::as_str(state)))),
        ("expiresAt", optional(expires_at)),
        ("email", optional(email)),
    ])
}
