//! Files that only their owner can read, on Unix: the keys and databases of the sandbox and of the demo's shop.

use std::ffi::OsString;
use std::fs::OpenOptions;
#[cfg(feature = "sandbox-sqlite")]
use std::io;
use std::path::{Path, PathBuf};

/// The suffixes of an SQLite database's files: the database, its log and its shared memory.
#[cfg(feature = "sandbox-sqlite")]
const DATABASE_FILES: [&str; 3] = ["", "-wal", "-shm"];

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

/// Makes a database, its log and its shared memory readable by their owner alone. SQLite creates the latter two with the database's
/// mode, but files of an earlier version may be readable by everyone.
///
/// # Errors
/// The file that is a link or whose mode cannot be changed, and the reason.
#[cfg(feature = "sandbox-sqlite")]
pub(crate) fn close_database(path: &Path) -> Result<(), (PathBuf, io::Error)> {
    for suffix in DATABASE_FILES {
        let file = with_suffix(path, suffix);
        close(&file).map_err(|error| (file, error))?;
    }
    Ok(())
}

#[cfg(all(unix, feature = "sandbox-sqlite"))]
fn close(path: &Path) -> io::Result<()> {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if metadata.is_symlink() {
        return Err(io::Error::other("it is a link"));
    }
    // By its path: closing a handle would release the locks that SQLite holds in this process.
    if metadata.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(all(not(unix), feature = "sandbox-sqlite"))]
fn close(_: &Path) -> io::Result<()> {
    Ok(())
}
