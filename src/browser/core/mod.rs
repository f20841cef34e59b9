//! All behaviour of a page's client, over the service's own objects.

// Each face uses a part of it.
#![cfg_attr(not(all(feature = "js-page", feature = "js-hosted")), allow(dead_code, unused_imports))]

mod call_options;
mod checkout;
mod error;
mod events;
mod hosted;
mod merchant;
mod outcome;
mod page;
mod payment;
mod quotes;
mod session;
mod shop;
mod single_flight;
#[cfg(test)]
mod tests;
mod transport;
mod value;

pub(super) use call_options::{CallOptions, MAX_DURATION};
pub(super) use checkout::{Checkout, Return, purchase_of, reference, returned};
pub(super) use error::{CallError, Failure, check_no_secret_key, check_no_secret_key_in, field_error, list};
pub(super) use events::{Notification, Pending, cancel, unless};
pub(super) use hosted::{HostedCheckout, HostedConfig, MOVABLE, check_intent, intent_of_address};
pub(super) use merchant::MerchantRoutes;
pub(super) use outcome::{Outcome, OutcomeOptions};
pub(super) use page::{check_page, current_address, notify, page_origin};
pub(super) use payment::{FollowOptions, Move};
pub(super) use quotes::{PublicReads, Quote, QuoteSelection, fee, fee_of, payment_methods, quotes};
pub(super) use session::SessionStatus;
pub(super) use shop::{Shop, ShopConfig};
pub(super) use transport::{AuthorizedRequest, CallReport, Transport};
pub(super) use value::{display, get, get_text, is_nullish, keys, merged, set, stringify, text, try_get, write};
