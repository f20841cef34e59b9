//! The document's enumerations. A client *sends* only known words; it may *read* words that it does not know.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The query parameter of a return address that the page compares with the value it stored: 22 letters and digits.
pub const RETURN_PARAMETER: &str = "guichet_return";
/// The number of characters in its value.
pub const RETURN_NONCE_LENGTH: usize = 22;

/// Declares an enumeration that a client sends, with the document's own words.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$case_doc:meta])* $case:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
        #[cfg_attr(not(feature = "service"), non_exhaustive)]
        pub enum $name { $($(#[$case_doc])* #[serde(rename = $word)] $case),+ }

        impl $name {
            /// The word of the document.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$case => $word),+ }
            }
        }

        #[cfg(feature = "service")]
        super::described! { $name: schemars::json_schema!({ "type": "string", "enum": [$($word),+] }) }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl super::TextValue for $name {}

        impl std::str::FromStr for $name {
            type Err = super::Invalid;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($word => Ok(Self::$case),)+
                    _ => Err(super::Invalid::because(concat!("It is one of:" $(, " ", $word)+, "."))),
                }
            }
        }
    };
}

choice! {
    /// The origin of a card, on which its fee depends.
    ///
    /// ```
    /// use guichet::values::CardType;
    /// assert_eq!("international".parse(), Ok(CardType::International));
    /// assert_eq!(CardType::International.as_str(), "international");
    /// ```
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
    ///
    /// ```
    /// use guichet::values::FeeBearer;
    /// assert_eq!("customer".parse(), Ok(FeeBearer::Customer));
    /// assert_eq!(FeeBearer::Customer.as_str(), "customer");
    /// ```
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
    ///
    /// ```
    /// use guichet::values::ConfirmationMethod;
    /// assert_eq!("manual".parse(), Ok(ConfirmationMethod::Manual));
    /// assert_eq!(ConfirmationMethod::Manual.as_str(), "manual");
    /// ```
    #[derive(Default)]
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
    ///
    /// ```
    /// use guichet::values::BillingCycle;
    /// assert_eq!("monthly".parse(), Ok(BillingCycle::Monthly));
    /// assert_eq!(BillingCycle::Monthly.as_str(), "monthly");
    /// ```
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

/// The status of a payment intent. A word of the service that is not known here is kept as it is.
///
/// ```
/// use guichet::values::IntentStatus;
/// assert!(IntentStatus::Succeeded.is_final());
/// assert_eq!(IntentStatus::from("on_hold".to_owned()), IntentStatus::Unknown("on_hold".to_owned()));
/// ```
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(from = "String", into = "String")]
#[cfg_attr(not(feature = "service"), non_exhaustive)]
pub enum IntentStatus {
    /// The customer must act.
    RequiresAction,
    /// The payment is being processed.
    Processing,
    /// Paid. Final.
    Succeeded,
    /// Not paid, and cannot be. Final.
    Failed,
    /// Canceled or expired. Final.
    Canceled,
    /// A word of the service that this version does not know.
    Unknown(String),
}

impl IntentStatus {
    /// The word of the document.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::RequiresAction => "requires_action",
            Self::Processing => "processing",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Unknown(word) => word,
        }
    }

    /// Whether the status can no longer change.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Canceled)
    }
}

#[cfg(feature = "service")]
super::described! { IntentStatus: schemars::json_schema!({
    "type": "string",
    "enum": ["requires_action", "processing", "succeeded", "failed", "canceled"],
}) }

impl From<String> for IntentStatus {
    fn from(word: String) -> Self {
        match word.as_str() {
            "requires_action" => Self::RequiresAction,
            "processing" => Self::Processing,
            "succeeded" => Self::Succeeded,
            "failed" => Self::Failed,
            "canceled" => Self::Canceled,
            _ => Self::Unknown(word),
        }
    }
}

impl From<IntentStatus> for String {
    fn from(status: IntentStatus) -> Self {
        status.as_str().to_owned()
    }
}

impl fmt::Display for IntentStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The status of a subscription (decisions). A word of the service that is not known here is kept as it is.
///
/// ```
/// use guichet::values::SubscriptionStatus;
/// assert_eq!(SubscriptionStatus::from("active".to_owned()), SubscriptionStatus::Active);
/// ```
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(from = "String", into = "String")]
#[cfg_attr(not(feature = "service"), non_exhaustive)]
pub enum SubscriptionStatus {
    /// The free days before the first charge.
    Trialing,
    /// Paid, or being paid.
    Active,
    /// A charge has failed and will be tried again, or has been processing for too long to count as paid.
    PastDue,
    /// Nothing is charged until it is resumed.
    Paused,
    /// Ended. Final.
    Canceled,
    /// A word of the service that this version does not know.
    Unknown(String),
}

impl SubscriptionStatus {
    /// The word of the decisions.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Trialing => "trialing",
            Self::Active => "active",
            Self::PastDue => "past_due",
            Self::Paused => "paused",
            Self::Canceled => "canceled",
            Self::Unknown(word) => word,
        }
    }
}

#[cfg(feature = "service")]
super::described! { SubscriptionStatus: schemars::json_schema!({
    "type": "string",
    "enum": ["trialing", "active", "past_due", "paused", "canceled"],
}) }

impl From<String> for SubscriptionStatus {
    fn from(word: String) -> Self {
        match word.as_str() {
            "trialing" => Self::Trialing,
            "active" => Self::Active,
            "past_due" => Self::PastDue,
            "paused" => Self::Paused,
            "canceled" => Self::Canceled,
            _ => Self::Unknown(word),
        }
    }
}

impl From<SubscriptionStatus> for String {
    fn from(status: SubscriptionStatus) -> Self {
        status.as_str().to_owned()
    }
}

impl fmt::Display for SubscriptionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The status of an eSIM order (decisions). A word of the service that is not known here is kept as it is.
///
/// ```
/// use guichet::values::EsimOrderStatus;
/// assert_eq!(EsimOrderStatus::from("on_hold".to_owned()), EsimOrderStatus::Unknown("on_hold".to_owned()));
/// ```
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(from = "String", into = "String")]
#[cfg_attr(not(feature = "service"), non_exhaustive)]
pub enum EsimOrderStatus {
    /// Not paid yet.
    PendingPayment,
    /// Paid, and it has its eSIMs. Final.
    Fulfilled,
    /// A word of the service that this version does not know.
    Unknown(String),
}

impl EsimOrderStatus {
    /// The word of the decisions.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::PendingPayment => "pending_payment",
            Self::Fulfilled => "fulfilled",
            Self::Unknown(word) => word,
        }
    }
}

#[cfg(feature = "service")]
super::described! { EsimOrderStatus: schemars::json_schema!({
    "type": "string",
    "enum": ["pending_payment", "fulfilled"],
}) }

impl From<String> for EsimOrderStatus {
    fn from(word: String) -> Self {
        match word.as_str() {
            "pending_payment" => Self::PendingPayment,
            "fulfilled" => Self::Fulfilled,
            _ => Self::Unknown(word),
        }
    }
}

impl From<EsimOrderStatus> for String {
    fn from(status: EsimOrderStatus) -> Self {
        status.as_str().to_owned()
    }
}

impl fmt::Display for EsimOrderStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
