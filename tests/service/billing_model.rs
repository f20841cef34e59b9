//! Model-based test of subscriptions: random commands go to the service over HTTP and to a simple model, and the test
//! compares the two after each. A failure prints its seed and the shortest sequence of commands that causes it.

use crate::support::api::Merchant;
use crate::support::model::{Method, cases, run};
use crate::support::service::Sandbox;
use crate::support::subscriptions::{DAY, HOUR, subscription};
use guichet::values::Moment;
use jiff::{Span, Timestamp, tz::TimeZone};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn billing_behaves_as_the_model(commands in prop::collection::vec(command(), 1..30)) {
        run(async |sandbox| {
            let mut comparison = Comparison::new(sandbox).await;
            for command in &commands {
                comparison.apply(command).await;
            }
        });
    }

}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 20, ..cases(12) })]

    #[test]
    fn moving_thirty_days_at_once_equals_thirty_moves_of_one_day(
        cycle in cycle(), trial in prop_oneof![Just(0_u32), 1..20_u32], method in method(),
        fallback in prop::option::of((method(), 2..=4_u32)), at_end in prop::sample::select(vec!["", "pause", "cancel"]),
    ) {
        run(async |sandbox| {
            let mut candidates = Vec::new();
            for moves in [1, 30] {
                let shop = Merchant::new(sandbox.merchant().await.unwrap());
                let created = shop.subscribe(&shop.plan(cycle.word(), trial).await, method.body()).await;
                if let Some((fallback, after)) = &fallback {
                    let mut fields = fallback.body();
                    fields["trigger_after_failures"] = json!(after);
                    shop.changed_subscription(&created, "fallback", fields).await;
                }
                if !at_end.is_empty() {
                    shop.change_subscription(&created, at_end, json!({ "immediately": false })).await;
                }
                for _ in 0..moves {
                    shop.advance(30 * DAY / moves).await;
                }
                // Advance past the charges that settle a few seconds after the thirtieth day, however long the test
                // itself took.
                shop.advance(600).await;
                let begin = created["created_at"].as_i64().unwrap();
                let now = Snapshot::read(&shop.read_subscription(&created).await).since(begin);
                let events = shop.tenant.events().await.unwrap().into_iter();
                let events: Vec<_> = events.map(|event| (event.at.unix() - begin, event.kind)).collect();
                let lasting = |(at, kind): &(i64, String)| *at > 60 || kind.starts_with("payment_intent");
                let mut events: Vec<_> = events.into_iter().filter(lasting).collect();
                // The order of events within one second is undefined.
                events.sort_unstable();
                candidates.push((now, shop.charges(&created).await, events));
            }
            assert_eq!(candidates[0], candidates[1]);
        });
    }
}

const PRICE: u64 = 5000;
const D: i64 = 86_400;

/// One call of the merchant, or a move of the clock.
#[derive(Clone, Debug)]
struct Command {
    /// The index of the subscription.
    of: usize,
    action: Action,
    /// Whether the call is repeated, as after a lost response.
    twice: bool,
}

#[derive(Clone, Debug)]
enum Action {
    Advance { hours: u32 },
    Cancel { immediately: bool },
    Create { cycle: Cycle, trial: u32, method: Method },
    Deactivate { cycle: Cycle, trial: u32 },
    Fallback { method: Method, after: u32 },
    Pause { immediately: bool },
    PaymentMethod(Method),
    Resume,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Cycle {
    Daily,
    Monthly,
    Weekly,
}

impl Cycle {
    fn word(self) -> &'static str {
        match self {
            Self::Daily => "daily",
            Self::Monthly => "monthly",
            Self::Weekly => "weekly",
        }
    }

    fn after(self, anchor: i64, periods: i64) -> i64 {
        let span = match self {
            Self::Daily => return anchor + periods * D,
            Self::Weekly => return anchor + periods * 7 * D,
            Self::Monthly => Span::new().months(periods),
        };
        let anchor = Timestamp::from_second(anchor).unwrap().to_zoned(TimeZone::UTC);
        anchor.checked_add(span).unwrap().timestamp().as_second()
    }
}

impl Method {
    /// The seconds until a charge ends, and whether it is then paid. `None` if it never ends.
    fn charged(self, attempt: u32) -> Option<(i64, bool)> {
        match self {
            Self::Hangs => None,
            Self::Pays | Self::PaysByCard => Some((0, true)),
            Self::PaysInThirtySeconds => Some((30, true)),
            Self::Recovers => Some((0, attempt >= 3)),
            Self::ApprovedLateAfterRefusal => Some((5, false)),
            Self::TimesOut | Self::ApprovedLateAfterTimeout => Some((300, false)),
            Self::ApprovedLateAfterUnavailable
            | Self::AsksForCode
            | Self::AsksForRedirect
            | Self::Blocked
            | Self::FailsThenPays
            | Self::TooPoor => Some((0, false)),
        }
    }

    /// How many seconds after it began the operator approves a declined charge, if it does.
    fn approved_after(self) -> Option<i64> {
        match self {
            Self::ApprovedLateAfterRefusal => Some(245),
            Self::ApprovedLateAfterTimeout | Self::ApprovedLateAfterUnavailable => Some(600),
            _ => None,
        }
    }
}

fn method() -> impl Strategy<Value = Method> {
    use Method::*;
    prop::sample::select(vec![
        ApprovedLateAfterRefusal,
        ApprovedLateAfterTimeout,
        ApprovedLateAfterUnavailable,
        AsksForCode,
        AsksForRedirect,
        Blocked,
        FailsThenPays,
        Hangs,
        Pays,
        Pays,
        PaysByCard,
        PaysInThirtySeconds,
        Recovers,
        TimesOut,
        TooPoor,
        TooPoor,
    ])
}

fn cycle() -> impl Strategy<Value = Cycle> {
    prop::sample::select(vec![Cycle::Daily, Cycle::Weekly, Cycle::Monthly])
}

fn command() -> impl Strategy<Value = Command> {
    let trial = || prop::sample::select(vec![0_u32, 0, 3]);
    let action = prop_oneof![
        8 => prop_oneof![3 => 1..30_u32, 2 => 30..240_u32, 1 => Just(31 * 24)].prop_map(|hours| Action::Advance { hours }),
        1 => prop::bool::weighted(0.3).prop_map(|immediately| Action::Cancel { immediately }),
        4 => (cycle(), trial(), method()).prop_map(|(cycle, trial, method)| Action::Create { cycle, trial, method }),
        1 => (cycle(), trial()).prop_map(|(cycle, trial)| Action::Deactivate { cycle, trial }),
        2 => (method(), 1..=5_u32).prop_map(|(method, after)| Action::Fallback { method, after }),
        2 => any::<bool>().prop_map(|immediately| Action::Pause { immediately }),
        2 => method().prop_map(Action::PaymentMethod),
        3 => Just(Action::Resume),
    ];
    (0..2_usize, action, prop::bool::weighted(0.2)).prop_map(|(of, action, twice)| Command { of, action, twice })
}

/// The fields of a subscription that are compared. Times are Unix seconds.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Snapshot {
    status: String,
    failures: u64,
    period: (i64, i64),
    next_charge: Option<i64>,
    at_period_end: (bool, bool),
    paused: Option<i64>,
    canceled: Option<i64>,
    reason: Option<String>,
    /// When each failed charge was approved late.
    duplicates: Vec<i64>,
}

impl Snapshot {
    fn read(subscription: &Value) -> Self {
        let at = |name: &str| Some(Moment::new(subscription[name].as_str()?).unwrap().unix());
        Self {
            status: subscription["status"].as_str().unwrap().to_owned(),
            failures: subscription["consecutive_failures"].as_u64().unwrap(),
            period: (at("current_period_start").unwrap(), at("current_period_end").unwrap()),
            next_charge: at("next_charge_at"),
            at_period_end: (subscription["cancel_at_period_end"] == true, subscription["pause_at_period_end"] == true),
            paused: at("paused_at"),
            canceled: at("canceled_at"),
            reason: subscription["cancellation_reason"].as_str().map(str::to_owned),
            duplicates: duplicates(subscription).map(|(_, at)| at).collect(),
        }
    }

    fn since(self, begin: i64) -> Self {
        Self {
            period: (self.period.0 - begin, self.period.1 - begin),
            next_charge: self.next_charge.map(|at| at - begin),
            paused: self.paused.map(|at| at - begin),
            canceled: self.canceled.map(|at| at - begin),
            duplicates: self.duplicates.iter().map(|at| at - begin).collect(),
            ..self
        }
    }
}

/// The model of one charge.
#[derive(Clone, Debug)]
struct Charge {
    period: u32,
    attempt: u32,
    at: i64,
    /// When it ends and whether it is then paid. `None` if it never ends.
    ends: Option<(i64, bool)>,
    by_fallback: bool,
    ended: bool,
    /// When the operator approves it late.
    approved: Option<i64>,
}

/// The model of one subscription.
#[derive(Clone, Debug)]
struct Model {
    cycle: Cycle,
    method: Method,
    fallback: Option<Method>,
    trigger: u32,
    created: i64,
    /// The anchor of the calendar, and the number of the period that begins there.
    anchor: (i64, u32),
    /// The number of the current period. `None` in the trial.
    period: Option<u32>,
    /// The end of the trial.
    trial: i64,
    status: &'static str,
    failures: u32,
    settled: bool,
    retry: Option<i64>,
    at_period_end: (bool, bool),
    paused: Option<i64>,
    canceled: Option<(i64, &'static str)>,
    charges: Vec<Charge>,
    /// The start and end of each paid period.
    paid: Vec<(i64, i64)>,
    restarts: Vec<i64>,
}

impl Model {
    fn new(cycle: Cycle, trial: u32, method: Method, created: i64) -> Self {
        let end = created + i64::from(trial) * D;
        let mut model = Self {
            cycle,
            method,
            fallback: None,
            trigger: 3,
            created,
            anchor: (end, 0),
            period: None,
            trial: end,
            status: "trialing",
            failures: 0,
            settled: true,
            retry: None,
            at_period_end: (false, false),
            paused: None,
            canceled: None,
            charges: Vec::new(),
            paid: Vec::new(),
            restarts: Vec::new(),
        };
        model.advance_to(created);
        model
    }

    fn bounds(&self) -> (i64, i64) {
        let (anchor, first) = self.anchor;
        let begins = |number: u32| self.cycle.after(anchor, i64::from(number) - i64::from(first));
        self.period.map_or((self.created, self.trial), |number| (begins(number), begins(number + 1)))
    }

    fn wait(&self) -> i64 {
        let (from, to) = self.bounds();
        ((to - from) / 4).min(D)
    }

    fn current_charge(&self) -> Option<&Charge> {
        self.charges.last().filter(|charge| !charge.ended)
    }

    /// Applies what is due by `now`, in order of time.
    fn advance_to(&mut self, now: i64) {
        loop {
            if self.canceled.is_some() {
                // The current charge still ends, but no other charge or period begins.
                let ends = self.current_charge().and_then(|charge| charge.ends).filter(|(at, _)| *at <= now);
                if let Some((_, paid)) = ends {
                    self.charges.last_mut().unwrap().ended = true;
                    self.paid.extend(paid.then(|| self.bounds()));
                }
                return;
            }
            let (_, end) = self.bounds();
            let open = self.status != "paused";
            let settles =
                self.current_charge().and_then(|charge| charge.ends).map(|(at, _)| at).filter(|at| *at <= now);
            let ends = (self.at_period_end.0 || open && (self.at_period_end.1 || self.settled))
                .then_some(end)
                .filter(|at| *at <= now);
            let retries = self.retry.filter(|at| *at <= now);
            let late = self.current_charge().map(|charge| charge.at + self.wait());
            let late = late.filter(|at| self.status == "active" && *at <= now);
            let first = [settles, ends, retries, late].into_iter().flatten().min();
            match first {
                None => return,
                at if at == settles => self.settle(at.unwrap()),
                at if at == ends => self.end_of_period(at.unwrap()),
                at if at == retries => self.charge(at.unwrap(), false),
                _ => self.status = "past_due",
            }
        }
    }

    fn charge(&mut self, at: i64, by_fallback: bool) {
        let period = self.period.unwrap();
        let attempt = 1 + self.charges.iter().filter(|charge| charge.period == period).count() as u32;
        let with = if by_fallback { self.fallback.unwrap() } else { self.method };
        let ends = with.charged(attempt).map(|(after, paid)| (at + after, paid));
        self.retry = None;
        let approved = with.approved_after().map(|after| at + after);
        self.charges.push(Charge { period, attempt, at, ends, by_fallback, ended: false, approved });
    }

    fn settle(&mut self, at: i64) {
        let charge = self.charges.last_mut().unwrap();
        charge.ended = true;
        let Charge { attempt, by_fallback, .. } = *charge;
        if charge.ends.unwrap().1 {
            self.paid.push(self.bounds());
            (self.settled, self.failures) = (true, 0);
            self.status = if self.status == "paused" { "paused" } else { "active" };
            return;
        }
        self.failures += 1;
        if self.status == "paused" {
            return;
        }
        self.status = "past_due";
        if !by_fallback && self.is_turn_of_fallback() {
            self.charge(at, true);
        } else if attempt < 4 {
            self.retry = Some(at + self.wait());
        } else {
            self.cancel(at, "payment_failed");
        }
    }

    fn is_turn_of_fallback(&self) -> bool {
        let of_period = || self.charges.iter().filter(|charge| Some(charge.period) == self.period);
        self.fallback.is_some()
            && self.failures >= self.trigger
            && (of_period().count() < 4 || !of_period().any(|charge| charge.by_fallback))
    }

    fn end_of_period(&mut self, at: i64) {
        match self.at_period_end {
            (true, _) => self.cancel(at, "requested_by_merchant"),
            (_, true) => self.pause(at),
            _ => self.begin_period(at),
        }
    }

    fn begin_period(&mut self, at: i64) {
        self.period = Some(self.period.map_or(0, |number| number + 1));
        (self.status, self.settled) = ("active", false);
        self.charge(at, false);
    }

    fn pause(&mut self, at: i64) {
        (self.status, self.paused, self.retry, self.at_period_end.1) = ("paused", Some(at), None, false);
    }

    fn cancel(&mut self, at: i64, reason: &'static str) {
        (self.status, self.canceled, self.paused, self.retry) = ("canceled", Some((at, reason)), None, None);
        self.at_period_end = (false, false);
    }

    /// Applies a call. Returns the expected status of the response.
    fn apply(&mut self, action: &Action, now: i64) -> u16 {
        self.advance_to(now);
        let (_, end) = self.bounds();
        let over = self.status == "canceled";
        match action {
            Action::Cancel { .. } if over => {}
            _ if over => return 409,
            Action::Cancel { immediately: true } => self.cancel(now, "requested_by_merchant"),
            Action::Cancel { .. } if self.status == "paused" && now >= end => self.cancel(now, "requested_by_merchant"),
            Action::Cancel { .. } => self.at_period_end.0 = true,
            Action::Pause { .. } if self.status == "paused" => {}
            Action::Pause { immediately: true } => self.pause(now),
            Action::Pause { .. } => self.at_period_end.1 = true,
            Action::Resume if self.status == "paused" => {
                (self.at_period_end, self.paused) = ((false, false), None);
                if let Some(charge) = self.current_charge() {
                    let owed = self.failures > 0 || charge.at + self.wait() <= now;
                    self.status = if owed { "past_due" } else { "active" };
                } else if self.settled && now < end {
                    self.status = if self.period.is_none() { "trialing" } else { "active" };
                } else {
                    self.anchor = (now, self.period.map_or(0, |number| number + 1));
                    self.restarts.push(now);
                    self.begin_period(now);
                }
            }
            Action::Resume if self.at_period_end == (false, false) => return 409,
            Action::Resume => self.at_period_end = (false, false),
            Action::PaymentMethod(method) if self.method == *method => {}
            Action::PaymentMethod(method) => {
                self.method = *method;
                if self.status == "past_due" && self.current_charge().is_none() {
                    self.charge(now, false);
                }
            }
            Action::Fallback { method, after } if (self.fallback, self.trigger) == (Some(*method), *after) => {}
            Action::Fallback { method, after } => {
                (self.fallback, self.trigger) = (Some(*method), *after);
                if self.status == "past_due" && self.current_charge().is_none() && self.is_turn_of_fallback() {
                    self.charge(now, true);
                }
            }
            Action::Advance { .. } | Action::Create { .. } | Action::Deactivate { .. } => {}
        }
        self.advance_to(now);
        200
    }

    fn snapshot(&self, now: i64) -> Snapshot {
        let (from, to) = self.bounds();
        let approved = self.charges.iter().filter_map(|charge| charge.approved);
        let mut duplicates: Vec<_> = approved.filter(|at| *at <= now).collect();
        // A later charge may be approved before an earlier one.
        duplicates.sort_unstable();
        let next_charge = match self.status {
            "past_due" => self.retry,
            "active" | "trialing" => Some(to).filter(|_| self.at_period_end == (false, false)),
            _ => None,
        };
        Snapshot {
            status: self.status.to_owned(),
            failures: self.failures.into(),
            period: (from, to),
            next_charge,
            at_period_end: self.at_period_end,
            paused: self.paused,
            canceled: self.canceled.map(|(at, _)| at),
            reason: self.canceled.map(|(_, reason)| reason.to_owned()),
            duplicates,
        }
    }

    fn charges(&self, now: i64) -> Vec<(String, i64, String)> {
        let word = |charge: &Charge| match charge.ends.filter(|(at, _)| *at <= now) {
            None => "processing",
            Some((_, true)) => "succeeded",
            Some((_, false)) => "failed",
        };
        let summary = |charge: &Charge| {
            (format!("{}:{}", charge.period, charge.attempt), charge.at - self.created, word(charge).to_owned())
        };
        self.charges.iter().map(summary).collect()
    }
}

/// The service and the model, side by side.
struct Comparison {
    shop: Merchant,
    subscriptions: [Option<(Value, Model)>; 2],
    /// The code of each plan, and whether it is active.
    plans: BTreeMap<String, bool>,
}

impl Comparison {
    async fn new(sandbox: &Sandbox) -> Self {
        let shop = Merchant::new(sandbox.merchant().await.unwrap());
        Self { shop, subscriptions: [None, None], plans: BTreeMap::new() }
    }

    async fn apply(&mut self, command: &Command) {
        for _ in 0..1 + u32::from(command.twice) {
            match &command.action {
                Action::Advance { hours } => self.shop.advance(hours * HOUR).await,
                Action::Create { cycle, trial, method } => self.create(command.of, *cycle, *trial, *method).await,
                Action::Deactivate { cycle, trial } => self.deactivate(*cycle, *trial).await,
                action => self.call_and_compare(command.of, action).await,
            }
            self.check_against_service(command).await;
        }
    }

    async fn create(&mut self, of: usize, cycle: Cycle, trial: u32, method: Method) {
        if self.subscriptions[of].is_some() {
            return;
        }
        let plan = self.shop.plan(cycle.word(), trial).await;
        let active = *self.plans.entry(plan.clone()).or_insert(true);
        let before = self.shop.tenant.now().await.unix();
        let reply = self.shop.call("POST", "/v1/subscriptions", subscription(&plan, method.body())).await;
        if !active {
            assert_eq!((reply.status, reply.code()), (422, "plan_inactive"));
            return;
        }
        assert_eq!(reply.status, 201, "{}", reply.text);
        let created = reply.body["data"].clone();
        let at = created["created_at"].as_i64().unwrap();
        assert!((before..=self.shop.tenant.now().await.unix()).contains(&at));
        let model = Model::new(cycle, trial, method, at);
        assert_eq!(Snapshot::read(&created), model.snapshot(at));
        self.subscriptions[of] = Some((created, model));
    }

    async fn deactivate(&mut self, cycle: Cycle, trial: u32) {
        let plan = self.shop.plan(cycle.word(), trial).await;
        self.plans.insert(plan.clone(), false);
        let list = self.shop.call("GET", "/v1/subscriptions/plans?include_inactive=true", Value::Null).await;
        let list = list.body["data"].as_array().unwrap();
        let id = list.iter().find(|listed| listed["code"] == plan.as_str()).unwrap()["id"].as_str().unwrap();
        let deactivated = self.shop.call("DELETE", &format!("/v1/subscriptions/plans/{id}"), Value::Null).await;
        assert_eq!((deactivated.status, &deactivated.body["data"]["active"]), (200, &json!(false)));
    }

    async fn call_and_compare(&mut self, of: usize, action: &Action) {
        let Some((created, model)) = &mut self.subscriptions[of] else { return };
        let (verb, fields) = match action {
            Action::Cancel { immediately } => ("cancel", json!({ "immediately": immediately })),
            Action::Fallback { method, after } => {
                let mut fields = method.body();
                fields["trigger_after_failures"] = json!(after);
                ("fallback", fields)
            }
            Action::Pause { immediately } => ("pause", json!({ "immediately": immediately })),
            Action::PaymentMethod(method) => ("payment-method", method.body()),
            _ => ("resume", Value::Null),
        };
        let before = self.shop.tenant.now().await.unix();
        let reply = self.shop.change_subscription(created, verb, fields).await;
        // The wall clock goes on during the call, so the service applied it in one of these seconds.
        let after = self.shop.tenant.now().await.unix();
        let charges = self.shop.charges(created).await;
        let candidates = (before..=after).map(|now| {
            let mut candidate = model.clone();
            (candidate.apply(action, now), now, candidate)
        });
        let candidates: Vec<_> = candidates.collect();
        // Only the charges show in which of these seconds the service began one. Another may have begun since.
        let has_these_charges = |candidate: &Model, now| {
            let expected = candidate.charges(now);
            expected.len() <= charges.len() && expected.iter().zip(&charges).all(|(one, read)| one.1 == read.1)
        };
        let check_against_service = |(status, now, candidate): &&(u16, i64, Model)| match reply.status {
            200 => {
                *status == 200
                    && Snapshot::read(&reply.body["data"]) == candidate.snapshot(*now)
                    && has_these_charges(candidate, *now)
            }
            refused => refused == *status && reply.message().contains(candidate.status),
        };
        let candidate = candidates.iter().find(check_against_service);
        let (_, _, candidate) = candidate.unwrap_or_else(|| {
            panic!("{action:?}: the service returned {}\n the model expects one of {candidates:?}", reply.text)
        });
        *model = candidate.clone();
    }

    /// Reads every subscription from the service, compares it with the model and checks the invariants.
    async fn check_against_service(&mut self, after: &Command) {
        let (mut paid_periods, mut recorded) = (0, Vec::new());
        for (created, model) in self.subscriptions.iter_mut().flatten() {
            let before = self.shop.tenant.now().await.unix();
            let read = self.shop.read_subscription(created).await;
            let charges = self.shop.charges(created).await;
            let now = self.shop.tenant.now().await.unix();
            // Seconds may have passed between reading the subscription and reading its charges.
            let candidates = (before..=now).map(|now| {
                let mut candidate = model.clone();
                candidate.advance_to(now);
                (candidate.snapshot(now), candidate.charges(now), candidate)
            });
            let candidates: Vec<_> = candidates.collect();
            assert!(
                candidates.iter().any(|(snapshot, ..)| *snapshot == Snapshot::read(&read)),
                "after {after:?}: {read}\n{candidates:?}"
            );
            let candidate = candidates.into_iter().find(|(_, expected, _)| *expected == charges);
            *model = candidate.unwrap_or_else(|| panic!("after {after:?}: {charges:?}\n{model:?}")).2;
            paid_periods += check_invariants(&read, &charges, model);
            recorded.push(read);
        }
        let intents = self.shop.intents().await;
        check_late_approvals_of_intents(&recorded, &intents);
        let paid = intents.iter().filter(|intent| intent["status"] == "succeeded");
        let sum: u64 = paid.map(|intent| intent["amount"].as_str().unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!(sum, paid_periods * PRICE, "the paid intents add up to the paid periods");
    }
}

/// Checks what must be true after any sequence of commands. Returns the number of paid periods.
fn check_invariants(read: &Value, charges: &[(String, i64, String)], model: &Model) -> u64 {
    let created = read["created_at"].as_i64().unwrap();
    let numbers =
        |name: &str| name.split_once(':').map(|(a, b)| (a.parse::<u32>().unwrap(), b.parse::<u32>().unwrap()));
    let mut paid = BTreeMap::new();
    for pair in charges.windows(2) {
        let [(one, at, status), (next, then, _)] = pair else { continue };
        assert!(at <= then, "charges are in order of time: {charges:?}");
        assert_ne!(status, "processing", "never two charges at once: {charges:?}");
        let ((period, attempt), (after, again)) = (numbers(one).unwrap(), numbers(next).unwrap());
        let follows = (after, again) == (period, attempt + 1) || (after, again) == (period + 1, 1);
        assert!(follows, "{charges:?}");
    }
    for (name, at, status) in charges {
        let (period, _) = numbers(name).unwrap();
        if status == "succeeded" {
            assert!(paid.insert(period, *at).is_none(), "a period is charged once: {charges:?}");
        }
        let ended = read["canceled_at"].as_str().map(|at| Moment::new(at).unwrap().unix() - created);
        assert!(ended.is_none_or(|ended| *at <= ended), "nothing is charged after the end: {charges:?}");
        let paused = read["paused_at"].as_str().map(|at| Moment::new(at).unwrap().unix() - created);
        assert!(paused.is_none_or(|paused| *at <= paused), "nothing is charged while paused: {charges:?}");
    }
    for pair in model.paid.windows(2) {
        let [(_, end), (begin, _)] = pair else { continue };
        assert!(end == begin || skipped(model, *end, *begin), "paid periods follow each other: {:?}", model.paid);
    }
    assert_eq!(paid.len(), model.paid.len(), "each payment is for another period");
    u64::try_from(paid.len()).unwrap()
}

/// The late approvals of a subscription: the payment intent of each, and when it was approved.
fn duplicates(subscription: &Value) -> impl Iterator<Item = (String, i64)> {
    subscription["duplicate_payments"].as_array().unwrap().iter().map(|one| {
        assert_eq!((&one["attempt"], &one["amount"], &one["currency"]), (&json!(1), &json!("5000"), &json!("XAF")));
        let at = Moment::new(one["approved_at"].as_str().unwrap()).unwrap().unix();
        (one["payment_intent"].as_str().unwrap().to_owned(), at)
    })
}

/// Checks that each late approval of a subscription is also one of its intent, once. The subscriptions were read before
/// the intents.
fn check_late_approvals_of_intents(subscriptions: &[Value], intents: &[Value]) {
    let mut seen = std::collections::BTreeSet::new();
    for (id, at) in subscriptions.iter().flat_map(duplicates) {
        let intent = intents.iter().find(|intent| intent["id"] == id.as_str()).unwrap();
        let duplicates = intent["duplicate_payments"].as_array().unwrap();
        assert_eq!((&intent["status"], duplicates.len()), (&json!("failed"), 1), "{intent}");
        let approved_at = Moment::new(duplicates[0]["approved_at"].as_str().unwrap()).unwrap().unix();
        assert_eq!(approved_at, at, "{intent}");
        assert!(seen.insert(id), "each late approval is reported once");
    }
}

/// Whether billing was restarted between two paid periods, so that the time between was paused or unpaid.
fn skipped(model: &Model, end: i64, begin: i64) -> bool {
    end <= begin && model.restarts.iter().any(|at| end <= *at && *at <= begin)
}
