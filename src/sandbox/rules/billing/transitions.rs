//! What the merchant makes of a subscription. `Ok(None)` is a move that has no effect: it was made before.

use super::state::{Cancellation, Charge, Status, SubscriptionState};
use crate::sandbox::rules::PayingWith;
use crate::values::Moment;

/// A move that the subscription's state does not allow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::sandbox) struct Conflict {
    /// Where the subscription stands.
    pub(in crate::sandbox) status: Status,
    /// The rest of the sentence "The subscription is canceled …".
    pub(in crate::sandbox) why: &'static str,
}

/// What a move comes to: the next state, with the charge that begins with it.
type Moved = Result<Option<(SubscriptionState, Option<Charge>)>, Conflict>;

impl SubscriptionState {
    /// Charges nothing from now on, or from the end of the period.
    ///
    /// # Errors
    /// [`Conflict`] where it is canceled.
    pub(in crate::sandbox) fn pause(&self, immediately: bool, now: Moment) -> Moved {
        match self.status {
            Status::Canceled => Err(self.conflict("and can no longer be paused.")),
            Status::Paused => Ok(None),
            _ if immediately => Ok(Some((self.clone().paused(now), None))),
            _ if self.pause_at_period_end => Ok(None),
            _ => Ok(Some((Self { pause_at_period_end: true, ..self.clone() }, None))),
        }
    }

    /// Charges again. Inside a period that was paid nothing is charged; after it a period begins now, and nothing of the
    /// time between is charged.
    ///
    /// # Errors
    /// [`Conflict`] where it is canceled, and where there is nothing to resume.
    pub(in crate::sandbox) fn resume(&self, now: Moment) -> Moved {
        let mut state =
            Self { cancel_at_period_end: false, pause_at_period_end: false, paused_at: None, ..self.clone() };
        match self.status {
            Status::Canceled => Err(self.conflict("and can no longer be resumed.")),
            Status::Paused if self.under_way.is_some() => {
                // A charge that began before the pause may still be paid: it decides, and no other is begun beside it.
                let owed = self.consecutive_failures > 0 || self.overdue_at().is_some_and(|at| at <= now);
                state.status = if owed { Status::PastDue } else { Status::Active };
                Ok(Some((state, None)))
            }
            Status::Paused if self.paid && now < self.period_end => {
                let in_trial = self.trial_end == Some(self.period_end);
                state.status = if in_trial { Status::Trialing } else { Status::Active };
                Ok(Some((state, None)))
            }
            Status::Paused => {
                state.calendar.anchor = now;
                state.calendar.first = state.next_period;
                Ok(Some(state.next_period()))
            }
            _ if self.cancel_at_period_end || self.pause_at_period_end => Ok(Some((state, None))),
            _ => Err(self.conflict("and is not resumed: nothing holds it.")),
        }
    }

    /// Ends it, now or with the period.
    pub(in crate::sandbox) fn cancel(&self, immediately: bool, now: Moment) -> Option<Self> {
        // A pause that has outlasted its period has no end of a period to wait for.
        let nothing_left = self.status == Status::Paused && now >= self.period_end;
        match self.status {
            Status::Canceled => None,
            _ if immediately || nothing_left => Some(self.clone().ended(Cancellation::RequestedByMerchant, now)),
            _ if self.cancel_at_period_end => None,
            _ => Some(Self { cancel_at_period_end: true, ..self.clone() }),
        }
    }

    /// Pays with another method from now on; at once where a charge has failed.
    ///
    /// # Errors
    /// [`Conflict`] where it is canceled.
    pub(in crate::sandbox) fn pay_with(&self, paying_with: PayingWith) -> Moved {
        if self.status == Status::Canceled {
            return Err(self.conflict("and takes no other payment method."));
        }
        if self.paying_with == paying_with {
            return Ok(None);
        }
        let state = Self { paying_with, ..self.clone() };
        Ok(Some(if state.waits_for_money() { state.attempt(false) } else { (state, None) }))
    }

    /// Falls back on another method after so many failures in a row; at once where there were as many.
    ///
    /// # Errors
    /// [`Conflict`] where it is canceled.
    pub(in crate::sandbox) fn fall_back_on(&self, fallback: PayingWith, trigger_after_failures: u32) -> Moved {
        if self.status == Status::Canceled {
            return Err(self.conflict("and takes no fallback."));
        }
        let state = Self { fallback: Some(fallback), trigger_after_failures, ..self.clone() };
        if state == *self {
            return Ok(None);
        }
        Ok(Some(if state.waits_for_money() && state.falls_back() { state.attempt(true) } else { (state, None) }))
    }

    /// Whether a charge has failed, and no other is under way.
    fn waits_for_money(&self) -> bool {
        self.status == Status::PastDue && self.under_way.is_none()
    }

    fn conflict(&self, why: &'static str) -> Conflict {
        Conflict { status: self.status, why }
    }
}
