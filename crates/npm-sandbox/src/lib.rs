//! The functions that the npm package `guichet-sandbox` calls: a start, and a function from request to response. The
//! rest of the package is JavaScript over these two.
#![cfg(target_arch = "wasm32")]
#![allow(unnameable_types, unreachable_pub, reason = "wasm-bindgen exports what is `pub`; Rust does not name it")]

mod check;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderName, HeaderValue, Request, Response};
use futures_util::future::{Either, select};
use guichet::flow::nearest;
use guichet::shop::Profile;
use guichet::values::read_origin;
use guichet_sandbox::{Config, Dropped, InProcess, LONGEST_NAME, Package, Sleep, StartError, Surroundings};
use js_sys::{Array, Error, Function, JsString, Promise, TypeError, Uint8Array};
use serde_json::Value;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::oneshot;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};

#[wasm_bindgen(raw_module = "../host.js")]
extern "C" {
    #[wasm_bindgen(js_name = unixMilliseconds)]
    fn unix_milliseconds() -> f64;
    #[wasm_bindgen(js_name = monotonicMilliseconds)]
    fn monotonic_milliseconds() -> f64;
    #[wasm_bindgen(js_name = fillRandom)]
    fn fill_random(bytes: &mut [u8]);
    fn variable(name: &str) -> Option<String>;
    #[wasm_bindgen(js_name = readFile)]
    fn read_file(path: &str) -> Option<Vec<u8>>;
    fn brotli(bytes: &[u8]) -> Vec<u8>;
    fn gzip(bytes: &[u8]) -> Vec<u8>;
    /// The files of the npm package `guichet`: a name, its content, a name, its content.
    #[wasm_bindgen(js_name = packageFiles)]
    fn package_files() -> Array;
    fn panicked(message: &str);
    /// Calls a function after a time, unless the timer is ended first.
    #[wasm_bindgen(js_name = startTimer)]
    fn start_timer(call: &Function, milliseconds: f64) -> JsValue;
    #[wasm_bindgen(js_name = endTimer)]
    fn end_timer(timer: &JsValue);
}

/// A sandbox in this process, in memory.
#[wasm_bindgen]
pub struct Sandbox(Rc<InProcess>);

#[wasm_bindgen]
impl Sandbox {
    /// Starts a sandbox. The options are an object as JSON.
    ///
    /// # Errors
    /// If an option is not one, or cannot be used.
    pub async fn start(options: String) -> Result<Sandbox, JsValue> {
        let config = read_options(&options).map_err(|message| TypeError::new(&message))?;
        Ok(Self(Rc::new(open(config).await?)))
    }

    /// Its origin.
    #[wasm_bindgen(getter, js_name = baseUrl)]
    pub fn base_url(&self) -> String {
        self.0.base_url().to_owned()
    }

    /// The first merchant's key.
    #[wasm_bindgen(getter, js_name = secretKey)]
    pub fn secret_key(&self) -> String {
        self.0.secret_key().expose().to_owned()
    }

    /// The token of its control API.
    #[wasm_bindgen(getter, js_name = controlToken)]
    pub fn control_token(&self) -> String {
        self.0.control_token().expose().to_owned()
    }

    /// An address of the inspector, which opens it once.
    #[wasm_bindgen(js_name = inspectorUrl)]
    pub fn inspector_url(&self) -> String {
        self.0.inspector_url()
    }

    /// Answers a request, whose headers are lines: a name, its value, a name, its value. Returns `[status, header
    /// lines, body, whether the body is whole]`; `undefined` if a fault drops the connection; an `Execution` if the
    /// response has to wait.
    pub fn respond(&self, method: &str, target: &str, headers: &str, body: Vec<u8>) -> JsValue {
        let Some(request) = request(method, target, headers, body) else { return malformed() };
        let service = Rc::clone(&self.0);
        execute(async move { service.respond(request).await })
    }

    /// Forgets everything.
    pub async fn close(&self) {
        self.0.close().await;
    }
}

type Responding = Pin<Box<dyn Future<Output = JsValue>>>;

/// A request whose response has to wait.
#[wasm_bindgen]
pub struct Execution(Responding);

#[wasm_bindgen]
impl Execution {
    /// Resolves with the response, as `respond` returns it. If `ended` settles first, the request is not executed any
    /// further.
    pub async fn finish(self, ended: Promise) -> JsValue {
        match select(self.0, JsFuture::from(ended)).await {
            Either::Left((response, _)) => response,
            Either::Right(_) => JsValue::UNDEFINED,
        }
    }
}

/// The error of JavaScript: a `TypeError` for an option.
fn error(error: StartError) -> JsValue {
    let message = error.to_string();
    match error {
        StartError::Config(_) => TypeError::new(&message).into(),
        _ => Error::new(&message).into(),
    }
}

/// Opens a sandbox in memory, in this process.
pub(crate) async fn open(config: Config) -> Result<InProcess, JsValue> {
    std::panic::set_hook(Box::new(|panic| panicked(&panic.to_string())));
    let config = Config { package: Package::Given(read_package), ..config };
    InProcess::start(config, node()).await.map_err(error)
}

/// Executes a request. Most responses need no wait, and so no promise.
pub(crate) fn execute(responding: impl Future<Output = Result<Response<Body>, Dropped>> + 'static) -> JsValue {
    let mut responding: Responding = Box::pin(async move { written(responding.await).await });
    match responding.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(response) => response,
        Poll::Pending => Execution(responding).into(),
    }
}

async fn written(response: Result<Response<Body>, Dropped>) -> JsValue {
    let Ok(response) = response else { return JsValue::UNDEFINED };
    let (head, body) = response.into_parts();
    let (body, is_whole) = read(body).await;
    let mut headers = String::new();
    for (name, value) in &head.headers {
        for text in [name.as_str(), &String::from_utf8_lossy(value.as_bytes())] {
            headers.push_str(text);
            headers.push('\n');
        }
    }
    answer(head.status.as_u16(), &headers, &body, is_whole)
}

/// Reads a request. `None` if it is not HTTP.
pub(crate) fn request(method: &str, target: &str, headers: &str, body: Vec<u8>) -> Option<Request<Body>> {
    let mut request = Request::builder().method(method).uri(target);
    let mut lines = headers.split('\n');
    while let (Some(name), Some(value)) = (lines.next(), lines.next()) {
        // JavaScript holds a header's bytes as one character each.
        let value: Option<Vec<u8>> = value.chars().map(|character| u8::try_from(character).ok()).collect();
        request = request.header(HeaderName::try_from(name).ok()?, HeaderValue::try_from(value?).ok()?);
    }
    request.body(Body::from(body)).ok()
}

/// The response to a request that is not HTTP, as that of the binary's listener.
pub(crate) fn malformed() -> JsValue {
    answer(400, "", &[], true)
}

fn answer(status: u16, headers: &str, body: &[u8], is_whole: bool) -> JsValue {
    Array::of4(&status.into(), &JsString::from(headers), &Uint8Array::from(body), &is_whole.into()).into()
}

/// Reads a body, and whether it is whole: a fault may break it off.
async fn read(mut body: Body) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        match frame.map(|frame| frame.into_data()) {
            Ok(Ok(data)) => bytes.extend_from_slice(&data),
            Ok(Err(_)) => {}
            Err(_) => return (bytes, false),
        }
    }
    (bytes, true)
}

/// Node.js as the surroundings.
fn node() -> Surroundings {
    Surroundings {
        unix_seconds: || (unix_milliseconds() / 1000.0).floor() as i64,
        monotonic_now: || Duration::from_secs_f64(monotonic_milliseconds() / 1000.0),
        fill_random: |bytes| fill_random(bytes),
        sleep,
        variable: |name| variable(name),
        read_file: |path| read_file(path.to_str()?),
        brotli: |bytes| Some(brotli(bytes)),
        gzip: |bytes| Some(gzip(bytes)),
    }
}

/// A timer of JavaScript. It cannot leave its thread as the service's futures may, so it runs beside the future that
/// waits for it, and ends with it.
fn sleep(time: Duration) -> Sleep {
    let (mut done, waiting) = oneshot::channel::<()>();
    spawn_local(async move {
        let mut timer = JsValue::UNDEFINED;
        let over = Promise::new(&mut |resolve, _| timer = start_timer(&resolve, time.as_secs_f64() * 1000.0));
        select(JsFuture::from(over), pin!(done.closed())).await;
        end_timer(&timer);
        let _ = done.send(());
    });
    Box::pin(async move { drop(waiting.await) })
}

fn read_package() -> Vec<(String, Bytes)> {
    let files: Vec<JsValue> = package_files().iter().collect();
    let file = |[name, content]: &[JsValue; 2]| Some((name.as_string()?, Uint8Array::new(content).to_vec().into()));
    files.as_chunks().0.iter().filter_map(file).collect()
}

/// The options, and what each must be.
const OPTIONS: [(&str, &str); 9] = [
    ("allowHosts", "a list of host names"),
    ("allowOrigins", "a list of origins"),
    ("baseUrl", "an origin: http://localhost:4243"),
    ("checkout", "the path of a folder"),
    ("merchantName", "a text of 1 to 100 characters"),
    ("profile", "the content of a profile, service.json"),
    ("publicMethods", "true or false"),
    ("publicUrl", "an origin: https://pay.example.com"),
    ("strict", "true or false"),
];

/// Reads the options.
fn read_options(json: &str) -> Result<Config, String> {
    let Ok(Value::Object(options)) = serde_json::from_str(json) else {
        return Err("The options must be an object.".to_owned());
    };
    let mut config = Config::default();
    for (name, value) in options {
        let is_read = match name.as_str() {
            "allowHosts" => texts(&value).map(|hosts| config.allow_hosts = hosts),
            "allowOrigins" => texts(&value).map(|origins| config.allow_origins = origins),
            "baseUrl" => value.as_str().and_then(read_origin).map(|origin| config.base_url = Some(origin)),
            "checkout" => value.as_str().map(|folder| config.checkout = Some(folder.into())),
            "merchantName" => name_of(&value).map(|name| config.merchant_name = name),
            "profile" if !value.is_null() => {
                Some(profile(&value.to_string())?).map(|profile| config.profile = Some(profile))
            }
            "publicMethods" => value.as_bool().map(|on| config.public_methods = on),
            "publicUrl" => value.as_str().map(|url| config.public_url = Some(url.to_owned())),
            "strict" => value.as_bool().map(|on| config.strict = on),
            _ => None,
        };
        if is_read.is_none() && (!value.is_null() || what(&name).is_none()) {
            return Err(match what(&name) {
                Some(what) => format!("Option `{name}` must be {what}."),
                None => unknown(&name),
            });
        }
    }
    Ok(config)
}

/// Reads the profile of an option.
fn profile(json: &str) -> Result<Profile, String> {
    Profile::new(json).map_err(|invalid| format!("Option `profile`: {invalid}"))
}

/// The type of an option, in words. `None` if there is no such option.
fn what(name: &str) -> Option<&'static str> {
    OPTIONS.iter().find(|(known, _)| *known == name).map(|(_, what)| *what)
}

fn unknown(name: &str) -> String {
    let known = OPTIONS.map(|(known, _)| known);
    match nearest(name, known.iter().copied()) {
        Some(meant) => format!("Unknown option `{name}`. Did you mean `{meant}`?"),
        None => format!("Unknown option `{name}`. The options are: {}.", known.join(", ")),
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

/// A merchant's name, as the control API takes it.
fn name_of(value: &Value) -> Option<String> {
    let name = value.as_str()?;
    (!name.trim().is_empty() && name.chars().count() <= LONGEST_NAME).then(|| name.to_owned())
}
