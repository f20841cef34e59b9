//! The service's clock. No other file of the sandbox asks for the time.

use super::store::{Backend, PendingWrite, Write};
use super::surroundings::{monotonic_now, unix_seconds, within};
use super::unavailable::Unavailable;
use guichet::values::{Moment, printable};
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The wall clock's lag, in seconds, from which a warning is logged.
const LOGGED_LAG: i64 = 2;

/// The longest time that a request waits for its second to be stored.
const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// The pause after a failed attempt to store a second.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A clock that never goes back, not even across a restart, so that final and expired objects stay so.
///
/// **A response depends only on a second that is stored.** [`ServiceClock::catch_up`] stores the clock's current
/// second, once, and [`ServiceClock::now`] returns it. After a crash the clock continues from there, whatever the wall
/// clock shows.
///
/// **If a second cannot be stored, the clock continues in memory.** If it stopped, sessions would not expire while the
/// disk is full. Nothing final depends on a second that is not stored: a final status that follows from time is itself
/// stored before it is sent, and if that fails, the response is 503, as for every write.
pub(super) struct ServiceClock {
    wall_clock: WallClock,
    shown: Mutex<Shown>,
    /// The second on which responses depend.
    current: AtomicI64,
    /// The latest second that is stored.
    stored: AtomicI64,
    /// Whether the log contains the warning that seconds are not being stored.
    is_unstored: AtomicBool,
    /// Held by the request that waits for a second to be stored; other requests wait for it.
    storing: tokio::sync::Mutex<Storing>,
}

/// The attempts to store a second.
#[derive(Default)]
struct Storing {
    /// The attempt in flight. It outlives the request that began it, so that requests that time out do not queue more
    /// writes.
    attempt: Option<(i64, PendingWrite)>,
    /// When the last attempt failed; `None` if it succeeded.
    failed_at: Option<Duration>,
}

/// The last reading of the clock.
#[derive(Debug)]
struct Shown {
    /// The latest second from the wall clock, or at the start from the database.
    second: i64,
    /// Its time on the monotonic clock.
    at: Duration,
    /// Whether the log contains the warning that the wall clock is behind.
    is_behind: bool,
}

impl Shown {
    /// The second plus the time that has passed since on the monotonic clock.
    fn after(&self, now: Duration) -> i64 {
        let passed = i64::try_from(now.saturating_sub(self.at).as_secs()).unwrap_or(i64::MAX);
        self.second.saturating_add(passed)
    }
}

impl ServiceClock {
    /// Starts a clock from the latest stored second.
    pub(super) async fn load(store: &dyn Backend, wall_clock: WallClock) -> Result<Self, Unavailable> {
        let stored = store.latest_second().await?;
        let clock = Self {
            wall_clock,
            shown: Mutex::new(Shown { second: stored, at: monotonic_now(), is_behind: false }),
            current: AtomicI64::new(stored),
            stored: AtomicI64::new(stored),
            is_unstored: AtomicBool::new(false),
            storing: tokio::sync::Mutex::default(),
        };
        clock.store_second(store).await?;
        Ok(clock)
    }

    /// The second on which responses depend: the latest stored one, unless storing fails.
    pub(super) fn now(&self) -> Moment {
        Moment::from_unix(self.current.load(Ordering::Acquire))
    }

    /// The current second, even if it is not stored yet. No response may depend on it.
    pub(super) fn peek(&self) -> Moment {
        Moment::from_unix(self.shown())
    }

    /// Brings [`ServiceClock::now`] to the current second: stores it, unless another request has. Waits for at most
    /// [`LONGEST_WAIT`], and not at all while storing fails.
    pub(super) async fn catch_up(&self, store: &dyn Backend) {
        // A zero timeout still polls once: it begins an attempt, or takes the result of a finished one.
        let wait = if self.is_unstored.load(Ordering::Acquire) { Duration::ZERO } else { LONGEST_WAIT };
        match within(wait, self.store_second(store)).await {
            Some(Ok(())) => {}
            Some(Err(error)) => self.continue_unstored(&error),
            None => self.continue_unstored(&"it takes too long"),
        }
    }

    /// Continues with the current second although it is not stored.
    fn continue_unstored(&self, error: &dyn Display) {
        self.current.fetch_max(self.shown(), Ordering::AcqRel);
        if !self.is_unstored.swap(true, Ordering::AcqRel) {
            tracing::error!(
                error = %printable(error),
                "the service's clock cannot be stored: it continues in memory, and writes may fail"
            );
        }
    }

    async fn store_second(&self, store: &dyn Backend) -> Result<(), Unavailable> {
        if self.shown() <= self.stored.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut storing = self.storing.lock().await;
        loop {
            let shown = self.shown();
            if shown <= self.stored.load(Ordering::Acquire) {
                return Ok(());
            }
            if storing.attempt.is_none() {
                let now = monotonic_now();
                if storing.failed_at.is_some_and(|at| now.saturating_sub(at) < RETRY_AFTER) {
                    return Err(Unavailable::because("the last attempt to store the second has failed"));
                }
                storing.attempt = Some((shown, store.queue(Write::SaveSecond(shown)).await?));
            }
            // Polled in place: if this request times out, the next one takes the result.
            let Some((second, pending)) = &mut storing.attempt else { continue };
            let (second, result) = (*second, pending.await);
            storing.attempt = None;
            let stored = match result {
                Ok(true) => Ok(second),
                // A later one is stored.
                Ok(false) => store.latest_second().await,
                Err(error) => Err(error),
            };
            storing.failed_at = stored.is_err().then(monotonic_now);
            self.mark_stored(stored?);
        }
    }

    fn mark_stored(&self, second: i64) {
        self.continue_from(second);
        self.stored.fetch_max(second, Ordering::AcqRel);
        let before = self.current.fetch_max(second, Ordering::AcqRel);
        if before <= second && self.is_unstored.swap(false, Ordering::AcqRel) {
            tracing::info!("the service's clock is stored again");
        }
    }

    /// Continues from a stored second if the clock shows an earlier one.
    fn continue_from(&self, second: i64) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let now = monotonic_now();
        if second > shown.after(now) {
            (shown.second, shown.at) = (second, now);
        }
    }

    /// The wall clock's second. While it is behind the latest second shown, that second plus the time that has passed
    /// since on the monotonic clock.
    fn shown(&self) -> i64 {
        let wall = self.wall_clock.unix();
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let now = monotonic_now();
        let runs_on = shown.after(now);
        if wall >= runs_on {
            if std::mem::take(&mut shown.is_behind) {
                tracing::info!("the wall clock has caught up with the service's clock");
            }
            (shown.second, shown.at) = (wall, now);
            return wall;
        }
        let seconds = runs_on - wall;
        if seconds >= LOGGED_LAG && !std::mem::replace(&mut shown.is_behind, true) {
            tracing::warn!(
                seconds,
                "the wall clock is behind the service's clock, which continues from its latest second"
            );
        }
        runs_on
    }
}

/// The wall clock of a sandbox, which a test can shift.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct WallClock {
    shift: Arc<AtomicI64>,
}

impl WallClock {
    /// Shifts the clock: it shows the system's time plus `seconds`. Clones are shifted too.
    pub fn shift(&self, seconds: i64) {
        self.shift.store(seconds, Ordering::Release);
    }

    fn unix(&self) -> i64 {
        unix_seconds().saturating_add(self.shift.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Memory, Sqlite};

    const FULL: &str = "RAISE(ABORT, 'the disk is full')";

    #[tokio::test]
    async fn a_clock_set_back_continues_from_the_latest_second_until_the_wall_clock_catches_up() {
        let store = Memory::default();
        let wall_clock = WallClock::default();
        let clock = ServiceClock::load(&store, wall_clock.clone()).await.unwrap();
        let before = clock.now();
        wall_clock.shift(-3_600);
        let start = monotonic_now();
        while clock.peek() == before {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let passed = i64::try_from((monotonic_now() - start).as_secs()).unwrap();
        assert!(
            (1..=passed + 1).contains(&(clock.peek().unix() - before.unix())),
            "it continues at the monotonic clock's pace"
        );
        assert_eq!(clock.now(), before, "responses depend on a stored second");
        clock.catch_up(&store).await;
        let answered = clock.now();
        assert_eq!(store.latest_second().await.unwrap(), answered.unix());
        assert!(answered > before);

        // After a restart it continues from the stored second.
        let again = ServiceClock::load(&store, wall_clock.clone()).await.unwrap();
        assert!((0..60).contains(&(again.now().unix() - answered.unix())));
        wall_clock.shift(3_600);
        again.catch_up(&store).await;
        assert!(again.now().unix() >= before.unix() + 3_600, "the wall clock is ahead again");
    }

    #[tokio::test]
    async fn a_clock_that_cannot_store_its_second_continues_and_never_goes_back() {
        let store = Sqlite::without_file().await;
        let wall_clock = WallClock::default();
        let clock = ServiceClock::load(&store, wall_clock.clone()).await.unwrap();
        store.intercept("service_clock", "UPDATE", FULL).await;
        let before = clock.now();
        wall_clock.shift(100);
        clock.catch_up(&store).await;
        let unstored = clock.now();
        assert!(unstored.unix() >= before.unix() + 100);
        assert!(store.latest_second().await.unwrap() < unstored.unix());
        wall_clock.shift(0);
        store.stop_intercepting().await;
        while store.latest_second().await.unwrap() < unstored.unix() {
            tokio::time::sleep(Duration::from_millis(20)).await;
            clock.catch_up(&store).await;
            assert!(clock.now() >= unstored);
        }
    }

    #[tokio::test]
    async fn a_failed_store_is_shared_and_not_repeated_at_once() {
        let store = Sqlite::without_file().await;
        let wall_clock = WallClock::default();
        let clock = ServiceClock::load(&store, wall_clock.clone()).await.unwrap();
        store.intercept("service_clock", "UPDATE", FULL).await;
        wall_clock.shift(100);
        assert!(clock.store_second(&store).await.is_err());
        store.stop_intercepting().await;
        // It could be stored now, but the next attempt waits.
        let failed_at = clock.storing.lock().await.failed_at.unwrap();
        let retried = clock.store_second(&store).await;
        assert!(retried.is_err() || monotonic_now() - failed_at >= RETRY_AFTER);
        tokio::time::sleep(RETRY_AFTER).await;
        clock.store_second(&store).await.unwrap();
    }
}
