//! Random histories of one order: clicks on two servers, kills, wrong clocks, prices, and a service that loses,
//! repeats, doubles, refuses, forgets, approves late and takes back its final word. `GUICHET_HISTORIES` sets how many.
//! The seed of a failure is kept beside this file.

use super::due::asked_at;
use super::restore::GAP;
use super::*;
use crate::shop::Owner;
use crate::values::{Amount, IntentStatus};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

const MARK_OF_ORDER: &str = "m";

/// What this service does and others do not.
#[derive(Clone, Debug)]
struct Manners {
    finds: bool,
    repeats: bool,
    cancels: bool,
    doubles: bool,
    /// Its final words are not final.
    reverses: bool,
    /// There are times in which it says 404 to every read.
    forgets: bool,
    /// It says when a payment expires: after an hour.
    expires: bool,
    /// It echoes the mark.
    marks: bool,
    sum: Sum,
}

/// The sum that the service says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Sum {
    Sent,
    Another,
    /// None.
    Omitted,
}

const PLAIN: Manners = Manners {
    finds: false,
    repeats: false,
    cancels: false,
    doubles: false,
    reverses: false,
    forgets: false,
    expires: false,
    marks: false,
    sum: Sum::Sent,
};

fn manners() -> impl Strategy<Value = Manners> {
    let sum = prop_oneof![8 => Just(Sum::Sent), 1 => Just(Sum::Another), 1 => Just(Sum::Omitted)];
    (any::<[bool; 8]>(), sum).prop_map(
        |([finds, repeats, cancels, doubles, reverses, forgets, expires, marks], sum)| Manners {
            finds,
            repeats,
            cancels,
            doubles,
            reverses,
            forgets,
            expires,
            marks,
            sum,
        },
    )
}

/// One thing that happens. A number says which of several.
#[derive(Clone, Debug)]
enum Step {
    Click,
    /// The shop says at a click that it no longer sells the order.
    ClickOfEnded,
    Commit(usize),
    Execute(usize, Fault),
    /// A server decides about a reply or a reading.
    Hear(usize),
    Say(usize, &'static str),
    PayTwice(usize),
    Wait(Time),
    /// The servers' clock is ahead by so much, and the service's is right.
    SetClock(Time),
    /// The other way round.
    SetServiceClock(Time),
    SetPrice(u64),
    Forget,
    Round,
    /// Everything that has begun is done, and a round.
    Rest,
    Kill,
    Copy,
    /// Both servers are killed, and the ledger is restored from the last copy.
    Restore,
    /// A person closes the restore.
    Close,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fault {
    None,
    LostRequest,
    LostReply,
    /// The reply is about a payment that was not asked for.
    AnotherPayment,
    Status(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let place = 0..6_usize;
    let fault = prop_oneof![
        4 => Just(Fault::None),
        1 => Just(Fault::LostRequest),
        1 => Just(Fault::LostReply),
        1 => Just(Fault::AnotherPayment),
        1 => prop::sample::select(vec![404, 409, 422, 500]).prop_map(Fault::Status),
    ];
    let word = prop_oneof![
        3 => Just("succeeded"),
        3 => Just("failed"),
        4 => prop::sample::select(vec!["canceled", "processing", "on_hold", "requires_action"]),
    ];
    prop_oneof![
        12 => Just(Step::Click),
        1 => Just(Step::ClickOfEnded),
        8 => place.clone().prop_map(Step::Commit),
        20 => (place.clone(), fault).prop_map(|(place, fault)| Step::Execute(place, fault)),
        12 => place.clone().prop_map(Step::Hear),
        16 => (place.clone(), word).prop_map(|(place, word)| Step::Say(place, word)),
        1 => place.prop_map(Step::PayTwice),
        8 => prop::sample::select(vec![1, 61, 1000, DAY / 3, DAY, 5 * DAY]).prop_map(Step::Wait),
        4 => ahead().prop_map(Step::SetClock),
        2 => ahead().prop_map(Step::SetServiceClock),
        2 => prop::sample::select(vec![45_000, 50_000]).prop_map(Step::SetPrice),
        1 => Just(Step::Forget),
        6 => Just(Step::Round),
        8 => Just(Step::Rest),
        2 => Just(Step::Kill),
        2 => Just(Step::Copy),
        1 => Just(Step::Restore),
        1 => Just(Step::Close),
    ]
}

fn ahead() -> impl Strategy<Value = Time> {
    prop::sample::select(vec![0, 400, -400, 2 * DAY, -2 * DAY])
}

/// A payment as it is at the service.
#[derive(Clone)]
struct Intent {
    id: String,
    reference: String,
    amount: Amount,
    status: &'static str,
    created_at: Time,
    /// The same by the service's clock.
    stated_at: Time,
    /// When it first had a final status.
    ended_at: Option<Time>,
    is_taken: bool,
    is_taken_twice: bool,
}

/// One order, its store, the service, and what two servers have begun and not done yet.
struct World {
    manners: Manners,
    now: Time,
    /// How far the servers' clock is ahead.
    ahead: Time,
    /// How far the service's is.
    service_ahead: Time,
    /// Whether it ever was: a payment may seem older than its first send, and a person decides.
    has_strayed: bool,
    is_forgetful: bool,
    order: Order,
    known: Known,
    intents: Vec<Intent>,
    effects: Vec<Effect>,
    events: Vec<Event>,
    /// Decided by a server, and not committed yet.
    uncommitted: Vec<(i64, Event, Decision)>,
    /// Whose address a customer has.
    led: BTreeSet<String>,
    /// What has ended by the order's rows.
    ended: BTreeSet<String>,
    /// What the servers have heard has succeeded.
    heard: BTreeSet<String>,
    /// What the order cost last before it was paid; none if it had ended.
    sold: Option<u64>,
    delivered: Vec<Changed>,
    answers: Vec<Answer>,
    price: u64,
    copy: Option<Copied>,
    /// Where the versions of the orders begin.
    epoch: i64,
    /// How many payments the service had at the last restore: what the rows do not know is among them.
    restored: Option<usize>,
    /// Whether a copy did not have the order: then only a click brings what the service has of it.
    was_missing: bool,
}

/// What a copy of the ledger has, and what was known when it was written.
#[derive(Clone)]
struct Copied {
    order: Order,
    repeats: bool,
    ended: BTreeSet<String>,
    heard: BTreeSet<String>,
    sold: Option<u64>,
}

impl World {
    fn new(manners: Manners) -> Self {
        let Manners { finds, repeats, cancels, .. } = manners;
        let service = Service { finds, repeats, cancels, ..Service::default() };
        Self {
            manners,
            now: 1_000_000,
            ahead: 0,
            service_ahead: 0,
            has_strayed: false,
            is_forgetful: false,
            order: Order::new("ORDER-17", Owner::Customer("awa".to_owned()), 1000),
            known: Known { service, ..Known::default() },
            intents: Vec::new(),
            effects: Vec::new(),
            events: Vec::new(),
            uncommitted: Vec::new(),
            led: BTreeSet::new(),
            ended: BTreeSet::new(),
            heard: BTreeSet::new(),
            sold: None,
            delivered: Vec::new(),
            answers: Vec::new(),
            price: 45_000,
            copy: None,
            epoch: 1000,
            restored: None,
            was_missing: false,
        }
    }

    fn copy(&mut self) {
        let (order, repeats) = (self.order.clone(), self.known.service.repeats);
        let (ended, heard, sold) = (self.ended.clone(), self.heard.clone(), self.sold);
        self.copy = Some(Copied { order, repeats, ended, heard, sold });
    }

    /// A person does not close a restore while something was sent and got no reply.
    fn close(&mut self) {
        self.known.service.is_restoring &= self.order.is_sent();
    }

    /// What [`Ledger::restore`] does, without a fault: those are tried over sockets. The rows are as they were; each is
    /// read, and what they lack is looked for, before the order comes to the shop once more.
    fn restore(&mut self) {
        let Some(copy) = self.copy.clone() else { return };
        self.step(&Step::Kill);
        (self.order, self.known.service.repeats) = (copy.order, copy.repeats);
        (self.ended, self.heard, self.sold) = (copy.ended, copy.heard, copy.sold);
        (self.known.service.is_restoring, self.restored) = (true, Some(self.intents.len()));
        self.was_missing |= self.order.payments.is_empty();
        self.epoch += 1_000_000_000;
        let is_forgetful = std::mem::replace(&mut self.is_forgetful, false);
        let may_lack = self.manners.finds && self.order.state() != Some(State::Paid);
        for (reference, asked) in self.order.to_restore(self.manners.finds) {
            self.effects.push(Effect::Ask { reference, asked, for_page: false });
            self.drain();
        }
        let mut missing = 0;
        while may_lack && !self.order.payments.is_empty() && missing < GAP {
            let taken = BTreeSet::new();
            let reference = self.order.free_references(&taken).nth(missing).expect("a reference");
            let place = self.intents.iter().position(|intent| intent.reference == reference);
            let Some(Got::Payment(seen)) = place.map(|place| self.seen(place)) else {
                missing += 1;
                continue;
            };
            let (nonce, mark) = (String::new(), MARK_OF_ORDER.to_owned());
            self.handle(Event::Adopt(Adopt { reference, nonce, mark, at: self.clock(), seen }));
            self.drain();
        }
        if !self.order.payments.is_empty() {
            self.handle(Event::Restored { epoch: self.epoch });
        }
        self.order.version = self.order.version.max(self.epoch);
        self.is_forgetful = is_forgetful;
        self.drain();
    }

    fn click(&self) -> Event {
        let body = json!({"firstname": "Awa", "lastname": "Ngono", "email": "awa@example.com", "description": "Shoes",
            "amount": self.price.to_string()});
        Self::click_for(Purchase::Costs(body))
    }

    fn click_for(purchase: Purchase) -> Event {
        let owner = Owner::Customer("awa".to_owned());
        let mark = MARK_OF_ORDER.to_owned();
        Event::Click(Click { owner, visit: None, purchase, nonce: String::new(), mark, quote: None })
    }

    fn clock(&self) -> Time {
        self.now + self.ahead
    }

    fn decide(&mut self, event: Event) {
        // What brings a `Date` says the service's time.
        let date = payment_in(&event).and_then(|seen| seen.date);
        self.known.service_now = date.or(Some(self.now + self.service_ahead));
        let decision = decide(&self.order, &self.known, &event, self.clock());
        self.uncommitted.push((self.order.version, event, decision));
    }

    /// Commits what a server has decided. If another one has changed the order since, it decides anew.
    fn commit(&mut self, place: usize) {
        if self.uncommitted.is_empty() {
            return;
        }
        let (version, event, decision) = self.uncommitted.remove(place % self.uncommitted.len());
        if version != self.order.version {
            return self.events.push(event);
        }
        let succeeded = payment_in(&event).filter(|seen| seen.status == IntentStatus::Succeeded);
        self.heard.extend(succeeded.map(|seen| seen.id.clone()));
        let before = std::mem::replace(&mut self.order, decision.order);
        if let (Event::Click(click), None, false) = (&event, &before.paid_by, self.order.payments.is_empty()) {
            self.sold = match &click.purchase {
                Purchase::Costs(costs) => costs["amount"].as_str().and_then(|amount| amount.parse().ok()),
                Purchase::OrderEnded => None,
            };
        }
        assert!(before.paid_by.is_none() || self.order.paid_by == before.paid_by, "what was paid is taken back");
        let has_ended = |found: &Found| matches!(found.state, FoundState::Ended { .. });
        let ended = self.order.all_found().filter(|(payment, found)| has_ended(found) || payment.closed.is_some());
        self.ended.extend(ended.map(|(_, found)| found.id.clone()));
        for effect in &decision.effects {
            if let Effect::Answer(Answer::Lead { id, .. }) = effect {
                assert!(self.order.all_found().any(|(_, found)| found.id == *id), "an address that is not stored");
                assert!(!self.ended.contains(id), "a click leads to what has ended: {id} {:?}", self.order);
                self.check_lead(id);
                assert!(
                    !self.order.has_ended,
                    "a click leads to a payment of what is no longer sold: {:?}",
                    self.order
                );
                assert!(self.order.paid_by.is_none(), "a click leads to a payment of a paid order: {:?}", self.order);
            }
        }
        self.effects.extend(decision.effects);
    }

    /// Until a restore is closed nothing new is paid while a service that finds has a payment that the rows do not
    /// know: unless it doubles payments, or the copy did not have the order and a reference was refused meanwhile,
    /// which leaves a gap.
    fn check_lead(&self, id: &str) {
        let is_new = |lost: usize| self.intents[lost..].iter().any(|intent| intent.id == id);
        let may_be_new =
            self.manners.doubles || self.was_missing || !self.known.service.is_restoring || !self.manners.finds;
        if let Some(lost) = self.restored.filter(|lost| !may_be_new && is_new(*lost)) {
            let is_known = |intent: &Intent| self.order.all_found().any(|(_, found)| found.id == intent.id);
            let mut payable = self.intents[..lost].iter().filter(|intent| self.led.contains(&intent.id));
            assert!(payable.all(is_known), "a customer may pay once more: {:?}", self.order);
        }
    }

    fn handle(&mut self, event: Event) {
        self.decide(event);
        self.commit(self.uncommitted.len() - 1);
    }

    fn execute(&mut self, place: usize, fault: Fault) {
        if self.effects.is_empty() {
            return;
        }
        let given = |got: Got, is_by_id: bool| match (fault, got) {
            (Fault::None, got) => got,
            (Fault::LostRequest | Fault::LostReply, _) => Got::Lost,
            (Fault::AnotherPayment, Got::Payment(seen)) => Got::Payment(Box::new(another(*seen, is_by_id))),
            (Fault::AnotherPayment, got) => got,
            (Fault::Status(status), _) => Got::Status(status),
        };
        let is_executed = matches!(fault, Fault::None | Fault::LostReply | Fault::AnotherPayment);
        match self.effects.remove(place % self.effects.len()) {
            Effect::Send { reference, send, .. } => {
                let index =
                    self.order.payments.iter().position(|payment| payment.reference == reference).expect("stored");
                let got = given(if is_executed { self.create(index) } else { Got::Lost }, false);
                self.events.push(Event::Reply(Reply { reference, send, earlier: Vec::new(), got }));
            }
            Effect::Ask { reference, asked, for_page } => {
                let place = self.intents.iter().position(|intent| match &asked {
                    Asked::Read(id) | Asked::Cancel(id) => intent.id == *id,
                    Asked::Find => intent.reference == reference,
                });
                if let (Asked::Cancel(_), Some(place), true) = (&asked, place, is_executed)
                    && self.intents[place].status == "requires_action"
                {
                    self.say(place, "canceled");
                }
                let got = match place.filter(|_| !self.is_forgetful).map_or(Got::Status(404), |place| self.seen(place))
                {
                    // Only what is forgotten does not exist.
                    got if fault == Fault::Status(404) => got,
                    got => given(got, asked != Asked::Find),
                };
                let at = asked_at(&self.order, &asked, self.clock());
                self.events.push(Event::Reading(Reading { reference, asked, at, for_page, got }));
            }
            Effect::Answer(answer) => {
                if let Answer::Lead { id, .. } = &answer {
                    self.led.insert(id.clone());
                }
                self.answers.push(answer);
            }
            Effect::ClickAgain => self.events.push(self.click()),
            Effect::OrderChanged(changed) => self.delivered.push(changed),
            Effect::Alarm(_) => {}
            Effect::StopRepeating => self.known.service.repeats = false,
        }
    }

    fn create(&mut self, index: usize) -> Got {
        let payment = &self.order.payments[index];
        let place = self.intents.iter().position(|intent| intent.reference == payment.reference);
        let place = place.filter(|_| !self.manners.doubles).unwrap_or_else(|| {
            self.intents.push(Intent {
                id: format!("pi_{}", self.intents.len() + 1),
                reference: payment.reference.clone(),
                amount: payment.body.sum().amount,
                status: "requires_action",
                created_at: self.now,
                stated_at: self.now + self.service_ahead,
                ended_at: None,
                is_taken: false,
                is_taken_twice: false,
            });
            self.intents.len() - 1
        });
        self.seen(place)
    }

    fn seen(&self, place: usize) -> Got {
        let intent = &self.intents[place];
        let address = Address { plain: intent.id.clone(), sealed: intent.id.clone() };
        let amount = match self.manners.sum {
            Sum::Sent => Some(intent.amount),
            Sum::Another => Some("1".parse().expect("an amount")),
            Sum::Omitted => None,
        };
        let twice = intent.is_taken_twice.then(|| Duplicate { attempt: "2".to_owned(), amount: None });
        Got::Payment(Box::new(Seen {
            id: intent.id.clone(),
            payment_ref: None,
            reference: Some(intent.reference.clone()),
            amount,
            currency: Some("XAF".to_owned()),
            status: IntentStatus::from(intent.status.to_owned()),
            created_at: Some(intent.stated_at),
            expires_at: self.manners.expires.then_some(intent.stated_at + 3600),
            date: Some(self.now + self.service_ahead),
            mark: self.manners.marks.then(|| MARK_OF_ORDER.to_owned()),
            email: None,
            payable: None,
            method: None,
            duplicates: twice.into_iter().collect(),
            approvable_until: None,
            address: Some(address),
            read_with: None,
        }))
    }

    /// The customer pays, or the service says another word. What has ended may be approved within a day, and what has
    /// not within 29: what succeeds later is outside.
    fn say(&mut self, place: usize, status: &'static str) {
        let intent = &mut self.intents[place];
        let is_final = matches!(intent.status, "succeeded" | "failed" | "canceled");
        let may_succeed = match intent.ended_at {
            Some(at) => (self.manners.reverses || intent.status == "failed") && self.now - at < DAY,
            None => self.now - intent.created_at < 29 * DAY,
        };
        match status {
            "succeeded" if may_succeed => intent.is_taken = true,
            "succeeded" => return,
            _ if is_final && !self.manners.reverses => return,
            _ => {}
        }
        intent.status = status;
        if matches!(status, "succeeded" | "failed" | "canceled") {
            intent.ended_at = intent.ended_at.or(Some(self.now));
        }
    }

    /// A payment of which a customer has the address.
    fn payable(&self, place: usize) -> Option<usize> {
        let has_address = |place: &usize| self.led.contains(&self.intents[*place].id);
        let payable: Vec<usize> = (0..self.intents.len()).filter(has_address).collect();
        (!payable.is_empty()).then(|| payable[place % payable.len()])
    }

    fn round(&mut self) {
        for payment in &self.order.payments {
            for asked in to_read(payment, &self.known.service, self.clock()) {
                self.effects.push(Effect::Ask { reference: payment.reference.clone(), asked, for_page: false });
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Click => self.decide(self.click()),
            Step::ClickOfEnded => self.decide(Self::click_for(Purchase::OrderEnded)),
            Step::Commit(place) => self.commit(place),
            Step::Execute(place, fault) => {
                self.commit(place);
                self.execute(place, fault);
            }
            Step::Hear(_) if self.events.is_empty() => {}
            Step::Hear(place) => {
                let event = self.events.remove(place % self.events.len());
                self.decide(event);
            }
            Step::Say(place, word) => {
                if let Some(place) = self.payable(place) {
                    self.say(place, word);
                }
            }
            Step::PayTwice(place) => {
                if let Some(place) = self.payable(place).filter(|place| self.intents[*place].status == "succeeded") {
                    self.intents[place].is_taken_twice |= self.intents[place].ended_at == Some(self.now);
                }
            }
            Step::Wait(seconds) => self.now += seconds,
            Step::SetClock(ahead) => (self.ahead, self.service_ahead) = (ahead, 0),
            Step::SetServiceClock(ahead) => {
                (self.ahead, self.service_ahead) = (0, ahead);
                self.has_strayed |= ahead != 0;
            }
            Step::SetPrice(price) => self.price = price,
            Step::Forget => self.is_forgetful = !self.is_forgetful && self.manners.forgets,
            Step::Round => self.round(),
            Step::Rest => {
                self.round();
                self.drain();
            }
            Step::Kill => {
                self.effects.retain(|effect| matches!(effect, Effect::OrderChanged(_)));
                self.events.clear();
                self.uncommitted.clear();
            }
            Step::Copy => self.copy(),
            Step::Restore => self.restore(),
            Step::Close => self.close(),
        }
    }

    fn drain(&mut self) {
        for _ in 0..1000 {
            if let Some(event) = self.events.pop() {
                self.handle(event);
            } else if self.effects.is_empty() {
                return;
            } else {
                self.execute(0, Fault::None);
            }
        }
        panic!("it never ends: {:?}", self.order);
    }

    /// From now on the clocks are right and the service replies to everything: 40 days of rounds.
    fn end(&mut self) {
        self.uncommitted.clear();
        (self.ahead, self.service_ahead, self.is_forgetful) = (0, 0, false);
        self.drain();
        for round in 0..88 {
            self.now += if round < 48 { DAY / 24 } else { DAY };
            self.round();
            self.drain();
        }
    }

    /// All that was taken has paid the order, is a refund due, or is what a person decides about or looks for. What the
    /// service took back before anybody had heard of it and its sum is outside; and after a restore, what the rows do
    /// not know at a service that finds nothing.
    fn check_money(&self) {
        let is_taken = |id: &String| self.intents.iter().any(|intent| intent.id == *id && intent.is_taken);
        let is_paid = self.order.paid_by.as_ref().is_none_or(|id| is_taken(id) && self.manners.sum == Sum::Sent);
        assert!(is_paid, "it is paid by what was not taken, or is another sum: {:?}", self.order);
        let refunds = self.order.refunds_due();
        let due: BTreeSet<RefundKey> = refunds.iter().map(|due| due.key.clone()).collect();
        assert_eq!(due.len(), refunds.len(), "a refund is due twice: {:?}", self.order);
        for RefundDue { key, sum, .. } in &refunds {
            let taken =
                self.intents.iter().find(|intent| intent.id == key.id && intent.is_taken).expect("what was taken");
            let is_owed = match key.attempt {
                None => self.order.paid_by.as_ref() != Some(&key.id),
                Some(_) => taken.is_taken_twice,
            };
            // With another body than it was sent with, its sum is not known.
            let is_its_sum = sum.amount == taken.amount || self.restored.is_some();
            assert!(is_owed && is_its_sum, "{key:?} is no refund: {:?}", self.order);
        }
        let named: BTreeSet<Option<&str>> = not_readable(&self.order, self.now).into_iter().map(|(_, id)| id).collect();
        for intent in self.intents.iter().filter(|intent| intent.is_taken) {
            let id = &intent.id;
            let is_heard = self.heard.contains(id) && self.manners.sum != Sum::Omitted;
            let is_in_rows = self.order.all_found().any(|(_, found)| found.id == *id);
            let may_be_lost =
                self.restored.is_some() && (!self.manners.finds || self.manners.doubles || self.was_missing);
            let is_known = (is_heard || intent.status == "succeeded") && (is_in_rows || !may_be_lost);
            let key = |attempt| RefundKey { id: id.clone(), attempt };
            let has_paid = self.order.paid_by.as_ref() == Some(id) || due.contains(&key(None));
            let may_be_named = self.manners.sum != Sum::Sent || self.has_strayed || self.restored.is_some();
            let is_named = may_be_named && named.contains(&Some(id.as_str()));
            assert!(!is_known || has_paid || is_named, "{id} is lost: {:?}", self.order);
            let is_twice = intent.is_taken_twice && intent.status == "succeeded" && has_paid;
            assert!(!is_twice || due.contains(&key(Some("2".to_owned()))), "{id} was paid twice: {:?}", self.order);
        }
    }

    /// A receiver of events that come doubled and out of order ends with the ledger's state.
    fn check_events(&self) {
        // An order that the copy did not have is begun anew: what the shop has received of it is more than the rows
        // know.
        if self.was_missing {
            return;
        }
        let mut received: BTreeMap<i64, &Changed> = BTreeMap::new();
        received.extend(self.delivered.iter().rev().map(|changed| (changed.version, changed)));
        let state = Changed { asked: None, version: 0, ..self.order.changed() };
        let (state_before, refunds_before) = (OrderState::Unpaid, Vec::new());
        let (received, refunds) = received
            .last_key_value()
            .map_or((state_before, &refunds_before), |(_, last)| (last.state, &last.refunds_due));
        assert_eq!((received, refunds), (state.state, &state.refunds_due), "{:?}", self.order);
        let paid = self.intents.iter().find(|intent| Some(&intent.id) == self.order.paid_by.as_ref());
        let expected = match (paid, self.sold) {
            (None, _) => OrderState::Unpaid,
            (Some(_), None) => OrderState::PaidAfterEnd,
            (Some(paid), Some(price)) if paid.amount.to_string() != price.to_string() => OrderState::PaidOtherSum,
            (Some(_), Some(_)) => OrderState::Paid,
        };
        assert_eq!(received, expected, "{:?} at {:?}", self.order, self.sold);
    }

    /// A paid order says so. Another leads to what may be paid, unless a person decides.
    fn check_clicks(&mut self) {
        self.answers.clear();
        let is_answered = (0..5).any(|_| {
            self.handle(self.click());
            self.drain();
            self.now += 1000;
            self.answers.last().is_some_and(|answer| self.is_right(answer))
        });
        assert!(is_answered, "blocked: {:?} {:?}", self.answers, self.order);
    }

    fn is_right(&self, answer: &Answer) -> bool {
        match answer {
            Answer::Paid { id, .. } => self.order.paid_by.as_ref() == Some(id),
            Answer::Lead { id, .. } => {
                // What comes after a restore has not been waited for yet.
                let has_no_sum = self.manners.sum == Sum::Omitted;
                let is_new =
                    |status| self.restored.is_some() && (has_no_sum || matches!(status, "processing" | "on_hold"));
                let may_be_paid = |status| status == "requires_action" || is_new(status);
                let is_payable = |intent: &Intent| intent.id == *id && may_be_paid(intent.status);
                self.order.paid_by.is_none() && self.intents.iter().any(is_payable)
            }
            Answer::Error { .. } => {
                let may_differ = self.manners.sum == Sum::Another || self.has_strayed || self.restored.is_some();
                let waits_for_a_person = self.known.service.is_restoring && self.order.is_sent();
                may_differ && self.order.state() == Some(State::Different) || waits_for_a_person
            }
        }
    }
}

/// A payment that was not asked for: of another id, or of another reference.
fn another(seen: Seen, is_by_id: bool) -> Seen {
    let reference = if is_by_id { seen.reference } else { Some("OTHER".to_owned()) };
    Seen { id: "pi_another".to_owned(), status: IntentStatus::Succeeded, reference, ..seen }
}

/// The payment that this event brings.
fn payment_in(event: &Event) -> Option<&Seen> {
    match event {
        Event::Reply(Reply { got: Got::Payment(seen), .. })
        | Event::Reading(Reading { got: Got::Payment(seen), .. }) => Some(seen),
        _ => None,
    }
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: std::env::var("GUICHET_HISTORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(300),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("seeds"))),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn all_money_that_is_taken_is_accounted_for(
        manners in manners(),
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let mut world = World::new(manners);
        for step in &steps {
            world.step(step);
        }
        world.end();
        world.check_money();
        world.check_events();
        world.check_clicks();
    }
}

/// With a test key the time is the service's, as its last reply said it: a reply that is a second longer on its way
/// sets it back.
#[test]
fn a_payment_is_canceled_although_the_clock_has_gone_back() {
    let mut world = World::new(Manners { repeats: true, cancels: true, ..PLAIN });
    world.handle(world.click());
    world.drain();
    world.price = 50_000;
    world.now -= 1;
    world.handle(world.click());
    let cancels = |effect: &Effect| matches!(effect, Effect::Ask { asked: Asked::Cancel(_), .. });
    world.execute(world.effects.iter().position(cancels).expect("a cancellation"), Fault::None);
    world.now += 1;
    world.drain();
    let led = |answer: &Answer| matches!(answer, Answer::Lead { reference, .. } if reference == "ORDER-17-1");
    assert!(world.answers.last().is_some_and(led), "{:?}", world.answers);
}
