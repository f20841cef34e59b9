//! The page: its address, clocks, storage and channels. In a worker or in Node.js there is no page.
//!
//! An exception of the browser does not leave this module: its text may have the whole address, with the client secret.
//! It is ignored, or becomes an error [of ours](not_allowed).

use super::error::CallError;
use super::time::{Notification, now};
use super::value::{get, get_flag, get_text, parse, stringify};
use crate::flow::Ms;
use crate::protocol::Kind;
use js_sys::{Function, Math};
use wasm_bindgen::prelude::*;
use web_sys::{BroadcastChannel, Document, History, Location, Storage, Window};

pub(crate) fn random_u32() -> u32 {
    (Math::random() * f64::from(u32::MAX)) as u32
}

/// A global object; `None` if it does not exist.
fn global<T: JsCast>(name: &str) -> Option<T> {
    member(&js_sys::global(), name)
}

/// A member of the page's own objects; `None` also if the browser forbids it. Each getter of web-sys would be one more
/// import.
pub(crate) fn member<T: JsCast>(object: &JsValue, name: &str) -> Option<T> {
    get(object, name).map(JsCast::unchecked_into)
}

pub(crate) fn page() -> Option<(Window, Document)> {
    // Not `web_sys::window()`: its `instanceof` fails where a test puts jsdom's page into the global object.
    let window: Window = global("window")?;
    let document = member(&window, "document")?;
    Some((window, document))
}

thread_local! {
    static IS_PAGE: bool = page().is_some();
}

/// Whether there is a page, as it was when this was first asked: each request asks.
pub(crate) fn is_page() -> bool {
    IS_PAGE.with(|is_page| *is_page)
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

/// `history.state`; `null` if there is none.
pub(crate) fn history_state() -> JsValue {
    page().and_then(|(window, _)| get(&get(&window, "history")?, "state")).unwrap_or(JsValue::NULL)
}

/// Replaces the address in the address bar without a navigation.
///
/// # Errors
/// If the browser does not allow it.
pub(crate) fn replace_address(state: &JsValue, address: &str) -> Result<(), CallError> {
    let Some(history) = page().and_then(|(window, _)| member::<History>(&window, "history")) else { return Ok(()) };
    history.replace_state_with_url(state, "", Some(address)).map_err(not_allowed)
}

/// Goes to an address, or replaces the page by it in the history.
///
/// # Errors
/// If the browser does not allow it.
pub(crate) fn navigate(window: &Window, address: &str, replaces: bool) -> Result<(), CallError> {
    let location: Location = member(window, "location").unwrap_or_else(|| JsValue::UNDEFINED.unchecked_into());
    // Of a window of another origin, only these two members may be used.
    if replaces { location.replace(address) } else { location.set_href(address) }.map_err(not_allowed)
}

fn not_allowed(_: JsValue) -> CallError {
    CallError::new(Kind::Unsupported, "This page may not go there. In a frame, use the mode `popup` or `top`.")
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
        Some(popup) => member(popup, "sessionStorage"),
        None => member(&page()?.0, "sessionStorage"),
    }
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
        if !(is_event(&news.wait().await, "visibilitychange") && get_flag(&document, "hidden")) {
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

/// How a customer has left the hosted page.
pub(crate) enum End {
    /// They came back to this page by the back button, or closed the popup.
    TurnedBack,
    /// They returned to the shop in the popup.
    Returned,
    /// The popup looks closed, and may be open: its page and this one cannot see each other.
    CutOff,
}

/// Where an address is followed.
pub(crate) enum Place {
    /// In this page.
    Here,
    /// In the whole tab that this page is a frame of.
    Top,
    /// In a window.
    Popup(Window),
}

/// Follows an address. Ready when the back button shows the page again, when the popup's return page announces the
/// return by this key, or when this page is used again and the popup looks closed. That is no proof: a page can cut
/// itself off from its opener, and then looks closed to it. With `Cross-Origin-Opener-Policy: same-origin` it does so
/// as soon as it leaves the blank page.
///
/// `kept` is stored under the key for the return page. A popup that cannot be used is closed, and the address is
/// followed here.
///
/// # Errors
/// If the page is in a frame of another origin, or the browser does not let it navigate.
pub(crate) async fn leave(address: &str, place: &Place, key: &str, kept: &JsValue) -> Result<End, CallError> {
    const LOOK_EVERY: Ms = 300.0;
    let Some((window, document)) = page() else { return Ok(End::TurnedBack) };
    // Without channels no return is announced. The customer closes the popup.
    let mut channel = None;
    let mut popup = None;
    if let Place::Popup(window) = place {
        store(key, kept, Some(window));
        channel = Channel::open(key);
        if is_closed(window) {
            return Ok(End::TurnedBack);
        }
        match navigate(window, address, true) {
            Ok(()) => popup = Some(window),
            Err(_) => drop(window.close()),
        }
    }
    let Some(popup) = popup else {
        store(key, kept, None);
        let top: Window = member(&window, "top").unwrap_or_else(|| window.clone());
        let target = if matches!(place, Place::Top) { &top } else { &window };
        // Nothing of a window of another origin can be read.
        if !matches!(place, Place::Top) && get(&top, "document").is_none() {
            return Err(not_allowed(JsValue::UNDEFINED));
        }
        let shown = || Notification::event(&window, "pageshow");
        let mut news = shown();
        navigate(target, address, false)?;
        while !get_flag(&news.wait().await, "persisted") {
            news = shown();
        }
        return Ok(End::TurnedBack);
    };
    // The hosted page must not reach this one. Only now: a sandboxed frame may navigate a window only while it is its
    // opener.
    let _ = popup.set_opener(&JsValue::NULL);
    // Only if two looks see it: Chromium shows the blank page as one that cannot be read for a moment before it cuts
    // the popup off.
    let mut times_seen = 0;
    loop {
        let news = Notification::after(LOOK_EVERY).or(&window, "pointerdown");
        let event = channel.iter().fold(news, |news, channel: &Channel| news.or(&channel.0, "message")).wait().await;
        if let Some(channel) = channel.as_ref().filter(|_| is_event(&event, "message")) {
            channel.post(AWAITED);
            return Ok(End::Returned);
        }
        let is_click = is_event(&event, "pointerdown");
        if !is_click && is_away(popup) {
            times_seen += 1;
        }
        if is_closed(popup) && (is_click || document.has_focus().unwrap_or_default()) {
            return Ok(if times_seen > 1 { End::TurnedBack } else { End::CutOff });
        }
    }
}

/// Whether a popup is open and shows another page than the blank one that it began with.
#[inline(never)]
fn is_away(popup: &Window) -> bool {
    // The address of a page of another origin cannot be read.
    !is_closed(popup) && get(popup, "location").and_then(|it| get_text(&it, "href")).as_deref() != Some("about:blank")
}

/// Whether a popup is closed, or is no window.
pub(crate) fn is_closed(popup: &Window) -> bool {
    get(popup, "closed").is_none_or(|closed| closed.is_truthy())
}

/// The answer of a page that waits for a return. An announcement is empty.
const AWAITED: &str = "awaited";

/// Announces a return to the page that waits for it. If one answers, this window closes. The announcement of another
/// page, or of another client of this one, is no answer.
pub(crate) async fn announce_return(key: String) {
    const ANSWER_WITHIN: Ms = 5_000.0;
    let Some(channel) = Channel::open(&key) else { return };
    let until = now() + ANSWER_WITHIN;
    channel.post("");
    loop {
        let event = Notification::after(until - now()).or(&channel.0, "message").wait().await;
        if get_flag(&event, "data") {
            break;
        }
        if event.is_undefined() {
            return; // the time is over
        }
    }
    if let Some((window, _)) = page() {
        let _ = window.close();
    }
}
