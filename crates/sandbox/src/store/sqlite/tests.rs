//! The rules of a database file. The module `contract` tests those of every store.

use super::commit::Committer;
use super::open::create;
use super::reads::{MERCHANTS_DUE, newest};
use super::writes::DELETE_EXPIRED_KEYS;
use super::*;
use crate::store::contract::{self, billed, intent, intent_id, merchant, order, plan, request};
use crate::store::{Backend, Customer, EsimOrder, IdempotentRequest, List, MerchantRow, Write};
use guichet::values::Moment;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, Row};
use std::sync::Arc;

impl Sqlite {
    /// A store without a file, on one connection.
    pub(crate) async fn without_file() -> Self {
        // Closing the connection would delete the database.
        let pool = SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
        let options = SqliteConnectOptions::new().in_memory(true).foreign_keys(false);
        let pool = pool.connect_with(options).await.expect("SQLite is in this binary");
        create(&pool).await.expect("it is empty");
        Self { readers: pool.clone(), writer: Writer::start(Committer::new(pool.clone(), pool, None)) }
    }

    /// Replaces the effect of every statement of this kind on a table, by a trigger.
    pub(crate) async fn intercept(&self, table: &str, event: &str, action: &str) {
        let text = format!("CREATE TRIGGER intercepted BEFORE {event} ON {table} BEGIN SELECT {action}; END");
        sqlx::raw_sql(AssertSqlSafe(text)).execute(&self.readers).await.expect("the trigger is made");
    }

    /// Removes the trigger of [`Sqlite::intercept`].
    pub(crate) async fn stop_intercepting(&self) {
        sqlx::raw_sql("DROP TRIGGER intercepted").execute(&self.readers).await.expect("the trigger is there");
    }
}

#[test]
fn sqlite_keeps_the_contract() {
    contract::check(async || Arc::new(Sqlite::without_file().await) as Arc<dyn Backend>);
}

#[tokio::test]
async fn a_group_that_cannot_be_stored_is_not_acknowledged_and_the_next_one_is() {
    let store = Sqlite::without_file().await;
    sqlx::raw_sql("ALTER TABLE intents RENAME TO elsewhere").execute(&store.readers).await.unwrap();
    let write = Write::AddIntent(Box::new(intent(1, "ORDER-1", None)));
    assert!(store.write(write.clone()).await.is_err());
    sqlx::raw_sql("ALTER TABLE elsewhere RENAME TO intents").execute(&store.readers).await.unwrap();
    assert!(store.write(write).await.unwrap());
}

#[tokio::test]
async fn more_rows_than_one_statement_holds_are_all_written() {
    let store = Sqlite::without_file().await;
    let group = (0..203).map(|n| Write::AddIntent(Box::new(intent(n, &format!("ORDER-{n}"), None)))).collect();
    assert_eq!(store.commit(group).await.unwrap(), [true; 203]);
    for number in [0, 202] {
        assert!(store.intent(&intent_id(number)).await.unwrap().is_some());
    }
}

const DAY: i64 = 24 * 60 * 60;

#[tokio::test]
async fn a_key_that_expired_by_its_merchants_clock_is_deleted_and_no_other() {
    let store = Sqlite::without_file().await;
    let now = Moment::from_unix(1_000_000);
    for (id, clock_offset) in [("mch_1", 0), ("mch_2", 10)] {
        let merchant = MerchantRow { id: id.into(), key_fingerprint: id.into(), clock_offset, ..merchant(0) };
        assert!(store.write(Write::AddMerchant(merchant)).await.unwrap());
        let orders = (0..700).map(|number| {
            let now = now.plus(if number == 0 { 5 } else { 0 });
            let request = IdempotentRequest { now, ..request(id, number) };
            let order = EsimOrder { merchant: id.into(), ..order(2 * number + u32::from(clock_offset > 0)) };
            let made = order.id.to_string();
            Write::AddEsimOrder(Box::new(order)).if_key_is_new(Some(request), made)
        });
        assert_eq!(store.commit(orders.collect()).await.unwrap(), [true; 700]);
    }
    let left = async |wall: Moment| {
        (&store as &dyn Backend).delete_expired_keys(wall).await.unwrap();
        let text = "SELECT merchant, COUNT(*) FROM idempotency_keys GROUP BY merchant ORDER BY merchant";
        sqlx::query_as::<_, (String, i64)>(text).fetch_all(&store.readers).await.unwrap()
    };
    let both = [("mch_1".to_owned(), 700), ("mch_2".to_owned(), 700)];
    assert_eq!(left(now.plus(DAY - 11)).await, both);
    assert_eq!(left(now.plus(DAY - 10)).await, [("mch_1".to_owned(), 700), ("mch_2".to_owned(), 1)]);
    assert_eq!(left(now.plus(DAY - 1)).await, [("mch_1".to_owned(), 700)]);
    assert_eq!(left(now.plus(DAY)).await, [("mch_1".to_owned(), 1)]);
    assert!(left(now.plus(DAY + 5)).await.is_empty());
}

#[tokio::test]
async fn a_cursor_survives_deletions_a_vacuum_and_a_rewritten_table() {
    let store = Sqlite::without_file().await;
    for number in 1..=6 {
        let contact = format!("{number}@example.com");
        let (intent, customer) = intent(number, &format!("ORDER-{number}"), None);
        let group = vec![
            Write::AddIntent(Box::new((intent, Customer { contact: contact.clone(), ..customer }))),
            Write::AddPlan(Box::new(plan(number, "m0", &format!("c{number}")))),
            Write::SaveBilled(vec![billed(number, "m0", &contact, 1, None)]),
        ];
        assert_eq!(store.commit(group).await.unwrap(), [true; 3]);
    }
    for (list, table, prefix) in [
        (List::Customers, "customers", "cus"),
        (List::Intents, "intents", "pi"),
        (List::Plans, "plans", "plan"),
        (List::Subscriptions, "subscriptions", "sub"),
    ] {
        let fifth = format!("{prefix}_5");
        let before = store.position(list, "m0", &fifth).await.unwrap();
        let delete = AssertSqlSafe(format!("DELETE FROM {table} WHERE id IN ('{prefix}_1', '{prefix}_3')"));
        sqlx::query(delete).execute(&store.readers).await.unwrap();
        sqlx::raw_sql("VACUUM").execute(&store.readers).await.unwrap();
        // Like a dump and restore: columns are kept, but SQLite's own row ids are not.
        let rewrite = format!(
            "CREATE TABLE copy AS SELECT * FROM {table}; DELETE FROM {table}; INSERT INTO {table} SELECT * FROM copy; DROP TABLE copy"
        );
        sqlx::raw_sql(AssertSqlSafe(rewrite)).execute(&store.readers).await.unwrap();
        assert!(before.is_some());
        assert_eq!(store.position(list, "m0", &fifth).await.unwrap(), before, "{table}");
        let page = sqlx::query(AssertSqlSafe(newest(table))).bind("m0").bind(before.unwrap().0).bind(9);
        let page: Vec<String> = page.fetch_all(&store.readers).await.unwrap().iter().map(|row| row.get("id")).collect();
        assert_eq!(page, [4, 2].map(|number| format!("{prefix}_{number}")), "{table}");
    }
}

#[tokio::test]
async fn lists_and_due_work_are_read_from_indexes() {
    let store = Sqlite::without_file().await;
    for table in ["customers", "intents", "plans", "subscriptions", "esim_orders"] {
        let plan = plan_of(&store, &newest(table)).await;
        let searched = format!("SEARCH {table} USING INDEX {table}_of_merchant (merchant=? AND seq<?)");
        assert_eq!(plan, [searched], "no sorting");
    }
    for (text, searched) in [
        (MERCHANTS_DUE, "USING COVERING INDEX subscriptions_due (merchant=? AND due_at<?)"),
        (DELETE_EXPIRED_KEYS, "USING INDEX idempotency_keys_until (merchant=? AND expires_at<?)"),
    ] {
        let plan = plan_of(&store, text).await;
        assert!(plan.iter().any(|step| step.ends_with(searched)), "{plan:?}");
    }
}

/// The steps in which SQLite executes a statement.
async fn plan_of(store: &Sqlite, text: &str) -> Vec<String> {
    let explained = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {text}"));
    let rows = sqlx::query(explained).fetch_all(&store.readers).await.unwrap();
    rows.iter().map(|row| row.get("detail")).collect()
}

#[tokio::test]
async fn a_file_of_another_version_is_refused_by_name_with_the_remedy_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sandbox.sqlite");
    for (version, is_refused) in [(11, false), (10, true), (12, true)] {
        let pool = SqlitePool::connect_with(SqliteConnectOptions::new().filename(&path).create_if_missing(true));
        let pool = pool.await.unwrap();
        if version == 11 {
            create(&pool).await.unwrap();
        }
        sqlx::query("UPDATE guichet_schema SET version = $1").bind(version).execute(&pool).await.unwrap();
        pool.close().await;
        match Sqlite::open(&path).await {
            Ok((store, _)) => store.close().await,
            Err(error) => {
                let remedy =
                    "was written by another version of guichet. It was not changed. Delete it, or give another file.";
                assert_eq!(error.to_string(), format!("{} {remedy}", path.display()));
                assert!(is_refused);
                continue;
            }
        }
        assert!(!is_refused);
    }
}
