//! All behaviour of a page's client, over the service's own objects.
//!
//! A module imports only from those before it: value · late · time · flights · error · browser · tabs · reply ·
//! transport · merchant · session · outcome · quotes · checkout · shop · hosted · payment. `shop` alone composes the
//! parts of a shop's page.

pub(super) mod browser;
pub(super) mod checkout;
pub(super) mod error;
pub(super) mod flights;
#[cfg(feature = "js-hosted")]
pub(super) mod hosted;
pub(super) mod late;
pub(super) mod merchant;
pub(super) mod outcome;
#[cfg(feature = "js-hosted")]
pub(super) mod payment;
pub(super) mod quotes;
pub(super) mod reply;
pub(super) mod session;
pub(super) mod shop;
pub(super) mod tabs;
#[cfg(test)]
mod tests;
pub(super) mod time;
pub(super) mod transport;
pub(super) mod value;
