//! What a ledger needs besides its store, and what its calls, events and rounds come to.

use super::event::{Alarm, Answer, Asked, Changed, Got, Seen};
use super::order::{Order, Payment, SendResult, Time};
use crate::operations::{CreatePaymentIntent, ReadPaymentIntent};
use crate::protocol::{AttemptResult, Error, Kind, Operation as _, Refusal, Repeat, Spec};
use crate::shop::{self, Refused};

/// A creation that is not retried.
pub const ONCE: &Spec = &Spec { repeat: Repeat::Never, ..CreatePaymentIntent::SPEC };

/// What is asked of the service, with the merchant's key.
pub trait Requests: Sync {
    /// Creates a payment, or repeats its creation. Without `may_retry` one request is sent.
    fn create(&self, payment: &Payment, may_retry: bool) -> impl Future<Output = Outcome> + Send;

    /// Reads, finds or cancels a payment.
    fn ask(&self, payment: &Payment, asked: &Asked) -> impl Future<Output = Outcome> + Send;

    /// What the service's clock shows, if it says so.
    fn date(&self) -> impl Future<Output = Option<Time>> + Send;
}

/// Who learns what an order has become, and what a person must know.
pub trait Receiver: Sync {
    /// An order has changed. It comes at least once, in no promised order.
    fn order_changed(&self, changed: &Changed) -> impl Future<Output = Result<(), Refused>> + Send;

    /// A person must know this.
    fn alarm(&self, alarm: &Alarm);
}

/// The result of a call.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The results of its attempts but the last.
    pub earlier: Vec<SendResult>,
    /// What it brought.
    pub got: Got,
    /// For how long the service asks to be left alone, in seconds.
    pub retry_after: Option<Time>,
    /// The payment as it was read, or why there is none.
    pub reading: Result<shop::Reading, Refused>,
}

impl Outcome {
    /// The result of these attempts: none if a search has found nothing. `seal` encrypts an address, and the client
    /// secret if the payment is read with it.
    #[must_use]
    pub fn new(
        attempts: &[AttemptResult],
        reading: Result<Option<shop::Reading>, Error>,
        keeps_secret: bool,
        seal: impl Fn(&str) -> String,
    ) -> Self {
        let (last, earlier) = attempts.split_last().unwrap_or((&AttemptResult::NotSent, &[]));
        let got = match (&reading, SendResult::from(last)) {
            (Ok(None), _) => Got::Status(404),
            (Ok(Some(reading)), _) => Got::Payment(Box::new(Seen::new(reading, keeps_secret, seal))),
            (Err(_), SendResult::Status(status)) => Got::Status(status),
            (Err(_), _) => Got::Lost,
        };
        let retry_after = match last {
            AttemptResult::Reply { retry_after, .. } => retry_after.and_then(|pause| pause.as_secs().try_into().ok()),
            _ => None,
        };
        let earlier = earlier.iter().map(SendResult::from).collect();
        let not_found = || Error::refused(const { &ReadPaymentIntent::SPEC }, 404, Refusal::default());
        let reading = reading.and_then(|reading| reading.ok_or_else(not_found)).map_err(Refused::from);
        Self { earlier, got, retry_after, reading }
    }

    /// The result of a request that was not sent, because the service has just not answered another one in its time.
    pub(super) fn not_sent() -> Self {
        Self::new(&[], Err(Error::new(Kind::Timeout, "The service does not answer.")), false, |_| String::new())
    }

    /// Whether the service has not answered in its time.
    pub(super) fn has_timed_out(&self) -> bool {
        self.reading.as_ref().is_err_and(|refused| refused.kind() == Some(Kind::Timeout))
    }
}

/// A success counts as lost: what it brought could not be read.
impl From<&AttemptResult> for SendResult {
    fn from(result: &AttemptResult) -> Self {
        match *result {
            AttemptResult::Reply { status, .. } if !(200..300).contains(&status) => Self::Status(status),
            _ => Self::Lost,
        }
    }
}

/// A payment that a page has named, after it was read.
#[derive(Debug)]
pub struct Read {
    /// The result.
    pub done: Done,
    /// Its reference.
    pub reference: String,
    /// The service's id.
    pub id: String,
}

/// The result of an event.
#[derive(Debug, Default)]
pub struct Done {
    /// The order as it is stored now; none if there is no such order.
    pub order: Option<Order>,
    /// What a page gets.
    pub answer: Option<Answer>,
    /// The last payment that was read for it, or why there is none.
    pub reading: Option<Result<shop::Reading, Refused>>,
    /// Of a payment that a page has named: whether the shop has received what its order has become.
    pub is_received: bool,
    /// The versions of the events that the shop is to receive.
    pub(super) changed: Vec<i64>,
}

/// What a round has read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Round {
    /// How many payments were due.
    pub due: usize,
    /// Since when the oldest of them was due.
    pub oldest: Option<Time>,
    /// How many were read.
    pub read: usize,
    /// Until when it has looked: what succeeds later is not in it.
    pub until: Time,
    /// What could not be read, or is not what was sent: by reference, and the service's id.
    pub not_readable: Vec<(String, Option<String>)>,
    /// How many events the shop has not received. They come again.
    pub not_received: usize,
}

impl Round {
    /// Adds what was read of one payment.
    pub fn add(&mut self, one: Self) {
        self.read += one.read;
        self.not_readable.extend(one.not_readable);
    }
}
