//! The HTTP parts that the sandbox and the demo's shop share: sites of static files, known hosts, and with `sandbox-serve` the listener.

pub(crate) mod accept;
pub(crate) mod host;
#[cfg(feature = "sandbox-serve")]
mod listener;
#[cfg(feature = "sandbox-serve")]
mod per_address;
pub(crate) mod site;
mod static_file;

#[cfg(feature = "sandbox-serve")]
pub(crate) use listener::{CONNECTIONS_PER_ADDRESS, Limits, serve};

/// Marks a response that must not be sent: the connection ends without a byte of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DropConnection;
