//! The object that `openHostedCheckout` returns: the module of the hosted checkout page.

use super::inputs::Inputs;
use super::options::{call_options, duration, function, origins, transport};
use super::promise::Calls;
use super::quotes::{quote_request, written};
use crate::browser::core::browser::current_address;
use crate::browser::core::error::CallError;
use crate::browser::core::hosted::{HostedCheckout, HostedConfig, MOVABLE, check_intent, intent_of_address};
use crate::browser::core::payment::{FollowOptions, Move};
use crate::browser::core::quotes::quotes;
use crate::browser::core::value::{display, get, get_text, merged, object, set, text};
use crate::operations::{Card, Instrument};
use crate::values::{Country, OperatorCode, Phone, normalize_code, normalize_digits, normalize_phone, normalize_year};
use js_sys::{Function, Promise};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "../arguments.js")]
extern "C" {
    /// Throws if an object has a name that is not in `known` (separated by spaces). `what` is the word for such a name.
    #[wasm_bindgen(catch)]
    fn only(given: &JsValue, what: &str, known: &str) -> Result<(), JsValue>;
}

/// The open checkout of one intent.
#[wasm_bindgen]
pub struct HostedPage {
    page: Rc<HostedCheckout>,
    calls: Calls,
}

#[wasm_bindgen]
impl HostedPage {
    /// Reads the options, and removes the client secret from the address bar. Sends nothing.
    #[wasm_bindgen(constructor)]
    pub fn new(given: &JsValue) -> Result<HostedPage, JsValue> {
        let intent = get(given, "intent").unwrap_or_default();
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
        let paths = get(given, "paths").unwrap_or_default();
        check_names(&paths, "path", &MOVABLE.join(" "))?;
        let page = HostedCheckout::new(HostedConfig { transport, id, secret, redirect_origins, paths })?;
        Ok(Self { page, calls: Calls::default() })
    }

    /// The service's own object, as it was last read.
    #[wasm_bindgen(getter)]
    pub fn intent(&self) -> JsValue {
        self.page.intent()
    }

    /// Whether a declined attempt may still become money: `{state, until?}`.
    #[wasm_bindgen(getter)]
    pub fn late(&self) -> JsValue {
        self.page.late()
    }

    /// Reads the intent.
    pub fn refresh(&self, how: &JsValue) -> Promise {
        self.calls.promise(how, &|how| {
            let (page, options) = (self.page(), call_options(how)?);
            Ok(Box::pin(async move { page.look(options).await.map(|()| page.intent()) }))
        })
    }

    pub fn quotes(&self, how: &JsValue) -> Promise {
        self.calls.promise(how, &|how| {
            let (read, options) = (self.page.reader(), call_options(how)?);
            let request = quote_request(&merged(how.unwrap_or(&JsValue::UNDEFINED), &self.page.intent()))?;
            Ok(Box::pin(async move { Ok(written(quotes(read, request, options).await?)) }))
        })
    }

    /// The fields as [`Self::pay`] and [`Self::answer`] read them, not checked.
    pub fn normalize(&self, fields: &JsValue) -> JsValue {
        normalized(fields, &["phone", "number", "exp_month", "exp_year", "cvc", "otp"])
    }

    pub fn pay(&self, method: &JsValue, how: &JsValue) -> Promise {
        self.start(method, how, &|method| Ok(Move::Pay(instrument(method)?)))
    }

    pub fn answer(&self, otp: &JsValue, how: &JsValue) -> Promise {
        self.start(otp, how, &|otp| Ok(Move::Answer(one_time_code(otp)?)))
    }

    pub fn cancel(&self, how: &JsValue) -> Promise {
        self.start(&JsValue::UNDEFINED, how, &|_| Ok(Move::Cancel))
    }

    /// Ends the attempt of mobile money under way.
    #[wasm_bindgen(js_name = anotherNumber)]
    pub fn another_number(&self, how: &JsValue) -> Promise {
        self.start(&JsValue::UNDEFINED, how, &|_| Ok(Move::Abandon))
    }

    /// Follows the intent until it is settled or needs its customer.
    pub fn wait(&self, how: &JsValue) -> Promise {
        self.calls.promise(how, &|how| Ok(Box::pin(self.page().look_and_follow(follow_options(how)?))))
    }

    /// Goes to the address of the intent's own `next_action`.
    pub fn proceed(&self) -> Result<(), JsValue> {
        Ok(self.page.proceed()?)
    }

    /// Goes to the intent's own `redirect_url`.
    pub fn leave(&self) -> Result<(), JsValue> {
        Ok(self.page.leave()?)
    }
}

impl HostedPage {
    fn page(&self) -> Rc<HostedCheckout> {
        Rc::clone(&self.page)
    }

    fn start(&self, first: &JsValue, how: &JsValue, action: &dyn Fn(&JsValue) -> Result<Move, CallError>) -> Promise {
        self.calls.promise(how, &|how| Ok(self.page().move_and_follow(action(first)?, follow_options(how)?)))
    }
}

fn follow_options(how: Option<&JsValue>) -> Result<FollowOptions, CallError> {
    let on_status = how.and_then(|how| function(how, "onStatus"));
    Ok(FollowOptions::new(duration(how, "budgetMs")?, on_status, call_options(how)?))
}

/// `{type: "mobile_money", phone, country_code?, operator?}` or `{type: "card", card: {number, exp_month, exp_year,
/// cvc}}`, in the form that customers type.
fn instrument(given: &JsValue) -> Result<Instrument, CallError> {
    match get_text(given, "type").as_deref() {
        Some("mobile_money") => {
            check_names(given, "field", "type phone country_code operator")?;
            let given = normalized(given, &["phone", "country_code", "operator"]);
            let mut inputs = Inputs::of(&given);
            inputs.optional("country_code", |text| Country::new(text));
            let phone = inputs.required("phone", |text| Phone::new(text));
            let operator = inputs.optional("operator", |text| OperatorCode::new(text));
            inputs.finish(phone.map(|phone| Instrument::MobileMoney { phone, operator }))
        }
        Some("card") => {
            check_names(given, "field", "type card")?;
            card(&get(given, "card").unwrap_or_default())
        }
        _ => Err(CallError::field("type", "It is mobile_money or card.")),
    }
}

fn card(given: &JsValue) -> Result<Instrument, CallError> {
    check_names(given, "field", "number exp_month exp_year cvc")?;
    let given = normalized(given, &["number", "exp_month", "exp_year", "cvc"]);
    let mut inputs = Inputs::of(&given);
    let number = inputs.required("number", Card::check_number);
    let exp_month = inputs.required("exp_month", |text| Card::check_month(text.parse().ok()));
    let exp_year = inputs.required("exp_year", |text| Card::check_year(text.parse().ok()));
    let cvc = inputs.required("cvc", Card::check_cvc);
    inputs.finish(match (number, exp_month, exp_year, cvc) {
        (Some(number), Some(exp_month), Some(exp_year), Some(cvc)) => {
            Some(Instrument::Card { card: Card { number, exp_month, exp_year, cvc } })
        }
        _ => None,
    })
}

/// The code that the customer received, in the form that they type it.
fn one_time_code(given: &JsValue) -> Result<String, CallError> {
    let code = normalize_code(&text(given).unwrap_or_default());
    code.map_err(|invalid| CallError::field("otp", invalid.reason()))
}

/// The fields with these names, and what customers type in the service's format, as far as it can be read.
fn normalized(given: &JsValue, names: &[&str]) -> JsValue {
    let fields = object(&[]);
    for &name in names {
        let Some(value) = get(given, name) else { continue };
        let read = text(&value).and_then(|text| match name {
            "country_code" | "operator" => None,
            "phone" => Some(normalize_phone(&text, get_text(given, "country_code").as_deref())),
            "exp_year" => Some(normalize_year(&text)),
            _ => Some(normalize_digits(&text)),
        });
        set(&fields, name, &read.map_or(value, JsValue::from));
    }
    fields
}

fn check_names(given: &JsValue, what: &str, known: &str) -> Result<(), CallError> {
    only(given, what, known).map_err(CallError::thrown)
}
