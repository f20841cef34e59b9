//! A temporary folder for one test.

use guichet_sandbox::Config;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A folder that no other test uses, removed when it is dropped.
#[derive(Debug)]
pub struct Folder {
    pub path: PathBuf,
    _inside: TempDir,
}

impl Folder {
    /// Creates `target/tmp/<name>-<random>/files`.
    pub fn new(name: &str) -> Self {
        let inside =
            tempfile::Builder::new().prefix(&format!("{name}-")).tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = inside.path().join("files");
        fs::create_dir(&path).unwrap();
        Self { path, _inside: inside }
    }

    pub fn config(&self) -> Config {
        Config { database: self.database(), ..Config::default() }
    }

    /// The address of a database in the folder.
    pub fn database(&self) -> String {
        format!("sqlite:{}", self.path.join("sandbox.sqlite").display())
    }

    /// The path of a log beside the folder, so that [`Folder::names`] does not contain it.
    pub fn log(&self) -> PathBuf {
        self.path.with_file_name("log")
    }

    /// The names of the files in the folder.
    pub fn file_names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }
}
