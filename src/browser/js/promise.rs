//! A call as a promise that a signal may cancel, and closing a client.

use super::options::signal;
use crate::browser::core::error::{CallError, Pending};
use crate::browser::core::time::{Notification, cancel, unless};
use crate::browser::core::value::{get, get_flag};
use futures_util::future::{AbortHandle, AbortRegistration, Abortable};
use js_sys::Promise;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;
use web_sys::AbortSignal;

/// Starts a call with its options, if it has any.
type Start<'a> = dyn Fn(Option<&JsValue>) -> Result<Pending<JsValue>, CallError> + 'a;

/// The calls of one client that are under way.
#[derive(Clone, Default)]
pub(super) struct Calls(Rc<RefCell<UnderWay>>);

#[derive(Default)]
struct UnderWay {
    handles: Vec<AbortHandle>,
    /// Why they ended, once the client is closed.
    reason: JsValue,
}

impl Calls {
    /// Starts a call, unless its arguments are wrong. If the caller's signal aborts, or the client is closed, the call
    /// is dropped and the promise rejects with the reason.
    pub(super) fn promise(&self, how: &JsValue, call: &Start<'_>) -> Promise {
        self.start(Some(how).filter(|how| how.is_object()), call).unwrap_or_else(|error| Promise::reject(&error))
    }

    fn start(&self, how: Option<&JsValue>, call: &Start<'_>) -> Result<Promise, JsValue> {
        let signal = signal(how)?;
        if let Some(signal) = signal.as_ref().filter(|signal| is_aborted(signal)) {
            return Err(reason(signal));
        }
        let call = call(how)?;
        let (handle, closed) = AbortHandle::new_pair();
        let mut under_way = self.0.borrow_mut();
        under_way.handles.retain(|handle| !handle.is_aborted());
        under_way.handles.push(handle.clone());
        let calls = self.clone();
        Ok(future_to_promise(async move {
            let result = calls.run(signal, closed, call).await;
            handle.abort(); // it has ended
            result
        }))
    }

    async fn run(
        &self,
        signal: Option<AbortSignal>,
        closed: AbortRegistration,
        mut call: Pending<JsValue>,
    ) -> Result<JsValue, JsValue> {
        let work = async {
            match &signal {
                None => Some((&mut call).await),
                Some(signal) if is_aborted(signal) => None,
                Some(signal) => unless(Notification::event(signal, "abort"), &mut call).await,
            }
        };
        let reason = match (Abortable::new(work, closed).await, &signal) {
            (Ok(Some(result)), _) => return result.map_err(JsValue::from),
            (Ok(None), Some(signal)) => reason(signal),
            _ => self.0.borrow().reason.clone(),
        };
        cancel(call, &reason);
        Err(reason)
    }

    /// Ends every call with this reason.
    #[cfg(feature = "js-page")]
    pub(super) fn close(&self, reason: JsValue) {
        let mut under_way = self.0.borrow_mut();
        under_way.reason = reason;
        under_way.handles.drain(..).for_each(|handle| handle.abort());
    }
}

// By name, because a signal of the page's own may throw.
fn is_aborted(signal: &AbortSignal) -> bool {
    get_flag(signal, "aborted")
}

fn reason(signal: &AbortSignal) -> JsValue {
    get(signal, "reason").unwrap_or_default()
}
