//! The merchant's three routes, or functions in their place (decisions 15).

use super::call::How;
use super::error::{Stop, refuse_secret_key};
use super::fetch::{Errand, Wire, route, unwrapped};
use super::page::{self, Guard, within};
use super::read::{get, maybe, object, text};
use crate::protocol::{Error, Kind, Method, Repeat, Spec, percent_encode};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_futures::js_sys::{Function, Promise};

const SESSION: Spec = route("merchant_session", Method::Post, Repeat::Always);
const INTENT: Spec = route("merchant_intent", Method::Post, Repeat::Never);
const STATUS: Spec = route("merchant_status", Method::Get, Repeat::Always);

/// Where the merchant's own server answers.
pub(super) struct Merchant {
    place: Place,
    headers: Option<Function>,
    locale: Option<String>,
}

enum Place {
    Nowhere,
    Routes(String),
    Functions(JsValue),
}

impl Merchant {
    pub(super) fn read(options: &JsValue) -> Result<Self, Stop> {
        let merchant = get(options, "merchant");
        let place = match merchant.as_string() {
            Some(root) => {
                refuse_secret_key(&root)?;
                Place::Routes(root.trim_end_matches('/').to_owned())
            }
            None if merchant.is_object() => Place::Functions(merchant),
            None => Place::Nowhere,
        };
        Ok(Self { place, headers: get(options, "merchantHeaders").dyn_into().ok(), locale: text(options, "locale") })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        match &self.place {
            Place::Nowhere => false,
            Place::Routes(_) => true,
            Place::Functions(functions) => get(functions, name).is_function(),
        }
    }

    /// What the session route answers: a token, an object, or `null` where nobody is signed in.
    pub(super) async fn session(&self, wire: &Wire, how: How) -> Result<JsValue, Stop> {
        if let Place::Functions(functions) = &self.place {
            return self.ask(functions, "session", None, &SESSION, how).await;
        }
        match self.fetch(wire, SESSION, "/session", Some("{}"), how).await {
            Err(stop) if matches!(stop.status(), Some(401 | 403 | 419)) => Ok(JsValue::NULL),
            answer => answer,
        }
    }

    /// What the intent route answers to an order.
    pub(super) async fn intent(&self, wire: &Wire, order: &JsValue, json: &str, how: How) -> Result<JsValue, Stop> {
        match &self.place {
            Place::Functions(functions) => self.ask(functions, "intent", Some(order), &INTENT, how).await,
            _ => self.fetch(wire, INTENT, "/intents", Some(json), how).await.map_err(signed_out),
        }
    }

    /// What the status route answers.
    pub(super) async fn status(&self, wire: &Wire, reference: &JsValue, how: How) -> Result<JsValue, Stop> {
        if let Place::Functions(functions) = &self.place {
            return self.ask(functions, "status", Some(reference), &STATUS, how).await;
        }
        let mut path = String::from("/intents/");
        percent_encode(&mut path, &text(reference, "payment_ref").unwrap_or_default());
        self.fetch(wire, STATUS, &path, None, how).await.map_err(signed_out)
    }

    async fn fetch(&self, wire: &Wire, spec: Spec, path: &str, body: Option<&str>, how: How) -> Result<JsValue, Stop> {
        let Place::Routes(root) = &self.place else { return Err(missing(spec.name)) };
        let theirs = match &self.headers {
            Some(headers) => headers.call0(&JsValue::UNDEFINED).map_err(Stop::Thrown)?,
            None => JsValue::UNDEFINED,
        };
        let content = body.map(|_| "application/json");
        let ours = object(&[("accept", "application/json".into()), ("content-type", maybe(content)), ("accept-language", maybe(self.locale.as_deref()))]);
        let headers = page::headers(&theirs, &ours).map_err(Stop::Thrown)?;
        for value in page::said(&headers).lines() {
            refuse_secret_key(value)?;
        }
        let init = object(&[
            ("method", spec.method.as_str().into()),
            ("headers", headers),
            ("body", maybe(body)),
            ("credentials", "same-origin".into()),
            ("cache", "no-store".into()),
        ]);
        let mut url = root.clone();
        url.push_str(path);
        let reply = wire.run(Errand { spec, url, init, secret: None }, how).await?;
        // No content is an answer too: nobody.
        if reply.status == 204 {
            return Ok(JsValue::NULL);
        }
        if reply.body.is_undefined() { Err(reply.unreadable()) } else { Ok(unwrapped(&reply.body)) }
    }

    /// Calls a merchant's function; what it throws is thrown on.
    async fn ask(&self, functions: &JsValue, name: &str, first: Option<&JsValue>, spec: &Spec, how: How) -> Result<JsValue, Stop> {
        let function: Function = get(functions, name).dyn_into().map_err(|_| missing(spec.name))?;
        let guard = Guard::new();
        let theirs = object(&[("signal", guard.signal().into()), ("timeoutMs", (how.left().as_secs_f64() * 1000.0).into())]);
        let answer = match first {
            Some(first) => function.call2(functions, first, &theirs),
            None => function.call1(functions, &theirs),
        };
        let answer = JsFuture::from(Promise::resolve(&answer.map_err(Stop::Thrown)?));
        match within(how.left(), Box::pin(answer)).await {
            Some(answer) => answer.map(|answer| unwrapped(&answer)).map_err(Stop::Thrown),
            None => Err(Error::new(Kind::Timeout, "The time was over before an answer came.").of(spec.name).into()),
        }
    }
}

fn missing(name: &'static str) -> Stop {
    Error::new(Kind::Unsupported, "Nobody was named to ask: pass the option merchant, the address of your server's routes or functions in their place.").of(name).into()
}

/// The merchant's routes know their customer by a cookie.
fn signed_out(stop: Stop) -> Stop {
    if matches!(stop.status(), Some(401 | 419)) { Stop::new(Kind::SignedOut, "Nobody is signed in.") } else { stop }
}
