//! What exists with the feature `service` alone. A feature adds items and changes no type. So with every feature a
//! consumer leaves room for fields and cases to come:
//!
//! ```
//! use guichet::operations::{Instrument, LastPaymentError};
//! fn read(error: LastPaymentError) -> String {
//!     let LastPaymentError { code, message, approvable_until: _, .. } = error;
//!     format!("{code}: {message}")
//! }
//! fn is_card(instrument: &Instrument) -> bool {
//!     match instrument {
//!         Instrument::Card { .. } => true,
//!         Instrument::MobileMoney { .. } => false,
//!         _ => false,
//!     }
//! }
//! ```
//! The same without room does not compile:
//! ```compile_fail,E0639
//! use guichet::operations::LastPaymentError;
//! let error = LastPaymentError { code: String::new(), message: String::new(), approvable_until: None };
//! ```
//! ```compile_fail,E0638
//! use guichet::operations::LastPaymentError;
//! fn read(error: LastPaymentError) -> String {
//!     let LastPaymentError { code, message, approvable_until: _ } = error;
//!     format!("{code}: {message}")
//! }
//! ```
//! ```compile_fail,E0004
//! use guichet::operations::Instrument;
//! fn is_card(instrument: &Instrument) -> bool {
//!     match instrument {
//!         Instrument::Card { .. } => true,
//!         Instrument::MobileMoney { .. } => false,
//!     }
//! }
//! ```

/// Declares items for a service.
macro_rules! service_only {
    ($($item:item)*) => {
        $(#[cfg(feature = "service")] $item)*
    };
}

/// Declares the JSON schema of a type, in the form that a service reads and writes: inline, without a schema name of
/// its own.
macro_rules! described {
    ($name:ident $(<$(const $limit:ident: $integer:ty),+>)?: $schema:expr) => {
        service_only! {
            impl $(<$(const $limit: $integer),+>)? schemars::JsonSchema for $name $(<$($limit),+>)? {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> std::borrow::Cow<'static, str> {
                    stringify!($name).into()
                }

                fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                    $schema
                }
            }
        }
    };
}
