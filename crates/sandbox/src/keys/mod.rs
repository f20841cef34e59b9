//! The instance key, the first merchant's secret key and the control token: from the configuration, the environment or
//! a file.

mod file;

use super::config::Config;
use super::start_error::StartError;
use super::store::MerchantRow;
use super::surroundings;
use super::tokens::{CONTROL_TOKEN, SECRET_KEY, secret};
use guichet::values::Secret;
use std::path::Path;

/// The two keys of a sandbox.
pub(super) struct Keys {
    /// The key from which client secrets are derived.
    pub(super) instance: Secret,
    /// The first merchant's.
    pub(super) secret_key: Secret,
}

/// The keys that are given by the configuration or the environment.
#[derive(Clone)]
pub(super) struct GivenKeys {
    instance: Option<Secret>,
    secret_key: Option<Secret>,
}

const INSTANCE_VARIABLE: &str = "GUICHET_INSTANCE_KEY";
const SECRET_VARIABLE: &str = "GUICHET_SECRET_KEY";
const TOKEN_VARIABLE: &str = "GUICHET_CONTROL_TOKEN";
/// The minimum length of a key or a token after its prefix. The service itself checks each guess.
const MIN_LENGTH: usize = 16;
/// The minimum length of the instance key. Anyone who has a client secret can check a guess without the service.
const MIN_INSTANCE_LENGTH: usize = 32;

impl GivenKeys {
    /// Finds the given keys.
    pub(super) fn find(config: &Config) -> Result<Self, StartError> {
        let given = Self {
            instance: given(config.instance_key.as_ref(), INSTANCE_VARIABLE),
            secret_key: given(config.secret_key.as_ref(), SECRET_VARIABLE),
        };
        if given.instance.as_ref().is_some_and(|key| !is_long_enough(key)) {
            return Err(StartError::Keys(format!(
                "{INSTANCE_VARIABLE} can be guessed. It must have at least {MIN_INSTANCE_LENGTH} characters, and this makes one: openssl rand -hex 32"
            )));
        }
        if given.instance.as_ref().is_some_and(|key| !is_one_line(key)) {
            return Err(StartError::Keys(format!(
                "{INSTANCE_VARIABLE} begins or ends with a space, or has a line break or another control character. Remove it."
            )));
        }
        if given.secret_key.as_ref().is_some_and(|key| !has_format(key, SECRET_KEY)) {
            return Err(StartError::Keys(format!(
                "{SECRET_VARIABLE} is not a valid test key. It must be {SECRET_KEY} and at least {MIN_LENGTH} letters and digits. Correct it, or unset it: \
                 then the sandbox creates a key."
            )));
        }
        Ok(given)
    }

    /// The keys in this file. Without one the given keys, and others for those that are not given.
    pub(super) fn in_file_or(
        self,
        file: Option<&Path>,
        others: impl FnOnce() -> Result<Keys, StartError>,
    ) -> Result<Keys, StartError> {
        match file {
            Some(file) => Keys::in_file(file, &self),
            None => self.or_else(others),
        }
    }

    /// The given keys, and others for those that are not given.
    pub(super) fn or_else(self, others: impl FnOnce() -> Result<Keys, StartError>) -> Result<Keys, StartError> {
        match (self.instance, self.secret_key) {
            (Some(instance), Some(secret_key)) => Ok(Keys { instance, secret_key }),
            (instance, secret_key) => {
                let others = others()?;
                Ok(Keys {
                    instance: instance.unwrap_or(others.instance),
                    secret_key: secret_key.unwrap_or(others.secret_key),
                })
            }
        }
    }
}

impl Keys {
    /// New keys.
    pub(super) fn generate() -> Self {
        Self { instance: secret(""), secret_key: secret(SECRET_KEY) }
    }

    /// The merchant that a new database begins with.
    pub(super) fn first_merchant(&self, config: &Config) -> MerchantRow {
        MerchantRow { place: 0, ..MerchantRow::new(&config.merchant_name, &self.secret_key) }
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

/// Whether an instance key is too long to be guessed.
fn is_long_enough(instance: &Secret) -> bool {
    instance.expose().chars().count() >= MIN_INSTANCE_LENGTH
}

/// Whether a line of a file of keys can hold an instance key unchanged.
fn is_one_line(instance: &Secret) -> bool {
    let text = instance.expose();
    text == text.trim() && !text.contains(char::is_control)
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
            ["sk_test_", "sk_test_1", "sk_live_0123456789abcdefghijklmn", "sk_test_0123456789abcdef ghijklmn"]
        {
            assert!(!has_format(&Secret::new(guessed), SECRET_KEY), "{guessed}");
        }
        assert!(has_format(&Secret::new("sk_test_0123456789abcdefghijklmn"), SECRET_KEY));
    }

    #[test]
    fn an_instance_key_that_can_be_guessed_is_refused() {
        let config = |key: &str| Config { instance_key: Some(Secret::new(key)), ..Config::default() };
        let Err(error) = GivenKeys::find(&config("a short one")) else { panic!("it was taken") };
        let error = error.to_string();
        assert!(error.contains("GUICHET_INSTANCE_KEY can be guessed") && error.contains("openssl rand"), "{error}");
        assert!(!error.contains("a short one"), "{error}");
        let long = "0123456789abcdef0123456789abcdef";
        for changed in [format!("{long}\r"), format!(" {long}"), format!("{long}\n{long}"), " ".repeat(32)] {
            let Err(error) = GivenKeys::find(&config(&changed)) else { panic!("{changed:?} was taken") };
            assert!(error.to_string().contains("GUICHET_INSTANCE_KEY begins or ends with a space"), "{error}");
        }
        let given = GivenKeys::find(&config(long)).unwrap();
        assert_eq!(given.or_else(|| Ok(Keys::generate())).unwrap().instance.expose(), long);
    }

    #[test]
    fn a_given_control_token_is_kept_and_one_that_can_be_guessed_is_refused() {
        let config = |token: &str| Config { control_token: Some(Secret::new(token)), ..Config::default() };
        let given = control_token(&config("ctl_0123456789abcdef")).unwrap();
        assert_eq!(given.expose(), "ctl_0123456789abcdef");
        for guessed in ["ctl_", "token", "ctl_0123456789abcd-f"] {
            let Err(error) = control_token(&config(guessed)) else { panic!("{guessed} was taken") };
            assert!(error.to_string().contains("GUICHET_CONTROL_TOKEN"), "{error}");
        }
    }
}
