//! The test binaries of the crate, built by cargo and run one by one.
//!
//! libtest measures each test only behind an unstable option. `RUSTC_BOOTSTRAP` allows it on a stable toolchain, but
//! build scripts watch that variable, and cargo would rebuild. So cargo builds, and xtask runs the binaries.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use serde_json::Value;

use crate::cargo::{at_root, cargo, root, run, run_reading};

/// One test binary.
pub struct Binary {
    /// `lib guichet`, `test pages`.
    pub name: String,
    executable: PathBuf,
}

/// The packages of the product, with all their features. The others of the workspace are built by themselves, because cargo would unify
/// their features with these.
pub const PRODUCT: [&str; 9] = [
    "--package=guichet",
    "--package=guichet-check",
    "--package=guichet-cli",
    "--package=guichet-postgres-address",
    "--package=guichet-sandbox",
    "--package=guichet-sandbox-postgres",
    "--package=guichet-sessions",
    "--package=guichet-shop",
    "--all-features",
];

/// Builds every test binary of the product, and its programs, which tests run.
pub fn build() -> Result<Vec<Binary>> {
    let mut binaries = Vec::new();
    let mut command = cargo(["test", "--no-run", "--lib", "--bins", "--tests"]);
    command.args(PRODUCT).arg("--message-format=json-render-diagnostics");
    run_reading(&mut command, |line| binaries.extend(binary(line)))?;
    // A second command: the first one builds a program only for the tests of its own package.
    run(cargo(["build", "--bins"]).args(PRODUCT))?;
    // The fast ones first, so that a failing unit test is seen before the browsers start.
    binaries.sort_by_key(|binary| ["lib", "bin"].iter().position(|kind| binary.name.starts_with(kind)).unwrap_or(2));
    Ok(binaries)
}

impl Binary {
    /// Runs all its tests with their durations, including the ignored ones that need files which only xtask creates. Two more at a
    /// time than there are cores: many wait, for a browser or for the end of a deadline.
    pub fn command(&self) -> Command {
        let threads = std::thread::available_parallelism().map_or(1, usize::from) + 2;
        let mut command = at_root(&self.executable);
        command.args(["--include-ignored", "-Zunstable-options", "--report-time"]);
        command.env("RUST_TEST_THREADS", threads.to_string());
        command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_MANIFEST_DIR", root());
        command
    }

    /// Whether it is the binary of this folder in `tests/`.
    pub fn is_test(&self, name: &str) -> bool {
        self.name.strip_prefix("test ") == Some(name)
    }
}

/// Parses a line of `--message-format=json`.
fn binary(line: &str) -> Option<Binary> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let target = &message["target"];
    Some(Binary {
        name: format!("{} {}", target["kind"][0].as_str()?, target["name"].as_str()?),
        executable: message["executable"].as_str()?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_test_binaries_are_returned() {
        let built = r#"{"reason":"compiler-artifact","target":{"kind":["test"],"name":"pages"},"profile":{"test":true},
            "executable":"/t/pages-1"}"#;
        assert_eq!(binary(built).map(|binary| binary.name).as_deref(), Some("test pages"));
        assert!(binary(&built.replace("true", "false")).is_none());
        assert!(binary(r#"{"reason":"build-finished","success":true}"#).is_none());
        assert!(binary("warning: not JSON").is_none());
    }
}
