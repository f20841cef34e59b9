//! What a check says about a rule.

use crate::catalog::Rule;
use crate::outcome::{Outcome, RuleError};
use guichet::values::printable;
use serde_json::{Value, json};
use std::fmt::{self, Write};
use std::time::Duration;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Verdict {
    Pass,
    Fail,
    NotChecked,
}

/// The verdict on a rule, with its reason. It shows no secret.
#[derive(Debug)]
pub struct RuleReport {
    rule: &'static Rule,
    verdict: Verdict,
    why: String,
    sent: String,
    came: String,
    /// The time that the check itself took.
    busy: Duration,
    /// The time in which it waited for the shop.
    waited: Duration,
}

impl RuleReport {
    pub(crate) fn new(rule: &'static Rule, outcome: Outcome, secrets: &[String]) -> Self {
        let (verdict, why, sent, came) = match outcome {
            Ok(()) => (Verdict::Pass, String::new(), String::new(), String::new()),
            Err(RuleError::NotChecked(why) | RuleError::Lost(why)) => {
                (Verdict::NotChecked, why, String::new(), String::new())
            }
            Err(RuleError::Failed { why, sent, came }) => (Verdict::Fail, why, sent, came),
        };
        let [why, sent, came] = [why, sent, came].map(|text| redact(&text, secrets));
        Self { rule, verdict, why, sent, came, busy: Duration::ZERO, waited: Duration::ZERO }
    }

    /// Notes how long the rule took, and how long it waited for the shop.
    pub(crate) fn after(self, busy: Duration, waited: Duration) -> Self {
        Self { busy, waited, ..self }
    }

    fn to_json(&self) -> Value {
        let Self { rule, verdict, why, sent, came, busy, waited } = self;
        let text = |text: &String| (!text.is_empty()).then(|| text.clone());
        json!({
            "id": rule.id, "title": rule.title, "needs": rule.needs, "verdict": verdict.as_str(),
            "why": text(why), "sent": text(sent), "came": text(came),
            "fix": (*verdict == Verdict::Fail).then_some(rule.fix), "guide": guide(rule),
            "seconds": seconds(*busy), "waited_seconds": seconds(*waited),
        })
    }
}

impl Verdict {
    const ALL: [Self; 3] = [Self::Pass, Self::Fail, Self::NotChecked];

    fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::NotChecked => "not checked",
        }
    }
}

/// A line for the rule. A rule that did not pass has its reason below.
impl fmt::Display for RuleReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, verdict, why, sent, came, .. } = self;
        let verdict = if *verdict == Verdict::Fail { "FAIL" } else { verdict.as_str() };
        write!(f, "{verdict:<12} {:<28} {}", rule.id, rule.title)?;
        let (fix, guide) = match self.verdict {
            Verdict::Fail => (rule.fix, guide(rule)),
            _ => ("", String::new()),
        };
        for (name, text) in [("", why.as_str()), ("sent", sent), ("came", came), ("fix", fix), ("guide", &guide)] {
            if !text.is_empty() {
                f.write_char('\n')?;
                write!(f, "{:13}{name}{}{}", "", if name.is_empty() { "" } else { ": " }, printable(text))?;
            }
        }
        Ok(())
    }
}

/// The part of the merchant's guide that a rule is about.
fn guide(rule: &Rule) -> String {
    format!("docs/shop.md#{}", rule.guide)
}

fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}

/// What is printed before a rule is checked: a rule may take a minute.
pub fn progress(rule: &Rule, place: usize, count: usize) -> String {
    format!("{place}/{count} {}", rule.id)
}

/// The verdicts of a check.
///
/// Its text has a line for each rule, and then the summary.
#[derive(Debug, Default)]
pub struct Report {
    /// In the order in which they were checked.
    pub rules: Vec<RuleReport>,
}

impl Report {
    /// Whether every rule was checked and passed.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.exit_code() == 0
    }

    /// The exit code of the command: 0 if every rule passed, 1 if one failed, 2 if none failed and some were not
    /// checked.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match (self.count(Verdict::Fail), self.count(Verdict::NotChecked)) {
            (0, 0) => 0,
            (0, _) => 2,
            _ => 1,
        }
    }

    /// The report as `--json` prints it: `rules`, each with `id`, `title`, `needs`, `verdict` (`pass`, `fail` or `not
    /// checked`), `why`, `sent`, `came`, `fix`, `guide`, `seconds` and `waited_seconds`; and the counts `passed`,
    /// `failed` and `not_checked`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let rules: Vec<Value> = self.rules.iter().map(RuleReport::to_json).collect();
        let [passed, failed, not_checked] = Verdict::ALL.map(|verdict| self.count(verdict));
        json!({"rules": rules, "passed": passed, "failed": failed, "not_checked": not_checked})
    }

    /// How long the check took, and how many rules passed.
    #[must_use]
    pub fn summary(&self) -> String {
        let total = |time: fn(&RuleReport) -> Duration| self.rules.iter().map(time).sum::<Duration>().as_secs();
        let (busy, waited) = (total(|report| report.busy), total(|report| report.waited));
        let [passed, failed, not_checked] = Verdict::ALL.map(|verdict| self.count(verdict));
        format!(
            "\nThe check took {busy} s, and waited {waited} s more for the shop.\n\n{passed} passed, {failed} failed, \
             {not_checked} not checked"
        )
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.rules.iter().filter(|report| report.verdict == verdict).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rules.iter().try_for_each(|rule| writeln!(f, "{rule}"))?;
        f.write_str(&self.summary())
    }
}

/// How to start the shop with the service.
pub fn instructions(base_url: &str, secret_key: &str, as_json: bool) -> String {
    if as_json {
        return json!({"base_url": base_url, "secret_key": secret_key}).to_string();
    }
    format!(
        "Start the shop with this service. It is a sandbox: no real money moves.\n\n  \
         The service          {base_url}    (GUICHET_BASE_URL)\n  \
         The secret key       {secret_key}    (GUICHET_SECRET_KEY)\n"
    )
}

/// The characters that are shown of a text: the rest of a page of HTML says no more.
const SHOWN: usize = 500;

/// The start of the text, with `***` in place of secrets. It is cut last, so that no part of a secret is left.
pub(crate) fn redact(text: &str, secrets: &[String]) -> String {
    let secrets = secrets.iter().filter(|secret| !secret.is_empty());
    let text = secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "***"));
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_secret_is_left_where_a_text_is_cut() {
        let secret = "sk_test_0123456789".to_owned();
        let text = format!("{}{secret}{}", "a".repeat(SHOWN - 5), "b".repeat(50));
        let shown = redact(&text, &[secret]);
        assert!(shown.ends_with("a***bb") && shown.chars().count() == SHOWN, "{shown}");
    }
}
