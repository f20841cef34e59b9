//! The differences between two platforms below the faces: parsing an address by the URL Standard, and writing JSON. It
//! is the lowest layer, and knows no value of the interface.

#[cfg(all(target_arch = "wasm32", feature = "browser"))]
mod browser;
#[cfg(all(target_arch = "wasm32", feature = "browser"))]
pub(crate) use browser::{form_decode, origin_of, to_json};

#[cfg(not(all(target_arch = "wasm32", feature = "browser")))]
mod library;
#[cfg(not(all(target_arch = "wasm32", feature = "browser")))]
pub(crate) use library::{form_decode, origin_of, to_json};

#[cfg(feature = "shop")]
mod origin;
#[cfg(feature = "shop")]
pub use origin::read_origin;
