//! The instance key, the first merchant's secret key and the control token: from the configuration, the environment or a file.

#[cfg(any(feature = "sandbox-postgres", feature = "sandbox-sqlite"))]
mod file;

use super::config::Config;
use super::store::Location;
use super::tokens::{CONTROL_TOKEN, SECRET_KEY, secret};
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
const TOKEN_VARIABLE: &str = "GUICHET_CONTROL_TOKEN";
/// The minimum length of a key or a token after its prefix.
const MIN_LENGTH: usize = 16;

impl Keys {
    /// Finds the keys of a database. `database` is its canonical path if it is a file.
    pub(super) fn find(config: &Config, location: &Location, database: Option<&Path>) -> Result<Self, StartError> {
        let instance = given(config.instance_key.as_ref(), INSTANCE_VARIABLE);
        let secret_key = given(config.secret_key.as_ref(), SECRET_VARIABLE);
        if secret_key.as_ref().is_some_and(|key| !has_format(key, SECRET_KEY)) {
            return Err(StartError::Keys(format!(
                "{SECRET_VARIABLE} is not a valid test key. It must be {SECRET_KEY} and at least {MIN_LENGTH} letters and digits. Correct it, or unset it: \
                 then the sandbox creates a key."
            )));
        }
        if config.keys.is_some() && !matches!(location, Location::Postgres(_)) {
            return Err(StartError::Keys(format!(
                "Only a sandbox on PostgreSQL takes --keys. On SQLite the keys are beside the database, and in memory they are new at each start: set \
                 {INSTANCE_VARIABLE} and {SECRET_VARIABLE} to choose them."
            )));
        }
        let stored = || match (location, &config.keys, database) {
            (Location::Postgres(_), Some(file), _) => Self::in_file(file),
            (Location::Postgres(_), None, _) => Err(StartError::Keys(format!(
                "Every sandbox on one PostgreSQL database needs the same keys. Set {INSTANCE_VARIABLE} (any text that cannot be guessed) and \
                 {SECRET_VARIABLE} ({SECRET_KEY} and at least {MIN_LENGTH} letters and digits), or give --keys FILE: a file with new keys if it does not exist."
            ))),
            (_, _, Some(database)) => Self::beside(database, location.file()),
            (_, _, None) => Ok(Self::generate()),
        };
        match (instance, secret_key) {
            (Some(instance), Some(secret_key)) => Ok(Self { instance, secret_key }),
            (instance, secret_key) => {
                let stored = stored()?;
                Ok(Self {
                    instance: instance.unwrap_or(stored.instance),
                    secret_key: secret_key.unwrap_or(stored.secret_key),
                })
            }
        }
    }

    /// Without a database there is no file of keys.
    #[cfg(not(any(feature = "sandbox-postgres", feature = "sandbox-sqlite")))]
    fn beside(_: &Path, _: Option<&Path>) -> Result<Self, StartError> {
        Ok(Self::generate())
    }

    /// Without a database there is no file of keys.
    #[cfg(not(any(feature = "sandbox-postgres", feature = "sandbox-sqlite")))]
    fn in_file(_: &Path) -> Result<Self, StartError> {
        Ok(Self::generate())
    }

    fn generate() -> Self {
        Self { instance: secret(""), secret_key: secret(SECRET_KEY) }
    }
}

/// The token of the control API: the given one, or a new one.
pub(super) fn control_token(config: &Config) -> Result<Secret, StartError> {
    match given(config.control_token.as_ref(), TOKEN_VARIABLE) {
        None => Ok(secret(CONTROL_TOKEN)),
        Some(token) if has_format(&token, CONTROL_TOKEN) => Ok(token),
        Some(_) => Err(StartError::Keys(format!(
            "{TOKEN_VARIABLE} is not a valid control token. It must be {CONTROL_TOKEN} and at least {MIN_LENGTH} letters and digits. Correct it, or unset \
             it: then the sandbox creates a token."
        ))),
    }
}

/// Whether a text has this prefix and format: long enough not to be guessed, and valid in a header.
fn has_format(text: &Secret, prefix: &str) -> bool {
    let rest = text.expose().strip_prefix(prefix);
    rest.is_some_and(|rest| rest.len() >= MIN_LENGTH && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn given(configured: Option<&Secret>, variable: &str) -> Option<Secret> {
    configured
        .cloned()
        .or_else(|| surroundings::variable(variable).map(Secret::new))
        .filter(|text| !text.expose().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_can_be_guessed_is_invalid() {
        for guessed in
            ["sk_test_", "sk_test_1", "sk_live_4eC39HqLyjWDarjtT1zdp7dc", "sk_test_4eC39HqLyjWDarjt T1zdp7dc"]
        {
            assert!(!has_format(&Secret::new(guessed), SECRET_KEY), "{guessed}");
        }
        assert!(has_format(&Secret::new("sk_test_4eC39HqLyjWDarjtT1zdp7dc"), SECRET_KEY));
    }

    #[test]
    fn a_given_control_token_is_kept_and_one_that_can_be_guessed_is_refused() {
        let config = |token: &str| Config { control_token: Some(Secret::new(token)), ..Config::default() };
        let given = control_token(&config("ctl_4eC39HqLyjWDarjt")).unwrap();
        assert_eq!(given.expose(), "ctl_4eC39HqLyjWDarjt");
        for guessed in ["ctl_", "token", "ctl_4eC39HqLyjWDar-t"] {
            let Err(error) = control_token(&config(guessed)) else { panic!("{guessed} was taken") };
            assert!(error.to_string().contains("GUICHET_CONTROL_TOKEN"), "{error}");
        }
    }

    #[test]
    fn only_a_sandbox_on_postgresql_takes_a_file_of_keys() {
        let config = Config { keys: Some("sandbox.keys".into()), ..Config::default() };
        for location in ["memory:", "sqlite:.guichet/sandbox.sqlite"] {
            let Err(error) = Keys::find(&config, &Location::read(location).unwrap(), None) else {
                panic!("{location} took --keys")
            };
            assert!(error.to_string().contains("Only a sandbox on PostgreSQL takes --keys"), "{error}");
        }
    }
}
