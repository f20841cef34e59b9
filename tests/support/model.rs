//! Shared by the model-based tests: one sandbox for all, with a new merchant for each case.

use guichet::sandbox::{Config, Sandbox, WallClock};
use proptest::test_runner::{Config as ProptestConfig, FileFailurePersistence};
use std::sync::LazyLock;
use tokio::runtime::Runtime;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
pub static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| {
    let config = Config { wall_clock: WALL_CLOCK.clone(), ..Config::default() };
    RUNTIME.block_on(Sandbox::start_with(config)).unwrap()
});
/// The sandbox's wall clock, which is set back now and then. No case may notice it.
pub static WALL_CLOCK: LazyLock<WallClock> = LazyLock::new(WallClock::default);

/// A configuration with this many cases. The seed of a failure is stored beside the test.
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
