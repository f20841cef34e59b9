//! What a rule comes to.

/// Why a rule did not pass.
#[derive(Clone, Debug)]
pub(crate) enum RuleError {
    Failed {
        why: String,
        sent: String,
        came: String,
    },
    /// The reason, with the option that is missing if one is.
    NotChecked(String),
    /// The same, because the shop did not come back after a command: no later rule is checked until it answers.
    Lost(String),
}

/// The result of a rule; `Ok` is a pass.
pub(crate) type Outcome = Result<(), RuleError>;

pub(crate) fn not_checked<T>(why: impl Into<String>) -> Result<T, RuleError> {
    Err(RuleError::NotChecked(why.into()))
}

impl RuleError {
    /// A failed rule about which no browser has asked.
    pub(crate) fn unasked(why: impl Into<String>, came: impl Into<String>) -> Self {
        Self::Failed { why: why.into(), sent: "nothing: no browser asks".into(), came: came.into() }
    }
}
