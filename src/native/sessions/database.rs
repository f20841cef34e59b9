//! What the stores on PostgreSQL and Redis have in common: a time limit, steps that are repeated over a new connection, and the
//! error if the database does not answer.

use crate::native::{Reason, Refused};
use crate::protocol::{Error, Kind};
use crate::values::printable;
use std::fmt;
use std::time::Duration;
use tokio::time;

/// The time limit of one step, connecting and repeating included.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);
/// The pause before a step is repeated.
const PAUSE: Duration = Duration::from_millis(100);

/// Why a step was not done.
pub(super) struct Failed(String);

/// Does one step of a store. While `is_passing` says that its error may pass, such as a lost connection, the step is repeated until
/// [`DEADLINE`]: every step of a [`SessionStore`](super::SessionStore) may be repeated.
pub(super) async fn attempt<T, E, Step>(step: impl Fn() -> Step, is_passing: fn(&E) -> bool) -> Result<T, Failed>
where
    E: fmt::Display,
    Step: Future<Output = Result<T, E>>,
{
    let mut last = None;
    let repeated = async {
        loop {
            match step().await {
                Err(error) if is_passing(&error) => last = Some(error.to_string()),
                outcome => return outcome.map_err(|error| error.to_string()),
            }
            time::sleep(PAUSE).await;
        }
    };
    let outcome = time::timeout(DEADLINE, repeated).await;
    outcome.unwrap_or_else(|_| Err(last.unwrap_or_else(|| "it does not answer".to_owned()))).map_err(Failed)
}

impl Failed {
    /// The error of a store that cannot be opened.
    pub(super) fn opening(self, database: &str) -> Error {
        let message = format!("{database} cannot be used for sessions: {}. Check its address.", printable(self.0));
        Error::new(Kind::Offline, message)
    }
}

/// Another attempt may succeed: the database may be started again, or repaired.
impl From<Failed> for Refused {
    fn from(Failed(cause): Failed) -> Self {
        tracing::error!(cause = %printable(cause), "the store of sessions has failed");
        let message = "The shop cannot read its sessions at the moment. Please try again.";
        Self::new(503, Reason { code: "unavailable", message }).with_retry_after(1)
    }
}
