//! Checks the crate's public interface against the last release.

use std::env;

use anyhow::Result;

use crate::cargo::{at_root, run};
use crate::setup;

/// What compares the crate's interface with another version of it.
pub const PROGRAM: &str = "cargo-semver-checks";

/// The environment variable with the commit to compare with, instead of the last release.
pub const BASELINE: &str = "GUICHET_BASELINE";

/// The commit to compare with: the last tag `v*`.
pub fn baseline() -> Result<Option<String>> {
    if let Ok(commit) = env::var(BASELINE) {
        return Ok(Some(commit));
    }
    let tag = at_root("git").args(["describe", "--tags", "--abbrev=0", "--match", "v*"]).output()?;
    let name = String::from_utf8_lossy(&tag.stdout).trim().to_owned();
    Ok((tag.status.success() && !name.is_empty()).then_some(name))
}

/// Fails if the interface has a breaking change that the version number does not announce.
pub fn check(baseline: &str) -> Result<()> {
    run(setup::subcommand(PROGRAM)
        .args(["semver-checks", "check-release", "--package=guichet", "--all-features"])
        .args(["--baseline-rev", baseline]))
}
