//! The servers of the benchmarks, each in its own process or thread.

use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;

/// A server that runs until this is dropped.
pub struct Running {
    child: Child,
    /// `http://127.0.0.1:4243`.
    pub base_url: String,
    /// The secret key; empty if there is none.
    pub secret_key: String,
}

impl Running {
    /// The `guichet sandbox` command with this database.
    pub fn sandbox(database: &Path) -> Self {
        Self::of_sandbox(sandbox(database))
    }

    /// The sandbox, in memory.
    pub fn sandbox_in_memory() -> Self {
        Self::of_sandbox(sandbox_on("memory:"))
    }

    fn of_sandbox(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let ready: Value = serde_json::from_str(&first_line(&mut child)).unwrap();
        let text = |name: &str| ready[name].as_str().unwrap().to_owned();
        Self { base_url: text("base_url"), secret_key: text("secret_key"), child }
    }

    /// A shop that prints its address in a line of JSON.
    pub fn of_shop(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let ready: Value = serde_json::from_str(&first_line(&mut child)).unwrap();
        Self { base_url: ready["shop_url"].as_str().unwrap().to_owned(), secret_key: String::new(), child }
    }

    /// A server that prints its address on its first line.
    pub fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        Self { base_url: first_line(&mut child).trim().to_owned(), secret_key: String::new(), child }
    }

    /// Stops it with SIGTERM and waits until everything is stored.
    pub fn stop(mut self) {
        let asked = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status();
        assert!(asked.is_ok_and(|status| status.success()), "a server cannot be stopped");
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(!line.is_empty(), "a server ended before it was ready");
    line
}

/// The command that starts a sandbox with this database.
pub fn sandbox(database: &Path) -> Command {
    sandbox_on(&format!("sqlite:{}", database.display()))
}

fn sandbox_on(database: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_guichet"));
    command.args(["sandbox", "--listen", "127.0.0.1:0", "--json", "--database"]);
    command.arg(database);
    command
}

/// Serves a router from a thread with its own runtime until the process ends. Returns its address.
pub fn in_a_thread(router: impl FnOnce() -> axum::Router + Send + 'static) -> String {
    let (told, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            told.send(format!("http://{}", listener.local_addr().unwrap())).unwrap();
            axum::serve(listener, router()).await.unwrap();
        });
    });
    heard.recv().unwrap()
}

/// A plain reqwest client.
pub fn reqwest() -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// A new, empty folder on the project's disk: durability must be measured on a real disk.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}
