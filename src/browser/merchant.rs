//! The merchant's three routes, or functions in their place (decisions 15).

use super::call::How;
use super::error::{Stop, refuse_secret_key};
use super::fetch::{Errand, Reply, Wire, unwrapped};
use super::page;
use super::read::{at, make, maybe, text};
use super::task::{Answer, Work, wait_for};
use crate::protocol::{Kind, Spec, percent_encode};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::js_sys::Array;

/// The three routes, as errors and `onCall` name them. They are no operations of the interface, and have no path here.
pub(super) const SESSION: Spec = Spec::post("merchant_session", "").repeatable();
pub(super) const INTENT: Spec = Spec::post("merchant_intent", "");
pub(super) const STATUS: Spec = Spec::get("merchant_status", "");

/// Where the merchant's own server answers.
pub(super) struct Merchant {
    /// The address of its routes, or an object of functions.
    place: JsValue,
    headers: JsValue,
    locale: JsValue,
}

impl Merchant {
    pub(super) fn read(options: &JsValue) -> Result<Self, Stop> {
        let place = at(options, "merchant");
        if let Some(root) = place.as_string() {
            refuse_secret_key(&root)?;
        }
        Ok(Self { place, headers: at(options, "merchantHeaders"), locale: at(options, "locale") })
    }

    /// Whether there is someone to ask for this: `session`, `intent`, `status`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.place.is_string() || at(&self.place, name).is_function()
    }

    /// What the session route answers: a token, an object, or `null` where nobody is signed in.
    pub(super) async fn session(&self, wire: &Wire, how: How) -> Answer {
        let nothing = JsValue::UNDEFINED;
        match self.ask(wire, &SESSION, "session", &nothing, String::from("/session"), Some("{}"), how).await {
            Err(stop) if stop.status() == 403 || stop.is(Kind::SignedOut) => Ok(JsValue::NULL),
            answer => answer,
        }
    }

    /// What the intent route answers to an order.
    pub(super) fn intent<'a>(
        &'a self,
        wire: &'a Wire,
        order: &'a JsValue,
        json: &'a str,
        how: How,
    ) -> Work<'a, Answer> {
        self.ask(wire, &INTENT, "intent", order, String::from("/intents"), Some(json), how)
    }

    /// What the status route answers.
    pub(super) fn status<'a>(&'a self, wire: &'a Wire, reference: &'a JsValue, how: How) -> Work<'a, Answer> {
        let mut path = String::from("/intents/");
        percent_encode(&mut path, &text(reference, "payment_ref").unwrap_or_default());
        self.ask(wire, &STATUS, "status", reference, path, None, how)
    }

    #[expect(clippy::too_many_arguments, reason = "a route and the function in its place, asked in one way")]
    fn ask<'a>(
        &'a self,
        wire: &'a Wire,
        spec: &'static Spec,
        name: &'static str,
        first: &'a JsValue,
        path: String,
        body: Option<&'a str>,
        how: How,
    ) -> Work<'a, Answer> {
        Box::pin(async move {
            if let Some(root) = self.place.as_string() {
                let url = [root.trim_end_matches('/'), &path].concat();
                let headers = self.headers(body.is_some())?;
                let init = make(
                    "method headers body credentials cache",
                    [spec.method.as_str().into(), headers, maybe(body), "same-origin".into(), "no-store".into()],
                );
                return match wire.run(Errand { spec: *spec, url, init, secret: None }, how).await {
                    // The routes know their customer by a cookie.
                    Err(stop) if matches!(stop.status(), 401 | 419) => Err(stop.signed_out()),
                    answer => said(&answer?),
                };
            }
            if !self.has(name) {
                return Err(Stop::of(
                    Kind::Unsupported,
                    "Nobody was named to ask: pass the option merchant, the address of your server's routes or functions in their place.",
                    spec.name,
                    &JsValue::UNDEFINED,
                ));
            }
            let given = if first.is_undefined() { Array::new() } else { Array::of1(first) };
            let answer = wait_for(page::ask(&self.place, name, &given, page::ms(how.left()))).await?;
            if answer.is_null() {
                return Err(Stop::of(
                    Kind::Timeout,
                    "The time was over before an answer came.",
                    spec.name,
                    &JsValue::UNDEFINED,
                ));
            }
            Ok(unwrapped(&at(&answer, "answer")))
        })
    }

    fn headers(&self, with_body: bool) -> Answer {
        let theirs = match self.headers.dyn_ref::<wasm_bindgen_futures::js_sys::Function>() {
            Some(headers) => headers.call0(&JsValue::UNDEFINED)?,
            None => JsValue::UNDEFINED,
        };
        let content = with_body.then_some("application/json");
        let ours = make(
            "accept content-type accept-language",
            ["application/json".into(), maybe(content), self.locale.clone()],
        );
        let headers = page::headers(&theirs, &ours)?;
        for value in page::said(&headers).lines() {
            refuse_secret_key(value)?;
        }
        Ok(headers)
    }
}

/// What a route said; no content is an answer too: nobody.
fn said(reply: &Reply) -> Answer {
    match (reply.is_json(), reply.is_empty()) {
        (true, _) => Ok(reply.data()),
        (false, true) => Ok(JsValue::NULL),
        (false, false) => Err(reply.unreadable()),
    }
}
