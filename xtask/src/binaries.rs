//! The test binaries of the crate, built by cargo and run one by one.
//!
//! libtest measures each test only behind an unstable option. `RUSTC_BOOTSTRAP` allows it on a stable toolchain, but
//! build scripts watch that variable, and cargo would rebuild. So cargo builds, and xtask runs the binaries.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::cargo::{self, Artifact, at_root, cargo, root, run_reading};

/// One test binary.
pub struct Binary {
    /// `lib guichet`, `test pages`.
    pub name: String,
    executable: PathBuf,
}

/// The packages of the product, with all their features. The others of the workspace are built by themselves, because
/// cargo would unify their features with these.
pub const PRODUCT: [&str; 8] = [
    "--package=guichet",
    "--package=guichet-check",
    "--package=guichet-cli",
    "--package=guichet-orders",
    "--package=guichet-sandbox",
    "--package=guichet-sessions",
    "--package=guichet-shop",
    "--all-features",
];

/// Builds every test binary of the product, and its programs, which tests run.
pub fn build() -> Result<Vec<Binary>> {
    // `cargo test --no-run` builds a program only for the tests of its own package. A second command, `cargo build
    // --bins`, would compile 60 crates again, without the features of dev-dependencies.
    let built = cargo::build(cargo(["build", "--bins", "--tests"]).args(PRODUCT))?;
    let binary =
        |built: Artifact| Some(Binary { executable: built.executable.filter(|_| built.is_test)?, name: built.name });
    let mut binaries: Vec<Binary> = built.into_iter().filter_map(binary).collect();
    // The fast ones first, so that a failing unit test is seen before the browsers start.
    binaries.sort_by_key(|binary| ["lib", "bin"].iter().position(|kind| binary.name.starts_with(kind)).unwrap_or(2));
    Ok(binaries)
}

impl Binary {
    /// Runs all its tests with their durations, including the ignored ones that need files which only xtask creates.
    /// Two more at a time than there are cores: many wait, for a browser or for the end of a deadline.
    pub fn command(&self) -> Command {
        let threads = std::thread::available_parallelism().map_or(1, usize::from) + 2;
        let mut command = at_root(&self.executable);
        command.args(["--include-ignored", "-Zunstable-options", "--report-time"]);
        command.env("RUST_TEST_THREADS", threads.to_string());
        command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_MANIFEST_DIR", root());
        command
    }

    /// The names of all its tests.
    pub fn tests(&self) -> Result<Vec<String>> {
        let mut tests = Vec::new();
        run_reading(self.command().args(["--list", "--format=terse"]), |line| {
            tests.extend(line.strip_suffix(": test").map(str::to_owned));
        })?;
        Ok(tests)
    }

    /// Whether it is the binary of this folder in `tests/`.
    pub fn is_test(&self, name: &str) -> bool {
        self.name.strip_prefix("test ") == Some(name)
    }
}
