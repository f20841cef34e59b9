//! The page: its address, clocks, storage and channels. In a worker or in Node.js there is no page.

use super::error::CallError;
use super::events::Notification;
use super::value::{get, get_text};
use crate::flow::Ms;
use crate::protocol::Kind;
use js_sys::{Date, Function, JSON, Math, RegExp};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use web_sys::{BroadcastChannel, Document, EventTarget, Storage, Window};

#[wasm_bindgen]
extern "C" {
    /// The monotonic clock.
    #[wasm_bindgen(js_namespace = performance)]
    pub(crate) fn now() -> Ms;
}

/// The device's clock, in milliseconds since 1970.
pub(crate) fn wall_clock_ms() -> Ms {
    Date::now()
}

pub(crate) fn random_u32() -> u32 {
    (Math::random() * f64::from(u32::MAX)) as u32
}

/// A global object; `None` if it does not exist.
fn global<T: JsCast>(name: &str) -> Option<T> {
    Some(get(&js_sys::global(), name)).filter(JsValue::is_truthy).map(JsCast::unchecked_into)
}

fn page() -> Option<(Window, Document)> {
    // Not `web_sys::window()`: its `instanceof` fails where a test puts jsdom's page into the global object.
    let window: Window = global("window")?;
    let document = window.document()?;
    Some((window, document))
}

/// Returns an error if there is no browser's page: Node.js has none, and jsdom's cannot navigate.
pub(crate) fn check_page(call: &str) -> Result<(), CallError> {
    let is_real = page().is_some_and(|(window, _)| {
        let agent = get_text(&get(&window, "navigator"), "userAgent").unwrap_or_default();
        !RegExp::new("jsdom|happydom", "i").test(&agent)
    });
    if is_real {
        return Ok(());
    }
    let message = [
        call,
        " needs a page in a browser: Node.js has none, and that of jsdom cannot go to another address. A test can open one by guichet/testing.",
    ]
    .concat();
    Err(CallError::new(Kind::Unsupported, &message))
}

/// Calls a function of the page. An exception is reported to the console and does not stop the caller.
pub(crate) fn notify(listener: &Function, value: &JsValue) {
    if let Err(error) = listener.call1(&JsValue::UNDEFINED, value)
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

/// Navigates to another address.
pub(crate) fn go_to(address: &str) -> Result<(), JsValue> {
    page().map_or(Ok(()), |(window, _)| window.location().assign(address))
}

/// Navigates to another address that replaces this page in the history.
pub(crate) fn replace_page(address: &str) -> Result<(), JsValue> {
    page().map_or(Ok(()), |(window, _)| window.location().replace(address))
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
    let json: String = JSON::stringify(value).ok()?.into();
    session_storage(popup)?.set_item(key, &json).ok()
}

/// The value that this tab has stored.
pub(crate) fn stored(key: &str) -> Option<JsValue> {
    let json = session_storage(None)?.get_item(key).ok()??;
    JSON::parse(&json).ok().filter(JsValue::is_object)
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
        Notification::after(time).await;
        return;
    };
    let until = now() + time;
    loop {
        let news = Notification::after(until - now())
            .or(&window, "online")
            .or(&window, "pageshow")
            .or(&document, "visibilitychange");
        if !(is_event(&news.await, "visibilitychange") && document.hidden()) {
            return;
        }
    }
}

fn is_event(event: &JsValue, name: &str) -> bool {
    get_text(event, "type").as_deref() == Some(name)
}

/// A channel between pages of one origin. Dropping it closes it.
struct Channel(BroadcastChannel);

impl Channel {
    fn open(name: &str) -> Option<Self> {
        BroadcastChannel::new(name).ok().map(Self)
    }

    fn post(&self, message: &str) {
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
    while !get(&shown.await, "persisted").is_truthy() {
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
        let event = news.await;
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

/// Announces a return to the page that waits for it. If there is one, the checkout continues there and this window
/// closes.
pub(crate) async fn announce_return(key: &str) {
    const ANSWER_WITHIN: Ms = 1000.0;
    let Some(channel) = Channel::open(key) else { return };
    let answer = Notification::after(ANSWER_WITHIN).or(&channel.0, "message");
    channel.post("");
    let is_answered = is_event(&answer.await, "message");
    if let (true, Some((window, _))) = (is_answered, page()) {
        let _ = window.close();
    }
}

/// Messages between the tabs of one service's clients. WebKit delivers none to a page that the back button keeps, so
/// the last message is stored with its time, and is read when the page is shown again.
pub(crate) struct Tabs {
    name: String,
    channel: Channel,
    last: Rc<RefCell<Option<String>>>,
    _listeners: [Listener; 2],
}

impl Tabs {
    /// Listens to the other tabs until it is dropped. `None` if there are no tabs.
    pub(crate) fn open(name: String, hear: impl Fn(&str) + Clone + 'static) -> Option<Self> {
        let (window, _) = page()?;
        let channel = Channel::open(&name)?;
        let last = Rc::new(RefCell::new(stored_message(&name)));
        let on_message = {
            let (last, hear) = (Rc::clone(&last), hear.clone());
            Listener::new(&channel.0, "message", move |event| {
                if let Some(message) = get(&event, "data").as_string() {
                    hear(&message);
                    last.replace(Some(message));
                }
            })
        };
        let on_show = {
            let (last, name) = (Rc::clone(&last), name.clone());
            Listener::new(&window, "pageshow", move |_| {
                let message = stored_message(&name);
                let is_news = last.replace(message.clone()) != message;
                if let Some(message) = message.filter(|_| is_news) {
                    hear(&message);
                }
            })
        };
        Some(Self { name, channel, last, _listeners: [on_message, on_show] })
    }

    pub(crate) fn post(&self, message: &str) {
        let message = [message, " ", &(wall_clock_ms() as u64).to_string()].concat();
        if let Some(storage) = local_storage() {
            let _ = storage.set_item(&self.name, &message);
        }
        self.channel.post(&message);
        self.last.replace(Some(message));
    }
}

/// Calls a function with every event of one name, until it is dropped.
struct Listener {
    target: EventTarget,
    name: &'static str,
    callback: Closure<dyn FnMut(JsValue)>,
}

impl Listener {
    fn new(target: &EventTarget, name: &'static str, callback: impl FnMut(JsValue) + 'static) -> Self {
        let callback = Closure::new(callback);
        let _ = target.add_event_listener_with_callback(name, callback.as_ref().unchecked_ref());
        Self { target: target.clone(), name, callback }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.target.remove_event_listener_with_callback(self.name, self.callback.as_ref().unchecked_ref());
    }
}

fn stored_message(name: &str) -> Option<String> {
    local_storage()?.get_item(name).ok()?
}

fn local_storage() -> Option<Storage> {
    page()?.0.local_storage().ok()?
}
