//! A mutation run over the shop in PHP: `mutants.txt` breaks its lines one by one. `guichet check` must fail each by
//! the rule that the list names, or fail none where the list says why. The run takes a quarter of an hour, so only
//! `cargo xtask soak` makes it.

use super::KEY;
use super::running::{Server, ShopServer};
use crate::support::port;
use crate::support::root;
use crate::support::soak::{Progress, is_long};
use serde_json::Value;
use std::fs;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// The shops that are checked at the same time. They mostly wait.
const AT_ONCE: usize = 6;

/// A change of the shop.
struct Mutant {
    /// Its place in `mutants.txt`.
    line: usize,
    /// A rule, or `harmless: …` or `invisible: …`.
    heading: String,
    source: String,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn every_mutant_of_the_shop_in_php_is_caught_or_listed() {
    let source = fs::read_to_string(root().join("examples/php/shop.php")).unwrap();
    let mutants = read(&source);
    // Also in the short form the list follows the shop.
    if !is_long() {
        return;
    }
    let mut progress = Progress::new("mutants of the shop in PHP", mutants.len());
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let mut checks = JoinSet::new();
    for mutant in mutants {
        let permits = Arc::clone(&permits);
        checks.spawn(async move {
            let _permit = permits.acquire_owned().await.unwrap();
            let failed = failed_rules(&mutant).await;
            (mutant, failed)
        });
    }
    let (mut done, mut wrong) = (0, Vec::new());
    while let Some(checked) = checks.join_next().await {
        let (Mutant { line, heading, .. }, failed) = checked.unwrap();
        done += 1;
        progress.at(done, &format!("{} are not as listed", wrong.len()));
        let is_as_listed = match listed_reason(&heading) {
            Some(_) => failed == [""; 0],
            None => failed == [heading.as_str()],
        };
        if !is_as_listed {
            wrong.push(format!("mutants.txt:{line}: {heading}: {failed:?} failed"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The mutants of the list. Each of its texts occurs once in the shop.
fn read(source: &str) -> Vec<Mutant> {
    let (mut mutants, mut block) = (Vec::new(), Vec::new());
    let lines = include_str!("mutants.txt").lines().chain([""]).zip(1..);
    for (text, line) in lines.filter(|(text, _)| !text.starts_with('#')) {
        if !text.is_empty() {
            block.push((text, line));
            continue;
        }
        let Some(((heading, line), changes)) = block.split_first() else { continue };
        let side = |sign| {
            let lines: Vec<&str> = changes.iter().filter_map(|(text, _)| text.strip_prefix(sign)).collect();
            lines.join("\n")
        };
        let (old, new) = (side("- "), side("+ "));
        assert_eq!(source.matches(&old).count(), 1, "mutants.txt:{line}: the shop does not have this text once: {old}");
        mutants.push(Mutant { line: *line, heading: (*heading).to_owned(), source: source.replace(&old, &new) });
        block.clear();
    }
    mutants
}

/// Why no rule fails.
fn listed_reason(heading: &str) -> Option<&str> {
    heading.strip_prefix("harmless: ").or_else(|| heading.strip_prefix("invisible: "))
}

/// The rules that fail: of the one that the list names, or of all.
async fn failed_rules(mutant: &Mutant) -> Vec<String> {
    let service = format!("127.0.0.1:{}", port::free());
    let mut shop = ShopServer::start_changed(Server::Php, &format!("http://{service}"), KEY, &mutant.source).await;
    let mut options = vec!["--json"];
    if listed_reason(&mutant.heading).is_none() {
        options.extend(["--only", mutant.heading.as_str()]);
    }
    let (_, printed) = shop.check(&service, &options).await;
    let report = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).next_back();
    let report = report.filter(|report| report["rules"].is_array()).unwrap_or_else(|| panic!("no report: {printed}"));
    let rules = report["rules"].as_array().unwrap().iter();
    rules.filter(|rule| rule["verdict"] == "fail").map(|rule| rule["id"].as_str().unwrap().to_owned()).collect()
}
