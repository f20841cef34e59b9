//! The versions in the table "Works with" of `docs/loading.md` that lock files have.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::cargo::root;

/// The folder of a lock file, and a package in it. Without a folder: the versions themselves.
type Locked = (&'static str, &'static str);

/// Each toolchain of the table with locked versions.
const TOOLCHAINS: [(&str, &[Locked]); 12] = [
    ("Vite", &[("", "4, 5, 6, 7"), (TOOLS, "vite")]),
    ("webpack", &[(TOOLS, "webpack")]),
    ("esbuild", &[(TOOLS, "esbuild")]),
    ("Next", &[("xtask/npm/next", "next")]),
    ("Deno", &[(TOOLS, "deno")]),
    ("Bun", &[(TOOLS, "bun")]),
    ("TypeScript", &[(TOOLS, "typescript-oldest"), (TOOLS, "typescript")]),
    ("React", &[("xtask/npm/react-oldest", "react"), (TOOLS, "react")]),
    ("Vue", &[(TOOLS, "vue")]),
    ("Vitest", &[(TOOLS, "vitest")]),
    ("Jest", &[("xtask/npm/jest", "jest")]),
    ("Playwright", &[(TOOLS, "@playwright/test")]),
];

const TOOLS: &str = "xtask/npm";

pub const PAGE: &str = "docs/loading.md";

/// The page with the locked versions.
pub fn page() -> Result<String> {
    let mut page = fs::read_to_string(root().join(PAGE))?;
    for (name, packages) in TOOLCHAINS {
        let row = format!("\n| {name} | ");
        let (before, rest) = page.split_once(&row).with_context(|| format!("the table has no row of {name}"))?;
        let (_, after) = rest.split_once(" |").with_context(|| format!("the row of {name} has no version"))?;
        let versions = packages.iter().map(|(folder, package)| locked_version(folder, package));
        let versions = versions.collect::<Result<Vec<_>>>()?.join(" and ");
        page = format!("{before}{row}{versions} |{after}");
    }
    Ok(page)
}

fn locked_version(folder: &str, package: &str) -> Result<String> {
    if folder.is_empty() {
        return Ok(package.to_owned());
    }
    let lock: Value = serde_json::from_str(&fs::read_to_string(root().join(folder).join("package-lock.json"))?)?;
    let version = lock["packages"][format!("node_modules/{package}")]["version"].as_str();
    Ok(version.with_context(|| format!("{folder} does not lock {package}"))?.to_owned())
}

#[test]
fn the_table_of_toolchains_has_the_locked_versions() {
    let current = page().expect("it can be written");
    let tracked = fs::read_to_string(root().join(PAGE)).expect("it is there");
    assert!(tracked == current, "{PAGE} is stale. Run `cargo xtask generate`, and commit what it writes.");
}
