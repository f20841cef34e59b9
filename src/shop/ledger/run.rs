//! Carries out what is decided: stores it, asks the service, and decides its reply, until a click has its answer.

use super::answer::named;
use super::apply::apply;
use super::clock::Clock;
use super::due::{
    Due, asked_at, claim_until, due_again, hold_until, is_free, is_held, is_to_forget, not_readable, round, to_read,
};
use super::event::{Alarm, Answer, Asked, Effect, Event, Got, Reading, Reply, Service};
use super::order::{DAY, Order, Time};
use super::outcome::{Done, Outcome, Read, Receiver, Requests, Round};
use super::shared::Shared;
use super::store::{OpenEvent, Store};
use crate::shop::{self, Buyer, Owner, Refused};
use crate::values::PaymentRef;
use std::collections::VecDeque;

/// How often one click is decided anew because a payment of its order has ended in it.
const MOST_CLICKS: usize = 3;
/// Longer than any payment waits for its next reading, in seconds.
const LONG: Time = 31 * DAY;

/// A ledger: where its orders are kept, whom it asks, and who learns of it.
#[derive(Clone, Copy, Debug)]
pub struct Ledger<'a, S, R, W> {
    /// Where its orders are kept.
    pub store: &'a S,
    /// What asks the service.
    pub requests: &'a R,
    /// Who learns what an order has become.
    pub receiver: &'a W,
    /// What the service can do.
    pub service: &'a Service,
    /// Its time.
    pub clock: &'a Clock,
}

impl<S: Store, R: Requests, W: Receiver> Ledger<'_, S, R, W> {
    /// The time by which it decides.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn now(&self) -> Result<Time, S::Error> {
        let of_store = self.store.now().await?;
        // Before anything is decided by it.
        if self.clock.is_unknown() {
            self.request_time(of_store).await;
        }
        Ok(self.clock.now(of_store))
    }

    /// Requests the service's time. Returns whether the reply has it.
    async fn request_time(&self, of_store: Time) -> bool {
        let date = self.requests.date().await;
        if let Some(date) = date {
            self.clock.learn(date, of_store);
        }
        date.is_some()
    }

    /// Decides an event, and carries out what follows from it. `owner` is whose payments count; the shop receives what
    /// has changed, and if it cannot, a later round brings it again.
    ///
    /// # Errors
    /// Those of the store. Then the same event may be given once more.
    pub async fn handle(&self, name: &str, owner: &Owner, event: Event) -> Result<Done, S::Error> {
        let done = self.handle_quietly(name, owner, event).await?;
        if !done.changed.is_empty() {
            // They are stored: what cannot be delivered now comes with a round, and so does what could not be before.
            for event in self.store.events(Some(name)).await.unwrap_or_default() {
                if done.changed.contains(&event.version) {
                    let _ = self.deliver_one(&event).await;
                }
            }
        }
        Ok(done)
    }

    /// The same, and delivers nothing: what has changed is stored.
    pub(super) async fn handle_quietly(&self, name: &str, owner: &Owner, event: Event) -> Result<Done, S::Error> {
        self.now().await?;
        if matches!(event, Event::Resolve(_)) {
            // What a person ends is read for a day after that.
            self.request_time(self.store.now().await?).await;
        }
        let click = Some(&event).filter(|event| matches!(event, Event::Click(_))).cloned();
        let (mut done, mut clicks, mut events) = (Done::default(), 0, VecDeque::from([event]));
        // A page waits for one call to a service that hangs, not for two.
        let mut hangs = false;
        while let Some(event) = events.pop_front() {
            let Some(decision) = apply(self.store, name, owner, self.service, self.clock, &event).await? else {
                continue;
            };
            for effect in &decision.effects {
                match effect {
                    Effect::Send { reference, send, may_retry } => {
                        let Some(payment) = decision.order.payment(reference) else { continue };
                        let outcome = self.requests.create(payment, *may_retry).await;
                        hangs = outcome.has_timed_out();
                        let (got, earlier) = (self.take(&outcome).await?, outcome.earlier);
                        done.reading = Some(outcome.reading);
                        events.push_back(Event::Reply(Reply {
                            reference: reference.clone(),
                            send: *send,
                            earlier,
                            got,
                        }));
                    }
                    Effect::Ask { reference, asked, for_page } => {
                        let (event, reading) = self.ask(&decision.order, reference, asked, *for_page, hangs).await?;
                        if *for_page {
                            done.reading = Some(reading);
                        }
                        events.push_back(event);
                    }
                    Effect::Answer(answer) => done.answer = Some(answer.clone()),
                    Effect::ClickAgain => match &click {
                        Some(click) if clicks < MOST_CLICKS => {
                            clicks += 1;
                            events.push_back(click.clone());
                        }
                        _ => done.answer = Some(Answer::Error { status: 503, code: "unavailable" }),
                    },
                    Effect::OrderChanged(changed) => done.changed.push(changed.version),
                    Effect::Alarm(alarm) => self.receiver.alarm(alarm),
                    Effect::StopRepeating => self.share(|shared| shared.repeats = false).await?,
                }
            }
            done.order = Some(decision.order);
        }
        Ok(done)
    }

    /// Reads the payment of this buyer that a page names: by the first of these names which is its return nonce, the
    /// service's id or its public reference. None if there is none.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn read_named(&self, buyer: &Buyer, names: &[String]) -> Result<Option<Read>, S::Error> {
        for payment in names.iter().filter(|name| PaymentRef::new(name.as_str()).is_ok()) {
            for name in self.store.find(payment).await? {
                let Some(order) = self.store.order(&name).await? else { continue };
                let Some((payment, found)) = named(&order, buyer, payment, names) else { continue };
                let (reference, id) = (payment.reference.clone(), found.id.clone());
                self.store.returned(&reference, self.now().await?).await?;
                let done = self.read(&order, &reference, &id).await?;
                let is_received = self.store.events(Some(&name)).await?.is_empty();
                return Ok(Some(Read { done: Done { is_received, ..done }, reference, id }));
            }
        }
        Ok(None)
    }

    /// Reads a payment of the service, as a page or a person wants it now.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn read(&self, order: &Order, reference: &str, id: &str) -> Result<Done, S::Error> {
        let (event, mut reading) = self.ask(order, reference, &Asked::Read(id.to_owned()), false, false).await?;
        let done = self.handle(&order.name, &order.owner, event).await?;
        let found = done.order.as_ref().and_then(|order| order.all_found().find(|(_, found)| found.id == id));
        if let (Ok(reading), Some((_, found))) = (&mut reading, found) {
            reading.final_since = found.final_since().and_then(|at| self.clock.of_service(at));
        }
        Ok(Done { reading: Some(reading), ..done })
    }

    /// Begins a round: claims what is due, of at most eight payments. Nothing is claimed while the service holds the
    /// round back, or another server has it.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn begin_round(&self) -> Result<(Round, Vec<Due>), S::Error> {
        let (mut now, mut due) = self.due().await?;
        if due.is_empty() && self.has_moved().await? {
            (now, due) = self.due().await?;
        }
        let oldest = due.iter().map(|one| one.since).min();
        let done = Round { due: due.len(), oldest, until: now, ..Round::default() };
        let shared = self.store.shared().await?;
        if due.is_empty() || is_held(shared.held_until, now) || !is_free(shared.round_until, now) {
            return Ok((done, Vec::new()));
        }
        let claimed = Shared { round_until: claim_until(now), ..shared.clone() };
        let is_ours = self.store.replace_shared(&shared, &claimed).await?;
        Ok((done, if is_ours { round(due, now) } else { Vec::new() }))
    }

    /// Ends a round that has claimed something at this time, so that the next begins at once. Another server's claim
    /// stays.
    ///
    /// # Errors
    /// Those of the store. Then the claim ends by itself.
    pub async fn end_round(&self, begun: Time) -> Result<(), S::Error> {
        self.share(|shared| {
            if shared.round_until == claim_until(begun) {
                shared.round_until = 0;
            }
        })
        .await
    }

    async fn due(&self) -> Result<(Time, Vec<Due>), S::Error> {
        let now = self.now().await?;
        Ok((now, self.store.due(now, now + LONG).await?))
    }

    /// Whether the service's clock was asked, because a test may have moved it and a payment waits for a later time.
    async fn has_moved(&self) -> Result<bool, S::Error> {
        let of_store = self.store.now().await?;
        if !self.clock.is_to_be_asked(of_store) || !self.store.has_due().await? {
            return Ok(false);
        }
        Ok(self.request_time(of_store).await)
    }

    /// Reads what is due of one payment. Returns what is to be added to the round. One that cannot be handled waits for
    /// a minute, so that others come before it.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn read_due(&self, due: &Due, now: Time) -> Result<Round, S::Error> {
        let read = self.read_payment(due, now).await;
        if read.is_err() {
            self.receiver.alarm(&Alarm { what: "not_handled", about: due.reference.clone() });
            let _ = self.store.postpone(&due.reference, now + 60).await;
        }
        read
    }

    async fn read_payment(&self, due: &Due, now: Time) -> Result<Round, S::Error> {
        let mut done = Round::default();
        for name in self.store.find(&due.reference).await? {
            let Some(order) = self.store.order(&name).await? else { continue };
            let Some(payment) = order.payment(&due.reference) else { continue };
            let mut after = None;
            let service = self.service().await?;
            let asks = to_read(payment, &service, now);
            if asks.is_empty() {
                self.store.postpone(&due.reference, due_again(payment, &service, now)).await?;
            }
            if is_to_forget(payment, &service, now) {
                let of_store = self.store.now().await?;
                if self.clock.service_now(of_store).is_none() {
                    self.request_time(of_store).await;
                }
                let forget = Event::Forget { reference: due.reference.clone() };
                after = self.handle(&name, &order.owner, forget).await?.order;
            }
            for asked in asks {
                let (event, reading) = self.ask(&order, &due.reference, &asked, false, false).await?;
                done.read += usize::from(reading.is_ok());
                after = self.handle(&name, &order.owner, event).await?.order;
            }
            let order = after.unwrap_or(order);
            let of_it = not_readable(&order, now).into_iter();
            done.not_readable.extend(of_it.map(|(reference, id)| (reference.to_owned(), id.map(str::to_owned))));
        }
        Ok(done)
    }

    /// Delivers the events that the shop has not received. One that it refuses is alarmed, and comes again. Returns how
    /// many it has not received.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn deliver(&self) -> Result<usize, S::Error> {
        let mut refused = 0;
        for event in self.store.events(None).await? {
            refused += usize::from(!self.deliver_one(&event).await?);
        }
        Ok(refused)
    }

    /// Delivers one event. Returns whether it has received it; if not, that is alarmed.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn deliver_one(&self, event: &OpenEvent) -> Result<bool, S::Error> {
        let is_received = match serde_json::from_str(&event.body) {
            Ok(changed) => self.receiver.order_changed(&changed).await.is_ok(),
            Err(_) => false,
        };
        if is_received {
            self.store.close(event).await?;
        } else {
            self.receiver.alarm(&Alarm { what: "not_received", about: event.name.clone() });
        }
        Ok(is_received)
    }

    /// Asks the service about a payment. Returns the event, and the payment as it was read.
    pub(super) async fn ask(
        &self,
        order: &Order,
        reference: &str,
        asked: &Asked,
        for_page: bool,
        hangs: bool,
    ) -> Result<(Event, Result<shop::Reading, Refused>), S::Error> {
        let at = asked_at(order, asked, self.now().await?);
        let outcome = match order.payment(reference).filter(|_| !hangs) {
            Some(payment) => self.requests.ask(payment, asked).await,
            None => Outcome::not_sent(),
        };
        let got = self.take(&outcome).await?;
        let (reference, asked) = (reference.to_owned(), asked.clone());
        Ok((Event::Reading(Reading { reference, asked, at, for_page, got }), outcome.reading))
    }

    /// What a call brought, after the service's time was noted, and its wish to be left alone.
    pub(super) async fn take(&self, outcome: &Outcome) -> Result<Got, S::Error> {
        match &outcome.got {
            Got::Payment(seen) => {
                if let Some(date) = seen.date {
                    self.clock.learn(date, self.store.now().await?);
                }
            }
            Got::Status(429) => {
                let now = self.now().await?;
                let until = hold_until(outcome.retry_after, now);
                self.share(|shared| {
                    let is_longer = is_held(shared.held_until, now) && shared.held_until > until;
                    shared.held_until = if is_longer { shared.held_until } else { until };
                })
                .await?;
            }
            _ => {}
        }
        Ok(outcome.got.clone())
    }

    /// Changes what all servers share.
    async fn share(&self, change: impl Fn(&mut Shared) + Send + Sync) -> Result<(), S::Error> {
        // Each refusal means that another server has changed it; what stays undone does no more than delay.
        for _ in 0..100 {
            let before = self.store.shared().await?;
            let mut after = before.clone();
            change(&mut after);
            if after == before || self.store.replace_shared(&before, &after).await? {
                break;
            }
        }
        Ok(())
    }

    async fn service(&self) -> Result<Service, S::Error> {
        Ok(self.store.shared().await?.service(self.service))
    }
}
