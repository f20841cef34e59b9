//! The common part of the stores on PostgreSQL and Redis: a time limit, steps that are repeated over a new connection,
//! and the error if the database does not answer.

use guichet::native::{Reason, Refused};
use guichet::protocol::{Error, Kind};
use guichet::values::printable;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;
use tokio::time;

/// The time limit of one step, connecting and repeating included.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);
/// The time limit of a reply over a connection that may be dead: a network may forget an idle connection without
/// closing it. The rest of the step's time is for a new connection.
pub(super) const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause before a step is repeated.
const PAUSE: Duration = Duration::from_millis(100);

/// The hosts to which a connection may be unencrypted: this machine, and those that the application has named.
#[derive(Clone, Debug, Default)]
pub(super) struct PlainHosts(Vec<String>);

impl PlainHosts {
    pub(super) fn allow(&mut self, host: &str) {
        self.0.push(host.to_owned());
    }

    pub(super) fn contain(&self, host: &str) -> bool {
        let bare = |host: &str| host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let host = bare(host);
        host == "localhost"
            || host.ends_with(".localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            || self.0.iter().any(|named| bare(named) == host)
    }
}

/// An error of a database.
pub(super) trait DatabaseError: fmt::Display {
    /// Whether another attempt over a new connection may succeed.
    fn is_passing(&self) -> bool;
    /// What the person who runs the shop can do, as a sentence.
    fn remedy(&self) -> &'static str;
}

/// Why a step was not done.
pub(super) struct Failed {
    cause: String,
    remedy: &'static str,
}

/// The remedy for an error of an unknown cause.
pub(super) const CHECK_ADDRESS: &str = "Check its address.";

/// Does one step of a store. While its error may pass, such as a lost connection, the step is repeated until
/// [`DEADLINE`]: every step of a [`SessionStore`](guichet::native::SessionStore) may be repeated.
pub(super) async fn attempt<T, E, Step>(step: impl Fn() -> Step) -> Result<T, Failed>
where
    E: DatabaseError,
    Step: Future<Output = Result<T, E>>,
{
    let mut last = Failed { cause: "it does not answer".to_owned(), remedy: CHECK_ADDRESS };
    let repeated = async {
        loop {
            match step().await {
                Err(error) if error.is_passing() => last = error.into(),
                result => return result.map_err(Failed::from),
            }
            time::sleep(PAUSE).await;
        }
    };
    match time::timeout(DEADLINE, repeated).await {
        Ok(result) => result,
        Err(_) => Err(last),
    }
}

impl<E: DatabaseError> From<E> for Failed {
    fn from(error: E) -> Self {
        Self { cause: error.to_string(), remedy: error.remedy() }
    }
}

impl Failed {
    /// The error of a store that cannot be opened.
    pub(super) fn opening(self, database: &str) -> Error {
        let cause = printable(self.cause.trim_end_matches('.'));
        let message = format!("{database} cannot be used for sessions: {cause}. {}", self.remedy);
        Error::new(Kind::Offline, message)
    }
}

/// Another attempt may succeed: the database may be started again, or repaired.
impl From<Failed> for Refused {
    fn from(Failed { cause, remedy }: Failed) -> Self {
        tracing::error!(cause = %printable(cause), remedy, "the store of sessions has failed");
        let message = "The shop cannot read its sessions at the moment. Please try again.";
        Self::new(503, Reason { code: "unavailable", message }).with_retry_after(1)
    }
}

/// A duration as the databases take it.
pub(super) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_unencrypted_to_this_machine_and_to_named_hosts_alone() {
        let mut hosts = PlainHosts::default();
        hosts.allow("redis.internal");
        hosts.allow("fd00::1");
        for host in [
            "localhost",
            "LOCALHOST",
            "db.localhost",
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "[::1]",
            "Redis.Internal",
            "[fd00::1]",
        ] {
            assert!(hosts.contain(host), "{host}");
        }
        for host in
            ["", "db.internal", "redis.internal.example.com", "10.0.0.1", "127.1", "127.0.0.1.example.com", "::"]
        {
            assert!(!hosts.contain(host), "{host}");
        }
    }
}
