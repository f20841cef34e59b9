//! Shared by the model-based tests: one sandbox on each store for all, or the npm package, with a new merchant for each
//! case.

use super::api::{card, phone};
use super::folder::Folder;
use super::service::{Sandbox, Service};
use guichet_sandbox as sandbox;
use guichet_sandbox::{self, Config, WallClock};
use proptest::test_runner::{Config as ProptestConfig, FileFailurePersistence};
use serde_json::Value;
use std::sync::LazyLock;
use tokio::runtime::Runtime;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
static FOLDER: LazyLock<Folder> = LazyLock::new(|| Folder::new("model"));
/// In memory and in an SQLite file, or the npm package if that is chosen.
static SANDBOXES: LazyLock<Vec<Sandbox>> = LazyLock::new(|| {
    if Service::chosen() == Service::Package {
        return vec![RUNTIME.block_on(Sandbox::start()).unwrap()];
    }
    let start = |database| -> Sandbox {
        let config = Config { database, wall_clock: WALL_CLOCK.clone(), ..Config::default() };
        RUNTIME.block_on(sandbox::Sandbox::start_with(config)).unwrap().into()
    };
    ["memory:".to_owned(), FOLDER.database()].map(start).into()
});
/// The wall clock of the sandboxes in this process, which is set back now and then. No case may notice it.
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

/// Runs one case on each.
pub fn run(case: impl AsyncFn(&Sandbox)) {
    for sandbox in &*SANDBOXES {
        RUNTIME.block_on(case(sandbox));
    }
}

/// The test payment methods of the sandbox, by what a charge of each does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Method {
    ApprovedLateAfterRefusal,
    ApprovedLateAfterTimeout,
    ApprovedLateAfterUnavailable,
    AsksForCode,
    AsksForRedirect,
    Blocked,
    FailsThenPays,
    Hangs,
    Pays,
    PaysByCard,
    PaysInThirtySeconds,
    Recovers,
    TimesOut,
    TooPoor,
}

impl Method {
    /// The body that attaches it.
    pub fn body(self) -> Value {
        match self {
            Self::ApprovedLateAfterRefusal => phone("237670000013"),
            Self::ApprovedLateAfterTimeout => phone("237670000011"),
            Self::ApprovedLateAfterUnavailable => phone("237670000012"),
            Self::AsksForCode => phone("237670000010"),
            Self::AsksForRedirect => card("4000000000003220"),
            Self::Blocked => phone("237670000009"),
            Self::FailsThenPays => phone("237670000014"),
            Self::Hangs => phone("237670000005"),
            Self::Pays => phone("237670000000"),
            Self::PaysByCard => card("4242424242424242"),
            Self::PaysInThirtySeconds => phone("237670000001"),
            Self::Recovers => phone("237670000007"),
            Self::TimesOut => phone("237670000004"),
            Self::TooPoor => phone("237670000002"),
        }
    }
}
