//! The merchant's routes, or functions of the page in their place (decisions 15).

use super::browser::page_origin;
use super::error::{CallError, Pending, check_no_secret_key, check_no_secret_key_in};
use super::reply::{Reply, data_of};
use super::time::{CallOptions, Deadline, now};
use super::transport::{AbortOnDrop, AuthorizedRequest, FetchPolicy, Outgoing, Transport};
use super::value::{get, get_text, object, set, text};
use crate::flow::{Base, Ms, without_slashes};
use crate::protocol::{Kind, NoCredential, Spec, percent_encode};
use js_sys::{Array, Function, Object};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use web_sys::Headers;

#[wasm_bindgen]
extern "C" {
    /// The headers of a request. Not read by `Array.from`, which old libraries replace by a function that takes no
    /// iterator.
    type HeaderList;
    #[wasm_bindgen(method, structural, js_name = forEach)]
    fn for_each(this: &HeaderList, each: &mut dyn FnMut(JsValue, JsValue));
}

/// The three routes, by their names in errors and `onCall`. They are no operations of the interface, and have no path
/// here.
pub(crate) static SESSION: Spec = Spec::post("merchant_session", "").repeatable();
pub(crate) static INTENT: Spec = Spec::post("merchant_intent", "");
pub(crate) static STATUS: Spec = Spec::get("merchant_status", "");

/// The routes of the merchant's own server.
pub(crate) struct MerchantRoutes {
    pub(crate) transport: Rc<Transport>,
    /// The address of the routes, or an object of functions in their place.
    pub(crate) merchant: JsValue,
    /// The page's own headers for the routes.
    pub(crate) headers: Option<Box<dyn Fn() -> Result<Headers, CallError>>>,
    /// Whether cookies go to a server of another origin, too.
    pub(crate) includes_credentials: bool,
    pub(crate) locale: Option<String>,
}

/// One request to the merchant's server.
struct MerchantRequest {
    spec: &'static Spec,
    /// The name of the function in place of the route.
    function: &'static str,
    /// Its argument.
    argument: Option<JsValue>,
    path: String,
    body: Option<String>,
}

/// What the merchant's server answered.
pub(crate) struct Answer {
    pub(crate) data: JsValue,
    /// The `Date` of the reply, in milliseconds since 1970: NaN if it cannot be read, as of a function.
    pub(crate) date: Ms,
}

/// Refuses an address of the routes that the service may not have either: a cookie must not travel unencrypted.
pub(crate) fn check_merchant(address: &str) -> Result<(), CallError> {
    let origin = page_origin().unwrap_or_default();
    Base::new(address, Some(&origin)).map(drop).map_err(|invalid| CallError::field("merchant", invalid.reason()))
}

impl MerchantRoutes {
    /// Whether there is a route or a function: for `session`, `intent`, `status`.
    pub(crate) fn has(&self, function: &str) -> bool {
        self.merchant.is_string() || get(&self.merchant, function).is_some_and(|function| function.is_function())
    }

    /// Requests a token: the reply is a string, an object, or `null` if no customer is signed in.
    /// `pkg-template/early.js` sends the same request while the module is loading: `tests/pages/browser/sessions.rs`
    /// compares them.
    pub(crate) fn request_session(self: &Rc<Self>, options: CallOptions) -> Pending<Answer> {
        let (path, body) = (String::from("/session"), Some(String::from("{}")));
        self.call(MerchantRequest { spec: &SESSION, function: "session", argument: None, path, body }, options)
    }

    /// Requests the intent of an order.
    pub(crate) fn request_intent(
        self: &Rc<Self>,
        order: JsValue,
        json: String,
        options: CallOptions,
    ) -> Pending<Answer> {
        let (path, body) = (String::from("/intents"), Some(json));
        self.call(MerchantRequest { spec: &INTENT, function: "intent", argument: Some(order), path, body }, options)
    }

    /// Requests the state of a purchase.
    pub(crate) fn request_status(self: &Rc<Self>, reference: JsValue, options: CallOptions) -> Pending<Answer> {
        let mut path = String::from("/intents/");
        percent_encode(&mut path, &get_text(&reference, "payment_ref").unwrap_or_default());
        let argument = Some(reference);
        self.call(MerchantRequest { spec: &STATUS, function: "status", argument, path, body: None }, options)
    }

    /// Sends a read of methods or fees, which the merchant's server makes with its key.
    pub(crate) fn read(
        self: &Rc<Self>,
        request: &AuthorizedRequest<NoCredential>,
        options: CallOptions,
    ) -> Pending<Reply> {
        let reply = self.transport.send_shared(self.outgoing(request.spec(), request.target(), None), options);
        Box::pin(async { reply.await.map_err(|error| signed_out(error, false)) })
    }

    fn call(self: &Rc<Self>, request: MerchantRequest, options: CallOptions) -> Pending<Answer> {
        let routes = Rc::clone(self);
        Box::pin(async move {
            if !routes.merchant.is_string() {
                return routes.call_function(request, options).await;
            }
            let MerchantRequest { spec, path, body, .. } = request;
            // Not shared: a read of a purchase that began before a payment does not show it.
            match routes.transport.request(Rc::new(routes.outgoing(spec, &path, body)?), options).await {
                Err(error) => Err(signed_out(error, spec.name == SESSION.name)),
                Ok(reply) if reply.body.is_some() => Ok(Answer { data: reply.data(), date: reply.date() }),
                // No content means that no customer is signed in.
                Ok(reply) => match text(&reply.text).as_deref() {
                    None | Some("" | "null") => Ok(Answer { data: JsValue::NULL, date: f64::NAN }),
                    Some(_) => Err(reply.unreadable()),
                },
            }
        })
    }

    /// The request to a route.
    fn outgoing(&self, spec: &'static Spec, path: &str, body: Option<String>) -> Result<Outgoing, CallError> {
        let address = text(&self.merchant).unwrap_or_default();
        // A path is one of this origin, whatever `<base>` the page has.
        let origin = page_origin().filter(|_| address.starts_with('/')).unwrap_or_default();
        let url = [&*origin, without_slashes(&address), path].concat();
        let policy = FetchPolicy::Merchant { includes_credentials: self.includes_credentials };
        Ok(Outgoing { spec, url, headers: Some(self.headers()?), body, policy, credential: None })
    }

    async fn call_function(&self, request: MerchantRequest, options: CallOptions) -> Result<Answer, CallError> {
        let MerchantRequest { spec, function, argument, .. } = request;
        let function = get(&self.merchant, function).and_then(|function| function.dyn_into::<Function>().ok());
        let Some(function) = function else {
            let message = "Missing option `merchant`. Pass the address of your three routes, or functions.";
            return Err(CallError::of(Kind::Unsupported, message, spec.name, None));
        };
        let mut aborter = AbortOnDrop::new();
        let left = options.remaining();
        let deadline = Deadline::within(left, now());
        let how = object(&[("signal", aborter.signal().map(JsValue::from)), ("timeoutMs", Some(left.into()))]);
        let result = match argument {
            None => function.call1(&self.merchant, &how),
            Some(argument) => function.call2(&self.merchant, &argument, &how),
        };
        let result = deadline.result(&result.map_err(CallError::thrown)?).await;
        if result.is_some() {
            aborter.disarm();
        }
        let result = result.ok_or_else(|| CallError::timed_out(spec))?;
        Ok(Answer { data: data_of(result.map_err(CallError::thrown)?), date: f64::NAN })
    }

    /// The headers of a request to the routes: the page's own, overwritten by ours.
    fn headers(&self) -> Result<JsValue, CallError> {
        let headers = match &self.headers {
            Some(headers) => headers()?,
            None => Headers::new().map_err(|_| CallError::field("locale", "Invalid language."))?,
        };
        let set_ours =
            |name, value| headers.set(name, value).map_err(|_| CallError::field("locale", "Invalid language."));
        set_ours("accept", "application/json")?;
        if let Some(locale) = &self.locale {
            set_ours("accept-language", locale)?;
        }
        let given = Array::new();
        headers.unchecked_ref::<HeaderList>().for_each(&mut |value, name| {
            given.push(&name);
            given.push(&value);
        });
        let checked = Object::new().into();
        for at in 0..given.length() / 2 {
            let [name, value] = [0, 1].map(|offset| given.get(2 * at + offset).as_string().unwrap_or_default());
            check_no_secret_key_in(&name)?;
            check_no_secret_key_in(&value)?;
            // `sk_SK` is a language that begins like a secret key.
            if name != "accept-language" {
                check_no_secret_key(&value)?;
            }
            set(&checked, &name, &value.into());
        }
        Ok(checked)
    }
}

/// The error of a route that says that no customer is signed in, as such.
fn signed_out(error: CallError, is_session_route: bool) -> CallError {
    if Kind::is_signed_out(error.status(), is_session_route) { error.signed_out() } else { error }
}
