//! The page: its address, clocks, storage and channels. In a worker or in Node.js there is no page.

use super::time::{Notification, now};
use super::value::{get, get_flag, get_text, parse, stringify};
use crate::flow::Ms;
use js_sys::{Function, Math};
use wasm_bindgen::prelude::*;
use web_sys::{BroadcastChannel, Document, Storage, Window};

pub(crate) fn random_u32() -> u32 {
    (Math::random() * f64::from(u32::MAX)) as u32
}

/// A global object; `None` if it does not exist.
fn global<T: JsCast>(name: &str) -> Option<T> {
    get(&js_sys::global(), name).map(JsCast::unchecked_into)
}

pub(crate) fn page() -> Option<(Window, Document)> {
    // Not `web_sys::window()`: its `instanceof` fails where a test puts jsdom's page into the global object.
    let window: Window = global("window")?;
    let document = window.document()?;
    Some((window, document))
}

/// Calls a function of the page. An exception is reported to the console and does not stop the caller.
pub(crate) fn notify(listener: &Function, value: &JsValue, second: &JsValue) {
    if let Err(error) = listener.call2(&JsValue::UNDEFINED, value, second)
        && let Some(report) = global::<Function>("reportError")
    {
        let _ = report.call1(&JsValue::UNDEFINED, &error);
    }
}

/// The address of the page, or of the worker, which has a location too.
pub(crate) fn current_address() -> Option<String> {
    get_text(&global::<JsValue>("location")?, "href")
}

/// The origin of the page.
pub(crate) fn page_origin() -> Option<String> {
    get_text(&global::<JsValue>("location")?, "origin")
}

/// `history.state`.
pub(crate) fn history_state() -> JsValue {
    let history = page().and_then(|(window, _)| window.history().ok());
    history.and_then(|history| history.state().ok()).unwrap_or_default()
}

/// Replaces the address in the address bar without a navigation.
pub(crate) fn replace_address(state: &JsValue, address: &str) -> Result<(), JsValue> {
    let Some((window, _)) = page() else { return Ok(()) };
    window.history()?.replace_state_with_url(state, "", Some(address))
}

/// Stores a value in this tab, or in the tab of a popup. If the browser forbids its storage, nothing is stored.
pub(crate) fn store(key: &str, value: &JsValue, popup: Option<&Window>) -> Option<()> {
    session_storage(popup)?.set_item(key, &stringify(value)?).ok()
}

/// The value that this tab has stored.
pub(crate) fn stored(key: &str) -> Option<JsValue> {
    let json = session_storage(None)?.get_item(key).ok()??;
    parse(&json.into()).filter(JsValue::is_object)
}

fn session_storage(popup: Option<&Window>) -> Option<Storage> {
    match popup {
        Some(popup) => popup.session_storage(),
        None => page()?.0.session_storage(),
    }
    .ok()?
}

/// Waits this long, or until there may be news: the page is online or visible again.
pub(crate) async fn pause(time: Ms) {
    let Some((window, document)) = page() else {
        Notification::after(time).wait().await;
        return;
    };
    let until = now() + time;
    loop {
        let news = Notification::after(until - now())
            .or(&window, "online")
            .or(&window, "pageshow")
            .or(&document, "visibilitychange");
        if !(is_event(&news.wait().await, "visibilitychange") && document.hidden()) {
            return;
        }
    }
}

fn is_event(event: &JsValue, name: &str) -> bool {
    get_text(event, "type").as_deref() == Some(name)
}

/// A channel between pages of one origin. Dropping it closes it.
pub(crate) struct Channel(pub(crate) BroadcastChannel);

impl Channel {
    pub(crate) fn open(name: &str) -> Option<Self> {
        BroadcastChannel::new(name).ok().map(Self)
    }

    pub(crate) fn post(&self, message: &str) {
        let _ = self.0.post_message(&message.into());
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Follows an address on this page. Ready when the back button shows the page again.
///
/// # Errors
/// The browser's exception if it does not let the page navigate.
pub(crate) async fn leave(address: &str) -> Result<(), JsValue> {
    let Some((window, _)) = page() else { return Ok(()) };
    let mut shown = Notification::event(&window, "pageshow");
    window.location().assign(address)?;
    while !get_flag(&shown.wait().await, "persisted") {
        shown = Notification::event(&window, "pageshow");
    }
    Ok(())
}

/// Follows an address in a popup. Ready when the customer has returned: `true` if the return page announces it by this
/// key, `false` if this page is used again and the popup looks closed. That is no proof: a page can cut itself off from
/// its opener, and then looks closed to it.
///
/// # Errors
/// The browser's exception if it does not let the open popup navigate.
pub(crate) async fn leave_in_popup(address: &str, popup: &Window, key: &str) -> Result<bool, JsValue> {
    const LOOK_EVERY: Ms = 300.0;
    let Some((window, document)) = page() else { return Ok(false) };
    // Without channels no return is announced. The customer closes the popup.
    let channel = Channel::open(key);
    let next = || {
        let news = Notification::after(LOOK_EVERY).or(&window, "pointerdown");
        channel.iter().fold(news, |news, channel| news.or(&channel.0, "message"))
    };
    let mut news = next();
    if let Err(thrown) = popup.location().replace(address)
        && !popup.closed().unwrap_or(true)
    {
        return Err(thrown);
    }
    loop {
        let event = news.wait().await;
        if let Some(channel) = channel.as_ref().filter(|_| is_event(&event, "message")) {
            channel.post("");
            return Ok(true);
        }
        let is_used = is_event(&event, "pointerdown") || document.has_focus().unwrap_or_default();
        if is_used && popup.closed().unwrap_or(true) {
            return Ok(false);
        }
        news = next();
    }
}

/// Announces a return to the page that waits for it. If one answers, this window closes.
pub(crate) async fn announce_return(key: String) {
    const ANSWER_WITHIN: Ms = 5_000.0;
    let Some(channel) = Channel::open(&key) else { return };
    let answer = Notification::after(ANSWER_WITHIN).or(&channel.0, "message");
    channel.post("");
    let is_answered = is_event(&answer.wait().await, "message");
    if let (true, Some((window, _))) = (is_answered, page()) {
        let _ = window.close();
    }
}
