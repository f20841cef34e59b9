//! Whether the crate's public interface is still that of the last release.

use std::env;

use anyhow::Result;

use crate::cargo::{at_root, root, run};

/// Names the commit to compare with, in place of the last release.
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

/// Fails where the interface of the crate breaks that of the baseline and the version does not say so.
pub fn check(baseline: &str) -> Result<()> {
    let own = root().join("target/tools/bin/cargo-semver-checks");
    let program = if own.is_file() { own } else { "cargo-semver-checks".into() };
    run(at_root(program)
        .args(["semver-checks", "check-release", "--package=guichet", "--all-features"])
        .args(["--baseline-rev", baseline]))
}
