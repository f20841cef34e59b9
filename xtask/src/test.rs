//! `cargo xtask test`: everything the project promises, browsers included.

use std::thread::{self, JoinHandle};

use anyhow::{Result, bail, ensure};

use crate::cargo::{cargo, run, run_reading};
use crate::consumers::{self, Found};
use crate::durations::Durations;
use crate::npm::Tools;
use crate::steps::{Steps, bold, meanwhile};
use crate::{binaries, pack, setup, size};

pub fn verb(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("usage: cargo xtask test");
    }
    let mut run = Run { steps: Steps::begin(), tally: Tally::default() };
    let result = run.everything();

    println!("\n{}\n", run.steps.table());
    println!("{}\n", run.tally.durations);
    let Tally { passed, mut failed, .. } = run.tally;
    if result.is_err() {
        // What failed was a set-up or a build: the tests it was for have not been run.
        failed += 1;
    }
    println!("{}", bold(&format!("{passed} passed, {failed} failed")));
    match result {
        Ok(()) if failed > 0 => bail!("what has failed is marked above"),
        result => result,
    }
}

/// One run: what was done, and what came of it.
struct Run {
    steps: Steps,
    tally: Tally,
}

/// Each package on its own: together, their features would be unified, and what the other commands have built would
/// be built again.
const GUICHET: [&str; 3] = ["test", "--package=guichet", "--all-features"];

impl Run {
    /// Stops only at what nothing can go on without.
    fn everything(&mut self) -> Result<()> {
        self.steps.step("set-up: the wasm32 target", setup::wasm_target)?;
        // They wait for the network, and cargo does not: all at once.
        let tools = meanwhile("set-up: Node.js and the tools from npm", |remark| {
            setup::node(remark)?;
            let (locked, newest) = (Tools::locked()?, Tools::newest()?);
            *remark = newest.versions()?;
            Ok((locked, newest))
        });
        let browsers = meanwhile("set-up: the browsers", setup::browsers);
        let schemathesis = meanwhile("set-up: schemathesis", setup::schemathesis);

        self.check("format", |_| {
            require_component("fmt", "rustfmt")?;
            run(&mut cargo(["fmt", "--all", "--check"]))
        });
        for (name, options) in CLIPPY {
            self.check(name, |_| {
                require_component("clippy", "clippy")?;
                run(cargo(["clippy"]).args(options))
            });
        }

        let (locked, newest) = self.steps.joined(tools)?;
        let packed = pack::whole(&mut self.steps, &locked)?;
        let tarball = self.steps.step("the tarball", |_| packed.tarball())?;
        self.check("what a page loads", |remark| {
            let sizes = size::measure(&packed, &locked)?;
            println!("{sizes}");
            sizes.hold()?;
            *remark = "within the budget".to_owned();
            Ok(())
        });

        // Those who use the package look at it while the tests are built.
        let consumers: JoinHandle<Result<Vec<Found>>> =
            thread::spawn(move || consumers::look(&tarball, &locked, &newest));
        let binaries = self.steps.step("build the tests", |_| binaries::build())?;
        for Found { what, took, remark, result } in joined(consumers)? {
            let failed = self.steps.done(what, took, remark, result);
            self.tally.check(&failed);
        }

        let browsers = self.steps.joined(browsers);
        if let Err(error) = &browsers {
            eprintln!("{error:#}");
        }
        self.tally.check(&browsers);

        let schemathesis = self.steps.joined(schemathesis);
        if let Err(error) = &schemathesis {
            eprintln!("{error:#}");
        }
        self.tally.check(&schemathesis);

        for binary in &binaries {
            self.tests(&format!("tests: {}", binary.name), &mut binary.command());
        }
        self.tests("tests of the documentation", cargo(GUICHET).arg("--doc"));
        self.tests("tests of xtask", &mut cargo(["test", "--package=xtask"]));
        Ok(())
    }

    /// A check stands for one test. Where it fails, the run goes on and fails in the end.
    fn check(&mut self, name: &str, work: impl FnOnce(&mut String) -> Result<()>) {
        let result = self.steps.step(name, work);
        if let Err(error) = &result {
            eprintln!("{error:#}");
        }
        self.tally.check(&result);
    }

    /// Runs a `cargo test`, and counts its tests.
    fn tests(&mut self, name: &str, command: &mut std::process::Command) {
        let tally = &mut self.tally;
        let result = self.steps.step(name, |remark| tally.run(command, remark));
        if let Err(error) = result {
            eprintln!("{error:#}");
        }
    }
}

/// The lints of everything that is native, and of the browser's half. Tests say for themselves what they may do.
const CLIPPY: [(&str, &[&str]); 2] = [
    ("clippy: native", &["--workspace", "--all-targets", "--all-features", "--", "--deny=warnings"]),
    ("clippy: wasm32", &["--package=guichet", "--lib", "--target=wasm32-unknown-unknown", "--", "--deny=warnings"]),
];

/// What came of work that was done meanwhile.
fn joined<T>(work: JoinHandle<Result<T>>) -> Result<T> {
    work.join().unwrap_or_else(|_| bail!("a part of xtask has panicked"))
}

/// Fails if cargo does not have this subcommand. A check that cannot run has not passed.
fn require_component(subcommand: &str, component: &str) -> Result<()> {
    let output = cargo([subcommand, "--version"]).output();
    ensure!(
        output.is_ok_and(|output| output.status.success()),
        "cargo {subcommand} is not installed. Run `rustup component add {component}`."
    );
    Ok(())
}

/// How many tests and checks have passed, and how many have not.
#[derive(Default)]
struct Tally {
    passed: u32,
    failed: u32,
    durations: Durations,
}

impl Tally {
    /// Counts a check: it stands for one test.
    fn check(&mut self, result: &Result<()>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(_) => self.failed += 1,
        }
    }

    /// Runs a `cargo test`, showing what it says, and counts its tests.
    fn run(&mut self, command: &mut std::process::Command, remark: &mut String) -> Result<()> {
        let mut here = Tally::default();
        let result = run_reading(command, |line| {
            println!("{line}");
            here.read(line);
            self.durations.read(line);
        });
        *remark = format!("{} passed, {} failed", here.passed, here.failed);
        self.passed += here.passed;
        // It may never have come as far as its tests.
        self.failed += if result.is_err() { here.failed.max(1) } else { here.failed };
        result
    }

    /// Reads `test result: ok. 12 passed; 0 failed; 1 ignored; …`, and nothing else.
    fn read(&mut self, line: &str) {
        let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|result| result.split_once(". ")) else {
            return;
        };
        for count in counts.split("; ") {
            match count.split_once(' ') {
                Some((n, "passed")) => self.passed += n.parse().unwrap_or(0),
                Some((n, "failed")) => self.failed += n.parse().unwrap_or(0),
                _ => {}
            }
        }
    }
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

    #[test]
    fn the_tests_of_every_binary_are_counted() {
        let mut tally = Tally::default();
        for line in [
            "running 13 tests",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test protocol::a_test_result_is_read ... ok",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
        ] {
            tally.read(line);
        }
        assert_eq!((tally.passed, tally.failed), (15, 2));
    }
}
