//! The changes of a subscription that a merchant makes. `Ok(None)`: no effect, because it was made before.

use super::state::{Cancellation, Charge, Status, SubscriptionState};
use crate::rules::PayingWith;
use guichet::values::Moment;

/// A change that the subscription's status does not allow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Conflict {
    /// The subscription's status.
    pub(crate) status: Status,
    /// The rest of the sentence "The subscription is canceled …".
    pub(crate) why: &'static str,
}

/// The next state, with the charge that begins with it.
type Transition = Result<Option<(SubscriptionState, Option<Charge>)>, Conflict>;

impl SubscriptionState {
    /// Pauses it now, or at the end of the period.
    ///
    /// # Errors
    /// [`Conflict`] if it is canceled.
    pub(crate) fn pause(&self, immediately: bool, now: Moment) -> Transition {
        match self.status {
            Status::Canceled => Err(self.conflict("and can no longer be paused.")),
            Status::Paused => Ok(None),
            _ if immediately => Ok(Some((self.clone().paused(now), None))),
            _ => Ok(Some((Self { pause_at_period_end: true, ..self.clone() }, None))),
        }
    }

    /// Resumes it. Inside a paid period nothing is charged. After it, a new period begins now, and the time between is
    /// not charged.
    ///
    /// # Errors
    /// [`Conflict`] if it is canceled, or if there is nothing to resume.
    pub(crate) fn resume(&self, now: Moment) -> Transition {
        let mut state =
            Self { cancel_at_period_end: false, pause_at_period_end: false, paused_at: None, ..self.clone() };
        match self.status {
            Status::Paused if self.under_way.is_some() => {
                // The charge that began before the pause may still succeed: its result decides, and no second charge
                // begins.
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
            _ => Err(self.conflict("and cannot be resumed: it is neither paused nor about to end.")),
        }
    }

    /// Cancels it now, or at the end of the period.
    pub(crate) fn cancel(&self, immediately: bool, now: Moment) -> Option<Self> {
        // If it is paused and its period is over, there is no end of a period to wait for.
        let nothing_left = self.status == Status::Paused && now >= self.period_end;
        match self.status {
            Status::Canceled => None,
            _ if immediately || nothing_left => Some(self.clone().ended(Cancellation::RequestedByMerchant, now)),
            _ => Some(Self { cancel_at_period_end: true, ..self.clone() }),
        }
    }

    /// Changes the payment method. If a charge has failed, the new method is charged at once.
    ///
    /// # Errors
    /// [`Conflict`] if it is canceled.
    pub(crate) fn pay_with(&self, paying_with: PayingWith) -> Transition {
        if self.status == Status::Canceled {
            return Err(self.conflict("and takes no other payment method."));
        }
        if self.paying_with == paying_with {
            return Ok(None);
        }
        let state = Self { paying_with, ..self.clone() };
        Ok(Some(if state.is_unpaid() { state.attempt(false) } else { (state, None) }))
    }

    /// Sets the fallback method and its trigger. If there were as many failures already, it is charged at once.
    ///
    /// # Errors
    /// [`Conflict`] if it is canceled.
    pub(crate) fn fall_back_on(&self, fallback: PayingWith, trigger_after_failures: u32) -> Transition {
        if self.status == Status::Canceled {
            return Err(self.conflict("and takes no fallback."));
        }
        let state = Self { fallback: Some(fallback), trigger_after_failures, ..self.clone() };
        if state == *self {
            return Ok(None);
        }
        Ok(Some(if state.is_unpaid() && state.falls_back() { state.attempt(true) } else { (state, None) }))
    }

    /// Whether a charge has failed and no other is under way.
    fn is_unpaid(&self) -> bool {
        self.status == Status::PastDue && self.under_way.is_none()
    }

    fn conflict(&self, why: &'static str) -> Conflict {
        Conflict { status: self.status, why }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Offer;
    use super::*;
    use crate::rules::read_instrument;
    use guichet::operations::Instrument;
    use guichet::values::{Amount, BillingCycle, Currency, IntentId, Phone, PlanCode};

    const START: Moment = Moment::from_unix(1_000_000);
    const DAY: i64 = 86_400;

    #[test]
    fn a_paused_subscription_resumes_inside_its_paid_period_and_begins_a_new_one_after_it() {
        let paused = begun(1).0.paused(START);
        for (now, status, is_charged, is_canceled) in
            [(DAY - 1, Status::Trialing, false, false), (DAY, Status::Active, true, true)]
        {
            let (resumed, charge) = paused.resume(START.plus(now)).unwrap().unwrap();
            assert_eq!((resumed.status, charge.is_some()), (status, is_charged), "{now}");
            let canceled = paused.cancel(false, START.plus(now)).unwrap();
            assert_eq!(canceled.canceled_at.is_some(), is_canceled, "{now}");
        }
    }

    #[test]
    fn a_subscription_that_resumes_during_a_charge_is_past_due_after_a_failure_or_a_quarter_of_its_period() {
        let (state, charge) = begun(0);
        let charging = state.charging(&charge.unwrap(), IntentId::new("pi_1").unwrap(), START, None);
        for (failures, now, status) in
            [(0, DAY / 4 - 1, Status::Active), (0, DAY / 4, Status::PastDue), (1, DAY / 4 - 1, Status::PastDue)]
        {
            let paused = SubscriptionState { consecutive_failures: failures, ..charging.clone().paused(START) };
            let (resumed, charge) = paused.resume(START.plus(now)).unwrap().unwrap();
            assert_eq!((resumed.status, charge), (status, None), "{failures} {now}");
        }
    }

    fn begun(trial_days: u32) -> (SubscriptionState, Option<Charge>) {
        let offer = Offer {
            name: "Gold".into(),
            code: PlanCode::new("gold").unwrap(),
            amount: Amount::units(5_000),
            currency: Currency::xaf(),
            billing_cycle: BillingCycle::Daily,
            trial_days,
        };
        let phone = Instrument::mobile_money(Phone::new("237670000005").unwrap());
        SubscriptionState::begin(&offer, read_instrument(&phone).unwrap(), START)
    }
}
