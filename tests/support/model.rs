//! What the tests against a model share: one sandbox for all of them, in which each case has a merchant of its own.

use guichet::sandbox::{Config, Sandbox, WallClock};
use proptest::test_runner::{Config as ProptestConfig, FileFailurePersistence};
use std::sync::LazyLock;
use tokio::runtime::Runtime;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
pub static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| {
    let config = Config { wall_clock: WALL_CLOCK.clone(), ..Config::default() };
    RUNTIME.block_on(Sandbox::start_with(config)).unwrap()
});
/// The sandbox's, which is set back now and then. No case may notice.
pub static WALL_CLOCK: LazyLock<WallClock> = LazyLock::new(WallClock::default);

/// So many cases. The seed of a failure is kept beside the test.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        max_shrink_iters: 200,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("seeds"))),
        ..ProptestConfig::default()
    }
}

/// Runs one case.
pub fn run(case: impl Future<Output = ()>) {
    LazyLock::force(&SANDBOX);
    RUNTIME.block_on(case);
}
