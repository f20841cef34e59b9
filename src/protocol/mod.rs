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
#[cfg(feature = "service")]
mod reveal;
mod role;

pub use crate::values::GREATEST_INTEGER;
#[cfg(all(target_arch = "wasm32", feature = "browser"))]
pub(crate) use assemble::assemble_as;
#[cfg(feature = "shop")]
pub(crate) use assemble::assemble_texts;
pub use assemble::{Request, Unwritable, assemble};
pub(crate) use assemble::{percent_encode, refuse};
pub use call::{Action, AttemptResult, Call, Completed, DEFAULT_DEADLINE};
pub use code::{ErrorCode, ErrorType};
#[cfg(feature = "native-no-provider")]
pub(crate) use envelope::payload;
pub use envelope::{Page, ParsedReply, Refusal, ReplyStatus, decode, decode_page};
#[cfg(feature = "shop")]
pub(crate) use envelope::{data_text, is_list};
pub(crate) use envelope::{lenient, lenient_list, strict};
pub use error::{Error, FieldError, Kind, NetworkFailure};
pub use field_type::{FieldType, Whole, whole};
pub(crate) use field_type::{Switch, Written, written_by_its_type};
pub use fields::{Fields, Served};
pub use operation::{Envelope, FieldLocation, IDEMPOTENCY_KEY, Method, Operation, Repeat, Source, Spec};
pub use retry::is_retryable_status;
pub use role::{Anyone, Credential, CredentialKind, Customer, Fulfils, Merchant, NoCredential, Payer, Role, Session};

service_only! {
    pub(crate) use reveal::as_serialized;
    pub use reveal::{Reveal, Revealed};
}
