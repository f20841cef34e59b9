//! The definition of an operation, and the course of one call. No socket, no clock, no async, and no operation by name.

mod assemble;
mod call;
mod code;
mod envelope;
mod error;
mod field_type;
mod fields;
mod operation;
mod retry;
#[cfg(feature = "sandbox")]
mod reveal;
mod role;

pub use assemble::{Request, Unwritable, assemble};
pub(crate) use assemble::{percent_encode, refuse};
pub use call::{Action, AttemptResult, Call, Timeouts};
pub use code::{ErrorCode, ErrorType};
#[cfg(feature = "native-no-provider")]
pub(crate) use envelope::payload;
pub use envelope::{Page, Refusal, decode, decode_page};
pub(crate) use envelope::{lenient, lenient_list};
pub use error::{Error, FieldError, Kind, NetworkFailure};
pub use field_type::{Argument, FieldType, Shorthand, Whole};
#[cfg(feature = "sandbox")]
pub(crate) use field_type::{Described, GREATEST_INTEGER};
pub(crate) use field_type::{Switch, Written, whole, written_by_its_type};
pub use fields::{Fields, Served};
#[cfg(feature = "sandbox")]
pub(crate) use operation::Place;
pub use operation::{Envelope, IDEMPOTENCY_KEY, Method, Operation, Repeat, Source, Spec};
#[cfg(any(feature = "native-no-provider", feature = "sandbox"))]
pub(crate) use retry::is_retryable_status;
pub use retry::{Attempt, pause_before_retry};
#[cfg(feature = "sandbox")]
pub(crate) use reveal::{Reveal, Revealed};
pub use role::{Anyone, Credential, CredentialKind, Customer, Fulfils, Merchant, NoCredential, Payer, Role, Session};
