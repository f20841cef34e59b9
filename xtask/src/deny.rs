//! Checks all dependencies of the workspace by `deny.toml`.

use anyhow::Result;

use crate::cargo::run;
use crate::npm::run_quietly;
use crate::setup;

/// What checks them.
pub const PROGRAM: &str = "cargo-deny";

/// Fails if a dependency has a licence, a source or a name that is not accepted.
pub fn check() -> Result<()> {
    run(setup::subcommand(PROGRAM).args(["check", "bans", "licenses", "sources"]))
}

/// Fetches the RustSec database of advisories. Fails where it cannot be reached.
pub fn fetch_advisories() -> Result<()> {
    run_quietly(setup::subcommand(PROGRAM).args(["fetch", "db"])).map(drop)
}

/// Fails if a dependency has a known vulnerability or is no longer maintained.
pub fn check_advisories() -> Result<()> {
    run(setup::subcommand(PROGRAM).args(["check", "--disable-fetch", "advisories"]))
}
