//! The document's enumerations. A client *sends* only known words; it may *read* words that it does not know.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The query parameter of a return address that the page compares with the value it stored: 22 letters and digits.
pub const RETURN_PARAMETER: &str = "guichet_return";
/// The number of characters in its value.
pub const RETURN_NONCE_LENGTH: usize = 22;

/// Declares an enumeration with the word of each case.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$case_meta:meta])* $case:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum $name { $($(#[$case_meta])* $case),+ }

        impl $name {
            /// Its word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$case => $word),+ }
            }

            /// The case with this word.
            #[must_use]
            pub fn of_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$case),)+
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use words;

/// Declares an enumeration that a client sends, with the document's own words.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$case_doc:meta])* $case:ident = $word:literal),+ $(,)? }) => {
        words! {
            $(#[$doc])*
            #[doc = concat!(
                "\n```\nuse guichet::values::", stringify!($name), ";\n",
                $("assert_eq!(\"", $word, "\".parse(), Ok(", stringify!($name), "::", stringify!($case), "));\n",)+
                "```",
            )]
            #[derive(Deserialize, Serialize)]
            $name { $($(#[$case_doc])* #[serde(rename = $word)] $case = $word),+ }
        }

        described! { $name: schemars::json_schema!({ "type": "string", "enum": [$($word),+] }) }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl super::TextValue for $name {}

        impl std::str::FromStr for $name {
            type Err = super::Invalid;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::of_word(text).ok_or(super::Invalid::because(concat!("It is one of:" $(, " ", $word)+, ".")))
            }
        }
    };
}

/// Declares a status of the service: a client keeps a word that it does not know.
macro_rules! status {
    ($(#[$doc:meta])* $name:ident { $($(#[$case_doc:meta])* $case:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[doc = concat!(
            "\n```\nuse guichet::values::", stringify!($name), ";\n",
            $("assert_eq!(", stringify!($name), "::from(\"", $word, "\".to_owned()), ", stringify!($name), "::", stringify!($case), ");\n",)+
            "assert_eq!(", stringify!($name), "::from(\"on_hold\".to_owned()).as_str(), \"on_hold\");\n```",
        )]
        #[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
        #[serde(from = "String", into = "String")]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$case_doc])* $case,)+
            /// A word of the service that this version does not know.
            Unknown(String),
        }

        impl $name {
            /// Its word.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$case => $word,)+
                    Self::Unknown(word) => word,
                }
            }
        }

        described! { $name: schemars::json_schema!({ "type": "string", "enum": [$($word),+] }) }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $($word => Self::$case,)+
                    _ => Self::Unknown(word),
                }
            }
        }

        impl From<$name> for String {
            fn from(status: $name) -> Self {
                status.as_str().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

choice! {
    /// The origin of a card, on which its fee depends.
    #[derive(Default)]
    CardType {
        /// The document's default.
        #[default]
        Local = "local",
        /// A card of another country.
        International = "international",
    }
}

choice! {
    /// The party that bears the fee.
    #[derive(Default)]
    FeeBearer {
        /// Fees are deducted from the payout; the customer pays exactly the amount. The document's default.
        #[default]
        Merchant = "merchant",
        /// Fees are added on top; the merchant receives the full amount.
        Customer = "customer",
    }
}

choice! {
    /// The party that confirms a payment intent.
    #[derive(Default)]
    #[non_exhaustive]
    ConfirmationMethod {
        /// Attaching a payment method charges it, as the hosted page does. The document's default.
        #[default]
        Automatic = "automatic",
        /// The merchant's server confirms it with a call.
        Manual = "manual",
    }
}

choice! {
    /// The length of a plan's period.
    #[non_exhaustive]
    BillingCycle {
        /// A day.
        Daily = "daily",
        /// Seven days.
        Weekly = "weekly",
        /// A calendar month.
        Monthly = "monthly",
        /// Three calendar months.
        Quarterly = "quarterly",
        /// A calendar year.
        Yearly = "yearly",
    }
}

status! {
    /// The status of a payment intent. A word of the service that is not known here is kept as it is.
    IntentStatus {
        /// The customer must act.
        RequiresAction = "requires_action",
        /// The payment is being processed.
        Processing = "processing",
        /// Paid. Final.
        Succeeded = "succeeded",
        /// Not paid, and cannot be. Final.
        Failed = "failed",
        /// Canceled or expired. Final.
        Canceled = "canceled",
    }
}

impl IntentStatus {
    /// Whether the status can no longer change.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Canceled)
    }
}

status! {
    /// The status of a subscription (decisions). A word of the service that is not known here is kept as it is.
    SubscriptionStatus {
        /// The free days before the first charge.
        Trialing = "trialing",
        /// Paid, or being paid.
        Active = "active",
        /// A charge has failed and will be tried again, or has been processing for too long to count as paid.
        PastDue = "past_due",
        /// Nothing is charged until it is resumed.
        Paused = "paused",
        /// Ended. Final.
        Canceled = "canceled",
    }
}

status! {
    /// The status of an eSIM order (decisions). A word of the service that is not known here is kept as it is.
    EsimOrderStatus {
        /// Not paid yet.
        PendingPayment = "pending_payment",
        /// Paid, and it has its eSIMs. Final.
        Fulfilled = "fulfilled",
    }
}
