//! The tests that ask the service over HTTP and take minutes, by their modules. Where the others run, they say
//! themselves: `tests/support/service.rs`.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::binaries::Binary;

/// What only `cargo xtask test --newest` runs: two models, whose rules the gate has in tests with fixed sequences,
/// beside the models `billing_model` and `sandbox_model`; and a client that is generated in Python, beside the one in
/// TypeScript.
const IN_NEWEST: [&str; 3] =
    ["generated_clients::a_generated_python_client", "late_approvals::", "sandbox_session_model::"];

/// What `cargo xtask test --newest` runs on the npm package, in minutes.
const AT_LENGTH: [&str; 5] = [
    "billing_model::",
    "generated_clients::a_generated_python_client_pays_at_the_sandbox",
    "sandbox_model::",
    "sandbox_session_model::",
    "schemathesis::",
];

/// The tests that take minutes on one core.
const LONG: &str = "schemathesis::";
/// It waits for minutes: it runs beside the tests of pages.
pub const RIGHT_SHOP: &str = "check::a_right_shop_passes_every_rule";

/// The command that runs the tests of the binary `service` that take minutes on one core, and the command that runs all
/// others.
pub fn long_and_others(binary: &Binary) -> Result<(Command, Command)> {
    let skipped = IN_NEWEST.into_iter().chain([LONG, RIGHT_SHOP]);
    require_tests(binary, skipped.clone())?;
    let (mut long, mut others) = (binary.command(), binary.command());
    long.arg(LONG);
    others.args(skipped.flat_map(|test| ["--skip", test]));
    Ok((long, others))
}

/// The commands that run in memory what is not in the gate, and the long tests of the binary `service` on the npm
/// package.
pub fn at_length(binary: &Binary) -> Result<[Command; 2]> {
    require_tests(binary, IN_NEWEST.into_iter().chain(AT_LENGTH))?;
    let (mut others, mut package) = (binary.command(), binary.command());
    others.args(IN_NEWEST);
    package.env("GUICHET_TEST_SERVICE", "package").env("GUICHET_EXAMPLES", "200").args(AT_LENGTH);
    Ok([others, package])
}

/// Fails if a filter matches no test: a test was renamed, and its filter was not.
fn require_tests<'a>(binary: &Binary, filters: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let tests = binary.tests()?;
    for filter in filters {
        ensure!(
            tests.iter().any(|test| test.starts_with(filter)),
            "no test of {} begins with `{filter}`. Correct its name in xtask/src/services.rs.",
            binary.name
        );
    }
    Ok(())
}
