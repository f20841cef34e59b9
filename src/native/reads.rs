//! The methods and fees that pages read by the shop's key: equal reads share one request, whose answer is kept for a
//! few seconds.

use super::sessions::SingleFlight;
use super::{Client, Reason, Refused, clock};
use crate::shop::{PublicRead, Reply};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long an answer is kept.
const KEPT: Duration = Duration::from_secs(10);
/// How many answers are kept or awaited: so many different reads in that time, and no more, are sent with the key.
const MOST_KEPT: usize = 1_000;

/// The answers, by the target of their request.
pub(super) struct PublicReads {
    client: Client,
    kept: Mutex<HashMap<String, (Instant, Reply)>>,
    under_way: SingleFlight<String, Reply>,
}

impl PublicReads {
    pub(super) fn new(client: Client) -> Self {
        Self { client, kept: Mutex::default(), under_way: SingleFlight::default() }
    }

    /// The answer to a read: a kept one, that of an equal read under way, or the service's.
    pub(super) async fn reply(self: Arc<Self>, read: PublicRead) -> Result<Reply, Refused> {
        let target = read.request.target.clone();
        let (now, under_way) = (clock::monotonic_now(), self.under_way.len());
        let kept = {
            let mut all = self.kept();
            all.retain(|_, (until, _)| *until > now);
            let kept = all.get(&target).map(|(_, reply)| reply.clone());
            if kept.is_none() && all.len() + under_way >= MOST_KEPT {
                let message = "Too many prices were requested from this shop. Please try again.";
                return Err(Refused::new(429, Reason { code: "rate_limited", message }));
            }
            kept
        };
        if let Some(reply) = kept {
            return Ok(reply);
        }
        let (own, key) = (Arc::clone(&self), target.clone());
        let work = async move {
            let reply = PublicRead::reply(own.client.json(read.spec, read.request).await);
            let reply = reply.unwrap_or_else(|refused| Reply::from(&refused));
            // Another attempt may change the others.
            if reply.status < 429 {
                own.kept().insert(key, (clock::monotonic_now() + KEPT, reply.clone()));
            }
            reply
        };
        self.under_way.run(target, work).await.ok_or_else(|| Refused::broken("a read of methods or fees has panicked"))
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<String, (Instant, Reply)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
