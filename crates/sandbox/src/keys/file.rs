//! The keys file beside a database: only its owner can read it.

use super::{GivenKeys, INSTANCE_VARIABLE, SECRET_VARIABLE};
use super::{Keys, MIN_INSTANCE_LENGTH, MIN_LENGTH, StartError, has_format, is_long_enough};
use crate::private_file::{owner_alone, shell_word, with_suffix};
use crate::tokens::{SECRET_KEY, id};
use guichet::values::Secret;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How often, and how many times, an incomplete file is read again: another instance may be writing it.
const READ_INTERVAL: Duration = Duration::from_millis(20);
const READS: u32 = 50;

impl Keys {
    /// Reads the keys beside the database of this canonical path, or creates them: `sandbox.sqlite.keys` for
    /// `sandbox.sqlite`.
    #[cfg(feature = "sqlite")]
    pub(crate) fn beside(database: &Path) -> Result<Self, StartError> {
        Self::read_or_create(&with_suffix(database, ".keys"), || Ok(Self::generate()))
    }

    /// Reads the keys in this file. If it does not exist, creates it with the given keys, and with new ones for those
    /// that are not given.
    ///
    /// # Errors
    /// If a given key is not the one in the file.
    pub(super) fn in_file(path: &Path, given: &GivenKeys) -> Result<Self, StartError> {
        let keys = Self::read_or_create(path, || given.clone().or_else(|| Ok(Self::generate())))?;
        for (variable, given, stored) in [
            (INSTANCE_VARIABLE, &given.instance, &keys.instance),
            (SECRET_VARIABLE, &given.secret_key, &keys.secret_key),
        ] {
            if given.as_ref().is_some_and(|given| given != stored) {
                return Err(StartError::Keys(format!(
                    "{variable} differs from the key in {}. Unset it to use the key in the file, or give --keys another file.",
                    path.display()
                )));
            }
        }
        Ok(keys)
    }

    /// Reads the keys file of this path, or creates it with new keys.
    fn read_or_create(path: &Path, new: impl Fn() -> Result<Self, StartError>) -> Result<Self, StartError> {
        let unusable = |error: io::Error| {
            StartError::Keys(format!("The keys of the sandbox cannot be stored in {}: {error}.", path.display()))
        };
        match fs::symlink_metadata(path) {
            Ok(metadata) => {
                refuse_if_others_can_read(path, &metadata)?;
                #[cfg(unix)]
                refuse_other_owner(path, &metadata, own_uid(path).map_err(unusable)?)?;
                let text = read_whole(path, &metadata).map_err(unusable)?;
                Self::read(&text).ok_or_else(|| {
                    StartError::Keys(format!(
                        "{} does not contain the keys of a sandbox: instance_key= and at least {MIN_INSTANCE_LENGTH} characters, and on the next line \
                         secret_key={SECRET_KEY} and at least {MIN_LENGTH} letters and digits. Move it away to get new ones.",
                        path.display()
                    ))
                })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let keys = new()?;
                if create_privately(path, &keys.to_text()).map_err(unusable)? {
                    return Ok(keys);
                }
                // Another instance has created it meanwhile.
                Self::read_or_create(path, new)
            }
            Err(error) => Err(unusable(error)),
        }
    }

    fn to_text(&self) -> String {
        format!("instance_key={}\nsecret_key={}\n", self.instance.expose(), self.secret_key.expose())
    }

    fn read(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?.trim();
            (!line.is_empty()).then(|| Secret::new(line))
        };
        let keys = Self { instance: value("instance_key")?, secret_key: value("secret_key")? };
        (is_long_enough(&keys.instance) && has_format(&keys.secret_key, SECRET_KEY)).then_some(keys)
    }
}

/// Creates a file that only its owner can read, whole or not at all. `false` if there is a file or a link at its path.
fn create_privately(path: &Path, text: &str) -> io::Result<bool> {
    let unfinished = unfinished(path);
    let mut file = create_new_privately(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    let linked = fs::hard_link(&unfinished, path);
    fs::remove_file(unfinished)?;
    match linked {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        // A file system without hard links. To rename the file would replace that of an instance which starts at the
        // same time.
        Err(_) => create_in_place(path, text),
    }
}

/// Creates a file that only its owner can read. Until it is whole, [`read_whole`] waits. `false` if there is a file or
/// a link at its path.
fn create_in_place(path: &Path, text: &str) -> io::Result<bool> {
    match create_new_privately(path) {
        Ok(mut file) => {
            file.write_all(text.as_bytes())?;
            file.sync_all().map(|()| true)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// A path beside a file, which no other program uses or can guess.
fn unfinished(path: &Path) -> PathBuf {
    with_suffix(path, &id(".new_"))
}

/// Creates a file that only its owner can read.
fn create_new_privately(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Fails if the path exists, even as a link: O_EXCL does not follow links.
    options.write(true).create_new(true);
    owner_alone(&mut options);
    options.open(path)
}

/// Checks that a keys file is a regular file that only its owner can read and write.
fn refuse_if_others_can_read(path: &Path, metadata: &Metadata) -> Result<(), StartError> {
    let (word, path) = (shell_word(path), path.display());
    if !metadata.is_file() {
        return Err(StartError::Keys(format!(
            "{path} is a link or not a file. The keys of a sandbox must be a regular file: put the file itself there, or move the link away to get \
             new keys."
        )));
    }
    let mode = mode(metadata);
    if mode & 0o077 != 0 {
        return Err(StartError::Keys(format!(
            "Other users can read the keys in {path} (mode {mode:04o}). If no other person has read them: chmod 600 {word}. Otherwise move the file \
             away to get new ones."
        )));
    }
    Ok(())
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777
}

#[cfg(not(unix))]
fn mode(_: &Metadata) -> u32 {
    0o600
}

/// Checks that the keys file does not belong to another user, who would know the keys and could change them.
#[cfg(unix)]
fn refuse_other_owner(path: &Path, metadata: &Metadata, own_uid: u32) -> Result<(), StartError> {
    let owner = std::os::unix::fs::MetadataExt::uid(metadata);
    if owner == own_uid {
        return Ok(());
    }
    let (word, path) = (shell_word(path), path.display());
    Err(StartError::Keys(format!(
        "The keys in {path} belong to another user (uid {owner}), and this sandbox runs as uid {own_uid}. Start it as that user. Or, if no other \
         person has read them: chown {own_uid} {word}. Otherwise move the file away to get new ones."
    )))
}

/// The user id of this process: the owner of a file that it creates beside the keys, or elsewhere if it may not write
/// there.
#[cfg(unix)]
fn own_uid(keys: &Path) -> io::Result<u32> {
    let beside = unfinished(keys);
    let (probe, file) = match create_new_privately(&beside) {
        Ok(file) => (beside, file),
        Err(_) => {
            let elsewhere = unfinished(&std::env::temp_dir().join("guichet"));
            let file = create_new_privately(&elsewhere)?;
            (elsewhere, file)
        }
    };
    let owner = file.metadata().map(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata));
    fs::remove_file(probe)?;
    owner
}

/// Reads a keys file. If its last line has no end, waits a while for the instance that may be writing it.
fn read_whole(path: &Path, checked: &Metadata) -> io::Result<String> {
    for _ in 0..READS {
        let text = read_same_file(path, checked)?;
        if text.ends_with('\n') {
            return Ok(text);
        }
        thread::sleep(READ_INTERVAL);
    }
    read_same_file(path, checked)
}

/// Reads a file, and checks that it is still the one that was checked before.
fn read_same_file(path: &Path, checked: &Metadata) -> io::Result<String> {
    let mut file = File::open(path)?;
    let opened = file.metadata()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if (opened.dev(), opened.ino()) != (checked.dev(), checked.ino()) {
            return Err(io::Error::other("it was replaced while it was read"));
        }
    }
    #[cfg(not(unix))]
    let _ = (opened, checked);
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_keys_are_read_back() {
        let keys = Keys::generate();
        let read = Keys::read(&keys.to_text()).unwrap();
        assert!(read.instance == keys.instance && read.secret_key == keys.secret_key);
        let text = |instance: &str, secret_key: &str| format!("instance_key={instance}\nsecret_key={secret_key}\n");
        let (instance, secret_key) = (keys.instance.expose(), keys.secret_key.expose());
        assert!(Keys::read(&text(instance, secret_key)).is_some());
        assert!(Keys::read(&text(instance, "sk_live_0123456789abcdefghijklmn")).is_none());
        assert!(Keys::read(&text(instance, "sk_test_1")).is_none() && Keys::read(&text("x", secret_key)).is_none());
        assert!(Keys::read("").is_none());
    }

    #[test]
    fn without_hard_links_the_first_keys_stay_and_are_read_when_they_are_whole() {
        let path = std::env::temp_dir().join(format!("guichet-{}-in-place.keys", std::process::id()));
        let text = Keys::generate().to_text();
        assert!(create_in_place(&path, &text).unwrap());
        assert!(!create_in_place(&path, "other keys").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), text);

        // Another instance has written the first half.
        fs::write(&path, &text[..60]).unwrap();
        let starting = thread::spawn({
            let path = path.clone();
            move || Keys::read_or_create(&path, || Ok(Keys::generate())).map(|keys| keys.to_text()).unwrap()
        });
        thread::sleep(3 * READ_INTERVAL);
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(&text.as_bytes()[60..]).unwrap();
        assert_eq!(starting.join().unwrap(), text);
        fs::remove_file(path).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn the_keys_of_another_user_are_refused() {
        let path = std::env::temp_dir().join(format!("guichet-{}-owner.keys", std::process::id()));
        let own_uid = own_uid(&path).unwrap();
        assert!(create_privately(&path, &Keys::generate().to_text()).unwrap());
        assert!(!create_privately(&path, "other keys").unwrap(), "the first keys stay");
        assert!(Keys::read_or_create(&path, || Ok(Keys::generate())).is_ok());
        let metadata = fs::symlink_metadata(&path).unwrap();
        refuse_other_owner(&path, &metadata, own_uid).unwrap();
        let refused = refuse_other_owner(&path, &metadata, own_uid + 1).unwrap_err().to_string();
        assert!(refused.contains("belong to another user"), "{refused}");
        // Only root can change a file's owner; then the whole path is tested.
        if std::os::unix::fs::chown(&path, Some(own_uid + 1), None).is_ok() {
            let Err(refused) = Keys::read_or_create(&path, || Ok(Keys::generate())) else {
                panic!("the keys of another user were read")
            };
            assert!(refused.to_string().contains("belong to another user"), "{refused}");
        }
        fs::remove_file(path).unwrap();
    }
}
