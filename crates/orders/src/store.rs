//! The statements. Both engines take the same; they differ in how they begin, what time it is, and which tables there
//! are.

use crate::OrdersError;
use crate::tables::{FORMAT, TABLES, check_prefix};
use guichet::shop::Owner;
use guichet::shop::ledger::{Books, Commit, Due, Loaded, OpenEvent, Order, Shared, Store, Time};
use sqlx::{AssertSqlSafe, Row as _, query};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

macro_rules! orders {
    ($(#[$about:meta])* $name:ident, $pool:ty, $text:literal, $begin:literal, $lock:expr, $now:expr, $tables:literal) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $name {
            pub(crate) pool: $pool,
            pub(crate) prefix: Arc<str>,
        }

        impl $name {
            /// Opens the ledger of these tables, and creates those that are missing.
            ///
            /// # Errors
            /// [`OrdersError`] if the prefix is none, if tables are missing and may not be created, or if they are of a
            /// newer version.
            pub async fn open(pool: $pool, prefix: &str) -> Result<Self, OrdersError> {
                check_prefix(prefix)?;
                let store = Self { pool, prefix: prefix.into() };
                let there = query(store.sql($tables)).fetch_all(&store.pool).await?;
                let there: Vec<String> = there.iter().map(|row| row.get(0)).collect();
                if there.contains(&store.ledger()) {
                    store.refuse_newer().await?;
                }
                let named = TABLES.map(|(table, statements)| ([prefix, table].concat(), statements));
                let missing: Vec<_> = named.iter().filter(|(table, _)| !there.contains(table)).collect();
                if !missing.is_empty()
                    && let Err(cause) = store.create(missing.iter().flat_map(|(_, statements)| statements.iter())).await
                {
                    return Err(OrdersError::Missing { tables: missing.into_iter().map(|(table, _)| table.clone()).collect(), cause });
                }
                let now = store.now().await?;
                let first = serde_json::to_string(&Shared::new(now))?;
                query(store.sql("INSERT INTO {p}ledger (id, format, shared) VALUES (1, $1, $2) ON CONFLICT DO NOTHING"))
                    .bind(FORMAT)
                    .bind(first)
                    .execute(&store.pool)
                    .await?;
                store.refuse_newer().await?;
                Ok(store)
            }

            /// The name of the table with the format.
            fn ledger(&self) -> String {
                [&self.prefix, "ledger"].concat()
            }

            async fn refuse_newer(&self) -> Result<(), OrdersError> {
                let format = query(self.sql("SELECT format FROM {p}ledger WHERE id = 1")).fetch_optional(&self.pool).await?;
                match format.map(|row| row.get(0)) {
                    Some(format) if format > FORMAT => Err(OrdersError::Newer { table: self.ledger(), format }),
                    _ => Ok(()),
                }
            }

            /// Servers that start at once create them one after the other.
            async fn create<'a>(&self, statements: impl Iterator<Item = &'a &'a str>) -> Result<(), sqlx::Error> {
                let mut transaction = self.pool.begin_with($begin).await?;
                if let Some(lock) = $lock {
                    query(lock).bind("guichet's tables").execute(&mut *transaction).await?;
                }
                for statement in statements {
                    query(self.sql(&statement.replace("{text}", $text))).execute(&mut *transaction).await?;
                }
                transaction.commit().await
            }

            /// A statement with the names of this ledger's tables. The prefix was checked.
            fn sql(&self, statement: &str) -> AssertSqlSafe<String> {
                AssertSqlSafe(statement.replace("{p}", &self.prefix))
            }
        }

        impl Books for $name {
            async fn orders_after(&self, name: &str) -> Result<Vec<Order>, OrdersError> {
                let after = query(self.sql("SELECT body FROM {p}orders WHERE name > $1 ORDER BY name LIMIT 1000")).bind(name);
                let orders = after.fetch_all(&self.pool).await?;
                orders.iter().map(|row| Ok(serde_json::from_str(row.get(0))?)).collect()
            }
        }

        impl Store for $name {
            type Error = OrdersError;

            async fn now(&self) -> Result<Time, OrdersError> {
                match $now {
                    Some(now) => Ok(query(now).fetch_one(&self.pool).await?.get(0)),
                    None => Ok(clock()),
                }
            }

            async fn load(&self, name: &str, owner: &Owner, now: Time) -> Result<Loaded, OrdersError> {
                let both = format!("SELECT (SELECT body FROM {{p}}orders WHERE name = $3), ({COUNT})");
                let found = query(self.sql(&both)).bind(owner.to_string()).bind(now).bind(name);
                let found = found.fetch_one(&self.pool).await?;
                let order = found.get::<Option<&str>, _>(0).map(serde_json::from_str::<Order>).transpose()?;
                let open: i64 = found.get(1);
                // `.` comes after `-`: between them is everything that begins with the name and `-`.
                let taken = query(self.sql(
                    "SELECT reference FROM {p}payments WHERE (reference = $1 OR (reference > $2 AND reference < $3)) AND name <> $1",
                ))
                .bind(name)
                .bind(format!("{name}-"))
                .bind(format!("{name}."))
                .fetch_all(&self.pool)
                .await?;
                let taken = taken.iter().map(|row| row.get(0)).collect();
                Ok(Loaded { order, open: open.try_into().unwrap_or_default(), taken })
            }

            async fn commit(&self, commit: &Commit) -> Result<bool, OrdersError> {
                let Commit { order, before, open, now, rows, event } = commit;
                let (owner, body) = (order.owner.to_string(), serde_json::to_string(order)?);
                let mut transaction = self.pool.begin_with($begin).await?;
                if let Some(open) = open {
                    if let Some(lock) = $lock {
                        query(lock).bind(&owner).execute(&mut *transaction).await?;
                    }
                    let counted: i64 = query(self.sql(COUNT)).bind(&owner).bind(now).fetch_one(&mut *transaction).await?.get(0);
                    if usize::try_from(counted) != Ok(*open) {
                        return Ok(false);
                    }
                }
                let stored = match before {
                    None => query(self.sql("INSERT INTO {p}orders (name, version, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"))
                        .bind(&order.name)
                        .bind(order.version)
                        .bind(body),
                    Some(before) => query(self.sql("UPDATE {p}orders SET version = $2, body = $3 WHERE name = $1 AND version = $4"))
                        .bind(&order.name)
                        .bind(order.version)
                        .bind(body)
                        .bind(before),
                };
                if stored.execute(&mut *transaction).await?.rows_affected() == 0 {
                    return Ok(false);
                }
                for row in rows {
                    let stored = query(self.sql(
                        "INSERT INTO {p}payments AS old (reference, name, owner, created_at, due_at, counts_until) VALUES ($1, $2, $3, $4, $5, $6)
                        ON CONFLICT (reference) DO UPDATE SET
                            owner = excluded.owner, due_at = excluded.due_at, counts_until = excluded.counts_until
                        WHERE old.name = excluded.name",
                    ));
                    let stored = stored.bind(&row.reference).bind(&order.name).bind(&owner).bind(row.created_at);
                    let stored = stored.bind(row.due_at).bind(row.counts_until).execute(&mut *transaction).await?;
                    if stored.rows_affected() == 0 {
                        return Ok(false);
                    }
                    let places: Vec<_> = (2..row.names.len() + 2).map(|place| format!("(${place}, $1)")).collect();
                    let names = format!("INSERT INTO {{p}}names (payment, name) VALUES {} ON CONFLICT DO NOTHING", places.join(", "));
                    let mut names = query(self.sql(&names)).bind(&order.name);
                    for payment in &row.names {
                        names = names.bind(payment);
                    }
                    names.execute(&mut *transaction).await?;
                }
                if let Some(event) = event {
                    query(self.sql("INSERT INTO {p}events (name, version, body) VALUES ($1, $2, $3)"))
                        .bind(&event.name)
                        .bind(event.version)
                        .bind(serde_json::to_string(event)?)
                        .execute(&mut *transaction)
                        .await?;
                }
                transaction.commit().await?;
                Ok(true)
            }

            async fn find(&self, payment: &str) -> Result<Vec<String>, OrdersError> {
                let names = query(self.sql("SELECT name FROM {p}names WHERE payment = $1 ORDER BY name")).bind(payment);
                Ok(names.fetch_all(&self.pool).await?.iter().map(|row| row.get(0)).collect())
            }

            async fn returned(&self, reference: &str, now: Time) -> Result<(), OrdersError> {
                let returned = self.sql("UPDATE {p}payments SET returned_at = $2 WHERE reference = $1");
                query(returned).bind(reference).bind(now).execute(&self.pool).await?;
                Ok(())
            }

            async fn due(&self, now: Time, beyond: Time) -> Result<Vec<Due>, OrdersError> {
                let due = self.sql(
                    "SELECT reference, owner, created_at, returned_at, due_at FROM {p}payments WHERE due_at <= $1 OR due_at > $2",
                );
                let due = query(due).bind(now).bind(beyond).fetch_all(&self.pool).await?;
                let due = due.iter().map(|row| Due {
                    reference: row.get(0),
                    owner: row.get(1),
                    created_at: row.get(2),
                    returned_at: row.get(3),
                    since: row.get(4),
                });
                Ok(due.collect())
            }

            async fn has_due(&self) -> Result<bool, OrdersError> {
                let due = query(self.sql("SELECT 1 FROM {p}payments WHERE due_at IS NOT NULL LIMIT 1"));
                Ok(due.fetch_optional(&self.pool).await?.is_some())
            }

            async fn postpone(&self, reference: &str, due_at: Time) -> Result<(), OrdersError> {
                let postpone = self.sql("UPDATE {p}payments SET due_at = $2 WHERE reference = $1");
                query(postpone).bind(reference).bind(due_at).execute(&self.pool).await?;
                Ok(())
            }

            async fn shared(&self) -> Result<Shared, OrdersError> {
                let shared = query(self.sql("SELECT shared FROM {p}ledger WHERE id = 1")).fetch_one(&self.pool).await?;
                let stored: String = shared.get(0);
                Ok(Shared { stored: Some(stored.clone()), ..serde_json::from_str(&stored)? })
            }

            async fn replace_shared(&self, before: &Shared, after: &Shared) -> Result<bool, OrdersError> {
                let replaced = query(self.sql("UPDATE {p}ledger SET shared = $2 WHERE id = 1 AND shared = $1"))
                    .bind(before.stored.as_deref().unwrap_or_default())
                    .bind(serde_json::to_string(after)?)
                    .execute(&self.pool)
                    .await?;
                Ok(replaced.rows_affected() == 1)
            }

            async fn events(&self, name: Option<&str>) -> Result<Vec<OpenEvent>, OrdersError> {
                let events = match name {
                    Some(_) => "SELECT name, version, body FROM {p}events WHERE name = $1 ORDER BY version",
                    None => "SELECT name, version, body FROM {p}events ORDER BY version, name",
                };
                let mut events = query(self.sql(events));
                if let Some(name) = name {
                    events = events.bind(name);
                }
                let events = events.fetch_all(&self.pool).await?;
                Ok(events.iter().map(|row| OpenEvent { name: row.get(0), version: row.get(1), body: row.get(2) }).collect())
            }

            async fn close(&self, event: &OpenEvent) -> Result<(), OrdersError> {
                let close = self.sql("DELETE FROM {p}events WHERE name = $1 AND version = $2");
                query(close).bind(&event.name).bind(event.version).execute(&self.pool).await?;
                Ok(())
            }
        }
    };
}

/// The clock of this machine.
#[allow(clippy::disallowed_methods, reason = "SQLite's own clock is this one")]
pub(crate) fn clock() -> Time {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs().cast_signed())
}

const COUNT: &str = "SELECT count(*) FROM {p}payments WHERE owner = $1 AND counts_until > $2";

#[cfg(feature = "sqlite")]
orders!(
    /// A ledger in SQLite. Cheap to clone.
    SqliteOrders,
    sqlx::SqlitePool,
    "TEXT",
    "BEGIN IMMEDIATE",
    // A transaction that writes is alone.
    None::<&str>,
    // All its processes are on this machine.
    None::<&str>,
    "SELECT name FROM sqlite_schema WHERE type = 'table'"
);

#[cfg(feature = "postgres")]
orders!(
    /// A ledger in PostgreSQL, in the first schema of the `search_path`. Cheap to clone.
    PostgresOrders,
    sqlx::PgPool,
    r#"TEXT COLLATE "C""#,
    // In another isolation an owner's payments would be counted as they were before the lock.
    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; SET LOCAL idle_in_transaction_session_timeout = '5s'",
    Some("SELECT pg_advisory_xact_lock(hashtextextended($1, 7267631045223164514))"),
    Some("SELECT floor(extract(epoch FROM clock_timestamp()))::bigint"),
    // Also those that the role may not read: they are not missing.
    "SELECT tablename::text FROM pg_catalog.pg_tables WHERE schemaname = current_schema()"
);
