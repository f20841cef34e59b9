use super::decide::Deciding;
use super::event::{Adopt, Asked, Effect, Got, Reading, Reply, Seen};
use super::order::{CLOCKS_DIFFER, DAY, Found, FoundState, Payment, SendResult, State, Time, Why};
use crate::values::IntentStatus;

/// For how long a payment is read after its end if that was not the service's word, or the service does not know it any
/// more.
const LONG: Time = 30 * DAY;

impl Deciding<'_> {
    /// The results of a send are stored with it. A payment is a reading, too.
    pub(super) fn reply(&mut self, Reply { reference, send, earlier, got }: &Reply) {
        let Some(index) = self.index(reference) else { return };
        let Some(sent) = self.order.payments[index].sends.get_mut(*send) else { return };
        let asked_at = sent.at;
        sent.results.clone_from(earlier);
        sent.results.push(got.send_result());
        match got {
            Got::Payment(seen) if self.take(index, seen, None, asked_at) => self.answer_reply(index, seen.address()),
            got => self.no_payment(index, *send, got),
        }
    }

    /// A reply leads to its address; one that has none, or that of another payment than the first that may be paid,
    /// leads to a reading.
    fn answer_reply(&mut self, index: usize, address: Option<(&str, &str)>) {
        let payment = &self.order.payments[index];
        let first = payment.first_open().map(|found| found.id.clone());
        match first.filter(|_| payment.state() == State::Open) {
            Some(first) if address.is_none_or(|(id, _)| id != first) => self.ask(index, Asked::Read(first), true),
            _ => self.answer_page(index, address),
        }
    }

    /// A send that brings no payment: if each was refused for its data, the payment is refused. One that is sent is
    /// looked for where the service can; otherwise it is left when the repeat is refused, or 15 minutes after the first
    /// send. One that is open is read.
    fn no_payment(&mut self, index: usize, send: usize, got: &Got) {
        let (service, payment) = (&self.known.service, &self.order.payments[index]);
        let others = [&payment.sends[..send], &payment.sends[send + 1..]].concat();
        let is_repeat = payment.sends.iter().map(|send| send.results.len().max(1)).sum::<usize>() > 1;
        let is_refused_repeat =
            matches!(got, Got::Status(400 | 401 | 403 | 404 | 408 | 409 | 413 | 415 | 422 | 429)) && !others.is_empty();
        match payment.state() {
            State::Open => match payment.first_open().map(|found| found.id.clone()) {
                Some(id) => self.ask(index, Asked::Read(id), true),
                None => self.answer_page(index, None),
            },
            State::Sent if payment.was_refused() => {
                self.close(index, Why::Refused);
                self.answer_error(502, "service_failed");
            }
            State::Sent if service.finds => self.ask(index, Asked::Find, true),
            State::Sent if service.is_restoring && *got == Got::Status(409) => {
                self.close(index, Why::Conflict);
                self.different(index);
                self.answer_page(index, None);
            }
            State::Sent if self.may_be_left(index, &others) && (is_refused_repeat || self.cannot_be_asked(index)) => {
                self.close(index, Why::Left);
                self.answer_page(index, None);
            }
            State::Sent => self.answer_got(got, is_repeat),
            _ => self.answer_page(index, None),
        }
    }

    /// What a page gets for a send that brought no payment, where the payment may exist: a refusal of a repeat does not
    /// say that the customer's data are wrong.
    fn answer_got(&mut self, got: &Got, is_repeat: bool) {
        match got {
            Got::Status(429) => self.answer_error(429, "rate_limited"),
            Got::Status(400 | 409 | 413 | 415 | 422) if is_repeat => self.answer_error(503, "unavailable"),
            Got::Status(_) => self.answer_error(502, "service_failed"),
            Got::Payment(_) | Got::Lost => self.answer_error(503, "unavailable"),
        }
    }

    /// A payment that comes is taken into the order; a 404 says that the service does not have it. Anything else
    /// changes nothing.
    pub(super) fn reading(&mut self, Reading { reference, asked, at, for_page, got }: &Reading) {
        let Some(index) = self.index(reference) else { return };
        let id = match asked {
            Asked::Read(id) | Asked::Cancel(id) => Some(id.as_str()),
            Asked::Find => None,
        };
        self.tried(index, id, *at);
        let address = match got {
            Got::Payment(seen) if self.take(index, seen, Some(asked), *at) => Some(seen.address()),
            _ => None,
        };
        let is_missing = *got == Got::Status(404) && !matches!(asked, Asked::Cancel(_));
        if is_missing {
            self.missing(index, asked, *at);
        }
        if address.is_some() || is_missing {
            self.end_reading(index, *at);
        }
        let payment = &self.order.payments[index];
        let was_not_sent = payment.sends.is_empty() && payment.state() == State::Sent;
        if *for_page && is_missing && was_not_sent {
            self.send(index);
        } else if *for_page {
            self.answer_reading(index, asked, address);
        }
    }

    /// Takes a payment into the order that the rows of a restored ledger do not have. What it was sent with is not
    /// known: that of the last.
    pub(super) fn adopt(&mut self, Adopt { reference, nonce, mark, at, seen }: &Adopt) {
        let Some(body) = self.order.payments.last().map(|last| last.body.clone()) else { return };
        let is_free = self.index(reference).is_none() && !self.known.taken.contains(reference);
        let is_its = seen.reference.as_ref().is_none_or(|of| of == reference);
        if !self.known.service.is_restoring || !is_free || !is_its {
            return;
        }
        self.order.payments.push(Payment::new(reference.clone(), self.now, body, nonce, mark));
        self.take(self.order.payments.len() - 1, seen, Some(&Asked::Find), *at);
    }

    /// What was sent before the copy was written, and is not found, may have been answered since: somebody may have its
    /// address.
    pub(super) fn restored(&mut self) {
        for index in 0..self.order.payments.len() {
            let payment = &self.order.payments[index];
            if payment.state() == State::Sent && !payment.sends.is_empty() {
                self.close(index, Why::Conflict);
                self.different(index);
            }
        }
    }

    /// What a page gets after a reading: an address only of what was read just now. A payment that could not be
    /// canceled keeps its price.
    fn answer_reading(&mut self, index: usize, asked: &Asked, address: Option<Option<(&str, &str)>>) {
        let is_open = self.order.payments[index].state() == State::Open;
        match (asked, address) {
            (Asked::Cancel(_), None | Some(None)) if is_open => self.ask_for_address(index),
            (_, None) if is_open => self.answer_error(503, "unavailable"),
            (_, address) => self.answer_page(index, address.flatten()),
        }
    }

    /// When it was last asked for, also in vain.
    fn tried(&mut self, index: usize, id: Option<&str>, at: Time) {
        let now = self.now;
        let payment = &mut self.order.payments[index];
        match id {
            None => payment.sought_at = payment.sought_at.filter(|at| *at <= now).max(Some(at)),
            Some(id) => {
                for found in payment.found.iter_mut().filter(|found| found.id == id) {
                    found.tried_at = later(found.tried_at, at, now);
                }
            }
        }
    }

    /// A payment that a read by reference does not find is left, once no send can be executed. One that was read before
    /// stays what it was.
    fn missing(&mut self, index: usize, asked: &Asked, at: Time) {
        let sends = &self.order.payments[index].sends;
        // A send that was executed since the reading was asked for is none that it would have found.
        let was_asked_after =
            sends.iter().all(|send| send.at <= at && (send.until <= at || !Payment::may_be_executed([send], self.now)));
        match asked {
            Asked::Read(id) => {
                for found in self.order.payments[index].found.iter_mut().filter(|found| found.id == *id) {
                    found.is_missing = true;
                }
            }
            Asked::Find if self.ages(at) && was_asked_after && self.may_be_left(index, sends) => {
                self.close(index, Why::Left)
            }
            Asked::Find | Asked::Cancel(_) => {}
        }
    }

    /// Takes the payment of a reply into the order. False if it is not the one that was asked for: that is as if there
    /// was no reply.
    fn take(&mut self, index: usize, seen: &Seen, asked: Option<&Asked>, asked_at: Time) -> bool {
        let payment = &self.order.payments[index];
        let asked_id = match asked {
            Some(Asked::Read(id) | Asked::Cancel(id)) => Some(id),
            Some(Asked::Find) | None => None,
        };
        let is_other_reference = seen.reference.as_ref().is_some_and(|reference| *reference != payment.reference);
        if is_other_reference || asked_id.is_some_and(|id| *id != seen.id) {
            let reference = payment.reference.clone();
            self.alarm("another_payment_came", &reference);
            return false;
        }
        let place = payment.found.iter().position(|found| found.id == seen.id);
        let place = place.unwrap_or_else(|| self.first_seen(index, seen, asked == Some(&Asked::Find)));
        // One that lies ahead was asked for by a clock that was.
        let last = self.order.payments[index].found[place].asked_at.filter(|at| *at <= self.now);
        let is_old = Some(asked_at) < last;
        if !is_old || seen.status == IntentStatus::Succeeded {
            self.update(index, place, seen, asked_at);
        }
        true
    }

    /// A payment of the service comes for the first time: its age and, after a restore, its origin are judged now and
    /// never again. A second one means that the service does not repeat creations.
    fn first_seen(&mut self, index: usize, seen: &Seen, is_found: bool) -> usize {
        let payment = &self.order.payments[index];
        // After a restore, what has our mark was created by rows that are lost.
        let is_different = match self.known.service.is_restoring {
            true if seen.mark.as_ref() == Some(&payment.mark) => false,
            is_restoring => (is_restoring && is_found) || self.is_too_old(payment, seen),
        };
        let latest_now = self.latest_now();
        let payment = &mut self.order.payments[index];
        let mut found = Found::new(seen.id.clone(), seen.status.clone(), latest_now);
        found.payment_ref.clone_from(&seen.payment_ref);
        found.sealed = seen.address.as_ref().map(|address| address.sealed.clone());
        payment.found.push(found);
        let (place, reference) = (payment.found.len() - 1, payment.reference.clone());
        if is_different {
            payment.found[place].state = FoundState::Different;
            self.different(index);
        }
        if self.is_of_another_email(index, seen) {
            self.alarm("email", &reference);
        }
        if place > 0 {
            self.effects.push(Effect::StopRepeating);
            self.alarm("doubled", &reference);
        }
        place
    }

    /// A payment that was created more than five minutes before its first send is another's: by the reply's own `Date`,
    /// less the time since that send. It is not judged without either, or by a clock that the service contradicts now
    /// or did at the first send.
    fn is_too_old(&self, payment: &Payment, seen: &Seen) -> bool {
        let Some((first, (created_at, date))) = payment.sends.first().zip(seen.created_at.zip(seen.date)) else {
            return false;
        };
        let sent_at = date - (self.now - first.at);
        let is_judged = !self.clock_is_wrong() && !first.by_wrong_clock;
        is_judged && created_at < sent_at - CLOCKS_DIFFER
    }

    /// An e-mail address that was altered is reported once. It does not keep a paid order unpaid: a service may correct
    /// it.
    fn is_of_another_email(&self, index: usize, seen: &Seen) -> bool {
        let sent = self.order.payments[index].body.email();
        sent.zip(seen.email.as_deref()).is_some_and(|(sent, email)| !sent.eq_ignore_ascii_case(email))
    }

    fn different(&mut self, index: usize) {
        let reference = self.order.payments[index].reference.clone();
        self.alarm("different", &reference);
    }

    /// Stores what the service says of a payment now.
    fn update(&mut self, index: usize, place: usize, seen: &Seen, asked_at: Time) {
        let now = self.now;
        let payment = &mut self.order.payments[index];
        let is_known = payment.found[place].asked_at.is_some();
        let sum = payment.body.sum();
        let is_other = seen.amount.is_some_and(|amount| amount != sum.amount)
            || seen.currency.as_ref().is_some_and(|currency| *currency != sum.currency)
            || seen.mark.as_ref().is_some_and(|mark| *mark != payment.mark);
        let found = &mut payment.found[place];
        let word_before = std::mem::replace(&mut found.status, seen.status.clone());
        found.asked_at = found.asked_at.filter(|at| *at <= now).max(Some(asked_at));
        found.tried_at = later(found.tried_at, asked_at, now);
        found.is_missing = false;
        found.expires_at = seen.expires_at.or(found.expires_at);
        found.payable = seen.payable.or(found.payable);
        found.method = seen.method.clone().or(found.method.take());
        found.approvable_until = seen.approvable_until;
        for one in &seen.duplicates {
            // A service may name it twice, also in one reply.
            if found.duplicates.iter().all(|old| old.attempt != one.attempt) {
                found.duplicates.push(one.clone());
            }
        }
        found.read_with = seen.read_with.clone().or_else(|| found.read_with.take());
        if is_known && seen.address.is_some() {
            found.sealed = None;
        }
        let before = found.state;
        let after = self.state_after(index, place, seen, is_other, asked_at);
        self.order.payments[index].found[place].state = after;
        match (before, after) {
            (FoundState::Paid { .. }, _) if word_before != seen.status => {
                self.enter(index, seen.status.as_str().to_owned(), None);
            }
            (FoundState::Different, _) => {}
            (_, FoundState::Different) => self.different(index),
            (FoundState::Open, FoundState::Ended { why: Why::TimedOut, .. }) => self.cannot_be_read(index),
            (FoundState::Open | FoundState::Ended { .. }, FoundState::Open | FoundState::Ended { .. })
                if seen.status == IntentStatus::Succeeded && word_before != seen.status =>
            {
                self.cannot_be_read(index);
            }
            _ => {}
        }
    }

    fn cannot_be_read(&mut self, index: usize) {
        let reference = self.order.payments[index].reference.clone();
        self.alarm("cannot_be_read", &reference);
    }

    /// What a payment is after a reading. Nothing takes back what was paid, only *succeeded* changes what has ended,
    /// and a person decides what is different. Every open word ends by its age.
    fn state_after(&mut self, index: usize, place: usize, seen: &Seen, is_other: bool, asked_at: Time) -> FoundState {
        let now = self.latest_now();
        let state = self.order.payments[index].found[place].state;
        let is_whole = seen.amount.is_some() && seen.currency.is_some();
        match (state, &seen.status) {
            (FoundState::Paid { .. } | FoundState::Different, _) => state,
            (FoundState::Ended { why: Why::Decided, .. }, _) if is_other => state,
            _ if is_other => FoundState::Different,
            (_, IntentStatus::Succeeded) if is_whole => FoundState::Paid { at: now },
            (FoundState::Ended { .. }, _) => state,
            (_, IntentStatus::Failed | IntentStatus::Canceled) => FoundState::Ended { at: now, why: Why::Word },
            _ => self.end_by_age(index, place, asked_at),
        }
    }

    /// A word that is not final ends in a reading that was asked for after its time, and is canceled first where the
    /// service can.
    fn end_by_age(&mut self, index: usize, place: usize, asked_at: Time) -> FoundState {
        let found = &self.order.payments[index].found[place];
        if asked_at < found.ends_at() || !self.ages(asked_at) {
            return FoundState::Open;
        }
        if self.known.service.cancels && found.cancel_at.is_none() {
            let id = found.id.clone();
            self.order.payments[index].found[place].cancel_at = Some(self.now);
            self.ask(index, Asked::Cancel(id), false);
            return FoundState::Open;
        }
        FoundState::Ended { at: self.now, why: Why::TimedOut }
    }

    /// Reading ends with one that was asked for a day after the end and succeeded; 30 days after it, if that was no
    /// final word or the service does not have the payment any more.
    fn end_reading(&mut self, index: usize, asked_at: Time) {
        if !self.ages(asked_at) {
            return;
        }
        let payment = &mut self.order.payments[index];
        for found in payment.found.iter_mut().filter(|found| found.asked_at == Some(asked_at) || found.is_missing) {
            found.is_over |= found.read_until().is_some_and(|until| asked_at >= until);
            if found.is_over {
                (found.sealed, found.read_with) = (None, None);
            }
        }
        if payment.found.is_empty() && payment.sought_at == Some(asked_at) {
            payment.is_over |= payment.closed.is_some_and(|closed| asked_at >= closed.at + DAY);
        }
    }
}

/// The later of two times. One that lies ahead was stored by a clock that was.
fn later(old: Time, new: Time, now: Time) -> Time {
    if old > now { new } else { old.max(new) }
}

impl Found {
    /// When its final word was first seen; none while there is none.
    pub(super) fn final_since(&self) -> Option<Time> {
        match self.state {
            FoundState::Ended { at, why: Why::Word } | FoundState::Paid { at } => Some(at),
            _ => None,
        }
    }

    /// When it ended; none while it has not.
    pub(super) fn ended_at(&self) -> Option<Time> {
        match self.state {
            FoundState::Open | FoundState::Different => None,
            FoundState::Ended { at, .. } | FoundState::Paid { at } => Some(at),
        }
    }

    /// Until when it is read at least; none while it has not ended.
    fn read_until(&self) -> Option<Time> {
        match self.state {
            FoundState::Open | FoundState::Different => None,
            FoundState::Ended { at, why: Why::TimedOut } => Some(at + LONG),
            FoundState::Ended { at, .. } | FoundState::Paid { at } if self.is_missing => Some(at + LONG),
            FoundState::Ended { at, .. } | FoundState::Paid { at } => Some(at + DAY),
        }
    }
}

impl Got {
    fn send_result(&self) -> SendResult {
        match self {
            Self::Payment(_) => SendResult::Payment,
            Self::Status(status) => SendResult::Status(*status),
            Self::Lost => SendResult::Lost,
        }
    }
}

impl Seen {
    /// Its id and its address.
    fn address(&self) -> Option<(&str, &str)> {
        Some((&self.id, &self.address.as_ref()?.plain))
    }
}
