//! The duration of each test, from libtest's output.

use std::fmt;

/// The tests of a run with their durations in seconds.
#[derive(Default)]
pub struct Durations {
    tests: Vec<(String, f64)>,
}

/// The number of tests in the table.
const SHOWN: usize = 20;

impl Durations {
    /// Parses `test purchase::firefox::a_customer_pays ... ok <1.234s>`; ignores any other line.
    pub fn read(&mut self, line: &str) {
        let Some((name, result)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) else { return };
        let seconds = result.rsplit_once('<').and_then(|(_, time)| time.strip_suffix("s>")?.parse().ok());
        self.tests.extend(seconds.map(|seconds| (name.to_owned(), seconds)));
    }

    /// Adds other tests.
    pub fn add(&mut self, other: Self) {
        self.tests.extend(other.tests);
    }
}

impl fmt::Display for Durations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut slowest: Vec<_> = self.tests.iter().collect();
        slowest.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        writeln!(f, "the {} slowest tests", slowest.len().min(SHOWN))?;
        for (name, seconds) in slowest.iter().take(SHOWN) {
            writeln!(f, "{seconds:>8.1} s  {name}")?;
        }
        let all: f64 = self.tests.iter().map(|(_, seconds)| seconds).sum();
        write!(f, "{all:>8.1} s  all {}; several run at once", self.tests.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_tests_are_shown() {
        let mut durations = Durations::default();
        for line in [
            "test purchase::firefox::pays ... ok <30.000s>",
            "test purchase::webkit::pays ... FAILED <9.000s>",
            "test values::are_checked ... ok <1.000s>",
            "test result: ok. 3 passed; 0 failed",
            "test untimed ... ok",
        ] {
            durations.read(line);
        }
        let shown = durations.to_string();
        let lines: Vec<&str> = shown.lines().map(str::trim).collect();
        assert_eq!(lines[0], "the 3 slowest tests");
        assert_eq!(lines[1], "30.0 s  purchase::firefox::pays");
        assert_eq!(lines[4], "40.0 s  all 3; several run at once");
    }
}
