//! The client that `createGuichet` returns: the module of a shop's page.

use super::options::{self, call_options, check_call, check_no_secret_key_within, duration, function, only, origins};
use super::promise::promise;
use super::quotes::{calculate_fee, country, quote_request, written};
use crate::browser::core::{
    CallError, CallOptions, Checkout, MerchantRoutes, Outcome, OutcomeOptions, Pending, Return, SessionStatus, Shop,
    ShopConfig, check_no_secret_key, check_page, display, fee, get, get_text, is_nullish, notify, payment_methods,
    quotes, reference, returned, stringify, text, write,
};
use crate::flow::{Match, Ms, OutcomeState, State};
use js_sys::{Function, Promise};
use serde::Serialize;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

const OPTIONS: &[&str] =
    &["baseUrl", "merchant", "merchantHeaders", "checkoutOrigins", "publicReads", "locale", "fetch", "wasm", "onCall"];
const CALL: &[&str] = &["signal", "timeoutMs"];
const WAIT: &[&str] = &["signal", "timeoutMs", "budgetMs", "onStatus"];
const CHECKOUT: &[&str] = &["signal", "timeoutMs", "budgetMs", "onStatus", "mode"];
const FEE: &[&str] = &["payment_method", "currency", "amount", "country_code", "card_type"];
const QUOTES: &[&str] = &["amount", "currency", "fee_bearer", "country_code", "payment_method_types", "codes"];
const REFERENCE: &[&str] = &["id", "payment_ref", "merchant_reference"];

/// The client of a page.
#[wasm_bindgen]
pub struct Client(Rc<Shop>);

#[wasm_bindgen]
impl Client {
    /// Reads the options. Sends nothing. `on_session` is called when the session's state may have changed.
    #[wasm_bindgen(constructor)]
    pub fn new(given: &JsValue, on_session: Function) -> Result<Client, JsValue> {
        Ok(Self(Shop::new(config(given, on_session)?)))
    }

    /// Reports the session's state, which may have changed only because time passed.
    #[wasm_bindgen(js_name = reportSession)]
    pub fn report_session(&self) {
        self.0.report_session();
    }

    pub fn validate(&self, how: &JsValue) -> Promise {
        promise(how, &|| Ok(Box::pin(self.shop().validate(options_alone(how)?))))
    }

    pub fn renew(&self, how: &JsValue) -> Promise {
        promise(how, &|| {
            options_alone(how)?;
            Ok(nothing(Box::pin(self.shop().renew())))
        })
    }

    pub fn revoke(&self, how: &JsValue) -> Promise {
        promise(how, &|| Ok(nothing(Box::pin(self.shop().revoke(options_alone(how)?)))))
    }

    #[wasm_bindgen(js_name = paymentMethods)]
    pub fn payment_methods(&self, of: &JsValue, how: &JsValue) -> Promise {
        promise(how, &|| {
            check_call(of, Some(&["country_code"]), how, CALL)?;
            let (shop, options, country) = (self.shop(), call_options(how)?, country(of)?);
            Ok(Box::pin(async move { Ok(payment_methods(shop, country, options).await?.into()) }))
        })
    }

    pub fn fee(&self, of: &JsValue, how: &JsValue) -> Promise {
        promise(how, &|| {
            check_call(of, Some(FEE), how, CALL)?;
            let options = call_options(how)?;
            Ok(Box::pin(fee(self.shop(), calculate_fee(of)?, options)))
        })
    }

    pub fn quotes(&self, of: &JsValue, how: &JsValue) -> Promise {
        promise(how, &|| {
            check_call(of, Some(QUOTES), how, CALL)?;
            let (shop, options, request) = (self.shop(), call_options(how)?, quote_request(of)?);
            Ok(Box::pin(async move { Ok(written(quotes(shop, request, options).await?)) }))
        })
    }

    /// `popup` is the window that was opened in the click, if any.
    pub fn checkout(&self, what: &JsValue, how: &JsValue, popup: &JsValue) -> Promise {
        promise(how, &|| {
            let call = self.shop().checkout(checkout(what, how, popup)?);
            Ok(Box::pin(async move { Ok(written_outcome(&call.await?)) }))
        })
    }

    pub fn returned(&self) -> Promise {
        promise(&JsValue::UNDEFINED, &|| {
            Ok(Box::pin(async { Ok(returned().await.map_or(JsValue::NULL, written_return)) }))
        })
    }

    #[wasm_bindgen(js_name = waitForOutcome)]
    pub fn wait_for_outcome(&self, back: &JsValue, how: &JsValue) -> Promise {
        promise(how, &|| {
            check_call(back, None, how, WAIT)?;
            let outcome = outcome_options(how, false)?;
            let call = self.shop().follow(reference_of(back)?, outcome);
            Ok(Box::pin(async move { Ok(written_outcome(&call.await?)) }))
        })
    }
}

impl Client {
    fn shop(&self) -> Rc<Shop> {
        Rc::clone(&self.0)
    }
}

fn checkout(what: &JsValue, how: &JsValue, popup: &JsValue) -> Result<Checkout, CallError> {
    check_call(what, Some(&["order"]), how, CHECKOUT)?;
    let options = call_options(how)?;
    let mode = get(how, "mode");
    if !is_nullish(&mode) && !matches!(mode.as_string().as_deref(), Some("popup" | "redirect")) {
        return Err(CallError::field("mode", "It is \"redirect\" or \"popup\"."));
    }
    let order = get(what, "order");
    let Some(json) = stringify(&order) else {
        return Err(CallError::field("order", "It is required, and is sent to your server as JSON."));
    };
    check_page("checkout")?;
    let popup = popup.is_object().then(|| popup.clone().unchecked_into());
    Ok(Checkout { order, json, popup, outcome: outcome_options(how, true)?, options })
}

/// The reference of a return, or the reference itself.
fn reference_of(back: &JsValue) -> Result<JsValue, CallError> {
    let inner = get(back, "reference");
    let reference = if inner.is_object() {
        only(back, "field", &["match", "reference"])?;
        inner
    } else {
        back.clone()
    };
    only(&reference, "field", REFERENCE)?;
    Ok(reference)
}

/// The options of a call that has no other argument.
fn options_alone(how: &JsValue) -> Result<CallOptions, CallError> {
    check_call(&JsValue::UNDEFINED, None, how, CALL)?;
    call_options(how)
}

fn config(given: &JsValue, on_session: Function) -> Result<ShopConfig, CallError> {
    check_no_secret_key_within(given)?;
    only(given, "option", OPTIONS)?;
    let transport = options::transport(given)?;
    let place = get(given, "merchant");
    check_no_secret_key(&text(&place).unwrap_or_default())?;
    if !place.is_string() {
        only(&place, "merchant function", &["session", "intent", "status"])?;
    }
    let headers = function(given, "merchantHeaders");
    if headers.is_none() && !is_nullish(&get(given, "merchantHeaders")) {
        return Err(CallError::field("merchantHeaders", "It is a function that returns headers."));
    }
    let locale = get(given, "locale");
    let merchant = MerchantRoutes { place, headers, locale: locale.is_truthy().then(|| display(&locale)) };
    let mut checkout_origins = origins(given, "checkoutOrigins")?;
    if checkout_origins.is_empty() {
        checkout_origins.push(transport.base.origin().to_owned());
    }
    let reads_with_session = match get_text(given, "publicReads").as_deref() {
        Some("anonymous") => false,
        None | Some("session") => merchant.has("session"),
        _ => return Err(CallError::field("publicReads", "It is \"session\" or \"anonymous\".")),
    };
    let on_session = Box::new(move |status| notify(&on_session, &written_session(status)));
    Ok(ShopConfig { transport, merchant, checkout_origins, reads_with_session, on_session })
}

fn outcome_options(how: &JsValue, turned_back: bool) -> Result<OutcomeOptions, CallError> {
    Ok(OutcomeOptions {
        budget: duration(how, "budgetMs")?.unwrap_or(OutcomeOptions::DEFAULT_BUDGET),
        on_status: function(how, "onStatus"),
        options: call_options(how)?,
        turned_back,
    })
}

/// A call that resolves to `undefined`.
fn nothing(call: Pending<()>) -> Pending<JsValue> {
    Box::pin(async { call.await.map(|()| JsValue::UNDEFINED) })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenSession {
    state: &'static str,
    expires_at: Option<f64>,
    email: Option<String>,
    lasts: Option<Ms>,
}

fn written_session(SessionStatus { state, expires_at, email, lasts }: SessionStatus) -> JsValue {
    write(&WrittenSession { state: State::as_str(state), expires_at, email, lasts })
}

#[derive(Serialize)]
struct WrittenOutcome<'a> {
    state: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a str>,
    #[serde(with = "serde_wasm_bindgen::preserve", skip_serializing_if = "JsValue::is_undefined")]
    reference: JsValue,
    #[serde(with = "serde_wasm_bindgen::preserve", skip_serializing_if = "JsValue::is_undefined")]
    last_payment_error: JsValue,
}

fn written_outcome(Outcome { state, status, reference, last_payment_error }: &Outcome) -> JsValue {
    write(&WrittenOutcome {
        state: OutcomeState::as_str(*state),
        status: status.as_deref(),
        reference: reference.clone(),
        last_payment_error: last_payment_error.clone(),
    })
}

#[derive(Serialize)]
struct WrittenReturn {
    r#match: &'static str,
    #[serde(with = "serde_wasm_bindgen::preserve")]
    reference: JsValue,
}

fn written_return(Return { matched, purchase }: Return) -> JsValue {
    write(&WrittenReturn { r#match: Match::as_str(matched), reference: reference(&purchase) })
}
