//! Groups the reads of merchants: requests that wait share one statement. It begins after all of them have arrived, so each gets its
//! merchant as if it had read alone. Nothing is kept for requests that arrive later.

use crate::sandbox::store::{By, SharedMerchant, SharedStore, Unavailable};
use crate::sandbox::surroundings::within;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// The most requests in one statement.
const GROUP: usize = 256;
/// How long a request waits for its merchant, with the statement of the group before its own: for a server that no longer answers.
const DEADLINE: Duration = Duration::from_secs(12);

/// A waiting request, and the sender of its merchant.
struct Job {
    text: String,
    done: oneshot::Sender<Result<Option<SharedMerchant>, Unavailable>>,
}

/// The handle of a task that reads merchants. The task ends when the handle is dropped.
#[derive(Debug)]
pub(super) struct Reader {
    jobs: mpsc::Sender<Job>,
}

impl Reader {
    /// Starts the task.
    pub(super) fn start(database: SharedStore, by: By) -> Self {
        let (jobs, receiver) = mpsc::channel(4 * GROUP);
        tokio::spawn(read_groups(database, by, receiver));
        Self { jobs }
    }

    /// The merchant with this text in the column. `None` if there is none.
    pub(super) async fn read(&self, text: &str) -> Result<Option<SharedMerchant>, Unavailable> {
        let (done, found) = oneshot::channel();
        let job = Job { text: text.to_owned(), done };
        let read = async {
            self.jobs.send(job).await.map_err(|_| Unavailable::stopped())?;
            found.await.map_err(|_| Unavailable::stopped())?
        };
        within(DEADLINE, read).await.unwrap_or_else(|| Err(Unavailable::because("the database does not answer")))
    }
}

async fn read_groups(database: SharedStore, by: By, mut receiver: mpsc::Receiver<Job>) {
    let mut jobs = Vec::with_capacity(GROUP);
    while receiver.recv_many(&mut jobs, GROUP).await > 0 {
        let still_waiting = jobs.drain(..).filter(|job| !job.done.is_closed());
        let (texts, waiting): (Vec<String>, Vec<_>) = still_waiting.map(|job| (job.text, job.done)).unzip();
        if texts.is_empty() {
            continue;
        }
        // A request may no longer wait.
        match database.merchants_by(by, &texts).await {
            Ok(found) => waiting.into_iter().zip(found).for_each(|(done, found)| drop(done.send(Ok(found)))),
            Err(error) => waiting.into_iter().for_each(|done| drop(done.send(Err(error.clone())))),
        }
    }
}
