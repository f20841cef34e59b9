//! One call as a state machine: no socket, no clock, no output type.
//!
//! The caller gets the [`next`](Call::next) action, executes it, calls [`record`](Call::record) with the result of an
//! attempt, and gets the next one. The browser's loop and the native loop are ten lines each and differ only in how
//! they fetch and sleep.

use super::retry::pause_before_retry;
use super::{Error, Method, Refusal, Repeat, Spec};
use std::time::Duration;

/// The usual time limit of a call: all its attempts together, pauses included.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(30);

/// The result of one attempt.
///
/// ```
/// use guichet::protocol::AttemptResult;
/// let busy = AttemptResult::Reply { status: 503, retry_after: None, retryable: Some(true) };
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AttemptResult {
    /// The request was not sent.
    NotSent,
    /// The request was sent, and there is no reply.
    NoReply,
    /// Another attempt would end alike: the HTTP client refuses the address, or there was a redirect.
    Final {
        /// Whether the service may have executed the request.
        may_have_executed: bool,
    },
    /// A reply.
    Reply {
        /// Its HTTP status.
        status: u16,
        /// Its `Retry-After`, if it can be parsed.
        retry_after: Option<Duration>,
        /// Whether its body says that another attempt can help.
        retryable: Option<bool>,
    },
}

/// A call that has ended.
///
/// ```
/// use guichet::protocol::{Completed, Error, Kind};
/// let completed = Completed::<String>::not_sent(Error::new(Kind::Input, "No header can carry it."));
/// assert!(completed.attempts.is_empty() && completed.result.is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Completed<T> {
    /// The result of each attempt.
    pub attempts: Vec<AttemptResult>,
    /// The successful reply, or the error of the call.
    pub result: Result<T, Error>,
}

impl<T> Completed<T> {
    /// A call that cannot be sent.
    #[must_use]
    pub fn not_sent(error: Error) -> Self {
        Self { attempts: Vec::new(), result: Err(error) }
    }

    /// The same call, with what is read from its reply.
    pub fn and_then<U>(self, read: impl FnOnce(T) -> Result<U, Error>) -> Completed<U> {
        Completed { attempts: self.attempts, result: self.result.and_then(read) }
    }
}

/// The action that the caller executes next.
///
/// ```
/// use guichet::protocol::{Action, Call, DEFAULT_DEADLINE, Repeat};
/// use std::time::Duration;
/// match Call::new(Repeat::Never, DEFAULT_DEADLINE).next(Duration::ZERO) {
///     Action::Send(within) => assert_eq!(within, Duration::from_secs(30)),
///     Action::Wait(_) | Action::Done => unreachable!("a new call is sent first"),
/// }
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Action {
    /// Send the request, and give up after this long.
    Send(Duration),
    /// Wait this long.
    Wait(Duration),
    /// Return the last result.
    Done,
}

/// One call.
///
/// ```
/// use guichet::protocol::{Action, AttemptResult, Call, DEFAULT_DEADLINE, Repeat};
/// use std::time::Duration;
/// let mut call = Call::new(Repeat::Always, DEFAULT_DEADLINE);
/// assert!(matches!(call.next(Duration::ZERO), Action::Send(_)));
/// call.record(&AttemptResult::NoReply, || 7);
/// assert!(matches!(call.next(Duration::ZERO), Action::Wait(_)));
/// ```
#[derive(Debug)]
pub struct Call {
    repeat: Repeat,
    deadline: Duration,
    attempt: u32,
    state: State,
    may_have_executed: bool,
    earlier_may_have_executed: bool,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Ready,
    Sent,
    Pausing(Duration),
    Done,
}

impl Call {
    /// A call that has not begun, with the time limit for all its attempts together.
    #[must_use]
    pub fn new(repeat: Repeat, deadline: Duration) -> Self {
        Self {
            repeat,
            deadline,
            attempt: 0,
            state: State::Ready,
            may_have_executed: false,
            earlier_may_have_executed: false,
        }
    }

    /// The number of the current attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Whether the service may have executed the last attempt that was recorded.
    #[must_use]
    pub fn may_have_executed(&self) -> bool {
        self.may_have_executed
    }

    /// Whether the service may have executed an attempt before the last one.
    #[must_use]
    pub fn earlier_may_have_executed(&self) -> bool {
        self.earlier_may_have_executed
    }

    /// The error of a reply with an error status to the last attempt. A conflict after a lost answer may be with the
    /// call itself.
    #[must_use]
    pub fn refused(&self, spec: &Spec, status: u16, refusal: Refusal) -> Error {
        const CONFLICT: &str = "The answer to a first attempt was lost, and the service now refuses to repeat it. Read what is there (existing_id) \
                                before anything is sent again.";
        let error = Error::refused(spec, status, refusal);
        if status == 409 && spec.method != Method::Get && self.earlier_may_have_executed {
            return error.uncertain(CONFLICT);
        }
        error
    }

    /// Returns the next action. `elapsed` is the time since the call began.
    pub fn next(&mut self, elapsed: Duration) -> Action {
        let left = self.deadline.saturating_sub(elapsed);
        match self.state {
            State::Pausing(pause) if pause < left => {
                self.state = State::Ready;
                Action::Wait(pause)
            }
            State::Ready if !left.is_zero() || self.attempt == 0 => {
                self.state = State::Sent;
                self.attempt += 1;
                Action::Send(left)
            }
            // A pause that would end after the deadline does not start: the last result is returned.
            State::Pausing(_) | State::Ready | State::Sent | State::Done => {
                self.state = State::Done;
                Action::Done
            }
        }
    }

    /// Records the result of an attempt. `random_u32` is called once if a pause follows.
    pub fn record(&mut self, result: &AttemptResult, random_u32: impl FnOnce() -> u32) {
        self.earlier_may_have_executed |= self.may_have_executed;
        self.may_have_executed = result.may_have_executed();
        self.state = match pause_before_retry(self.repeat, result, self.attempt, random_u32) {
            Some(pause) => State::Pausing(pause),
            None => State::Done,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const BUSY: AttemptResult = AttemptResult::Reply { status: 503, retry_after: Some(SECOND), retryable: Some(true) };
    const GOOD: AttemptResult = AttemptResult::Reply { status: 200, retry_after: None, retryable: None };

    #[test]
    fn a_call_is_sent_once_when_it_is_answered() {
        let mut call = Call::new(Repeat::Always, DEFAULT_DEADLINE);
        assert_eq!(call.next(Duration::ZERO), Action::Send(30 * SECOND));
        call.record(&GOOD, || 0);
        assert_eq!(call.next(SECOND), Action::Done);
        assert_eq!(call.attempt(), 1);
    }

    #[test]
    fn a_busy_service_is_asked_again_after_its_pause() {
        let mut call = Call::new(Repeat::Never, DEFAULT_DEADLINE);
        call.next(Duration::ZERO);
        call.record(&BUSY, || 0);
        assert_eq!(call.next(Duration::ZERO), Action::Wait(SECOND));
        assert_eq!(call.next(SECOND), Action::Send(29 * SECOND));
        call.record(&GOOD, || 0);
        assert_eq!(call.next(SECOND), Action::Done);
        assert_eq!(call.attempt(), 2);
    }

    #[test]
    fn a_pause_past_the_deadline_is_not_begun() {
        let mut call = Call::new(Repeat::Always, SECOND);
        call.next(Duration::ZERO);
        call.record(&BUSY, || u32::MAX);
        assert_eq!(call.next(SECOND / 2), Action::Done);
    }

    #[test]
    fn an_unrepeatable_call_is_not_retried_when_its_response_is_lost() {
        let mut call = Call::new(Repeat::Never, DEFAULT_DEADLINE);
        call.next(Duration::ZERO);
        call.record(&AttemptResult::NoReply, || 0);
        assert_eq!(call.next(SECOND), Action::Done);
    }
}
