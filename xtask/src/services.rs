//! The tests that ask the service over HTTP, once on SQLite and once on the npm package `guichet-sandbox`; in memory they have run with all
//! others. `cargo xtask soak` runs them on PostgreSQL too, with one instance and with two.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::binaries::Binary;
use crate::cargo::run_reading;

/// A service, and the tests that it runs.
pub struct Service {
    pub name: &'static str,
    /// The value of [`CHOICE`].
    value: &'static str,
    /// The tests that cannot run on it, with the reason.
    pub not_in: &'static [(&'static str, &'static str)],
}

/// The variable that chooses the service.
const CHOICE: &str = "GUICHET_TEST_SERVICE";

pub const SERVICES: [Service; 2] = [
    Service { name: "SQLite", value: "sqlite", not_in: &[] },
    Service { name: "the npm package", value: "package", not_in: &NOT_IN_PACKAGE },
];
pub const POSTGRES: Service = Service { name: "PostgreSQL", value: "postgres", not_in: &[] };
/// A purchase on it is in the gate.
pub const POSTGRES_TWO: Service = Service { name: "two instances on PostgreSQL", value: "postgres-two", not_in: &[] };

/// What only `cargo xtask soak` runs of PostgreSQL: in the gate its crate's contract, one purchase and one kill stand for it.
pub const IN_SOAK: &str = "instances::";
/// The tests of the crate `guichet-sandbox-postgres`, and the one of them that is in the gate.
pub const POSTGRES_CRATE: &str = "lib guichet_sandbox_postgres";
pub const CONTRACT: &str = "tests::two_instances_on_one_database_keep_the_contract";

/// Bad input, credentials, the control API, faults, the life of payments and eSIM orders, idempotency and billing.
const ON_EACH: [&str; 13] = [
    "billing::",
    "billing_bad_input::",
    "control_api::",
    "front_page::",
    "openapi::the_openapi_description_is_public",
    "sandbox_bad_input::",
    "sandbox_credentials::",
    "sandbox_customers_esim::",
    "sandbox_every_operation::",
    "sandbox_faults::",
    "sandbox_idempotency::",
    "sandbox_intent_states::",
    "sandbox_service::",
];

/// What takes minutes: `cargo xtask test --newest` runs these on the npm package. The models run in memory and on SQLite in any run, and
/// schemathesis in memory, because what it checks does not depend on the store.
const AT_LENGTH: [&str; 5] = [
    "billing_model::",
    "generated_clients::a_generated_python_client_pays_at_the_sandbox",
    "sandbox_model::",
    "sandbox_session_model::",
    "schemathesis::",
];

const NOT_IN_PACKAGE: [(&str, &str); 2] = [
    ("billing::due_work_runs_without_a_request", NO_DATABASE),
    ("sandbox_idempotency::keys_survive_a_restart_and_end_with_a_reset_and_only_their_digests_are_stored", NO_DATABASE),
];
const NO_DATABASE: &str = "it reads the database file, and the package has none";

/// The purchase in a browser, on each.
const PURCHASE: &str = "purchase::chromium::";

impl Service {
    /// The command that runs the tests of the binary `service`.
    pub fn tests(&self, binary: &Binary) -> Result<Command> {
        require_tests(binary, ON_EACH.into_iter().chain(self.not_in.iter().map(|(test, _)| *test)))?;
        let mut command = binary.command();
        command.env(CHOICE, self.value).args(ON_EACH);
        for (test, _) in self.not_in {
            command.args(["--skip", test]);
        }
        Ok(command)
    }

    /// The command that runs the purchase of the binary `pages`.
    pub fn purchase(&self, binary: &Binary) -> Result<Command> {
        require_tests(binary, [PURCHASE])?;
        let mut command = binary.command();
        command.env(CHOICE, self.value).arg(PURCHASE);
        Ok(command)
    }
}

/// The tests that take minutes on one core.
const LONG: &str = "schemathesis::";

/// The command that runs the tests of the binary `service` that take minutes on one core, and the command that runs all others.
pub fn long_and_others(binary: &Binary) -> Result<(Command, Command)> {
    require_tests(binary, [LONG, IN_SOAK])?;
    let (mut long, mut others) = (binary.command(), binary.command());
    long.arg(LONG);
    others.args(["--skip", LONG, "--skip", IN_SOAK]);
    Ok((long, others))
}

/// The command that runs the long tests of the binary `service` on the npm package.
pub fn at_length(binary: &Binary) -> Result<Command> {
    require_tests(binary, AT_LENGTH)?;
    let mut command = binary.command();
    command.env(CHOICE, "package").args(AT_LENGTH);
    Ok(command)
}

/// Fails if a filter matches no test: a test was renamed, and its filter was not.
fn require_tests<'a>(binary: &Binary, filters: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let mut tests = Vec::new();
    run_reading(binary.command().args(["--list", "--format=terse"]), |line| tests.push(line.to_owned()))?;
    for filter in filters {
        ensure!(
            tests.iter().any(|test| test.starts_with(filter)),
            "no test of {} begins with `{filter}`. Correct its name in xtask/src/services.rs.",
            binary.name
        );
    }
    Ok(())
}
