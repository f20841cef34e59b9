//! The rules of a merchant's server: which page may ask, what each of the three routes answers, and when an order is
//! paid. No socket, no clock, no key: `native` and the npm package `guichet-server` execute them.

mod guard;
#[doc(hidden)]
pub mod ledger;
mod nonce;
mod owner;
mod page;
mod profile;
mod reads;
mod refused;
mod routes;
#[cfg(feature = "service")]
mod served;

pub use guard::Sender;
pub use nonce::{marked, nonce};
pub use owner::{Buyer, Owner};
pub use profile::{PaymentRequest, Profile, payment_of};
pub use reads::PublicRead;
pub use refused::{Reason, Refused};
pub use routes::{Granted, Reply, is_form, session};
#[cfg(feature = "service")]
pub use served::Wanted;

use crate::flow::{LateApproval, PaymentAsRead, late_approval};
use crate::operations::PaymentIntent;
use crate::values::{Email, Moment};

/// What hands out sessions.
pub trait Grants: Sync {
    /// A session token for the customer with this login and e-mail address.
    fn session(
        &self,
        login: Option<&str>,
        customer_email: &Email,
    ) -> impl Future<Output = Result<Granted, Refused>> + Send;
}

/// A payment as the service has just sent it. Times are in Unix seconds, by the service's clock.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The payment.
    pub intent: PaymentIntent,
    /// The `Date` of the reply, if it can be read.
    pub as_of: Option<i64>,
    /// When the payment expires, if the service says so.
    pub expires_at: Option<i64>,
    /// When its final status was first seen, if that is known.
    pub final_since: Option<i64>,
    /// Whether the customer bears a fee of an unknown amount: they pay more than the price.
    pub plus_fee: bool,
}

impl Reading {
    /// A payment as it was read, with the `Date` of the reply.
    #[must_use]
    pub fn new(intent: PaymentIntent, as_of: Option<i64>) -> Self {
        let expires_at = intent.expires().map(Moment::unix);
        Self { intent, as_of, expires_at, final_since: None, plus_fee: false }
    }

    /// Whether an attempt that was declined may still become money.
    #[must_use]
    pub fn late_approval(&self) -> LateApproval {
        let Self { intent, as_of, expires_at, final_since, .. } = self;
        let (as_of, expires_at, final_since) = (*as_of, *expires_at, *final_since);
        late_approval(&PaymentAsRead { as_of, expires_at, final_since, ..PaymentAsRead::from(intent) })
    }
}
