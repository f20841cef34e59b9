//! One call as a state machine: no socket, no clock, no output type.
//!
//! **Step, do what it says, tell it what was seen, step.** The browser's loop and the native one are ten lines each and
//! differ only in how they fetch and how they sleep.

use super::{Attempt, Repeat, after};
use std::time::Duration;

/// How long a caller is ready to wait, for all attempts together.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// From the first step to the end.
    pub deadline: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(30) }
    }
}

/// What one attempt saw.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Seen {
    /// No reply: it was never sent, or its answer was lost.
    Lost,
    /// A reply.
    Reply {
        /// Its HTTP status.
        status: u16,
        /// Its `Retry-After`, where it can be read.
        retry_after: Option<Duration>,
        /// Whether its body says that another attempt can help.
        retryable: Option<bool>,
    },
}

/// What to do next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// Send the request, and give up after this long.
    Send(Duration),
    /// Wait this long.
    Wait(Duration),
    /// The last thing seen is the answer.
    Done,
}

/// One call.
#[derive(Debug)]
pub struct Call {
    repeat: Repeat,
    patience: Patience,
    attempt: u32,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Ready,
    Sent,
    Pausing(Duration),
    Done,
}

impl Call {
    /// A call that has not begun.
    #[must_use]
    pub fn new(repeat: Repeat, patience: Patience) -> Self {
        Self { repeat, patience, attempt: 0, state: State::Ready }
    }

    /// Which attempt is under way, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// What to do now, `elapsed` after the call began.
    pub fn step(&mut self, elapsed: Duration) -> Step {
        let left = self.patience.deadline.saturating_sub(elapsed);
        match self.state {
            State::Pausing(pause) if pause < left => {
                self.state = State::Ready;
                Step::Wait(pause)
            }
            State::Ready if !left.is_zero() || self.attempt == 0 => {
                self.state = State::Sent;
                self.attempt += 1;
                Step::Send(left)
            }
            // A pause that would end after the deadline is not begun: what was seen last is the answer.
            State::Pausing(_) | State::Ready | State::Sent | State::Done => {
                self.state = State::Done;
                Step::Done
            }
        }
    }

    /// Tells what the attempt saw; `luck` draws any random number, and is asked for one before a pause alone.
    pub fn saw(&mut self, seen: &Seen, luck: fn() -> u32) {
        self.state = match after(self.repeat, seen, Attempt { number: self.attempt, luck }) {
            Some(pause) => State::Pausing(pause),
            None => State::Done,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const BUSY: Seen = Seen::Reply { status: 503, retry_after: Some(SECOND), retryable: Some(true) };
    const GOOD: Seen = Seen::Reply { status: 200, retry_after: None, retryable: None };

    #[test]
    fn a_call_is_sent_once_when_it_is_answered() {
        let mut call = Call::new(Repeat::Always, Patience::default());
        assert_eq!(call.step(Duration::ZERO), Step::Send(30 * SECOND));
        call.saw(&GOOD, || 0);
        assert_eq!(call.step(SECOND), Step::Done);
        assert_eq!(call.attempt(), 1);
    }

    #[test]
    fn a_busy_service_is_asked_again_after_its_pause() {
        let mut call = Call::new(Repeat::Never, Patience::default());
        call.step(Duration::ZERO);
        call.saw(&BUSY, || 0);
        assert_eq!(call.step(Duration::ZERO), Step::Wait(SECOND));
        assert_eq!(call.step(SECOND), Step::Send(29 * SECOND));
        call.saw(&GOOD, || 0);
        assert_eq!(call.step(SECOND), Step::Done);
        assert_eq!(call.attempt(), 2);
    }

    #[test]
    fn a_pause_past_the_deadline_is_not_begun() {
        let mut call = Call::new(Repeat::Always, Patience { deadline: SECOND });
        call.step(Duration::ZERO);
        call.saw(&BUSY, || u32::MAX);
        assert_eq!(call.step(SECOND / 2), Step::Done);
    }

    #[test]
    fn what_may_not_be_repeated_is_not_sent_again_when_its_answer_is_lost() {
        let mut call = Call::new(Repeat::Never, Patience::default());
        call.step(Duration::ZERO);
        call.saw(&Seen::Lost, || 0);
        assert_eq!(call.step(SECOND), Step::Done);
    }
}
