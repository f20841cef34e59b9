//! The two lengths of a soak test: `cargo xtask test` runs the short one, `cargo xtask soak` the long one.

use std::time::Instant;

/// Set by `cargo xtask soak`.
const SOAK: &str = "GUICHET_SOAK";

/// The amount of work: the first number in `cargo xtask test`, the second in `cargo xtask soak`.
pub fn amount(short: usize, long: usize) -> usize {
    if is_long() { long } else { short }
}

pub fn is_long() -> bool {
    std::env::var_os(SOAK).is_some()
}

/// Prints the progress of a soak test.
pub struct Progress {
    what: &'static str,
    all: usize,
    begun: Instant,
    shown: usize,
}

impl Progress {
    pub fn new(what: &'static str, all: usize) -> Self {
        Self { what, all, begun: Instant::now(), shown: 0 }
    }

    /// Prints a line for each twentieth of the work.
    pub fn at(&mut self, done: usize, remark: &str) {
        if is_long() && (done == self.all || done * 20 / self.all > self.shown) {
            self.shown = done * 20 / self.all;
            println!("  {}: {done} of {} after {} s; {remark}", self.what, self.all, self.begun.elapsed().as_secs());
        }
    }
}

/// The resident memory of a process in KiB.
#[cfg(target_os = "linux")]
pub fn resident_kib(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
