//! A ledger in either database, for an application that chooses when it starts.

use crate::OrdersError;
#[cfg(feature = "postgres")]
use crate::PostgresOrders;
#[cfg(feature = "sqlite")]
use crate::SqliteOrders;
use guichet::shop::Owner;
use guichet::shop::ledger::{Books, Commit, Due, Loaded, OpenEvent, Order, Shared, Store, Time};

/// A ledger in SQLite or in PostgreSQL. Cheap to clone.
#[derive(Clone, Debug)]
pub enum AnyOrders {
    /// In SQLite.
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteOrders),
    /// In PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres(PostgresOrders),
}

macro_rules! either {
    ($orders:ident, $name:ident($($argument:expr),*)) => {
        match $orders {
            #[cfg(feature = "sqlite")]
            AnyOrders::Sqlite(orders) => orders.$name($($argument),*).await,
            #[cfg(feature = "postgres")]
            AnyOrders::Postgres(orders) => orders.$name($($argument),*).await,
        }
    };
}

impl Books for AnyOrders {
    async fn orders_after(&self, name: &str) -> Result<Vec<Order>, OrdersError> {
        either!(self, orders_after(name))
    }
}

impl Store for AnyOrders {
    type Error = OrdersError;

    async fn now(&self) -> Result<Time, OrdersError> {
        either!(self, now())
    }
    async fn load(&self, name: &str, owner: &Owner, now: Time) -> Result<Loaded, OrdersError> {
        either!(self, load(name, owner, now))
    }
    async fn commit(&self, commit: &Commit) -> Result<bool, OrdersError> {
        either!(self, commit(commit))
    }
    async fn find(&self, payment: &str) -> Result<Vec<String>, OrdersError> {
        either!(self, find(payment))
    }
    async fn returned(&self, reference: &str, now: Time) -> Result<(), OrdersError> {
        either!(self, returned(reference, now))
    }
    async fn due(&self, now: Time, beyond: Time) -> Result<Vec<Due>, OrdersError> {
        either!(self, due(now, beyond))
    }
    async fn has_due(&self) -> Result<bool, OrdersError> {
        either!(self, has_due())
    }
    async fn postpone(&self, reference: &str, due_at: Time) -> Result<(), OrdersError> {
        either!(self, postpone(reference, due_at))
    }
    async fn shared(&self) -> Result<Shared, OrdersError> {
        either!(self, shared())
    }
    async fn replace_shared(&self, before: &Shared, after: &Shared) -> Result<bool, OrdersError> {
        either!(self, replace_shared(before, after))
    }
    async fn events(&self, name: Option<&str>) -> Result<Vec<OpenEvent>, OrdersError> {
        either!(self, events(name))
    }
    async fn close(&self, event: &OpenEvent) -> Result<(), OrdersError> {
        either!(self, close(event))
    }
}
