//! The shop of `examples/shop` as a process of its own.

use super::child::{ends_with_tests, spawn};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A running shop. When it is dropped, the process is killed.
pub struct ShopProcess {
    pub child: Child,
    url: String,
}

impl ShopProcess {
    /// Starts a shop of this merchant with its orders in memory, and waits until it listens.
    pub fn start(service: &str, key: &str) -> Self {
        Self::spawn(shop_command(service, key, "memory:")).listening()
    }

    /// Runs this command of a shop.
    pub fn spawn(mut command: Command) -> Self {
        command.stdout(Stdio::piped());
        Self { child: spawn(command), url: String::new() }
    }

    /// Waits until it listens.
    pub fn listening(mut self) -> Self {
        let mut line = String::new();
        BufReader::new(self.child.stdout.take().expect("it was piped")).read_line(&mut line).expect("it prints text");
        let ready: Value = serde_json::from_str(&line).expect("the shop starts and prints a line of JSON");
        ready["shop_url"].as_str().expect("an address").clone_into(&mut self.url);
        self
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for ShopProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command of a shop.
pub fn shop_command(service: &str, key: &str, database: &str) -> Command {
    // Cargo builds it beside the command, but does not name the programs of other packages.
    let program = Path::new(env!("CARGO_BIN_EXE_guichet")).with_file_name("guichet-shop");
    assert!(program.is_file(), "{} is missing: cargo build --package=guichet-shop --all-features", program.display());
    let mut command = ends_with_tests(program);
    command.args(["--listen", "127.0.0.1:0", "--json", "--base-url", service, "--database", database]);
    command.arg("--package").arg(package()).env("GUICHET_SECRET_KEY", key);
    command
}

/// The npm package, if it was built: only tests of pages need it.
fn package() -> PathBuf {
    let package = super::root().join("target/npm/package");
    if package.join("guichet.js").is_file() {
        return package;
    }
    let empty = Path::new(env!("CARGO_TARGET_TMPDIR")).join("empty-package");
    std::fs::create_dir_all(&empty).expect("a folder");
    std::fs::write(empty.join("guichet.js"), "").expect("a file");
    empty
}
