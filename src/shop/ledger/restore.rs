//! A restore from a copy: the rows do not know what happened since the copy was written, and the service does.

use super::event::{Adopt, Asked, Event, Got};
use super::order::{FoundState, Order, Payment, State, Time};
use super::outcome::{Receiver, Requests};
use super::run::Ledger;
use super::shared::Shared;
use super::store::Store;
use crate::shop::Owner;

/// How many references that the service does not have are looked for after the last that it has.
pub(super) const GAP: usize = 3;

impl Order {
    /// Whether it was paid by then: it has no later payment.
    fn was_paid_by(&self, copied_at: Time) -> bool {
        self.all_found().any(|(_, found)| matches!(found.state, FoundState::Paid { at } if at <= copied_at))
    }

    /// Whether the service has answered a reading after a restore. A payment that was there does not vanish: with
    /// another merchant's key it seems so.
    fn is_answered(&self, asked: &Asked, got: &Got) -> bool {
        let was_missing = |id: &String| self.all_found().any(|(_, found)| found.id == *id && found.is_missing);
        match asked {
            Asked::Read(id) if *got == Got::Status(404) => was_missing(id),
            _ => is_answer(got),
        }
    }

    /// Whether something was sent for it and got no reply that says what became of it.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.payments.iter().any(|payment| payment.state() == State::Sent)
    }

    /// The readings after a restore: of each of the service's payments to which something may have happened, and of
    /// what was sent.
    pub(super) fn to_restore(&self, finds: bool) -> Vec<(String, Asked)> {
        let sought = |payment: &Payment| finds && payment.found.is_empty() && payment.state() == State::Sent;
        let found = self.all_found().filter(|(_, found)| !found.is_over);
        let read = found.map(|(payment, found)| (payment.reference.clone(), Asked::Read(found.id.clone())));
        let find = self.payments.iter().filter(|payment| sought(payment));
        read.chain(find.map(|payment| (payment.reference.clone(), Asked::Find))).collect()
    }
}

impl<S: Store, R: Requests, W: Receiver> Ledger<'_, S, R, W> {
    /// Reads what the service has of an order after a restore, also of references that the rows do not have, and stores
    /// the event by which the shop receives the order once more. False if the service has not answered: then that event
    /// is stored only if `leaves_unread`. `new_names` gives the return nonce and the mark of another payment of this
    /// owner and order.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn restore(
        &self,
        name: &str,
        leaves_unread: bool,
        new_names: impl Fn(&Shared, &Owner) -> Option<(String, String)>,
    ) -> Result<bool, S::Error> {
        let shared = self.store.shared().await?;
        let (epoch, copied_at) = (shared.epoch, shared.restores.last().map_or(0, |restore| restore.copied_at));
        let Some(mut order) = self.store.order(name).await?.filter(|order| order.version < epoch) else {
            return Ok(true);
        };
        let may_lack = self.service.finds && !order.was_paid_by(copied_at);
        let (owner, mut is_read) = (order.owner.clone(), true);
        for (reference, asked) in order.to_restore(self.service.finds) {
            let (event, _) = self.ask(&order, &reference, &asked, false, false).await?;
            match &event {
                Event::Reading(reading) if order.is_answered(&asked, &reading.got) => {
                    order = self.handle_quietly(name, &owner, event).await?.order.unwrap_or(order);
                }
                _ => is_read = false,
            }
        }
        // A reference that the service refused is not there, and the next may be.
        let mut missing = 0;
        while is_read && may_lack && missing < GAP {
            let now = self.now().await?;
            let taken = self.store.load(name, &owner, now).await?.taken;
            let next = order.free_references(&taken).nth(missing).zip(order.payments.last());
            let (Some((reference, last)), Some((nonce, mark))) = (next, new_names(&shared, &owner)) else {
                return Ok(false);
            };
            let next = Payment::new(reference.clone(), now, last.body.clone(), &nonce, &mark);
            let outcome = self.requests.ask(&next, &Asked::Find).await;
            match self.take(&outcome).await? {
                Got::Payment(seen) => {
                    let payments = order.payments.len();
                    let adopt = Event::Adopt(Adopt { reference, nonce, mark, at: now, seen });
                    order = self.handle_quietly(name, &owner, adopt).await?.order.unwrap_or(order);
                    missing += usize::from(order.payments.len() == payments);
                }
                got => {
                    is_read = is_answer(&got);
                    missing += 1;
                }
            }
        }
        if is_read || leaves_unread {
            self.handle_quietly(name, &owner, Event::Restored { epoch }).await?;
        }
        Ok(is_read)
    }
}

/// Whether the service has answered: with a payment, or that it has none. Another key may read it, or another time.
fn is_answer(got: &Got) -> bool {
    match got {
        Got::Payment(_) => true,
        Got::Status(status) => (400..500).contains(status) && !matches!(status, 401 | 403 | 408 | 429),
        Got::Lost => false,
    }
}
