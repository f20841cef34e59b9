//! Random histories of one order: clicks on two servers, kills, prices, and a service that loses, repeats, doubles, refuses and approves
//! late. `GUICHET_HISTORIES` sets how many.

use super::*;
use crate::shop::Owner;
use crate::values::{Amount, IntentStatus};
use proptest::prelude::*;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone)]
struct Intent {
    id: String,
    reference: String,
    amount: Amount,
    status: &'static str,
    created_at: Time,
    failed_at: Option<Time>,
}

/// One order, its store, the service, and what two servers have begun and not done yet.
struct World {
    now: Time,
    order: Order,
    known: Known,
    intents: Vec<Intent>,
    effects: Vec<Effect>,
    events: Vec<Event>,
    /// Decided by a server, and not committed yet.
    uncommitted: Vec<(i64, Decision)>,
    led: BTreeSet<String>,
    taken: BTreeSet<String>,
    delivered: Vec<Changed>,
    named: BTreeSet<String>,
    answers: Vec<Answer>,
    price: u64,
    doubles: bool,
}

impl World {
    fn new(finds: bool, repeats: bool, cancels: bool, doubles: bool) -> Self {
        let service = Service { finds, repeats, cancels, ..Service::default() };
        Self {
            now: 1_000_000,
            order: Order::new("ORDER-17", Owner::Customer("awa".to_owned()), 1000),
            known: Known { service, ..Known::default() },
            intents: Vec::new(),
            effects: Vec::new(),
            events: Vec::new(),
            uncommitted: Vec::new(),
            led: BTreeSet::new(),
            taken: BTreeSet::new(),
            delivered: Vec::new(),
            named: BTreeSet::new(),
            answers: Vec::new(),
            price: 45_000,
            doubles,
        }
    }

    fn click(&self) -> Event {
        let body = json!({"firstname": "Awa", "lastname": "Ngono", "email": "awa@example.com", "description": "Shoes",
            "amount": self.price.to_string()});
        let owner = Owner::Customer("awa".to_owned());
        let purchase = Purchase::Costs(body);
        Event::Click(Click { owner, visit: None, purchase, nonce: String::new(), mark: String::new(), quote: None })
    }

    fn decide(&mut self, event: &Event) {
        let decision = decide(&self.order, &self.known, event, self.now);
        self.uncommitted.push((self.order.version, decision));
    }

    /// Commits what a server has decided, if no other one has changed the order since.
    fn commit(&mut self, place: usize) {
        if self.uncommitted.is_empty() {
            return;
        }
        let (version, decision) = self.uncommitted.remove(place % self.uncommitted.len());
        if version == self.order.version {
            self.order = decision.order;
            self.effects.extend(decision.effects);
        }
    }

    fn handle(&mut self, event: &Event) {
        self.decide(event);
        self.commit(self.uncommitted.len() - 1);
    }

    /// Does one effect. `fault`: 0 none, 1 the request is lost, 2 the reply is lost, above that a status.
    fn execute(&mut self, place: usize, fault: u8) {
        if self.effects.is_empty() {
            return;
        }
        let lost = |fault: u8| match fault {
            0 => None,
            1 | 2 => Some(Got::Lost),
            3 => Some(Got::Status(500)),
            4 => Some(Got::Status(409)),
            5 => Some(Got::Status(404)),
            _ => Some(Got::Status(422)),
        };
        match self.effects.remove(place % self.effects.len()) {
            Effect::Send { reference, send, .. } => {
                let index =
                    self.order.payments.iter().position(|payment| payment.reference == reference).expect("stored");
                let got = if fault == 0 || fault == 2 { self.create(index) } else { Got::Lost };
                let got = lost(fault).unwrap_or(got);
                self.events.push(Event::Reply(Reply { reference, send, earlier: Vec::new(), got }));
            }
            Effect::Ask { reference, asked, for_page } => {
                let place = self.intents.iter().position(|intent| match &asked {
                    Asked::Read(id) | Asked::Cancel(id) => intent.id == *id,
                    Asked::Find => intent.reference == reference,
                });
                if let (Asked::Cancel(_), Some(place), 0 | 2) = (&asked, place, fault)
                    && self.intents[place].status == "requires_action"
                {
                    self.intents[place].status = "canceled";
                }
                // A status above a 500 is one, too: this service forgets no payment, and refuses to give none.
                let got = place.map_or(Got::Status(404), |place| self.seen(place));
                let got = lost(fault.min(3)).unwrap_or(got);
                self.events.push(Event::Reading(Reading { reference, asked, at: self.now, for_page, got }));
            }
            Effect::Answer(answer) => {
                if let Answer::Lead { id, .. } = &answer {
                    assert!(self.order.all_found().any(|(_, found)| found.id == *id), "an address that is not stored");
                    self.led.insert(id.clone());
                }
                self.answers.push(answer);
            }
            Effect::ClickAgain => self.events.push(self.click()),
            Effect::OrderChanged(changed) => self.delivered.push(changed),
            Effect::Alarm(alarm) => {
                self.named.insert(alarm.about);
            }
            Effect::StopRepeating => self.known.service.repeats = false,
        }
    }

    fn create(&mut self, index: usize) -> Got {
        let payment = &self.order.payments[index];
        let place = self.intents.iter().position(|intent| intent.reference == payment.reference);
        let place = place.filter(|_| !self.doubles).unwrap_or_else(|| {
            self.intents.push(Intent {
                id: format!("pi_{}", self.intents.len() + 1),
                reference: payment.reference.clone(),
                amount: payment.body.sum().amount,
                status: "requires_action",
                created_at: self.now,
                failed_at: None,
            });
            self.intents.len() - 1
        });
        self.seen(place)
    }

    fn seen(&self, place: usize) -> Got {
        let intent = &self.intents[place];
        let address = Address { plain: intent.id.clone(), sealed: intent.id.clone() };
        Got::Payment(Box::new(Seen {
            id: intent.id.clone(),
            payment_ref: None,
            reference: Some(intent.reference.clone()),
            amount: Some(intent.amount),
            currency: Some("XAF".to_owned()),
            status: IntentStatus::from(intent.status.to_owned()),
            created_at: Some(intent.created_at),
            expires_at: None,
            date: Some(self.now),
            mark: None,
            email: None,
            payable: None,
            duplicates: Vec::new(),
            approvable_until: None,
            address: Some(address),
        }))
    }

    /// The customer pays, or a payment ends. A failed one may be approved within a day: what succeeds later is outside.
    fn settle(&mut self, place: usize, status: &'static str) {
        let (led, now) = (&self.led, self.now);
        let mut payable: Vec<&mut Intent> = self.intents.iter_mut().filter(|intent| led.contains(&intent.id)).collect();
        if payable.is_empty() {
            return;
        }
        let place = place % payable.len();
        let intent = &mut payable[place];
        let is_final = match intent.status {
            "succeeded" | "canceled" => true,
            "failed" => status != "succeeded" || intent.failed_at.is_some_and(|at| now - at >= DAY),
            _ => false,
        };
        if is_final {
            return;
        }
        intent.status = status;
        match status {
            "succeeded" => {
                self.taken.insert(intent.id.clone());
            }
            "failed" => intent.failed_at = Some(now),
            _ => {}
        }
    }

    fn round(&mut self) {
        for payment in &self.order.payments {
            for asked in to_read(payment, &self.known.service, self.now) {
                self.effects.push(Effect::Ask { reference: payment.reference.clone(), asked, for_page: false });
            }
        }
    }

    fn step(&mut self, (what, place, fault): (u8, u8, u8)) {
        let place = usize::from(place);
        match what % 12 {
            0 | 1 => self.decide(&self.click()),
            2 => self.commit(place),
            3..=5 => {
                self.commit(place);
                self.execute(place, if fault < 128 { 0 } else { fault % 7 });
            }
            6 | 7 if !self.events.is_empty() => {
                let event = self.events.remove(place % self.events.len());
                self.decide(&event);
            }
            8 => self
                .settle(place, ["succeeded", "succeeded", "failed", "expired", "processing"][usize::from(fault) % 5]),
            9 => self.now += [1, 61, 1000, DAY][usize::from(fault) % 4],
            // A server is killed.
            10 if fault < 60 => {
                self.effects.retain(|effect| matches!(effect, Effect::OrderChanged(_)));
                self.events.clear();
                self.uncommitted.clear();
            }
            10 => self.price = if fault % 2 == 0 { 45_000 } else { 50_000 },
            _ => self.round(),
        }
    }

    fn drain(&mut self) {
        for _ in 0..1000 {
            if let Some(event) = self.events.pop() {
                self.handle(&event);
            } else if self.effects.is_empty() {
                return;
            } else {
                self.execute(0, 0);
            }
        }
        panic!("it never ends: {:?}", self.order);
    }

    /// From now on the service replies to everything: 40 days of rounds.
    fn end(&mut self) {
        self.uncommitted.clear();
        self.drain();
        for hour in 0..40 * 24 {
            self.now += if hour < 48 { 3600 } else { 6 * 3600 };
            self.round();
            self.drain();
        }
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        let due: BTreeSet<String> = self.order.refunds_due().into_iter().map(|due| due.key.id).collect();
        let named: BTreeSet<&str> =
            not_readable(&self.order, self.now).into_iter().map(|(reference, _)| reference).collect();
        for id in &self.taken {
            let reference = &self.intents.iter().find(|intent| intent.id == *id).expect("an intent").reference;
            let is_named = named.contains(reference.as_str()) || self.named.contains(reference);
            prop_assert!(
                self.order.paid_by.as_ref() == Some(id) || due.contains(id) || is_named,
                "{id} is lost: {:?}",
                self.order
            );
        }
        let mut received: BTreeMap<i64, &Changed> = BTreeMap::new();
        received.extend(self.delivered.iter().rev().map(|changed| (changed.version, changed)));
        if let Some((version, last)) = received.last_key_value() {
            let state = Changed { version: *version, ..self.order.changed() };
            prop_assert_eq!(&Changed { asked: None, ..(*last).clone() }, &Changed { asked: None, ..state });
        }
        self.answers.clear();
        for _ in 0..5 {
            self.handle(&self.click());
            self.drain();
            self.now += 1000;
        }
        let is_blocked = self.answers.iter().all(|answer| matches!(answer, Answer::Error { .. }));
        prop_assert!(!is_blocked, "blocked: {:?} {:?}", self.answers, self.order);
        Ok(())
    }
}

fn histories() -> u32 {
    std::env::var("GUICHET_HISTORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: histories(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_money_that_is_taken_is_accounted_for(
        service in any::<[bool; 4]>(),
        steps in prop::collection::vec(any::<(u8, u8, u8)>(), 1..120),
    ) {
        let [finds, repeats, cancels, doubles] = service;
        let mut world = World::new(finds, repeats, cancels, doubles);
        for step in steps {
            world.step(step);
        }
        world.end();
        world.check()?;
    }
}
