//! The HTTP parts below the service: sites of static files, known hosts, and with the feature `serve` the listener.

pub(crate) mod accept;
pub(crate) mod host;
#[cfg(feature = "serve")]
mod listener;
#[cfg(feature = "serve")]
mod per_address;
pub(crate) mod site;
pub(crate) mod static_file;

#[cfg(feature = "serve")]
pub use listener::serve;
#[cfg(feature = "serve")]
pub(crate) use listener::{CONNECTIONS_PER_ADDRESS, Limits, serve_within};

/// Marks a response that must not be sent: the connection ends without a byte of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DropConnection;

/// The response was dropped by a fault: on a socket, the connection would end without a byte of it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("The connection was dropped by an injected fault.")]
pub struct Dropped;
