//! The state of a subscription: how time and the end of a charge change it.

use super::Offer;
use super::calendar::Calendar;
use crate::rules::{LateApproval, PayingWith};
use guichet::values::{IntentId, Moment};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// The most attempts to charge one period.
const MAX_ATTEMPTS: u32 = 4;
/// The default number of consecutive failures before the fallback.
const DEFAULT_TRIGGER: u32 = 3;
/// The longest pause before the next attempt, in seconds.
const LONGEST_WAIT: i64 = 86_400;

/// The part of a subscription that changes.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct SubscriptionState {
    pub(crate) status: Status,
    pub(crate) paying_with: PayingWith,
    pub(crate) fallback: Option<PayingWith>,
    pub(crate) trigger_after_failures: u32,
    /// The number of failed charges since the last success.
    pub(crate) consecutive_failures: u32,
    pub(super) calendar: Calendar,
    /// The number of the period that begins next.
    pub(super) next_period: u32,
    pub(crate) period_start: Moment,
    pub(crate) period_end: Moment,
    pub(crate) trial_end: Option<Moment>,
    /// Whether the period needs no charge: it is paid, or it is the trial.
    pub(super) paid: bool,
    /// The number of charges of the period that have begun.
    pub(super) attempts: u32,
    /// Whether one of them was with the fallback.
    pub(super) fallback_tried: bool,
    /// The charge under way.
    pub(super) under_way: Option<UnderWay>,
    /// When the next attempt to charge the period begins.
    pub(super) next_attempt: Option<Moment>,
    pub(crate) latest_intent: Option<IntentId>,
    pub(crate) cancel_at_period_end: bool,
    pub(crate) pause_at_period_end: bool,
    pub(crate) paused_at: Option<Moment>,
    pub(crate) canceled_at: Option<Moment>,
    pub(crate) cancellation: Option<Cancellation>,
    /// The failed charges that the operator will approve, in order of approval.
    pub(super) late_charges: Vec<LateCharge>,
    /// The failed charges that the operator has approved: money to be refunded, since failed charges are retried.
    pub(crate) duplicate_payments: Vec<LateCharge>,
}

/// A failed charge that the operator approves later.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct LateCharge {
    pub(crate) intent: IntentId,
    pub(crate) approval: LateApproval,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, IntoStaticStr, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum Status {
    Active,
    Canceled,
    PastDue,
    Paused,
    Trialing,
}

/// Why a subscription was canceled.
#[derive(Clone, Copy, Debug, Deserialize, Eq, IntoStaticStr, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum Cancellation {
    PaymentFailed,
    RequestedByMerchant,
}

/// A charge under way.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct UnderWay {
    intent: IntentId,
    by_fallback: bool,
    begun_at: Moment,
    /// When it ends. `None` if it never ends.
    settles_at: Option<Moment>,
}

/// A charge to begin.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Charge {
    /// The number of the period it pays for.
    pub(crate) period: u32,
    /// The number of the attempt for that period, from 1.
    pub(crate) attempt: u32,
    pub(crate) with: PayingWith,
    pub(super) by_fallback: bool,
}

/// The next thing that time alone causes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Due {
    /// The next attempt to charge the period.
    Attempt,
    /// The operator approves a failed charge.
    LateApproval,
    /// A charge has been under way for too long: the subscription is past due.
    Overdue,
    /// The period ends.
    PeriodEnd,
    /// The charge under way has ended; its intent has the result.
    Settlement(IntentId),
}

impl SubscriptionState {
    /// The state of a new subscription: with a trial, or with a first charge.
    pub(crate) fn begin(offer: &Offer, paying_with: PayingWith, now: Moment) -> (Self, Option<Charge>) {
        let trial_end = (offer.trial_days > 0).then(|| now.plus(i64::from(offer.trial_days) * 86_400));
        let anchor = trial_end.unwrap_or(now);
        let state = Self {
            status: Status::Trialing,
            paying_with,
            fallback: None,
            trigger_after_failures: DEFAULT_TRIGGER,
            consecutive_failures: 0,
            calendar: Calendar { cycle: offer.billing_cycle, anchor, first: 0 },
            next_period: 0,
            period_start: now,
            period_end: anchor,
            trial_end,
            paid: true,
            attempts: 0,
            fallback_tried: false,
            under_way: None,
            next_attempt: None,
            latest_intent: None,
            cancel_at_period_end: false,
            pause_at_period_end: false,
            paused_at: None,
            canceled_at: None,
            cancellation: None,
            late_charges: Vec::new(),
            duplicate_payments: Vec::new(),
        };
        match trial_end {
            Some(_) => (state, None),
            None => state.next_period(),
        }
    }

    /// The next due event and its time.
    pub(crate) fn due(&self) -> Option<(Moment, Due)> {
        let settles = self.under_way.as_ref().and_then(|charge| Some((charge.settles_at?, charge.intent.clone())));
        let overdue = self.overdue_at().filter(|_| self.status == Status::Active);
        let runs = !matches!(self.status, Status::Canceled | Status::Paused);
        let ends = self.cancel_at_period_end || runs && (self.pause_at_period_end || self.paid);
        let late = self.late_charges.first().map(|late| Moment::from_unix(late.approval.approved_at));
        // If two are due at the same time, the first in this list is applied first: a payment counts before the period
        // ends. A canceled subscription has only the first two: a charge under way still ends, and a late approval is
        // still reported.
        let all = [
            settles.map(|(at, intent)| (at, Due::Settlement(intent))),
            late.map(|at| (at, Due::LateApproval)),
            ends.then_some((self.period_end, Due::PeriodEnd)),
            self.next_attempt.map(|at| (at, Due::Attempt)),
            overdue.map(|at| (at, Due::Overdue)),
        ];
        all.into_iter().flatten().filter(|(at, _)| *at < Moment::LAST).min_by_key(|(at, _)| *at)
    }

    /// Applies a due event. For the end of a charge, use [`SubscriptionState::settled`].
    pub(crate) fn apply_due(mut self, due: &Due) -> (Self, Option<Charge>) {
        match due {
            Due::Settlement(_) => (self, None),
            Due::LateApproval => {
                let late = (!self.late_charges.is_empty()).then(|| self.late_charges.remove(0));
                self.duplicate_payments.extend(late);
                (self, None)
            }
            Due::Overdue => {
                self.status = Status::PastDue;
                (self, None)
            }
            Due::Attempt => self.attempt(false),
            Due::PeriodEnd if self.cancel_at_period_end => {
                let at = self.period_end;
                (self.ended(Cancellation::RequestedByMerchant, at), None)
            }
            Due::PeriodEnd if self.pause_at_period_end => {
                let at = self.period_end;
                (self.paused(at), None)
            }
            Due::PeriodEnd => self.next_period(),
        }
    }

    /// Applies the end of the charge under way. A failed charge may be approved later: that is stored.
    pub(crate) fn settled(mut self, paid: bool, late: Option<LateApproval>, at: Moment) -> (Self, Option<Charge>) {
        let Some(UnderWay { intent, by_fallback, .. }) = self.under_way.take() else { return (self, None) };
        self.paid |= paid;
        if let Some(approval) = late {
            let earlier = |other: &LateCharge| other.approval.approved_at <= approval.approved_at;
            let position = self.late_charges.partition_point(earlier);
            self.late_charges.insert(position, LateCharge { intent, approval });
        }
        if self.status == Status::Canceled {
            return (self, None);
        }
        if paid {
            self.consecutive_failures = 0;
            if self.status != Status::Paused {
                self.status = Status::Active;
            }
            return (self, None);
        }
        self.consecutive_failures = self.consecutive_failures.saturating_add(1);
        if self.status == Status::Paused {
            return (self, None);
        }
        self.status = Status::PastDue;
        if !by_fallback && self.falls_back() {
            self.attempt(true)
        } else if self.attempts < MAX_ATTEMPTS {
            self.next_attempt = Some(at.plus(self.retry_pause()));
            (self, None)
        } else {
            (self.ended(Cancellation::PaymentFailed, at), None)
        }
    }

    /// Records a charge that has begun, with its intent.
    #[must_use]
    pub(crate) fn charging(
        mut self,
        charge: &Charge,
        intent: IntentId,
        begun_at: Moment,
        settles_at: Option<Moment>,
    ) -> Self {
        self.latest_intent = Some(intent.clone());
        self.under_way = Some(UnderWay { intent, by_fallback: charge.by_fallback, begun_at, settles_at });
        self
    }

    /// The event for the change from the earlier state: the new status, or that it was renewed or updated. `None` for a
    /// change without an event.
    pub(crate) fn event_since(&self, before: &Self) -> Option<&'static str> {
        let scheduled =
            |state: &Self| (state.cancel_at_period_end, state.pause_at_period_end, state.trigger_after_failures);
        let charge_ended = before.under_way.is_some() && self.under_way.is_none();
        if self.status != before.status {
            Some(self.status.into_str())
        } else if self.status == Status::Canceled && charge_ended {
            // The status does not change.
            Some(if self.paid { "charge_succeeded" } else { "charge_failed" })
        } else if self.duplicate_payments.len() != before.duplicate_payments.len() {
            Some("duplicate_payment")
        } else if self.next_period != before.next_period {
            Some("renewed")
        } else if scheduled(self) != scheduled(before)
            || self.paying_with != before.paying_with
            || self.fallback != before.fallback
        {
            Some("updated")
        } else {
            None
        }
    }

    /// The time of the next charge, if known.
    pub(crate) fn next_charge_at(&self) -> Option<Moment> {
        match self.status {
            Status::Canceled | Status::Paused => None,
            Status::PastDue => self.next_attempt,
            Status::Active | Status::Trialing => {
                Some(self.period_end).filter(|_| !self.cancel_at_period_end && !self.pause_at_period_end)
            }
        }
    }

    /// Begins the next period with its charge.
    pub(super) fn next_period(mut self) -> (Self, Option<Charge>) {
        self.period_start = self.calendar.begins(self.next_period);
        self.next_period = self.next_period.saturating_add(1);
        self.period_end = self.calendar.begins(self.next_period);
        self.paid = false;
        self.attempts = 0;
        self.fallback_tried = false;
        self.status = Status::Active;
        self.attempt(false)
    }

    pub(super) fn attempt(mut self, by_fallback: bool) -> (Self, Option<Charge>) {
        self.attempts += 1;
        self.fallback_tried |= by_fallback;
        self.next_attempt = None;
        let fallback = self.fallback.as_ref().filter(|_| by_fallback);
        let charge = Charge {
            period: self.next_period.saturating_sub(1),
            attempt: self.attempts,
            with: fallback.unwrap_or(&self.paying_with).clone(),
            by_fallback,
        };
        (self, Some(charge))
    }

    /// Whether the fallback is due. It gets one attempt per period even after the last regular one.
    pub(super) fn falls_back(&self) -> bool {
        self.fallback.is_some()
            && self.consecutive_failures >= self.trigger_after_failures
            && (self.attempts < MAX_ATTEMPTS || !self.fallback_tried)
    }

    /// The intent of the charge under way.
    pub(crate) fn charge_under_way(&self) -> Option<&IntentId> {
        self.under_way.as_ref().map(|charge| &charge.intent)
    }

    /// When the charge under way is overdue.
    pub(super) fn overdue_at(&self) -> Option<Moment> {
        self.under_way.as_ref().map(|charge| charge.begun_at.plus(self.retry_pause()))
    }

    pub(super) fn ended(mut self, cancellation: Cancellation, at: Moment) -> Self {
        self.status = Status::Canceled;
        self.canceled_at = Some(at);
        self.cancellation = Some(cancellation);
        self.paused_at = None;
        self.next_attempt = None;
        self.cancel_at_period_end = false;
        self.pause_at_period_end = false;
        self
    }

    pub(super) fn paused(mut self, at: Moment) -> Self {
        self.status = Status::Paused;
        self.paused_at = Some(at);
        self.next_attempt = None;
        self.pause_at_period_end = false;
        self
    }

    /// The pause between a failure and the next attempt, in seconds.
    fn retry_pause(&self) -> i64 {
        LONGEST_WAIT.min((self.period_end.unix() - self.period_start.unix()) / 4)
    }
}
