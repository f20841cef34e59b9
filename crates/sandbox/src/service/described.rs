//! What each handler says about its operation, for the OpenAPI description.

use super::Done;
use super::examples::Examples;
use guichet::protocol::{ErrorCode, Operation};

/// What the description of an operation shows beside its types. If an operation lacks it, the service does not compile.
#[diagnostic::on_unimplemented(
    message = "the handler of `{Self}` has no example",
    label = "write `impl Described for {Self}` below its handler in crates/sandbox/src/service/"
)]
pub(crate) trait Described: Operation + Sized {
    /// Its success statuses and error codes. The default is 200, without codes of its own.
    const OUTCOMES: Outcomes = Outcomes::OK;

    /// A request and its result.
    fn example(examples: &Examples) -> (Self, Done);
}

/// The success statuses and the error codes of one operation.
#[derive(Clone, Copy)]
pub(crate) struct Outcomes {
    /// The statuses of its success.
    pub(crate) statuses: &'static [u16],
    /// The error codes of its rules. The codes of its credentials, its path and its fields' formats follow from the
    /// operation itself and are not listed here.
    pub(crate) codes: &'static [ErrorCode],
}

impl Outcomes {
    pub(super) const OK: Self = Self { statuses: &[200], codes: &[] };
    /// The operation always creates a new object.
    pub(super) const CREATED: Self = Self { statuses: &[201], codes: &[] };
    /// The operation is safe to repeat: 201 if it creates the object, 200 if the object existed before.
    pub(super) const CREATED_ONCE: Self = Self { statuses: &[200, 201], codes: &[] };

    /// Adds the error codes of the operation's rules.
    pub(super) const fn or(self, codes: &'static [ErrorCode]) -> Self {
        Self { codes, ..self }
    }
}
