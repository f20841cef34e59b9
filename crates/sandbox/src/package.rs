//! The npm package that the hosted page loads.

use axum::body::Bytes;
use std::fs;
use std::path::{Path as FilePath, PathBuf};
use std::time::SystemTime;

/// The package that `build.rs` has embedded: empty unless built with `GUICHET_PACKAGE`.
static EMBEDDED: Files = include!(concat!(env!("OUT_DIR"), "/package.rs"));

/// File names and contents.
pub(crate) type Files = &'static [(&'static str, &'static [u8])];

/// The location of the package.
#[derive(Clone, Debug)]
pub enum Package {
    /// In a folder, as `cargo xtask pack` writes it.
    Folder(PathBuf),
    /// In this program.
    Embedded(Files),
    /// Files that the caller reads, as in wasm32, which has no file system.
    Given(fn() -> Vec<(String, Bytes)>),
    /// There is none. The pages that need it say how to get one.
    Nowhere,
}

impl Package {
    /// Finds the package: in the given folder; otherwise in this binary, if embedded; otherwise, for a binary in the
    /// `target` folder of this project, where `cargo xtask pack` writes it.
    pub fn find(folder: Option<PathBuf>) -> Self {
        match folder {
            Some(folder) => Self::Folder(folder),
            None if !EMBEDDED.is_empty() => Self::Embedded(EMBEDDED),
            None => beside_this_binary().map_or(Self::Nowhere, Self::Folder),
        }
    }

    /// Its file names and contents, as they are now.
    #[must_use]
    pub fn files(&self) -> Vec<(String, Bytes)> {
        self.read(&self.fingerprint())
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
            Self::Given(read) => read(),
            Self::Nowhere => Vec::new(),
        }
    }

    /// A sentence that says how to get the package, if there is none.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let is_there = match self {
            Self::Folder(folder) => folder.join("package.json").is_file(),
            Self::Nowhere => false,
            _ => true,
        };
        let (location, remedy) = (self.location(), self.remedy());
        (!is_there).then(|| {
            format!(
                "There is no npm package in {location}, and the scripts of the pages for customers need it. Build it in the project's folder with \
                 cargo xtask pack --quick, which writes target/npm/package. {remedy}"
            )
        })
    }

    fn location(&self) -> String {
        match self {
            Self::Folder(folder) => folder.display().to_string(),
            Self::Embedded(_) | Self::Nowhere => "this binary".to_owned(),
            Self::Given(_) => "this package".to_owned(),
        }
    }

    /// What to do after it was built.
    fn remedy(&self) -> &'static str {
        match self {
            Self::Folder(_) => "Then reload the page. If the package is elsewhere, start again with --package DIR.",
            _ => {
                "Then start again with --package DIR, the folder target/npm/package there. A binary that was built with \
                 GUICHET_PACKAGE contains the package."
            }
        }
    }
}

/// The folder of the package, if Cargo has built this binary in the project's own `target` folder. Any other binary,
/// such as an installed one, must not serve files of whatever folder it is started in.
#[cfg(not(target_arch = "wasm32"))]
fn beside_this_binary() -> Option<PathBuf> {
    let target = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../target").canonicalize().ok()?;
    let binary = std::env::current_exe().ok()?.canonicalize().ok()?;
    binary.starts_with(&target).then(|| target.join("npm/package"))
}

/// wasm32 has no folders, and the npm package must not contain the path of the machine that built it.
#[cfg(target_arch = "wasm32")]
const fn beside_this_binary() -> Option<PathBuf> {
    None
}

/// The names, sizes and modification times of a package's files. Empty for a package that is in no folder: it does not
/// change.
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
        for package in [Package::Folder("elsewhere".into()), Package::Nowhere] {
            let problem = package.problem().expect("there is none");
            assert!(problem.contains("cargo xtask pack --quick") && problem.contains("--package"), "{problem}");
        }
    }
}
