//! The error codes: a stable word for each cause, with its status (decisions). The error type follows from the status.

use crate::values::words;
use serde::{Serialize, Serializer};
use std::fmt;

/// Every code that the sandbox knows. Any other code of a real service is kept as [`ErrorCode::Unknown`].
macro_rules! error_codes {
    ($($status:literal { $($(#[$doc:meta])* $code:ident = $word:literal,)+ })+) => {
        /// The stable word for the cause of an error. A word that this version does not know is kept as it is.
        ///
        /// ```
        /// use guichet::protocol::{ErrorCode, ErrorType};
        /// let taken = ErrorCode::from("plan_code_taken");
        /// assert_eq!((taken.status(), taken.kind()), (Some(409), Some(ErrorType::Conflict)));
        /// assert_eq!(ErrorCode::from("out_of_stock").as_str(), "out_of_stock");
        /// ```
        #[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($($(#[$doc])* $code,)+)+
            /// A word of the service that this version does not know.
            Unknown(String),
        }

        impl ErrorCode {
            /// The word.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $($(Self::$code => $word,)+)+
                    Self::Unknown(word) => word,
                }
            }

            /// The HTTP status of the code; `None` if the code is unknown.
            #[must_use]
            pub fn status(&self) -> Option<u16> {
                match self {
                    $($(Self::$code)|+ => Some($status),)+
                    Self::Unknown(_) => None,
                }
            }

            /// The type of the code's status; `None` if the code is unknown.
            #[must_use]
            pub fn kind(&self) -> Option<ErrorType> {
                self.status().map(ErrorType::of)
            }
        }

        impl From<&str> for ErrorCode {
            fn from(word: &str) -> Self {
                match word {
                    $($($word => Self::$code,)+)+
                    _ => Self::Unknown(word.to_owned()),
                }
            }
        }
    };
}

error_codes! {
    400 {
        /// The body is JSON, but no object.
        BodyNotObject = "body_not_object",
        /// The body is not JSON.
        InvalidJson = "invalid_json",
        /// The path or the body is not UTF-8.
        InvalidUtf8 = "invalid_utf8",
    }
    401 {
        /// No credential was sent.
        AuthenticationRequired = "authentication_required",
        /// No merchant has this key, or no payment intent has this client secret.
        InvalidKey = "invalid_key",
        /// A key of real payments was sent to a sandbox.
        LiveKeyInSandbox = "live_key_in_sandbox",
        /// The session has expired.
        SessionExpired = "session_expired",
        /// The session was ended.
        SessionRevoked = "session_revoked",
        /// The operation requires a session token, and another credential was sent.
        SessionTokenRequired = "session_token_required",
        /// No session has this token.
        SessionUnknown = "session_unknown",
    }
    403 {
        /// The control API was called under a host name other than the machine's own.
        HostNotAllowed = "host_not_allowed",
        /// The credential does not fulfil the role of the operation.
        RoleRequired = "role_required",
        /// A browser sent a secret key.
        SecretKeyInBrowser = "secret_key_in_browser",
    }
    404 {
        /// It does not exist, or is not the caller's.
        ResourceMissing = "resource_missing",
        /// There is nothing at this address.
        RouteNotFound = "route_not_found",
    }
    405 {
        /// The path does not take this method.
        MethodNotAllowed = "method_not_allowed",
    }
    408 {
        /// The body did not arrive in time.
        BodyTooSlow = "body_too_slow",
    }
    409 {
        /// The attempt is not the payment intent's latest one.
        AttemptNotCurrent = "attempt_not_current",
        /// The payment intent's status does not allow a cancellation.
        IntentNotCancelable = "intent_not_cancelable",
        /// The payment intent's status does not allow an attempt.
        IntentNotConfirmable = "intent_not_confirmable",
        /// The reference names another payment.
        MerchantReferenceConflict = "merchant_reference_conflict",
        /// Another plan has this code.
        PlanCodeTaken = "plan_code_taken",
        /// The subscription's status does not allow it.
        SubscriptionState = "subscription_state",
    }
    413 {
        /// The body is larger than 64 KiB.
        BodyTooLarge = "body_too_large",
    }
    415 {
        /// The body is not `application/json`.
        UnsupportedMediaType = "unsupported_media_type",
    }
    422 {
        /// The amount is too small or too large.
        AmountOutOfRange = "amount_out_of_range",
        /// The service does not know the currency's smallest unit.
        CurrencyUnsupported = "currency_unsupported",
        /// Another body was sent under this key.
        IdempotencyKeyReused = "idempotency_key_reused",
        /// The field's value is invalid.
        ParameterInvalid = "parameter_invalid",
        /// The field is required.
        ParameterMissing = "parameter_missing",
        /// The operation has no such field. Only sent with `--strict`.
        ParameterUnknown = "parameter_unknown",
        /// The method cannot be used for this payment.
        PaymentMethodUnavailable = "payment_method_unavailable",
        /// The plan accepts no new subscriptions.
        PlanInactive = "plan_inactive",
        /// The order has too few or too many eSIMs.
        QuantityOutOfRange = "quantity_out_of_range",
        /// The sandbox accepts only test cards.
        TestCardRequired = "test_card_required",
        /// The control API already has the greatest number of faults.
        TooManyFaults = "too_many_faults",
    }
    429 {
        /// Too many requests.
        RateLimited = "rate_limited",
    }
    500 {
        /// A defect of the service.
        InternalError = "internal_error",
    }
    503 {
        /// The service cannot execute the request now: it could not store or read what it needs.
        Unavailable = "unavailable",
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

words! {
    /// The type of an error: a word for its status.
    ///
    /// ```
    /// use guichet::protocol::ErrorType;
    /// assert_eq!(ErrorType::of(409).as_str(), "conflict");
    /// ```
    #[non_exhaustive]
    ErrorType {
        /// The service cannot answer now.
        Api = "api",
        /// The credential is missing, unknown or no longer valid.
        Authentication = "authentication",
        /// The current state does not allow it.
        Conflict = "conflict",
        /// The request is wrong.
        InvalidRequest = "invalid_request",
        /// It does not exist, or is not the caller's.
        NotFound = "not_found",
        /// The credential may not do this.
        Permission = "permission",
        /// Too many requests.
        RateLimit = "rate_limit",
    }
}

impl ErrorType {
    /// The type of an error with this status.
    #[must_use]
    pub fn of(status: u16) -> Self {
        match status {
            401 => Self::Authentication,
            403 => Self::Permission,
            404 => Self::NotFound,
            409 => Self::Conflict,
            429 => Self::RateLimit,
            400..500 => Self::InvalidRequest,
            _ => Self::Api,
        }
    }
}
