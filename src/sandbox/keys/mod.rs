//! The instance key and the first merchant's secret key, from the environment or a file beside the database.

#[cfg(feature = "sandbox-sqlite")]
mod file;

use super::tokens::{SECRET_KEY, secret};
use super::{StartError, surroundings};
use crate::values::Secret;
use std::path::Path;

/// The two keys of a sandbox.
pub(super) struct Keys {
    /// The key from which client secrets are derived.
    pub(super) instance: Secret,
    /// The first merchant's.
    pub(super) secret_key: Secret,
}

const INSTANCE_VARIABLE: &str = "GUICHET_INSTANCE_KEY";
const SECRET_VARIABLE: &str = "GUICHET_SECRET_KEY";
/// The minimum length of a key after its prefix.
const MIN_LENGTH: usize = 16;

impl Keys {
    /// Finds the keys of a database. `database` is its canonical path, `named` the path that was given; both are `None` in memory,
    /// and then the keys are new.
    pub(super) fn find(database: Option<&Path>, named: Option<&Path>) -> Result<Self, StartError> {
        let instance = from_environment(INSTANCE_VARIABLE);
        let secret_key = from_environment(SECRET_VARIABLE);
        if secret_key.as_ref().is_some_and(|key| !is_valid_key(key.expose())) {
            return Err(StartError::Keys(format!(
                "{SECRET_VARIABLE} is not a valid test key. It must be {SECRET_KEY} and at least {MIN_LENGTH} letters and digits. Correct it, or unset it: \
                 then the sandbox creates a key."
            )));
        }
        let stored = match (&instance, &secret_key, database) {
            (Some(_), Some(_), _) | (_, _, None) => Self::generate(),
            (_, _, Some(database)) => Self::beside(database, named)?,
        };
        Ok(Self { instance: instance.unwrap_or(stored.instance), secret_key: secret_key.unwrap_or(stored.secret_key) })
    }

    /// Without the feature `sandbox-sqlite` there is no file beside which the keys could be stored.
    #[cfg(not(feature = "sandbox-sqlite"))]
    fn beside(_: &Path, _: Option<&Path>) -> Result<Self, StartError> {
        Ok(Self::generate())
    }

    fn generate() -> Self {
        Self { instance: secret(""), secret_key: secret(SECRET_KEY) }
    }
}

/// Whether a text is a valid test key: long enough not to be guessed, and valid in a header.
fn is_valid_key(text: &str) -> bool {
    let rest = text.strip_prefix(SECRET_KEY);
    rest.is_some_and(|rest| rest.len() >= MIN_LENGTH && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn from_environment(variable: &str) -> Option<Secret> {
    surroundings::variable(variable).filter(|text| !text.is_empty()).map(Secret::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_can_be_guessed_is_invalid() {
        for guessed in
            ["sk_test_", "sk_test_1", "sk_live_4eC39HqLyjWDarjtT1zdp7dc", "sk_test_4eC39HqLyjWDarjt T1zdp7dc"]
        {
            assert!(!is_valid_key(guessed), "{guessed}");
        }
        assert!(is_valid_key("sk_test_4eC39HqLyjWDarjtT1zdp7dc"));
    }
}
