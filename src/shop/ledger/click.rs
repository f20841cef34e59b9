use super::body::Body;
use super::decide::Deciding;
use super::event::{Answer, Asked, Click, Effect, Led, Purchase, Service};
use super::order::{FoundState, Payment, Send, State, Time, Why};
use crate::shop::Owner;
use serde_json::Value;

/// The most payments of an owner that count as open.
const MAX_OPEN: usize = 20;

/// When a payment that was sent is left at a service that cannot be asked for it, in seconds.
const CANNOT_BE_ASKED: Time = 15 * 60;

/// How much shorter than a reference the name of an order is: room for `-1` to `-99999`.
const NUMBER: usize = 6;

impl Deciding<'_> {
    /// What a click does is said by the first state of the table that the order is in.
    pub(super) fn click(&mut self, click: &Click) {
        if !self.belongs_to(click) {
            return self.answer_error(404, "order_missing");
        }
        let costs = match &click.purchase {
            Purchase::Costs(costs) => costs,
            Purchase::OrderEnded => return self.end_order(),
        };
        if self.order.state() == Some(State::Paid) {
            return self.answer_paid();
        }
        self.order.has_ended = false;
        match (self.order.state(), Body::new(costs)) {
            (None | Some(State::Ended), Err(wrong)) => self.refuse_costs(costs, wrong.name),
            (None | Some(State::Ended), Ok(body)) => self.next_payment(click, body),
            (Some(state), body) => {
                if let Ok(body) = &body {
                    self.note_price(state, body);
                }
                match state {
                    State::Sent => self.click_sent(click, body.ok()),
                    State::Open => self.click_open(body.ok()),
                    _ => self.answer_page(0, None),
                }
            }
        }
    }

    /// An order belongs to its first owner, and a guest's to the account in which that visit ends. Another's is
    /// answered like one that does not exist.
    fn belongs_to(&mut self, click: &Click) -> bool {
        let is_guest = matches!(self.order.owner, Owner::Guest(_));
        if is_guest && click.visit.as_ref() == Some(&self.order.owner) {
            self.order.is_claimed = true;
            self.order.owner = click.owner.clone();
        } else if self.order.payments.is_empty() {
            self.order.owner = click.owner.clone();
        }
        self.order.owner == click.owner
    }

    /// An order that the shop has ended is refused in every state but paid.
    fn end_order(&mut self) {
        // What was paid before is not touched by what is sold now.
        if self.order.state() == Some(State::Paid) {
            return self.answer_paid();
        }
        self.order.has_ended = !self.order.payments.is_empty();
        self.answer_error(409, "order_ended");
    }

    /// The sum that the shop named last is kept: it is compared with what pays. A payment that exists keeps its own;
    /// the difference is logged once.
    fn note_price(&mut self, state: State, body: &Body) {
        let sum = body.sum();
        if self.order.asked.as_ref() == Some(&sum) {
            return;
        }
        self.order.asked = Some(sum.clone());
        if let Some(index) = self.order.youngest(state).filter(|_| matches!(state, State::Sent | State::Open)) {
            let payment = &self.order.payments[index];
            if payment.body.sum() != sum {
                let reference = payment.reference.clone();
                self.alarm("price", &reference);
            }
        }
    }

    /// A paid order leads to what was paid.
    pub(super) fn answer_paid(&mut self) {
        let paid = self.order.all_found().find(|(_, found)| match &self.order.paid_by {
            Some(id) => *id == found.id,
            None => matches!(found.state, FoundState::Paid { .. }),
        });
        if let Some((payment, found)) = paid {
            let (reference, id) = (payment.reference.clone(), found.id.clone());
            self.effects.push(Effect::Answer(Answer::Paid { reference, id }));
        }
    }

    /// A payment that was sent is sent again, with the same body. Once no send can be executed any more, it is left at
    /// once if the body is another. Where creations are not repeated it is looked for, and left after 15 minutes where
    /// it cannot be.
    fn click_sent(&mut self, click: &Click, body: Option<Body>) {
        let Some(index) = self.order.youngest(State::Sent) else { return };
        let (service, payment) = (&self.known.service, &self.order.payments[index]);
        let may_be_left = self.may_be_left(index, &payment.sends);
        match body {
            Some(body) if may_be_left && body != payment.body => {
                self.close(index, Why::Left);
                self.next_payment(click, body);
            }
            _ if payment.sends.is_empty() => self.send_first(index),
            _ if service.repeats => self.send(index),
            _ if service.finds => self.ask(index, Asked::Find, true),
            Some(body) if may_be_left && self.cannot_be_asked(index) => {
                self.close(index, Why::Left);
                self.next_payment(click, body);
            }
            _ => self.answer_error(503, "unavailable"),
        }
    }

    /// No payment is left while one of these sends may be executed, by a wrong clock, or after a restore, when somebody
    /// may have its address.
    pub(super) fn may_be_left(&self, index: usize, sends: &[Send]) -> bool {
        let is_sent = self.order.payments[index].state() == State::Sent;
        is_sent
            && !Payment::may_be_executed(sends, self.now)
            && !self.clock_is_wrong()
            && !self.known.service.is_restoring
    }

    /// Whether it was sent 15 minutes ago to a service that does not find payments.
    pub(super) fn cannot_be_asked(&self, index: usize) -> bool {
        let first = self.order.payments[index].sends.first();
        !self.known.service.finds && first.is_some_and(|send| self.now - send.at >= CANNOT_BE_ASKED)
    }

    /// An open payment of another sum is canceled first, where the service can. Otherwise, and of the same sum, it is
    /// asked for its address.
    fn click_open(&mut self, body: Option<Body>) {
        let Some(index) = self.order.youngest(State::Open) else { return };
        let payment = &self.order.payments[index];
        let is_other_sum = body.is_some_and(|body| body.sum() != payment.body.sum());
        match payment.first_open() {
            Some(found) if is_other_sum && self.known.service.cancels => {
                let id = found.id.clone();
                self.ask(index, Asked::Cancel(id), true);
            }
            _ => self.ask_for_address(index),
        }
    }

    /// The creation is repeated; where it is not, or the service made two of it, the first that may be paid is read.
    pub(super) fn ask_for_address(&mut self, index: usize) {
        let payment = &self.order.payments[index];
        match payment.first_open() {
            Some(found) if payment.found.len() > 1 || !self.known.service.repeats => {
                let id = found.id.clone();
                self.ask(index, Asked::Read(id), true);
            }
            _ => self.send(index),
        }
    }

    /// An open payment leads to its address: that which has just come, or the one that was stored because no repeat and
    /// no reading gives it. Of two that the service made, the first that may be paid.
    pub(super) fn lead(&mut self, index: usize, address: Option<(&str, &str)>) {
        let payment = &self.order.payments[index];
        // It may have been left before its reply came: another payment of the order is open.
        let first = payment.first_open().filter(|_| payment.state() == State::Open);
        let Some(found) = first else { return self.effects.push(Effect::ClickAgain) };
        let address = match (address, &found.sealed) {
            (Some((id, plain)), _) if id == found.id => Led::Plain(plain.to_owned()),
            (_, Some(sealed)) => Led::Sealed(sealed.clone()),
            _ => return self.answer_error(503, "unavailable"),
        };
        let (reference, id) = (payment.reference.clone(), found.id.clone());
        self.effects.push(Effect::Answer(Answer::Lead { reference, id, address }));
    }

    /// The next payment has what the order costs now, and the first free of the order's references. It is one of the
    /// owner's twenty, unless the order was a guest's that became theirs.
    fn next_payment(&mut self, click: &Click, body: Body) {
        let most = self.known.service.longest_reference.saturating_sub(NUMBER);
        if self.order.name.is_empty() || self.order.name.chars().count() > most {
            return self.refuse_purchase("name");
        }
        if self.known.open >= MAX_OPEN && !self.order.is_claimed {
            return self.answer_error(409, "too_many_open_payments");
        }
        self.order.asked = Some(body.sum());
        let reference = self.order.free_references(&self.known.taken).next().unwrap_or_default();
        let payment = Payment::new(reference, self.now, body, &click.nonce, &click.mark);
        self.order.payments.push(Payment { quote: click.quote, ..payment });
        self.send_first(self.order.payments.len() - 1);
    }

    /// After a restore a new reference may be that of a payment which these rows have lost: it is looked for before it
    /// is sent.
    pub(super) fn send_first(&mut self, index: usize) {
        match self.known.service {
            Service { is_restoring: true, finds: true, .. } => self.ask(index, Asked::Find, true),
            _ => self.send(index),
        }
    }

    /// Each send is stored with the time until which it may be executed, before it is sent.
    pub(super) fn send(&mut self, index: usize) {
        let by_wrong_clock = self.clock_is_wrong();
        let payment = &mut self.order.payments[index];
        let until = self.now + self.known.service.call;
        payment.sends.push(Send { at: self.now, until, by_wrong_clock, results: Vec::new() });
        let (reference, send) = (payment.reference.clone(), payment.sends.len() - 1);
        self.effects.push(Effect::Send { reference, send, may_retry: self.known.service.repeats });
    }

    /// What the shop says of an order is checked whole before anything is stored: no service would take it.
    fn refuse_purchase(&mut self, member: &str) {
        self.answer_error(500, "internal_error");
        self.alarm("purchase", member);
    }

    /// A customer may have mistyped where they are reached.
    fn refuse_costs(&mut self, costs: &Value, member: &str) {
        match member {
            "email" | "phone" if costs.get(member).is_some_and(Value::is_string) => {
                self.answer_error(422, "parameter_invalid");
            }
            _ => self.refuse_purchase(member),
        }
    }
}
