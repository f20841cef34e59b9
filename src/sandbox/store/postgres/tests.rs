//! The rules of a database that instances share. The module `contract` tests the rules of every store.

use super::STATEMENT_DEADLINE;
use super::locks::Lock;
use crate::operations::ReadPaymentIntent;
use crate::protocol::Operation;
use crate::sandbox::faults::{Fault, FaultKind};
use crate::sandbox::requests::{Batch, Request};
use crate::sandbox::rules::Intent;
use crate::sandbox::store::contract::{commit, intent, intent_id, merchant, order, plan, request};
use crate::sandbox::store::servers::PostgresServer;
use crate::sandbox::store::write::Write;
use crate::sandbox::store::{Backend, By, Location, Store};
use crate::sandbox::surroundings::monotonic_now;
use crate::values::Moment;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use std::time::Duration;

impl Store {
    /// A store on a new database.
    pub(in crate::sandbox) async fn on_postgres() -> Self {
        Self::at(&PostgresServer::shared().create_database()).await
    }

    /// Two stores on one new database.
    pub(in crate::sandbox) async fn two_on_postgres() -> [Self; 2] {
        let url = PostgresServer::shared().create_database();
        [Self::at(&url).await, Self::at(&url).await]
    }

    /// A store on the database of this address.
    pub(in crate::sandbox) async fn at(url: &str) -> Self {
        Self::open(&Location::read(url).expect("an address")).await.expect("the server runs")
    }
}

async fn refusal(url: &str) -> String {
    Store::open(&Location::read(url).unwrap()).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_database_that_cannot_be_used_is_refused_with_what_to_do() {
    let server = PostgresServer::shared();
    let url = server.create_database();
    let name = url.rsplit('/').next().unwrap();
    server.psql(name, "CREATE TABLE orders (id BIGINT)");
    let error = refusal(&url).await;
    assert!(
        error.ends_with("is not a database of the guichet sandbox. It was not changed. Give an empty database."),
        "{error}"
    );
    assert_eq!(server.psql(name, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"), "orders");

    let url = server.create_database();
    let name = url.rsplit('/').next().unwrap();
    Store::at(&url).await.close().await;
    Store::at(&url).await.close().await;
    server.psql(name, "UPDATE guichet_schema SET version = version + 1");
    let error = refusal(&url).await;
    assert!(error.contains("was written by a newer version of guichet"), "{error}");

    server.psql(name, "UPDATE guichet_schema SET version = version - 1");
    let error = refusal(&format!("{url}?options=-c%20default_transaction_read_only%3Don")).await;
    assert!(error.contains("is read-only"), "{error}");

    let secret = format!("postgres://guichet:hunter2@127.0.0.1:{}/absent", server.port());
    let error = refusal(&secret).await;
    assert!(error.contains("does not exist") && !error.contains("hunter2"), "{error}");
    let error = refusal("postgres://guichet:hunter2@127.0.0.1:1/absent").await;
    assert!(error.contains("127.0.0.1:1/absent cannot be reached") && !error.contains("hunter2"), "{error}");
}

#[tokio::test]
async fn a_role_without_privileges_on_the_tables_is_refused_at_the_start_with_the_remedy() {
    let server = PostgresServer::shared();
    let url = server.create_database();
    let name = url.rsplit('/').next().unwrap();
    Store::at(&url).await.close().await;
    server.psql(name, "CREATE ROLE awa LOGIN");
    let as_awa = url.replace("guichet@", "awa@");
    let error = refusal(&as_awa).await;
    assert!(error.contains("The role awa lacks privileges on tables of ") && error.contains("intents, "), "{error}");
    assert!(
        error.ends_with("with the role guichet, or give its privileges to the other: GRANT \"guichet\" TO \"awa\".")
    );

    server.psql(name, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO awa");
    let error = refusal(&as_awa).await;
    assert!(error.contains("that the role guichet owns: request_numbers."), "{error}");

    server.psql(name, "GRANT guichet TO awa");
    Store::at(&as_awa).await.close().await;

    // Another program's table.
    server.psql(name, "CREATE ROLE shop; CREATE TABLE orders (); ALTER TABLE orders OWNER TO shop");
    Store::at(&as_awa).await.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_no_longer_answers_gives_an_error_and_is_used_again_when_it_does() {
    let server = PostgresServer::start(&["fsync=off"]);
    let url = server.create_database();
    let [one, other] = [Store::at(&url).await, Store::at(&url).await];
    one.add_merchant(merchant(1)).await.unwrap();
    let holding = one.shared().unwrap().lock("m1").await.unwrap();
    let waiting = tokio::spawn({
        let other = other.shared().unwrap().clone();
        async move { other.lock("m1").await.map(drop) }
    });
    wait_until_blocked(&url).await;
    let fault = Fault { operation: "create_session", kind: FaultKind::Drop, count: 1 };
    let paused = server.pause();
    let both = async { tokio::join!(waiting, one.shared().unwrap().add_fault("m1", &fault)) };
    let (waited, added) = tokio::time::timeout(2 * STATEMENT_DEADLINE, both).await.expect("both end");
    assert!(waited.unwrap().is_err() && added.is_err());
    drop((paused, holding));
    drop(other.shared().unwrap().lock("m1").await.unwrap());
    assert_eq!(other.merchants().await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_waits_for_a_merchant_does_not_stop_that_of_another() {
    let url = PostgresServer::shared().create_database();
    let store = Store::at(&url).await;
    let database = store.shared().unwrap();
    let mut elsewhere = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("BEGIN").execute(&mut elsewhere).await.unwrap();
    let mut take_elsewhere = async |merchant: &str| {
        let taken = sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(Lock::Billing.on(merchant));
        taken.execute(&mut elsewhere).await.unwrap();
    };
    let wait_for = |merchant: String| {
        let database = database.clone();
        tokio::spawn(async move { database.lock(&merchant).await.map(drop) })
    };
    let is_free = async |merchant: &str| {
        let locked = tokio::time::timeout(Duration::from_secs(5), database.lock(merchant)).await;
        drop(locked.expect("it does not wait").unwrap());
        assert!(database.try_lock(merchant).await.is_ok());
    };

    take_elsewhere("m1").await;
    let of_one: Vec<_> = (0..8).map(|_| wait_for("m1".into())).collect();
    wait_until_blocked(&url).await;
    is_free("m2").await;
    let waiting = tokio::time::timeout(Duration::from_secs(1), database.try_lock("m1"));
    assert!(waiting.await.expect("it does not wait").unwrap().is_none());

    for number in 3..=9 {
        take_elsewhere(&format!("m{number}")).await;
    }
    for _ in 0..3 {
        let of_many: Vec<_> = (3..=9).map(|number| wait_for(format!("m{number}"))).collect();
        tokio::time::sleep(Duration::from_millis(500)).await;
        is_free("m2").await;
        // Their callers have gone, and some still wait at the server.
        of_many.iter().for_each(tokio::task::JoinHandle::abort);
    }
    is_free("m2").await;
    sqlx::raw_sql("COMMIT").execute(&mut elsewhere).await.unwrap();
    for work in of_one {
        work.await.unwrap().unwrap();
    }
    is_free("m9").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_that_start_at_once_migrate_an_empty_database_once() {
    let url = PostgresServer::shared().create_database();
    let mut starts = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let url = url.clone();
        starts.spawn(async move { Store::at(&url).await.merchants().await.unwrap().len() });
    }
    assert_eq!(starts.join_all().await, [0; 6]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_instances_that_write_the_same_in_opposite_orders_store_it_once() {
    let [one, other] = Store::two_on_postgres().await;
    let writes = |offset: u32| {
        let merchant = |number: u32| format!("m{}", number % 3);
        let mut writes = Vec::new();
        for number in 1..=100 {
            let (new, mut customer) = intent(offset + number, &format!("ORDER-{number}"), None);
            customer.merchant = merchant(number);
            writes.push(Write::AddIntent(Box::new((Intent { merchant: merchant(number), ..new }, customer))));
            writes.push(Write::AddPlan(Box::new(plan(offset + number, &merchant(number), &format!("c{number}")))));
            let made = order(offset + number);
            let (id, of) = (made.id.to_string(), merchant(number));
            let new = Write::AddEsimOrder(Box::new(crate::sandbox::rules::EsimOrder { merchant: of.clone(), ..made }));
            writes.push(new.if_key_is_new(Some(request(&of, number)), id));
        }
        writes
    };
    let (mine, mut theirs) = (writes(0), writes(1_000));
    theirs.reverse();
    let (mine, mut theirs) = tokio::join!(commit(&one, mine), commit(&other, theirs));
    theirs.reverse();
    for (mine, theirs) in mine.iter().zip(&theirs) {
        assert!(mine ^ theirs, "stored by one of them");
    }
    let mut stored = 0;
    for merchant in ["m0", "m1", "m2"] {
        stored += one.intents(merchant, None, 200).await.unwrap().len();
    }
    assert_eq!(stored, 100);

    // The same states, saved by both.
    let mut intents = one.intents("m0", None, 200).await.unwrap();
    let mine = intents.clone();
    intents.reverse();
    let (mine, theirs) = tokio::join!(one.save_intents(mine), other.save_intents(intents));
    assert!(mine.unwrap() ^ theirs.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_new_entries_misses_none_while_two_instances_write() {
    const EACH: u32 = 150;
    let [one, other] = Store::two_on_postgres().await;
    let write = async |store: &Store, first: u32| {
        for number in first..first + EACH {
            let (new, customer) = intent(number, &format!("ORDER-{number}"), None);
            assert!(store.add_intent(new, customer).await.unwrap());
        }
    };
    let read = async {
        let (mut seen, begun) = (Vec::new(), monotonic_now());
        while seen.len() < 2 * EACH as usize && monotonic_now() - begun < Duration::from_secs(60) {
            let newest = one.intents("m0", None, i64::from(2 * EACH)).await.unwrap();
            let is_new = |intent: &&Intent| seen.last() != Some(&intent.id);
            let new: Vec<_> = newest.iter().take_while(is_new).map(|intent| intent.id.clone()).collect();
            seen.extend(new.into_iter().rev());
        }
        seen
    };
    let ((), (), mut seen) = tokio::join!(write(&one, 1), write(&other, 1_001), read);
    let listed = other.intents("m0", None, i64::from(2 * EACH)).await.unwrap();
    seen.reverse();
    assert_eq!(seen, listed.into_iter().map(|intent| intent.id).collect::<Vec<_>>());
}

#[tokio::test]
async fn merchants_read_together_are_found_each_at_its_place_with_its_own_number() {
    let store = Store::on_postgres().await;
    for number in [1, 2] {
        store.add_merchant(merchant(number)).await.unwrap();
    }
    let database = store.shared().unwrap();
    let mut latest = 0;
    for (by, column) in [(By::Id, "m"), (By::Key, "k")] {
        let texts = ["2", "\0", "absent", "1", "2"].map(|text| format!("{column}{text}"));
        let found = database.merchants_by(by, &texts).await.unwrap();
        let ids: Vec<_> = found.iter().map(|found| found.as_ref().map(|merchant| &*merchant.id)).collect();
        assert_eq!(ids, [Some("m2"), None, None, Some("m1"), Some("m2")]);
        let mut numbers: Vec<i64> = found.iter().flatten().map(|merchant| merchant.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [latest + 1, latest + 2, latest + 3]);
        latest += 3;
        assert!(database.merchants_by(by, &[]).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn all_but_the_newest_requests_of_the_named_merchants_are_deleted() {
    const STORED: i64 = 1_005;
    let url = PostgresServer::shared().create_database();
    let store = Store::at(&url).await;
    let mut batch = Batch::default();
    for merchant in [merchant(1), merchant(2)] {
        let request = Request::new(Moment::from_unix(1), &ReadPaymentIntent::SPEC, None, None, "req_1");
        let first = i64::try_from(batch.requests.len()).unwrap() + 1;
        let new = (first..first + STORED).map(|number| (merchant.id.clone(), number, request.clone()));
        batch.requests.extend(new);
        store.add_merchant(merchant).await.unwrap();
    }
    let database = store.shared().unwrap();
    database.write_requests(&batch).await.unwrap();
    for _ in 0..2 {
        database.trim_requests(&["m1".to_owned(), "m3".to_owned()].into()).await.unwrap();
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let text = "SELECT min(number), count(*) FROM requests GROUP BY merchant ORDER BY merchant";
        let left: Vec<(i64, i64)> = sqlx::query_as(text).fetch_all(&mut connection).await.unwrap();
        assert_eq!(left, [(6, 1_000), (STORED + 1, STORED)]);
    }
}

#[tokio::test]
async fn a_group_that_meets_a_deadlock_is_executed_again() {
    let url = PostgresServer::shared().create_database();
    // The server looks for a deadlock once in each wait: in that of the group, and on a busy machine only when both wait.
    let store = Store::at(&format!("{url}?options[deadlock_timeout]=3s")).await;
    let (first, second) = (intent(1, "ORDER-1", None), intent(2, "ORDER-2", None));
    for (new, customer) in [first.clone(), second.clone()] {
        store.add_intent(new, customer).await.unwrap();
    }
    // Another program locks the second row, and then the first one.
    let mut program = PgConnection::connect(&url).await.unwrap();
    let begin = "SET deadlock_timeout = '60s'; BEGIN; UPDATE intents SET digest = '' WHERE id = 'pi_2'";
    sqlx::raw_sql(begin).execute(&mut program).await.unwrap();
    let pending = store.queue(Write::SaveIntents(vec![first.0, second.0])).await.unwrap();
    wait_until_blocked(&url).await;
    sqlx::raw_sql("UPDATE intents SET digest = '' WHERE id = 'pi_1'; COMMIT").execute(&mut program).await.unwrap();
    assert!(pending.await.unwrap().unwrap());
    assert_eq!(store.intent(&intent_id(1)).await.unwrap().unwrap().version, 2);
}

async fn wait_until_blocked(url: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    loop {
        let text =
            "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
        if sqlx::query_scalar::<_, i64>(text).fetch_one(&mut connection).await.unwrap() > 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_group_that_cannot_be_stored_is_not_acknowledged_and_the_next_one_is() {
    let url = PostgresServer::shared().create_database();
    let store = Store::at(&url).await;
    let mut program = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("ALTER TABLE intents RENAME TO elsewhere").execute(&mut program).await.unwrap();
    let (new, customer) = intent(1, "ORDER-1", None);
    assert!(store.add_intent(new.clone(), customer.clone()).await.is_err());
    sqlx::raw_sql("ALTER TABLE elsewhere RENAME TO intents").execute(&mut program).await.unwrap();
    assert!(store.add_intent(new, customer).await.unwrap());
}

#[tokio::test]
async fn a_lock_that_stays_taken_fails_only_the_writes_that_need_it() {
    let url = PostgresServer::shared().create_database();
    let store = Store::at(&url).await;
    let (first, second) = (intent(1, "ORDER-1", None), intent(2, "ORDER-2", None));
    for (new, customer) in [first.clone(), second.clone()] {
        store.add_intent(new, customer).await.unwrap();
    }
    // Another instance resets a merchant, and a program has changed an intent of another one.
    let mut elsewhere = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("BEGIN; UPDATE intents SET digest = '' WHERE id = 'pi_1'").execute(&mut elsewhere).await.unwrap();
    let reset = sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(Lock::Commit.on("m1"));
    reset.execute(&mut elsewhere).await.unwrap();
    let plan_of = |number: u32, merchant: &str| Write::AddPlan(Box::new(plan(number, merchant, &format!("c{number}"))));
    let save = |intent: Intent| Write::SaveIntent(Box::new(intent));
    // The writer runs on this thread, so it begins only when all writes are queued.
    let mut group = Vec::new();
    for write in [plan_of(1, "m1"), save(first.0), save(second.0), plan_of(2, "m1"), plan_of(3, "m2")] {
        group.push(store.queue(write).await.unwrap());
    }
    let mut stored = Vec::new();
    for pending in group {
        stored.push(pending.await.unwrap().ok());
    }
    assert_eq!(stored, [None, None, Some(true), None, Some(true)]);
    sqlx::raw_sql("ROLLBACK").execute(&mut elsewhere).await.unwrap();
    assert!(store.queue(plan_of(1, "m1")).await.unwrap().await.unwrap().unwrap(), "it was not stored");
    assert_eq!(store.intent(&intent_id(1)).await.unwrap().unwrap().version, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_recovers_from_a_restart_of_its_database_with_everything_acknowledged() {
    let mut server = PostgresServer::start(&[]);
    let store = Store::at(&server.create_database()).await;
    let mut number = 0;
    for crash in [false, true] {
        store.add_merchant(merchant(number)).await.unwrap();
        if crash {
            server.kill()
        } else {
            server.stop()
        }
        let begun = monotonic_now();
        assert!(store.add_merchant(merchant(99)).await.is_err());
        assert!(store.merchants().await.is_err());
        assert!(monotonic_now() - begun < Duration::from_secs(10), "{:?}", monotonic_now() - begun);
        server.run();
        assert_eq!(store.merchants().await.unwrap().len(), number as usize + 1, "nothing is lost");
        number += 1;
        store.add_merchant(merchant(number)).await.unwrap();
        number += 1;
        // A restart between two writes is not noticed.
        server.stop();
        server.run();
        store.add_merchant(merchant(number)).await.unwrap();
        number += 1;
    }
}

#[tokio::test]
async fn lists_and_due_work_are_read_from_indexes() {
    let url = PostgresServer::shared().create_database();
    let store = Store::at(&url).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    // The tables are empty: without these settings, PostgreSQL would read them whole.
    sqlx::raw_sql("SET enable_seqscan = off; SET enable_bitmapscan = off").execute(&mut connection).await.unwrap();
    let mut reads: Vec<(String, String)> = ["customers", "intents", "plans", "subscriptions", "esim_orders"]
        .map(|table| {
            let text = format!("SELECT * FROM {table} WHERE merchant = 'm' AND seq < 5 ORDER BY seq DESC LIMIT 1");
            (text, format!("{table}_of_merchant"))
        })
        .into();
    reads.push((super::subscriptions::MERCHANTS_DUE.replace("$1", "5"), "subscriptions_due".into()));
    reads.push((super::keys::ANY_EXPIRED.replace("$1", "5"), "idempotency_keys_until".into()));
    for (text, index) in reads {
        let rows = sqlx::query(AssertSqlSafe(format!("EXPLAIN {text}"))).fetch_all(&mut connection).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert!(plan.iter().any(|line| line.contains(&*index)), "{plan:#?}");
        let sorted = plan.iter().any(|line| line.contains("Sort Key: ") && line.contains("seq"));
        assert!(!sorted, "no sorting: {plan:#?}");
    }
    assert!(matches!(store.backend, Backend::Postgres { .. }));
}
