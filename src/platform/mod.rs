//! The differences between two platforms below the faces: parsing an address by the URL Standard, and writing JSON. It
//! is the lowest layer, and knows no value of the interface.

#[cfg(all(target_arch = "wasm32", feature = "browser"))]
mod browser;
#[cfg(all(target_arch = "wasm32", feature = "browser"))]
pub(crate) use browser::{form_decode, parse_address, to_json};

#[cfg(not(all(target_arch = "wasm32", feature = "browser")))]
mod library;
#[cfg(any(feature = "axum", feature = "sandbox"))]
pub(crate) use library::read_origin;
#[cfg(not(all(target_arch = "wasm32", feature = "browser")))]
pub(crate) use library::{form_decode, parse_address, to_json};

/// The parts of an absolute address, in the form that the URL Standard's parser writes.
pub(crate) struct AddressParts {
    /// The scheme with its colon: `https:`.
    pub protocol: String,
    /// The host without its port; IPv6 in brackets.
    pub hostname: String,
    /// Scheme, host and port.
    pub origin: String,
    /// Whether the address has a user name or a password.
    pub has_userinfo: bool,
}
