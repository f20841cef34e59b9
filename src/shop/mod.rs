//! The rules of a merchant's server: which page may ask, what each of the three routes answers, and when an order is
//! paid. No socket, no clock, no key: `native` and the npm package `guichet-server` execute them.

mod guard;
// The servers do not call it yet.
#[doc(hidden)]
pub mod ledger;
mod nonce;
mod page;
mod refused;
mod routes;
mod settle;
mod sold;

pub use guard::Sender;
pub use nonce::{marked, nonce};
pub use page::Language;
pub use refused::{Reason, Refused};
pub use routes::{Granted, Reply, create_intent, is_form, payment, session, status};
pub use settle::{AskAgain, verify_and_settle};
pub use sold::{Buyer, Owner, Sold};

use crate::flow::{LateApproval, PaymentAsRead, late_approval};
use crate::operations::{CreatePaymentIntent, DuplicatePayment, PaymentIntent};
use crate::values::{Email, IntentId, MerchantReference, PaymentRef};

/// The orders that the shop keeps.
pub trait Orders: Sync {
    /// How many payments of this owner have no final status; 0 if the shop has stored one with the reference `next`.
    fn open_payments(
        &self,
        owner: &Owner,
        next: &MerchantReference,
    ) -> impl Future<Output = Result<usize, Refused>> + Send;
    /// Stores the sale.
    fn remember(&self, sold: &Sold) -> impl Future<Output = Result<(), Refused>> + Send;
    /// The sale with this reference, if it belongs to this owner.
    fn find(
        &self,
        payment_ref: &PaymentRef,
        owner: &Owner,
    ) -> impl Future<Output = Result<Option<Sold>, Refused>> + Send;
    /// Stores what a payment's state means for its order.
    fn report(
        &self,
        sold: &Sold,
        intent: &PaymentIntent,
        report: Report<'_>,
    ) -> impl Future<Output = Result<(), Refused>> + Send;
}

/// What a payment's state means for its order.
#[derive(Clone, Copy, Debug)]
pub enum Report<'a> {
    /// Its status is final, and this is whether to read it again.
    Settled(AskAgain),
    /// It was paid once too often.
    Overpaid(&'a DuplicatePayment),
}

/// What hands out sessions.
pub trait Grants: Sync {
    /// A session token for the customer with this login and e-mail address.
    fn session(
        &self,
        login: Option<&str>,
        customer_email: &Email,
    ) -> impl Future<Output = Result<Granted, Refused>> + Send;
}

/// What needs the secret key: the calls to the service, and the return nonce.
pub trait Calls: Sync {
    /// The return nonce of a reference.
    fn nonce(&self, reference: &MerchantReference) -> impl Future<Output = Result<String, Refused>> + Send;
    /// Creates a payment, or repeats its creation.
    fn create(&self, purchase: &CreatePaymentIntent) -> impl Future<Output = Result<PaymentIntent, Refused>> + Send;
    /// Reads a payment.
    fn read(&self, id: &IntentId) -> impl Future<Output = Result<Reading, Refused>> + Send;
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
}

impl Reading {
    /// Whether an attempt that was declined may still become money.
    #[must_use]
    pub fn late_approval(&self) -> LateApproval {
        let Self { intent, as_of, expires_at, final_since } = self;
        let (as_of, expires_at, final_since) = (*as_of, *expires_at, *final_since);
        late_approval(&PaymentAsRead { as_of, expires_at, final_since, ..PaymentAsRead::from(intent) })
    }
}
