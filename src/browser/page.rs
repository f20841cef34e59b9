//! The doors that JavaScript opens (`pkg-template/doors.js`).

use super::task::wait_for;
use std::time::Duration;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::js_sys::{Function, Promise};

#[wasm_bindgen(raw_module = "../doors.js")]
extern "C" {
    pub(super) fn exchange(fetcher: &JsValue, url: &str, init: &JsValue, ms: f64) -> Promise;
    pub(super) fn ask(functions: &JsValue, name: &str, given: &JsValue, ms: f64) -> Promise;
    fn pause(ms: f64, wakes: bool) -> Promise;
    pub(super) fn shown_again() -> Promise;
    #[wasm_bindgen(catch)]
    pub(super) fn headers(theirs: &JsValue, ours: &JsValue) -> Result<JsValue, JsValue>;
    pub(super) fn said(headers: &JsValue) -> String;
    pub(super) fn tell(listener: &JsValue, value: &JsValue);
    #[wasm_bindgen(js_name = now)]
    fn now_ms() -> f64;
    /// The device's own clock, in milliseconds since 1970.
    pub(super) fn today() -> f64;
    pub(super) fn luck() -> u32;
    pub(super) fn origin() -> Option<String>;
    pub(super) fn href() -> Option<String>;
    #[wasm_bindgen(catch)]
    pub(super) fn go(address: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(catch)]
    pub(super) fn replace(address: &str) -> Result<(), JsValue>;
    pub(super) fn state() -> JsValue;
    #[wasm_bindgen(catch)]
    pub(super) fn rewrite(state: &JsValue, address: &str) -> Result<(), JsValue>;
    pub(super) fn keep(key: &str, text: &str);
    pub(super) fn kept(key: &str) -> Option<String>;
    pub(super) fn tabs(name: &str, hear: &JsValue) -> Function;
}

/// Now, on the page's monotonic clock.
pub(super) fn now() -> Duration {
    Duration::from_millis(now_ms() as u64)
}

/// Milliseconds, as JavaScript counts them.
pub(super) fn ms(time: Duration) -> f64 {
    time.as_millis() as u32 as f64
}

/// Waits this long; with `wakes`, or until the page is back online or back in sight.
pub(super) async fn sleep(time: Duration, wakes: bool) {
    let _ = wait_for(pause(ms(time), wakes)).await;
}
