//! Tests of subscriptions by random sequences of actions: whatever a merchant does and however long it waits, each period is charged
//! once, at the agreed price.

use super::state::{Charge, Due, LateCharge, Status, SubscriptionState};
use super::{Conflict, Offer};
use crate::rules::{IntentState, PayingWith, Status as IntentStatus, read_instrument};
use guichet::operations::{Card, Instrument};
use guichet::values::{Amount, BillingCycle, Currency, IntentId, Moment, Phone, PlanCode};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_period_is_charged_once_and_never_while_paused_or_after_the_end(walk in walk()) {
        let mut world = World::begin(&walk);
        for step in &walk.steps {
            world.take(step);
        }
        world.check_invariants();
    }

    #[test]
    fn one_long_wait_equals_many_short_ones(walk in walk()) {
        let (mut once, mut often) = (World::begin(&walk), World::begin(&walk));
        for step in &walk.steps {
            once.take(step);
            match step {
                Step::Wait { hours } => (0..*hours).for_each(|_| often.take(&Step::Wait { hours: 1 })),
                step => often.take(step),
            }
            prop_assert_eq!(&once.state, &often.state);
        }
        prop_assert_eq!(&once.charges, &often.charges);
        prop_assert_eq!(once.events, often.events);
    }
}

const HOUR: i64 = 3_600;

#[derive(Clone, Debug)]
struct Walk {
    cycle: BillingCycle,
    trial_days: u32,
    with: PayingWith,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
enum Step {
    Cancel { immediately: bool },
    FallBackOn { with: PayingWith, after: u32 },
    Pause { immediately: bool },
    PayWith(PayingWith),
    Resume,
    Wait { hours: u32 },
}

fn walk() -> impl Strategy<Value = Walk> {
    let cycle = prop::sample::select(vec![BillingCycle::Daily, BillingCycle::Weekly, BillingCycle::Monthly]);
    let step = prop_oneof![
        8 => prop_oneof![1_u32..30, 30_u32..900].prop_map(|hours| Step::Wait { hours }),
        1 => prop::bool::weighted(0.3).prop_map(|immediately| Step::Cancel { immediately }),
        2 => (method(), 1_u32..=5).prop_map(|(with, after)| Step::FallBackOn { with, after }),
        2 => any::<bool>().prop_map(|immediately| Step::Pause { immediately }),
        2 => method().prop_map(Step::PayWith),
        3 => Just(Step::Resume),
    ];
    let trial_days = prop_oneof![2 => Just(0_u32), 1 => 1_u32..40];
    (cycle, trial_days, method(), prop::collection::vec(step, 1..25))
        .prop_map(|(cycle, trial_days, with, steps)| Walk { cycle, trial_days, with, steps })
}

fn method() -> impl Strategy<Value = PayingWith> {
    let phones = [
        "0000000", "0000001", "0000002", "0000004", "0000005", "0000007", "0000009", "0000010", "0000011", "0000012",
        "1234567",
    ];
    prop_oneof![
        4 => prop::sample::select(phones.to_vec()).prop_map(|digits| {
            Instrument::MobileMoney { phone: Phone::new(format!("23767{digits}")).unwrap() }
        }),
        2 => prop::sample::select(vec!["4242424242424242", "4000000000009995"]).prop_map(|number| {
            Instrument::Card { card: Card { number: number.into(), exp_month: 12, exp_year: 2034, cvc: "123".into() } }
        }),
    ]
    .prop_map(|instrument| read_instrument(&instrument).unwrap())
}

/// A charge.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Charged {
    period: u32,
    attempt: u32,
    at: Moment,
    /// The period it pays for.
    from: Moment,
    to: Moment,
    by_fallback: bool,
    intent: IntentState,
}

/// One subscription, its charges, and a clock.
struct World {
    now: Moment,
    state: SubscriptionState,
    charges: Vec<Charged>,
    /// Its events with their times.
    events: Vec<(Moment, &'static str)>,
    /// The times between which nothing may be charged.
    closed: Vec<(Moment, Option<Moment>)>,
    /// The times at which its anchor changed.
    anchored: Vec<Moment>,
}

impl World {
    fn begin(walk: &Walk) -> Self {
        let now = Moment::new("2027-01-31T10:30:00Z").unwrap();
        let offer = Offer {
            name: "Gold".into(),
            code: PlanCode::new("gold").unwrap(),
            amount: Amount::units(5_000),
            currency: Currency::xaf(),
            billing_cycle: walk.cycle,
            trial_days: walk.trial_days,
        };
        let first = SubscriptionState::begin(&offer, walk.with.clone(), now);
        let mut world = Self {
            now,
            state: first.0.clone(),
            charges: Vec::new(),
            events: Vec::new(),
            closed: Vec::new(),
            anchored: Vec::new(),
        };
        world.turn(first, now);
        world.run();
        world
    }

    fn take(&mut self, step: &Step) {
        if !matches!(step, Step::Wait { .. }) {
            // One second later, so that no two things happen at the same time.
            self.now = self.now.plus(1);
            self.run();
        }
        let now = self.now;
        let moved = match step {
            Step::Wait { hours } => {
                self.now = now.plus(i64::from(*hours) * HOUR);
                Ok(None)
            }
            Step::Cancel { immediately } => Ok(self.state.cancel(*immediately, now).map(|state| (state, None))),
            Step::FallBackOn { with, after } => self.state.fall_back_on(with.clone(), *after),
            Step::Pause { immediately } => self.state.pause(*immediately, now),
            Step::PayWith(with) => self.state.pay_with(with.clone()),
            Step::Resume => self.state.resume(now),
        };
        match moved {
            Err(Conflict { status, .. }) => assert_eq!(status, self.state.status, "a conflict has the status"),
            Ok(None) => {}
            Ok(Some(turn)) => {
                if turn.0.calendar != self.state.calendar {
                    self.anchored.push(now);
                }
                self.turn(turn, now);
            }
        }
        self.run();
    }

    /// Runs everything that is due by now, each at its own time.
    fn run(&mut self) {
        let mut last = None;
        while let Some((at, due)) = self.state.due().filter(|(at, _)| *at <= self.now) {
            assert!(last.is_none_or(|last| last <= at), "time goes forward");
            last = Some(at);
            let state = self.state.clone();
            let turn = match &due {
                Due::Settlement(_) => {
                    let charge = self.charges.last_mut().unwrap();
                    charge.intent = charge.intent.clone().at(at, charge.at.plus(86_400));
                    let late = charge.intent.late_approvals.first().cloned();
                    state.settled(charge.intent.status == IntentStatus::Succeeded, late, at)
                }
                due => state.apply_due(due),
            };
            let held = self.state.status == Status::Paused;
            assert!(!held || matches!(turn.0.status, Status::Paused | Status::Canceled), "only a resume ends a pause");
            self.turn(turn, at);
        }
    }

    fn turn(&mut self, (state, charge): (SubscriptionState, Option<Charge>), at: Moment) {
        let state = match charge {
            None => state,
            Some(charge) => {
                if let Some(before) = self.charges.last() {
                    let ended = matches!(before.intent.status, IntentStatus::Succeeded | IntentStatus::Failed);
                    assert!(ended, "no charge begins while another is under way");
                }
                let intent = IntentState::off_session(charge.with.clone(), charge.attempt, at);
                let id = IntentId::new(format!("pi_{}", self.charges.len())).unwrap();
                let state = state.charging(&charge, id, at, intent.settles_at());
                let Charge { period, attempt, by_fallback, .. } = charge;
                self.charges.push(Charged {
                    period,
                    attempt,
                    at,
                    from: state.period_start,
                    to: state.period_end,
                    by_fallback,
                    intent,
                });
                state
            }
        };
        self.events.extend(state.event_since(&self.state).map(|word| (at, word)));
        let is_closed = |status| matches!(status, Status::Canceled | Status::Paused);
        match (is_closed(self.state.status), is_closed(state.status)) {
            (false, true) => self.closed.push((at, None)),
            (true, false) => self.closed.last_mut().unwrap().1 = Some(at),
            _ => {}
        }
        assert!(state.status != Status::Paused || state.paused_at.is_some());
        assert!(state.next_charge_at().is_none_or(|next| next >= at), "the next charge is not in the past");
        self.state = state;
    }

    fn check_invariants(&self) {
        let mut paid: Vec<&Charged> = Vec::new();
        for (position, charge) in self.charges.iter().enumerate() {
            let before = position.checked_sub(1).and_then(|before| self.charges.get(before));
            let expected = match before {
                Some(before) if before.period == charge.period => (before.period, before.attempt + 1),
                Some(before) => (before.period + 1, 1),
                None => (0, 1),
            };
            assert_eq!((charge.period, charge.attempt), expected, "charges are numbered consecutively");
            let fallbacks =
                self.charges[..=position].iter().filter(|one| one.period == charge.period && one.by_fallback);
            let its_turn = charge.attempt == 5 && charge.by_fallback && fallbacks.count() == 1;
            assert!(charge.attempt <= 4 || its_turn, "at most four attempts, plus the fallback: {charge:?}");
            assert!(before.is_none_or(|before| before.at <= charge.at), "charges are in order of time");
            let open =
                |(from, to): &(Moment, Option<Moment>)| charge.at <= *from || to.is_some_and(|to| charge.at >= to);
            assert!(
                self.closed.iter().all(open),
                "no charge while paused or after the end: {charge:?}, {:?}",
                self.closed
            );
            if charge.intent.status == IntentStatus::Succeeded {
                paid.push(charge);
            }
        }
        let now = self.now;
        let approved = self.charges.iter().enumerate().flat_map(|(number, charge)| {
            let intent = charge.intent.clone().at(now, charge.at.plus(86_400));
            let id = IntentId::new(format!("pi_{number}")).unwrap();
            intent.duplicate_payments.into_iter().map(move |approval| LateCharge { intent: id.clone(), approval })
        });
        let mut approved: Vec<_> = approved.collect();
        approved.sort_by_key(|late| late.approval.approved_at);
        assert_eq!(self.state.duplicate_payments, approved, "each late approval is in the record once");
        let events = self.events.iter().filter(|(_, word)| *word == "duplicate_payment");
        assert_eq!(
            events.map(|(at, _)| at.unix()).collect::<Vec<_>>(),
            approved.iter().map(|late| late.approval.approved_at).collect::<Vec<_>>()
        );
        let ended = self.charges.iter().rev().filter(|charge| charge.intent.status != IntentStatus::Processing);
        let failures = ended.take_while(|charge| charge.intent.status == IntentStatus::Failed).count();
        if self.state.status != Status::Canceled {
            assert_eq!(
                self.state.consecutive_failures as usize, failures,
                "failures are counted since the last success"
            );
        }
        for pair in paid.windows(2) {
            let [one, next] = pair else { continue };
            assert!(one.period < next.period, "one charge per period");
            assert!(
                one.to <= next.from || self.anchored.iter().any(|at| one.from < *at && *at <= next.from),
                "no overlap"
            );
            let counted_anew = self.anchored.iter().any(|at| one.from < *at && *at <= next.from);
            assert!(counted_anew || one.to == next.from, "paid periods follow each other: {one:?}, {next:?}");
        }
    }
}
