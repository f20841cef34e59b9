//! What the npm package `guichet-sandbox` calls for its command and its function `check`: the check of one shop, rule
//! by rule, on a machine that is JavaScript.

use guichet_check::options::{self, Options};
use guichet_check::{
    Boxed, Check, CommandError, Environment, Report, Request, Response, Rule, SendError, Service, instructions,
    progress,
};
use guichet_sandbox::Config;
use js_sys::{Array, Promise, TypeError};
use serde::Deserialize;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    /// The machine, in JavaScript. A promise that rejects is a bug.
    pub type Machine;
    /// Sends a request with these headers: a name, its value, a name, its value. Resolves with `[status, headers,
    /// body]`, or with `"timeout"`, `"no connection"`, `"certificate: …"`, or what broke.
    #[wasm_bindgen(method)]
    fn send(this: &Machine, method: &str, url: &str, headers: Array, body: &str, milliseconds: f64) -> Promise;
    /// The milliseconds since some moment before the check.
    #[wasm_bindgen(method)]
    fn now(this: &Machine) -> f64;
    /// Reads a file. Resolves with `[text]`, or with why it cannot be read.
    #[wasm_bindgen(method)]
    fn read(this: &Machine, path: &str) -> Promise;
    #[wasm_bindgen(method)]
    fn sleep(this: &Machine, milliseconds: f64) -> Promise;
    /// Runs a command with these variables, and discards its output unless it is wanted. Resolves with `[status,
    /// stdout, stderr]`, whose status is empty if it succeeded, or with `"timeout"` or why it cannot be run.
    #[wasm_bindgen(method)]
    fn run(this: &Machine, command: &str, variables: Array, is_output_wanted: bool, milliseconds: f64) -> Promise;
}

struct JsEnvironment {
    machine: Machine,
    request_timeout: Duration,
    command_timeout: Duration,
}

/// What a promise of the machine resolves with: a list, or a text that says what went wrong.
async fn resolved(promise: Promise) -> Result<Array, String> {
    let value = JsFuture::from(promise).await.unwrap_or_else(|error| format!("{error:?}").into());
    value.dyn_into::<Array>().map_err(|value| value.as_string().unwrap_or_default())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

impl Environment for JsEnvironment {
    fn send(&self, request: Request) -> Boxed<'_, Result<Response, SendError>> {
        Box::pin(async move {
            let Request { method, url, headers, body } = request;
            let headers = headers.iter().flat_map(|(name, value)| [name, value]).map(JsValue::from).collect();
            let sent = self.machine.send(method, &url, headers, &body, milliseconds(self.request_timeout));
            let parts = resolved(sent).await.map_err(|why| match why.as_str() {
                "timeout" => SendError::Timeout(self.request_timeout),
                "no connection" => SendError::NoConnection,
                _ => match why.strip_prefix("certificate: ") {
                    Some(why) => SendError::Certificate(why.to_owned()),
                    None => SendError::Broken(why),
                },
            })?;
            let texts: Vec<String> = Array::from(&parts.get(1)).iter().filter_map(|text| text.as_string()).collect();
            let headers = texts.as_chunks().0.iter().map(|[name, value]| (name.clone(), value.clone())).collect();
            let status = parts.get(0).as_f64().unwrap_or_default() as u16;
            Ok(Response { status, headers, body: parts.get(2).as_string().unwrap_or_default() })
        })
    }

    fn now(&self) -> Duration {
        Duration::from_secs_f64(self.machine.now() / 1000.0)
    }

    fn sleep(&self, time: Duration) -> Boxed<'_, ()> {
        Box::pin(async move { drop(JsFuture::from(self.machine.sleep(milliseconds(time))).await) })
    }

    fn read<'a>(&'a self, path: &'a str) -> Boxed<'a, Result<String, String>> {
        Box::pin(async move { Ok(resolved(self.machine.read(path)).await?.get(0).as_string().unwrap_or_default()) })
    }

    fn run<'a>(
        &'a self,
        command: &'a str,
        variables: Vec<(&'static str, String)>,
        is_output_wanted: bool,
    ) -> Boxed<'a, Result<String, CommandError>> {
        Box::pin(async move {
            let variables =
                variables.into_iter().flat_map(|(name, value)| [name.into(), JsValue::from(value)]).collect();
            let run = self.machine.run(command, variables, is_output_wanted, milliseconds(self.command_timeout));
            let parts = resolved(run).await.map_err(|why| match why.as_str() {
                "timeout" => CommandError::Timeout(self.command_timeout),
                _ => CommandError::NotRun(why),
            })?;
            let [status, stdout, stderr] = [0, 1, 2].map(|index| parts.get(index).as_string().unwrap_or_default());
            if status.is_empty() { Ok(stdout) } else { Err(CommandError::Failed { status, stderr }) }
        })
    }
}

/// The arguments of the command, as texts.
#[derive(Deserialize)]
struct Texts {
    shop: String,
    #[serde(default)]
    order: Vec<String>,
    #[serde(rename = "order-pattern")]
    order_pattern: Option<String>,
    #[serde(default)]
    login: Vec<String>,
    #[serde(default)]
    guests: bool,
    #[serde(rename = "page-origin")]
    page_origin: Option<String>,
    page: Option<String>,
    csrf: Option<String>,
    orders: Option<String>,
    restart: Option<String>,
    settle: Option<String>,
    reprice: Option<String>,
    #[serde(default)]
    log: Vec<String>,
    limit: Option<String>,
    timeout: Option<String>,
    wait: Option<String>,
    #[serde(default)]
    only: Vec<String>,
}

/// The arguments of the command.
#[wasm_bindgen]
pub struct CheckArguments {
    options: Options,
}

#[wasm_bindgen]
impl CheckArguments {
    /// Reads the arguments, an object of texts as JSON. The error says which one is invalid.
    pub fn read(json: &str) -> Result<CheckArguments, String> {
        let texts: Texts = serde_json::from_str(json).map_err(|error| error.to_string())?;
        if texts.order.is_empty() && texts.order_pattern.is_none() {
            let what = "an order that is not paid yet, as the page sends it";
            return Err(format!("Missing option --order or --order-pattern: {what}"));
        }
        let mut options = read("<URL>", Options::new, &texts.shop)?;
        options.orders = read_each("--order <JSON>", options::order, &texts.order)?;
        let pattern = texts.order_pattern;
        options.order_pattern =
            pattern.map(|text| read("--order-pattern <JSON>", options::order_pattern, &text)).transpose()?;
        options.logins = read_each("--login <REQUEST>", options::login, &texts.login)?;
        options.guests = texts.guests;
        let origin = texts.page_origin;
        options.page_origin = origin.map(|text| read("--page-origin <ORIGIN>", options::origin, &text)).transpose()?;
        options.csrf = texts.csrf.map(|text| read("--csrf <COOKIE=HEADER>", options::csrf, &text)).transpose()?;
        options.orders_command = texts.orders;
        options.restart_command = texts.restart;
        options.settle_command = texts.settle;
        options.reprice_command = texts.reprice;
        options.logs = texts.log;
        options.only = read_each("--only <RULE>", options::rule, &texts.only)?;
        replace(&mut options.page, "--page <PATH>", options::path, texts.page)?;
        replace(&mut options.limit, "--limit <SECONDS>", options::seconds, texts.limit)?;
        replace(&mut options.timeout, "--timeout <SECONDS>", options::seconds, texts.timeout)?;
        replace(&mut options.wait, "--wait <SECONDS>", options::seconds, texts.wait)?;
        Ok(Self { options })
    }
}

/// The end of the command's help.
#[wasm_bindgen(js_name = checkHelp)]
pub fn check_help() -> String {
    options::HELP.to_owned()
}

fn read<T>(argument: &str, reader: fn(&str) -> Result<T, String>, text: &str) -> Result<T, String> {
    reader(text).map_err(|why| format!("invalid value '{text}' for '{argument}': {why}"))
}

/// Reads a text that is given in the place of a default.
fn replace<T>(
    value: &mut T,
    argument: &str,
    reader: fn(&str) -> Result<T, String>,
    text: Option<String>,
) -> Result<(), String> {
    if let Some(text) = text {
        *value = read(argument, reader, &text)?;
    }
    Ok(())
}

fn read_each<T>(argument: &str, reader: fn(&str) -> Result<T, String>, texts: &[String]) -> Result<Vec<T>, String> {
    texts.iter().map(|text| read(argument, reader, text)).collect()
}

/// The service of a check.
#[wasm_bindgen]
pub struct CheckService {
    service: Arc<Service>,
    base_url: String,
}

#[wasm_bindgen]
impl CheckService {
    /// Starts it. It answers under this address.
    pub async fn start(base_url: String, profile: Option<String>) -> Result<CheckService, JsValue> {
        let profile =
            profile.map(|json| crate::profile(&json)).transpose().map_err(|invalid| TypeError::new(&invalid))?;
        let config =
            Config { base_url: Some(base_url.clone()), public_url: Some(base_url.clone()), ..Config::default() };
        let service = Service::new(crate::open(config).await?).with_profile(profile);
        Ok(Self { service: Arc::new(service), base_url })
    }

    #[wasm_bindgen(getter, js_name = baseUrl)]
    pub fn base_url(&self) -> String {
        self.base_url.clone()
    }

    #[wasm_bindgen(getter, js_name = secretKey)]
    pub fn secret_key(&self) -> String {
        self.service.secret_key().to_owned()
    }

    /// Answers a request to the service, as `Sandbox.respond` does.
    pub fn respond(&self, method: &str, target: &str, headers: &str, body: Vec<u8>) -> JsValue {
        let Some(request) = crate::request(method, target, headers, body) else { return crate::malformed() };
        let service = Arc::clone(&self.service);
        crate::execute(async move { service.respond(request).await })
    }

    /// How to start the shop.
    pub fn instructions(&self, as_json: bool) -> String {
        instructions(&self.base_url, self.service.secret_key(), as_json)
    }

    /// Begins a check of the shop that calls this service.
    pub fn check(&self, arguments: CheckArguments, machine: Machine) -> ShopCheck {
        let CheckArguments { options } = arguments;
        let environment = JsEnvironment { machine, request_timeout: options.timeout, command_timeout: options.limit };
        let check = Rc::new(Check::new(Box::new(environment), Arc::clone(&self.service), options));
        let rules = check.rules();
        ShopCheck { check, rules, next: Cell::new(0), report: RefCell::default() }
    }
}

/// A check that has been started.
#[wasm_bindgen]
pub struct ShopCheck {
    check: Rc<Check>,
    rules: Vec<&'static Rule>,
    /// The index of the rule that is checked next.
    next: Cell<usize>,
    report: RefCell<Report>,
}

#[wasm_bindgen]
impl ShopCheck {
    /// What is printed before the shop answers.
    pub fn waiting(&self) -> String {
        self.check.waiting()
    }

    /// Waits for the shop. The error says what it did instead.
    #[wasm_bindgen(js_name = shopIsReady)]
    pub async fn shop_is_ready(&self) -> Result<(), String> {
        self.check.shop_is_ready().await
    }

    /// What is printed before the next rule is checked; `undefined` after the last one.
    pub fn progress(&self) -> Option<String> {
        let rule = self.rules.get(self.next.get())?;
        Some(progress(rule, self.next.get() + 1, self.rules.len()))
    }

    /// Checks the next rule. Returns its report, and `undefined` after the last one.
    pub async fn next(&self) -> Option<String> {
        let rule = *self.rules.get(self.next.replace(self.next.get() + 1))?;
        let report = self.check.rule(rule).await;
        let text = report.to_string();
        self.report.borrow_mut().rules.push(report);
        Some(text)
    }

    /// The summary.
    pub fn summary(&self) -> String {
        self.report.borrow().summary()
    }

    /// The report as `--json` prints it.
    pub fn json(&self) -> String {
        self.report.borrow().to_json().to_string()
    }

    /// The exit code of the command.
    #[wasm_bindgen(getter, js_name = exitCode)]
    pub fn exit_code(&self) -> u8 {
        self.report.borrow().exit_code()
    }
}
