//! The merchant's three routes, or functions of the page in their place (decisions 15).

use super::call_options::CallOptions;
use super::error::{CallError, check_no_secret_key, check_no_secret_key_in};
use super::events::{Notification, Pending, await_promise, unless};
use super::shop::Shop;
use super::transport::{AbortOnDrop, FetchPolicy, Outgoing, data_of};
use super::value::{get, get_text, is_nullish, object, text};
use crate::protocol::{Kind, Spec, percent_encode};
use js_sys::{Array, Function};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use web_sys::Headers;

/// The three routes, by their names in errors and `onCall`. They are no operations of the interface, and have no path
/// here.
pub(crate) static SESSION: Spec = Spec::post("merchant_session", "").repeatable();
pub(crate) static INTENT: Spec = Spec::post("merchant_intent", "");
pub(crate) static STATUS: Spec = Spec::get("merchant_status", "");

/// The routes of the merchant's own server.
pub(crate) struct MerchantRoutes {
    /// The address of the routes, or an object of functions in their place.
    pub(crate) place: JsValue,
    /// `() => HeadersInit`, used only for the routes.
    pub(crate) headers: Option<Function>,
    pub(crate) locale: Option<String>,
}

/// One request to the merchant's server.
struct MerchantRequest {
    spec: &'static Spec,
    /// The name of the function in place of the route.
    function: &'static str,
    /// Its argument.
    argument: JsValue,
    path: String,
    body: Option<String>,
}

impl MerchantRoutes {
    /// Whether there is a route or a function: for `session`, `intent`, `status`.
    pub(crate) fn has(&self, function: &str) -> bool {
        self.place.is_string() || get(&self.place, function).is_function()
    }

    /// The headers of a request to the routes: the page's own, overwritten by ours.
    fn headers(&self, has_body: bool) -> Result<Vec<(String, String)>, CallError> {
        let mut given = JsValue::UNDEFINED;
        if let Some(headers) = &self.headers {
            given = headers.call0(&JsValue::UNDEFINED)?;
            // `new Headers(promise)` is empty and throws nothing.
            if get(&given, "then").is_function() {
                let message = "`merchantHeaders` returned a promise. Return the headers themselves.";
                return Err(CallError::input(message, Vec::new()));
            }
        }
        let headers = Headers::new_with_str_sequence_sequence(&given)?;
        headers.set("accept", "application/json")?;
        if has_body {
            headers.set("content-type", "application/json")?;
        }
        if let Some(locale) = &self.locale {
            headers.set("accept-language", locale)?;
        }
        let mut checked = Vec::new();
        for header in Array::from(&headers).iter() {
            let [name, value] = ["0", "1"].map(|place| get_text(&header, place).unwrap_or_default());
            check_no_secret_key_in(&name)?;
            check_no_secret_key_in(&value)?;
            // `sk_SK` is a language that begins like a secret key.
            if name != "accept-language" {
                check_no_secret_key(&value)?;
            }
            checked.push((name, value));
        }
        Ok(checked)
    }
}

impl Shop {
    /// Requests a token: the reply is a string, an object, or `null` if no customer is signed in.
    pub(super) fn request_session(self: &Rc<Self>, options: CallOptions) -> Pending<JsValue> {
        let (path, body) = (String::from("/session"), Some(String::from("{}")));
        self.call_merchant(
            MerchantRequest { spec: &SESSION, function: "session", argument: JsValue::UNDEFINED, path, body },
            options,
        )
    }

    /// Requests the intent of an order.
    pub(super) fn request_intent(
        self: &Rc<Self>,
        order: JsValue,
        json: String,
        options: CallOptions,
    ) -> Pending<JsValue> {
        let (path, body) = (String::from("/intents"), Some(json));
        self.call_merchant(MerchantRequest { spec: &INTENT, function: "intent", argument: order, path, body }, options)
    }

    /// Requests the state of a purchase.
    pub(super) fn request_status(self: &Rc<Self>, reference: JsValue, options: CallOptions) -> Pending<JsValue> {
        let mut path = String::from("/intents/");
        percent_encode(&mut path, &get_text(&reference, "payment_ref").unwrap_or_default());
        self.call_merchant(
            MerchantRequest { spec: &STATUS, function: "status", argument: reference, path, body: None },
            options,
        )
    }

    fn call_merchant(self: &Rc<Self>, request: MerchantRequest, options: CallOptions) -> Pending<JsValue> {
        let shop = Rc::clone(self);
        Box::pin(async move {
            match text(&shop.merchant.place) {
                Some(address) => shop.call_route(&address, request, options).await,
                None => shop.call_function(request, options).await,
            }
        })
    }

    async fn call_route(
        &self,
        address: &str,
        request: MerchantRequest,
        options: CallOptions,
    ) -> Result<JsValue, CallError> {
        let MerchantRequest { spec, path, body, .. } = request;
        let url = [address.trim_end_matches('/'), &path].concat();
        let (headers, policy) = (self.merchant.headers(body.is_some())?, &FetchPolicy::MERCHANT);
        let outgoing = Outgoing { spec, url, headers, body, policy, credential: None };
        match self.transport.request(Rc::new(outgoing), options).await {
            // The routes identify the customer by a cookie, so these statuses mean that no customer is signed in.
            Err(error) if matches!(error.status(), 401 | 419) => Err(error.signed_out()),
            Err(error) => Err(error),
            Ok(reply) if !is_nullish(&reply.body) => Ok(reply.data()),
            // No content means that no customer is signed in.
            Ok(reply) => match text(&reply.text).as_deref() {
                None | Some("" | "null") => Ok(JsValue::NULL),
                Some(_) => Err(reply.unreadable()),
            },
        }
    }

    async fn call_function(&self, request: MerchantRequest, options: CallOptions) -> Result<JsValue, CallError> {
        let MerchantRequest { spec, function, argument, .. } = request;
        let place = &self.merchant.place;
        let Ok(function) = get(place, function).dyn_into::<Function>() else {
            let message = "Missing option `merchant`. Pass the address of your three routes, or functions.";
            return Err(CallError::of(Kind::Unsupported, message, spec.name, &JsValue::UNDEFINED));
        };
        let mut aborter = AbortOnDrop::new().ok_or_else(|| CallError::offline(spec))?;
        let left = options.remaining();
        let how = object([("signal", aborter.signal()), ("timeoutMs", left.into())]);
        let result = if argument.is_undefined() {
            function.call1(place, &how)?
        } else {
            function.call2(place, &argument, &how)?
        };
        let result = unless(Notification::after(left), await_promise(&result)).await;
        if result.is_some() {
            aborter.disarm();
        }
        Ok(data_of(result.ok_or_else(|| CallError::timed_out(spec, options))??))
    }
}
