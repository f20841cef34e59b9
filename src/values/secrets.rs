use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A text that no log, message or error may show: it prints and serializes as `***`.
///
/// ```
/// use guichet::values::Secret;
/// let secret = Secret::new("hunter2");
/// assert_eq!(format!("{secret:?}"), "***");
/// assert_eq!(secret.expose(), "hunter2");
/// ```
#[derive(Clone, Eq, PartialEq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the code that sends it.
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

impl Serialize for Secret {
    /// Writes `***`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("***")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

described! { Secret: schemars::json_schema!({ "type": "string", "minLength": 1 }) }

/// Declares secrets, each with an example of one.
macro_rules! credentials {
    ($($(#[$doc:meta])* $name:ident = $example:literal;)+) => {$(
        $(#[$doc])*
        #[doc = concat!(
            "\n```\nlet secret = guichet::values::", stringify!($name), "::new(\"", $example, "\");\n",
            "assert_eq!(format!(\"{secret:?}\"), \"", stringify!($name), "(***)\");\n```",
        )]
        #[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
        #[serde(transparent)]
        pub struct $name(Secret);

        described! { $name: Secret::json_schema(&mut schemars::SchemaGenerator::default()) }

        impl $name {
            /// Takes the text as it is: only the service knows its shape.
            #[must_use]
            pub fn new(text: impl Into<String>) -> Self {
                Self(Secret::new(text))
            }

            /// The text itself, for the code that sends it.
            #[must_use]
            pub fn expose(&self) -> &str {
                self.0.expose()
            }
        }
    )+};
}

credentials! {
    /// A customer's short-lived token: the credential of the browser. Prints as `***`.
    SessionToken = "cst_test_1";
    /// The secret of one payment intent, with which its customer pays it. Prints as `***`.
    ClientSecret = "pi_1_secret_2";
    /// The address where a customer pays, which contains the intent's client secret. Prints as `***`.
    CheckoutUrl = "https://pay.example.com/checkout/pi_1#client_secret=pi_1_secret_2";
}

/// Whether a word of a text looks like a merchant's secret key (`sk_`, `rk_`, `FLWSECK`), with or without another word
/// before it: `Bearer`, `basic`, `Token`.
///
/// The browser refuses such a value before any I/O, in whatever option it was given.
#[must_use]
pub fn looks_like_a_secret_key(text: &str) -> bool {
    any_word(text, |byte| byte.is_ascii_graphic(), is_key)
}

/// Whether a word begins as a secret key does.
pub(crate) fn is_key(word: &[u8]) -> bool {
    after_its_prefix(word).is_some() || word.starts_with(b"FLWSECK")
}

/// The rest of a secret key of the two kinds that have a prefix.
pub(crate) fn after_its_prefix(word: &[u8]) -> Option<&[u8]> {
    word.strip_prefix(b"sk_").or(word.strip_prefix(b"rk_"))
}

/// Whether `is_match` holds for a word of a text, and for what follows it. A word begins after a byte that no word has,
/// or after a percent escape (`%3D`).
pub(crate) fn any_word(text: &str, is_of_a_word: fn(&u8) -> bool, is_match: fn(&[u8]) -> bool) -> bool {
    let text = text.as_bytes();
    let is_escaped = |at: usize| at.checked_sub(3).is_some_and(|percent| text[percent] == b'%');
    let begins = |at: usize| at == 0 || !is_of_a_word(&text[at - 1]) || is_escaped(at);
    (0..text.len()).any(|at| begins(at) && is_match(&text[at..]))
}
