//! The client that `createGuichet` makes: the module of a shop's page.

use super::options::{self, call_options, duration, function, only, origins, signal};
use super::promise::promise;
use super::quotes::{country, fee_request, quote_request, written};
use super::write::write;
use crate::browser::core::{
    CallError, Checkout, MerchantRoutes, Outcome, OutcomeOptions, Pending, Return, SessionStatus, Shop, ShopConfig,
    check_no_secret_key, display, fee, get, get_text, is_nullish, notify, payment_methods, quotes, reference, returned,
    text,
};
use crate::flow::{Match, Ms, OutcomeState, State};
use js_sys::{Function, JSON, Promise};
use serde::Serialize;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

const OPTIONS: &str = "It is no option. The options are: baseUrl, merchant, merchantHeaders, checkoutOrigins, publicReads, locale, fetch, wasm, onCall.";

/// The client of a page.
#[wasm_bindgen]
pub struct Client(Rc<Shop>);

#[wasm_bindgen]
impl Client {
    /// Reads the options, and sends nothing. `on_session` is called when the session's status may have changed.
    #[wasm_bindgen(constructor)]
    pub fn new(given: &JsValue, on_session: Function) -> Result<Client, JsValue> {
        Ok(Self(Shop::new(config(given, on_session)?)))
    }

    /// Reports where the session stands, which time alone may have changed.
    #[wasm_bindgen(js_name = reportSession)]
    pub fn report_session(&self) {
        self.0.report_session();
    }

    pub fn validate(&self, how: &JsValue) -> Result<Promise, JsValue> {
        let (shop, options) = (self.shop(), call_options(how)?);
        Ok(promise(signal(how), Box::pin(shop.validate(options))))
    }

    pub fn renew(&self, how: &JsValue) -> Result<Promise, JsValue> {
        call_options(how)?;
        let shop = self.shop();
        Ok(promise(signal(how), nothing(shop.renew())))
    }

    pub fn revoke(&self, how: &JsValue) -> Result<Promise, JsValue> {
        let (shop, options) = (self.shop(), call_options(how)?);
        Ok(promise(signal(how), nothing(shop.revoke(options))))
    }

    #[wasm_bindgen(js_name = paymentMethods)]
    pub fn payment_methods(&self, of: &JsValue, how: &JsValue) -> Result<Promise, JsValue> {
        let (shop, options, country) = (self.shop(), call_options(how)?, country(of)?);
        Ok(promise(signal(how), Box::pin(async move { Ok(payment_methods(shop, country, options).await?.into()) })))
    }

    pub fn fee(&self, of: &JsValue, how: &JsValue) -> Result<Promise, JsValue> {
        let (shop, options) = (self.shop(), call_options(how)?);
        Ok(promise(signal(how), Box::pin(fee(shop, fee_request(of)?, options))))
    }

    pub fn quotes(&self, of: &JsValue, how: &JsValue) -> Result<Promise, JsValue> {
        let (shop, options, request) = (self.shop(), call_options(how)?, quote_request(of)?);
        Ok(promise(signal(how), Box::pin(async move { Ok(written(quotes(shop, request, options).await?)) })))
    }

    /// `popup` is the window that was opened in the click, if any.
    pub fn checkout(&self, what: &JsValue, how: &JsValue, popup: &JsValue) -> Result<Promise, JsValue> {
        let options = call_options(how)?;
        let mode = get(how, "mode");
        if !is_nullish(&mode) && !matches!(mode.as_string().as_deref(), Some("popup" | "redirect")) {
            return Err(CallError::field("mode", "It is \"redirect\" or \"popup\".").into());
        }
        let order = get(what, "order");
        let Some(json) = JSON::stringify(&order).ok().and_then(|json| json.as_string()) else {
            return Err(CallError::field("order", "It is required, and is sent to your server as JSON.").into());
        };
        let outcome = outcome_options(how, true)?;
        let popup = popup.is_object().then(|| popup.clone().unchecked_into());
        let call = self.shop().checkout(Checkout { order, json, popup, outcome, options });
        Ok(promise(signal(how), Box::pin(async move { Ok(written_outcome(&call.await?)) })))
    }

    pub fn returned(&self) -> Promise {
        promise(None, Box::pin(async { Ok(returned().await.map_or(JsValue::NULL, written_return)) }))
    }

    #[wasm_bindgen(js_name = waitForOutcome)]
    pub fn wait_for_outcome(&self, back: JsValue, how: &JsValue) -> Result<Promise, JsValue> {
        let (shop, outcome) = (self.shop(), outcome_options(how, false)?);
        let reference = Some(get(&back, "reference")).filter(JsValue::is_object).unwrap_or(back);
        Ok(promise(
            signal(how),
            Box::pin(async move { Ok(written_outcome(&shop.follow(reference, outcome).await?)) }),
        ))
    }
}

impl Client {
    fn shop(&self) -> Rc<Shop> {
        Rc::clone(&self.0)
    }
}

fn config(given: &JsValue, on_session: Function) -> Result<ShopConfig, CallError> {
    only(given, OPTIONS)?;
    let transport = options::transport(given)?;
    let place = get(given, "merchant");
    check_no_secret_key(&text(&place).unwrap_or_default())?;
    let locale = get(given, "locale");
    let merchant = MerchantRoutes {
        place,
        headers: function(given, "merchantHeaders"),
        locale: locale.is_truthy().then(|| display(&locale)),
    };
    let mut checkout_origins = origins(given, "checkoutOrigins")?;
    if checkout_origins.is_empty() {
        checkout_origins.push(transport.base.origin().to_owned());
    }
    let reads_with_session = match get_text(given, "publicReads").as_deref() {
        Some("none") => false,
        None | Some("session") => merchant.has("session"),
        _ => return Err(CallError::field("publicReads", "It is \"session\" or \"none\".")),
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
fn nothing(call: impl Future<Output = Result<(), CallError>> + 'static) -> Pending<JsValue> {
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
