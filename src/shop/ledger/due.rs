//! When a payment is read again, who comes first, and what cannot be read.

use super::event::{Asked, Service};
use super::order::{CLOCKS_DIFFER, DAY, Found, FoundState, Order, Payment, State, Time, Why};
use crate::values::IntentStatus;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many payments a round reads at a time.
const AT_A_TIME: usize = 8;
/// What has been due for this long goes first, in seconds. A payment that could not be read for this long is not
/// confirmed.
const LONG_DUE: Time = 10 * 60;
/// For how long a killed server keeps a round from others, in seconds.
const CLAIM: Time = 15;
/// The longest that a service holds a round back, in seconds.
const LONGEST_HOLD: Time = 15 * 60;
/// The longest pause of an open payment, in seconds.
const LONGEST_PAUSE: Time = 60 * 60;
/// How often a payment that has ended is read in its day, at most.
const READINGS_AFTER_END: Time = 40;
/// The longest time for which a payment is not due, in seconds.
pub(super) const LONGEST_WAIT: Time = 30 * DAY;

/// When a payment is read again.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Next {
    /// Then; now, if that is past.
    At(Time),
    /// Not any more.
    Never,
}

/// When anything of this payment is read again, or its personal data are deleted, as a store keeps it with the payment.
/// A `now` that is before the last reading says that the clock was ahead then: it is due.
#[must_use]
pub fn due(payment: &Payment, service: &Service, now: Time) -> Next {
    let reading = readings(payment, service, now).into_iter().map(|(next, _)| next).min();
    let other = [reported_at(payment, service, now), forgotten_at(payment, service)].into_iter().flatten().min();
    reading.or(other.map(Next::At)).unwrap_or(Next::Never)
}

/// When a payment is due again of which nothing is read now. Nothing is stored further ahead than the time by which a
/// wrong clock shows.
pub(super) fn due_again(payment: &Payment, service: &Service, now: Time) -> Time {
    match due(payment, service, now) {
        Next::At(at) if at > now => at.min(now + LONGEST_WAIT),
        Next::At(_) => now + DAY / READINGS_AFTER_END,
        Next::Never => now + LONGEST_WAIT,
    }
}

/// When to report a payment that cannot be read: its creation got no reply, and the service has no search.
pub(super) fn reported_at(payment: &Payment, service: &Service, now: Time) -> Option<Time> {
    let last = payment.sends.iter().map(|send| send.until).max();
    reported_until(payment, service).filter(|until| now < *until).map(|_| last.unwrap_or(payment.created_at))
}

/// For 30 days while it may still be paid, and for a day after it was left.
fn reported_until(payment: &Payment, service: &Service) -> Option<Time> {
    let until = match payment.closed {
        None => payment.created_at + LONGEST_WAIT,
        Some(closed) if closed.why == Why::Left => closed.at + DAY,
        Some(_) => return None,
    };
    (payment.found.is_empty() && !service.finds).then_some(until)
}

/// Whether nothing more is read of this payment, and its personal data have been kept for long enough.
pub(super) fn is_to_forget(payment: &Payment, service: &Service, now: Time) -> bool {
    readings(payment, service, now).is_empty() && forgotten_at(payment, service).is_some_and(|at| at <= now)
}

/// So many days after its end as the shop keeps personal data, if it has any. One that got no reply ends when it is no
/// longer reported.
fn forgotten_at(payment: &Payment, service: &Service) -> Option<Time> {
    let days = service.keep_days.filter(|_| payment.body.is_personal())?;
    let ends = payment.found.iter().filter_map(Found::ended_at).chain(payment.closed.map(|closed| closed.at));
    Some(ends.max().or(reported_until(payment, service))? + Time::from(days) * DAY)
}

/// What is read of this payment now.
#[must_use]
pub fn to_read(payment: &Payment, service: &Service, now: Time) -> Vec<Asked> {
    let is_due = |next: &Next| matches!(next, Next::At(at) if *at <= now);
    readings(payment, service, now).into_iter().filter(|(next, _)| is_due(next)).map(|(_, asked)| asked).collect()
}

/// When a reading is asked for that begins now: after those that are stored, also if the clock has gone back by a
/// moment meanwhile.
pub(super) fn asked_at(order: &Order, asked: &Asked, now: Time) -> Time {
    let (Asked::Read(id) | Asked::Cancel(id)) = asked else { return now };
    let stored = order.all_found().filter(|(_, found)| found.id == *id).filter_map(|(_, found)| found.asked_at).max();
    stored.filter(|at| (now..now + CLOCKS_DIFFER).contains(at)).unwrap_or(now)
}

/// Each of the service's payments is read by its id; what the service is not known to have, by its reference, where it
/// can be.
fn readings(payment: &Payment, service: &Service, now: Time) -> Vec<(Next, Asked)> {
    let found = payment.found.iter().filter(|found| !found.is_over);
    let mut readings: Vec<_> =
        found.map(|found| (after(found.tried_at, pause(found, now), now), Asked::Read(found.id.clone()))).collect();
    let is_refused = payment.closed.is_some_and(|closed| closed.why == Why::Refused);
    if payment.found.is_empty() && service.finds && !payment.is_over && !is_refused {
        let first = payment.sends.iter().map(|send| send.until).min().unwrap_or(payment.created_at);
        let next = match payment.sought_at {
            None => Next::At(first),
            Some(at) if payment.closed.is_some() => after(at, DAY / READINGS_AFTER_END, now),
            Some(at) => after(at, pause_by_age(now - payment.created_at), now),
        };
        readings.push((next, Asked::Find));
    }
    readings
}

/// So long after the last reading; now, if that is ahead of the clock.
fn after(last: Time, pause: Time, now: Time) -> Next {
    Next::At(if last > now { now } else { last + pause })
}

/// How long after a reading the next one is: by its age while it is open, 40 times in the day after its end, and daily
/// if that was no final word, if it is different, or if the service does not have it any more.
fn pause(found: &Found, now: Time) -> Time {
    match found.state {
        FoundState::Open => pause_by_age(now - found.since),
        FoundState::Different | FoundState::Ended { why: Why::TimedOut, .. } => DAY,
        FoundState::Ended { .. } | FoundState::Paid { .. } if found.is_missing => DAY,
        FoundState::Ended { .. } | FoundState::Paid { .. } => DAY / READINGS_AFTER_END,
    }
}

/// Three seconds, and one more for each minute of its age.
fn pause_by_age(age: Time) -> Time {
    (3 + age / 60).clamp(3, LONGEST_PAUSE)
}

/// A payment that is due, as a store gives it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Due {
    /// Its reference.
    pub reference: String,
    /// Whom it belongs to.
    pub owner: String,
    /// When it was stored.
    pub created_at: Time,
    /// When its customer last asked for its status.
    #[serde(default)]
    pub returned_at: Option<Time>,
    /// Since when it is due.
    pub since: Time,
}

/// Who is read now, in this order: what has been due for ten minutes; then each owner's first before any owner's
/// second, those that a customer has returned to, and then the youngest. Eight at a time.
#[must_use]
pub fn round(mut due: Vec<Due>, now: Time) -> Vec<Due> {
    due.sort_by_key(|one| (one.returned_at.is_none(), -one.created_at));
    let mut of_owner: BTreeMap<String, usize> = BTreeMap::new();
    let mut turns: Vec<(usize, Due)> = Vec::new();
    for one in due {
        let turn = of_owner.entry(one.owner.clone()).or_default();
        turns.push((*turn, one));
        *turn += 1;
    }
    turns.sort_by_key(|(turn, one)| {
        let is_long_due = now - one.since >= LONG_DUE;
        let age = if is_long_due { one.since } else { -one.created_at };
        (!is_long_due, *turn, !is_long_due && one.returned_at.is_none(), age)
    });
    turns.into_iter().take(AT_A_TIME).map(|(_, one)| one).collect()
}

/// Whether a round may begin that another server has claimed until then. Further ahead than a claim is long, its clock
/// was wrong.
#[must_use]
pub fn is_free(until: Time, now: Time) -> bool {
    until <= now || until > now + CLAIM
}

/// Until when a round that begins now keeps others from it.
pub(super) fn claim_until(now: Time) -> Time {
    now + CLAIM
}

/// Until when a 429 holds the round back.
#[must_use]
pub fn hold_until(retry_after: Option<Time>, now: Time) -> Time {
    now + retry_after.unwrap_or(CLAIM).clamp(1, LONGEST_HOLD)
}

/// Whether a round is held back until then. Further ahead than the longest hold, a clock was wrong.
#[must_use]
pub fn is_held(until: Time, now: Time) -> bool {
    until > now && until <= now + LONGEST_HOLD
}

/// What a page says of an open payment: *not confirmed*, never *unpaid*, if it could not be read for ten minutes.
#[must_use]
pub fn is_confirmed(found: &Found, now: Time) -> bool {
    found.state != FoundState::Open || found.asked_at.is_some_and(|at| now - at < LONG_DUE)
}

/// What cannot be read, or is not what was sent: money may be in it, and a person looks for it. By reference, and the
/// service's id.
#[must_use]
pub fn not_readable(order: &Order, now: Time) -> Vec<(&str, Option<&str>)> {
    let mut named = Vec::new();
    for payment in &order.payments {
        let reference = payment.reference.as_str();
        let is_sought = matches!(payment.state(), State::Sent | State::Different)
            || payment.closed.is_some_and(|closed| closed.why == Why::Left && now - closed.at < DAY);
        if payment.found.is_empty() && is_sought {
            named.push((reference, None));
        }
        let is_named = |found: &&Found| match found.state {
            FoundState::Different | FoundState::Ended { why: Why::TimedOut, .. } => true,
            FoundState::Open => !is_confirmed(found, now),
            FoundState::Ended { .. } => found.is_missing || found.status == IntentStatus::Succeeded,
            FoundState::Paid { .. } => false,
        };
        named.extend(payment.found.iter().filter(is_named).map(|found| (reference, Some(found.id.as_str()))));
    }
    named
}
