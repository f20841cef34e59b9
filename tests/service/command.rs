//! The `guichet` command: its output and its exit codes.

mod control_api;
mod operations;
mod probe;

use crate::support::http;
use crate::support::shop_process::{ShopProcess, shop_command};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

#[tokio::test]
async fn the_sandbox_prints_one_line_of_json_and_stops_on_sigterm() {
    let mut sandbox = Running::start(&["sandbox", "--listen", "127.0.0.1:0", "--database", "memory:", "--json"]);
    let ready = sandbox.line();
    let names: Vec<&str> = ready.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(names, ["base_url", "control_token", "control_url", "inspector_url", "secret_key"]);
    let base_url = ready["base_url"].as_str().expect("an address");
    assert!(!base_url.ends_with("/v1"));
    assert_eq!(ready["control_url"], format!("{base_url}/sandbox"));
    let key = ready["secret_key"].as_str().expect("a key");
    assert!(key.starts_with("sk_test_"));

    let authorization = format!("Authorization: Bearer {key}");
    let methods = http::get(&format!("{base_url}/v1/payment-methods"), &[&authorization]).await;
    assert_eq!(methods.status, 200);
    let (code, rest) = sandbox.stop();
    assert_eq!((code, rest.as_str()), (Some(0), ""), "nothing else is printed");
}

#[test]
fn a_port_in_use_is_reported_in_a_sentence() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let run = guichet(&["sandbox", "--listen", &address, "--database", "memory:"]).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(1));
    assert!(stderr.starts_with("guichet: ") && stderr.contains(&address), "{stderr}");
    assert!(run.stdout.is_empty());
}

#[test]
fn a_folder_without_the_package_and_an_invalid_key_are_reported_at_the_start() {
    let run = guichet(&["sandbox", "--database", "memory:", "--package", "no/such/folder"]).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!((run.status.code(), run.stdout.len()), (Some(1), 0), "{stderr}");
    assert!(stderr.contains("no/such/folder") && stderr.contains("cargo xtask pack --quick"), "{stderr}");
    for key in ["sk_test_1", "sk_live_0123456789abcdefghijklmn"] {
        let mut command = guichet(&["sandbox", "--listen", "127.0.0.1:0", "--database", "memory:"]);
        let run = command.env("GUICHET_SECRET_KEY", key).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(1));
        assert!(
            stderr.contains("GUICHET_SECRET_KEY") && stderr.contains("sk_test_") && !stderr.contains(key),
            "{stderr}"
        );
    }
}

#[test]
fn listening_on_every_address_requires_a_public_url() {
    let run = guichet(&["sandbox", "--listen", "0.0.0.0:0", "--database", "memory:"]).output().expect("it runs");
    assert_eq!(run.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&run.stderr).contains("--public-url"));
    let url = ["--public-url", "http://sandbox.test:4243"];
    let arguments = ["sandbox", "--listen", "0.0.0.0:0", "--database", "memory:", "--json"];
    let mut sandbox = Running::start(&[&arguments[..], &url].concat());
    assert!(sandbox.line()["secret_key"].is_string());
    sandbox.stop();
}

#[tokio::test]
async fn the_shop_and_the_sandbox_serve_the_same_package_from_any_folder() {
    let mut command = guichet(&["sandbox", "--listen", "127.0.0.1:0", "--database", "memory:", "--json"]);
    command.current_dir(std::env::temp_dir());
    let mut sandbox = Running::of(command);
    let ready = sandbox.line();
    let text = |name: &str| ready[name].as_str().expect("a text").to_owned();
    let mut command = shop_command(&text("base_url"), &text("secret_key"), "memory:");
    command.current_dir(std::env::temp_dir());
    let shop = ShopProcess::spawn(command).listening();
    let of_shop = http::get(&format!("{}/package/guichet.js", shop.url()), &[]).await;
    let of_sandbox = http::get(&format!("{}/checkout/assets/package/guichet.js", text("base_url")), &[]).await;
    assert!(of_sandbox.status != 200 || of_sandbox.body == of_shop.body, "the sandbox has another package");
    let shown = http::get(&format!("{}/api/shop", shop.url()), &[]).await;
    assert_eq!(shown.json()["base_url"], ready["base_url"]);
    sandbox.stop();
}

#[tokio::test]
async fn a_binary_outside_of_the_project_serves_no_package_of_the_folder_it_is_started_in() {
    // Not in the project's target folder, as other tests' folders are.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let package = elsewhere.path().join("target/npm/package");
    std::fs::create_dir_all(&package).expect("a folder");
    for file in ["package.json", "guichet.js", "hosted.js"] {
        std::fs::write(package.join(file), "planted").expect("a file");
    }
    let binary = elsewhere.path().join("guichet");
    // Another test that starts a process now would inherit a file that is open for writing, and Linux starts no such
    // file.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_guichet")).arg(&binary).status().expect("cp runs");
    assert!(copied.success());

    let mut command = program(&binary, &["sandbox", "--listen", "127.0.0.1:0", "--database", "memory:", "--json"]);
    command.current_dir(elsewhere.path()).stderr(Stdio::piped());
    let mut sandbox = Running::of(command);
    let base_url = sandbox.line()["base_url"].as_str().expect("an address").to_owned();
    let file = http::get(&format!("{base_url}/checkout/assets/package/hosted.js"), &[]).await;
    let page = http::get(&format!("{base_url}/checkout/pi_1"), &[]).await;
    let mut stderr = sandbox.stderr().expect("it was piped");
    sandbox.stop();

    assert!(file.status != 200 && !file.body.contains("planted"), "{}", file.body);
    assert!(!page.body.contains("planted"), "{}", page.body);
    let mut notice = String::new();
    stderr.read_to_string(&mut notice).expect("text");
    assert!(notice.contains("--package DIR") && notice.contains("GUICHET_PACKAGE"), "{notice}");
}

#[test]
fn an_invalid_database_is_reported_in_a_sentence() {
    for (database, remedy) in [("shop.db", "sqlite:"), ("sqlite::memory:", "give memory:.")] {
        let run = guichet(&["sandbox", "--listen", "127.0.0.1:0", "--database", database]).output().expect("it runs");
        assert_eq!(run.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&run.stderr).contains(remedy), "{database}");
    }
}

#[test]
fn an_invalid_listen_address_names_its_option_and_an_example() {
    for (arguments, option, example) in [
        (&["sandbox", "--listen", "4343"][..], "--listen", "127.0.0.1:4343"),
        (&["sandbox", "--listen", ":8080"][..], "--listen", "127.0.0.1:8080"),
        (&["sandbox", "--listen", "localhost:8080"][..], "--listen", "127.0.0.1:8080"),
        (&["sandbox", "--listen", "localhost"][..], "--listen", "127.0.0.1:4243"),
        (&["sandbox", "--listen", "127.0.0.1:99999"][..], "--listen", "127.0.0.1:4243"),
    ] {
        let run = guichet(arguments).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert_eq!((run.status.code(), run.stdout.len()), (Some(2), 0), "{arguments:?}: {stderr}");
        let first = stderr.lines().next().unwrap_or_default();
        assert!(first.contains(option) && first.contains(&format!("for example {example}")), "{arguments:?}: {stderr}");
    }
}

/// A command that runs until it is stopped, or the test ends.
pub(super) struct Running {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        Self::of(guichet(arguments))
    }

    pub(super) fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("it was piped"));
        Self { child, stdout }
    }

    pub(super) fn line(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).expect("a line of JSON")
    }

    /// Its stderr, if it was piped.
    pub(super) fn stderr(&mut self) -> Option<std::process::ChildStderr> {
        self.child.stderr.take()
    }

    /// Stops it by SIGTERM, as a service manager does. Returns its exit code and the rest of its output.
    pub(super) fn stop(mut self) -> (Option<i32>, String) {
        let kill = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status().expect("kill runs");
        assert!(kill.success());
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).expect("text");
        (self.child.wait().expect("it ends").code(), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has already ended if the test has succeeded.
        let _ = self.child.kill();
    }
}

pub(super) fn guichet(arguments: &[&str]) -> Command {
    program(env!("CARGO_BIN_EXE_guichet").as_ref(), arguments)
}

fn program(file: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(file);
    command.args(arguments).stdin(Stdio::null());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("GUICHET_")) {
        command.env_remove(name);
    }
    command
}
