//! The HTTP parts below the service: sites of static files, known hosts, and with the feature `serve` the listener.

pub(crate) mod accept;
pub(crate) mod host;
#[cfg(feature = "serve")]
mod listener;
#[cfg(feature = "serve")]
mod per_address;
pub(crate) mod site;
mod static_file;

#[cfg(feature = "serve")]
pub(crate) use listener::CONNECTIONS_PER_ADDRESS;
#[cfg(feature = "serve")]
pub use listener::{Limits, serve};

/// Marks a response that must not be sent: the connection ends without a byte of it.
#[derive(Clone, Copy, Debug)]
pub struct DropConnection;
