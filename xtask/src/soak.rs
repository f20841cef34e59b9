//! `cargo xtask soak`: runs the long forms of the soak tests, which `cargo xtask test` runs in short form: rounds of `kill -9`
//! of the sandbox, of one of two sandboxes on PostgreSQL, of their database and of three shops, a long load, and memory over tens of
//! thousands of calls. And what only this command runs: of PostgreSQL, mutants of the shop in PHP, and 60 checks of correct shops over a
//! slow network.

use anyhow::{Result, bail};

use crate::npm::Tools;
use crate::services::{IN_SOAK, POSTGRES_CRATE, POSTGRES_TWO};
use crate::test::Run;
use crate::{binaries, package, server_package, setup};

pub fn command(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("usage: cargo xtask soak");
    }
    let mut run = Run::start();
    let result = soak(&mut run);
    run.finish(result)
}

fn soak(run: &mut Run) -> Result<()> {
    run.steps.step("set-up: the wasm32 target", setup::wasm_target)?;
    run.steps.step("set-up: the browser", setup::chromium)?;
    run.steps.step("set-up: PostgreSQL and Redis", setup::databases)?;
    run.steps.step("set-up: the example servers", setup::example_servers)?;
    package::quick(&mut run.steps)?;
    let tools = run.steps.step("the tools of xtask/npm/pack", |_| Tools::pack())?;
    server_package::build(&mut run.steps, &tools)?;
    let binaries = run.steps.step("build the tests", |_| binaries::build())?;
    for binary in binaries.iter().filter(|binary| binary.name == POSTGRES_CRATE) {
        run.tests("tests: the crate for PostgreSQL", &mut binary.command());
    }
    for binary in binaries.iter().filter(|binary| binary.is_test("service")) {
        run.tests("tests: two sandboxes on PostgreSQL", binary.command().arg(IN_SOAK));
        run.tests_on(binary, [POSTGRES_TWO]);
    }
    for name in ["service", "pages"] {
        for binary in binaries.iter().filter(|binary| binary.is_test(name)) {
            let mut command = binary.command();
            // One test at a time with its output: other tests would disturb the measurement.
            command.args([
                "soak::",
                "instances_killed::",
                "three_shops::",
                "mutants::",
                "--nocapture",
                "--test-threads=1",
            ]);
            command.env("GUICHET_SOAK", "1");
            run.tests(&format!("soak: {name}"), &mut command);
        }
    }
    Ok(())
}
