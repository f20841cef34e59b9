//! Embeds the pages' own files and their sentences, and the npm package if `GUICHET_PACKAGE` is its folder:
//!
//! ```sh
//! cargo xtask pack
//! GUICHET_PACKAGE=target/npm/package cargo install --path crates/cli
//! ```
//!
//! The crate on crates.io contains the package, and embeds it without the variable. Here its folder is a symbolic link
//! to the one that `cargo xtask pack` writes, which is served and not embedded: a change of the package then compiles
//! nothing.

use serde_json::Value;
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
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = named.map(|folder| here.join("../..").join(folder)).or_else(|| contained(here));
    if let Some(folder) = &named {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    let words = linked("words");
    println!("cargo::rerun-if-changed={}", words.display());
    let own = linked("www");
    println!("cargo::rerun-if-changed={}", own.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names it"));
    let write = |name, list| fs::write(out.join(name), list).map_err(|error| error.to_string());
    let served = out.join("www");
    let pages = copy_without_comments(&own, &served).and_then(|()| embedded(&served));
    let pages = pages.map_err(|error| error.to_string()).and_then(|list| write("pages.rs", list));
    let inspector = linked("inspector");
    println!("cargo::rerun-if-changed={}", inspector.display());
    let served = out.join("inspector");
    // The npm package has the files beside its wasm.
    let is_wasm = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|name| name == "wasm32");
    let inspector = copy_without_comments(&inspector, &served)
        .and_then(|()| if is_wasm { Ok("&[]".to_owned()) } else { embedded(&served) });
    let inspector = inspector.map_err(|error| error.to_string()).and_then(|list| write("inspector.rs", list));
    // Without indentation, which the wasm would contain.
    let schemas = "src/openapi/inspector.json";
    println!("cargo::rerun-if-changed={schemas}");
    let schemas = fs::read_to_string(here.join(schemas)).map_err(|error| error.to_string());
    let schemas = schemas.and_then(|text| write("schemas.json", text.lines().map(str::trim).collect::<String>()));
    let package = listing(named.as_deref()).and_then(|list| write("package.rs", list));
    let words = sentences(&words).and_then(|list| write("words.rs", list));
    if let Err(why) = pages.and(inspector).and(schemas).and(package).and(words) {
        println!("cargo::error={why}");
    }
}

/// The npm package in the crate that crates.io has.
fn contained(package: &Path) -> Option<PathBuf> {
    let folder = package.join("package");
    folder.symlink_metadata().is_ok_and(|found| found.is_dir()).then_some(folder)
}

/// A folder of the project: the pages or their sentences. It is a symbolic link in the repository, and where git writes
/// none, as on Windows, a file with the path.
fn linked(name: &str) -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = package.join(name);
    fs::read_to_string(&folder).map(|path| package.join(path.trim())).unwrap_or(folder)
}

/// The sentences of `en.json` and `fr.json` as Rust constants, in a module for each group, so that a page with a
/// sentence that is missing does not compile.
///
/// # Errors
/// If one language has a sentence that the other does not have.
fn sentences(folder: &Path) -> Result<String, String> {
    let read = |language: &str| -> Result<Value, String> {
        let text = fs::read_to_string(folder.join(language)).map_err(|error| format!("words/{language}: {error}"))?;
        serde_json::from_str(&text).map_err(|error| format!("words/{language}: {error}"))
    };
    let (english, french) = (read("en.json")?, read("fr.json")?);
    let mut written = String::new();
    let groups = english.as_object().into_iter().flatten();
    for (group, english) in groups.filter_map(|(name, group)| Some((name, group.as_object()?))) {
        let french = french[group].as_object().filter(|french| french.keys().eq(english.keys()));
        let french = french.ok_or_else(|| format!("words: {group} has not the same sentences in each language."))?;
        // The groups that no template uses have names of JavaScript.
        written += &format!("#[allow(non_snake_case)]\npub(crate) mod {group} {{\n    use super::Sentence;\n");
        for (name, (english, french)) in english.keys().zip(english.values().zip(french.values())) {
            written += &format!("    pub(crate) const {}: Sentence = [{english}, {french}];\n", name.to_uppercase());
        }
        written += "}\n";
    }
    Ok(written)
}

/// Copies the pages' files. Those of scripts and styles lose the lines that are only a comment: a fifth of what a phone
/// loads of them.
fn copy_without_comments(from: &Path, to: &Path) -> io::Result<()> {
    let from = from.canonicalize()?;
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    for file in files(&from)? {
        let copy = to.join(file.strip_prefix(&from).unwrap_or(&file));
        fs::create_dir_all(copy.parent().unwrap_or(to))?;
        let has_comments = file.extension().is_some_and(|extension| extension == "js" || extension == "css");
        if has_comments {
            fs::write(copy, without_comments(&fs::read_to_string(&file)?))?;
        } else {
            fs::copy(&file, copy)?;
        }
    }
    Ok(())
}

/// A script or a style without the lines that are only a comment.
pub fn without_comments(text: &str) -> String {
    let mut is_inside = false;
    let is_code = |line: &&str| {
        let line = line.trim();
        let was_inside = is_inside;
        is_inside = (was_inside || line.starts_with("/*")) && !line.contains("*/");
        let is_comment =
            was_inside || line.starts_with("//") || (line.starts_with("/*") && (is_inside || line.ends_with("*/")));
        !is_comment
    };
    text.split_inclusive('\n').filter(is_code).collect()
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
