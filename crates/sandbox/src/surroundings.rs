//! The surroundings of the sandbox: time, randomness, waiting, environment variables, files, and compression. On a
//! system they are its own; elsewhere, as in wasm32, the caller gives them.

use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::OnceLock;
use std::task::Poll;
use std::time::Duration;

/// Functions of the surroundings. They are the process's: the first that are given stay.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// The time in Unix seconds.
    pub unix_seconds: fn() -> i64,
    /// The time of a clock that never goes back, from any origin.
    pub monotonic_now: fn() -> Duration,
    /// Fills with random bytes that cannot be guessed: keys are made of them.
    pub fill_random: fn(&mut [u8]),
    /// Resolves after this time.
    pub sleep: fn(Duration) -> Sleep,
    /// An environment variable: `GUICHET_SECRET_KEY`, `GUICHET_INSTANCE_KEY` or `GUICHET_CONTROL_TOKEN`.
    pub variable: fn(&str) -> Option<String>,
    /// The content of a file of [`Config::checkout`](crate::Config::checkout). `None` if it cannot be read.
    pub read_file: fn(&Path) -> Option<Vec<u8>>,
    /// Compresses a file of the hosted page with brotli. `None` if that is not possible.
    pub brotli: fn(&[u8]) -> Option<Vec<u8>>,
    /// Compresses a file of the hosted page with gzip. `None` if that is not possible.
    pub gzip: fn(&[u8]) -> Option<Vec<u8>>,
}

/// A future that resolves after a time.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

static GIVEN: OnceLock<Surroundings> = OnceLock::new();

/// Sets the surroundings of this process, unless there are some.
pub(super) fn give(surroundings: Surroundings) {
    GIVEN.get_or_init(|| surroundings);
}

#[cfg(feature = "serve")]
fn given() -> &'static Surroundings {
    GIVEN.get_or_init(Surroundings::system)
}

#[cfg(not(feature = "serve"))]
fn given() -> &'static Surroundings {
    GIVEN.get().expect("a sandbox is started with its surroundings")
}

pub(super) fn unix_seconds() -> i64 {
    (given().unix_seconds)()
}

pub(super) fn monotonic_now() -> Duration {
    (given().monotonic_now)()
}

pub(super) fn fill_random(bytes: &mut [u8]) {
    (given().fill_random)(bytes);
}

pub(super) fn sleep(time: Duration) -> Sleep {
    (given().sleep)(time)
}

pub(super) fn variable(name: &str) -> Option<String> {
    (given().variable)(name)
}

pub(super) fn read_file(path: &Path) -> Option<Vec<u8>> {
    (given().read_file)(path)
}

pub(super) fn brotli(bytes: &[u8]) -> Option<Vec<u8>> {
    (given().brotli)(bytes)
}

pub(super) fn gzip(bytes: &[u8]) -> Option<Vec<u8>> {
    (given().gzip)(bytes)
}

/// Polls work for at most this long, and at least once. `None` if that was not enough.
pub(super) async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    // Most work needs no timer: it is made only if the work has to wait.
    let mut timer = None;
    std::future::poll_fn(|context| {
        if let Poll::Ready(result) = work.as_mut().poll(context) {
            return Poll::Ready(Some(result));
        }
        if limit.is_zero() {
            return Poll::Ready(None);
        }
        timer.get_or_insert_with(|| sleep(limit)).as_mut().poll(context).map(|()| None)
    })
    .await
}

#[cfg(feature = "serve")]
impl Surroundings {
    /// The system's clocks and random generator, the runtime's timer, and the compression of Rust's crates.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "these are the clocks; everywhere else time is an argument")]
    pub fn system() -> Self {
        use std::time::{Instant, SystemTime, UNIX_EPOCH};
        static START: OnceLock<Instant> = OnceLock::new();
        Self {
            unix_seconds: || {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
            },
            monotonic_now: || START.get_or_init(Instant::now).elapsed(),
            fill_random: |bytes| {
                getrandom::fill(bytes).expect("the system's random generator works: it did when the sandbox started");
            },
            sleep: |time| Box::pin(tokio::time::sleep(time)),
            variable: |name| std::env::var(name).ok(),
            read_file: |path| std::fs::read(path).ok(),
            brotli: |bytes| {
                let size_hint = bytes.len();
                let best = brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, size_hint, ..Default::default() };
                let mut compressed = Vec::new();
                brotli::BrotliCompress(&mut &*bytes, &mut compressed, &best).ok()?;
                Some(compressed)
            },
            gzip: |bytes| {
                use std::io::Write as _;
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
                encoder.write_all(bytes).ok()?;
                encoder.finish().ok()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_takes_too_long_is_given_up_and_finished_work_is_not() {
        let forever = std::future::pending::<()>;
        assert_eq!(within(Duration::from_millis(5), forever()).await, None);
        assert_eq!(within(Duration::ZERO, forever()).await, None);
        assert_eq!(within(Duration::ZERO, async { 1 }).await, Some(1), "it is polled once");
        assert_eq!(within(Duration::from_secs(60), async { sleep(Duration::from_millis(5)).await }).await, Some(()));
    }
}
