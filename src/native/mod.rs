//! The merchant's server.
