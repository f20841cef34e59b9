//! The instance key and the first merchant's secret key: from the environment, or from a file beside the database.

use super::StartError;
use super::tokens::{SECRET_KEY, secret};
use crate::private_file::{owner_alone, with_suffix};
use crate::values::Secret;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The two keys of a sandbox.
pub(super) struct Keys {
    /// Client secrets are derived from it.
    pub(super) instance: Secret,
    /// The first merchant's.
    pub(super) secret_key: Secret,
}

const INSTANCE_VARIABLE: &str = "GUICHET_INSTANCE_KEY";
const SECRET_VARIABLE: &str = "GUICHET_SECRET_KEY";
/// How long a key is at least, behind its prefix.
const SHORTEST: usize = 16;

impl Keys {
    /// The keys of a sandbox whose database is the file with this canonical path, and was named like this; fresh ones where
    /// it is kept in memory.
    pub(super) fn find(database: Option<&Path>, named: Option<&Path>) -> Result<Self, StartError> {
        let instance = from_environment(INSTANCE_VARIABLE);
        let secret_key = from_environment(SECRET_VARIABLE);
        if secret_key.as_ref().is_some_and(|key| !is_a_key(key.expose())) {
            return Err(StartError::Keys(format!(
                "{SECRET_VARIABLE} cannot be the first merchant's key: that is {SECRET_KEY} and at least {SHORTEST} letters and digits, and never a \
                 live key. Unset it, and the sandbox makes one."
            )));
        }
        let kept = match (&instance, &secret_key, database) {
            (Some(_), Some(_), _) | (_, _, None) => Self::fresh(),
            (_, _, Some(database)) => Self::kept(&beside(database), named.map(beside).as_deref())?,
        };
        Ok(Self { instance: instance.unwrap_or(kept.instance), secret_key: secret_key.unwrap_or(kept.secret_key) })
    }

    fn fresh() -> Self {
        Self { instance: secret(""), secret_key: secret(SECRET_KEY) }
    }

    /// Reads the keys file of this path, or creates it.
    ///
    /// An earlier version kept it beside whatever link the database was named by. Where it lies there, new keys would lock
    /// out everyone who has the old ones: the caller is told to move it.
    fn kept(path: &Path, beside_link: Option<&Path>) -> Result<Self, StartError> {
        let unusable = |error: io::Error| {
            StartError::Keys(format!("The keys of the sandbox in {} cannot be kept: {error}.", path.display()))
        };
        match fs::symlink_metadata(path) {
            Ok(metadata) => {
                refuse_what_others_read(path, &metadata)?;
                #[cfg(unix)]
                refuse_other_owner(path, &metadata, own_uid(path).map_err(unusable)?)?;
                let text = read_same_file(path, &metadata).map_err(unusable)?;
                Self::read(&text).ok_or_else(|| {
                    StartError::Keys(format!(
                        "{} does not hold the keys of a sandbox. Move it away to get new ones.",
                        path.display()
                    ))
                })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if let Some(old) = beside_link.filter(|old| fs::symlink_metadata(old).is_ok()) {
                    return Err(StartError::Keys(format!(
                        "The keys of this database lie beside a link to it, in {0}. Move them beside the database itself: mv {0} {1}",
                        old.display(),
                        path.display()
                    )));
                }
                let keys = Self::fresh();
                create_privately(path, &keys.written()).map_err(unusable)?;
                Ok(keys)
            }
            Err(error) => Err(unusable(error)),
        }
    }

    fn written(&self) -> String {
        format!("instance_key={}\nsecret_key={}\n", self.instance.expose(), self.secret_key.expose())
    }

    fn read(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?.trim();
            (!line.is_empty()).then(|| Secret::new(line))
        };
        let keys = Self { instance: value("instance_key")?, secret_key: value("secret_key")? };
        keys.secret_key.expose().starts_with(SECRET_KEY).then_some(keys)
    }
}

/// Whether a text can be a secret key here: a test key that nobody guesses, and that a header carries.
fn is_a_key(text: &str) -> bool {
    let rest = text.strip_prefix(SECRET_KEY);
    rest.is_some_and(|rest| rest.len() >= SHORTEST && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// `sandbox.sqlite` keeps its keys in `sandbox.sqlite.keys`.
fn beside(database: &Path) -> PathBuf {
    with_suffix(database, ".keys")
}

fn from_environment(variable: &str) -> Option<Secret> {
    std::env::var(variable).ok().filter(|text| !text.is_empty()).map(Secret::new)
}

/// Creates a file that its owner alone may read, whole or not at all. What someone else has put at its path, or at that of
/// the unfinished file, is not written through: the one is replaced as a name, the other removed.
fn create_privately(path: &Path, text: &str) -> io::Result<()> {
    let unfinished = with_suffix(path, ".new");
    let mut file = create_new_privately(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(unfinished, path)
}

/// Creates a file that its owner alone may read, in place of one that is left over.
fn create_new_privately(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    // Refuses whatever is there already, a link as well: O_EXCL follows none.
    options.write(true).create_new(true);
    owner_alone(&mut options);
    options.open(path)
}

/// Refuses a keys file that is none, or that others than its owner may read or write.
fn refuse_what_others_read(path: &Path, metadata: &Metadata) -> Result<(), StartError> {
    let path = path.display();
    if !metadata.is_file() {
        return Err(StartError::Keys(format!(
            "{path} is a link or no file at all, and the keys of a sandbox are read through none. Put the file itself there, or move it away to \
             get new keys."
        )));
    }
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777;
        if mode & 0o077 != 0 {
            return Err(StartError::Keys(format!(
                "Others than its owner may use the keys in {path} (mode {mode:04o}). If nobody else has read them: chmod 600 {path}. Otherwise \
                 move the file away to get new ones."
            )));
        }
    }
    Ok(())
}

/// Refuses a keys file of another user, who knows the keys and can change them.
#[cfg(unix)]
fn refuse_other_owner(path: &Path, metadata: &Metadata, own_uid: u32) -> Result<(), StartError> {
    let owner = std::os::unix::fs::MetadataExt::uid(metadata);
    if owner == own_uid {
        return Ok(());
    }
    let path = path.display();
    Err(StartError::Keys(format!(
        "The keys in {path} belong to another user (uid {owner}), and this sandbox runs as uid {own_uid}. Start it as that user. Or, if nobody \
         else has read them: chown {own_uid} {path}. Otherwise move the file away to get new ones."
    )))
}

/// The user as whom this process creates files: the owner of a file that it has just created beside the keys.
#[cfg(unix)]
fn own_uid(keys: &Path) -> io::Result<u32> {
    let probe = with_suffix(keys, ".new");
    let file = create_new_privately(&probe)?;
    let owner = file.metadata().map(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata));
    fs::remove_file(probe)?;
    owner
}

/// Reads a file, where it still is the one that was looked at.
fn read_same_file(path: &Path, looked_at: &Metadata) -> io::Result<String> {
    let mut file = File::open(path)?;
    let opened = file.metadata()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if (opened.dev(), opened.ino()) != (looked_at.dev(), looked_at.ino()) {
            return Err(io::Error::other("it was replaced while it was read"));
        }
    }
    #[cfg(not(unix))]
    let _ = (opened, looked_at);
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_keys_are_read_back() {
        let keys = Keys::fresh();
        let read = Keys::read(&keys.written()).unwrap();
        assert!(read.instance == keys.instance && read.secret_key == keys.secret_key);
        assert!(Keys::read("instance_key=x\nsecret_key=sk_live_x\n").is_none());
        assert!(Keys::read("").is_none());
        for guessed in
            ["sk_test_", "sk_test_1", "sk_live_4eC39HqLyjWDarjtT1zdp7dc", "sk_test_4eC39HqLyjWDarjt T1zdp7dc"]
        {
            assert!(!is_a_key(guessed), "{guessed}");
        }
        assert!(is_a_key("sk_test_4eC39HqLyjWDarjtT1zdp7dc"));
    }

    #[cfg(unix)]
    #[test]
    fn the_keys_of_another_user_are_refused() {
        let path = std::env::temp_dir().join(format!("guichet-{}-owner.keys", std::process::id()));
        let own_uid = own_uid(&path).unwrap();
        assert!(!with_suffix(&path, ".new").exists(), "the probe is removed");
        create_privately(&path, &Keys::fresh().written()).unwrap();
        assert!(Keys::kept(&path, None).is_ok());
        let metadata = fs::symlink_metadata(&path).unwrap();
        refuse_other_owner(&path, &metadata, own_uid).unwrap();
        let refused = refuse_other_owner(&path, &metadata, own_uid + 1).unwrap_err().to_string();
        assert!(refused.contains("belong to another user"), "{refused}");
        // Only root can give a file away, and then the whole way is shown.
        if std::os::unix::fs::chown(&path, Some(own_uid + 1), None).is_ok() {
            let Err(refused) = Keys::kept(&path, None) else { panic!("the keys of another user were read") };
            assert!(refused.to_string().contains("belong to another user"), "{refused}");
        }
        fs::remove_file(path).unwrap();
    }
}
