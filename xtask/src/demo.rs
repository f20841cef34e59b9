//! `cargo xtask demo`: builds and starts a shop and the service it uses.
//! `cargo xtask demo --check`: makes a purchase there in a headless browser.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::cargo::{self, at_root, cargo, root, run};
use crate::steps::Steps;
use crate::{pack, setup};

pub fn command(args: &[String]) -> Result<()> {
    match args {
        [check] if check == "--check" => check_purchase(),
        shop_args => open_shop(shop_args),
    }
}

/// Builds everything that a purchase needs, then runs `guichet demo`.
fn open_shop(args: &[String]) -> Result<()> {
    let mut steps = Steps::start();
    steps.step("the wasm32 target", setup::wasm_target)?;
    let packed = pack::quick(&mut steps)?;
    let guichet = steps.step("the shop and the sandbox", |_| build_guichet())?;
    println!("\nReady after {}. Starting the shop; Ctrl-C stops it.\n", steps.elapsed());
    replace_process(at_root(guichet).arg("demo").arg("--package").arg(packed.folder).args(args))
}

/// Builds the `guichet` command. Returns its path.
fn build_guichet() -> Result<PathBuf> {
    cargo::build(&mut cargo([
        "build",
        "--package=guichet",
        "--bin=guichet",
        "--features=cli",
        "--message-format=json-render-diagnostics",
    ]))?
    .into_iter()
    .find_map(|artifact| artifact.executable)
    .context("cargo built no `guichet` command")
}

/// Replaces this process by `command`, which then gets Ctrl-C and determines the exit code.
#[cfg(unix)]
fn replace_process(command: &mut Command) -> Result<()> {
    use std::os::unix::process::CommandExt as _;

    Err(command.exec()).context("`guichet demo` could not be started")
}

/// Runs `command` and waits for it. Ctrl-C reaches both processes.
#[cfg(not(unix))]
fn replace_process(command: &mut Command) -> Result<()> {
    run(command)
}

/// Makes the purchase in a headless browser. The test prints each step with its time.
fn check_purchase() -> Result<()> {
    const PURCHASE: [&str; 4] = ["test", "--package=guichet", "--features=cli", "--test=pages"];

    let mut steps = Steps::start();
    steps.step("the wasm32 target", setup::wasm_target)?;
    steps.step("the browser", setup::chromium)?;
    pack::quick(&mut steps)?;
    steps.step("the shop, the sandbox and the customer", |_| run(cargo(PURCHASE).arg("--no-run")))?;
    let pictures = root().join("target/demo");
    let bought = steps.step("the purchase", |_| {
        clear(&pictures)?;
        run(cargo(PURCHASE)
            .args(["--", "purchase::chromium", "--nocapture", "--test-threads=1"])
            .env("GUICHET_PICTURES", &pictures))
    });
    println!("\n{}", steps.table());
    let count = fs::read_dir(&pictures).map_or(0, Iterator::count);
    println!("\n{count} screenshots in target/demo/");
    bought
}

/// Creates an empty folder, so that old screenshots are not mistaken for new ones.
fn clear(folder: &PathBuf) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}
