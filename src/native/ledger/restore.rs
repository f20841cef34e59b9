//! Restores a ledger from a copy: declares it, reads every order at the service, and closes it.

use super::{Ledger, Receiver, log_alarm, new_nonce};
use crate::native::{Reason, Refused};
use crate::shop::ledger::{Alarm, Books, Changed, Closing, Restore, Shared, for_each_order};
use futures_util::future::join_all;

/// How many orders are read at once.
const AT_ONCE: usize = 8;

/// What [`Ledger::read_restored`] has done.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RestoreRound {
    /// How many orders were read at the service. The shop receives them once more.
    pub read: usize,
    /// The orders that the service has not answered for. They are to be read again, unless they are left unread.
    pub unread: Vec<String>,
}

impl<T: Books> Ledger<T> {
    /// Declares that this ledger was restored from a copy, while no server uses it. `copied_at` is when the copy was
    /// written, in Unix seconds; none if the copy says it itself. Until [`close_restore`](Self::close_restore) a new
    /// reference is looked for at the service before it is sent, where it can be, and what the service has of it that
    /// these orders do not know waits for a person.
    ///
    /// # Errors
    /// [`Refused`] if the store fails, if it is not known when the copy was written, or if that is not in the past.
    pub async fn declare_restore(&self, copied_at: Option<i64>, who: &str, why: &str) -> Result<Restore, Refused> {
        self.check_environment().await?;
        let at = self.now().await?;
        let declare = |shared: &mut Shared| {
            let Some(copied_at) = copied_at.or(shared.copied_at).filter(|copied_at| *copied_at <= at) else {
                return Err(refused("Name when the copy was written: a time in the past."));
            };
            let (who, why) = (who.to_owned(), why.to_owned());
            let restore = Restore { copied_at, at, who, why, is_read: false, unread: Vec::new(), closed: None };
            shared.declare_restore(restore.clone());
            Ok(restore)
        };
        self.change_shared(declare).await
    }

    /// Reads each order of a restored ledger at the service, finds what its rows lack where the service can be asked,
    /// and stores the event by which the shop receives the order once more. `progress` gets how many orders are done.
    /// Call it again for those that are unread; with `leaves_unread` they are named in the [`Restore`], and not read: a
    /// later payment of one is found only when its customer clicks.
    ///
    /// # Errors
    /// [`Refused`] if the store fails. The next call goes on.
    pub async fn read_restored(
        &self,
        leaves_unread: bool,
        mut progress: impl FnMut(usize),
    ) -> Result<RestoreRound, Refused> {
        self.check_environment().await?;
        let shared = self.shared.store.shared().await.map_err(Refused::broken)?;
        let mut names = Vec::new();
        let each = for_each_order(&self.shared.store, |order| {
            if order.version < shared.epoch {
                names.push(order.name.clone());
            }
        });
        each.await.map_err(Refused::broken)?;
        let (mut round, rules) = (RestoreRound::default(), self.rules(&NoReceiver));
        for some in names.chunks(AT_ONCE) {
            let restored = join_all(some.iter().map(|name| {
                rules.restore(name, leaves_unread, move |shared, owner| {
                    Some((new_nonce().ok()?, self.mark(shared, owner, name)))
                })
            }));
            for (name, is_read) in some.iter().zip(restored.await) {
                match is_read.map_err(Refused::broken)? {
                    true => round.read += 1,
                    false => round.unread.push(name.clone()),
                }
            }
            progress(round.read + round.unread.len());
        }
        if round.unread.is_empty() || leaves_unread {
            let is_read = |shared: &mut Shared| {
                for restore in shared.restores.iter_mut().filter(|restore| !restore.is_read) {
                    (restore.is_read, restore.unread) = (true, round.unread.clone());
                }
                Ok(())
            };
            self.change_shared(is_read).await?;
        }
        Ok(round)
    }

    /// Closes each open restore: a person knows what the ledger did between the copy and its restore. Returns those
    /// that were open.
    ///
    /// # Errors
    /// [`Refused`] if the store fails, if none is open, if orders are still to be read, or if a payment was sent and
    /// got no reply: once the restore is closed its customer would get another one.
    pub async fn close_restore(&self, who: &str, why: &str) -> Result<Vec<Restore>, Refused> {
        let (at, mut sent) = (self.now().await?, false);
        for_each_order(&self.shared.store, |order| sent |= order.is_sent()).await.map_err(Refused::broken)?;
        if sent {
            return Err(refused("A payment was sent and got no reply: decide about each such mismatch first."));
        }
        let close = |shared: &mut Shared| {
            let open: Vec<_> = shared.restores.iter_mut().filter(|restore| restore.closed.is_none()).collect();
            if open.is_empty() {
                return Err(refused("No restore is open."));
            }
            if open.iter().any(|restore| !restore.is_read) {
                return Err(refused("Read the restored orders first."));
            }
            let closed = open.into_iter().map(|restore| {
                restore.closed = Some(Closing { at, who: who.to_owned(), why: why.to_owned() });
                restore.clone()
            });
            Ok(closed.collect())
        };
        self.change_shared(close).await
    }

    async fn check_environment(&self) -> Result<(), Refused> {
        match self.is_of_its_environment().await? {
            true => Ok(()),
            false => Err(refused("This ledger has the payments of another environment than the key.")),
        }
    }
}

fn refused(message: &'static str) -> Refused {
    Refused::new(422, Reason { code: "parameter_invalid", message })
}

/// Receives nothing: while orders are restored, nothing is delivered. The process does that.
pub(super) struct NoReceiver;

impl Receiver for NoReceiver {
    async fn order_changed(&self, _: &Changed) -> Result<(), Refused> {
        Err(refused("Nothing is delivered now."))
    }

    fn alarm(&self, alarm: &Alarm) {
        log_alarm(alarm);
    }
}
