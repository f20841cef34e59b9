//! The npm package `guichet-sandbox` in a process of Node.js, as `guichet-sandbox --json` starts it, and its control API.

use super::service::{Event, Request};
use guichet::values::{Moment, Secret};
use guichet_sandbox::{Config, Fault, FaultKind};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex};

/// A running command of the package. It ends when this is dropped, and with the process of the test.
#[derive(Debug)]
pub struct NpmProcess {
    child: Child,
    /// The line that it has printed.
    pub ready: Value,
    pub base_url: String,
    pub control_token: Secret,
    pub secret_key: Secret,
    /// The ids of the merchants that were made here.
    merchants: Mutex<Vec<String>>,
    /// Its standard error.
    log: File,
}

/// The process of the tests that do not need one of their own: Node.js takes longer to start than most tests take.
static SHARED: LazyLock<Arc<NpmProcess>> =
    LazyLock::new(|| Arc::new(NpmProcess::start(&Config::default()).expect("the package starts")));

impl NpmProcess {
    /// A process that the tests share. Each has a merchant of its own.
    pub fn shared() -> Arc<Self> {
        Arc::clone(&SHARED)
    }

    /// Starts the service with this configuration. An error is what the command wrote.
    pub fn start(config: &Config) -> Result<Self, String> {
        let Config { database, merchant_name, public_url, allow_hosts, allow_origins, public_methods, strict, .. } =
            config;
        let usual = Config::default();
        assert_eq!(
            (database, merchant_name),
            (&usual.database, &usual.merchant_name),
            "the package has no such option: name this test in NOT_IN_PACKAGE of xtask/src/services.rs"
        );
        let mut options = vec!["--listen=127.0.0.1:0".to_owned()];
        options.extend(public_url.iter().map(|url| format!("--public-url={url}")));
        options.extend(allow_hosts.iter().map(|host| format!("--allow-host={host}")));
        options.extend(allow_origins.iter().map(|origin| format!("--allow-origin={origin}")));
        options.extend(public_methods.then(|| "--public-methods".to_owned()));
        options.extend(strict.then(|| "--strict".to_owned()));
        Self::run(&options)
    }

    /// Starts the demo: the service and its shop.
    pub fn demo() -> Self {
        let args = ["demo", "--listen=127.0.0.1:0", "--sandbox-listen=127.0.0.1:0"].map(str::to_owned);
        Self::run(&args).expect("the demo starts")
    }

    /// Runs the command with these arguments and `--json`.
    fn run(args: &[String]) -> Result<Self, String> {
        // Known in advance, because the demo does not print it.
        const KEY: &str = "sk_test_4eC39HqLyjWDarjtT1zdp7dc";
        let log = tempfile::tempfile().expect("a temporary file");
        // The shell ends Node.js when its own input does: at the latest with the process of the test, whose statics are not dropped.
        let mut child = Command::new("sh")
            .args(["-c", r#"node "$@" & exec >&-; read -r _; kill $!"#, "sh"])
            .arg(crate::support::root().join("target/npm/sandbox/bin.js"))
            .args(args)
            .arg("--json")
            .env("GUICHET_SECRET_KEY", KEY)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log.try_clone().expect("a file"))
            .spawn()
            .expect("a shell starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("it writes text");
        if line.is_empty() {
            drop(child.stdin.take());
            let _ = child.wait();
            return Err(text_of(&log));
        }
        let ready: Value = serde_json::from_str(&line).expect("it prints a line of JSON");
        let text = |name: &str| ready[name].as_str().unwrap_or_default().to_owned();
        let (base_url, control_token) = (text("base_url"), Secret::new(text("control_token")));
        Ok(Self {
            child,
            base_url,
            control_token,
            secret_key: Secret::new(KEY),
            ready,
            merchants: Mutex::default(),
            log,
        })
    }

    /// Deletes everything of every merchant.
    pub fn reset(&self) {
        self.control("POST", "reset", &json!({}));
        for merchant in self.merchants.lock().unwrap().iter() {
            self.control("POST", "reset", &json!({ "merchant": merchant }));
        }
    }

    /// Calls the control API: its fields go into the body, or for GET into the query. It blocks, because the methods of
    /// [`guichet_sandbox::Tenant`] that take its place are not async.
    fn control(&self, method: &str, path: &str, fields: &Value) -> Value {
        let host = self.base_url.trim_start_matches("http://");
        let (query, body) = match method {
            "GET" => {
                (fields["merchant"].as_str().map(|id| format!("?merchant={id}")).unwrap_or_default(), String::new())
            }
            _ => (String::new(), fields.to_string()),
        };
        let mut stream = TcpStream::connect(host).expect("the service accepts a connection");
        let head = format!(
            "{method} /sandbox/{path}{query} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.control_token.expose(),
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("the request is sent");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("the response is text");
        let (head, body) = reply.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with("HTTP/1.1 20"), "{method} {path}: {reply}");
        serde_json::from_str(body).expect("the body is JSON")
    }
}

impl Drop for NpmProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("\nthe package's log:\n{}", text_of(&self.log));
        }
    }
}

fn text_of(mut log: &File) -> String {
    let mut text = String::new();
    let _ = log.rewind().and_then(|()| log.read_to_string(&mut text));
    text
}

/// A merchant of the service, by its control API.
#[derive(Clone, Debug)]
pub struct NpmTenant {
    process: Arc<NpmProcess>,
    /// Empty for the first merchant, whom the control API takes if none is named.
    pub id: String,
    pub secret_key: Secret,
}

impl NpmTenant {
    pub fn new(process: &Arc<NpmProcess>, name: &str) -> Self {
        let made = process.control("POST", "merchants", &json!({ "name": name }));
        let id = text(&made["merchant"]);
        process.merchants.lock().unwrap().push(id.clone());
        Self { process: Arc::clone(process), id, secret_key: Secret::new(text(&made["secret_key"])) }
    }

    /// The first merchant.
    pub fn first(process: &Arc<NpmProcess>) -> Self {
        let secret_key = process.secret_key.clone();
        Self { process: Arc::clone(process), id: String::new(), secret_key }
    }

    pub fn base_url(&self) -> &str {
        &self.process.base_url
    }

    pub fn now(&self) -> Moment {
        time(&self.control("GET", "clock", json!({}))["now"])
    }

    /// In two steps if it is more than the hundred years that one call takes.
    pub fn advance(&self, seconds: u32) -> Moment {
        const MAX: u32 = 3_162_240_000;
        if let Some(rest) = seconds.checked_sub(MAX).filter(|rest| *rest > 0) {
            self.advance(MAX);
            return self.advance(rest);
        }
        time(&self.control("POST", "clock", json!({ "advance_seconds": seconds }))["now"])
    }

    pub fn fault(&self, fault: &Fault) {
        let (operation, kind, count) = (fault.operation(), fault.kind(), fault.count());
        let mut fields = json!({ "operation": operation, "kind": kind.as_str(), "count": count });
        match kind {
            FaultKind::Delay { milliseconds } => fields["milliseconds"] = json!(milliseconds),
            FaultKind::Status { status, retry_after } => {
                fields["status"] = json!(status);
                if let Some(seconds) = retry_after {
                    fields["retry_after"] = json!(seconds);
                }
            }
            _ => {}
        }
        self.control("POST", "faults", fields);
    }

    pub fn faults(&self) -> Vec<String> {
        let waiting = self.control("GET", "faults", json!({}));
        list(&waiting["faults"]).iter().map(|fault| text(&fault["operation"])).collect()
    }

    pub fn clear_faults(&self) {
        self.control("DELETE", "faults", json!({}));
    }

    pub fn requests(&self) -> Vec<Request> {
        let request = |request: &Value| Request {
            operation: text(&request["operation"]),
            method: text(&request["method"]),
            path: text(&request["path"]),
            credential: text(&request["credential"]),
            request_id: text(&request["request_id"]),
            intent: request["intent"].as_str().map(str::to_owned),
            status: request["status"].as_u64().and_then(|status| u16::try_from(status).ok()),
            fault: request["fault"].as_str().map(str::to_owned),
        };
        list(&self.control("GET", "requests", json!({}))["requests"]).iter().map(request).collect()
    }

    pub fn events(&self) -> Vec<Event> {
        let event = |event: &Value| Event {
            id: text(&event["id"]),
            kind: text(&event["type"]),
            at: time(&event["created_at"]),
            subject: text(&event["data"]["id"]),
            merchant_reference: event["data"]["merchant_reference"].as_str().map(str::to_owned),
        };
        list(&self.control("GET", "events", json!({}))["events"]).iter().map(event).collect()
    }

    pub fn reset(&self) {
        self.control("POST", "reset", json!({}));
    }

    fn control(&self, method: &str, path: &str, mut fields: Value) -> Value {
        if !self.id.is_empty() {
            fields["merchant"] = json!(self.id);
        }
        self.process.control(method, path, &fields)
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn time(value: &Value) -> Moment {
    Moment::from_unix(value.as_i64().expect("Unix seconds"))
}
