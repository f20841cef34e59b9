//! Groups writes: they queue up, are committed in groups, and only then are their results returned. It relies only on
//! the contract of the store and contains no SQL.

use crate::store::{PendingWrite, Unavailable, Write};
use guichet::values::printable;
use std::sync::{Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// The most writes in one commit.
const GROUP: usize = 256;

/// A database whose commits are worth sharing, because each waits for a disk.
pub(super) trait GroupCommit: Send + 'static {
    /// Commits a group. Returns for each write, in order, whether it had an effect; a conflict has none.
    fn commit(&mut self, group: Vec<Write>) -> impl Future<Output = Vec<Result<bool, Unavailable>>> + Send;

    /// Closes the database.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// A queued write, and the sender of its result.
struct Job {
    write: Write,
    done: oneshot::Sender<Result<bool, Unavailable>>,
}

/// The handle of the writer task: the only one that writes to its database.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the writer task. When the task ends, it closes the database.
    pub(super) fn start(mut database: impl GroupCommit) -> Self {
        let (jobs, receiver) = mpsc::channel(4 * GROUP);
        let task = tokio::spawn(async move {
            write_groups(&mut database, receiver).await;
            database.close().await;
        });
        Self { jobs: Mutex::new(Some(jobs)), task: Mutex::new(Some(task)) }
    }

    /// Queues a write. It is committed even if the caller drops the returned future.
    pub(super) async fn queue(&self, write: Write) -> Result<PendingWrite, Unavailable> {
        let jobs = self.jobs.lock().map_err(|_| Unavailable::closed())?.clone().ok_or_else(Unavailable::closed)?;
        let (done, pending) = oneshot::channel();
        jobs.send(Job { write, done }).await.map_err(|_| Unavailable::closed())?;
        Ok(Box::pin(async { pending.await.map_err(|_| Unavailable::stopped())? }))
    }

    /// Finishes queued writes and ends the task.
    pub(super) async fn close(&self) {
        drop(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take());
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && task.await.is_err()
        {
            tracing::error!("the writer has panicked");
        }
    }
}

async fn write_groups(database: &mut impl GroupCommit, mut receiver: mpsc::Receiver<Job>) {
    let mut jobs = Vec::with_capacity(GROUP);
    // Logged when writing begins to fail and when it works again, not for every group.
    let mut is_failing = false;
    while receiver.recv_many(&mut jobs, GROUP).await > 0 {
        let (group, waiting): (Vec<Write>, Vec<_>) = jobs.drain(..).map(|job| (job.write, job.done)).unzip();
        let results = database.commit(group).await;
        match results.iter().find_map(|result| result.as_ref().err()) {
            None if std::mem::take(&mut is_failing) => tracing::info!("writes are stored again"),
            Some(error) if !std::mem::replace(&mut is_failing, true) => {
                tracing::error!(error = %printable(error), "writes are not stored");
            }
            _ => {}
        }
        for (done, result) in waiting.into_iter().zip(results) {
            // The request may no longer wait.
            let _ = done.send(result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database that records the size of each group, and fails if a test asks it to.
    struct Counting {
        groups: mpsc::UnboundedSender<usize>,
        failing: usize,
    }

    impl GroupCommit for Counting {
        async fn commit(&mut self, group: Vec<Write>) -> Vec<Result<bool, Unavailable>> {
            let _ = self.groups.send(group.len());
            // Other writes queue up meanwhile.
            tokio::task::yield_now().await;
            if self.failing > 0 {
                self.failing -= 1;
                return vec![Err(Unavailable::because("the disk is full")); group.len()];
            }
            group.iter().map(|write| Ok(matches!(write, Write::SaveSecond(second) if second % 2 == 0))).collect()
        }

        async fn close(self) {}
    }

    fn counting(failing: usize) -> (Writer, mpsc::UnboundedReceiver<usize>) {
        let (groups, counts) = mpsc::unbounded_channel();
        (Writer::start(Counting { groups, failing }), counts)
    }

    #[tokio::test]
    async fn queued_writes_share_a_commit_and_each_gets_its_own_result() {
        let (writer, mut counts) = counting(0);
        let mut pending = Vec::new();
        for second in 0..100 {
            pending.push(writer.queue(Write::SaveSecond(second)).await.unwrap());
        }
        for (second, pending) in pending.into_iter().enumerate() {
            assert_eq!(pending.await.unwrap(), second % 2 == 0);
        }
        assert_eq!(counts.recv().await, Some(100));
        writer.close().await;
        assert_eq!(counts.recv().await, None, "the database was closed");
        assert!(writer.queue(Write::SaveSecond(1)).await.is_err(), "a closed writer takes no writes");
    }

    #[tokio::test]
    async fn every_write_of_a_failed_group_gets_the_error_and_the_next_group_succeeds() {
        let (writer, _counts) = counting(1);
        let (one, other) =
            (writer.queue(Write::SaveSecond(2)).await.unwrap(), writer.queue(Write::SaveSecond(4)).await.unwrap());
        assert!(one.await.is_err() && other.await.is_err());
        assert!(writer.queue(Write::SaveSecond(6)).await.unwrap().await.unwrap());
    }
}
