//! Runs cargo from within a cargo command.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// The root of the checkout.
pub fn root() -> PathBuf {
    // The variable at run time is preferred, so that a moved checkout still works.
    let xtask =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    xtask.parent().expect("xtask is in a folder of the checkout").to_owned()
}

/// A command that runs `program` at the root of the checkout, as if it had been typed there.
///
/// It removes the environment variables that `cargo run` has set for xtask. Some build scripts watch
/// them, and would run again whenever a build by hand follows one by xtask.
pub fn at_root(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_of_this_run) {
            command.env_remove(name);
        }
    }
    command
}

fn is_of_this_run(name: &str) -> bool {
    name.starts_with("CARGO_PKG_")
        || name.starts_with("CARGO_MANIFEST_")
        || matches!(name, "CARGO_BIN_NAME" | "CARGO_CRATE_NAME" | "CARGO_PRIMARY_PACKAGE" | "OUT_DIR")
}

/// `cargo <args>`.
pub fn cargo<'a>(args: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = at_root(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args);
    command
}

/// Runs `command` and waits for it. Its output is printed as it comes.
pub fn run(command: &mut Command) -> Result<()> {
    let name = command_line(command);
    let status = command.status().with_context(|| format!("`{name}` could not be started"))?;
    if !status.success() {
        bail!("`{name}` failed ({status})");
    }
    Ok(())
}

/// Runs `command` and passes each line of its standard output to `line`.
pub fn run_reading(command: &mut Command, mut line: impl FnMut(&str)) -> Result<()> {
    let name = command_line(command);
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("`{name}` could not be started"))?;
    let stdout = child.stdout.take().expect("standard output was piped");
    for bytes in BufReader::new(stdout).split(b'\n') {
        line(&String::from_utf8_lossy(&bytes?));
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{name}` failed ({status})");
    }
    Ok(())
}

/// The command line, for messages.
pub fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    for arg in command.get_args() {
        name.push(' ');
        name.push_str(&arg.to_string_lossy());
    }
    name
}

/// What cargo has built of one target.
#[derive(Debug, PartialEq)]
pub struct Artifact {
    /// `lib guichet`, `test pages`.
    pub name: String,
    pub version: String,
    pub is_test: bool,
    pub files: Vec<PathBuf>,
    pub executable: Option<PathBuf>,
}

/// The artifacts that cargo has built for this process, or found built.
static BUILT: AtomicUsize = AtomicUsize::new(0);

/// How many artifacts cargo has built for this process, or found built.
pub fn built() -> usize {
    BUILT.load(Ordering::Relaxed)
}

/// Runs a build command. The paths come from cargo's output, so that any configuration of the target folder works.
pub fn build(command: &mut Command) -> Result<Vec<Artifact>> {
    let mut artifacts = Vec::new();
    run_reading(command.arg("--message-format=json-render-diagnostics"), |line| {
        if let Some(artifact) = artifact(line) {
            BUILT.fetch_add(1, Ordering::Relaxed);
            artifacts.push(artifact);
        }
    })?;
    Ok(artifacts)
}

/// Runs a build command. Returns the wasm of a package, and the package's version.
pub fn build_wasm(package: &str, command: &mut Command) -> Result<(PathBuf, String)> {
    for artifact in build(command)? {
        let is_wasm = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "wasm");
        let is_of_package = artifact.name.split(' ').nth(1).is_some_and(|name| name.replace('_', "-") == package);
        if let Some(file) = artifact.files.into_iter().find(is_wasm).filter(|_| is_of_package) {
            return Ok((file, artifact.version));
        }
    }
    bail!("cargo built no .wasm of the package `{package}`")
}

/// Runs a build command. Returns the program of this name.
pub fn build_program(name: &str, command: &mut Command) -> Result<PathBuf> {
    program(name, &build(command)?)
}

/// The program of this name.
pub fn program(name: &str, built: &[Artifact]) -> Result<PathBuf> {
    let mut programs = built.iter().filter(|artifact| artifact.name == format!("bin {name}"));
    programs.find_map(|artifact| artifact.executable.clone()).with_context(|| format!("cargo built no `{name}`"))
}

/// Parses a line of `--message-format=json`.
fn artifact(line: &str) -> Option<Artifact> {
    let message: Value = serde_json::from_str(line).ok()?;
    let path = |value: &Value| value.as_str().map(PathBuf::from);
    (message["reason"] == "compiler-artifact").then_some(())?;
    let target = &message["target"];
    Some(Artifact {
        name: format!("{} {}", target["kind"][0].as_str()?, target["name"].as_str()?),
        // `…/guichet#0.1.0` or `…/checkout#guichet@0.1.0`.
        version: message["package_id"].as_str()?.rsplit(['#', '@']).next()?.to_owned(),
        is_test: message["profile"]["test"] == true,
        files: message["filenames"].as_array()?.iter().filter_map(path).collect(),
        executable: path(&message["executable"]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_cargo_is_an_artifact_or_nothing() {
        let built = r#"{"reason":"compiler-artifact","package_id":"path+file:///c#guichet@0.1.0","target":{"kind":["lib"],"name":"guichet"},
            "profile":{"test":true},"filenames":["/t/guichet.wasm"],"executable":"/t/guichet-1"}"#;
        let expected = Artifact {
            name: "lib guichet".to_owned(),
            version: "0.1.0".to_owned(),
            is_test: true,
            files: vec!["/t/guichet.wasm".into()],
            executable: Some("/t/guichet-1".into()),
        };
        assert_eq!(artifact(built), Some(expected));
        assert_eq!(
            artifact(&built.replace("c#guichet@", "guichet#")).map(|artifact| artifact.version).as_deref(),
            Some("0.1.0")
        );
        assert_eq!(artifact(r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(artifact("warning: not JSON"), None);
    }
}
