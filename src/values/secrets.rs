use serde::{Deserialize, Deserializer};
use std::fmt;

/// A text that no log, message or error may show: it prints as `***`, and is not `Serialize`.
#[derive(Clone, Eq, PartialEq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text secret.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

#[cfg(feature = "sandbox")]
super::described! { Secret: schemars::json_schema!({ "type": "string", "minLength": 1 }) }

macro_rules! credential {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
        #[serde(transparent)]
        pub struct $name(Secret);

        #[cfg(feature = "sandbox")]
        super::described! { $name: Secret::json_schema(&mut schemars::SchemaGenerator::default()) }

        impl $name {
            /// Takes the text as it is: its shape is the service's own affair.
            #[must_use]
            pub fn new(text: impl Into<String>) -> Self {
                Self(Secret::new(text))
            }

            /// The text itself, for the one place that sends it.
            #[must_use]
            pub fn expose(&self) -> &str {
                self.0.expose()
            }
        }
    };
}

credential! {
    /// A customer's short-lived token: the credential of the browser. Prints as `***`.
    SessionToken
}
credential! {
    /// The secret of one payment intent, with which its customer pays it. Prints as `***`.
    ClientSecret
}
credential! {
    /// Where a customer pays: an address that carries the intent's client secret. Prints as `***`.
    CheckoutUrl
}

/// Whether a word of a text is shaped like a merchant's secret key (`sk_`, `rk_`, `FLWSECK`), whatever stands before it:
/// `Bearer`, `basic`, `Token`.
///
/// The browser refuses such a value before any I/O, whatever it was meant to be.
#[must_use]
pub fn looks_like_a_secret_key(text: &str) -> bool {
    any_part_begins(text, |byte| !byte.is_ascii_graphic(), &["sk_", "rk_", "FLWSECK"])
}

/// Whether any part of a text begins so, of the parts between such bytes. By bytes, since the library's characters would
/// weigh more in wasm than the rest of this.
pub(crate) fn any_part_begins(text: &str, separates: fn(u8) -> bool, prefixes: &[&str]) -> bool {
    let mut begins = true;
    text.bytes().enumerate().any(|(at, byte)| {
        let part = text.as_bytes().get(at..).filter(|_| begins).unwrap_or_default();
        begins = separates(byte);
        prefixes.iter().any(|prefix| part.starts_with(prefix.as_bytes()))
    })
}
