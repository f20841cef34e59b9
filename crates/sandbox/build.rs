//! Embeds the pages' own files, and the npm package if `GUICHET_PACKAGE` is its folder, as in releases:
//!
//! ```sh
//! cargo xtask pack
//! GUICHET_PACKAGE=target/npm/package cargo install --path crates/cli
//! ```
//!
//! Without the variable no package is embedded, and the pages serve a folder.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The environment variable with the folder. A relative path is relative to the project's folder.
const VARIABLE: &str = "GUICHET_PACKAGE";
/// A file that every package contains.
const ENTRIES: [&str; 2] = ["guichet.js", "hosted.js"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let named = env::var_os(VARIABLE).filter(|folder| !folder.is_empty());
    let named = named.map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder));
    if let Some(folder) = &named {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    let own = pages(Path::new(env!("CARGO_MANIFEST_DIR")));
    println!("cargo::rerun-if-changed={}", own.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names it"));
    let write = |name, list| fs::write(out.join(name), list).map_err(|error| error.to_string());
    let pages = embedded(&own).map_err(|error| error.to_string()).and_then(|list| write("pages.rs", list));
    let package = listing(named.as_deref()).and_then(|list| write("package.rs", list));
    if let Err(why) = pages.and(package) {
        println!("cargo::error={why}");
    }
}

/// The folder of the pages: `www`. It is a symbolic link in the repository, and where git writes none, as on Windows, a file with the path.
fn pages(package: &Path) -> PathBuf {
    let www = package.join("www");
    fs::read_to_string(&www).map(|path| package.join(path.trim())).unwrap_or(www)
}

/// All files of a package as a Rust expression of type `&[(&str, &[u8])]`; empty without a package.
///
/// # Errors
/// If the folder does not exist or is not a package.
pub fn listing(folder: Option<&Path>) -> Result<String, String> {
    let Some(folder) = folder else { return Ok("&[]".to_owned()) };
    let unusable = |why: &dyn std::fmt::Display| format!("{VARIABLE} is {}: {why}", folder.display());
    let folder = folder.canonicalize().map_err(|error| unusable(&error))?;
    if !ENTRIES.iter().all(|entry| folder.join(entry).is_file()) {
        return Err(unusable(&"the npm package is missing. Build it: cargo xtask pack"));
    }
    embedded(&folder).map_err(|error| unusable(&error))
}

/// All files of a folder as such an expression.
fn embedded(folder: &Path) -> io::Result<String> {
    // Absolute paths: the generated file is in another folder.
    let folder = folder.canonicalize()?;
    let files = files(&folder)?;
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
