//! The doors that JavaScript opens (`pkg-template/doors.js`).

use super::read::Promise;
use crate::flow::Ms;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "../doors.js")]
extern "C" {
    /// How a request to the service is sent: no cookie, no referrer, no redirect followed, and no header but these two.
    pub(super) fn to_service(method: &str, bearer: Option<&str>, body: Option<&str>, fresh: bool) -> JsValue;
    pub(super) fn exchange(fetcher: &JsValue, url: &str, init: &JsValue, ms: f64) -> Promise;
    /// What is to be ended with the task that is being stepped.
    pub(super) fn ending() -> JsValue;
    /// Waits this long; with `wakes`, or until the page is back online or back in sight.
    pub(super) fn pause(time: Ms, wakes: bool) -> Promise;
    pub(super) fn tell(listener: &JsValue, value: &JsValue);
    /// Tells `onCall` of one request that has ended.
    pub(super) fn told(listener: &JsValue, operation: &str, attempt: u32, ms: f64, answer: &JsValue, error: &JsValue);
    /// Now, on the page's monotonic clock.
    pub(super) fn now() -> Ms;
    pub(super) fn luck() -> u32;
    pub(super) fn origin() -> Option<String>;
    pub(super) fn href() -> Option<String>;
    /// Whether there is a page that can go to another address.
    pub(super) fn has_page() -> bool;
    pub(super) fn state() -> JsValue;
    #[wasm_bindgen(catch)]
    pub(super) fn rewrite(state: &JsValue, address: &str) -> Result<(), JsValue>;
}

#[cfg(feature = "hosted")]
#[wasm_bindgen(raw_module = "../doors.js")]
extern "C" {
    #[wasm_bindgen(catch)]
    pub(super) fn go(address: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(catch)]
    pub(super) fn replace(address: &str) -> Result<(), JsValue>;
    /// What a function of the page's makes of a value.
    #[wasm_bindgen(catch)]
    pub(super) fn made_by(function: &JsValue, value: &JsValue) -> Result<JsValue, JsValue>;
}

#[cfg(not(feature = "hosted"))]
#[wasm_bindgen(raw_module = "../doors.js")]
extern "C" {
    /// How a request to the merchant's own server is sent: with its cookies, and with the page's headers under ours.
    #[wasm_bindgen(catch)]
    pub(super) fn to_merchant(
        method: &str,
        body: Option<&str>,
        theirs: &JsValue,
        locale: &JsValue,
    ) -> Result<JsValue, JsValue>;
    /// The values of its headers but for the language, a line each.
    pub(super) fn header_values(init: &JsValue) -> String;
    pub(super) fn ask(functions: &JsValue, name: &str, given: &JsValue, ms: f64) -> Promise;
    /// Follows an address, in the window where there is one, and waits for the customer to be back: with `true` where the
    /// return page tells so by this key.
    pub(super) fn leave(address: &str, window: &JsValue, key: &str) -> Promise;
    /// What this page's clients were answered to `returned`, where its address is still as that left it.
    pub(super) fn answered() -> JsValue;
    pub(super) fn answer(answer: &JsValue);
    /// Tells the page that waits for this return, and comes to the answer; where that page heard it this window closes.
    pub(super) fn come_back(key: &str, answer: &JsValue) -> Promise;
    /// `None` for what JSON has no word for.
    pub(super) fn json(value: &JsValue) -> Option<String>;
    pub(super) fn milliseconds(date: &str) -> f64;
    /// Keeps a value in this tab, or in that of a window.
    pub(super) fn keep(key: &str, value: &JsValue, window: &JsValue);
    pub(super) fn kept(key: &str) -> JsValue;
    /// The device's own clock, in milliseconds since 1970.
    pub(super) fn today() -> f64;
}
