//! Idempotency keys, and the object that was created under each.

use crate::rules::IdempotentRequest;
use crate::store::Made;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The keys of all merchants.
#[derive(Debug, Default)]
pub(super) struct Keys(HashMap<String, OfMerchant>);

/// The name of a key within its merchant: its operation and its fingerprint.
type Name = (&'static str, String);

#[derive(Debug, Default)]
struct OfMerchant {
    keys: BTreeMap<Name, Key>,
    /// By the time at which they expire, in Unix seconds.
    expiring: BTreeSet<(i64, Name)>,
}

#[derive(Debug)]
struct Key {
    made: Made,
    expires_at: i64,
}

impl Keys {
    /// Reserves a key for an object that is created now. `false` if another object was created under it and it has not
    /// expired.
    pub(super) fn take(&mut self, request: IdempotentRequest, made: String) -> bool {
        let expires_at = request.expires_at().unix();
        let IdempotentRequest { merchant, operation, fingerprint, digest, now } = request;
        let name = (operation, fingerprint);
        let of_merchant = self.0.entry(merchant).or_default();
        if let Some(taken) = of_merchant.keys.get(&name) {
            if taken.expires_at > now.unix() {
                return false;
            }
            of_merchant.expiring.remove(&(taken.expires_at, name.clone()));
        }
        of_merchant.expiring.insert((expires_at, name.clone()));
        of_merchant.keys.insert(name, Key { made: Made { id: made, digest }, expires_at });
        true
    }

    /// The object that was created under the request's key. `None` if there is none or the key has expired.
    pub(super) fn made(&self, request: &IdempotentRequest) -> Option<Made> {
        let name = (request.operation, request.fingerprint.clone());
        let key = self.0.get(&request.merchant)?.keys.get(&name)?;
        (key.expires_at > request.now.unix()).then(|| key.made.clone())
    }

    /// Deletes a merchant's key that has expired at this time of its clock. `false` if there is none.
    pub(super) fn delete_expired(&mut self, merchant: &str, now: i64) -> bool {
        let Some(of_merchant) = self.0.get_mut(merchant) else { return false };
        if of_merchant.expiring.first().is_none_or(|(expires_at, _)| *expires_at > now) {
            return false;
        }
        if let Some((_, name)) = of_merchant.expiring.pop_first() {
            of_merchant.keys.remove(&name);
        }
        true
    }

    /// Removes all keys of a merchant.
    pub(super) fn remove_all_of(&mut self, merchant: &str) {
        self.0.remove(merchant);
    }
}
