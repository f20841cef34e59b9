//! The validated values of the interface. A value is checked once, when it is created.
//!
//! `new` creates a value from text; its error says what is wrong in a sentence that can be shown to a person. Values
//! are written in the form of the document. Secrets print as `***`.

mod address;
#[cfg(feature = "shop")]
mod base62;
mod contact;
#[cfg(feature = "service")]
mod described;
mod ids;
mod language;
mod limited;
mod moment;
mod money;
mod printable;
mod secrets;
mod typed;
mod words;

#[cfg(feature = "shop")]
pub use crate::platform::read_origin;
#[doc(hidden)]
pub use address::is_loopback;
pub use address::{Address, RedirectUrl};
#[cfg(feature = "shop")]
pub use base62::base62;
pub use contact::*;
pub use ids::*;
#[doc(hidden)]
pub use language::Language;
pub use limited::{EsimQuantity, PageLimit};
pub use moment::Moment;
pub use money::{Amount, Currency, GREATEST_INTEGER};
pub(crate) use money::{as_number, whole_number};
pub use printable::{Printable, is_plain, printable};
pub use secrets::{CheckoutUrl, ClientSecret, Secret, SessionToken, looks_like_a_secret_key};
pub(crate) use secrets::{after_its_prefix, any_word, is_key};
pub use typed::{normalize_code, normalize_digits, normalize_phone, normalize_year};
pub(crate) use words::words;
pub use words::{
    BillingCycle, CardType, ConfirmationMethod, EsimOrderStatus, FeeBearer, IntentStatus, RETURN_NONCE_LENGTH,
    RETURN_PARAMETER, SubscriptionStatus,
};

service_only! {
    pub use described::{NOT_BLANK, text_schema};
    pub(crate) use money::Number;
}

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// The error of a text that is not a valid value: one sentence that says what to do.
///
/// ```
/// use guichet::values::Email;
/// let invalid = Email::new("awa").unwrap_err();
/// assert_eq!(invalid.reason(), "An e-mail address looks like name@example.com.");
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Invalid(std::borrow::Cow<'static, str>);

impl Invalid {
    /// Creates the error from a sentence that can be shown to a person.
    pub fn because(reason: impl Into<std::borrow::Cow<'static, str>>) -> Self {
        Self(reason.into())
    }

    /// The sentence.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

/// A value that is one string on the wire and no secret. A field of a request or a reply may have its type.
pub trait TextValue: FromStr<Err = Invalid> + Serialize {}

/// Declares checked text values: created from text, read as text, written as text. `is` and `not` are a text that `new`
/// accepts and one that it refuses, for the example of the documentation.
///
/// `Deserialize` reads a reply and does not check, because a real service may have decided otherwise and a client hands
/// on what it receives.
macro_rules! text_value {
    ($($(#[$doc:meta])* $name:ident $(is $good:literal not $bad:literal)?, $check:expr $(, described $schema:tt)?);+) => {$(
        $(#[$doc])*
        $(#[doc = concat!(
            "\n```\nuse guichet::values::", stringify!($name), ";\n",
            "assert!(", stringify!($name), "::new(\"", $good, "\").is_ok());\n",
            "assert!(", stringify!($name), "::new(\"", $bad, "\").is_err());\n```",
        )])?
        #[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, serde::Deserialize, serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Checks the text.
            ///
            /// # Errors
            /// [`Invalid`] says what the text should be.
            pub fn new(text: impl Into<String>) -> Result<Self, $crate::values::Invalid> {
                let text = text.into();
                let check: fn(&str) -> Result<(), $crate::values::Invalid> = $check;
                check(&text)?;
                Ok(Self(text))
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        described! { $name: $crate::values::text_schema([$(schemars::json_schema!($schema))?]) }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl $crate::values::TextValue for $name {}

        impl std::str::FromStr for $name {
            type Err = $crate::values::Invalid;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }
    )+};
}
pub(crate) use text_value;
