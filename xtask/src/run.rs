//! A run of checks and tests: it counts them, and goes on when one has failed.

use std::process::Command;
use std::thread::{self, JoinHandle};

use anyhow::{Result, anyhow, bail};

use crate::cargo::run_reading;
use crate::consumers::Checks;
use crate::durations::Durations;
use crate::steps::{self, Background, Steps, bold};

/// One run and its results.
pub struct Run {
    pub steps: Steps,
    tally: Tally,
    /// The tests and checks that could not run on this machine, with the remedy. They count neither as passed nor as
    /// failed.
    pub not_run: Vec<String>,
}

impl Run {
    pub fn start() -> Self {
        Self { steps: Steps::start(), tally: Tally::default(), not_run: Vec::new() }
    }

    /// Prints every step, the slowest tests, and the numbers of passed and failed tests.
    pub fn finish(self, result: Result<()>) -> Result<()> {
        println!("\n{}\n", self.steps.table());
        println!("{}\n", self.tally.durations);
        for what in &self.not_run {
            println!("not run: {what}");
        }
        let Tally { passed, mut failed, .. } = self.tally;
        if result.is_err() {
            // A set-up or a build failed, so its tests have not run.
            failed += 1;
        }
        print!("{}", self.steps.failures());
        println!("{}", bold(&format!("{passed} passed, {failed} failed")));
        match result {
            Ok(()) if failed > 0 => bail!("failures are marked above"),
            result => result,
        }
    }

    /// Runs some tests, one command after the other, beside others. In one process, long ones would begin late and end
    /// alone.
    pub fn beside(&mut self, some: Vec<(String, Command)>, others: impl FnOnce(&mut Self)) -> Result<()> {
        let some = thread::spawn(move || {
            let run = |(name, mut command)| {
                let mut tally = Tally::default();
                let done = steps::timed(|remark| tally.run(&mut command, remark));
                (name, tally, done)
            };
            Ok(some.into_iter().map(run).collect::<Vec<_>>())
        });
        others(self);
        for (name, tally, done) in join(some)? {
            self.tally.add(tally);
            if let Err(error) = self.steps.finished(&name, done) {
                eprintln!("{error:#}");
            }
        }
        Ok(())
    }

    /// Counts the results of the checks of the packages.
    pub fn count(&mut self, checks: Checks) {
        for (what, done) in checks {
            let result = self.steps.finished(&what, done);
            self.set_up(result);
        }
    }

    /// Waits for a set-up that only some tests need, and counts it.
    pub fn ready(&mut self, set_up: Background<()>) {
        let result = self.steps.join(set_up);
        self.set_up(result);
    }

    /// Counts a set-up that only some tests need.
    pub fn set_up(&mut self, result: Result<()>) {
        if let Err(error) = &result {
            eprintln!("{error:#}");
        }
        self.tally.check(&result);
    }

    /// Runs a check, which counts as one test. If it fails, the run continues and fails at the end.
    pub fn check(&mut self, name: &str, work: impl FnOnce(&mut String) -> Result<()>) {
        let result = self.steps.step(name, work);
        self.set_up(result);
    }

    /// Runs a `cargo test` and counts its tests.
    pub fn tests(&mut self, name: &str, command: &mut Command) {
        let tally = &mut self.tally;
        let result = self.steps.step(name, |remark| tally.run(command, remark));
        if let Err(error) = result {
            eprintln!("{error:#}");
        }
    }
}

/// Waits for a background thread. Returns its result.
pub fn join<T>(work: JoinHandle<Result<T>>) -> Result<T> {
    work.join().unwrap_or_else(|_| bail!("a part of xtask has panicked"))
}

/// The numbers of passed and failed tests and checks.
#[derive(Default)]
struct Tally {
    passed: u32,
    failed: u32,
    durations: Durations,
    /// What libtest says of the tests that failed.
    failures: Vec<String>,
}

impl Tally {
    /// Counts a check as one test.
    fn check(&mut self, result: &Result<()>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(_) => self.failed += 1,
        }
    }

    /// Runs a `cargo test`, prints its output, and counts its tests.
    fn run(&mut self, command: &mut Command, remark: &mut String) -> Result<()> {
        let mut here = Tally::default();
        let result = run_reading(command, |line| {
            println!("{line}");
            here.read(line);
            self.durations.read(line);
        });
        *remark = format!("{} passed, {} failed", here.passed, here.failed);
        self.passed += here.passed;
        // The command may have failed before it ran any test.
        self.failed += if result.is_err() { here.failed.max(1) } else { here.failed };
        result.map_err(|error| anyhow!("{error:#}\n{}", here.failures.join("\n")))
    }

    /// Adds the results of other tests.
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.durations.add(other.durations);
    }

    /// Parses `test result: ok. 12 passed; 0 failed; 1 ignored; …`, and keeps the lines from `failures:` on, without
    /// the frames of backtraces; ignores any other line.
    fn read(&mut self, line: &str) {
        let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|result| result.split_once(". ")) else {
            let frame = line.trim_start().split_once(": ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
            if (line == "failures:" || !self.failures.is_empty()) && !frame {
                self.failures.push(line.to_owned());
            }
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
            "test protocol::a_test_result_is_read ... FAILED",
            "failures:",
            "---- protocol::a_test_result_is_read stdout ----",
            "   3: xtask::test::tests",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
        ] {
            tally.read(line);
        }
        assert_eq!((tally.passed, tally.failed), (15, 2));
        assert_eq!(tally.failures, ["failures:", "---- protocol::a_test_result_is_read stdout ----"]);
    }
}
