//! Installs the tools from npm under `target/`.
//!
//! The tools that `cargo xtask test` uses are locked (`xtask/npm/`, `examples/express/`), so that equal sources give
//! equal bytes and results. `cargo xtask test --newest` uses the newest versions of those that the package must work
//! with (`tests/consumers/toolchains/package.json`), because users install the newest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::cargo::{at_root, command_line, root};

/// A folder with `node_modules/` in it.
#[derive(Clone)]
pub struct Tools {
    folder: PathBuf,
}

impl Tools {
    /// What makes and measures the packages: wasm-opt and esbuild. Installs them if they are missing, as each of these
    /// functions does.
    pub fn pack() -> Result<Self> {
        Self::locked_in("xtask/npm/pack")
    }

    /// The toolchains in which the packages are tested, and what checks them.
    pub fn locked() -> Result<Self> {
        Self::locked_in("xtask/npm")
    }

    /// The packages that a folder locks: those of `xtask/npm/jest` are in `target/npm-jest/`.
    pub fn locked_in(folder: &str) -> Result<Self> {
        let sources = root().join(folder);
        let place = folder.rsplit('/').next().filter(|name| *name != "npm").unwrap_or("tools");
        let folder = root().join("target").join(format!("npm-{place}"));
        let lock = fs::read_to_string(sources.join("package-lock.json"))?;
        // Written last, so that an interrupted installation is repeated.
        let stamp = folder.join("installed");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == lock) {
            return Ok(Self { folder });
        }
        fs::create_dir_all(&folder)?;
        for file in ["package.json", "package-lock.json"] {
            fs::copy(sources.join(file), folder.join(file))?;
        }
        // Not `npm ci`: it rejects lock files without the optional packages of other platforms, which npm itself
        // writes.
        remove(&folder.join("node_modules"))?;
        run_quietly(npm(&folder).arg("install").args(INSTALL))?;
        fs::write(stamp, lock)?;
        Ok(Self { folder })
    }

    /// The newest versions of the tools in `tests/consumers/toolchains/package.json`, updated once a day. For `*`, npm
    /// takes the newest version that runs on the installed Node.js.
    pub fn newest() -> Result<Self> {
        Self::newest_of("tests/consumers/toolchains/package.json", "npm-newest")
    }

    /// The newest version of a framework of `tests/consumers/`, and what builds its application.
    pub fn framework(name: &str) -> Result<Self> {
        Self::newest_of(&format!("tests/consumers/{name}/package.json"), &format!("npm-{name}"))
    }

    fn newest_of(wanted: &str, folder: &str) -> Result<Self> {
        let wanted = fs::read_to_string(root().join(wanted))?;
        let folder = root().join("target").join(folder);
        let stamp = folder.join("installed");
        let (today, node) = (days_since_epoch(), node_version()?);
        let key = format!("{today} {node}\n{wanted}");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == key) {
            return Ok(Self { folder });
        }
        // Installed beside the old one: if it fails, for example offline, the old one stays.
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
                println!(
                    "   the newest versions could not be installed; those of an earlier day are used\n   ({error:#})"
                );
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

    /// A program that npm installs from a package for this platform alone (`@deno/linux-x64-glibc`), in a scope of its
    /// own. The scripts that would link it do not run.
    pub fn native(&self, scope: &str, program: &str) -> Result<PathBuf> {
        let folder = self.modules().join(scope);
        let packages = fs::read_dir(&folder).with_context(|| format!("{} is missing", folder.display()))?;
        let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
        let found = packages.flatten().map(|package| package.path().join(&file)).find(|file| file.is_file());
        found.with_context(|| format!("no package of {scope} has the program {file} for this platform"))
    }

    /// The folder in which packages are found by name.
    pub fn modules(&self) -> PathBuf {
        self.folder.join("node_modules")
    }

    pub fn version(&self, package: &str) -> Result<String> {
        let manifest = manifest(&self.folder.join("node_modules").join(package))?;
        Ok(manifest["version"].as_str().with_context(|| format!("{package} has no version"))?.to_owned())
    }

    /// Every tool with its version.
    pub fn versions(&self) -> Result<String> {
        let manifest = manifest(&self.folder)?;
        let tools = ["dependencies", "devDependencies"].iter().filter_map(|kind| manifest[kind].as_object());
        let versions = tools.flat_map(|tools| tools.keys()).map(|tool| Ok(format!("{tool} {}", self.version(tool)?)));
        Ok(versions.collect::<Result<Vec<_>>>()?.join(", "))
    }
}

/// Options of npm: no install scripts, no telemetry.
pub const INSTALL: [&str; 4] = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];

/// `npm`, in a folder.
pub fn npm(folder: &Path) -> Command {
    let mut npm = at_root(if cfg!(windows) { "npm.cmd" } else { "npm" });
    npm.current_dir(folder);
    npm
}

/// Runs a command and waits for it. Its output is printed only if it fails.
pub fn run_quietly(command: &mut Command) -> Result<Output> {
    let name = command_line(command);
    let output = command.output().with_context(|| format!("`{name}` could not be started"))?;
    if !output.status.success() {
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        bail!("`{name}` failed ({})\n{}{}", output.status, stdout, stderr);
    }
    Ok(output)
}

fn install_newest(folder: &Path, wanted: &str) -> Result<()> {
    remove(folder)?;
    fs::create_dir_all(folder)?;
    fs::write(folder.join("package.json"), wanted)?;
    run_quietly(npm(folder).args(["install", "--no-package-lock"]).args(INSTALL)).map(drop)
}

fn manifest(folder: &Path) -> Result<Value> {
    let file = folder.join("package.json");
    let text = fs::read(&file).with_context(|| format!("{} is missing", file.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is not JSON", file.display()))
}

fn node_version() -> Result<String> {
    let output = run_quietly(at_root("node").arg("--version"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The number of days since 1970.
#[expect(clippy::disallowed_methods, reason = "the newest versions are requested once a day")]
fn days_since_epoch() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400)
}

pub fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
