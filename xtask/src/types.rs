//! The package's types, checked as the people who use it check theirs.
//!
//! `tests/types/` is a small consumer of every entry. It is compiled against the
//! package as npm would install it, by the oldest and the newest TypeScript that
//! the package is meant for.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::cargo::{at_root, root, run};

/// The names in `xtask/npm/package.json` of the compilers.
const COMPILERS: [&str; 2] = ["typescript", "typescript-oldest"];

/// How a bundler finds a module, and how Node.js does.
const RESOLUTIONS: [(&str, &str); 2] = [("bundler", "esnext"), ("nodenext", "nodenext")];

pub fn check(package: &Path, remark: &mut String) -> Result<()> {
    let tools = install()?;
    let consumer = consumer(package)?;
    let mut versions = Vec::new();
    for compiler in COMPILERS {
        let folder = tools.join("node_modules").join(compiler);
        versions.push(version(&folder)?);
        for (resolution, module) in RESOLUTIONS {
            run(at_root("node")
                .current_dir(&consumer)
                .arg(folder.join("bin/tsc"))
                .args(["--project", "tsconfig.json", "--pretty", "false"])
                .args(["--moduleResolution", resolution, "--module", module]))
            .with_context(|| {
                format!("the types do not hold (TypeScript {compiler}, {resolution})")
            })?;
        }
    }
    *remark = format!("TypeScript {}", versions.join(" and "));
    Ok(())
}

/// Installs the locked compilers under `target/`, unless they are there.
fn install() -> Result<PathBuf> {
    let locked = root().join("xtask/npm");
    let tools = root().join("target/npm-tools");
    let lock = fs::read(locked.join("package-lock.json"))?;
    // Written last, so that an install cut short is made again.
    let done = tools.join("installed-lock.json");
    if fs::read(&done).is_ok_and(|installed| installed == lock) {
        return Ok(tools);
    }
    fs::create_dir_all(&tools)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(locked.join(file), tools.join(file))?;
    }
    println!("   installing TypeScript by `npm ci`");
    run(at_root("npm").current_dir(&tools).args([
        "ci",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--loglevel=error",
    ]))?;
    fs::write(done, lock)?;
    Ok(tools)
}

/// The consumer's sources with the package beside them, where npm would put it.
fn consumer(package: &Path) -> Result<PathBuf> {
    let sources = root().join("tests/types");
    let place = root().join("target/types");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    let installed = place.join("node_modules/guichet");
    copy(package, &installed)?;
    copy(&sources, &place)?;
    Ok(place)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("{} is missing", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn version(compiler: &Path) -> Result<String> {
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(compiler.join("package.json"))?)?;
    Ok(manifest["version"]
        .as_str()
        .context("the compiler has no version")?
        .to_owned())
}
