//! The instance key and the first merchant's secret key: from the environment, or from a file beside the database.

use super::StartError;
use super::tokens::{SECRET_KEY, secret};
use crate::values::Secret;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
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
    /// The keys of a sandbox whose database is this file; fresh ones where it is kept in memory.
    pub(super) fn find(database: Option<&Path>) -> Result<Self, StartError> {
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
            (_, _, Some(database)) => Self::kept(&beside(database))?,
        };
        Ok(Self { instance: instance.unwrap_or(kept.instance), secret_key: secret_key.unwrap_or(kept.secret_key) })
    }

    fn fresh() -> Self {
        Self { instance: secret(""), secret_key: secret(SECRET_KEY) }
    }

    /// Reads the keys of a file, or makes it.
    fn kept(path: &Path) -> Result<Self, StartError> {
        let trouble = |error: io::Error| {
            StartError::Keys(format!("The keys of the sandbox in {} cannot be kept: {error}.", path.display()))
        };
        match fs::read_to_string(path) {
            Ok(text) => Self::read(&text).ok_or_else(|| {
                StartError::Keys(format!(
                    "{} does not hold the keys of a sandbox. Move it away to get new ones.",
                    path.display()
                ))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let keys = Self::fresh();
                write_privately(path, &keys.written()).map_err(trouble)?;
                Ok(keys)
            }
            Err(error) => Err(trouble(error)),
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
    let mut name = database.as_os_str().to_owned();
    name.push(".keys");
    PathBuf::from(name)
}

fn from_environment(variable: &str) -> Option<Secret> {
    std::env::var(variable).ok().filter(|text| !text.is_empty()).map(Secret::new)
}

/// Writes a file that its owner alone may read, whole or not at all.
fn write_privately(path: &Path, text: &str) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    owner_alone(&mut options);
    let mut file = options.open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(unfinished, path)
}

/// Files made with these options are the owner's alone, where the system knows owners.
pub(super) fn owner_alone(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_were_written() {
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
}
