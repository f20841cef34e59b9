//! The shell lines of the section "More than one server" of `docs/sandbox.md`.
#![cfg(unix)]

use crate::support::api::{Reply, client, order, try_send};
use crate::support::folder::Folder;
use crate::support::postgres::PostgresServer;
use crate::support::wait::until;
use serde_json::Value;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The values in the page that the reader replaces.
const DATABASE: &str = "postgres://guichet@db.example.com/sandbox?sslmode=verify-full";
const PORTS: [&str; 2] = ["4243", "4244"];
/// Waits for the end of the pipe from the tests, and ends the shell and what it has started.
const END_WITH_TESTS: &str = "read -r _ || kill -KILL 0\n";

#[tokio::test]
async fn the_pages_lines_start_two_sandboxes_on_one_database() {
    let lines = section();
    let (build, start) = lines.split_once('\n').unwrap();
    assert_eq!(build, "GUICHET_PACKAGE=target/npm/package cargo install --path crates/cli --features postgres");
    let folder = Folder::new("more-than-one-server");
    let mut script = replace(start, DATABASE, &PostgresServer::shared().create_database());
    for shown in PORTS {
        script = replace(&script, &format!("127.0.0.1:{shown}"), "127.0.0.1:0");
    }
    let script = format!("{script}\necho \"$GUICHET_SECRET_KEY $GUICHET_CONTROL_TOKEN\" > keys\n{END_WITH_TESTS}");
    let shell = Shell::run(&script, &folder);
    let base_urls = shell.base_urls().await;
    let keys = std::fs::read_to_string(folder.path.join("keys")).unwrap();
    let (key, control_token) = keys.trim_end().split_once(' ').unwrap();
    let mut created = Vec::new();
    for base_url in &base_urls {
        let intent = ask("POST", &format!("{base_url}/v1/payment-intents"), key, order("ORDER-1")).await;
        created.push((intent.status, intent.body["data"]["id"].clone()));
        let clock = ask("GET", &format!("{base_url}/sandbox/clock"), control_token, Value::Null).await;
        assert_eq!(clock.status, 200, "{}", clock.text);
    }
    assert_eq!(created[1], (200, created[0].1.clone()), "the second sandbox has the first one's intent");
    assert_eq!(created[0].0, 201);
}

/// The section's shell lines.
fn section() -> &'static str {
    let page = include_str!("../../docs/sandbox.md");
    let section = page.split("\n## More than one server\n").nth(1).expect("the page has the section");
    section.split("```sh\n").nth(1).and_then(|rest| rest.split("\n```").next()).expect("the section has shell lines")
}

fn replace(script: &str, shown: &str, used: &str) -> String {
    assert!(script.contains(shown), "the page does not show {shown}");
    script.replace(shown, used)
}

async fn ask(method: &str, url: &str, bearer: &str, fields: Value) -> Reply {
    let body = (!fields.is_null()).then(|| fields.to_string().into());
    try_send(&client(), method, url, Some(bearer), body, &[]).await.unwrap()
}

/// A shell and what it has started. All are ended when it is dropped.
struct Shell {
    process: Child,
    log: std::path::PathBuf,
}

impl Shell {
    fn run(script: &str, folder: &Folder) -> Self {
        let programs = Path::new(env!("CARGO_BIN_EXE_guichet")).parent().unwrap().to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path))).unwrap();
        let log = File::create(folder.log()).unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", script]).current_dir(&folder.path).env("PATH", path).process_group(0);
        shell.stdin(Stdio::piped()).stdout(log.try_clone().unwrap()).stderr(log);
        Self { process: shell.spawn().unwrap(), log: folder.log() }
    }

    /// Waits until both sandboxes have printed their addresses.
    async fn base_urls(&self) -> [String; 2] {
        let printed = || -> Vec<String> {
            let log = std::fs::read_to_string(&self.log).unwrap();
            let services = log.lines().filter_map(|line| line.trim().strip_prefix("The service"));
            services.filter_map(|url| url.trim().strip_suffix("/v1").map(str::to_owned)).collect()
        };
        until("both sandboxes run", async || printed().len() == PORTS.len()).await;
        printed().try_into().expect("each prints its address once")
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
        if std::thread::panicking() {
            eprintln!("\nthe sandboxes' log:\n{}", std::fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}
