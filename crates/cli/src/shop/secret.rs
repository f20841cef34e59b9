//! The secret that the shop and its application share, and the signatures of their messages: Standard Webhooks 1.0.

use crate::connection::variable;
use base64::prelude::{BASE64_STANDARD, Engine};
use http::HeaderMap;
use standardwebhooks::Webhook;
use std::path::Path;
use zeroize::Zeroizing;

const VARIABLE: &str = "GUICHET_APP_SECRET";
/// The prefix of a secret.
const PREFIX: &str = "whsec_";
/// The fewest characters after the prefix: 24 bytes in base64.
const FEWEST: usize = 32;

/// One secret, or two during a rotation.
pub(super) struct Secret(Vec<Webhook>);

impl Secret {
    /// Reads it from the environment, or from the file.
    pub(super) fn read(file: &Path) -> Result<Self, String> {
        let from_environment = variable(VARIABLE).map(Zeroizing::new);
        let (name, text) = match from_environment {
            Some(text) => (VARIABLE.to_owned(), text),
            None => {
                let name = file.display().to_string();
                let text = std::fs::read_to_string(file).map_err(|error| {
                    format!(
                        "The secret that is shared with the application is neither in {VARIABLE} nor in {name} ({error}). \
                         `guichet shop secret` prints a new one."
                    )
                })?;
                refuse_if_others_can_read(file)?;
                (name, Zeroizing::new(text))
            }
        };
        Self::parse(&text).ok_or_else(|| {
            format!("{name} has one secret, or two during a rotation: {PREFIX} and at least 24 bytes in base64. `guichet shop secret` prints a new one.")
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let secrets = text.split_whitespace().map(|secret| {
            let is_long = secret.strip_prefix(PREFIX).is_some_and(|key| key.len() >= FEWEST);
            Webhook::new(secret).ok().filter(|_| is_long)
        });
        let secrets: Vec<_> = secrets.collect::<Option<_>>()?;
        (1..=2).contains(&secrets.len()).then_some(Self(secrets))
    }

    /// The value of `webhook-signature`: a signature by each secret.
    pub(super) fn sign(&self, id: &str, timestamp: i64, body: &str) -> String {
        let signatures = self.0.iter().map(|secret| secret.sign(id, timestamp, body.as_bytes()).unwrap_or_default());
        signatures.collect::<Vec<_>>().join(" ")
    }

    /// Whether one of the secrets has signed this message, within the last five minutes.
    pub(super) fn has_signed(&self, headers: &HeaderMap, body: &[u8]) -> bool {
        self.0.iter().any(|secret| secret.verify(body, headers).is_ok())
    }
}

/// A secret that another user of the machine can read is none.
fn refuse_if_others_can_read(file: &Path) -> Result<(), String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(file).map(|data| data.permissions().mode()).unwrap_or_default();
        if mode & 0o004 != 0 {
            return Err(format!("Every user of this machine can read {0}. Run: chmod 600 {0}", file.display()));
        }
    }
    Ok(())
}

/// A new secret.
pub(super) fn new() -> Result<Zeroizing<String>, String> {
    let mut key = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *key).map_err(|error| error.to_string())?;
    Ok(Zeroizing::new([PREFIX, &BASE64_STANDARD.encode(*key)].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_long_and_there_are_at_most_two() {
        let new = || new().unwrap().to_string();
        for (text, is_one) in [
            (new(), true),
            (format!("{}\n{}\n", new(), new()), true),
            ([new(), new(), new()].join(" "), false),
            (String::new(), false),
            (PREFIX.to_owned(), false),
            (format!("{PREFIX}c2hvcnQ="), false),
            (new().replace(PREFIX, ""), false),
            (format!("{} whsec_!", new()), false),
        ] {
            assert_eq!(Secret::parse(&text).is_some(), is_one);
        }
    }

    #[test]
    fn in_a_rotation_each_side_knows_the_other_by_either_secret() {
        let [before, after] = [new().unwrap(), new().unwrap()];
        let [old, both, next] = [(*before).clone(), format!("{} {}", *after, *before), (*after).clone()];
        let [old, both, next] = [old, both, next].map(|text| Secret::parse(&text).unwrap());
        let now = crate::shop::application::now();
        let headers = |secret: &Secret, at: i64| {
            let mut headers = HeaderMap::new();
            headers.insert("webhook-id", "msg_1".parse().unwrap());
            headers.insert("webhook-timestamp", at.to_string().parse().unwrap());
            headers.insert("webhook-signature", secret.sign("msg_1", at, "{}").parse().unwrap());
            headers
        };
        for (signer, reader, is_known) in
            [(&old, &both, true), (&both, &old, true), (&next, &both, true), (&both, &next, true), (&old, &next, false)]
        {
            assert_eq!(reader.has_signed(&headers(signer, now), b"{}"), is_known);
        }
        assert!(!both.has_signed(&headers(&both, now), b"{ }"), "another body");
        assert!(!both.has_signed(&headers(&both, now - 301), b"{}"), "an old message");
        assert!(!both.has_signed(&HeaderMap::new(), b"{}"));
    }
}
