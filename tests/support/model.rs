//! Shared by the model-based tests: one sandbox on each store for all, with a new merchant for each case.

use super::folder::Folder;
use guichet::sandbox::{Config, Sandbox, WallClock};
use proptest::test_runner::{Config as ProptestConfig, FileFailurePersistence};
use std::sync::LazyLock;
use tokio::runtime::Runtime;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
static FOLDER: LazyLock<Folder> = LazyLock::new(|| Folder::new("model"));
/// In memory, and in an SQLite file.
static SANDBOXES: LazyLock<[Sandbox; 2]> = LazyLock::new(|| {
    ["memory:".to_owned(), FOLDER.database()].map(|database| {
        let config = Config { database, wall_clock: WALL_CLOCK.clone(), ..Config::default() };
        RUNTIME.block_on(Sandbox::start_with(config)).unwrap()
    })
});
/// The sandboxes' wall clock, which is set back now and then. No case may notice it.
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

/// Runs one case on each store.
pub fn run(case: impl AsyncFn(&Sandbox)) {
    for sandbox in &*SANDBOXES {
        RUNTIME.block_on(case(sandbox));
    }
}
