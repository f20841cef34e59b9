//! Locks a database file for one sandbox.
//!
//! Two sandboxes on one file would each rely on their own memory. And SQLite's write-ahead log is beside the *name* by
//! which a file was opened: under two names, each would miss the other's writes.

use crate::private_file::{owner_alone, shell_word, with_suffix};
use crate::start_error::StartError;
use std::collections::BTreeSet;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The files that sandboxes of this process use.
static IN_USE: Mutex<BTreeSet<Identity>> = Mutex::new(BTreeSet::new());

/// Identifies a file whatever its name: device and inode.
#[cfg(unix)]
type Identity = (u64, u64);
/// Identifies a file: its canonical path, the best that this system offers.
#[cfg(not(unix))]
type Identity = PathBuf;

/// The lock on a database file. The system releases it when the process ends, even after a crash.
///
/// The file `<database>.lock` stays, since removing it could remove the lock of another process.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    /// Its canonical path, with symbolic links resolved.
    path: PathBuf,
    identity: Identity,
    lock: File,
}

impl DatabaseFile {
    /// Creates the file with its folder if it does not exist, readable by its owner alone, and locks it.
    ///
    /// # Errors
    /// If another sandbox uses it, if it has more than one name (hard link), or if it cannot be opened for writing.
    pub(super) fn lock(path: &Path) -> Result<Self, StartError> {
        let unusable = |error: io::Error| {
            StartError::Database(format!("The database {} cannot be opened for writing: {error}.", path.display()))
        };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(unusable)?;
        }
        // Held until the end, so that no other sandbox of this process can open the file after the check.
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        // With `stat`, before the file is opened: closing a second handle would release SQLite's locks in this process.
        match fs::metadata(path) {
            Ok(metadata) if in_use.contains(&identity(path, &metadata).map_err(unusable)?) => {
                return Err(used_by_another(path));
            }
            Ok(metadata) if metadata.len() == 0 => refuse_log_without_database(path)?,
            Ok(metadata) => refuse_other_names(path, &metadata)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => refuse_log_without_database(path)?,
            Err(error) => return Err(unusable(error)),
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true);
        owner_alone(&mut options);
        let metadata = options.open(path).and_then(|file| file.metadata()).map_err(unusable)?;
        let path = path.canonicalize().map_err(unusable)?;
        if metadata.len() == 0 {
            // Again under the canonical path: the path may have been a link to a file that did not exist.
            refuse_log_without_database(&path)?;
        }
        let lock = options.open(with_suffix(&path, ".lock")).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(used_by_another(&path)),
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        let identity = identity(&path, &metadata).map_err(unusable)?;
        #[allow(clippy::clone_on_copy, reason = "on other systems it is a path")]
        in_use.insert(identity.clone());
        Ok(Self { path, identity, lock })
    }

    /// Its canonical path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the rights of others from the database, its log and its shared memory. SQLite creates the latter two with
    /// the database's mode.
    ///
    /// # Errors
    /// If one of them is a link, or its mode cannot be changed.
    pub(super) fn make_private(&self) -> Result<(), StartError> {
        for file in ["", "-wal", "-shm"].map(|suffix| with_suffix(&self.path, suffix)) {
            close(&file).map_err(|error| {
                StartError::Database(format!(
                    "Other users can access {}, and its mode cannot be changed: {error}.",
                    file.display()
                ))
            })?;
        }
        Ok(())
    }

    /// Checks that no writes of this database are in the log beside the name under which it was last used.
    ///
    /// # Errors
    /// If there are any: SQLite would open the file without them.
    pub(super) fn refuse_lost_log(&self, last_used_as: &Path) -> Result<(), StartError> {
        if last_used_as == self.path {
            return Ok(());
        }
        let log = with_suffix(last_used_as, "-wal");
        let has_writes = fs::metadata(&log).is_ok_and(|metadata| metadata.len() > 0);
        // If another file has that name now, this one is a copy, and the log belongs to the other.
        let is_a_copy = fs::metadata(last_used_as)
            .and_then(|metadata| identity(last_used_as, &metadata))
            .is_ok_and(|other| other != self.identity);
        if !has_writes || is_a_copy {
            return Ok(());
        }
        let (old, now) = (last_used_as.display(), self.path.display());
        Err(StartError::Database(format!(
            "The database {now} was last used under the name {old}, and its newest payments are in {}. Rename the database back to {old} and start \
             the sandbox under that name; after a regular stop it can be renamed.",
            log.display()
        )))
    }
}

impl Drop for DatabaseFile {
    fn drop(&mut self) {
        // Closing the file does not suffice: a program that another thread starts at this moment has it, too, until it
        // is executed.
        let _ = self.lock.unlock();
        IN_USE.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.identity);
    }
}

/// Checks that there is no write-ahead log beside a database that does not exist or is empty.
///
/// # Errors
/// If there is one: SQLite would delete it, with the writes that it holds.
fn refuse_log_without_database(path: &Path) -> Result<(), StartError> {
    let log = with_suffix(path, "-wal");
    if !fs::metadata(&log).is_ok_and(|metadata| metadata.len() > 0) {
        return Ok(());
    }
    let (path, log) = (path.display(), log.display());
    Err(StartError::Database(format!(
        "The database {path} does not exist or is empty, but {log} contains the newest payments of a database of that name. Put the database back \
         as {path} and start again. If its payments are not needed, remove {log}."
    )))
}

fn used_by_another(path: &Path) -> StartError {
    StartError::Database(format!(
        "Another sandbox already uses the database {}. Stop it, or give another file with --database.",
        path.display()
    ))
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "on other systems it can fail")]
fn identity(_: &Path, metadata: &Metadata) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    Ok((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path, _: &Metadata) -> io::Result<Identity> {
    path.canonicalize()
}

#[cfg(unix)]
fn refuse_other_names(path: &Path, metadata: &Metadata) -> Result<(), StartError> {
    use std::os::unix::fs::MetadataExt;
    if metadata.is_dir() || metadata.nlink() <= 1 {
        return Ok(());
    }
    let (word, path) = (shell_word(path), path.display());
    Err(StartError::Database(format!(
        "The database {path} has {} names (hard links), and its write-ahead log is beside one of them. Remove the other names: keep the one \
         beside which there is a file that ends in -wal, or else {path}. `find -samefile {word}` lists them.",
        metadata.nlink()
    )))
}

#[cfg(not(unix))]
fn refuse_other_names(_: &Path, _: &Metadata) -> Result<(), StartError> {
    Ok(())
}

/// Makes a file readable by its owner alone, if there is one.
#[cfg(unix)]
fn close(path: &Path) -> io::Result<()> {
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

#[cfg(not(unix))]
fn close(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_although_a_program_that_is_being_started_has_the_file_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sandbox.sqlite");
        let locked = DatabaseFile::lock(&path).unwrap();
        let of_another_program = locked.lock.try_clone().unwrap();
        assert!(DatabaseFile::lock(&path).is_err());
        drop(locked);
        assert!(DatabaseFile::lock(&path).is_ok());
        drop(of_another_program);
    }
}
