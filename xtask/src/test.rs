//! `cargo xtask test`: everything the project promises, browsers included.

use anyhow::{Result, bail};

use crate::cargo::{cargo, run, run_reading};
use crate::steps::{Steps, bold};
use crate::{pack, setup, types};

pub fn verb(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("usage: cargo xtask test");
    }
    let mut steps = Steps::begin();
    let mut tally = Tally::default();
    let result = everything(&mut steps, &mut tally);

    println!("\n{}\n", steps.table());
    if result.is_err() && tally.failed == 0 {
        // What failed was a check, or never came as far as its tests.
        tally.failed = 1;
    }
    println!("{}", bold(&format!("{} passed, {} failed", tally.passed, tally.failed)));
    result
}

fn everything(steps: &mut Steps, tally: &mut Tally) -> Result<()> {
    steps.step("set-up: the wasm32 target", setup::wasm_target)?;
    steps.step("set-up: the browser", setup::browser)?;
    steps.step("set-up: Node.js", setup::node)?;

    steps.step("format", |remark| {
        if !has_component("fmt", remark) {
            return Ok(());
        }
        run(&mut cargo(["fmt", "--all", "--check"]))?;
        tally.check();
        Ok(())
    })?;
    for (face, what) in [
        ("clippy: native", &["--workspace", "--all-targets", "--all-features"][..]),
        ("clippy: wasm32", &["--package=guichet", "--lib", "--target=wasm32-unknown-unknown"]),
    ] {
        steps.step(face, |remark| {
            if !has_component("clippy", remark) {
                return Ok(());
            }
            run(cargo(["clippy"]).args(what).args(["--", "--deny=warnings"]))?;
            tally.check();
            Ok(())
        })?;
    }

    let packed = pack::quick(steps)?;
    steps.step("types", |remark| {
        types::check(&packed.place, remark)?;
        tally.check();
        Ok(())
    })?;

    // Each package on its own: together, their features would be unified, and what
    // the commands above and `cargo xtask demo` have built would be built again.
    const GUICHET: [&str; 3] = ["test", "--package=guichet", "--all-features"];
    steps.step("build the tests", |_| run(cargo(GUICHET).arg("--no-run")))?;
    steps.step("tests", |remark| {
        let tests = ["--no-fail-fast", "--lib", "--bins", "--tests", "--examples"];
        tally.run(cargo(GUICHET).args(tests), remark)
    })?;
    steps.step("tests of the documentation", |remark| tally.run(cargo(GUICHET).arg("--doc"), remark))?;
    steps.step("tests of xtask", |remark| tally.run(&mut cargo(["test", "--package=xtask"]), remark))
}

/// Whether a component of the toolchain is there; the step is left out where it is not.
fn has_component(name: &str, remark: &mut String) -> bool {
    let there = cargo([name, "--version"]).output().is_ok_and(|output| output.status.success());
    if !there {
        *remark = format!("LEFT OUT: cargo {name} is not installed (rustup component add)");
    }
    there
}

/// How many tests and checks have passed, and how many have not.
#[derive(Default)]
struct Tally {
    passed: u32,
    failed: u32,
}

impl Tally {
    /// Counts a check that passed: it stands for one test.
    fn check(&mut self) {
        self.passed += 1;
    }

    /// Runs a `cargo test`, showing what it says, and counts its tests.
    fn run(&mut self, command: &mut std::process::Command, remark: &mut String) -> Result<()> {
        let mut here = Tally::default();
        let result = run_reading(command, |line| {
            println!("{line}");
            here.read(line);
        });
        *remark = format!("{} passed, {} failed", here.passed, here.failed);
        self.passed += here.passed;
        self.failed += here.failed;
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
