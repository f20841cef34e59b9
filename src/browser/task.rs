//! A call as a task: JavaScript steps it, waits for what it waits for, and tells it what came. There is no other
//! executor, and nothing here knows a promise's inside.

use super::error::Stop;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::js_sys::{Array, Promise};

/// A future of one shape, so that each loop is compiled once.
pub(super) type Work<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// What a call comes to.
pub(super) type Answer = Result<JsValue, Stop>;

thread_local! {
    /// What the task that is being stepped waits for, and what came of it.
    static ASKED: RefCell<Option<Promise>> = const { RefCell::new(None) };
    static CAME: RefCell<Option<Result<JsValue, JsValue>>> = const { RefCell::new(None) };
}

#[wasm_bindgen(raw_module = "../doors.js")]
extern "C" {
    #[wasm_bindgen(js_name = start)]
    fn start_task(task: Task, signal: &JsValue) -> Promise;
    fn run_all(tasks: Array) -> Promise;
}

/// One call under way.
#[wasm_bindgen]
pub struct Task {
    work: Work<'static, Answer>,
    value: JsValue,
}

#[wasm_bindgen]
impl Task {
    /// Goes on with what came of the promise that it gave last; gives the next one, or none when it is done.
    pub fn step(&mut self, answer: JsValue, failed: bool) -> Result<Option<Promise>, JsValue> {
        CAME.set(Some(if failed { Err(answer) } else { Ok(answer) }));
        match self.work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => Ok(ASKED.take()),
            Poll::Ready(done) => {
                self.value = done?;
                Ok(None)
            }
        }
    }

    /// What it came to.
    pub fn value(&self) -> JsValue {
        self.value.clone()
    }
}

impl Task {
    pub(super) fn new(work: impl Future<Output = Answer> + 'static) -> Self {
        Self { work: Box::pin(work), value: JsValue::UNDEFINED }
    }
}

/// Waits for a promise.
pub(super) fn wait_for(promise: Promise) -> impl Future<Output = Answer> {
    let mut promise = Some(promise);
    poll_fn(move |_| match promise.take() {
        Some(promise) => {
            ASKED.set(Some(promise));
            Poll::Pending
        }
        None => Poll::Ready(CAME.take().unwrap_or(Ok(JsValue::UNDEFINED)).map_err(Stop::from)),
    })
}

/// Works side by side; the answers come in the order given. None of them fails.
pub(super) async fn side_by_side(tasks: Vec<Task>) -> Result<Vec<JsValue>, Stop> {
    let answers = wait_for(run_all(tasks.into_iter().map(JsValue::from).collect())).await?;
    Ok(super::read::list(&answers))
}

/// What is under way, where something is: its promise, and a mark to know it by.
pub(super) type Flight = Rc<RefCell<Option<(Rc<()>, Promise)>>>;

/// Joins what is under way, or begins it: who asks twice is answered once. It ends with the signal of who began it.
pub(super) async fn joined<W>(flight: &Flight, signal: &JsValue, begin: impl FnOnce() -> W) -> Answer
where
    W: Future<Output = Answer> + 'static,
{
    let under_way = flight.borrow().as_ref().map(|(_, promise)| promise.clone());
    let promise = under_way.unwrap_or_else(|| {
        let mark = Rc::new(());
        let landed = Landed(Rc::clone(flight), Rc::clone(&mark));
        let work = begin();
        let task = Task::new(async move {
            let _landed = landed;
            work.await
        });
        let promise = start_task(task, signal);
        flight.replace(Some((mark, promise.clone())));
        promise
    });
    wait_for(promise).await
}

/// Ends a flight when its task does, however that comes: done, failed or called off.
struct Landed(Flight, Rc<()>);

impl Drop for Landed {
    fn drop(&mut self) {
        let is_own = self.0.borrow().as_ref().is_some_and(|(mark, _)| Rc::ptr_eq(mark, &self.1));
        if is_own {
            self.0.replace(None);
        }
    }
}
