//! The object that `openHostedCheckout` returns: the module of the hosted checkout page.

use super::inputs::Inputs;
use super::options::{
    call_options, check_call, check_no_secret_key_within, duration, function, only, origins, transport,
};
use super::promise::promise;
use super::quotes::{quote_request, written};
use crate::browser::core::{
    CallError, FollowOptions, HostedCheckout, HostedConfig, MOVABLE, Move, check_intent, current_address, display, get,
    get_text, intent_of_address, merged, quotes, text,
};
use crate::flow::normalize_phone;
use crate::operations::{Card, Instrument};
use crate::values::{Country, Invalid, Phone};
use js_sys::{Function, Promise};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

const OPTIONS: &[&str] = &["baseUrl", "intent", "paths", "redirectOrigins", "fetch", "wasm", "onCall"];
const CALL: &[&str] = &["signal", "timeoutMs"];
const QUOTES: &[&str] = &["signal", "timeoutMs", "country_code", "codes"];
const MOVE: &[&str] = &["signal", "timeoutMs", "budgetMs", "onStatus"];

/// The open checkout of one intent.
#[wasm_bindgen]
pub struct HostedPage(Rc<HostedCheckout>);

#[wasm_bindgen]
impl HostedPage {
    /// Reads the options, and removes the client secret from the address bar. Sends nothing.
    #[wasm_bindgen(constructor)]
    pub fn new(given: &JsValue) -> Result<HostedPage, JsValue> {
        check_no_secret_key_within(given)?;
        only(given, "option", OPTIONS)?;
        let intent = get(given, "intent");
        let intent = match intent.dyn_ref::<Function>() {
            Some(function) => {
                let address = current_address().map_or(JsValue::UNDEFINED, JsValue::from);
                function.call1(&JsValue::UNDEFINED, &address)?
            }
            None => intent,
        };
        let (id, secret) = match (get_text(&intent, "id"), get_text(&intent, "client_secret")) {
            (Some(id), Some(secret)) => (Some(id), Some(secret)),
            _ => intent_of_address(&display(&intent))?,
        };
        let (id, secret) = check_intent(id, secret)?;
        let (transport, redirect_origins) = (transport(given)?, origins(given, "redirectOrigins")?);
        let paths = get(given, "paths");
        only(&paths, "path", &MOVABLE)?;
        Ok(Self(HostedCheckout::new(HostedConfig { transport, id, secret, redirect_origins, paths })?))
    }

    /// The service's own object, as it was last read.
    #[wasm_bindgen(getter)]
    pub fn intent(&self) -> JsValue {
        self.0.intent()
    }

    /// Reads the intent.
    pub fn refresh(&self, how: &JsValue) -> Promise {
        promise(how, &|| {
            check_call(&JsValue::UNDEFINED, None, how, CALL)?;
            let (page, options) = (self.page(), call_options(how)?);
            Ok(Box::pin(async move { page.look(options).await.map(|()| page.intent()) }))
        })
    }

    pub fn quotes(&self, how: &JsValue) -> Promise {
        promise(how, &|| {
            check_call(&JsValue::UNDEFINED, None, how, QUOTES)?;
            let (page, options) = (self.page(), call_options(how)?);
            let request = quote_request(&merged(how, &page.intent()))?;
            Ok(Box::pin(async move { Ok(written(quotes(page, request, options).await?)) }))
        })
    }

    pub fn pay(&self, method: &JsValue, how: &JsValue) -> Promise {
        self.start(method, how, |method| Ok(Move::Pay(instrument(method)?)))
    }

    pub fn answer(&self, otp: &JsValue, how: &JsValue) -> Promise {
        self.start(otp, how, |otp| Ok(Move::Answer(one_time_code(otp)?)))
    }

    pub fn cancel(&self, how: &JsValue) -> Promise {
        self.start(&JsValue::UNDEFINED, how, |_| Ok(Move::Cancel))
    }

    /// Follows the intent until it is settled or needs its customer.
    pub fn wait(&self, how: &JsValue) -> Promise {
        promise(how, &|| {
            check_call(&JsValue::UNDEFINED, None, how, MOVE)?;
            Ok(Box::pin(self.page().look_and_follow(follow_options(how)?)))
        })
    }

    /// Goes to the address of the intent's own `next_action`.
    pub fn proceed(&self) -> Result<(), JsValue> {
        Ok(self.0.proceed()?)
    }

    /// Goes to the intent's own `redirect_url`.
    pub fn leave(&self) -> Result<(), JsValue> {
        Ok(self.0.leave()?)
    }
}

impl HostedPage {
    fn page(&self) -> Rc<HostedCheckout> {
        Rc::clone(&self.0)
    }

    fn start(&self, first: &JsValue, how: &JsValue, action: impl Fn(&JsValue) -> Result<Move, CallError>) -> Promise {
        promise(how, &|| {
            check_call(first, None, how, MOVE)?;
            Ok(self.page().move_and_follow(action(first)?, follow_options(how)?))
        })
    }
}

fn follow_options(how: &JsValue) -> Result<FollowOptions, CallError> {
    Ok(FollowOptions::new(duration(how, "budgetMs")?, function(how, "onStatus"), call_options(how)?))
}

/// `{type: "mobile_money", phone, country_code?}` or `{type: "card", card: {number, exp_month, exp_year, cvc}}`, in the
/// form that customers type.
fn instrument(given: &JsValue) -> Result<Instrument, CallError> {
    match get_text(given, "type").as_deref() {
        Some("mobile_money") => {
            only(given, "field", &["type", "phone", "country_code"])?;
            let mut inputs = Inputs::of(given);
            let country = inputs.optional("country_code", |text| Country::new(text));
            let country = country.as_ref().map(Country::as_str);
            let phone = inputs.required("phone", |text| Phone::new(normalize_phone(text, country)));
            inputs.finish(phone.map(|phone| Instrument::MobileMoney { phone }))
        }
        Some("card") => {
            only(given, "field", &["type", "card"])?;
            card(&get(given, "card"))
        }
        _ => Err(CallError::field("type", "It is mobile_money or card.")),
    }
}

fn card(given: &JsValue) -> Result<Instrument, CallError> {
    only(given, "field", &["number", "exp_month", "exp_year", "cvc"])?;
    let mut inputs = Inputs::of(given);
    let number = inputs.required("number", |text| digits(text, 12, 19, "A card number has 12 to 19 digits."));
    let exp_month = inputs.required("exp_month", |text| whole(text, 1, 12, "A month is a number from 1 to 12."));
    let exp_year = inputs.required("exp_year", |text| whole(text, 2000, 2999, "A year has four digits."));
    let cvc = inputs.required("cvc", |text| digits(text, 3, 4, "A security code has 3 or 4 digits."));
    inputs.finish(match (number, exp_month, exp_year, cvc) {
        (Some(number), Some(exp_month), Some(exp_year), Some(cvc)) => {
            Some(Instrument::Card { card: Card { number, exp_month: exp_month as u8, exp_year, cvc } })
        }
        _ => None,
    })
}

/// The code that the customer received, in the form that they type it.
fn one_time_code(given: &JsValue) -> Result<String, CallError> {
    let code: String = text(given).unwrap_or_default().chars().filter(|c| !c.is_whitespace()).collect();
    if code.is_empty() { Err(CallError::field("otp", "It is the code that the customer was sent.")) } else { Ok(code) }
}

fn digits(text: &str, least: usize, most: usize, otherwise: &'static str) -> Result<String, Invalid> {
    let tidy: String = text.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
    let shaped = (least..=most).contains(&tidy.len()) && tidy.bytes().all(|b| b.is_ascii_digit());
    if shaped { Ok(tidy) } else { Err(Invalid::because(otherwise)) }
}

fn whole(text: &str, least: u16, most: u16, otherwise: &'static str) -> Result<u16, Invalid> {
    text.trim().parse().ok().filter(|number| (least..=most).contains(number)).ok_or(Invalid::because(otherwise))
}
