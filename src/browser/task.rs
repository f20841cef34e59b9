//! A call as a task: JavaScript steps it, waits for what it waits for, and tells it what came. A task is a stack of
//! flows; a flow that calls another is told what that came to. Nothing here is `async`: such a state machine written by
//! hand weighs half of what the compiler makes of a future.

use super::error::Stop;
use super::read::{Promise, list_of};
use wasm_bindgen::prelude::*;

/// What a call comes to.
pub(super) type Answer = Result<JsValue, Stop>;

/// A few steps of a call.
pub(super) trait Flow {
    /// Goes on with what came of the last [`Next`]; the first step is told nothing.
    fn step(&mut self, came: Answer) -> Result<Next, Stop>;
}

/// A flow of any kind.
pub(super) type Work = Box<dyn Flow>;

/// What a flow does next. An error ends it, too.
pub(super) enum Next {
    /// Waits for a promise.
    Wait(Promise),
    /// Calls another flow.
    Call(Work),
    /// It is done.
    Done(JsValue),
}

#[wasm_bindgen(raw_module = "../doors.js")]
extern "C" {
    #[wasm_bindgen(js_name = start)]
    fn start_task(flights: &JsValue, name: &str, task: Task, signal: &JsValue) -> Promise;
    pub(super) fn under_way(flights: &JsValue, name: &str, signal: &JsValue) -> Option<Promise>;
    fn run_all(tasks: JsValue) -> Promise;
    /// The calls under way that others may join, by name.
    pub(super) fn flights() -> JsValue;
    #[cfg(not(feature = "hosted"))]
    pub(super) fn forget(flights: &JsValue, name: &str);
}

/// One call under way.
#[wasm_bindgen]
pub struct Task {
    stack: Vec<Work>,
    value: JsValue,
}

#[wasm_bindgen]
impl Task {
    /// Goes on with what came of the promise that it gave last; gives the next one, or none when it is done.
    pub fn step(&mut self, answer: JsValue, failed: bool) -> Result<Option<Promise>, JsValue> {
        let mut came = if failed { Err(Stop::from(answer)) } else { Ok(answer) };
        while let Some(top) = self.stack.last_mut() {
            came = match top.step(came) {
                Ok(Next::Wait(promise)) => return Ok(Some(promise)),
                Ok(Next::Call(work)) => {
                    self.stack.push(work);
                    Ok(JsValue::UNDEFINED)
                }
                Ok(Next::Done(value)) => {
                    self.stack.pop();
                    Ok(value)
                }
                Err(stop) => {
                    self.stack.pop();
                    Err(stop)
                }
            };
        }
        self.value = came?;
        Ok(None)
    }

    /// What it came to.
    pub fn value(&self) -> JsValue {
        self.value.clone()
    }
}

impl Task {
    #[inline(never)]
    pub(super) fn new(work: Work) -> Self {
        let mut stack = Vec::with_capacity(4);
        stack.push(work);
        Self { stack, value: JsValue::UNDEFINED }
    }
}

/// Waits for a promise, and comes to what that comes to.
pub(super) struct Waiting(pub(super) Option<Promise>);

impl Flow for Waiting {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        match self.0.take() {
            Some(promise) => Ok(Next::Wait(promise)),
            None => came.map(Next::Done),
        }
    }
}

/// Joins what is under way by this name, or begins it: who asks twice is answered once. It ends early when all who asked
/// have called it off, each with a signal of their own.
pub(super) fn joined(flights: &JsValue, name: &str, signal: &JsValue, begin: impl FnOnce() -> Work) -> Promise {
    match under_way(flights, name, signal) {
        Some(promise) => promise,
        None => start(flights, name, begin(), signal),
    }
}

/// Begins what others may join by this name.
pub(super) fn start(flights: &JsValue, name: &str, work: Work, signal: &JsValue) -> Promise {
    start_task(flights, name, Task::new(work), signal)
}

/// Works side by side; the answers come in the order given.
pub(super) fn side_by_side(works: Vec<Work>) -> Promise {
    run_all(list_of(works.into_iter().map(|work| Task::new(work).into())))
}
