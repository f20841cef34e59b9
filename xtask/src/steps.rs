//! A run told as it goes: each step is named before it begins and timed when
//! it is over, and the whole run can be told again as one table.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;

/// The steps of one run, in order.
pub struct Steps {
    begun: Instant,
    taken: Vec<Taken>,
}

/// A step that is taken while others are.
pub struct Meanwhile<T> {
    name: &'static str,
    work: JoinHandle<(Duration, String, Result<T>)>,
}

/// Begins `work` as the step `name`, to be [joined](Steps::joined) later.
pub fn meanwhile<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce(&mut String) -> Result<T> + Send + 'static,
) -> Meanwhile<T> {
    let work = thread::spawn(move || {
        let begun = now();
        let mut remark = String::new();
        let result = work(&mut remark);
        (begun.elapsed(), remark, result)
    });
    Meanwhile { name, work }
}

struct Taken {
    name: String,
    took: Duration,
    remark: String,
    failed: bool,
}

impl Steps {
    pub fn begin() -> Self {
        Self { begun: now(), taken: Vec::new() }
    }

    /// Does `work` as the step `name`. What it leaves in `remark` stands behind its time.
    pub fn step<T>(&mut self, name: &str, work: impl FnOnce(&mut String) -> Result<T>) -> Result<T> {
        println!("{}", bold(&format!("── {name}")));
        let begun = now();
        let mut remark = String::new();
        let result = work(&mut remark);
        self.took(name, begun.elapsed(), remark, result.is_err());
        result
    }

    /// A step that was taken meanwhile: what it has to say is said now.
    pub fn done(&mut self, name: &str, took: Duration, remark: String, result: Result<()>) -> Result<()> {
        println!("{}", bold(&format!("── {name}")));
        if let Err(error) = &result {
            eprintln!("{error:#}");
        }
        self.took(name, took, remark, result.is_err());
        result
    }

    /// Waits for what was done meanwhile, and tells of it.
    pub fn joined<T>(&mut self, meanwhile: Meanwhile<T>) -> Result<T> {
        let (took, remark, result) = meanwhile.work.join().unwrap_or_else(|_| {
            (Duration::ZERO, String::new(), Err(anyhow::anyhow!("{}: this part of xtask has panicked", meanwhile.name)))
        });
        println!("{}", bold(&format!("── {}", meanwhile.name)));
        self.took(meanwhile.name, took, remark, result.is_err());
        result
    }

    fn took(&mut self, name: &str, took: Duration, remark: String, failed: bool) {
        let taken = Taken { name: name.to_owned(), took, remark, failed };
        println!("   {}", taken.line());
        self.taken.push(taken);
    }

    /// How long the run has taken up to here.
    pub fn so_far(&self) -> String {
        seconds(self.begun.elapsed())
    }

    /// Every step with its time, and their sum.
    pub fn table(&self) -> String {
        let width = self.taken.iter().map(|taken| taken.name.chars().count()).max().unwrap_or(0);
        let mut table = String::new();
        for taken in &self.taken {
            let _ = writeln!(table, "{:<width$}  {}", taken.name, taken.line());
        }
        let _ = write!(table, "{:<width$}  {:>8}", "in all", self.so_far());
        table
    }
}

impl Taken {
    fn line(&self) -> String {
        let mark = if self.failed { "  FAILED" } else { "" };
        let gap = if self.remark.is_empty() { "" } else { "  " };
        format!("{:>8}{mark}{gap}{}", seconds(self.took), self.remark)
    }
}

/// `text`, bold where someone looks at it on a terminal.
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

#[expect(clippy::disallowed_methods, reason = "steps are timed for the person who waits for them")]
pub fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_is_marked_in_the_table() {
        let mut steps = Steps::begin();
        steps
            .step("the first", |remark| {
                *remark = "went well".to_owned();
                Ok(())
            })
            .expect("it cannot fail");
        let failed: Result<()> = steps.step("second", |_| anyhow::bail!("on purpose"));
        assert!(failed.is_err());

        let table = steps.table();
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[0].starts_with("the first  ") && lines[0].ends_with("went well"));
        assert!(lines[1].starts_with("second     ") && lines[1].ends_with("FAILED"));
        assert!(lines[2].starts_with("in all     "));
    }
}
