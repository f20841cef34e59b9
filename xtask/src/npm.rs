//! The tools that come from npm, and how they get under `target/`.
//!
//! Whatever gates a change is locked (`xtask/npm/`): the same source gives the same bytes and the same result. The
//! newest of what the package must get along with (`tests/pages/package/newest.json`) is tried by
//! `cargo xtask test --newest`, for people install what is newest on their day.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::cargo::{at_root, root};

/// A folder with `node_modules/` in it.
#[derive(Clone)]
pub struct Tools {
    folder: PathBuf,
}

impl Tools {
    /// Those of `xtask/npm/package-lock.json`, installed unless they are there.
    pub fn locked() -> Result<Self> {
        let sources = root().join("xtask/npm");
        let folder = root().join("target/npm-tools");
        let lock = fs::read_to_string(sources.join("package-lock.json"))?;
        // Written last, so that an install cut short is made again.
        let stamp = folder.join("installed");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == lock) {
            return Ok(Self { folder });
        }
        fs::create_dir_all(&folder)?;
        for file in ["package.json", "package-lock.json"] {
            fs::copy(sources.join(file), folder.join(file))?;
        }
        // Not `npm ci`: it refuses a lock without the optional packages of other platforms, and npm writes such locks.
        remove(&folder.join("node_modules"))?;
        quietly(npm(&folder).arg("install").args(INSTALL))?;
        fs::write(stamp, lock)?;
        Ok(Self { folder })
    }

    /// The newest of those that `tests/pages/package/newest.json` names, asked for once a day. npm itself takes the newest
    /// that runs on the installed Node.js for `*`.
    pub fn newest() -> Result<Self> {
        Self::newest_of("tests/pages/package/newest.json", "npm-newest")
    }

    /// What the package and the sandbox are measured against: the newest of those that `benches/bars/peers.json` names.
    pub fn peers() -> Result<Self> {
        Self::newest_of("benches/bars/peers.json", "npm-peers")
    }

    fn newest_of(wanted: &str, place: &str) -> Result<Self> {
        let wanted = fs::read_to_string(root().join(wanted))?;
        let folder = root().join("target").join(place);
        let stamp = folder.join("installed");
        let (today, node) = (today(), node_version()?);
        let key = format!("{today} {node}\n{wanted}");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == key) {
            return Ok(Self { folder });
        }
        // Beside its place: an install that fails, as on a train, leaves the one of another day.
        let fresh = folder.with_extension(format!("new-{}", std::process::id()));
        let installed = install_newest(&fresh, &wanted);
        match installed {
            Ok(()) => {
                remove(&folder)?;
                fs::rename(&fresh, &folder)?;
                fs::write(stamp, key)?;
            }
            Err(error) => {
                remove(&fresh)?;
                if !stamp.exists() {
                    return Err(error);
                }
                println!("   the newest could not be asked for; those of another day are used\n   ({error:#})");
            }
        }
        Ok(Self { folder })
    }

    /// The folder that holds `node_modules/`.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// `node <the command of a package>`.
    pub fn node(&self, package: &str, command: &str) -> Result<Command> {
        let mut node = at_root("node");
        node.arg(self.script(package, command)?);
        Ok(node)
    }

    /// The script that is the command of a package.
    pub fn script(&self, package: &str, command: &str) -> Result<PathBuf> {
        let folder = self.folder.join("node_modules").join(package);
        let manifest = manifest(&folder)?;
        let bin = manifest["bin"].as_str().or_else(|| manifest["bin"][command].as_str());
        let bin = bin.with_context(|| format!("the npm package {package} has no command `{command}`"))?;
        Ok(folder.join(bin))
    }

    /// Where they lie, for who looks for a package by its name.
    pub fn modules(&self) -> PathBuf {
        self.folder.join("node_modules")
    }

    pub fn version(&self, package: &str) -> Result<String> {
        let manifest = manifest(&self.folder.join("node_modules").join(package))?;
        Ok(manifest["version"].as_str().with_context(|| format!("{package} has no version"))?.to_owned())
    }

    /// Every tool with its version, and what npm passed over because it wants a newer Node.js.
    pub fn versions(&self) -> Result<String> {
        let manifest = manifest(&self.folder)?;
        let tools = manifest["devDependencies"].as_object().context("no tools are named")?;
        let passed_over: Value =
            serde_json::from_str(&fs::read_to_string(self.folder.join("outdated.json")).unwrap_or_default())
                .unwrap_or_default();
        let mut versions = Vec::new();
        for tool in tools.keys() {
            let version = self.version(tool)?;
            versions.push(match passed_over[tool]["latest"].as_str() {
                Some(latest) if latest != version => format!("{tool} {version} (not {latest}: see its Node.js)"),
                _ => format!("{tool} {version}"),
            });
        }
        Ok(versions.join(", "))
    }
}

/// Nothing of a tool's own is run while it is installed, and nobody is told who installs it.
pub const INSTALL: [&str; 4] = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];

/// `npm`, in a folder.
pub fn npm(folder: &Path) -> Command {
    let mut npm = at_root(if cfg!(windows) { "npm.cmd" } else { "npm" });
    npm.current_dir(folder);
    npm
}

/// Runs a command to its end. What it says is shown only when it fails.
pub fn quietly(command: &mut Command) -> Result<Output> {
    let name = spelled(command);
    let output = command.output().with_context(|| format!("`{name}` could not be started"))?;
    if !output.status.success() {
        let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        bail!("`{name}` failed ({})\n{}{}", output.status, said, complained);
    }
    Ok(output)
}

fn spelled(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let short = |word: &std::ffi::OsStr| {
        let word = word.to_string_lossy();
        word.strip_prefix(&*root().to_string_lossy()).map_or(word.to_string(), |rest| rest[1..].to_owned())
    };
    words.map(short).collect::<Vec<_>>().join(" ")
}

fn install_newest(folder: &Path, wanted: &str) -> Result<()> {
    remove(folder)?;
    fs::create_dir_all(folder)?;
    fs::write(folder.join("package.json"), wanted)?;
    quietly(npm(folder).args(["install", "--no-package-lock"]).args(INSTALL))?;
    // Tells by its exit code too that something is outdated, which is no failure here.
    let outdated = npm(folder).args(["outdated", "--json", "--loglevel=error"]).output()?;
    Ok(fs::write(folder.join("outdated.json"), outdated.stdout)?)
}

fn manifest(folder: &Path) -> Result<Value> {
    let file = folder.join("package.json");
    let text = fs::read(&file).with_context(|| format!("{} is missing", file.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is not JSON", file.display()))
}

fn node_version() -> Result<String> {
    let output = quietly(at_root("node").arg("--version"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The day, counted from 1970.
#[expect(clippy::disallowed_methods, reason = "what is newest is asked for once a day")]
fn today() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400)
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
