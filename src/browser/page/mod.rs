//! The client of a shop's page: `guichet`.

mod checkout;
mod client;
mod look;
mod merchant;
mod session;
mod wait;
