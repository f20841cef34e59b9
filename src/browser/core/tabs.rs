//! Messages between the tabs of one service's clients.

use super::browser::{Channel, member, page};
use super::time::{Callback, wall_clock_ms};
use super::value::{display, get_text};
use std::cell::RefCell;
use std::rc::Rc;
use web_sys::Storage;

/// The channel to the other tabs. WebKit delivers none to a page that the back button keeps, so the last message is
/// stored with its time, and is read when the page is shown again.
pub(crate) struct Tabs {
    name: String,
    channel: Channel,
    last: Rc<RefCell<Option<String>>>,
    _listeners: [Callback; 2],
}

impl Tabs {
    /// Listens to the other tabs until it is dropped. `None` if there are no tabs.
    pub(crate) fn open(name: String, hear: impl Fn(&str) + Clone + 'static) -> Option<Self> {
        let (window, _) = page()?;
        let channel = Channel::open(&name)?;
        let last = Rc::new(RefCell::new(stored_message(&name)));
        let on_message = {
            let (last, hear) = (Rc::clone(&last), hear.clone());
            Callback::on(&channel.0, "message", move |event| {
                if let Some(message) = get_text(&event, "data") {
                    hear(&message);
                    last.replace(Some(message));
                }
            })
        };
        let on_show = {
            let (last, name) = (Rc::clone(&last), name.clone());
            Callback::on(&window, "pageshow", move |_| {
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
        let message = [message, " ", &display(&wall_clock_ms().into())].concat();
        if let Some(storage) = local_storage() {
            let _ = storage.set_item(&self.name, &message);
        }
        self.channel.post(&message);
        self.last.replace(Some(message));
    }
}

fn stored_message(name: &str) -> Option<String> {
    local_storage()?.get_item(name).ok()?
}

fn local_storage() -> Option<Storage> {
    member(&page()?.0, "localStorage")
}
