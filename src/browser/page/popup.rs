//! The second window, in which a customer pays.

use crate::browser::core::browser::is_closed;
use crate::browser::core::value::{get, get_text};
use crate::values::Language;
use js_sys::Reflect;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use wasm_bindgen::JsValue;
use web_sys::Window;

/// The open popups, which all clones of a client share: one order has one popup.
#[derive(Clone)]
pub(super) struct Popups {
    open: Rc<RefCell<Vec<Weak<Popup>>>>,
    locale: Option<String>,
}

/// An open window. It closes when every caller that waits for its checkout is gone.
pub(in crate::browser) struct Popup {
    window: Window,
    /// Its order, as JSON.
    order: String,
    /// A checkout has begun in it.
    is_taken: Cell<bool>,
}

impl Popups {
    pub(super) fn new(locale: Option<String>) -> Self {
        Self { open: Rc::default(), locale }
    }

    /// The open popup of this order, brought to the front, or a new one. `None` if the browser blocks it.
    pub(super) fn open(&self, order: &str) -> Option<Rc<Popup>> {
        let mut popups = self.open.borrow_mut();
        popups.retain(|popup| popup.strong_count() > 0);
        let known = popups.iter().filter_map(Weak::upgrade).find(|popup| popup.order == order && popup.is_open());
        if let Some(popup) = known {
            let _ = popup.window.focus();
            return Some(popup);
        }
        let popup = Rc::new(Popup {
            window: open_window(self.locale.clone())?,
            order: order.to_owned(),
            is_taken: Cell::new(false),
        });
        popups.push(Rc::downgrade(&popup));
        Some(popup)
    }
}

impl Popup {
    /// Returns the window to the first checkout that requests it. A later one joins that checkout.
    pub(super) fn take(&self) -> Option<Window> {
        (!self.is_taken.replace(true)).then(|| self.window.clone())
    }

    fn is_open(&self) -> bool {
        !is_closed(&self.window)
    }
}

impl Drop for Popup {
    fn drop(&mut self) {
        let _ = self.window.close();
    }
}

/// Opens a window, which a browser allows only in a click. `None` if there is none, or what was opened is no window
/// that can be used, which is closed: another function may stand in the place of `window.open`, and a frame's rules may
/// forbid to read what it opens.
fn open_window(locale: Option<String>) -> Option<Window> {
    let page = web_sys::window()?;
    let popup = page.open_with_url_and_target_and_features("", "", "popup,width=480,height=760").ok()??;
    let of_the_page =
        || get_text(&get(page.document()?.as_ref(), "documentElement")?, "lang").filter(|lang| !lang.is_empty());
    let language = locale.or_else(of_the_page).or_else(|| get_text(&page.navigator(), "language"));
    let language = Language::of_tag(&language.unwrap_or_default());
    let text = JsValue::from_str(language.pick("One moment…", "Un instant…"));
    let body = get(&popup, "document").and_then(|document| get(&document, "body"));
    let is_shown = body.is_some_and(|body| Reflect::set(&body, &"textContent".into(), &text).is_ok());
    if is_shown && !is_closed(&popup) {
        return Some(popup);
    }
    let _ = popup.close();
    None
}
