//! Runs cargo from within a cargo command.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    for arg in command.get_args() {
        name.push(' ');
        name.push_str(&arg.to_string_lossy());
    }
    name
}

/// One artifact of the package `guichet`.
#[derive(Debug, PartialEq)]
pub struct Artifact {
    pub version: String,
    pub files: Vec<PathBuf>,
    pub executable: Option<PathBuf>,
}

/// Runs a build command. Returns the wasm of a package.
pub fn build_wasm(package: &str, command: &mut Command) -> Result<PathBuf> {
    let files = build(package, command)?.into_iter().flat_map(|artifact| artifact.files);
    let mut wasm = files.filter(|file| file.extension().is_some_and(|extension| extension == "wasm"));
    wasm.next().with_context(|| format!("cargo built no .wasm of the package `{package}`"))
}

/// Runs a build command. Returns the program of a package.
pub fn build_executable(package: &str, command: &mut Command) -> Result<PathBuf> {
    let mut executables = build(package, command)?.into_iter().filter_map(|artifact| artifact.executable);
    executables.next().with_context(|| format!("cargo built no program of the package `{package}`"))
}

/// Runs a build command. Returns every program that it has built.
pub fn build_executables(command: &mut Command) -> Result<Vec<PathBuf>> {
    let mut programs = Vec::new();
    run_reading(command, |line| {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        programs.extend(message["executable"].as_str().map(PathBuf::from));
    })?;
    Ok(programs)
}

/// Runs a build command. Returns the artifacts of a package.
///
/// Their paths come from cargo's output, so that any configuration of the target folder works.
pub fn build(package: &str, command: &mut Command) -> Result<Vec<Artifact>> {
    let mut artifacts = Vec::new();
    run_reading(command, |line| artifacts.extend(artifact(package, line)))?;
    Ok(artifacts)
}

/// Parses a line of `--message-format=json`: an artifact of a package, or `None`.
fn artifact(package: &str, line: &str) -> Option<Artifact> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" {
        return None;
    }
    let (name, version) = name_and_version(message["package_id"].as_str()?)?;
    if name != package {
        return None;
    }
    let path = |value: &Value| value.as_str().map(PathBuf::from);
    Some(Artifact {
        version: version.to_owned(),
        files: message["filenames"].as_array()?.iter().filter_map(path).collect(),
        executable: path(&message["executable"]),
    })
}

/// Parses a package id: `…/guichet#0.1.0` or `…/checkout#guichet@0.1.0`.
fn name_and_version(package_id: &str) -> Option<(&str, &str)> {
    let (url, fragment) = package_id.rsplit_once('#')?;
    Some(match fragment.split_once('@') {
        Some((name, version)) => (name, version),
        None => (url.rsplit_once('/')?.1, fragment),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_ids_are_parsed_whatever_the_name_of_the_folder() {
        assert_eq!(name_and_version("path+file:///home/a/checkout#guichet@0.1.0"), Some(("guichet", "0.1.0")));
        assert_eq!(name_and_version("path+file:///home/a/guichet#0.1.0"), Some(("guichet", "0.1.0")));
    }

    #[test]
    fn only_artifacts_of_guichet_are_returned() {
        let ours = r#"{"reason":"compiler-artifact","package_id":"path+file:///c#guichet@0.1.0",
            "filenames":["/t/guichet.wasm"],"executable":null,"fresh":true}"#;
        assert_eq!(
            artifact("guichet", ours),
            Some(Artifact { version: "0.1.0".to_owned(), files: vec!["/t/guichet.wasm".into()], executable: None })
        );
        assert_eq!(artifact("guichet", &ours.replace("guichet@", "serde@")), None);
        assert_eq!(artifact("guichet", r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(artifact("guichet", "warning: not JSON"), None);
    }
}
