//! Waiting for the browser: for a timer, or for the next event. Dropping what is waited for removes the timer or the
//! listener.

use super::error::CallError;
use crate::flow::Ms;
use futures_channel::oneshot;
use futures_util::future::{Either, LocalBoxFuture, select};
use gloo_events::EventListener;
use gloo_timers::future::TimeoutFuture;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::spawn_local;
use web_sys::EventTarget;

/// A call under way. Dropping it cancels the call.
pub(crate) type Pending<T> = LocalBoxFuture<'static, Result<T, CallError>>;

/// One thing that the browser reports: that a time is over, or an event.
pub(crate) enum Notification {
    Timer(TimeoutFuture),
    Event(oneshot::Receiver<JsValue>, #[expect(dead_code, reason = "it listens until it is dropped")] EventListener),
}

impl Notification {
    /// Ready after this time.
    pub(crate) fn after(time: Ms) -> Self {
        Self::Timer(TimeoutFuture::new(time as u32))
    }

    /// Ready with the next event of this name.
    pub(crate) fn event(target: &EventTarget, name: &'static str) -> Self {
        let (sender, receiver) = oneshot::channel();
        let listener = EventListener::once(target, name, move |event| drop(sender.send(event.into())));
        Self::Event(receiver, listener)
    }
}

impl Future for Notification {
    type Output = JsValue;

    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<JsValue> {
        match self.get_mut() {
            Self::Timer(timer) => Pin::new(timer).poll(context).map(|()| JsValue::UNDEFINED),
            Self::Event(receiver, _) => Pin::new(receiver).poll(context).map(Result::unwrap_or_default),
        }
    }
}

/// What `work` comes to, or `None` where the notification comes first: then `work` is dropped.
pub(crate) async fn unless<T>(notification: Notification, work: impl Future<Output = T>) -> Option<T> {
    match select(pin!(work), notification).await {
        Either::Left((result, _)) => Some(result),
        Either::Right(_) => None,
    }
}

/// Runs a call that nobody waits for.
pub(crate) fn spawn<T: 'static>(work: impl Future<Output = T> + 'static) {
    let work = async move { drop(work.await) };
    #[cfg(any(feature = "js-page", feature = "js-hosted"))]
    let work = crate::browser::js::Watched::new(work);
    spawn_local(work);
}
