//! Reads merchants, each with all that a request needs of it. Requests that wait share one statement. It begins after all of them have
//! arrived, so each gets its merchant as if it had read alone. Nothing is kept for requests that arrive later.

use crate::{Readers, STATEMENT_DEADLINE, does_not_answer};
use guichet_sandbox::Unavailable;
use guichet_sandbox::store::OperatorStatuses;
use guichet_sandbox::store::sql::{StoredRow as _, operators};
use sqlx::postgres::{PgBindIterExt as _, PgRow};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// The most requests in one statement.
const GROUP: usize = 256;

/// A merchant as of one request.
#[derive(Clone, Debug)]
pub(crate) struct SeenMerchant {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The offset of its clock from the service's, in seconds.
    pub(crate) clock_offset: i64,
    /// How the operators work for it.
    pub(crate) operators: OperatorStatuses,
    /// Whether faults wait.
    pub(crate) has_faults: bool,
    /// The number of the request, greater than those of all earlier requests to any instance since the database's last crash.
    pub(crate) number: i64,
    /// The latest stored second of the service's clock.
    pub(crate) latest_second: i64,
}

/// Reads merchants in one statement, so as of one moment. A sequence logs one in 32 of its numbers, and the statement would wait for the
/// disk. It need not: a reset, which depends on a number, is stored by a later commit, which writes the log up to there. After a crash of
/// the database, which empties the list of requests, a number may come again: then one of the two requests is not listed.
macro_rules! merchants {
    ($columns:literal, $condition:expr) => {
        concat!(
            "SELECT id, name, clock_offset, operators, (SELECT latest FROM service_clock) AS latest_second, ",
            "nextval('request_numbers') AS number, ",
            "EXISTS (SELECT FROM faults WHERE faults.merchant = merchants.id AND remaining > 0) AS has_faults",
            $columns,
            " FROM merchants CROSS JOIN set_config('synchronous_commit', 'off', true) ",
            $condition
        )
    };
}

/// Reads the merchant of each text in `$1`, with the position of the text among them, from 1.
macro_rules! merchants_by {
    ($column:literal) => {
        merchants!(
            ", nth",
            concat!(
                "JOIN unnest($1::text[]) WITH ORDINALITY AS wanted (text, nth) ON wanted.text = merchants.",
                $column
            )
        )
    };
}

/// Finds merchants by their ids.
pub(crate) const BY_ID: &str = merchants_by!("id");
/// Finds merchants by the fingerprints of their secret keys.
pub(crate) const BY_KEY: &str = merchants_by!("key_fingerprint");

impl Readers {
    /// The first merchant as of now.
    pub(crate) async fn first_merchant(&self) -> Result<Option<SeenMerchant>, Unavailable> {
        self.rows(merchants!("", "WHERE place = 0"), &[]).await?.first().map(read_merchant).transpose()
    }

    /// Every merchant.
    pub(crate) async fn all_merchants(&self) -> Result<Vec<SeenMerchant>, Unavailable> {
        self.rows(merchants!("", "ORDER BY place, id"), &[]).await?.iter().map(read_merchant).collect()
    }

    /// The merchant of each text, as of now, with a number of its own. `None` if there is none.
    pub(crate) async fn merchants_by(
        &self,
        statement: &'static str,
        texts: &[String],
    ) -> Result<Vec<Option<SeenMerchant>>, Unavailable> {
        // The server would refuse U+0000, and with it the texts of the others. No row has it.
        let texts = texts.iter().map(|text| (!text.contains('\0')).then_some(text.as_str()));
        let mut found = vec![None; texts.len()];
        for row in self.all(sqlx::query(statement).bind(texts.bind_iter())).await? {
            let nth = usize::try_from(row.number("nth")?).unwrap_or_default();
            let merchant =
                found.get_mut(nth.wrapping_sub(1)).ok_or_else(|| Unavailable::because("a row has no position"))?;
            *merchant = Some(read_merchant(&row)?);
        }
        Ok(found)
    }
}

fn read_merchant(row: &PgRow) -> Result<SeenMerchant, Unavailable> {
    Ok(SeenMerchant {
        id: row.owned("id")?,
        name: row.owned("name")?,
        clock_offset: row.number("clock_offset")?,
        operators: operators(row)?,
        has_faults: row.flag("has_faults")?,
        number: row.number("number")?,
        latest_second: row.number("latest_second")?,
    })
}

/// A waiting request, and the sender of its merchant.
struct Job {
    text: String,
    done: oneshot::Sender<Result<Option<SeenMerchant>, Unavailable>>,
}

/// The handle of a task that reads merchants. The task ends when the handle is dropped.
#[derive(Debug)]
pub(crate) struct MerchantReader(mpsc::Sender<Job>);

impl MerchantReader {
    /// Starts the task, for this statement.
    pub(crate) fn start(readers: Readers, statement: &'static str) -> Self {
        let (jobs, receiver) = mpsc::channel(4 * GROUP);
        tokio::spawn(read_groups(readers, statement, receiver));
        Self(jobs)
    }

    /// The merchant with this text in the column. `None` if there is none.
    pub(crate) async fn read(&self, text: &str) -> Result<Option<SeenMerchant>, Unavailable> {
        let (done, found) = oneshot::channel();
        let job = Job { text: text.to_owned(), done };
        let read = async {
            self.0.send(job).await.map_err(|_| Unavailable::stopped())?;
            found.await.map_err(|_| Unavailable::stopped())?
        };
        // With the statement of the group before its own.
        timeout(STATEMENT_DEADLINE, read).await.unwrap_or_else(|_| Err(does_not_answer()))
    }
}

async fn read_groups(readers: Readers, statement: &'static str, mut receiver: mpsc::Receiver<Job>) {
    let mut jobs = Vec::with_capacity(GROUP);
    while receiver.recv_many(&mut jobs, GROUP).await > 0 {
        let still_waiting = jobs.drain(..).filter(|job| !job.done.is_closed());
        let (texts, waiting): (Vec<String>, Vec<_>) = still_waiting.map(|job| (job.text, job.done)).unzip();
        if texts.is_empty() {
            continue;
        }
        // A request may no longer wait.
        match readers.merchants_by(statement, &texts).await {
            Ok(found) => waiting.into_iter().zip(found).for_each(|(done, found)| drop(done.send(Ok(found)))),
            Err(error) => waiting.into_iter().for_each(|done| drop(done.send(Err(error.clone())))),
        }
    }
}
