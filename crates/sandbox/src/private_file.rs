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

/// A path as a word of a POSIX shell, for a command to copy.
pub(crate) fn shell_word(path: &Path) -> String {
    let path = path.display().to_string();
    // A path has no NUL, which alone cannot be quoted.
    shlex::try_quote(&path).map_or_else(|_| path.clone(), |word| word.into_owned())
}

/// Appends a suffix to a path: `sandbox.sqlite` and `.lock` give `sandbox.sqlite.lock`.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        for path in ["/srv/sandbox.keys", "/srv/Awa's \"shop\" for $HOME/`id`.keys"] {
            let printed = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {}", shell_word(Path::new(path)))])
                .output();
            assert_eq!(String::from_utf8(printed.unwrap().stdout).unwrap(), path);
        }
    }
}
