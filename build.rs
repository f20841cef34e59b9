//! Embeds the npm package into the binary if `GUICHET_PACKAGE` is its folder, as releases do:
//!
//! ```sh
//! cargo xtask pack
//! GUICHET_PACKAGE=target/npm/package cargo install --path . --features cli
//! ```
//!
//! Without the variable nothing is embedded, and the pages serve a folder.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The environment variable with the folder. A relative path is relative to the crate's root.
const VARIABLE: &str = "GUICHET_PACKAGE";
/// A file that every package contains.
const ENTRIES: [&str; 2] = ["guichet.js", "hosted.js"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let named = env::var_os(VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    if let Some(folder) = &named {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names it")).join("package.rs");
    let written = listing(named.as_deref()).and_then(|list| fs::write(out, list).map_err(|error| error.to_string()));
    if let Err(why) = written {
        println!("cargo::error={why}");
    }
}

/// All files of a package as a Rust expression of type `&[(&str, &[u8])]`; empty without a package.
///
/// # Errors
/// If the folder does not exist or is not a package.
pub fn listing(folder: Option<&Path>) -> Result<String, String> {
    let Some(folder) = folder else { return Ok("&[]".to_owned()) };
    let unusable = |why: &dyn std::fmt::Display| format!("{VARIABLE} is {}: {why}", folder.display());
    // Absolute paths: the generated file is in another folder.
    let folder = folder.canonicalize().map_err(|error| unusable(&error))?;
    if !ENTRIES.iter().all(|entry| folder.join(entry).is_file()) {
        return Err(unusable(&"the npm package is missing. Build it: cargo xtask pack"));
    }
    let files = files(&folder).map_err(|error| unusable(&error))?;
    let lines = files.iter().map(|file| {
        let name: Vec<_> =
            file.strip_prefix(&folder).unwrap_or(file).iter().map(|part| part.to_string_lossy()).collect();
        format!("    ({:?}, include_bytes!({:?}).as_slice()),\n", name.join("/"), file)
    });
    Ok(format!("&[\n{}]", lines.collect::<String>()))
}

/// All files under a folder, in a stable order.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}
