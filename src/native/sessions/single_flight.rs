//! One flight for all who ask for the same thing at the same moment.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The flights that are under way.
pub(super) struct Flights<K, V>(Arc<Mutex<HashMap<K, watch::Receiver<Option<V>>>>>);

impl<K, V> Flights<K, V>
where
    K: Clone + Eq + Hash + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// What the flight of this key brings: the one that is under way, or this work. It flies to its end although those
    /// who asked are gone, so that what it makes is known to somebody. `None` where the work has broken off.
    pub async fn join(&self, key: K, work: impl Future<Output = V> + Send + 'static) -> Option<V> {
        let mut landing = {
            let mut flying = lock(&self.0);
            flying.entry(key.clone()).or_insert_with(|| self.take_off(key, work)).clone()
        };
        landing.wait_for(Option::is_some).await.ok()?.clone()
    }

    fn take_off(&self, key: K, work: impl Future<Output = V> + Send + 'static) -> watch::Receiver<Option<V>> {
        let (land, landing) = watch::channel(None);
        let flight = Flight { flying: Arc::clone(&self.0), key };
        tokio::spawn(async move {
            let brought = work.await;
            // Who asks from here on begins another: this one may have seen less than they know.
            drop(flight);
            land.send_replace(Some(brought));
        });
        landing
    }
}

impl<K, V> Default for Flights<K, V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// Takes a flight off the list when it ends, however it ends.
struct Flight<K: Eq + Hash, V> {
    flying: Arc<Mutex<HashMap<K, watch::Receiver<Option<V>>>>>,
    key: K,
}

impl<K: Eq + Hash, V> Drop for Flight<K, V> {
    fn drop(&mut self) {
        lock(&self.flying).remove(&self.key);
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
    async fn those_who_ask_at_once_share_one_flight_and_the_next_begins_another() {
        let (flights, flown) = (Arc::new(Flights::<&str, u32>::default()), Arc::new(AtomicU32::new(0)));
        let work = |flown: &Arc<AtomicU32>| {
            let flown = Arc::clone(flown);
            async move {
                tokio::task::yield_now().await;
                flown.fetch_add(1, Ordering::Relaxed) + 1
            }
        };
        let asked: Vec<_> = (0..64)
            .map(|_| {
                let (flights, work) = (Arc::clone(&flights), work(&flown));
                tokio::spawn(async move { flights.join("awa", work).await })
            })
            .collect();
        for asked in asked {
            assert_eq!(asked.await.expect("it ends"), Some(1));
        }
        assert_eq!(flights.join("awa", work(&flown)).await, Some(2));
        assert!(lock(&flights.0).is_empty());
    }

    #[tokio::test]
    async fn a_flight_that_breaks_off_leaves_the_way_free() {
        let flights = Flights::<&str, u32>::default();
        assert_eq!(flights.join("awa", async { panic!("on purpose") }).await, None);
        assert_eq!(flights.join("awa", async { 7 }).await, Some(7));
    }
}
