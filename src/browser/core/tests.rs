//! Tests of the core that need a browser: `cargo xtask test` runs them in Chromium and Firefox.

use super::browser::{store, stored};
use super::error::{CallError, Pending};
use super::flights::SingleFlight;
use super::reply::Reply;
use super::time::{CallOptions, Notification, unless};
use super::transport::{AuthorizedRequest, Transport};
use super::value::{get, get_text, object};
use crate::flow::{Base, Ms};
use crate::operations::ListPaymentMethods;
use crate::protocol::{Kind, NoCredential};
use js_sys::{Function, eval};
use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use wasm_bindgen_test::wasm_bindgen_test;
use web_sys::EventTarget;

#[wasm_bindgen_test]
async fn equal_calls_are_one_and_it_outlives_the_first_who_waits() {
    let flights = SingleFlight::<Result<u32, CallError>>::default();
    let started = Rc::new(Cell::new(0));
    let work: Pending<u32> = Box::pin({
        let started = Rc::clone(&started);
        async move {
            started.set(started.get() + 1);
            Notification::after(20.0).wait().await;
            Ok(7)
        }
    });
    let mut first = Box::pin(flights.start("key".into(), work));
    let second = flights.under_way("key").expect("it has not ended");
    assert!(flights.under_way("another key").is_none());
    poll_once(first.as_mut()).await;
    drop(first);
    assert_eq!((second.await.ok(), started.get()), (Some(7), 1));
    assert!(flights.under_way("key").is_none(), "it has ended");
}

#[wasm_bindgen_test]
async fn one_who_is_kept_and_not_polled_does_not_hang_the_others() {
    let flights = SingleFlight::<Result<u32, CallError>>::default();
    let work: Pending<u32> = Box::pin(async {
        Notification::after(50.0).wait().await;
        Ok(7)
    });
    let waiting = flights.start("key".into(), work);
    let mut kept = Box::pin(flights.under_way("key").expect("it has not ended"));
    let result = Rc::new(Cell::new(None));
    spawn_local({
        let result = Rc::clone(&result);
        async move { result.set(waiting.await.ok()) }
    });
    Notification::after(1.0).wait().await;
    // It polls last, and nothing polls it again.
    assert!(kept.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    Notification::after(500.0).wait().await;
    assert_eq!(result.get(), Some(7));
}

#[wasm_bindgen_test]
async fn a_call_without_waiting_callers_ends() {
    let flights = SingleFlight::<Result<u32, CallError>>::default();
    let alive = Rc::new(());
    let held = Rc::clone(&alive);
    let work: Pending<u32> = Box::pin(async move {
        Notification::after(60_000.0).wait().await;
        drop(held);
        Ok(7)
    });
    let mut call = Box::pin(flights.start("key".into(), work));
    poll_once(call.as_mut()).await;
    assert_eq!(Rc::strong_count(&alive), 2);
    drop(call);
    assert_eq!(Rc::strong_count(&alive), 1);
    assert!(flights.under_way("key").is_none());
}

#[wasm_bindgen_test]
fn a_dropped_notification_removes_its_listener() {
    let target = eval(
        "({ listeners: 0, addEventListener() { this.listeners++; }, removeEventListener() { this.listeners--; } })",
    )
    .expect("it is an object");
    let waiting = Notification::event(target.unchecked_ref::<EventTarget>(), "message");
    assert_eq!(get(&target, "listeners"), Some(1.into()));
    drop(waiting);
    assert_eq!(get(&target, "listeners"), Some(0.into()));
}

#[wasm_bindgen_test]
async fn an_event_that_comes_before_the_time_is_over_stops_the_timer() {
    let target = EventTarget::new().expect("the browser makes one");
    let timers = || run("return globalThis.cleared ?? 0").as_f64();
    run("globalThis.cleared = 0; const clear = globalThis.clearTimeout;
         globalThis.clearTimeout = (timer) => { globalThis.cleared++; clear(timer); };
         globalThis.restore = () => { globalThis.clearTimeout = clear; }");
    let event = Notification::event(&target, "ready");
    let _ = target.dispatch_event(&web_sys::Event::new("ready").expect("it is a name"));
    let event_or_timeout = unless(Notification::after(60_000.0), event.wait()).await;
    assert_eq!(event_or_timeout.and_then(|event| get_text(&event, "type")).as_deref(), Some("ready"));
    assert_eq!(timers(), Some(1.0));
    run("restore()");
}

#[wasm_bindgen_test]
async fn a_reply_is_read_whole() {
    let reply = methods(
        "return new Response('{\"data\": [1, 2]}', { status: 200, headers: { 'request-id': 'req_1' } })",
        1_000.0,
    )
    .await;
    let reply = reply.ok().expect("it is a reply");
    assert_eq!((reply.status, reply.request_id().as_deref()), (200, Some("req_1")));
    assert_eq!(reply.array().ok().map(|list| list.length()), Some(2));
}

#[wasm_bindgen_test]
async fn a_page_of_html_is_unreadable_and_is_kept() {
    let reply = methods("return new Response('<title>Log in</title>')", 1_000.0).await.ok().expect("it is a reply");
    let error = reply.array().expect_err("it is no list");
    assert!(error.is(Kind::Unreadable));
    assert_eq!(error.get("reply").and_then(|reply| reply.as_string()).as_deref(), Some("<title>Log in</title>"));
}

#[wasm_bindgen_test]
async fn a_value_that_is_no_response_is_offline() {
    // Without pauses between the attempts: the last must not end with the deadline, where `undefined` is also the
    // timer's.
    run("const { random } = Math; Math.random = () => 0; globalThis.restore = () => { Math.random = random; }");
    for fetch in ["throw 'no network'", "return {}", "return undefined", "return { status: 200, text: 7 }"] {
        let error = methods(fetch, 60_000.0).await.err().unwrap_or_else(|| panic!("{fetch} is no reply"));
        assert!(error.is(Kind::Offline), "{fetch}");
    }
    run("restore()");
}

#[wasm_bindgen_test]
async fn equal_reads_are_one_request_and_dropping_all_of_them_aborts_it() {
    run("globalThis.requests = []");
    let transport = transport("requests.push(init); return new Promise(() => {})");
    let mut calls = [send(&transport, 60_000.0), send(&transport, 60_000.0)];
    for call in &mut calls {
        poll_once(call.as_mut()).await;
    }
    let aborted = || run("return requests.map((init) => init.signal.aborted).join()").as_string();
    assert_eq!(aborted().as_deref(), Some("false"), "one request");
    let [first, second] = calls;
    drop(first);
    assert_eq!(aborted().as_deref(), Some("false"), "the other still waits");
    drop(second);
    assert_eq!(aborted().as_deref(), Some("true"));
}

#[wasm_bindgen_test]
fn a_tab_keeps_objects_and_nothing_else() {
    store("guichet.test", &object(&[("id", Some("pi_1".into()))]), None).expect("the browser stores it");
    assert_eq!(stored("guichet.test").and_then(|kept| get_text(&kept, "id")).as_deref(), Some("pi_1"));
    for broken in ["{", "7", "null"] {
        run(&format!("sessionStorage.setItem('guichet.test', '{broken}')"));
        assert!(stored("guichet.test").is_none(), "{broken}");
    }
    run("sessionStorage.removeItem('guichet.test')");
    assert!(stored("guichet.test").is_none());
}

/// Reads the payment methods over a `fetch` with this body.
async fn methods(fetch: &str, timeout: Ms) -> Result<Reply, CallError> {
    send(&transport(fetch), timeout).await
}

fn transport(fetch: &str) -> Rc<Transport> {
    let base = Base::new("https://api.example.com", None).expect("it is an address");
    let fetch = Function::new_with_args("url, init", &format!("return (async () => {{ {fetch} }})()"));
    Rc::new(Transport { base, fetch: Some(fetch), on_call: None, shared_calls: Default::default() })
}

fn send(transport: &Rc<Transport>, timeout: Ms) -> Pending<Reply> {
    let request = AuthorizedRequest::new(&ListPaymentMethods::new()).ok().expect("it can be written");
    transport.send(&request, &NoCredential, CallOptions::with_timeout(timeout))
}

fn run(script: &str) -> JsValue {
    Function::new_no_args(script).call0(&JsValue::UNDEFINED).expect("the script does not throw")
}

/// Polls a future that is not ready yet, so that it starts.
async fn poll_once<F: Future + ?Sized>(future: std::pin::Pin<&mut F>) {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        assert!(future.as_mut().poll(context).is_pending(), "it has ended");
        Poll::Ready(())
    })
    .await;
}
