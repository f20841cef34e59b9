//! The npm package that the hosted page and the demo's shop serve.

use askama::Template;
use axum::body::Bytes;
use std::fs;
use std::path::{Path as FilePath, PathBuf};
use std::time::SystemTime;

/// The package that `build.rs` has embedded: empty unless built with `GUICHET_PACKAGE`.
static EMBEDDED: Files = include!(concat!(env!("OUT_DIR"), "/package.rs"));

/// File names and contents.
type Files = &'static [(&'static str, &'static [u8])];

/// The location of the package.
#[derive(Clone, Debug)]
pub(crate) enum Package {
    Folder(PathBuf),
    Embedded(Files),
    /// Files that the caller reads, as in wasm32, which has no file system.
    #[cfg(all(target_arch = "wasm32", feature = "sandbox-js"))]
    Given(fn() -> Vec<(String, Bytes)>),
}

impl Package {
    /// Finds the package: in the given folder; otherwise in this binary, if embedded; otherwise below the current folder or the
    /// project's folder, where `cargo xtask pack` writes it.
    pub(crate) fn find(folder: Option<PathBuf>) -> Self {
        const PLACE: &str = "target/npm/package";
        match folder {
            Some(folder) => Self::Folder(folder),
            None if !EMBEDDED.is_empty() => Self::Embedded(EMBEDDED),
            None if FilePath::new(PLACE).is_dir() => Self::Folder(PLACE.into()),
            None => Self::Folder(FilePath::new(env!("CARGO_MANIFEST_DIR")).join(PLACE)),
        }
    }

    /// A fingerprint that changes when a file of the package changes.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let mut files = Vec::new();
        if let Self::Folder(folder) = self {
            list(folder, "", 0, &mut files);
        }
        files.sort();
        Fingerprint(files)
    }

    /// Its file names and contents.
    pub(crate) fn read(&self, fingerprint: &Fingerprint) -> Vec<(String, Bytes)> {
        match self {
            Self::Folder(folder) => fingerprint
                .0
                .iter()
                .filter_map(|(name, ..)| Some((name.clone(), Bytes::from(fs::read(folder.join(name)).ok()?))))
                .collect(),
            Self::Embedded(files) => {
                files.iter().map(|(name, bytes)| ((*name).to_owned(), Bytes::from_static(bytes))).collect()
            }
            #[cfg(all(target_arch = "wasm32", feature = "sandbox-js"))]
            Self::Given(read) => read(),
        }
    }

    /// A page that says how to build the package, for when a file of it is missing.
    pub(crate) fn missing(&self) -> String {
        #[derive(Template)]
        #[template(
            source = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>The package is missing</title>\
                      <h1>The npm package is missing</h1>\
                      <p>This page uses it, and it is not in <code>{{ folder }}</code>. Build it in the project's folder:</p>\
                      <pre>cargo xtask pack --quick</pre>\
                      <p>or say where it is with <code>--package DIR</code>. Then reload this page.</p></html>",
            ext = "html"
        )]
        struct Missing<'a> {
            folder: &'a str,
        }
        let folder = match self {
            Self::Folder(folder) => folder.display().to_string(),
            Self::Embedded(_) => "this binary".to_owned(),
            #[cfg(all(target_arch = "wasm32", feature = "sandbox-js"))]
            Self::Given(_) => "this package".to_owned(),
        };
        let page = Missing { folder: &folder }.render();
        page.unwrap_or_else(|_| "Build the npm package: cargo xtask pack --quick".into())
    }
}

/// The names, sizes and modification times of a package's files. Empty for a package that is in no folder: it does not change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Fingerprint(Vec<(String, u64, Option<SystemTime>)>);

/// The depth to which folders are read; the package's are two deep.
const DEPTH: usize = 4;
/// The most files of a package. A folder with more is not a package.
const MAX_FILES: usize = 1000;

fn list(folder: &FilePath, prefix: &str, depth: usize, files: &mut Vec<(String, u64, Option<SystemTime>)>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        // Follows links.
        let (Ok(name), Ok(metadata)) = (entry.file_name().into_string(), fs::metadata(entry.path())) else { continue };
        if metadata.is_dir() && depth < DEPTH && name != "node_modules" {
            list(&entry.path(), &format!("{prefix}{name}/"), depth + 1, files);
        } else if metadata.is_file() && files.len() < MAX_FILES {
            files.push((format!("{prefix}{name}"), metadata.len(), metadata.modified().ok()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: Files = &[("hosted.js", b"export {};"), ("core/guichet_hosted_bg.wasm", b"\0asm")];

    #[test]
    fn an_embedded_package_is_read_by_file_name() {
        let package = Package::Embedded(FILES);
        let files = package.read(&package.fingerprint());
        assert_eq!(files[1], ("core/guichet_hosted_bg.wasm".to_owned(), Bytes::from_static(b"\0asm")));
    }

    #[test]
    fn a_given_folder_takes_precedence_over_the_embedded_package() {
        let Package::Folder(folder) = Package::find(Some("elsewhere".into())) else { panic!("it is not in a folder") };
        assert_eq!(folder, FilePath::new("elsewhere"));
        let page = Package::Folder("a<b".into()).missing();
        assert!(page.contains("cargo xtask pack --quick") && page.contains("--package") && !page.contains("a<b"));
    }
}
