//! The crate's unit tests for wasm32, in Chromium and Firefox, by the runner of wasm-bindgen
//! (`xtask/wasm-test-runner`).

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::cargo::{self, cargo, run};
use crate::setup;

/// A browser and its WebDriver, by whose name in capitals the runner finds it.
pub struct Engine {
    pub name: &'static str,
    driver: &'static str,
}

pub const ENGINES: [Engine; 2] =
    [Engine { name: "Chromium", driver: "chromedriver" }, Engine { name: "Firefox", driver: "geckodriver" }];

/// Compiles the example of `guichet::browser`. It cannot run without a page.
pub fn compile_example() -> Result<()> {
    let mut command = cargo(["test", "--doc", "--package=guichet", "--features=browser"]);
    command.args(["--target=wasm32-unknown-unknown", "--", "src/browser"]);
    run(command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", "true"))
}

/// Builds the runner. Returns its path.
pub fn runner() -> Result<std::path::PathBuf> {
    cargo::build_program("wasm-test-runner", &mut cargo(["build", "--package=wasm-test-runner"]))
}

impl Engine {
    /// `cargo test` in this browser.
    pub fn command(&self, runner: &Path) -> Result<Command> {
        let mut command = cargo(["test", "--package=guichet", "--lib", "--features=browser"]);
        command.arg("--target=wasm32-unknown-unknown").env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", runner);
        // The runner uses the first driver that is set.
        for other in ENGINES {
            command.env_remove(other.driver.to_uppercase());
        }
        command.env(self.driver.to_uppercase(), setup::driver(self.driver)?);
        // A busy machine needs more time.
        command.env("WASM_BINDGEN_TEST_TIMEOUT", "120").env("WASM_BINDGEN_TEST_DRIVER_TIMEOUT", "30");
        Ok(command)
    }
}
