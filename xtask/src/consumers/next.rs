//! Builds `examples/next` from the tarball with each of Next's bundlers. `tests/pages/next.rs` starts the results.

use std::fs;

use anyhow::{Context as _, Result};

use super::Toolchains;
use super::project::{Project, copy};
use crate::cargo::root;
use crate::npm::{Tools, run_quietly};

const BUNDLERS: [&str; 2] = ["turbopack", "webpack"];

/// Each bundler gets a copy of the example in a folder of its own, below the `node_modules` of Next: both of them refuse to read packages
/// through links to other folders. The copy also has a page with `guichet/beside`.
pub fn build(project: &Project, toolchains: Toolchains, remark: &mut String) -> Result<()> {
    let next = Tools::locked_in("xtask/npm/next")?;
    let bundlers = if toolchains == Toolchains::All { &BUNDLERS[..] } else { &BUNDLERS[..1] };
    for bundler in bundlers {
        let folder = next.folder().join(bundler);
        // Without the bundler's cache: it takes a package of the same version for the same package.
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        copy(&root().join("examples/next/app"), &folder.join("app"))?;
        copy(&root().join("tests/pages/next"), &folder.join("app/beside"))?;
        for file in ["package.json", "tsconfig.json", "next.config.ts", "instrumentation.ts"] {
            fs::copy(root().join("examples/next").join(file), folder.join(file))?;
        }
        let sqlite = Tools::locked_in("examples/express")?.modules().join("node-sqlite3-wasm");
        for package in [project.package(), project.server(), sqlite] {
            let name = package.file_name().context("a package has a name")?;
            copy(&package, &folder.join("node_modules").join(name))?;
        }
        let mut build = next.node("next", "next")?;
        build.current_dir(&folder).args(["build", &format!("--{bundler}")]);
        build.env("NEXT_TELEMETRY_DISABLED", "1").env("NO_COLOR", "1").env_remove("NODE_ENV");
        run_quietly(&mut build).with_context(|| format!("Next cannot build its example with {bundler}"))?;
    }
    *remark = format!("next {} with {}", next.version("next")?, bundlers.join(" and "));
    Ok(())
}
