//! Checks the crate with other versions of Rust.

use std::fmt;
use std::process::Command;

use anyhow::Result;

use crate::binaries::PRODUCT;
use crate::cargo::{at_root, root, run};
use crate::npm::run_quietly;

/// A toolchain, by its rustup name.
pub struct Toolchain(String);

/// The minimum supported version and the channels, without the version that is running.
pub fn others() -> Vec<Toolchain> {
    let oldest = env!("CARGO_PKG_RUST_VERSION");
    let running = version(&mut at_root("rustc")).unwrap_or_default();
    let mut others = Vec::new();
    if !running.starts_with(&format!("rustc {oldest}.")) {
        others.push(Toolchain(oldest.to_owned()));
    }
    let channels = ["stable", "beta", "nightly"].map(|name| Toolchain(name.to_owned()));
    others.extend(channels.into_iter().filter(|channel| version(&mut channel.run("rustc")).as_ref() != Some(&running)));
    others
}

impl Toolchain {
    pub fn is_installed(&self) -> bool {
        version(&mut self.run("rustc")).is_some()
    }

    /// Checks the native code, and the browser's code if this toolchain has the wasm32 target.
    pub fn check(&self, remark: &mut String) -> Result<()> {
        const WASM: &str = "wasm32-unknown-unknown";
        *remark = version(&mut self.run("rustc")).unwrap_or_default();
        run(self.cargo_check().args(PRODUCT).arg("--all-targets"))?;
        let libraries = run_quietly(self.run("rustc").args(["--print", "target-libdir", "--target", WASM]))?;
        let libraries = String::from_utf8_lossy(&libraries.stdout).trim().to_owned();
        if std::path::Path::new(&libraries).exists() {
            return run(self.cargo_check().args(["--package=guichet", "--lib", "--target", WASM]));
        }
        remark.push_str("; without wasm32, which is not installed");
        Ok(())
    }

    /// Runs a program of this toolchain. rustup must not install a missing one.
    fn run(&self, program: &str) -> Command {
        let mut command = at_root("rustup");
        command.args(["run", &self.0, program]).env_remove("CARGO").env_remove("RUSTC");
        command
    }

    fn cargo_check(&self) -> Command {
        let mut command = self.run("cargo");
        command.args(["check", "--target-dir"]);
        command.arg(root().join("target/toolchains").join(&self.0));
        command
    }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `rustc 1.95.0 (…)`, or `None` if it cannot run.
fn version(rustc: &mut Command) -> Option<String> {
    let output = rustc.arg("--version").output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_toolchain_is_not_installed() {
        assert!(!Toolchain("1.0.0-never".to_owned()).is_installed());
    }
}
