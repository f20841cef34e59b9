//! Where a purchase stands: the merchant's server is asked first, and where there is none the service itself.

use super::client::Inner;
use super::merchant::Ask;
use super::session::WithSession;
use crate::browser::call::How;
use crate::browser::error::Stop;
use crate::browser::fetch::{Ready, data};
use crate::browser::read::{Sort, is, text};
use crate::browser::task::{Answer, Flow, Next};
use crate::operations::ReadPaymentIntent;
use crate::protocol::Kind;
use crate::values::IntentId;
use wasm_bindgen::prelude::*;

/// One look. It comes to an object with a `status`.
pub(super) struct Look {
    inner: &'static Inner,
    reference: JsValue,
    how: How,
    asked: Asked,
}

enum Asked {
    Nobody,
    Merchant,
    Service,
}

impl Look {
    pub(super) fn new(inner: &'static Inner, reference: &JsValue, how: How) -> Self {
        Self { inner, reference: reference.clone(), how, asked: Asked::Nobody }
    }

    fn ask_the_service(&mut self) -> Result<Next, Stop> {
        self.asked = Asked::Service;
        match text(&self.reference, "id").map(IntentId::new) {
            Some(Ok(id)) if self.inner.merchant.has("session") => {
                let ready = Ready::new(&ReadPaymentIntent::new(id))?;
                Ok(Next::Call(Box::new(WithSession::new(self.inner, ready, self.how))))
            }
            _ => Err(nobody_to_ask()),
        }
    }
}

impl Flow for Look {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        let found = match (&self.asked, came) {
            (Asked::Nobody, _) => {
                // One that a parser would take for a step in the path is nobody's.
                let reference = text(&self.reference, "payment_ref").unwrap_or_default();
                if !self.inner.merchant.has("status") || ["", ".", ".."].contains(&reference.as_str()) {
                    return self.ask_the_service();
                }
                self.asked = Asked::Merchant;
                return Ok(Next::Call(Box::new(Ask::status(self.inner, &self.reference, self.how))));
            }
            (Asked::Merchant, Err(stop)) if stop.is(Kind::Unsupported) => return self.ask_the_service(),
            (Asked::Service, Err(stop)) if stop.is(Kind::Unsupported) => return Err(nobody_to_ask()),
            (Asked::Merchant, found) => found?,
            (Asked::Service, answer) => data(&answer?),
        };
        if is(&found, "status", Sort::Text) {
            Ok(Next::Done(found))
        } else {
            Err(Stop::new(Kind::Unreadable, "The reply says no status."))
        }
    }
}

fn nobody_to_ask() -> Stop {
    Stop::new(
        Kind::Unsupported,
        "Nobody can say how this purchase stands: let your server answer GET {merchant}/intents/{payment_ref} with {status}, or pass merchant.status.",
    )
}
