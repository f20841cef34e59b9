//! Idempotency keys: a repeated request with the same `Idempotency-Key` is executed once.

use super::intents::sorted;
use super::{Done, MAX_ROUNDS, Merchant, Service};
use crate::problem::Problem;
use crate::replies::Reply;
use crate::rules::IdempotentRequest;
use crate::tokens;
use crate::unavailable::Unavailable;
use guichet::protocol::{ErrorCode, IDEMPOTENCY_KEY, Operation, assemble};
use guichet::values::{IdempotencyKey, Invalid};
use serde_json::Value;
use std::str::FromStr;

/// The request's idempotency key with the digest of its body. `None` if it was sent without a key.
pub(super) fn idempotent_request<O: Operation>(
    merchant: &Merchant,
    operation: &O,
    key: Option<&IdempotencyKey>,
) -> Result<Option<IdempotentRequest>, Problem> {
    let Some(key) = key else { return Ok(None) };
    // The canonical body: parsed, defaults applied, keys sorted. Equal requests have equal canonical bodies.
    let body = assemble(operation).map_err(|error| Problem::internal(&error))?.body.unwrap_or_default();
    let body: Value = serde_json::from_str(&body).map_err(|error| Problem::internal(&error))?;
    Ok(Some(IdempotentRequest {
        merchant: merchant.id().to_owned(),
        operation: O::SPEC.name,
        fingerprint: tokens::fingerprint(key.as_str()),
        digest: tokens::digest(&sorted(body).to_string()),
        now: merchant.now(),
    }))
}

/// The interval between deletions of expired keys.
#[cfg(feature = "serve")]
const DELETION_INTERVAL: std::time::Duration = std::time::Duration::from_secs(60);

impl Service {
    /// Deletes expired keys in the background, as long as this is polled, so that no request waits for it.
    #[cfg(feature = "serve")]
    pub(crate) async fn keep_deleting_expired_keys(&self) {
        let mut ticks = tokio::time::interval(DELETION_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.delete_expired_keys().await {
                tracing::error!(error = %guichet::values::printable(error), "expired idempotency keys were not deleted");
            }
        }
    }

    pub(crate) async fn delete_expired_keys(&self) -> Result<(), Unavailable> {
        if self.store.any_expired_keys(self.clock.peek()).await? {
            self.catch_up().await;
            self.store.delete_expired_keys(self.clock.now()).await?;
        }
        Ok(())
    }

    /// Creates an object, once for each idempotency key. Returns its id, and whether an earlier request has created it. `create` returns
    /// `None` if another object was created under the key meanwhile.
    ///
    /// # Errors
    /// `idempotency_key_reused` if the earlier request had another body.
    pub(super) async fn create_once<I, F>(
        &self,
        request: Option<IdempotentRequest>,
        create: impl Fn(Option<IdempotentRequest>) -> F,
    ) -> Result<(I, bool), Problem>
    where
        I: FromStr<Err = Invalid>,
        F: Future<Output = Result<Option<I>, Problem>>,
    {
        for _ in 0..MAX_ROUNDS {
            if let Some(request) = &request
                && let Some(made) = self.store.made(request).await?
            {
                if made.digest != request.digest {
                    let message = "This Idempotency-Key was sent with another body. Use a new key for a new object, or send exactly the first body.";
                    let problem = Problem::field(IDEMPOTENCY_KEY, ErrorCode::IdempotencyKeyReused, message);
                    return Err(problem.existing(&made.id));
                }
                return Ok((made.id.parse().map_err(|error| Problem::internal(&error))?, true));
            }
            if let Some(id) = create(request.clone()).await? {
                return Ok((id, false));
            }
        }
        Err(Unavailable::contended().into())
    }
}

impl Done {
    /// The result of a create that is safe to repeat: 201 if the object was created now. If it existed before, 200 with its current state.
    pub(super) fn created_or_replayed(data: Reply, replayed: bool) -> Self {
        if replayed { Self { replayed, ..Self::ok(data) } } else { Self::created(data) }
    }
}
