//! The service's clock. No other file of the sandbox reads one.

use super::store::{Store, Unavailable};
use crate::values::Moment;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// How far the wall clock must be behind before the log says so, in seconds.
const WORTH_A_LINE: i64 = 2;

/// A clock that never goes back, not even over a restart: what was final or expired stays so.
///
/// **Requests are answered by a second that is stored.** [`ServiceClock::catch_up`] stores the second that the clock shows,
/// once, and [`ServiceClock::now`] gives that second. After a crash the clock goes on from there, whatever the wall clock
/// shows.
#[derive(Debug)]
pub(super) struct ServiceClock {
    wall_clock: WallClock,
    shown: Mutex<Shown>,
    /// The latest second that is stored.
    stored: AtomicI64,
    /// Held by whoever stores a second; who waits for it finds it stored.
    storing: tokio::sync::Mutex<()>,
}

/// What the clock has shown.
#[derive(Debug)]
struct Shown {
    /// The latest second that was taken from the wall clock, or from the database at the start.
    second: i64,
    /// The moment it was taken, on the monotonic clock.
    at: Instant,
    /// Whether the log has said that the wall clock is behind.
    is_behind: bool,
}

impl ServiceClock {
    /// Goes on from the latest second that is stored.
    pub(super) async fn load(store: &Store, wall_clock: WallClock) -> Result<Self, Unavailable> {
        let stored = store.latest_second().await?;
        let clock = Self {
            wall_clock,
            shown: Mutex::new(Shown { second: stored, at: monotonic_now(), is_behind: false }),
            stored: AtomicI64::new(stored),
            storing: tokio::sync::Mutex::default(),
        };
        clock.store_second(store).await?;
        Ok(clock)
    }

    /// The latest second that is stored. Every answer is given by it.
    pub(super) fn now(&self) -> Moment {
        Moment::from_unix(self.stored.load(Ordering::Acquire))
    }

    /// The second that the clock shows, which may not be stored yet. No answer may depend on it.
    pub(super) fn peek(&self) -> Moment {
        Moment::from_unix(self.shown())
    }

    /// Brings [`ServiceClock::now`] to the second that the clock shows: stores it, where nobody has done so in this second.
    ///
    /// If it cannot be stored, `now` stands still. Then reads are answered by the second that is stored, and nothing can be
    /// written.
    pub(super) async fn catch_up(&self, store: &Store) {
        if let Err(error) = self.store_second(store).await {
            tracing::error!(%error, "the service's clock stands still: its second cannot be stored");
        }
    }

    async fn store_second(&self, store: &Store) -> Result<(), Unavailable> {
        if self.shown() <= self.stored.load(Ordering::Acquire) {
            return Ok(());
        }
        let _storing = self.storing.lock().await;
        let second = self.shown();
        if second > self.stored.load(Ordering::Acquire) {
            store.save_second(second).await?;
            self.stored.fetch_max(second, Ordering::AcqRel);
        }
        Ok(())
    }

    /// The wall clock's second; while that is behind what was shown, the latest second that was shown and as many more as
    /// have passed since.
    fn shown(&self) -> i64 {
        let wall = self.wall_clock.unix();
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let now = monotonic_now();
        let passed = i64::try_from(now.saturating_duration_since(shown.at).as_secs()).unwrap_or(i64::MAX);
        let runs_on = shown.second.saturating_add(passed);
        if wall >= runs_on {
            if std::mem::take(&mut shown.is_behind) {
                tracing::info!("the wall clock has caught up with the service's clock");
            }
            (shown.second, shown.at) = (wall, now);
            return wall;
        }
        let seconds = runs_on - wall;
        if seconds >= WORTH_A_LINE && !std::mem::replace(&mut shown.is_behind, true) {
            tracing::warn!(
                seconds,
                "the wall clock is behind what the service has told: the service's clock runs on from there"
            );
        }
        runs_on
    }
}

/// The wall clock of a sandbox. A test can shift it; everyone else leaves it as it is.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct WallClock {
    shift: Arc<AtomicI64>,
}

impl WallClock {
    /// From now on it shows the system's time and so many seconds more. Clones are shifted as well.
    pub fn shift(&self, seconds: i64) {
        self.shift.store(seconds, Ordering::Release);
    }

    fn unix(&self) -> i64 {
        #[expect(clippy::disallowed_methods, reason = "this is the clock; everywhere else time is an argument")]
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        seconds.saturating_add(self.shift.load(Ordering::Acquire))
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock; everywhere else time is an argument")]
fn monotonic_now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::store::Location;

    const FULL: &str = "RAISE(ABORT, 'the disk is full')";

    #[tokio::test]
    async fn a_clock_set_back_runs_on_from_the_latest_second_and_is_caught_up_with() {
        let store = Store::open(&Location::Memory).await.unwrap();
        let wall_clock = WallClock::default();
        let clock = ServiceClock::load(&store, wall_clock.clone()).await.unwrap();
        let before = clock.now();
        wall_clock.shift(-3_600);
        let start = monotonic_now();
        while clock.peek() == before {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let passed = i64::try_from(start.elapsed().as_secs()).unwrap();
        assert!((1..=passed + 1).contains(&(clock.peek().unix() - before.unix())), "it runs at its own pace");
        assert_eq!(clock.now(), before, "an answer is given by a second that is stored");
        clock.catch_up(&store).await;
        let told = clock.now();
        assert_eq!(store.latest_second().await.unwrap(), told.unix());
        assert!(told > before);

        // After a restart it goes on from what is stored.
        let again = ServiceClock::load(&store, wall_clock.clone()).await.unwrap();
        assert!((0..60).contains(&(again.now().unix() - told.unix())));
        wall_clock.shift(3_600);
        again.catch_up(&store).await;
        assert!(again.now().unix() >= before.unix() + 3_600, "the wall clock is ahead again");
    }

    #[tokio::test]
    async fn a_clock_that_cannot_store_its_second_stands_still() {
        let store = Store::open(&Location::Memory).await.unwrap();
        let wall_clock = WallClock::default();
        let clock = ServiceClock::load(&store, wall_clock.clone()).await.unwrap();
        store.intercept("service_clock", "UPDATE", FULL).await;
        let before = clock.now();
        wall_clock.shift(100);
        clock.catch_up(&store).await;
        assert_eq!(clock.now(), before);
        store.stop_intercepting().await;
        clock.catch_up(&store).await;
        assert!(clock.now().unix() >= before.unix() + 100);
    }
}
