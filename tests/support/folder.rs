//! A folder of a test's own.

use guichet::sandbox::Config;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of a test's own, gone when it ends.
pub struct Folder {
    pub path: PathBuf,
}

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sandbox-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    pub fn config(&self) -> Config {
        Config { database: self.database(), ..Config::default() }
    }

    /// The address of a database in it.
    pub fn database(&self) -> String {
        format!("sqlite:{}", self.path.join("sandbox.sqlite").display())
    }

    /// Where a log can be kept, beside the folder.
    pub fn log(&self) -> PathBuf {
        self.path.with_extension("log")
    }

    /// The names of what is in it.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
        let _ = fs::remove_file(self.log());
    }
}
