//! The states of a payment intent, `decisions.md` 3: what each event changes, and the state at a time.
//!
//! **A final status is final, and no attempt is made while another is under way.** One test phone alone breaks the
//! first rule, as real services do: its payment is `failed`, and then `succeeded`.

use super::{Cancellation, NextAction, Status, Terms};
use crate::rules::{Behaviour, Decline, PayingWith};
use guichet::values::Moment;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// The most attempts of an intent that a customer pays.
pub(crate) const MAX_ATTEMPTS: u32 = 3;
/// How long after its end an attempt may still be approved, in seconds, unless the operator's word is final.
const APPROVABLE: i64 = 900;
/// How long after the operator's `payer_timeout` it approves all the same, in seconds, if the handset decides so.
const APPROVES_LATE: i64 = 60;
/// The correct one-time code.
const RIGHT_CODE: &str = "123456";

/// The part of an intent that changes.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct IntentState {
    pub(crate) status: Status,
    /// The number of attempts that have begun.
    pub(crate) attempts: u32,
    pub(crate) paying_with: Option<PayingWith>,
    pub(crate) next_action: Option<NextAction>,
    /// The end of the attempt under way, or of one that was reported as failed although it succeeds.
    pub(crate) settlement: Option<Settlement>,
    /// Why the last attempt was declined.
    pub(crate) declined: Option<Decline>,
    pub(crate) cancellation: Option<Cancellation>,
    /// The statuses after creation, with their times in Unix seconds.
    pub(crate) status_history: Vec<(i64, Status)>,
    /// Its maximum number of attempts.
    pub(crate) max_attempts: u32,
    /// The declined attempts that the operator will approve, in order of approval.
    pub(crate) late_approvals: Vec<LateApproval>,
    /// The late approvals during another attempt or after the final status: money to be refunded.
    pub(crate) duplicate_payments: Vec<LateApproval>,
    /// The numbers of the declined attempts that the operator may still approve, and until when, in Unix seconds.
    pub(crate) approvable: Vec<(u32, i64)>,
    /// Every attempt, in order. Empty in a state that an older sandbox has stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) attempt_log: Vec<Attempt>,
}

/// An attempt, as the inspector shows it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Attempt {
    pub(crate) with: PayingWith,
    /// When it ended, in Unix seconds. `None` if it has not.
    pub(crate) ended_at: Option<i64>,
    /// Why it was declined.
    pub(crate) decline: Option<Decline>,
    /// When the operator approved it late, in Unix seconds.
    pub(crate) approved_at: Option<i64>,
    /// How many statuses preceded that approval.
    pub(crate) approved_after: usize,
}

/// A decision on the customer's phone.
#[derive(Clone, Copy, Debug, Eq, IntoStaticStr, PartialEq)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum HandsetDecision {
    /// The payer approves: the payment succeeds. If the attempt was declined before, this is a late approval.
    Approve,
    /// The operator reports a timeout, and approves 60 seconds later.
    ApproveLate,
    /// The payer does not react, and the operator reports a timeout.
    Ignore,
    /// The payer refuses.
    Refuse,
}

impl HandsetDecision {
    const ALL: [Self; 4] = [Self::Approve, Self::Refuse, Self::Ignore, Self::ApproveLate];

    /// Its words in the control API.
    pub(crate) fn words() -> [&'static str; 4] {
        Self::ALL.map(|decision| decision.into_str())
    }

    /// The decision of a word.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|decision| decision.into_str() == word)
    }
}

/// The end of an attempt: its time and its result.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Settlement {
    settles_at: i64,
    /// `None` if it succeeds.
    decline: Option<Decline>,
    /// When the operator approves the declined attempt, if it does.
    approved_at: Option<i64>,
}

/// An attempt that was shown as declined and that the operator approves later.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct LateApproval {
    /// The number of the attempt, from 1.
    pub(crate) attempt: u32,
    pub(crate) with: PayingWith,
    /// When the operator approves it, in Unix seconds.
    pub(crate) approved_at: i64,
}

/// An event that time alone causes. If two are due at the same time, the earlier variant is applied first: an attempt
/// ends before a late approval checks whether another is processing, and a payment counts before the intent expires.
#[derive(Clone, Copy, Debug, Eq, IntoStaticStr, Ord, PartialEq, PartialOrd)]
#[strum(const_into_str, serialize_all = "snake_case")]
enum TimeEvent {
    Settlement,
    LateApproval,
    Expiry,
}

/// A transition that the intent's status does not allow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Conflict {
    /// The intent's status.
    pub(crate) status: Status,
    /// The rest of the sentence "The payment intent is processing …".
    pub(crate) why: &'static str,
}

impl IntentState {
    /// The state of a new intent.
    pub(crate) fn new() -> Self {
        Self {
            status: Status::RequiresAction,
            attempts: 0,
            paying_with: None,
            next_action: None,
            settlement: None,
            declined: None,
            cancellation: None,
            status_history: Vec::new(),
            max_attempts: MAX_ATTEMPTS,
            late_approvals: Vec::new(),
            duplicate_payments: Vec::new(),
            approvable: Vec::new(),
            attempt_log: Vec::new(),
        }
    }

    /// The state of the n-th charge for one period of a subscription, without the customer: its only attempt has begun.
    /// A method that requires an action of the customer is declined.
    pub(crate) fn off_session(with: PayingWith, nth: u32, now: Moment) -> Self {
        let settlement = match with.behaviour() {
            Behaviour::AsksForCode | Behaviour::AsksForRedirect | Behaviour::WaitsForHandset => {
                Some(Settlement::at(now, Some(Decline::AuthenticationRequired)))
            }
            // The next charge of a period begins when one has failed, so a failed charge stays so.
            Behaviour::FailsThenSucceeds { .. } => Some(Settlement::at(now, Some(Decline::Generic))),
            behaviour => settlement(behaviour, nth, now),
        };
        Self { paying_with: Some(with), max_attempts: 1, ..Self::new() }.attempt(settlement, now)
    }

    /// When the attempt under way ends. `None` if there is none, or it never ends.
    pub(crate) fn settles_at(&self) -> Option<Moment> {
        self.settlement.map(|settlement| Moment::from_unix(settlement.settles_at))
    }

    /// The time of its final status. `None` if it is not final.
    pub(crate) fn final_since(&self) -> Option<Moment> {
        let is_final = matches!(self.status, Status::Succeeded | Status::Failed | Status::Canceled);
        self.status_history.last().filter(|_| is_final).map(|(at, _)| Moment::from_unix(*at))
    }

    /// Until when the attempt that was declined last may still be approved, in Unix seconds. `None`: the decline is
    /// final.
    pub(crate) fn declined_until(&self) -> Option<i64> {
        self.approvable.iter().find(|(attempt, _)| *attempt == self.attempts).map(|(_, until)| *until)
    }

    /// Whether the payment is shown as failed, and succeeds all the same.
    pub(crate) fn succeeds_after_failing(&self) -> bool {
        self.status == Status::Failed && self.settlement.is_some()
    }

    /// Until when any declined attempt may still be approved, in Unix seconds. `None` if no such attempt was made.
    pub(crate) fn approvable_until(&self) -> Option<i64> {
        self.approvable.iter().map(|(_, until)| *until).max()
    }

    /// The state at a time: applies everything that time alone causes until then, in order.
    #[must_use]
    pub(crate) fn at(mut self, now: Moment, expires_at: Moment) -> Self {
        while let Some((at, next)) = self.next(expires_at).filter(|(at, _)| *at <= now.unix()) {
            match next {
                TimeEvent::Settlement => self.end_attempt(at),
                TimeEvent::LateApproval => self.approve_late(at),
                TimeEvent::Expiry => self.cancel_as(Cancellation::Expired, at),
            }
        }
        self
    }

    /// When time alone changes the intent next, in Unix seconds, and how: `settlement`, `late_approval` or `expiry`.
    pub(crate) fn due(&self, expires_at: Moment) -> Option<(i64, &'static str)> {
        self.next(expires_at).map(|(at, event)| (at, event.into_str()))
    }

    /// The next event that time alone causes, and when.
    fn next(&self, expires_at: Moment) -> Option<(i64, TimeEvent)> {
        let settlement = self.settlement.filter(|_| self.status == Status::Processing || self.succeeds_after_failing());
        let approval = self.late_approvals.first();
        // If an attempt ends after the expiry with a decline, the intent expires at that time.
        let since = self.status_history.last().map_or(0, |(at, _)| *at);
        let expiry = (self.status == Status::RequiresAction).then(|| expires_at.unix().max(since));
        let events = [
            settlement.map(|settlement| (settlement.settles_at, TimeEvent::Settlement)),
            approval.map(|approval| (approval.approved_at, TimeEvent::LateApproval)),
            expiry.map(|at| (at, TimeEvent::Expiry)),
        ];
        events.into_iter().flatten().min()
    }

    /// Ends the attempt under way.
    fn end_attempt(&mut self, at: i64) {
        let Some(Settlement { decline, approved_at, .. }) = self.settlement.take() else { return };
        if let (Some(approved_at), Some(with)) = (approved_at, &self.paying_with) {
            let approval = LateApproval { attempt: self.attempts, with: with.clone(), approved_at };
            let position = self.late_approvals.partition_point(|other| other.approved_at <= approved_at);
            self.late_approvals.insert(position, approval);
        }
        if approved_at.is_some() || decline.is_some_and(Decline::leaves_open) {
            self.approvable.push((self.attempts, at + APPROVABLE));
        }
        self.declined = decline;
        if let Some(attempt) = self.attempt_log.last_mut() {
            (attempt.ended_at, attempt.decline) = (Some(at), decline);
        }
        let status = match decline {
            None => Status::Succeeded,
            Some(decline) if decline.allows_another_attempt() && self.attempts < self.max_attempts => {
                Status::RequiresAction
            }
            Some(_) => Status::Failed,
        };
        self.transition_to(status, at);
    }

    /// The operator approves an attempt that was shown as declined. It pays the intent if nothing else does. Otherwise
    /// the customer has paid twice, or the intent stays unpaid although money was taken.
    fn approve_late(&mut self, at: i64) {
        let approval = self.late_approvals.remove(0);
        let approved_after = self.status_history.len();
        if let Some(attempt) = self.logged(approval.attempt) {
            (attempt.approved_at, attempt.approved_after) = (Some(at), approved_after);
        }
        if self.status == Status::RequiresAction {
            // The attempt is no longer a declined one: it is the success.
            self.approvable.retain(|(attempt, _)| *attempt != approval.attempt);
            self.paying_with = Some(approval.with);
            (self.next_action, self.declined) = (None, None);
            self.transition_to(Status::Succeeded, at);
        } else {
            self.duplicate_payments.push(approval);
        }
    }

    /// Attaches a method. `self` is the state at `now`. `Ok(None)`: no effect.
    ///
    /// # Errors
    /// [`Conflict`] if another method is attached to an intent that no longer accepts one.
    pub(crate) fn attach(&self, terms: &Terms, with: PayingWith, now: Moment) -> Result<Option<Self>, Conflict> {
        if self.status != Status::RequiresAction {
            // Attach is the charge, so repeating it must be safe: the first response may be lost.
            let repeated = self.paying_with.as_ref() == Some(&with);
            return if repeated { Ok(None) } else { Err(self.conflict("and takes no other payment method.")) };
        }
        let behaviour = with.behaviour();
        let attached = Self { paying_with: Some(with), declined: None, ..self.clone() };
        Ok(Some(if terms.charges_on_attach() {
            attached.begin(behaviour, now)
        } else {
            Self { next_action: Some(NextAction::Confirm), ..attached }
        }))
    }

    /// Charges the attached method.
    ///
    /// # Errors
    /// [`Conflict`] if there is none, or if it is being charged already.
    pub(crate) fn confirm(&self, now: Moment) -> Result<Self, Conflict> {
        if self.status != Status::RequiresAction {
            return Err(self.conflict("and is not confirmed again."));
        }
        match (self.next_action, &self.paying_with) {
            (Some(NextAction::Otp), _) => Err(self.conflict("and waits for the customer's one-time code.")),
            (Some(NextAction::Redirect), _) => Err(self.conflict("and waits for the customer at the card's issuer.")),
            (_, None) => Err(self.conflict("and has no payment method: attach one first.")),
            (Some(NextAction::Confirm) | None, Some(with)) => Ok(self.clone().begin(with.behaviour(), now)),
        }
    }

    /// Answers with the customer's one-time code.
    ///
    /// # Errors
    /// [`Conflict`] if no code is expected.
    pub(crate) fn answer(&self, code: &str, now: Moment) -> Result<Self, Conflict> {
        if self.status != Status::RequiresAction || self.next_action != Some(NextAction::Otp) {
            return Err(self.conflict("and waits for no one-time code."));
        }
        let decline = (code.trim() != RIGHT_CODE).then_some(Decline::IncorrectOtp);
        Ok(self.clone().attempt(Some(Settlement::at(now, decline)), now))
    }

    /// The customer approves or refuses the payment at the card's issuer. `None` if that is not expected: it was
    /// decided, or the customer chose another method.
    pub(crate) fn decide_challenge(&self, approved: bool, now: Moment) -> Option<Self> {
        let is_expected = self.status == Status::RequiresAction && self.next_action == Some(NextAction::Redirect);
        let decline = (!approved).then_some(Decline::RejectedByPayer);
        is_expected.then(|| self.clone().attempt(Some(Settlement::at(now, decline)), now))
    }

    /// Whether the issuer's page of this round is still valid. The round is the number of attempts when the customer
    /// was sent to the page. The open round is valid, and so is the one just decided, because the response to the
    /// decision may have been lost. Older pages, and those of another method, are invalid.
    pub(crate) fn is_challenge_valid(&self, round: u32) -> bool {
        let by_the_issuer = self.paying_with.as_ref().map(PayingWith::behaviour) == Some(Behaviour::AsksForRedirect);
        by_the_issuer && (round == self.attempts || round + 1 == self.attempts && self.next_action.is_none())
    }

    /// Cancels the intent. `Ok(None)`: it was canceled before.
    ///
    /// # Errors
    /// [`Conflict`] while an attempt is under way, or if the intent is final otherwise.
    pub(crate) fn cancel(&self, by: Cancellation, now: Moment) -> Result<Option<Self>, Conflict> {
        match self.status {
            Status::RequiresAction => {
                let mut canceled = self.clone();
                canceled.cancel_as(by, now.unix());
                Ok(Some(canceled))
            }
            Status::Canceled => Ok(None),
            Status::Processing => Err(self.conflict("and cannot be canceled while its attempt is under way.")),
            Status::Failed | Status::Succeeded => Err(self.conflict("and can no longer be canceled.")),
        }
    }

    /// Ends this attempt of mobile money, because the customer wants to pay another way. `Ok(None)`: it has ended
    /// already. The operator does not learn of it: an attempt that it would have approved is approved late.
    ///
    /// # Errors
    /// [`Conflict`] if it is not the latest attempt, or is the charge of a subscription, for which no customer waits.
    pub(crate) fn abandon(&self, attempt: u32, now: Moment) -> Result<Option<Self>, Conflict> {
        let is_theirs = self.max_attempts == MAX_ATTEMPTS;
        if attempt != self.attempts || !is_theirs {
            return Err(self.conflict("and this is not its latest attempt."));
        }
        if self.status != Status::Processing || !matches!(self.paying_with, Some(PayingWith::MobileMoney { .. })) {
            return Ok(None);
        }
        let approved_at = self.settlement.and_then(|settlement| match settlement.decline {
            None => Some(settlement.settles_at),
            Some(_) => settlement.approved_at,
        });
        let abandoned = Settlement { approved_at, ..Settlement::at(now, Some(Decline::PayerTimeout)) };
        Ok(Some(Self { settlement: Some(abandoned), ..self.clone() }))
    }

    /// Decides an attempt that waits for the customer's phone: this one, or else the newest that can be decided.
    /// Returns its number and the next state. `None`: there is none.
    ///
    /// Only an approval decides an attempt that the operator has declined, as long as the operator may approve it.
    pub(crate) fn decide_on_handset(
        &self,
        attempt: Option<u32>,
        decision: HandsetDecision,
        now: Moment,
    ) -> Option<(u32, Self)> {
        let is_open = |number: u32| number == self.attempts && self.status == Status::Processing;
        let mut numbers = attempt.map_or(1..=self.attempts, |attempt| attempt..=attempt).rev();
        let attempt = numbers.find(|number| {
            self.is_on_handset(*number, now) && (is_open(*number) || decision == HandsetDecision::Approve)
        })?;
        let mut decided = self.clone();
        if is_open(attempt) {
            let end = match decision {
                HandsetDecision::Approve => Settlement::at(now, None),
                HandsetDecision::ApproveLate => Settlement {
                    approved_at: Some(now.plus(APPROVES_LATE).unix()),
                    ..Settlement::at(now, Some(Decline::PayerTimeout))
                },
                HandsetDecision::Ignore => Settlement::at(now, Some(Decline::PayerTimeout)),
                HandsetDecision::Refuse => Settlement::at(now, Some(Decline::RejectedByPayer)),
            };
            decided.settlement = Some(end);
        } else {
            let with = decided.logged(attempt)?.with.clone();
            decided.late_approvals.retain(|approval| approval.attempt != attempt);
            decided.late_approvals.insert(0, LateApproval { attempt, with, approved_at: now.unix() });
        }
        Some((attempt, decided))
    }

    /// Whether an attempt waits for the customer's phone, or may still be approved there.
    pub(crate) fn is_on_handset(&self, attempt: u32, now: Moment) -> bool {
        let logged = attempt.checked_sub(1).and_then(|index| self.attempt_log.get(index as usize));
        let is_on_phone =
            |logged: &Attempt| logged.approved_at.is_none() && logged.with.behaviour() == Behaviour::WaitsForHandset;
        let is_open = attempt == self.attempts && self.status == Status::Processing;
        let is_approvable = self.approvable.iter().any(|(of, until)| *of == attempt && now.unix() < *until);
        logged.is_some_and(is_on_phone) && (is_open || is_approvable)
    }

    fn logged(&mut self, attempt: u32) -> Option<&mut Attempt> {
        self.attempt_log.get_mut(attempt.checked_sub(1)? as usize)
    }

    /// Begins an attempt, or asks the customer for the step that it needs first.
    fn begin(self, behaviour: Behaviour, now: Moment) -> Self {
        match behaviour {
            Behaviour::AsksForCode => Self { next_action: Some(NextAction::Otp), ..self },
            Behaviour::AsksForRedirect => Self { next_action: Some(NextAction::Redirect), ..self },
            Behaviour::FailsThenSucceeds { .. } => {
                let mut failed = self.attempt(settlement(behaviour, 1, now), now);
                failed.transition_to(Status::Failed, now.unix());
                failed
            }
            behaviour => {
                let settlement = settlement(behaviour, self.attempts + 1, now);
                self.attempt(settlement, now)
            }
        }
    }

    /// Begins an attempt now, which ends with this settlement. Without one, it never ends.
    fn attempt(self, settlement: Option<Settlement>, now: Moment) -> Self {
        let mut state = Self { attempts: self.attempts + 1, settlement, declined: None, next_action: None, ..self };
        let with = state.paying_with.clone();
        let begun = |with| Attempt { with, ended_at: None, decline: None, approved_at: None, approved_after: 0 };
        state.attempt_log.extend(with.map(begun));
        state.transition_to(Status::Processing, now.unix());
        state
    }

    /// Lets the attempt under way end later, since its operator is slow.
    #[must_use]
    pub(crate) fn delayed(mut self, seconds: u32) -> Self {
        if let Some(settlement) = &mut self.settlement {
            settlement.settles_at += i64::from(seconds);
            settlement.approved_at = settlement.approved_at.map(|at| at + i64::from(seconds));
        }
        self
    }

    fn cancel_as(&mut self, cancellation: Cancellation, at: i64) {
        self.cancellation = Some(cancellation);
        self.next_action = None;
        self.transition_to(Status::Canceled, at);
    }

    fn transition_to(&mut self, status: Status, at: i64) {
        self.status = status;
        self.status_history.push((at, status));
    }

    fn conflict(&self, why: &'static str) -> Conflict {
        Conflict { status: self.status, why }
    }
}

impl Settlement {
    /// An attempt's end at a time: paid, or declined without a late approval.
    fn at(moment: Moment, decline: Option<Decline>) -> Self {
        Self { settles_at: moment.unix(), decline, approved_at: None }
    }
}

/// The settlement of the n-th attempt, which begins now. `None` if it never ends.
fn settlement(behaviour: Behaviour, nth: u32, now: Moment) -> Option<Settlement> {
    let ends = |after: u32, decline| Some(Settlement::at(now.plus(i64::from(after)), decline));
    match behaviour {
        Behaviour::ApprovedLate { after, decline, approved_after } => {
            let approved_at = now.plus(i64::from(after)).plus(i64::from(approved_after)).unix();
            ends(after, Some(decline)).map(|end| Settlement { approved_at: Some(approved_at), ..end })
        }
        // Only the customer's action starts the attempt.
        Behaviour::AsksForCode | Behaviour::AsksForRedirect => None,
        Behaviour::Hangs | Behaviour::WaitsForHandset => None,
        Behaviour::Declines { after, decline } => ends(after, Some(decline)),
        Behaviour::FailsThenSucceeds { succeeds_after } => ends(succeeds_after, None),
        Behaviour::RecoversAtTheThird { decline } => ends(0, (nth < MAX_ATTEMPTS).then_some(decline)),
        Behaviour::Succeeds { after } => ends(after, None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Intent;
    use super::*;
    use Status::{Canceled, Failed, Processing, RequiresAction, Succeeded};

    const START: Moment = Moment::from_unix(1_000_000);

    /// For each test phone, the state of an intent after its first, second and third charge, and later.
    #[test]
    fn intent_states_follow_the_table_of_the_decisions() {
        let table = [
            ("0000000", vec![(0, Succeeded)]),
            ("0000001", vec![(29, Processing), (30, Succeeded)]),
            ("0000002", vec![(0, RequiresAction), (0, RequiresAction), (0, Failed)]),
            ("0000003", vec![(0, RequiresAction), (0, RequiresAction), (0, Failed)]),
            (
                "0000004",
                vec![(299, Processing), (300, RequiresAction), (299, Processing), (300, RequiresAction), (300, Failed)],
            ),
            ("0000005", vec![(0, Processing), (90_000, Processing)]),
            ("0000006", vec![(0, Failed)]),
            ("0000007", vec![(0, RequiresAction), (0, RequiresAction), (0, Succeeded)]),
            ("0000008", vec![(0, Failed)]),
            ("0000009", vec![(0, Failed)]),
            ("0000010", vec![(0, RequiresAction)]),
            ("0000011", vec![(299, Processing), (300, RequiresAction), (300, Succeeded)]),
            ("0000012", vec![(0, RequiresAction), (0, RequiresAction), (0, Failed), (600, Failed)]),
            ("0000013", vec![(4, Processing), (5, RequiresAction), (5, RequiresAction), (5, Failed), (245, Failed)]),
            ("0000014", vec![(0, Failed), (59, Failed), (60, Succeeded), (90_000, Succeeded)]),
            ("1234567", vec![(1, Processing), (2, Succeeded)]),
        ];
        for (digits, sights) in table {
            let mut state = IntentState::new();
            let mut charged_at = START;
            for (after, expected) in sights {
                if state.status == RequiresAction {
                    state = attached(&state, digits, charged_at);
                }
                let seen = state.clone().at(charged_at.plus(after), Intent::expiry(START));
                assert_eq!(seen.status, expected, "{digits} after {after}");
                if seen.status == RequiresAction {
                    charged_at = charged_at.plus(after);
                    state = seen;
                }
            }
        }
    }

    #[test]
    fn attaching_again_has_no_effect_and_another_method_is_refused() {
        for digits in ["0000000", "0000001", "0000005", "0000009"] {
            let state = attached(&IntentState::new(), digits, START);
            let state = state.at(START, Intent::expiry(START));
            assert_eq!(state.attach(&terms(), phone(digits), START), Ok(None), "{digits}");
            let refused = state.attach(&terms(), phone("7654321"), START).unwrap_err();
            assert_eq!(refused.status, state.status, "{digits}");
        }
    }

    #[test]
    fn an_unpaid_intent_expires_after_a_day_and_a_processing_one_does_not() {
        let expiry = Intent::expiry(START);
        assert_eq!(IntentState::new().at(expiry.plus(-1), expiry).status, RequiresAction);
        let expired = IntentState::new().at(expiry, expiry);
        assert_eq!((expired.status, expired.cancellation), (Canceled, Some(Cancellation::Expired)));
        assert_eq!(expired.attach(&terms(), phone("0000000"), expiry).unwrap_err().status, Canceled);
        let hanging = attached(&IntentState::new(), "0000005", START);
        assert_eq!(hanging.at(expiry.plus(9), expiry).status, Processing);
        let late = attached(&IntentState::new(), "0000001", expiry.plus(-1));
        assert_eq!(late.at(expiry.plus(60), expiry).status, Succeeded);
    }

    #[test]
    fn a_late_approval_pays_the_intent_while_nothing_is_processing() {
        let expiry = Intent::expiry(START);
        let timed_out = attached(&IntentState::new(), "0000011", START).at(START.plus(300), expiry);
        assert_eq!((timed_out.status, timed_out.declined), (RequiresAction, Some(Decline::PayerTimeout)));
        let paid = timed_out.clone().at(START.plus(600), expiry);
        assert_eq!((paid.status, paid.declined, paid.attempts), (Succeeded, None, 1));
        assert_eq!(paid.final_since(), Some(START.plus(600)));
        // While a one-time code is expected, no attempt is under way.
        let asks = attached(&timed_out, "0000010", START.plus(301));
        let paid = asks.at(START.plus(600), expiry);
        assert_eq!((paid.status, paid.next_action), (Succeeded, None));
        assert_eq!(paid.paying_with, Some(phone("0000011")), "the method that has paid is shown");
        assert_eq!(paid.duplicate_payments, []);
    }

    #[test]
    fn a_late_approval_beside_another_attempt_or_after_the_end_is_a_duplicate_payment() {
        let expiry = Intent::expiry(START);
        let timed_out = |at: Moment| attached(&IntentState::new(), "0000011", at).at(at.plus(300), expiry);
        let first = timed_out(START);
        let ways = [
            ("another is processing", attached(&first, "0000005", START.plus(301)), Processing),
            ("another has succeeded", attached(&first, "0000000", START.plus(301)), Succeeded),
            ("another has failed for good", attached(&first, "0000009", START.plus(301)), Failed),
            ("canceled", first.cancel(Cancellation::RequestedByCustomer, START.plus(301)).unwrap().unwrap(), Canceled),
            ("expired", timed_out(expiry.plus(-301)), Canceled),
        ];
        for (why, state, status) in ways {
            let late = state.clone().at(START.plus(100_000), expiry);
            assert_eq!(late.status, status, "{why}");
            let attempts: Vec<u32> = late.duplicate_payments.iter().map(|approval| approval.attempt).collect();
            assert_eq!((attempts, late.late_approvals.len()), (vec![1], 0), "{why}");
            let again = late.clone().at(START.plus(900_000), expiry);
            assert_eq!(again, late, "{why}: it is reported once");
        }
    }

    #[test]
    fn the_payment_of_one_phone_alone_succeeds_after_it_was_shown_as_failed() {
        let expiry = Intent::expiry(START);
        let earlier = attached(&IntentState::new(), "0000012", START).at(START, expiry);
        let failed = attached(&earlier, "0000014", START.plus(9)).at(START.plus(9), expiry);
        assert_eq!((failed.status, failed.declined, failed.attempts), (Failed, None, 2));
        assert!(failed.succeeds_after_failing());
        assert!(failed.attach(&terms(), phone("0000000"), START.plus(9)).is_err(), "it takes no other method");
        assert_eq!(failed.attach(&terms(), phone("0000014"), START.plus(9)), Ok(None));
        let paid = failed.at(START.plus(69), expiry);
        assert_eq!((paid.status, paid.final_since()), (Succeeded, Some(START.plus(69))));
        assert!(!paid.succeeds_after_failing());
        assert_eq!(paid.duplicate_payments, []);
        let later = paid.at(START.plus(600), expiry);
        assert_eq!(
            (later.status, later.duplicate_payments.len()),
            (Succeeded, 1),
            "the first attempt is approved, too"
        );
        for number in (0..100).filter(|number| *number != 14) {
            let mut state = IntentState::new();
            for _ in 0..MAX_ATTEMPTS {
                if state.status == RequiresAction {
                    state = attached(&state, &format!("{number:07}"), START).at(START, expiry);
                }
            }
            let later = state.clone().at(START.plus(500_000), expiry);
            assert!(state.status != Failed || later.status == Failed, "{number}");
        }
        let charge = IntentState::off_session(phone("0000014"), 1, START);
        let charge = charge.at(START.plus(90_000), expiry);
        assert_eq!((charge.status, charge.declined), (Failed, Some(Decline::Generic)), "the charge of a subscription");
    }

    #[test]
    fn an_attempt_is_approvable_for_fifteen_minutes_where_the_operators_word_is_not_final() {
        let expiry = Intent::expiry(START);
        for (digits, declined_at, is_approvable) in [
            ("0000002", 0, false),
            ("0000003", 0, false),
            ("0000004", 300, true),
            ("0000006", 0, false),
            ("0000007", 0, true),
            ("0000008", 0, false),
            ("0000009", 0, false),
            ("0000011", 300, true),
            ("0000012", 0, true),
            ("0000013", 5, true),
        ] {
            let at = START.plus(declined_at);
            let state = attached(&IntentState::new(), digits, START).at(at, expiry);
            let until = is_approvable.then(|| at.plus(900).unix());
            assert_eq!((state.declined_until(), state.approvable_until()), (until, until), "{digits}");
            assert!(state.late_approvals.iter().all(|approval| Some(approval.approved_at) <= until), "{digits}");
        }
    }

    #[test]
    fn an_intent_is_approvable_as_long_as_any_of_its_declined_attempts() {
        let expiry = Intent::expiry(START);
        let first = attached(&IntentState::new(), "0000012", START).at(START, expiry);
        let second = attached(&first, "0000013", START.plus(1)).at(START.plus(6), expiry);
        let (of_first, of_second) = (Some(START.plus(900).unix()), Some(START.plus(906).unix()));
        assert_eq!((second.declined_until(), second.approvable_until()), (of_second, of_second));
        let third = attached(&second, "0000002", START.plus(7)).at(START.plus(7), expiry);
        assert_eq!((third.status, third.declined_until(), third.approvable_until()), (Failed, None, of_second));
        let later = third.at(START.plus(5_000), expiry);
        assert_eq!((later.duplicate_payments.len(), later.approvable_until()), (2, of_second), "in every status");
        let paid = second.at(START.plus(246), expiry);
        assert_eq!((paid.status, paid.approvable_until()), (Succeeded, of_first), "the second attempt is the success");
    }

    #[test]
    fn an_abandoned_attempt_times_out_and_is_approved_late_if_the_operator_would_have_approved_it() {
        let expiry = Intent::expiry(START);
        for (digits, approved_after) in
            [("0000001", Some(30)), ("0000004", None), ("0000005", None), ("0000011", Some(600))]
        {
            let processing = attached(&IntentState::new(), digits, START);
            assert!(processing.abandon(2, START).is_err() && IntentState::new().abandon(1, START).is_err(), "{digits}");
            let abandoned = processing.abandon(1, START.plus(9)).unwrap().unwrap().at(START.plus(9), expiry);
            assert_eq!(
                (abandoned.status, abandoned.declined),
                (RequiresAction, Some(Decline::PayerTimeout)),
                "{digits}"
            );
            assert_eq!(abandoned.declined_until(), Some(START.plus(909).unix()), "{digits}");
            assert_eq!(abandoned.abandon(1, START.plus(10)), Ok(None), "{digits}: repeated");
            let approvals: Vec<_> = abandoned.late_approvals.iter().map(|approval| approval.approved_at).collect();
            assert_eq!(approvals, approved_after.map(|after| START.plus(after).unix()).into_iter().collect::<Vec<_>>());
            let later = attached(&abandoned, "0000005", START.plus(9)).at(START.plus(1_000), expiry);
            assert_eq!(later.duplicate_payments.len(), approvals.len(), "{digits}");
            assert!(later.abandon(1, START.plus(1_000)).is_err(), "{digits}: it is the second attempt's turn");
        }
        let third = (0..3).fold(IntentState::new(), |state, nth| {
            let at = START.plus(nth);
            attached(&state, "0000005", at).abandon(nth as u32 + 1, at).unwrap().unwrap().at(at, expiry)
        });
        assert_eq!((third.status, third.declined), (Failed, Some(Decline::PayerTimeout)));
        assert_eq!(third.abandon(3, START.plus(9)), Ok(None));
        let charge = IntentState::off_session(phone("0000005"), 1, START);
        assert!(charge.abandon(1, START).is_err(), "no customer waits for the charge of a subscription");
    }

    #[test]
    fn an_attempt_that_waits_for_the_phone_ends_as_the_phone_decides() {
        use HandsetDecision::{Approve, ApproveLate, Ignore, Refuse};
        let expiry = Intent::expiry(START);
        let waiting = attached(&IntentState::new(), "0000020", START).at(START.plus(9_000), expiry);
        let now = START.plus(9_000);
        let decided = |state: &IntentState, attempt, decision, at: Moment| {
            state.decide_on_handset(attempt, decision, at).map(|(_, state)| state.at(at, expiry))
        };
        for (decision, at_once, later) in [
            (Approve, (Succeeded, None), Succeeded),
            (ApproveLate, (RequiresAction, Some(Decline::PayerTimeout)), Succeeded),
            (Ignore, (RequiresAction, Some(Decline::PayerTimeout)), RequiresAction),
            (Refuse, (RequiresAction, Some(Decline::RejectedByPayer)), RequiresAction),
        ] {
            let ended = decided(&waiting, None, decision, now).unwrap();
            assert_eq!((ended.status, ended.declined), at_once, "{decision:?}");
            assert_eq!(ended.at(now.plus(60), expiry).status, later, "{decision:?}");
        }
        let ignored = decided(&waiting, None, Ignore, now).unwrap();
        assert_eq!(decided(&ignored, None, Refuse, now), None, "it has ended");
        assert_eq!(decided(&ignored, None, Approve, now.plus(1)).unwrap().status, Succeeded, "approved late");
        assert_eq!(decided(&ignored, None, Approve, now.plus(900)), None, "no longer approvable");
        let refused = decided(&waiting, None, Refuse, now).unwrap();
        assert_eq!(decided(&refused, None, Approve, now), None, "the payer has refused");
        let second = attached(&ignored, "0000020", now.plus(1));
        let twice = decided(&second, Some(1), Approve, now.plus(2)).unwrap();
        assert_eq!((twice.status, twice.duplicate_payments.len()), (Processing, 1), "the customer pays twice");
        assert_eq!(decided(&twice, Some(1), Approve, now.plus(3)), None, "it was approved");
        assert_eq!(decided(&twice, None, Approve, now.plus(3)).unwrap().status, Succeeded);
        let ends: Vec<_> = twice.attempt_log.iter().map(|one| (one.ended_at, one.decline, one.approved_at)).collect();
        let first = (Some(now.unix()), Some(Decline::PayerTimeout), Some(now.plus(2).unix()));
        assert_eq!(ends, [first, (None, None, None)]);
        let hanging = attached(&IntentState::new(), "0000005", START);
        assert_eq!((decided(&hanging, None, Approve, now), decided(&waiting, Some(0), Approve, now)), (None, None));
        let charge = IntentState::off_session(phone("0000020"), 1, START).at(START, expiry);
        assert_eq!(charge.status, Failed, "no customer waits for the charge of a subscription");
    }

    #[test]
    fn a_confirmation_charges_the_declined_method_again() {
        let declined = attached(&IntentState::new(), "0000004", START).at(START.plus(300), Intent::expiry(START));
        let again = declined.confirm(START.plus(301)).unwrap();
        assert_eq!((again.status, again.attempts, again.declined), (Processing, 2, None));
    }

    #[test]
    fn a_slow_operator_declines_and_approves_later() {
        let expiry = Intent::expiry(START);
        let slow = attached(&IntentState::new(), "0000011", START).delayed(60);
        assert_eq!(slow.clone().at(START.plus(359), expiry).status, Processing);
        let declined = slow.at(START.plus(360), expiry);
        assert_eq!((declined.status, declined.late_approvals[0].approved_at), (RequiresAction, START.plus(660).unix()));
    }

    #[test]
    fn an_issuers_page_is_valid_in_its_round_and_until_another_begins() {
        let expiry = Intent::expiry(START);
        let sent = |state: &IntentState| state.attach(&terms(), issuers_card(), START).unwrap().unwrap();
        let first = sent(&IntentState::new());
        let refused = first.decide_challenge(false, START).unwrap().at(START, expiry);
        assert_eq!((refused.status, refused.declined), (RequiresAction, Some(Decline::RejectedByPayer)));
        assert_eq!(refused.decide_challenge(true, START), None, "no round is open");
        let second = sent(&refused);
        assert_eq!((second.status, second.declined), (RequiresAction, None));
        for (state, valid) in [
            (&first, [true, false, false]),
            (&refused, [true, true, false]),
            (&second, [false, true, false]),
            (&attached(&refused, "0000005", START), [false; 3]),
        ] {
            assert_eq!([0, 1, 2].map(|round| state.is_challenge_valid(round)), valid, "{state:?}");
        }
        assert_eq!(second.decide_challenge(true, START).unwrap().at(START, expiry).status, Succeeded);
    }

    #[test]
    fn at_most_one_of_three_late_approvals_pays() {
        let expiry = Intent::expiry(START);
        let mut state = IntentState::new();
        for after in [0, 1] {
            state = attached(&state, "0000012", START.plus(after)).at(START.plus(after), expiry);
        }
        let one_paid = state.clone().at(START.plus(5_000), expiry);
        assert_eq!((one_paid.status, one_paid.final_since()), (Succeeded, Some(START.plus(600))));
        assert_eq!(one_paid.duplicate_payments.len(), 1, "the second is approved after the first has paid");
        let none_paid = attached(&state, "0000012", START.plus(2)).at(START.plus(5_000), expiry);
        assert_eq!((none_paid.status, none_paid.final_since()), (Failed, Some(START.plus(2))));
        let duplicates: Vec<_> =
            none_paid.duplicate_payments.iter().map(|one| (one.attempt, one.approved_at)).collect();
        assert_eq!(duplicates, [(1, START.unix() + 600), (2, START.unix() + 601), (3, START.unix() + 602)]);
    }

    #[test]
    fn reading_once_or_often_gives_the_same_state() {
        let expiry = Intent::expiry(START);
        let state = attached(&IntentState::new(), "0000012", START);
        let state = attached(&state.at(START, expiry), "0000011", START.plus(400));
        let mut often = state.clone();
        for second in 400..90_000 {
            often = often.at(START.plus(second), expiry);
        }
        assert_eq!(often, state.at(START.plus(90_000), expiry));
        // The first is approved at 600 while the second is processing; the second is declined at 700 and approved at
        // 1000.
        assert_eq!((often.status, often.duplicate_payments.len()), (Succeeded, 1));
    }

    #[test]
    fn the_status_history_has_every_status_with_its_time() {
        let expiry = Intent::expiry(START);
        let state = attached(&IntentState::new(), "0000004", START);
        let state = state.at(START.plus(5_000), expiry).at(expiry.plus(7), expiry);
        let unix = START.unix();
        assert_eq!(state.status_history, [(unix, Processing), (unix + 300, RequiresAction), (expiry.unix(), Canceled)]);
        let late = attached(&IntentState::new(), "0000004", expiry.plus(-1));
        let late = late.at(expiry.plus(900), expiry);
        assert_eq!(late.status_history.iter().map(|(at, _)| at - expiry.unix()).collect::<Vec<_>>(), [-1, 299, 299]);
    }

    fn phone(digits: &str) -> PayingWith {
        let phone = guichet::values::Phone::new(format!("23767{digits}")).unwrap();
        crate::rules::read_instrument(&guichet::operations::Instrument::mobile_money(phone)).unwrap()
    }

    fn issuers_card() -> PayingWith {
        let card = guichet::operations::Card {
            number: "4000000000003220".into(),
            exp_month: 12,
            exp_year: 2034,
            cvc: "123".into(),
        };
        crate::rules::read_instrument(&guichet::operations::Instrument::Card { card }).unwrap()
    }

    fn attached(state: &IntentState, digits: &str, at: Moment) -> IntentState {
        state.attach(&terms(), phone(digits), at).unwrap().unwrap()
    }

    fn terms() -> Terms {
        let body = r#"{"firstname":"Awa","lastname":"Ngo","email":"awa@example.com","amount":"5000","currency":"XAF","description":"Shoes",
            "merchant_reference":"ORDER-17","fee_bearer":"merchant","confirmation_method":"automatic","confirm":false}"#;
        Terms::read(body).unwrap()
    }
}
