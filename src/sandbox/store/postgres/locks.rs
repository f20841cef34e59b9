//! Advisory locks. Their numbers share one space in a database, so that a lock's number is a digest of its purpose and its subject.

use sha2::{Digest, Sha256};

/// The purposes of locks. A group holds locks of merchants while it is committed: a task that waits for a group must not hold one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lock {
    /// One billing, clock move or reset of a merchant runs at a time.
    Billing,
    /// One group of a merchant's writes is committed at a time.
    Commit,
    /// One instance compares its keys with those of the others at a time.
    Join,
    /// One instance migrates the schema at a time.
    Migration,
    /// One group changes the merchants' secret keys at a time.
    SecretKeys,
}

impl Lock {
    /// The number of the lock on this subject, such as a merchant's id.
    pub(super) fn on(self, subject: &str) -> i64 {
        let digest = Sha256::digest(format!("guichet {self:?} {subject}"));
        let first = digest.first_chunk().expect("a digest has 32 bytes");
        i64::from_be_bytes(*first)
    }
}
