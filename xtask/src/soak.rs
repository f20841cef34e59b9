//! `cargo xtask soak`: runs the long forms of the soak tests, which `cargo xtask test` runs in short form: rounds of
//! `kill -9` of the sandbox and of three shops, a long load, and memory over tens of thousands of calls. And what only
//! this command runs: 10,000 histories of the ledger, mutants of the shop in PHP, and 60 checks of correct shops over a
//! slow network.

use anyhow::Result;

use crate::run::Run;
use crate::{binaries, package, server_package, setup};

pub fn command() -> Result<()> {
    let mut run = Run::start();
    let result = soak(&mut run);
    run.finish(result)
}

fn soak(run: &mut Run) -> Result<()> {
    let tools = setup::to_pack(&mut run.steps)?;
    run.steps.step("set-up: the browser", setup::chromium)?;
    run.steps.step("set-up: PostgreSQL and Redis", setup::databases)?;
    run.steps.step("set-up: the example servers", setup::example_servers)?;
    package::quick(&mut run.steps)?;
    server_package::build(&mut run.steps, &tools)?;
    let binaries = run.steps.step("build the tests", |_| binaries::build())?;
    for binary in binaries.iter().filter(|binary| binary.name == "lib guichet") {
        let mut command = binary.command();
        run.tests("soak: 10,000 histories of the ledger", command.arg("histories::").env("GUICHET_HISTORIES", "10000"));
    }
    for name in ["service", "pages"] {
        for binary in binaries.iter().filter(|binary| binary.is_test(name)) {
            let mut command = binary.command();
            // One test at a time with its output: other tests would disturb the measurement.
            command.args(["soak::", "three_shops::", "mutants::", "--nocapture", "--test-threads=1"]);
            command.env("GUICHET_SOAK", "1");
            run.tests(&format!("soak: {name}"), &mut command);
        }
    }
    Ok(())
}
