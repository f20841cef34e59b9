//! Runs the same work once for all callers that request it at the same time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tracing::Instrument;

/// The work in progress, by its key.
pub(in crate::native) struct SingleFlight<K, V>(Arc<Mutex<HashMap<K, watch::Receiver<Option<V>>>>>);

impl<K, V> SingleFlight<K, V>
where
    K: Clone + Eq + Hash + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Returns the value of the work under way for this key, or runs this work. The work runs to its end even if every
    /// caller is gone, so that what it creates is not lost. `None` if the work panicked.
    pub(in crate::native) async fn run(&self, key: K, work: impl Future<Output = V> + Send + 'static) -> Option<V> {
        let mut receiver = {
            let mut running = lock(&self.0);
            running.entry(key.clone()).or_insert_with(|| self.spawn(key, work)).clone()
        };
        receiver.wait_for(Option::is_some).await.ok()?.clone()
    }

    /// How many works are in progress.
    #[cfg(feature = "axum")]
    pub(in crate::native) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    fn spawn(&self, key: K, work: impl Future<Output = V> + Send + 'static) -> watch::Receiver<Option<V>> {
        let (sender, receiver) = watch::channel(None);
        let running = Running { all: Arc::clone(&self.0), key };
        let run = async move {
            let value = work.await;
            // A caller that arrives from here on starts the work again: this run may have seen less than the caller
            // knows.
            drop(running);
            sender.send_replace(Some(value));
        };
        // A task does not inherit the span of its caller, here the first.
        tokio::spawn(run.in_current_span());
        receiver
    }
}

impl<K, V> Default for SingleFlight<K, V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// Removes its key when the work ends, in any way.
struct Running<K: Eq + Hash, V> {
    all: Arc<Mutex<HashMap<K, watch::Receiver<Option<V>>>>>,
    key: K,
}

impl<K: Eq + Hash, V> Drop for Running<K, V> {
    fn drop(&mut self) {
        lock(&self.all).remove(&self.key);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test]
    async fn callers_at_the_same_moment_share_one_run_and_the_next_caller_starts_another() {
        let (checks, runs) = (Arc::new(SingleFlight::<&str, u32>::default()), Arc::new(AtomicU32::new(0)));
        let work = |runs: &Arc<AtomicU32>| {
            let runs = Arc::clone(runs);
            async move {
                tokio::task::yield_now().await;
                runs.fetch_add(1, Ordering::Relaxed) + 1
            }
        };
        let callers: Vec<_> = (0..64)
            .map(|_| {
                let (checks, work) = (Arc::clone(&checks), work(&runs));
                tokio::spawn(async move { checks.run("awa", work).await })
            })
            .collect();
        for caller in callers {
            assert_eq!(caller.await.expect("it ends"), Some(1));
        }
        assert_eq!(checks.run("awa", work(&runs)).await, Some(2));
        assert!(lock(&checks.0).is_empty());
    }

    #[tokio::test]
    async fn work_that_panics_does_not_block_the_next_caller() {
        let checks = SingleFlight::<&str, u32>::default();
        assert_eq!(checks.run("awa", async { panic!("on purpose") }).await, None);
        assert_eq!(checks.run("awa", async { 7 }).await, Some(7));
    }
}
