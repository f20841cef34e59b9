//! The duration of each test, from libtest's output.

use std::collections::BTreeMap;
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

    /// The seconds of each group of tests, the longest first.
    fn groups(&self, group: impl Fn(&str) -> Option<&str>) -> Vec<(&str, usize, f64)> {
        let mut groups: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
        for (name, seconds) in &self.tests {
            if let Some(group) = group(name) {
                let (count, sum) = groups.entry(group).or_default();
                *count += 1;
                *sum += seconds;
            }
        }
        let mut groups: Vec<_> = groups.into_iter().map(|(name, (count, sum))| (name, count, sum)).collect();
        groups.sort_by(|(_, _, one), (_, _, other)| other.total_cmp(one));
        groups
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
        writeln!(f, "\nseconds of tests, by file and by engine; several run at once ({all:.0} s in total)")?;
        for (name, count, sum) in self.groups(file).into_iter().chain(self.groups(engine)) {
            if sum >= 1.0 {
                writeln!(f, "{sum:>8.1} s  {:>5.1} %  {count:>4} tests  {name}", 100.0 * sum / all.max(0.1))?;
            }
        }
        Ok(())
    }
}

/// The file of a test: its module, or for a unit test the library's module.
fn file(name: &str) -> Option<&str> {
    name.split("::").next()
}

/// The engine of a browser test. `one_engine` contains those that run in Chromium, or in the engine of `GUICHET_ENGINE`.
fn engine(name: &str) -> Option<&str> {
    name.split("::").find(|part| ENGINES.contains(part))
}

const ENGINES: [&str; 4] = ["chromium", "one_engine", "firefox", "webkit"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_tests_and_the_share_of_each_file_are_shown() {
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
        assert_eq!(lines[6], "39.0 s   97.5 %     2 tests  purchase");
        assert_eq!(lines[8], "30.0 s   75.0 %     1 tests  firefox");
    }
}
