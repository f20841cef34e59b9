//! Idempotency keys: a repeated request with the same `Idempotency-Key` is executed once.

use super::new_intent::sorted;
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
        digest: tokens::fingerprint(&sorted(body).to_string()),
        now: merchant.now(),
    }))
}

impl Service {
    /// Deletes the keys that had expired in the latest stored second.
    pub(crate) async fn delete_expired_keys(&self) -> Result<(), Unavailable> {
        self.store.delete_expired_keys(self.clock.now()).await
    }

    /// Creates an object, once for each idempotency key. Returns its id, and whether an earlier request has created it.
    /// `create` returns `None` if another object was created under the key meanwhile.
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
    /// The result of a create that is safe to repeat: 201 if the object was created now. If it existed before, 200 with
    /// its current state.
    pub(super) fn created_or_replayed(data: Reply, replayed: bool) -> Self {
        if replayed { Self { replayed, ..Self::ok(data) } } else { Self::created(data) }
    }
}
