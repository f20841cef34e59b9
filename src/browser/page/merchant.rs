//! The merchant's three routes, or functions in their place (decisions 15).

use super::client::Inner;
use crate::browser::call::How;
use crate::browser::doors;
use crate::browser::error::{Stop, refuse_secret_key, refuse_secret_key_within};
use crate::browser::fetch::{Sending, data, lost, unreadable, unwrapped};
use crate::browser::options;
use crate::browser::read::{Sort, at, is, text};
use crate::browser::task::{Answer, Flow, Next};
use crate::protocol::{Kind, Spec, percent_encode};
use crate::values::parts;
use wasm_bindgen::prelude::*;

/// The three routes, as errors and `onCall` name them. They are no operations of the interface, and have no path here.
pub(super) static SESSION: Spec = Spec::post("merchant_session", "").repeatable();
pub(super) static INTENT: Spec = Spec::post("merchant_intent", "");
pub(super) static STATUS: Spec = Spec::get("merchant_status", "");

/// Where the merchant's own server answers.
pub(super) struct Merchant {
    /// The address of its routes, or an object of functions.
    place: JsValue,
    headers: JsValue,
    locale: JsValue,
}

impl Merchant {
    pub(super) fn read(given: &JsValue) -> Result<Self, Stop> {
        let (place, headers) = (at(given, "merchant"), at(given, "merchantHeaders"));
        refuse_secret_key(&text(&place, "").unwrap_or_default())?;
        if !is(&place, "", Sort::Text) {
            options::only(&place, "merchant function", "session intent status")?;
        }
        if !is(&headers, "", Sort::Nothing) && !is(&headers, "", Sort::Function) {
            return Err(Stop::field("merchantHeaders", "It is a function that returns headers."));
        }
        Ok(Self { place, headers, locale: at(given, "locale") })
    }

    /// Whether there is someone to ask for this: `session`, `intent`, `status`.
    pub(super) fn has(&self, name: &str) -> bool {
        is(&self.place, "", Sort::Text) || is(&self.place, name, Sort::Function)
    }
}

/// Asks the merchant's server, and comes to what it said.
pub(super) struct Ask {
    inner: &'static Inner,
    spec: &'static Spec,
    /// The function in the route's place, and its argument.
    name: &'static str,
    first: JsValue,
    path: String,
    body: Option<String>,
    how: How,
    begun: bool,
}

impl Ask {
    /// For a token: a text, an object, or `null` where nobody is signed in.
    pub(super) fn session(inner: &'static Inner, how: How) -> Self {
        let body = Some(String::from("{}"));
        Self::new(inner, &SESSION, "session", JsValue::UNDEFINED, String::from("/session"), body, how)
    }

    /// For the intent of an order.
    pub(super) fn intent(inner: &'static Inner, order: JsValue, json: String, how: How) -> Self {
        Self::new(inner, &INTENT, "intent", order, String::from("/intents"), Some(json), how)
    }

    /// How a payment stands.
    pub(super) fn status(inner: &'static Inner, reference: &JsValue, how: How) -> Self {
        let mut path = String::from("/intents/");
        percent_encode(&mut path, &text(reference, "payment_ref").unwrap_or_default());
        Self::new(inner, &STATUS, "status", reference.clone(), path, None, how)
    }

    fn new(
        inner: &'static Inner,
        spec: &'static Spec,
        name: &'static str,
        first: JsValue,
        path: String,
        body: Option<String>,
        how: How,
    ) -> Self {
        Self { inner, spec, name, first, path, body, how, begun: false }
    }

    fn begin(&mut self) -> Result<Next, Stop> {
        let Merchant { place, headers, locale } = &self.inner.merchant;
        let Some(mut url) = text(place, "") else {
            if !self.inner.merchant.has(self.name) {
                let said = "Nobody was named to ask: pass the option merchant, the address of your server's routes or functions in their place.";
                return Err(Stop::of(Kind::Unsupported, said, self.spec.name, &JsValue::UNDEFINED));
            }
            return Ok(Next::Wait(doors::ask(place, self.name, &self.first, self.how.left())));
        };
        while url.ends_with('/') {
            url.pop();
        }
        url.push_str(&self.path);
        let init = doors::to_merchant(self.spec.method.as_str(), self.body.as_deref(), headers, locale)?;
        refuse_secret_key_within(&at(&init, "headers"))?;
        for value in parts(&doors::header_values(&init), b'\n') {
            refuse_secret_key(value)?;
        }
        Ok(Next::Call(Box::new(Sending::new(self.inner.wire, self.spec, url, init, None, self.how))))
    }
}

impl Flow for Ask {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        if !self.begun {
            self.begun = true;
            return self.begin();
        }
        if !is(&self.inner.merchant.place, "", Sort::Text) {
            let came = came?;
            if is(&came, "late", Sort::True) {
                return Err(lost(self.spec, true));
            }
            return Ok(Next::Done(unwrapped(&at(&came, "answer"))));
        }
        match came {
            // The routes know their customer by a cookie.
            Err(stop) if matches!(stop.status(), 401 | 419) => Err(stop.signed_out()),
            Err(stop) => Err(stop),
            // No content is an answer too: nobody.
            Ok(answer) if !is(&answer, "body", Sort::Nothing) => Ok(Next::Done(data(&answer))),
            Ok(answer) => match text(&answer, "text").as_deref() {
                None | Some("" | "null") => Ok(Next::Done(JsValue::NULL)),
                Some(_) => Err(unreadable(&answer, self.spec.name)),
            },
        }
    }
}
