//! Whole numbers between two limits.

use super::{Invalid, TextValue};
use serde::Serialize;

/// Declares a whole number from 1 to a limit, its default, the name of its reader, and the sentence of its error.
macro_rules! limited {
    ($(#[$doc:meta])* $name:ident to $most:literal, $default:literal, $read:ident, $error:literal) => {
        $(#[$doc])*
        #[doc = concat!(
            "\n```\nuse guichet::values::", stringify!($name), ";\n",
            "assert_eq!(", stringify!($name), "::new(", $most, ").unwrap().", stringify!($read), "(), ", $most, ");\n",
            "assert!(", stringify!($name), "::new(0).is_err());\n```",
        )]
        #[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
        #[serde(transparent)]
        pub struct $name(u8);

        impl $name {
            /// Checks the number.
            ///
            /// # Errors
            #[doc = concat!("[`Invalid`] for anything but 1 to ", $most, ".")]
            pub fn new(number: u8) -> Result<Self, Invalid> {
                if (1..=$most).contains(&number) { Ok(Self(number)) } else { Err(Invalid::because($error)) }
            }

            /// The number.
            #[must_use]
            pub fn $read(self) -> u8 {
                self.0
            }
        }

        described! { $name: schemars::json_schema!({ "type": "integer", "minimum": 1, "maximum": $most }) }

        impl Default for $name {
            fn default() -> Self {
                Self($default)
            }
        }
    };
}

limited! {
    /// The number of entries in a page of a list: 1 to 100 (a decision; the default is 100).
    PageLimit to 100, 100, entries, "A limit is a number from 1 to 100."
}

limited! {
    /// The number of eSIMs in an order: 1 to 5. The document's default is 1.
    EsimQuantity to 5, 1, number, "A quantity is a whole number from 1 to 5: an order holds five eSIMs at most."
}

impl TextValue for PageLimit {}

impl std::str::FromStr for PageLimit {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        // Digits only: the parser would also accept `+5`.
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        Self::new(text.parse().ok().filter(|_| digits).unwrap_or(0))
    }
}
