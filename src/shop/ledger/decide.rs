use super::due::is_to_forget;
use super::event::{Alarm, Answer, Asked, Effect, Event, Known, Resolve, Verdict};
use super::order::{CLOCKS_DIFFER, Closed, DAY, Entry, Found, FoundState, Order, RefundKey, State, Time, Why};
use crate::values::IntentStatus;

/// How long after a cancellation the next is asked for, in seconds.
const CANCEL_AGAIN: Time = 60 * 60;

/// An order as it is after an event, and what is to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// To be committed, if it is not the order that was given, and nobody has changed that since.
    pub order: Order,
    /// To be done after the commit, in this order.
    pub effects: Vec<Effect>,
}

/// What an event means for an order. `now` is the database's clock; with a test key, the service's.
#[must_use]
pub fn decide(before: &Order, known: &Known, event: &Event, now: Time) -> Decision {
    let mut deciding = Deciding { order: before.clone(), known, now, effects: Vec::new() };
    match event {
        Event::Click(click) => deciding.click(click),
        Event::Reply(reply) => deciding.reply(reply),
        Event::Reading(reading) => deciding.reading(reading),
        Event::Resolve(resolve) => deciding.resolve(resolve),
        Event::Forget { reference } => deciding.forget(reference),
        Event::Adopt(adopt) => deciding.adopt(adopt),
        Event::Restored { .. } => deciding.restored(),
    }
    let epoch = match event {
        Event::Restored { epoch } => Some(*epoch),
        _ => None,
    };
    deciding.finish(before, epoch)
}

/// An order that is being decided.
pub(super) struct Deciding<'a> {
    pub(super) order: Order,
    pub(super) known: &'a Known,
    pub(super) now: Time,
    pub(super) effects: Vec<Effect>,
}

impl Deciding<'_> {
    /// By a clock that the service's contradicts by more than five minutes nothing ends, is left or is no longer read
    /// because of its age. The service's own word still ends.
    pub(super) fn clock_is_wrong(&self) -> bool {
        self.known.service_now.is_some_and(|service_now| (self.now - service_now).abs() > CLOCKS_DIFFER)
    }

    /// When something begins or ends now. Of two clocks that contradict each other either may be behind: by that one,
    /// what has ended would be read for less than its day.
    pub(super) fn latest_now(&self) -> Time {
        self.known
            .service_now
            .filter(|_| self.clock_is_wrong())
            .map_or(self.now, |service_now| service_now.max(self.now))
    }

    /// Whether a reading that was asked for then may end anything by its age. One that lies ahead was asked for by a
    /// clock that was wrong.
    pub(super) fn ages(&self, asked_at: Time) -> bool {
        asked_at <= self.now + CLOCKS_DIFFER && !self.clock_is_wrong()
    }

    /// The payment with this reference.
    pub(super) fn index(&self, reference: &str) -> Option<usize> {
        self.order.payments.iter().position(|payment| payment.reference == reference)
    }

    pub(super) fn alarm(&mut self, what: &'static str, about: &str) {
        self.effects.push(Effect::Alarm(Alarm { what, about: about.to_owned() }));
    }

    pub(super) fn answer_error(&mut self, status: u16, code: &'static str) {
        self.effects.push(Effect::Answer(Answer::Error { status, code }));
    }

    pub(super) fn ask(&mut self, index: usize, asked: Asked, for_page: bool) {
        let reference = self.order.payments[index].reference.clone();
        self.effects.push(Effect::Ask { reference, asked, for_page });
    }

    /// Writes into the order's history.
    pub(super) fn enter(&mut self, index: usize, what: String, who: Option<String>) {
        let reference = self.order.payments[index].reference.clone();
        self.order.entries.push(Entry { at: self.now, reference, what, who });
    }

    /// Nothing is deleted by a clock that is wrong, or that no reply has confirmed.
    fn forget(&mut self, reference: &str) {
        let is_confirmed = self.known.service_now.is_some() && !self.clock_is_wrong();
        let Some(index) = self.index(reference).filter(|_| is_confirmed) else { return };
        let payment = &mut self.order.payments[index];
        if is_to_forget(payment, &self.known.service, self.now) {
            payment.body.forget();
        }
    }

    /// Ends a payment that the service is not known to have.
    pub(super) fn close(&mut self, index: usize, why: Why) {
        self.order.payments[index].closed = Some(Closed { at: self.latest_now(), why });
    }

    /// A person's decision holds for a payment of the service, and without an id for a payment that is not known to be
    /// there. It is kept with who and why.
    fn resolve(&mut self, Resolve { reference, id, attempt, verdict, who, why }: &Resolve) {
        let Some(index) = self.index(reference) else { return self.answer_error(404, "payment_missing") };
        let found = &self.order.payments[index].found;
        match (id, verdict) {
            (None, Verdict::Ended) if found.is_empty() => self.close(index, Why::Decided),
            (None, _) => return self.answer_error(422, "payment_id_missing"),
            (Some(id), Verdict::Ended | Verdict::Refunded) if found.iter().all(|found| found.id != *id) => {
                return self.answer_error(404, "payment_missing");
            }
            (Some(id), Verdict::Accepted) => match self.order.what_paid().filter(|paid| paid.id == *id) {
                Some(paid) => (self.order.asked, self.order.has_ended) = (Some(paid.sum), false),
                None => return self.answer_error(404, "payment_missing"),
            },
            (Some(id), verdict) => self.decide_found(index, id, attempt.as_deref(), verdict),
        }
        let of = attempt.as_ref().map(|attempt| [", attempt ", attempt].concat()).unwrap_or_default();
        self.enter(index, format!("{}{of}: {why}", verdict.word()), Some(who.clone()));
    }

    /// Sets what a person has decided about a payment of the service, also one that no reading has shown.
    fn decide_found(&mut self, index: usize, id: &str, attempt: Option<&str>, verdict: &Verdict) {
        let now = self.latest_now();
        if *verdict == Verdict::Refunded {
            let made = self
                .order
                .refunds_due()
                .into_iter()
                .map(|due| due.key)
                .filter(|key| key.id == id && (attempt.is_none() || key.attempt.as_deref() == attempt));
            self.order.refunded.extend(made);
            let is_all = attempt.is_none() && self.order.paid_by.as_deref() == Some(id);
            if is_all && self.order.changed().state.needs_a_person() {
                self.order.refunded.insert(RefundKey { id: id.to_owned(), attempt: None });
            }
        }
        let payment = &mut self.order.payments[index];
        let place = payment.found.iter().position(|found| found.id == id).unwrap_or_else(|| {
            payment.found.push(Found::new(id.to_owned(), IntentStatus::Unknown("decided".to_owned()), now));
            payment.found.len() - 1
        });
        let found = &mut payment.found[place];
        match (verdict, found.state) {
            // Nothing takes back what was paid.
            (_, FoundState::Paid { .. }) => {}
            (Verdict::Paid(sum), _) => {
                found.state = FoundState::Paid { at: now };
                found.decided = Some(sum.clone());
            }
            (Verdict::Accepted, _) => {}
            (Verdict::Ended | Verdict::Refunded, _) => found.state = FoundState::Ended { at: now, why: Why::Decided },
        }
        if payment.closed.is_some_and(|closed| closed.why == Why::Conflict) {
            payment.closed = Some(Closed { at: now, why: Why::Decided });
        }
    }

    /// The first payment that succeeds pays the order. Then, and when the shop has ended the order, everything that can
    /// still be paid is canceled where the service can, once. What the shop receives has a version: after a restore,
    /// one that is higher than any that it has.
    fn finish(mut self, before: &Order, epoch: Option<i64>) -> Decision {
        if self.order.paid_by.is_none() {
            let is_paid = |found: &&Found| matches!(found.state, FoundState::Paid { .. });
            let first = self.order.all_found().map(|(_, found)| found).find(is_paid);
            self.order.paid_by = first.map(|found| found.id.clone());
        }
        if self.order.has_ended || self.order.paid_by.is_some() {
            self.cancel_what_is_open();
        }
        if self.clock_is_wrong() {
            self.alarm("clock", "");
        }
        let mut changed = self.order.changed();
        if self.order != *before || epoch.is_some() {
            self.order.version = epoch.unwrap_or_default().max(before.version + 1);
        }
        if epoch.is_some() || changed != before.changed() {
            changed.version = self.order.version;
            changed.restored = epoch.is_some();
            self.effects.push(Effect::OrderChanged(changed));
        }
        Decision { order: self.order, effects: self.effects }
    }

    fn cancel_what_is_open(&mut self) {
        if !self.known.service.cancels {
            return;
        }
        for index in 0..self.order.payments.len() {
            // A request may be lost. A service that refuses is asked on, while the payment can still be paid.
            let now = self.now;
            let is_asked =
                move |found: &Found| found.cancel_at.is_some_and(|at| (0..CANCEL_AGAIN).contains(&(now - at)));
            let is_due = |found: &&mut Found| found.state == FoundState::Open && !is_asked(found);
            let due: Vec<String> = self.order.payments[index]
                .found
                .iter_mut()
                .filter(is_due)
                .map(|found| {
                    found.cancel_at = Some(self.now);
                    found.id.clone()
                })
                .collect();
            for id in due {
                self.ask(index, Asked::Cancel(id), false);
            }
        }
    }

    /// The order's state says what a page gets, after whatever a click has caused. `address` is the id of a payment and
    /// its address.
    pub(super) fn answer_page(&mut self, index: usize, address: Option<(&str, &str)>) {
        match self.order.state() {
            Some(State::Paid) => self.answer_paid(),
            _ if self.order.has_ended => self.answer_error(409, "order_ended"),
            Some(State::Different) => self.answer_error(409, "payment_mismatch"),
            Some(State::Open) => self.lead(index, address),
            Some(State::Sent) => self.answer_error(503, "unavailable"),
            Some(State::Ended) | None => self.effects.push(Effect::ClickAgain),
        }
    }
}

impl Verdict {
    fn word(&self) -> &'static str {
        match self {
            Self::Paid(_) => "paid",
            Self::Ended => "ended",
            Self::Refunded => "refunded",
            Self::Accepted => "accepted",
        }
    }
}

impl Found {
    /// A payment of the service that has just come.
    pub(super) fn new(id: String, status: IntentStatus, now: Time) -> Self {
        Self {
            id,
            payment_ref: None,
            state: FoundState::Open,
            status,
            since: now,
            expires_at: None,
            asked_at: None,
            tried_at: now,
            is_missing: false,
            cancel_at: None,
            is_over: false,
            payable: None,
            method: None,
            decided: None,
            duplicates: Vec::new(),
            approvable_until: None,
            sealed: None,
            read_with: None,
        }
    }

    /// When a word that is not final ends it: when it expires, or a day after its first reply where the service does
    /// not say; three days at the earliest while it is `processing`. No service's time is further ahead than a month.
    pub(super) fn ends_at(&self) -> Time {
        let end = self.expires_at.map_or(self.since + DAY, |at| at.min(self.since + 30 * DAY));
        if self.status == IntentStatus::Processing { end.max(self.since + 3 * DAY) } else { end }
    }
}
