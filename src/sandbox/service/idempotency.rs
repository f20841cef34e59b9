//! What is done once under an Idempotency-Key, however often it is asked for.

use super::intents::sorted;
use super::{Done, Merchant, Service};
use crate::protocol::{ErrorCode, IDEMPOTENCY_KEY, Operation, assemble};
use crate::sandbox::problem::Problem;
use crate::sandbox::rules::IdempotentRequest;
use crate::sandbox::store::Unavailable;
use crate::sandbox::tokens;
use crate::values::IdempotencyKey;
use serde_json::Value;

/// A request of an operation that takes a key, where it was sent with one.
pub(super) fn idempotent_request<O: Operation>(
    merchant: &Merchant,
    operation: &O,
    key: Option<&IdempotencyKey>,
) -> Result<Option<IdempotentRequest>, Problem> {
    let Some(key) = key else { return Ok(None) };
    // As it was understood: parsed, defaults applied, keys in one order. Equal requests have equal ones.
    let body = assemble(operation).map_err(|error| Problem::internal(&error))?.body.unwrap_or_default();
    let body: Value = serde_json::from_str(&body).map_err(|error| Problem::internal(&error))?;
    Ok(Some(IdempotentRequest {
        merchant: merchant.id.clone(),
        operation: O::SPEC.name,
        fingerprint: tokens::fingerprint(key.as_str()),
        digest: tokens::digest(&sorted(body).to_string()),
        now: merchant.now(),
    }))
}

/// How often the keys whose time is over are forgotten.
#[cfg(feature = "sandbox-serve")]
const SWEEP: std::time::Duration = std::time::Duration::from_secs(60);

impl Service {
    /// Forgets the keys whose time is over, for as long as this is polled: no request pays for it.
    #[cfg(feature = "sandbox-serve")]
    pub(in crate::sandbox) async fn keep_deleting_expired_keys(&self) {
        let mut ticks = tokio::time::interval(SWEEP);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.delete_expired_keys().await {
                tracing::error!(error = %crate::values::printable(error), "the idempotency keys whose time is over were not forgotten");
            }
        }
    }

    pub(in crate::sandbox) async fn delete_expired_keys(&self) -> Result<(), Unavailable> {
        if self.store.any_expired_keys(self.clock.peek()).await? {
            self.catch_up().await;
            self.store.delete_expired_keys(self.clock.now()).await?;
        }
        Ok(())
    }

    /// The id of what was made under the key of a request.
    ///
    /// # Errors
    /// Where it was made by a request with another body.
    pub(super) async fn created_before(&self, request: Option<&IdempotentRequest>) -> Result<Option<String>, Problem> {
        let Some(request) = request else { return Ok(None) };
        match self.store.made(request).await? {
            Some(made) if made.digest != request.digest => {
                let message = "This Idempotency-Key was sent with another body. Give each thing that is made its own, or send exactly what was sent first.";
                Err(Problem::field(IDEMPOTENCY_KEY, ErrorCode::IdempotencyKeyReused, message).existing(&made.id))
            }
            made => Ok(made.map(|made| made.id)),
        }
    }
}

impl Done {
    /// Something that was made now, or before under the same key: then this is how it stands.
    pub(super) fn made(data: String, before: bool) -> Self {
        if before { Self { replayed: true, ..Self::ok(data) } } else { Self::created(data) }
    }
}
