//! Prints the progress of a run: each step's name when it begins and its duration when it ends, and a
//! table of all steps at the end.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;

/// The steps of one run, in order.
pub struct Steps {
    start: Instant,
    finished: Vec<FinishedStep>,
}

/// What a step has done.
pub struct Done<T> {
    duration: Duration,
    remark: String,
    result: Result<T>,
}

/// Runs `work` and measures it. Its `remark` is printed after the duration.
pub fn timed<T>(work: impl FnOnce(&mut String) -> Result<T>) -> Done<T> {
    let (start, mut remark) = (now(), String::new());
    let result = work(&mut remark);
    Done { duration: start.elapsed(), remark, result }
}

/// A step that runs in the background.
pub struct Background<T> {
    name: &'static str,
    work: JoinHandle<Done<T>>,
}

/// Starts `work` in the background as the step `name`. [`Steps::join`] waits for it.
pub fn in_background<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce(&mut String) -> Result<T> + Send + 'static,
) -> Background<T> {
    Background { name, work: thread::spawn(|| timed(work)) }
}

struct FinishedStep {
    name: String,
    duration: Duration,
    remark: String,
    /// The error, if it failed.
    error: Option<String>,
}

/// The last lines of each error that are printed again at the end.
const LINES_OF_ERROR: usize = 60;

impl Steps {
    pub fn start() -> Self {
        Self { start: now(), finished: Vec::new() }
    }

    /// Runs `work` as the step `name`.
    pub fn step<T>(&mut self, name: &str, work: impl FnOnce(&mut String) -> Result<T>) -> Result<T> {
        println!("{}", bold(&format!("── {name}")));
        self.record(name, timed(work))
    }

    /// Waits for a background step and prints it.
    pub fn join<T>(&mut self, background: Background<T>) -> Result<T> {
        let panicked = |_| timed(|_| Err(anyhow::anyhow!("{}: this part of xtask has panicked", background.name)));
        self.finished(background.name, background.work.join().unwrap_or_else(panicked))
    }

    /// Prints a step that has run in the background.
    pub fn finished<T>(&mut self, name: &str, done: Done<T>) -> Result<T> {
        println!("{}", bold(&format!("── {name}")));
        self.record(name, done)
    }

    fn record<T>(&mut self, name: &str, Done { duration, remark, result }: Done<T>) -> Result<T> {
        let error = result.as_ref().err().map(|error| format!("{error:#}"));
        let step = FinishedStep { name: name.to_owned(), duration, remark, error };
        println!("   {}", step.line());
        self.finished.push(step);
        result
    }

    /// The duration of the run until now.
    pub fn elapsed(&self) -> String {
        seconds(self.start.elapsed())
    }

    /// A table of all steps with their durations, and the total.
    pub fn table(&self) -> String {
        let width = self.finished.iter().map(|step| step.name.chars().count()).max().unwrap_or(0);
        let mut table = String::new();
        for step in &self.finished {
            let _ = writeln!(table, "{:<width$}  {}", step.name, step.line());
        }
        let _ = write!(table, "{:<width$}  {:>8}", "total", self.elapsed());
        table
    }

    /// What failed, with the end of each error: of a run elsewhere, only the end of its output may be kept.
    pub fn failures(&self) -> String {
        let mut failures = String::new();
        for step in &self.finished {
            let Some(error) = &step.error else { continue };
            let lines: Vec<&str> = error.lines().collect();
            let end = lines[lines.len().saturating_sub(LINES_OF_ERROR)..].join("\n");
            let _ = writeln!(failures, "FAILED: {}\n{end}\n", step.name);
        }
        failures
    }
}

impl FinishedStep {
    fn line(&self) -> String {
        let mark = if self.error.is_some() { "  FAILED" } else { "" };
        let gap = if self.remark.is_empty() { "" } else { "  " };
        format!("{:>8}{mark}{gap}{}", seconds(self.duration), self.remark)
    }
}

/// `text` in bold at a terminal, otherwise unchanged.
pub fn bold(text: &str) -> String {
    if std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        format!("\x1b[1m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[expect(clippy::disallowed_methods, reason = "steps are timed for people")]
pub fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_is_marked_in_the_table() {
        let mut steps = Steps::start();
        steps
            .step("the first", |remark| {
                *remark = "went well".to_owned();
                Ok(())
            })
            .expect("the step succeeds");
        let failed: Result<()> = steps.step("second", |_| anyhow::bail!("on purpose"));
        assert!(failed.is_err());

        let table = steps.table();
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[0].starts_with("the first  ") && lines[0].ends_with("went well"));
        assert!(lines[1].starts_with("second     ") && lines[1].ends_with("FAILED"));
        assert!(lines[2].starts_with("total      "));
        assert_eq!(steps.failures(), "FAILED: second\non purpose\n\n");
    }
}
