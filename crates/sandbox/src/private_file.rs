//! Files that only their owner can read, on Unix: the sandbox's keys and databases.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

/// Sets the mode of created files to 0600.
pub(crate) fn owner_alone(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Appends a suffix to a path: `sandbox.sqlite` and `.lock` give `sandbox.sqlite.lock`.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}
