//! The tests that ask the service over HTTP, by service. In memory all of them run. Once more run: on SQLite those that depend on the
//! store, and on the npm package `guichet-sandbox` a purchase by forms, every operation and the faults.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::binaries::Binary;
use crate::cargo::run_reading;

/// A service, and the tests that it runs.
pub struct Service {
    pub name: &'static str,
    /// The value of [`CHOICE`].
    value: &'static str,
    /// How the names of its tests begin.
    tests: &'static [&'static str],
}

/// The variable that chooses the service.
const CHOICE: &str = "GUICHET_TEST_SERVICE";

/// What is stored and read again. The input that is refused, the credentials and the front page do not depend on the store.
const SQLITE: Service = Service {
    name: "SQLite",
    value: "sqlite",
    tests: &[
        "billing::",
        "billing_bad_input::a_plan_code_is_unique_per_merchant",
        "billing_bad_input::the_clock_only_goes_forward_and_a_refused_move_bills_no_customer",
        "control_api::every_described_call_of_the_control_api_answers_as_described",
        "sandbox_customers_esim::",
        "sandbox_every_operation::",
        "sandbox_faults::",
        "sandbox_idempotency::",
        "sandbox_intent_states::",
        "sandbox_service::a_customer_pays_with_a_test_phone_and_the_merchant_sees_it",
        "sandbox_service::a_page_of_large_intents_ends_early_without_gaps",
        "sandbox_service::a_reference_with_another_body_is_a_conflict_with_the_existing_id",
        "sandbox_service::objects_of_one_second_are_listed_in_the_order_of_creation",
        "sandbox_service::only_test_cards_are_accepted_and_no_number_is_stored",
        "sandbox_service::pages_of_a_list_continue_without_gaps",
        "sandbox_service::sixty_four_concurrent_equal_creates_make_one_intent",
        "sandbox_service::two_merchants_do_not_see_each_other",
    ],
};
/// The rules are those of the sandbox in memory, so each operation by its example stands for them, and one purchase for the forms.
const PACKAGE: Service = Service {
    name: "the npm package",
    value: "package",
    tests: &["hosted_without_script::a_customer_without_script", "sandbox_every_operation::", "sandbox_faults::"],
};
pub const SERVICES: [Service; 2] = [SQLITE, PACKAGE];
/// What only `cargo xtask test --newest` runs: two models, whose rules the gate has in tests with fixed sequences, beside the models
/// `billing_model` and `sandbox_model`; and a client that is generated in Python, beside the one in TypeScript.
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

/// The purchase in a browser, on each.
const PURCHASE: &str = "purchase::chromium::a_customer_pays_with_a_test_phone_and_is_back_in_the_shop_paid";

impl Service {
    /// The command that runs the tests of the binary `service`.
    pub fn tests(&self, binary: &Binary) -> Result<Command> {
        require_tests(binary, self.tests.iter().copied())?;
        let mut command = binary.command();
        command.env(CHOICE, self.value).args(self.tests);
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
    let skipped = IN_NEWEST.into_iter().chain([LONG]);
    require_tests(binary, skipped.clone())?;
    let (mut long, mut others) = (binary.command(), binary.command());
    long.arg(LONG);
    others.args(skipped.flat_map(|test| ["--skip", test]));
    Ok((long, others))
}

/// The commands that run in memory what is not in the gate, and the long tests of the binary `service` on the npm package.
pub fn at_length(binary: &Binary) -> Result<[Command; 2]> {
    require_tests(binary, IN_NEWEST.into_iter().chain(AT_LENGTH))?;
    let (mut others, mut package) = (binary.command(), binary.command());
    others.args(IN_NEWEST);
    package.env(CHOICE, "package").env("GUICHET_EXAMPLES", "200").args(AT_LENGTH);
    Ok([others, package])
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
