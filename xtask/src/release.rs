//! `cargo xtask release --dry-run`: all of a release but the publishing, which `.github/workflows/release.yml` does. It
//! fails, and says what is not true yet.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::cargo::{self, at_root, cargo, root};
use crate::npm::{self, remove, run_quietly};
use crate::pack::Packages;
use crate::run::Run;
use crate::setup;

pub fn command() -> Result<()> {
    let mut run = Run::start();
    let result = dry_run(&mut run);
    run.finish(result)
}

fn dry_run(run: &mut Run) -> Result<()> {
    let tools = setup::to_pack(&mut run.steps)?;
    let packages = Packages::build(&mut run.steps, &tools)?;
    let tarballs = run.steps.step("the tarballs", |_| packages.tarballs())?.all();
    run.check("everything is committed", |_| {
        let changes = output(at_root("git").args(["status", "--porcelain"]))?;
        ensure!(changes.is_empty(), "not committed:\n{changes}");
        Ok(())
    });
    run.check("one version, and its date in the changelog", |remark| {
        *remark = version()?;
        let folder = root().join("target/npm");
        for name in ["guichet", "guichet-sandbox", "guichet-server"] {
            let tarball = folder.join(format!("{name}-{remark}.tgz"));
            ensure!(tarballs.contains(&tarball), "{} was not made", tarball.display());
        }
        let changelog = fs::read_to_string(root().join("CHANGELOG.md"))?;
        ensure!(has_date(&changelog, remark), "CHANGELOG.md does not begin with `## {remark} (YEAR-MONTH-DAY)`");
        Ok(())
    });
    run.check("the names are ours", |_| {
        let names = fs::read_to_string(root().join("tests/service/names.rs"))?;
        ensure!(names.contains("NAMES_ARE_OURS: bool = true;"), "`NAMES_ARE_OURS` in tests/service/names.rs is false");
        Ok(())
    });
    run.check(REPRODUCED, |_| reproduce(&tarballs));
    for tarball in &tarballs {
        let publish = ["publish", "--dry-run", "--ignore-scripts"];
        run.check(&format!("npm publish --dry-run {}", tarball.display()), |_| {
            run_quietly(npm::npm(&root()).args(publish).arg(tarball)).map(drop)
        });
    }
    // git does not track the npm package that `guichet-sandbox` contains, so Cargo calls the folder dirty. A check
    // above is instead of it.
    let crates = || -> Result<Vec<String>> {
        let crates = published()?.into_iter().map(|(name, _)| format!("--package={name}"));
        Ok(crates.chain(["--all-features", "--allow-dirty"].map(str::to_owned)).collect())
    };
    run.check("cargo package, which compiles each", |_| cargo::run(cargo(["package"]).args(crates()?)));
    // Where crates.io cannot be reached, nothing is compared with it.
    if let Err(error) =
        crates().and_then(|crates| cargo::run(cargo(["publish", "--dry-run", "--no-verify"]).args(crates)))
    {
        run.not_run.push(format!("cargo publish --dry-run ({error})"));
    }
    Ok(())
}

pub const REPRODUCED: &str = "the tarballs, made again in another folder";

/// Makes the packages again from what is in git, in another folder without the results of earlier builds. Fails if a
/// byte differs.
pub fn reproduce(tarballs: &[PathBuf]) -> Result<()> {
    let again = root().join("target/again");
    remove(&again)?;
    // A commit of what has changed since the last one, which no branch has; nothing if nothing has changed.
    let changed = output(at_root("git").args(["stash", "create"]))?;
    let commit = if changed.is_empty() { "HEAD" } else { &changed };
    // A work tree and no archive: `pack` asks git which files the examples have.
    cargo::run(at_root("git").args(["worktree", "prune"]))?;
    cargo::run(at_root("git").args(["worktree", "add", "--quiet", "--detach"]).arg(&again).arg(commit))?;
    let xtask = std::env::current_exe()?;
    // xtask finds the folder of the project by this variable.
    cargo::run(
        at_root(xtask).arg("pack").env("CARGO_MANIFEST_DIR", again.join("xtask")).env_remove("CARGO_TARGET_DIR"),
    )?;
    for tarball in tarballs {
        let other = again.join("target/npm").join(tarball.file_name().context("a tarball has a name")?);
        ensure!(fs::read(tarball)? == fs::read(&other)?, "{} and {} differ", tarball.display(), other.display());
    }
    cargo::run(at_root("git").args(["worktree", "remove", "--force"]).arg(&again))
}

/// The names and versions of the crates that are published.
fn published() -> Result<Vec<(String, String)>> {
    let metadata: Value = serde_json::from_str(&output(&mut cargo(["metadata", "--no-deps", "--format-version=1"]))?)?;
    let packages = metadata["packages"].as_array().context("cargo lists no packages")?;
    let published = packages.iter().filter(|package| package["publish"].is_null());
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Ok(published.filter_map(|package| Some((text(&package["name"])?, text(&package["version"])?))).collect())
}

/// The version that all of them have.
fn version() -> Result<String> {
    let mut versions: Vec<_> = published()?.into_iter().map(|(_, version)| version).collect();
    versions.dedup();
    ensure!(versions.len() == 1, "the crates have the versions {versions:?}");
    Ok(versions.remove(0))
}

/// Whether the newest entry of the changelog is of this version and has a date: `## 0.1.0 (2026-12-01)`.
fn has_date(changelog: &str, version: &str) -> bool {
    let newest = changelog.lines().find_map(|line| line.strip_prefix("## "));
    let date = newest.and_then(|title| title.strip_prefix(version)?.strip_prefix(" (")?.strip_suffix(')'));
    date.is_some_and(|date| {
        let parts: Vec<usize> = date.split('-').map(|part| part.parse::<u16>().map_or(0, |_| part.len())).collect();
        parts == [4, 2, 2]
    })
}

fn output(command: &mut Command) -> Result<String> {
    Ok(String::from_utf8(run_quietly(command)?.stdout)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_a_date_in_the_changelog() {
        assert!(has_date("# Changelog\n\n## 0.2.0 (2026-12-01)\n\n## 0.1.0 (2026-11-01)\n", "0.2.0"));
        for undated in ["## 0.2.0 (unreleased)", "## 0.2.0", "## 0.1.0 (2026-11-01)", "## 0.2.0 (2026-12)", ""] {
            assert!(!has_date(undated, "0.2.0"), "{undated}");
        }
    }

    /// A tag of an action can be moved to other code. And what is installed beside the identity of a publisher could
    /// use it.
    #[test]
    fn the_workflow_takes_actions_by_commit_and_a_job_that_may_publish_does_nothing_else() {
        let workflow = fs::read_to_string(root().join(".github/workflows/release.yml")).expect("it is there");
        let is_commit = |id: &str| id.len() == 40 && id.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
        for action in workflow.lines().filter_map(|line| line.split_once("uses: ")) {
            let (id, tag) = action.1.split_once('@').and_then(|(_, rest)| rest.split_once(" # v")).unwrap_or_default();
            assert!(is_commit(id) && !tag.is_empty(), "{} has no commit with its tag", action.1);
        }
        let jobs = workflow.split("\n  npm:").nth(1).expect("the jobs that publish are last");
        assert_eq!(jobs.matches("id-token: write").count(), workflow.matches("id-token: write").count());
        for command in jobs.lines().filter_map(|line| line.split_once("run: ")) {
            let known = ["for tarball in *.tgz; do npm publish", "tar ", "rustup toolchain install", "cargo publish"];
            assert!(known.iter().any(|known| command.1.starts_with(known)), "{}", command.1);
        }
    }
}
