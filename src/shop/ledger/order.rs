use super::body::{Body, Money};
use crate::shop::Owner;
use crate::values::{Amount, IntentStatus};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Unix seconds.
pub type Time = i64;

/// A day, in seconds.
pub const DAY: Time = 24 * 60 * 60;

/// How far the service's clock may be from ours, in seconds.
pub(super) const CLOCKS_DIFFER: Time = 5 * 60;

/// An order and its payments: what a store loads and commits as one, by its version.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The shop's own name of it.
    pub name: String,
    /// Whom it belongs to.
    pub owner: Owner,
    /// Whether it was a guest's, and became their account's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_claimed: bool,
    /// Rises by 1 with each change.
    #[serde(default)]
    pub version: i64,
    /// What it cost when the shop was asked last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Money>,
    /// Whether the shop has said that it no longer sells it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_ended: bool,
    /// The service's id of the payment that paid it: the first that succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid_by: Option<String>,
    /// Its payments, the oldest first.
    #[serde(default)]
    pub payments: Vec<Payment>,
    /// The refunds that were made.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub refunded: BTreeSet<RefundKey>,
    /// What persons have decided, and what the service has said against its own final word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<Entry>,
}

/// What identifies a refund: a payment of the service, and one of its attempts if only that was paid too often.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RefundKey {
    /// The service's id of the payment.
    pub id: String,
    /// The attempt; none: the whole payment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<String>,
}

/// A line of an order's history.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// When.
    pub at: Time,
    /// The payment's reference.
    pub reference: String,
    /// What happened.
    pub what: String,
    /// Who decided it; none: the service said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
}

/// One payment of an order: one reference at the service.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Payment {
    /// Its reference, by which no other payment is sent.
    pub reference: String,
    /// When it was stored.
    #[serde(default)]
    pub created_at: Time,
    /// What the shop said; it is sent with the reference, the nonce and the mark.
    pub body: Body,
    /// The return nonce.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub nonce: String,
    /// What the service echoes: an HMAC of order and owner, which no other ledger makes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mark: String,
    /// What the customer pays with the fee, as quoted.
    #[serde(default, deserialize_with = "super::amount::optional", skip_serializing_if = "Option::is_none")]
    pub quote: Option<Amount>,
    /// Each request that creates it, stored before it is sent.
    #[serde(default)]
    pub sends: Vec<Send>,
    /// What ended it before the service was known to have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Closed>,
    /// When it was last looked for by its reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sought_at: Option<Time>,
    /// Whether it is no longer looked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_over: bool,
    /// What the service has of it: usually one, two if it doubled a creation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<Found>,
}

/// One request that creates a payment.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// When.
    pub at: Time,
    /// Until when it may be executed.
    pub until: Time,
    /// Whether the service's clock contradicted ours.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_wrong_clock: bool,
    /// The result of each attempt of the call: none yet if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<SendResult>,
}

/// The result of one attempt to create a payment.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SendResult {
    /// A payment.
    Payment,
    /// A status without a payment.
    Status(u16),
    /// No reply, or one that cannot be read.
    Lost,
}

/// Why a payment ended that the service was not known to have.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// When.
    pub at: Time,
    /// Why.
    pub why: Why,
}

/// Why a payment has ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The service refused its data, each time.
    Refused,
    /// No send brought it to the service.
    Left,
    /// After a restore: the service has another payment by this reference. It has not ended; a person decides.
    Conflict,
    /// The service's own word: failed or canceled.
    Word,
    /// Its word was not final when its time was over.
    TimedOut,
    /// A person's decision.
    Decided,
}

/// A payment as the service has it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// The service's id.
    pub id: String,
    /// The service's public reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment_ref: Option<String>,
    /// What it is to the ledger.
    pub state: FoundState,
    /// The service's last word.
    pub status: IntentStatus,
    /// When a reply first had its id.
    #[serde(default)]
    pub since: Time,
    /// When it expires, if the service says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// When the last reading that succeeded was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<Time>,
    /// When the last reading was asked for, also one that failed.
    #[serde(default)]
    pub tried_at: Time,
    /// Whether the service no longer knew it then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_missing: bool,
    /// When its cancellation was asked for because its time was over, or nobody is to pay it any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_at: Option<Time>,
    /// Whether it is read no more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_over: bool,
    /// What the customer pays, with the fee.
    #[serde(default, deserialize_with = "super::amount::optional", skip_serializing_if = "Option::is_none")]
    pub payable: Option<Amount>,
    /// How it is paid, such as `mobile_money`, if the service says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The sum that a person says was paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Money>,
    /// Attempts that were paid besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub duplicates: Vec<Duplicate>,
    /// Until when an attempt that was declined may still be approved, as the last reading said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvable_until: Option<Time>,
    /// Its address, sealed, until a repeat or a reading has given it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<String>,
    /// What it is read with, encrypted, until its reading ends: only at a service that reads it in no other way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_with: Option<String>,
}

/// What a payment of the service is to the ledger.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundState {
    /// It may be paid.
    Open,
    /// It may not be paid any more, as far as is known.
    Ended {
        /// When.
        at: Time,
        /// Why.
        why: Why,
    },
    /// It was paid, with what was sent.
    Paid {
        /// When.
        at: Time,
    },
    /// It is not what was sent: a person decides.
    Different,
}

/// An attempt that was paid besides the one that counts.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Duplicate {
    /// Which.
    pub attempt: String,
    /// What was paid, if the service says so.
    #[serde(default, deserialize_with = "super::amount::optional", skip_serializing_if = "Option::is_none")]
    pub amount: Option<Amount>,
}

/// What a payment is, and an order: the first of these that any of its payments is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// One succeeded, with what was sent. Nothing takes it back.
    Paid,
    /// The service has something else by its reference. A person decides.
    Different,
    /// Stored before it was sent; whether the service has it is not known.
    Sent,
    /// The service has it, and it may be paid.
    Open,
    /// It may not be paid any more, as far as is known.
    Ended,
}

impl Order {
    /// An order without a payment. `epoch` is where its versions begin.
    #[must_use]
    pub fn new(name: impl Into<String>, owner: Owner, epoch: i64) -> Self {
        Self {
            name: name.into(),
            owner,
            is_claimed: false,
            version: epoch,
            asked: None,
            has_ended: false,
            paid_by: None,
            payments: Vec::new(),
            refunded: BTreeSet::new(),
            entries: Vec::new(),
        }
    }

    /// The first state of the table that any of its payments is in; none without a payment.
    #[must_use]
    pub fn state(&self) -> Option<State> {
        self.payments.iter().map(Payment::state).min()
    }

    /// The references of its next payments: its name, then `name-1`, `name-2`, of which none of its payments has one,
    /// nor another order's.
    pub(super) fn free_references<'a>(&'a self, taken: &'a BTreeSet<String>) -> impl Iterator<Item = String> + 'a {
        let name = &self.name;
        let references = std::iter::once(name.clone()).chain((1..).map(move |number: u32| format!("{name}-{number}")));
        references.filter(|reference| self.payment(reference).is_none() && !taken.contains(reference))
    }

    /// The payment with this reference.
    #[must_use]
    pub fn payment(&self, reference: &str) -> Option<&Payment> {
        self.payments.iter().find(|payment| payment.reference == reference)
    }

    /// What a page shows: what has paid it, or else its youngest payment that the service has.
    #[must_use]
    pub fn shown(&self) -> Option<(&Payment, &Found)> {
        let paid = self.all_found().find(|(_, found)| self.paid_by.as_ref() == Some(&found.id));
        paid.or_else(|| self.all_found().last())
    }

    /// Until when an attempt that was declined may still be approved: the latest of all its payments.
    #[must_use]
    pub fn approvable_until(&self) -> Option<Time> {
        self.all_found().filter_map(|(_, found)| found.approvable_until).max()
    }

    /// The youngest payment that is in this state.
    pub(super) fn youngest(&self, state: State) -> Option<usize> {
        self.payments.iter().rposition(|payment| payment.state() == state)
    }

    /// Everything that the service has of it, with its payment.
    pub fn all_found(&self) -> impl Iterator<Item = (&Payment, &Found)> {
        self.payments.iter().flat_map(|payment| payment.found.iter().map(move |found| (payment, found)))
    }
}

impl Payment {
    /// The body of the request that creates it.
    #[must_use]
    pub fn creation(&self) -> String {
        self.body.creation(&self.reference, &self.nonce, &self.mark)
    }

    /// A payment that was not sent.
    pub(super) fn new(reference: String, now: Time, body: Body, nonce: &str, mark: &str) -> Self {
        Self {
            reference,
            created_at: now,
            body,
            nonce: nonce.to_owned(),
            mark: mark.to_owned(),
            quote: None,
            sends: Vec::new(),
            closed: None,
            sought_at: None,
            is_over: false,
            found: Vec::new(),
        }
    }

    /// What it is. A payment that was refused or left stays ended when it is found, unless it was paid or is different.
    #[must_use]
    pub fn state(&self) -> State {
        let has = |is: fn(FoundState) -> bool| self.found.iter().any(|found| is(found.state));
        if has(|state| matches!(state, FoundState::Paid { .. })) {
            State::Paid
        } else if has(|state| state == FoundState::Different)
            || self.closed.is_some_and(|closed| closed.why == Why::Conflict)
        {
            State::Different
        } else if self.closed.is_some() {
            State::Ended
        } else if self.found.is_empty() {
            State::Sent
        } else if has(|state| state == FoundState::Open) {
            State::Open
        } else {
            State::Ended
        }
    }

    /// Until when it is one of its owner's twenty: a day from when it was stored, while it is open or sent.
    #[must_use]
    pub fn counts_until(&self) -> Option<Time> {
        matches!(self.state(), State::Sent | State::Open).then_some(self.created_at + DAY)
    }

    /// Whether it is one of its owner's twenty now.
    #[must_use]
    pub fn counts_as_open(&self, now: Time) -> bool {
        self.counts_until().is_some_and(|until| now < until)
    }

    /// Whether each attempt of each send was refused for its data.
    pub(super) fn was_refused(&self) -> bool {
        let is_refusal = |result: &SendResult| matches!(result, SendResult::Status(400 | 413 | 415 | 422));
        !self.sends.is_empty()
            && self.sends.iter().all(|send| !send.results.is_empty() && send.results.iter().all(is_refusal))
    }

    /// Whether the service may still execute one of these sends: its time is not over, and an attempt of it got no
    /// status.
    pub(super) fn may_be_executed<'a>(sends: impl IntoIterator<Item = &'a Send>, now: Time) -> bool {
        let is_answered = |send: &Send| !send.results.is_empty() && !send.results.contains(&SendResult::Lost);
        sends.into_iter().any(|send| send.until > now && !is_answered(send))
    }

    /// The first that may still be paid.
    pub(super) fn first_open(&self) -> Option<&Found> {
        self.found.iter().find(|found| found.state == FoundState::Open)
    }
}
