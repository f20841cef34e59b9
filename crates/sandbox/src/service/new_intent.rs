//! A new intent, and the canonical body by which two requests are equal.

use crate::problem::Problem;
use crate::rules::{Intent, IntentState, Terms};
use crate::tokens;
use guichet::operations::CreatePaymentIntent;
use guichet::values::{IntentId, Moment};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A new intent with the terms of a create request.
pub(crate) fn new_intent(
    merchant: &str,
    operation: CreatePaymentIntent,
    state: IntentState,
    now: Moment,
) -> Result<Intent, Problem> {
    let body = canonical(operation);
    let terms = Terms::read(&body).map_err(|error| Problem::internal(&error))?;
    Ok(Intent {
        id: IntentId::new(tokens::id("pi_")).map_err(|error| Problem::internal(&error))?,
        merchant: merchant.to_owned(),
        payment_ref: tokens::id("gch_"),
        digest: tokens::fingerprint(&body),
        body,
        terms,
        state,
        created_at: now,
        expires_at: Intent::expiry(now),
        version: 1,
    })
}

/// The canonical body: parsed, defaults applied, keys sorted. Equal requests have equal canonical bodies.
fn canonical(mut operation: CreatePaymentIntent) -> String {
    operation.metadata = operation.metadata.map(in_one_order);
    serde_json::to_string(&operation).expect("an operation that was read from JSON is written as JSON")
}

/// Sorts the keys of metadata at every depth.
pub(super) fn in_one_order(metadata: BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    metadata.into_iter().map(|(key, value)| (key, sorted(value))).collect()
}

/// Sorts the keys of a JSON value at every depth, even if `serde_json` keeps maps in insertion order.
pub(super) fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::Object(object) => {
            let mut pairs: Vec<_> = object.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(Map::from_iter(pairs))
        }
        plain => plain,
    }
}
