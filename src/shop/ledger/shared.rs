//! What all servers of a ledger share, and its restores from a copy.

use super::event::Service;
use super::order::Time;
use crate::shop::Owner;
use serde::{Deserialize, Serialize};

/// By how much more than the copy's versions those of a restored ledger begin: no order had so many events.
const VERSIONS: i64 = 1_000_000_000;

/// What all servers of a ledger share.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// When it was created.
    pub created_at: Time,
    /// Where the versions of its orders begin.
    pub epoch: i64,
    /// Until when a server has the round.
    pub round_until: Time,
    /// Until when the service holds the round back.
    pub held_until: Time,
    /// Whether the service brings the payment that exists when its creation is sent again.
    pub repeats: bool,
    /// Whether its payments are of a test environment, if a server has noted that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_test: Option<bool>,
    /// When this copy of a ledger was written; none if it is no copy. A copy is not served until its restore is
    /// declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_at: Option<Time>,
    /// The restores of this ledger from a copy, the last one last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restores: Vec<Restore>,
    /// The text that a store has of it, with which it is compared when it is replaced.
    #[serde(skip)]
    pub stored: Option<String>,
}

impl Shared {
    /// The text of which the mark of an order's payments is an HMAC: no other ledger, order or owner has it.
    #[must_use]
    pub fn text_of_mark(&self, owner: &Owner, name: &str) -> String {
        format!("{} {owner} {name}", self.created_at)
    }

    /// That of a ledger which is created now.
    #[must_use]
    pub fn new(now: Time) -> Self {
        Self {
            created_at: now,
            epoch: now * 1_000_000,
            round_until: 0,
            held_until: 0,
            repeats: true,
            is_test: None,
            copied_at: None,
            restores: Vec::new(),
            stored: None,
        }
    }

    /// What the service can do, by what its replies have shown, and whether a restore is open.
    #[must_use]
    pub fn service(&self, service: &Service) -> Service {
        let is_restoring = self.open_restores().next().is_some();
        Service { repeats: service.repeats && self.repeats, is_restoring, ..service.clone() }
    }

    /// Declares that this ledger was restored. The versions of its orders begin anew, above any that the shop may have
    /// received.
    pub fn declare_restore(&mut self, restore: Restore) {
        self.epoch = (self.epoch + VERSIONS).max(restore.at * 1_000_000);
        (self.copied_at, self.round_until, self.held_until) = (None, 0, 0);
        self.restores.push(restore);
    }

    /// The restores that are not closed: what the ledger did between `copied_at` and `at` is not known.
    pub fn open_restores(&self) -> impl Iterator<Item = &Restore> {
        self.restores.iter().filter(|restore| restore.closed.is_none())
    }

    /// Whether the ledger may be served: it is no copy, and what was restored was read at the service.
    #[must_use]
    pub fn may_be_served(&self) -> bool {
        self.copied_at.is_none() && self.restores.last().is_none_or(|restore| restore.is_read)
    }
}

/// A restore. What the ledger did from the copy until then is not known, until a person closes it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// When the copy was written.
    pub copied_at: Time,
    /// When its restore was declared.
    pub at: Time,
    /// By whom.
    pub who: String,
    /// Why.
    pub why: String,
    /// Whether each order was read at the service, or is one of `unread`, and comes to the shop once more.
    #[serde(default)]
    pub is_read: bool,
    /// The orders that the service did not answer for: their later payments were not looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Who has closed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Closing>,
}

/// The end of a restore: a person knows what happened between the copy and its restore.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// When.
    pub at: Time,
    /// Who.
    pub who: String,
    /// Why.
    pub why: String,
}
