//! `cargo xtask test`: all tests and checks, browsers included.

use std::process::Command;
use std::thread;

use anyhow::{Result, ensure};

use crate::binaries::{Binary, PRODUCT};
use crate::cargo::{cargo, run};
use crate::consumers;
use crate::npm::Tools;
use crate::pack::Packages;
use crate::run::{Run, join};
use crate::steps::{Steps, in_background};
use crate::{
    binaries, book, frameworks, generate, release, rust_consumers, rust_page, semver, services, setup, size,
    static_binary, toolchains, unit_tests,
};

#[derive(clap::Args)]
pub struct Options {
    /// Also run in Firefox and WebKit the tests that otherwise run in Chromium alone
    #[arg(long)]
    all_engines: bool,
    /// Run the checks that may fail without a change here: the newest tools from npm, other versions of Rust, the
    /// dependencies' licences, sources and advisories, semver checks
    #[arg(long, conflicts_with = "all_engines")]
    newest: bool,
    /// Run only those checks of the packages in their users' toolchains whose name contains this; with `--newest`, of
    /// frameworks too
    #[arg(long, value_name = "PART", num_args = 0..=1, default_missing_value = "")]
    consumers: Option<String>,
}

pub fn command(options: &Options) -> Result<()> {
    let mut run = Run::start();
    let result = match &options.consumers {
        Some(part) => run.consumers_alone(part, options.newest),
        None if options.newest => run.newest(),
        None => run.gate(options.all_engines),
    };
    run.finish(result)
}

impl Run {
    /// The checks that must pass before a change is merged, with locked versions of every tool. Stops only if nothing
    /// else can run. Tests that do not depend on the engine run in Chromium, or with `all_engines` in all of them.
    fn gate(&mut self, all_engines: bool) -> Result<()> {
        self.steps.step("set-up: the wasm32 target", setup::wasm_target)?;
        // Both the packages and the checks have long parts that use one core.
        let packages = in_background("the packages, beside the checks of the code", |remark| {
            let tools = pack_tools(remark)?;
            let packages = Packages::build(&mut Steps::start(), &tools)?;
            let tarballs = packages.tarballs()?;
            Ok((tools, packages, tarballs))
        });
        // These wait for the network, and cargo does not.
        let tools = in_background("set-up: the toolchains from npm", locked_tools);
        let browsers = in_background("set-up: the browsers", setup::browsers);
        let schemathesis = in_background("set-up: schemathesis", setup::schemathesis);
        let generator = in_background("set-up: the generator of clients", setup::typescript_generator);
        let servers = in_background("set-up: the example servers", setup::example_servers);
        let databases = in_background("set-up: PostgreSQL and Redis", setup::databases);
        let lynx = in_background("set-up: lynx", setup::lynx);

        self.check("format", |_| {
            require_component("fmt", "rustfmt")?;
            run(&mut cargo(["fmt", "--all", "--check"]))
        });
        self.check("clippy: native", |_| {
            require_component("clippy", "clippy")?;
            clippy(&[&NATIVE[..], &["--all-targets"]].concat())
        });
        self.check("clippy: wasm32", |_| clippy(&BROWSER));
        self.check("documentation", |_| {
            // `--examples` selects no target here. It turns on the features of dev-dependencies, so that the crates are
            // used which clippy has checked.
            let mut doc = cargo(["doc", "--no-deps", "--lib", "--examples"]);
            run(doc.args(NATIVE).env("RUSTDOCFLAGS", "--cfg docsrs --deny warnings"))
        });
        self.features_alone(&FEATURES);

        self.check("the sandbox and the rules of a server for wasm32", |_| sandbox_for_wasm());

        let (pack_tools, packages, tarballs) = self.steps.join(packages)?;
        self.check(generate::SENTENCES, |_| generate::sentences(true));
        self.measure(&packages);
        let packed = packages.guichet;
        self.check("what a page loads", |remark| {
            let sizes = size::measure(&packed, &pack_tools)?;
            println!("{sizes}");
            sizes.check_budget()?;
            *remark = "within the budget".to_owned();
            Ok(())
        });

        // The package is checked while the tests are built, and beside those that need no browser.
        let tools = self.steps.join(tools)?;
        let consumers = thread::spawn({
            let tools = tools.clone();
            move || consumers::check_all(&tarballs, &tools, &tools, false, "")
        });
        let binaries = self.steps.step("build the tests", |_| binaries::build())?;

        let (pages, others): (Vec<_>, Vec<_>) = binaries.iter().partition(|binary| binary.is_test("pages"));
        self.ready(schemathesis);
        self.ready(generator);
        self.ready(databases);
        self.ready(lynx);
        let (services, units): (Vec<_>, Vec<_>) = others.into_iter().partition(|binary| binary.is_test("service"));
        let unit_tests = |unit: &Binary| (format!("tests: {}", unit.name), unit.command());
        let mut beside: Vec<_> = units.into_iter().map(unit_tests).collect();
        let mut documentation = cargo(["test", "--doc"]);
        documentation.args(PRODUCT);
        beside.push(("tests of the documentation".to_owned(), documentation));
        for binary in &services {
            let result = self.tests_of_the_service(binary, std::mem::take(&mut beside));
            if result.is_err() {
                self.set_up(result);
            }
        }
        for application in APPLICATIONS {
            self.tests(application, cargo(["test"]).args(["--package", application]));
        }
        self.tests("tests of xtask", &mut cargo(["test", "--package=xtask"]));
        // On a new machine, compiling Firefox's driver takes until here.
        self.ready(browsers);
        self.check("the example of the browser module", |_| unit_tests::compile_example());
        self.unit_tests_in_browsers();
        self.check("Rust crates that depend on guichet", |_| rust_consumers::look(&packed));
        self.rust_page();
        self.ready(servers);
        self.count(join(consumers)?);
        for binary in &pages {
            let result = self.tests_of_pages(binary, &services, &tools);
            if result.is_err() {
                self.set_up(result);
            }
        }
        if all_engines {
            for binary in pages {
                self.other_engines(binary, &tools, &consumers::TESTS_OF_NEWEST)?;
            }
        }
        Ok(())
    }

    /// Runs the tests of the service, and beside them other tests and those that take minutes on one core.
    fn tests_of_the_service(&mut self, binary: &Binary, mut beside: Vec<(String, Command)>) -> Result<()> {
        let (long, mut others) = services::long_and_others(binary)?;
        beside.push(("tests: requests by schemathesis, beside these".to_owned(), long));
        self.beside(beside, |run| {
            run.tests(&format!("tests: {}", binary.name), &mut others);
        })
    }

    /// Runs the tests of pages, and beside them the whole checks of the example servers and of the right shop.
    fn tests_of_pages(&mut self, binary: &Binary, services: &[&Binary], tools: &Tools) -> Result<()> {
        let (mut checks, mut others) = (binary.command(), binary.command());
        checks
            .arg(CHECKS)
            .args(CHECKS_OF_NEWEST.iter().chain(&consumers::TESTS_OF_NEWEST).flat_map(|test| ["--skip", *test]));
        let skipped = consumers::TESTS_OF_NEWEST.iter().chain([&CHECKS, &IN_SOAK]).flat_map(|test| ["--skip", *test]);
        others.args(skipped).env(NPM_TOOLS, tools.folder());
        let mut checks = vec![("tests: the check of the example servers, beside these".to_owned(), checks)];
        for service in services {
            let mut check = service.command();
            check.arg(services::RIGHT_SHOP);
            checks.push(("tests: the check of a right shop, beside these".to_owned(), check));
        }
        self.beside(checks, |run| {
            run.tests(&format!("tests: {}", binary.name), &mut others);
        })
    }

    /// Runs the tests in Firefox and in WebKit that otherwise run in Chromium alone.
    fn other_engines(&mut self, pages: &Binary, tools: &Tools, not_built: &[&str]) -> Result<()> {
        let tests = pages.tests()?;
        for engine in ["firefox", "webkit"] {
            let mut command = pages.command();
            command.env("GUICHET_ENGINE", engine).env(NPM_TOOLS, tools.folder());
            // These have already run in all three.
            for module in ["::chromium::", "::firefox::", "::webkit::", "::on_other_services::"]
                .iter()
                .chain(&NEED_NO_BROWSER)
                .chain(not_built)
            {
                command.args(["--skip", module]);
            }
            for (module, _) in CANNOT_RUN.iter().filter(|(_, engines)| engines.contains(&engine)) {
                command.args(["--skip", module]);
                let tests = tests.iter().filter(|test| test.contains(module));
                self.not_run.extend(tests.map(|test| format!("{test} in {engine}")));
            }
            self.tests(&format!("tests: pages in {engine}"), &mut command);
        }
        Ok(())
    }

    /// The checks that may fail without a change in this project: the newest tools from npm, other versions of Rust,
    /// what is known about the dependencies, and semver checks against the last release.
    fn newest(&mut self) -> Result<()> {
        let pack_tools = setup::to_pack(&mut self.steps)?;
        let tools = self.steps.step("set-up: the locked toolchains from npm", locked_tools)?;
        let newest = self.steps.step("set-up: the newest tools from npm", |remark| {
            let newest = Tools::newest()?;
            *remark = newest.versions()?;
            Ok(newest)
        })?;
        self.steps.step("set-up: the browsers", setup::browsers)?;
        self.steps.step("set-up: the example servers", setup::example_servers)?;
        self.steps.step("set-up: PostgreSQL and Redis", setup::databases)?;
        self.steps.step("set-up: schemathesis", setup::schemathesis)?;
        self.steps.step("set-up: the generators of clients", setup::client_generators)?;
        self.steps.step("set-up: the applications in Go and on Laravel", setup::applications)?;
        let packages = Packages::build(&mut self.steps, &pack_tools)?;
        let tarballs = self.steps.step("the tarballs", |_| packages.tarballs())?;
        self.measure(&packages);
        self.check(release::REPRODUCED, |_| release::reproduce(&tarballs.all()));
        let consumers = thread::spawn({
            let newest = newest.clone();
            move || consumers::check_all(&tarballs, &tools, &newest, true, "")
        });
        let binaries = self.steps.step("build the tests", |_| binaries::build())?;
        self.count(join(consumers)?);
        self.rust_page();
        for binary in binaries.iter().filter(|binary| binary.is_test("pages")) {
            let mut command = binary.command();
            let languages = consumers::TESTS_OF_NEWEST.into_iter().filter(|name| name.starts_with("applications::"));
            command.args(["package::", "accessible::", "next::", "init::"]).args(languages);
            command.env(NPM_TOOLS, newest.folder());
            self.tests("pages built and checked by the newest tools", &mut command);
            let mut checks = binary.command();
            self.tests("tests: the check of the other example servers", checks.args(CHECKS_OF_NEWEST));
            self.other_engines(binary, &newest, &consumers::IN_CHROMIUM)?;
        }
        for binary in binaries.iter().filter(|binary| binary.is_test("service")) {
            match services::at_length(binary) {
                Ok([mut others, mut package]) => {
                    self.tests("tests: the other models and generators", &mut others);
                    self.tests("tests: models and schemathesis on the npm package", &mut package);
                }
                Err(error) => self.set_up(Err(error)),
            }
        }
        for application in APPLICATIONS {
            // Only this test: with sqlx a second provider is compiled in, which the others say is not there.
            let sessions = ["--package", application, "--features=sessions", "--test=sessions"];
            self.tests(&format!("{application}, sessions"), cargo(["test"]).args(sessions));
        }
        self.features_alone(&FEATURES_OF_NEWEST);
        self.check("the pages in Leptos, Yew and Dioxus", |_| frameworks::check());
        self.steps.step("set-up: a compiler for static programs", setup::musl)?;
        self.check("the static program for Linux", |_| static_binary::check());
        self.check("the documents as a site", |_| book::build("build"));
        for toolchain in toolchains::others() {
            match toolchain.is_installed() {
                true => self.check(&format!("Rust {toolchain}"), |remark| toolchain.check(remark)),
                false => self.not_run.push(format!("Rust {toolchain} (rustup toolchain install {toolchain})")),
            }
        }
        self.dependencies();
        match semver::baseline()? {
            Some(baseline) => self.check(&format!("semver: against {baseline}"), |remark| {
                setup::cargo_subcommand(semver::PROGRAM, remark)?;
                semver::check(&baseline)
            }),
            None => self
                .not_run
                .push(format!("semver checks (no tag v* to compare with; {} names a commit)", semver::BASELINE)),
        }
        Ok(())
    }

    /// Checks the licences and sources of all dependencies by `deny.toml`, and the advisories about them where their
    /// database can be reached.
    fn dependencies(&mut self) {
        const DENY: &str = "cargo-deny";
        let deny = |args: &[&str]| run(setup::subcommand(DENY).args(args));
        self.check("dependencies: licences, bans, sources", |remark| {
            setup::cargo_subcommand(DENY, remark)?;
            deny(&["check", "bans", "licenses", "sources"])
        });
        match deny(&["fetch", "db"]) {
            Ok(()) => self.check("dependencies: advisories", |_| deny(&["check", "--disable-fetch", "advisories"])),
            Err(error) => {
                eprintln!("{error:#}");
                self.not_run.push("advisories about dependencies (their database cannot be fetched)".to_owned());
            }
        }
    }

    /// Checks each package with one of its features alone.
    fn features_alone(&mut self, packages: &[(&str, &[&str])]) {
        for (package, features) in packages {
            for feature in *features {
                self.check(&format!("{package} with the feature {feature} alone"), |_| {
                    clippy(&[&format!("--package={package}"), "--features", feature])
                });
            }
        }
    }

    /// Checks the sizes of the packages, but of what a page loads.
    fn measure(&mut self, packages: &Packages) {
        self.check("the size of the sandbox's wasm and of the server's package", |remark| {
            *remark = packages.measure()?.replace('\n', "; ");
            Ok(())
        });
    }

    /// Builds the page in Rust, which tests of pages open.
    fn rust_page(&mut self) {
        self.check("the page in Rust", |remark| {
            let page = rust_page::build()?;
            *remark = format!("{} bytes of wasm", page.wasm);
            Ok(())
        });
    }

    /// The unit tests that need a browser.
    fn unit_tests_in_browsers(&mut self) {
        let runner = self.steps.step("build the runner of unit tests for wasm32", |_| unit_tests::runner());
        let Ok(runner) = runner else { return self.set_up(runner.map(drop)) };
        for engine in unit_tests::ENGINES {
            match engine.command(&runner) {
                Ok(mut command) => self.tests(&format!("unit tests in {}", engine.name), &mut command),
                Err(error) => self.set_up(Err(error)),
            }
        }
    }

    /// Builds the packages and runs the checks of their users' toolchains whose name contains `part`.
    fn consumers_alone(&mut self, part: &str, newest: bool) -> Result<()> {
        let pack_tools = setup::to_pack(&mut self.steps)?;
        let locked = self.steps.step("set-up: the toolchains from npm", locked_tools)?;
        let tarballs = Packages::build(&mut self.steps, &pack_tools)?.tarballs()?;
        let tools = if newest { Tools::newest()? } else { locked.clone() };
        self.count(consumers::check_all(&tarballs, &locked, &tools, newest, part)?);
        Ok(())
    }
}

/// The options of cargo that select all native code.
const NATIVE: [&str; 4] = ["--workspace", "--exclude=rust-page", "--exclude=consumer-own-allocator", "--all-features"];

/// The options of cargo that select the browser's code.
const BROWSER: [&str; 7] = [
    "--package=guichet",
    "--package=rust-page",
    "--lib",
    "--bins",
    "--tests",
    "--features=guichet/js-page,guichet/js-hosted",
    "--target=wasm32-unknown-unknown",
];

/// What only `cargo xtask soak` runs of the tests of pages: 60 checks of correct shops. In the gate each is checked
/// once.
const IN_SOAK: &str = "soak::correct_shops";

/// The whole checks of the example servers.
const CHECKS: &str = "every_rule_of_the_check_passes";

/// Those that only `--newest` runs, because they take minutes: the gate has those of a shop by guichet-server and of
/// one without it.
const CHECKS_OF_NEWEST: [&str; 2] = ["servers::stores::every_rule_of_the_check_passes", "servers::by_profile::"];

/// What the gate runs and no browser changes.
const NEED_NO_BROWSER: [&str; 5] = [CHECKS, "servers::two_runs_of_cron", "servers::stores::", "mutants::", IN_SOAK];

/// The modules of tests that these engines cannot run. `tests/pages` says there why.
const CANNOT_RUN: [(&str, &[&str]); 2] =
    [("::only_chromium::", &["firefox", "webkit"]), ("::not_webkit::", &["webkit"])];

/// The features that can be used alone; "": none. A warning with one of them fails the check. In the gate are the two
/// stores, of which a server has one, and the command as it is installed.
const FEATURES: [(&str, &[&str]); 2] = [("guichet-sessions", &["postgres", "redis"]), ("guichet-cli", &[""])];
/// Those that `--newest` checks.
const FEATURES_OF_NEWEST: [(&str, &[&str]); 5] = [
    ("guichet", &["browser", "shop", "native-no-provider", "axum", "service"]),
    ("guichet-sandbox", &["", "serve", "sqlite"]),
    ("guichet-check", &["native-no-provider"]),
    ("guichet-orders", &["", "sqlite", "postgres"]),
    ("guichet-shop", &["", "postgres"]),
];

/// Applications that use the crate beside their own TLS: `tests/applications`. Each is built alone, because cargo would
/// unify their features.
const APPLICATIONS: [&str; 2] = ["application-default-tls", "application-own-provider"];

/// The environment variable with the folder of the npm tools, for the tests of pages.
const NPM_TOOLS: &str = "GUICHET_NPM_TOOLS";

/// Compiles the sandbox for wasm32: as it is in the npm package `guichet-sandbox`, and alone, where time and randomness
/// come from the caller. Alone it is without wasm-bindgen.
fn sandbox_for_wasm() -> Result<()> {
    const WASM: &str = "--target=wasm32-unknown-unknown";
    for package in ["--package=guichet-sandbox", "--package=guichet-npm-sandbox", "--package=guichet-npm-server"] {
        clippy(&["--lib", package, WASM])?;
    }
    let tree = cargo(["tree", "--edges=normal", "--prefix=none", "--package=guichet-sandbox", WASM]).output()?;
    ensure!(tree.status.success(), "cargo tree has failed");
    let tree = String::from_utf8(tree.stdout)?;
    for of_javascript in ["wasm-bindgen", "js-sys", "web-sys"] {
        ensure!(
            !tree.lines().any(|line| line.starts_with(of_javascript)),
            "the sandbox alone depends on {of_javascript} for wasm32"
        );
    }
    Ok(())
}

/// Lints. A warning is an error.
fn clippy(options: &[&str]) -> Result<()> {
    run(cargo(["clippy"]).args(options).args(["--", "--deny=warnings"]))
}

fn pack_tools(remark: &mut String) -> Result<Tools> {
    with_versions(Tools::pack, remark)
}

fn locked_tools(remark: &mut String) -> Result<Tools> {
    with_versions(Tools::locked, remark)
}

/// Installs tools from npm. Their versions are the step's remark.
fn with_versions(install: fn() -> Result<Tools>, remark: &mut String) -> Result<Tools> {
    setup::node(remark)?;
    let tools = install()?;
    *remark = tools.versions()?;
    Ok(tools)
}

/// Fails if cargo does not have this subcommand: a check that cannot run has not passed.
fn require_component(subcommand: &str, component: &str) -> Result<()> {
    let output = cargo([subcommand, "--version"]).output();
    ensure!(
        output.is_ok_and(|output| output.status.success()),
        "cargo {subcommand} is not installed. Run `rustup component add {component}`."
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_component_is_a_failure() {
        let error = require_component("no-such-subcommand", "clippy").expect_err("there is no such subcommand");
        assert!(error.to_string().contains("rustup component add clippy"), "{error}");
        assert!(require_component("fmt", "rustfmt").is_ok());
    }
}
