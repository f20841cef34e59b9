//! The npm package `guichet-sandbox` in a process of Node.js, as `guichet-sandbox --json` starts it.

use guichet::values::Secret;
use guichet_sandbox::Config;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, LazyLock};

/// A running command of the package. It ends when this is dropped, and with the process of the test.
#[derive(Debug)]
pub struct NpmProcess {
    child: Child,
    /// The line that it has printed.
    pub ready: Value,
    pub base_url: String,
    pub control_token: Secret,
    pub secret_key: Secret,
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
        let Config { database, merchant_name, checkout, public_url, allow_hosts, allow_origins, .. } = config;
        let Config { public_methods, strict, .. } = config;
        let usual = Config::default();
        assert_eq!(
            (database, merchant_name),
            (&usual.database, &usual.merchant_name),
            "the package has no such option: do not run this test there (xtask/src/services.rs)"
        );
        let mut options = vec!["--listen=127.0.0.1:0".to_owned()];
        options.extend(checkout.iter().map(|folder| format!("--checkout={}", folder.display())));
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
        const KEY: &str = "sk_test_0123456789abcdefghijklmn";
        let log = tempfile::tempfile().expect("a temporary file");
        // The shell ends Node.js when its own input does: at the latest with the process of the test, whose statics are
        // not dropped.
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
        Ok(Self { child, base_url, control_token, secret_key: Secret::new(KEY), ready, log })
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
