//! The rules of a database that instances share. The module `contract` of `guichet_sandbox` tests the rules of every store.

#![allow(dead_code, unreachable_pub, clippy::disallowed_methods, reason = "of the server, each test uses a part")]

#[path = "../../../tests/support/database_process.rs"]
mod database_process;
#[path = "../../../tests/support/port.rs"]
mod port;
#[path = "../../../tests/support/postgres.rs"]
mod postgres;

use crate::locks::Lock;
use crate::merchants::{BY_ID, BY_KEY};
use crate::requests::{Batch, MAX_UNWRITTEN};
use crate::statements::OpenGroup;
use crate::{Postgres, Readers, STATEMENT_DEADLINE};
use guichet::operations::CreateSession;
use guichet_sandbox::store::contract::{self, intent, intent_id, merchant, order, plan, request};
use guichet_sandbox::store::sql::{GroupTransaction as _, MERCHANTS_DUE, newest};
use guichet_sandbox::store::{Backend, By, Database, Intent, MAX_FAULTS, MerchantRow, SharedMerchant, Store, Write};
use guichet_sandbox::{Fault, Request};
use postgres::PostgresServer;
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool, Row};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use url::Url;

/// Opens the database of this address, with the first merchant `m0`.
async fn open(url: &str) -> Backend {
    open_with(url, MerchantRow { place: 0, ..merchant(0) }).await
}

async fn open_with(url: &str, first: MerchantRow) -> Backend {
    Box::new(Postgres::at(url).expect("an address")).open("fingerprint", first).await.expect("the server runs")
}

/// The store on the database of this address.
async fn store(url: &str) -> Arc<dyn Store> {
    open(url).await.store
}

/// Two stores on one new database.
async fn two_stores() -> [Arc<dyn Store>; 2] {
    let url = PostgresServer::shared().create_database();
    [store(&url).await, store(&url).await]
}

/// The reads of a database.
async fn readers(url: &str) -> Readers {
    Readers(PgPool::connect(url).await.expect("the server runs"))
}

/// A merchant, as one instance sees it.
async fn seen(by: &Backend, id: &str) -> Arc<dyn SharedMerchant> {
    by.instances.merchant(By::Id(id)).await.unwrap().unwrap()
}

fn add_intent(number: u32, reference: &str) -> Write {
    Write::AddIntent(Box::new(intent(number, reference, None)))
}

#[test]
fn two_instances_on_one_database_keep_the_contract() {
    contract::check(async |first| {
        let url = PostgresServer::shared().create_database();
        vec![open_with(&url, first.clone()).await, open_with(&url, first).await]
    });
}

async fn refusal(url: &str) -> String {
    let database = Box::new(Postgres::at(url).unwrap());
    database.open("fingerprint", MerchantRow { place: 0, ..merchant(0) }).await.unwrap_err().to_string()
}

#[test]
fn an_address_is_printed_as_the_place_that_its_parameters_name() {
    for (address, place) in [
        ("postgres://awa:hunter2@db.example:5433/shop?password=hunter3", "postgres://db.example:5433/shop"),
        ("postgres:///shop?host=db.internal&port=5433", "postgres://db.internal:5433/shop"),
        ("postgres://db.example/shop?dbname=other", "postgres://db.example/other"),
        ("postgres:///shop?host=/run/postgresql", "postgres://%2Frun%2Fpostgresql/shop"),
        ("postgres://%2Frun%2Fpostgresql/shop", "postgres://%2Frun%2Fpostgresql/shop"),
    ] {
        assert_eq!(Postgres::at(address).unwrap().to_string(), place);
    }
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
    open(&url).await.close().await;
    open(&url).await.close().await;
    for change in ["+ 1", "- 2"] {
        server.psql(name, &format!("UPDATE guichet_schema SET version = version {change}"));
        let error = refusal(&url).await;
        let remedy =
            "was written by another version of guichet. It was not changed. Delete it, or give another database.";
        assert!(error.contains(name) && error.ends_with(remedy), "{error}");
    }
    server.psql(name, "UPDATE guichet_schema SET version = version + 1");
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
    open(&url).await.close().await;
    // The name has a line break, which is not shown as one.
    server.psql(name, "CREATE ROLE \"a\nwa\" LOGIN");
    let as_awa = url.replace("guichet@", "a%0Awa@");
    let error = refusal(&as_awa).await;
    assert!(error.contains(r"The role a\nwa lacks privileges on tables of ") && error.contains("intents, "), "{error}");
    assert!(
        error.ends_with(r#"with the role guichet, or give its privileges to the other: GRANT "guichet" TO "a\nwa"."#)
    );

    server.psql(name, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO \"a\nwa\"");
    let error = refusal(&as_awa).await;
    assert!(error.contains("that the role guichet owns: request_numbers."), "{error}");

    server.psql(name, "GRANT guichet TO \"a\nwa\"");
    open(&as_awa).await.close().await;

    // Another program's table.
    server.psql(name, "CREATE ROLE shop; CREATE TABLE orders (); ALTER TABLE orders OWNER TO shop");
    open(&as_awa).await.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_no_longer_answers_gives_an_error_and_is_used_again_when_it_does() {
    let server = PostgresServer::start(&["fsync=off"]);
    let url = server.create_database();
    let [one, other] = [open(&url).await, open(&url).await];
    let [one, elsewhere] = [seen(&one, "m0").await, seen(&other, "m0").await];
    let holding = one.lock().await.unwrap();
    let waiting = tokio::spawn({
        let elsewhere = Arc::clone(&elsewhere);
        async move { elsewhere.lock().await.map(drop) }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!waiting.is_finished());
    let paused = server.pause();
    let both = async { tokio::join!(waiting, one.add_fault(Fault::drop::<CreateSession>())) };
    let (waited, added) = tokio::time::timeout(2 * STATEMENT_DEADLINE, both).await.expect("both end");
    assert!(waited.unwrap().is_err() && added.is_err());
    drop((paused, holding));
    drop(elsewhere.lock().await.unwrap());
    assert_eq!(other.store.merchants().await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_waits_for_a_merchant_does_not_stop_that_of_another() {
    let url = PostgresServer::shared().create_database();
    let instance = open(&url).await;
    for number in 1..=9 {
        assert!(instance.store.write(Write::AddMerchant(merchant(number))).await.unwrap());
    }
    let mut elsewhere = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("BEGIN").execute(&mut elsewhere).await.unwrap();
    let mut take_elsewhere = async |merchant: &str| {
        let taken = sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(Lock::Billing.on(merchant));
        taken.execute(&mut elsewhere).await.unwrap();
    };
    let wait_for = |merchant: &str| {
        let (instance, merchant) = (instance.clone(), merchant.to_owned());
        tokio::spawn(async move { seen(&instance, &merchant).await.lock().await.map(drop) })
    };
    let is_free = async |merchant: &str| {
        let merchant = seen(&instance, merchant).await;
        let locked = tokio::time::timeout(Duration::from_secs(5), merchant.lock()).await;
        drop(locked.expect("it does not wait").unwrap());
        assert!(merchant.lock_unless_elsewhere().await.is_ok());
    };

    take_elsewhere("m1").await;
    let mut of_one = Vec::new();
    for _ in 0..8 {
        of_one.push(wait_for("m1"));
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(of_one.iter().all(|work| !work.is_finished()));
    is_free("m2").await;
    let one = seen(&instance, "m1").await;
    let waiting = tokio::time::timeout(Duration::from_secs(1), one.lock_unless_elsewhere());
    assert!(waiting.await.expect("it does not wait").unwrap().is_none());

    for number in 3..=9 {
        take_elsewhere(&format!("m{number}")).await;
    }
    for _ in 0..3 {
        let mut of_many = Vec::new();
        for number in 3..=9 {
            of_many.push(wait_for(&format!("m{number}")));
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        is_free("m2").await;
        // Their callers have gone.
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
async fn two_instances_that_write_the_same_in_opposite_orders_store_it_once() {
    let [one, other] = two_stores().await;
    let writes = |offset: u32| {
        let merchant = |number: u32| format!("m{}", number % 3);
        let mut writes = Vec::new();
        for number in 1..=100 {
            let (mut new, mut customer) = intent(offset + number, &format!("ORDER-{number}"), None);
            (new.merchant, customer.merchant) = (merchant(number), merchant(number));
            writes.push(Write::AddIntent(Box::new((new, customer))));
            writes.push(Write::AddPlan(Box::new(plan(offset + number, &merchant(number), &format!("c{number}")))));
            let mut made = order(offset + number);
            made.merchant = merchant(number);
            let (id, key) = (made.id.to_string(), request(&made.merchant, number));
            writes.push(Write::AddEsimOrder(Box::new(made)).if_key_is_new(Some(key), id));
        }
        writes
    };
    let (mine, mut theirs) = (writes(0), writes(1_000));
    theirs.reverse();
    let (mine, theirs) = tokio::join!(one.commit(mine), other.commit(theirs));
    let (mine, mut theirs) = (mine.unwrap(), theirs.unwrap());
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
    let (mine, theirs) = tokio::join!(one.write(Write::SaveIntents(mine)), other.write(Write::SaveIntents(intents)));
    assert!(mine.unwrap() ^ theirs.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_new_entries_misses_none_while_two_instances_write() {
    const EACH: u32 = 150;
    let [one, other] = two_stores().await;
    let write = async |store: &Arc<dyn Store>, first: u32| {
        for number in first..first + EACH {
            assert!(store.write(add_intent(number, &format!("ORDER-{number}"))).await.unwrap());
        }
    };
    let read = async {
        let (mut seen, begun) = (Vec::new(), Instant::now());
        while seen.len() < 2 * EACH as usize && begun.elapsed() < Duration::from_secs(60) {
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
    let url = PostgresServer::shared().create_database();
    let store = store(&url).await;
    for number in [1, 2] {
        assert!(store.write(Write::AddMerchant(merchant(number))).await.unwrap());
    }
    let database = readers(&url).await;
    let mut latest = 0;
    for (by, column) in [(BY_ID, "m"), (BY_KEY, "k")] {
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

#[tokio::test(flavor = "multi_thread")]
async fn no_more_faults_wait_than_allowed_when_two_instances_add_at_once() {
    let url = PostgresServer::shared().create_database();
    let instances = [open(&url).await, open(&url).await];
    let [one, other] = [seen(&instances[0], "m0").await, seen(&instances[1], "m0").await];
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let written = serde_json::to_string(&Fault::drop::<CreateSession>()).unwrap();
    let text = "INSERT INTO faults (merchant, operation, fault, remaining) \
        SELECT 'm0', 'create_session', $1, 1 FROM generate_series(1, $2)";
    let waiting = sqlx::query(text).bind(written).bind(i64::try_from(MAX_FAULTS).unwrap() - 1);
    waiting.execute(&mut connection).await.unwrap();
    // So that all of them begin before the first one ends.
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END$$; \
        CREATE TRIGGER slow BEFORE INSERT ON faults FOR EACH ROW EXECUTE FUNCTION slow()";
    sqlx::raw_sql(slow).execute(&mut connection).await.unwrap();
    let mut adding = tokio::task::JoinSet::new();
    for merchant in [one.clone(), other].into_iter().cycle().take(8) {
        adding.spawn(async move { merchant.add_fault(Fault::drop::<CreateSession>()).await.is_ok() });
    }
    assert_eq!(adding.join_all().await.into_iter().filter(|is_added| *is_added).count(), 1);
    assert_eq!(one.faults().await.unwrap().len(), MAX_FAULTS);
}

fn listed(request_id: &str) -> Request {
    let record = serde_json::json!({
        "at": 1, "operation": "create_session", "credential": "secret_key", "request_id": request_id,
    });
    Request::from_json(&record).unwrap()
}

#[test]
fn requests_that_cannot_be_written_wait_and_only_the_newest_are_kept() {
    let mut unwritten = Batch::default();
    unwritten.add("m1", 1, listed("req_1"));
    unwritten.record_status(1, 200);
    let failed = std::mem::take(&mut unwritten);
    assert_eq!(failed.requests[0].2.status, Some(200));
    // Its response was sent while it was being written.
    unwritten.record_status(1, 201);
    unwritten.add("m1", 2, listed("req_2"));
    unwritten.put_back(failed);
    let batch = std::mem::take(&mut unwritten);
    assert_eq!(batch.requests.iter().map(|(_, number, _)| *number).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(batch.statuses, [(1, 201)]);
    for number in 0..=i64::try_from(MAX_UNWRITTEN).unwrap() {
        unwritten.add("m1", number, listed("req"));
    }
    assert_eq!(std::mem::take(&mut unwritten).requests.len(), MAX_UNWRITTEN);
}

#[tokio::test]
async fn a_merchant_read_after_a_change_shows_it_however_many_others_are_read_meanwhile() {
    let url = PostgresServer::shared().create_database();
    let instance = Arc::new(open(&url).await);
    let elsewhere = store(&url).await;
    for moved in 1..=20 {
        let mut reads = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let instance = Arc::clone(&instance);
            reads.spawn(async move { seen(&instance, "m0").await.clock_offset() });
        }
        assert!(elsewhere.write(Write::AdvanceClock { merchant: "m0".into(), seconds: 1 }).await.unwrap());
        assert_eq!(seen(&instance, "m0").await.clock_offset(), moved);
        assert!(reads.join_all().await.into_iter().all(|offset| offset == moved || offset == moved - 1));
    }
}

#[tokio::test]
async fn a_group_that_meets_a_deadlock_is_executed_again() {
    let url = PostgresServer::shared().create_database();
    // The server looks for a deadlock once in each wait: in that of the group, and on a busy machine only when both wait.
    let store = store(&format!("{url}?options[deadlock_timeout]=3s")).await;
    for write in [add_intent(1, "ORDER-1"), add_intent(2, "ORDER-2")] {
        assert!(store.write(write).await.unwrap());
    }
    let [first, second] = [1, 2].map(|number| intent(number, &format!("ORDER-{number}"), None).0);
    // Another program locks the second row, and then the first one.
    let mut program = PgConnection::connect(&url).await.unwrap();
    let begin = "SET deadlock_timeout = '60s'; BEGIN; UPDATE intents SET digest = '' WHERE id = 'pi_2'";
    sqlx::raw_sql(begin).execute(&mut program).await.unwrap();
    let pending = store.queue(Write::SaveIntents(vec![first, second])).await.unwrap();
    wait_until_blocked(&url).await;
    sqlx::raw_sql("UPDATE intents SET digest = '' WHERE id = 'pi_1'; COMMIT").execute(&mut program).await.unwrap();
    assert!(pending.await.unwrap());
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
    let store = store(&url).await;
    let mut program = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("ALTER TABLE intents RENAME TO elsewhere").execute(&mut program).await.unwrap();
    assert!(store.write(add_intent(1, "ORDER-1")).await.is_err());
    sqlx::raw_sql("ALTER TABLE elsewhere RENAME TO intents").execute(&mut program).await.unwrap();
    assert!(store.write(add_intent(1, "ORDER-1")).await.unwrap());
}

#[tokio::test]
async fn a_group_whose_commit_gets_no_reply_is_reported_as_perhaps_stored() {
    let url = PostgresServer::shared().create_database();
    let open = store(&url).await;
    let behind = store(&without_replies_to_commits(&url).await).await;
    let lost = behind.write(add_intent(1, "ORDER-1")).await.unwrap_err();
    assert!(lost.may_be_stored(), "{lost}");
    assert!(!open.write(add_intent(2, "ORDER-1")).await.unwrap(), "it is stored: the reference is taken");
}

/// The address of a proxy before the database. It passes on a COMMIT of a group of writes, and closes the connection in place of the reply.
async fn without_replies_to_commits(url: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut address = Url::parse(url).unwrap();
    let server = (address.host_str().unwrap().to_owned(), address.port().unwrap());
    address.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(server.clone()).await.unwrap();
            tokio::spawn(async move {
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                let replies = tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
                let (mut sent, mut writes) = (vec![0; 64 << 10], false);
                while let Ok(length @ 1..) = from_client.read(&mut sent).await {
                    let contains = |text: &[u8]| sent[..length].windows(text.len()).any(|found| found == text);
                    writes |= contains(b"INSERT INTO intents");
                    if writes && contains(b"COMMIT") {
                        replies.abort();
                        to_server.write_all(&sent[..length]).await.unwrap();
                        // Until the server has committed.
                        tokio::time::sleep(Duration::from_millis(300)).await;
                        return;
                    }
                    to_server.write_all(&sent[..length]).await.unwrap();
                }
            });
        }
    });
    address.into()
}

#[tokio::test]
async fn a_lock_that_stays_taken_fails_only_the_writes_that_need_it() {
    let url = PostgresServer::shared().create_database();
    let store = store(&url).await;
    for write in [add_intent(1, "ORDER-1"), add_intent(2, "ORDER-2")] {
        assert!(store.write(write).await.unwrap());
    }
    let [first, second] = [1, 2].map(|number| intent(number, &format!("ORDER-{number}"), None).0);
    // Another instance resets a merchant, and a program has changed an intent of another one.
    let mut elsewhere = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("BEGIN; UPDATE intents SET digest = '' WHERE id = 'pi_1'").execute(&mut elsewhere).await.unwrap();
    let reset = sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(Lock::Commit.on("m1"));
    reset.execute(&mut elsewhere).await.unwrap();
    let plan_of = |number: u32, merchant: &str| Write::AddPlan(Box::new(plan(number, merchant, &format!("c{number}"))));
    let save = |intent: Intent| Write::SaveIntents(vec![intent]);
    // The writer runs on this thread, so it begins only when all writes are queued.
    let mut group = Vec::new();
    for write in [plan_of(1, "m1"), save(first), save(second), plan_of(2, "m1"), plan_of(3, "m2")] {
        group.push(store.queue(write).await.unwrap());
    }
    let mut stored = Vec::new();
    for pending in group {
        stored.push(pending.await.ok());
    }
    assert_eq!(stored, [None, None, Some(true), None, Some(true)]);
    sqlx::raw_sql("ROLLBACK").execute(&mut elsewhere).await.unwrap();
    assert!(store.write(plan_of(1, "m1")).await.unwrap(), "it was not stored");
    assert_eq!(store.intent(&intent_id(1)).await.unwrap().unwrap().version, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_recovers_from_a_restart_of_its_database_with_everything_acknowledged() {
    let mut server = PostgresServer::start(&[]);
    let store = store(&server.create_database()).await;
    let add = async |number: u32| store.write(Write::AddMerchant(merchant(number))).await;
    let mut number = 1;
    for crash in [false, true] {
        assert!(add(number).await.unwrap());
        if crash {
            server.kill()
        } else {
            server.stop()
        }
        let begun = Instant::now();
        assert!(add(99).await.is_err());
        assert!(store.merchants().await.is_err());
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        server.run();
        assert_eq!(store.merchants().await.unwrap().len(), number as usize + 1, "nothing is lost");
        number += 1;
        assert!(add(number).await.unwrap());
        number += 1;
        // A restart between two writes is not noticed.
        server.stop();
        server.run();
        assert!(add(number).await.unwrap());
        number += 1;
    }
}

#[tokio::test]
async fn lists_and_due_work_are_read_from_indexes() {
    let url = PostgresServer::shared().create_database();
    open(&url).await.close().await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    // The tables are empty: without these settings, PostgreSQL would read them whole.
    sqlx::raw_sql("SET enable_seqscan = off; SET enable_bitmapscan = off").execute(&mut connection).await.unwrap();
    let mut reads: Vec<(String, String)> = ["customers", "intents", "plans", "subscriptions", "esim_orders"]
        .map(|table| {
            let text = newest(table).replace("$1", "'m'").replace("$2", "5").replace("$3", "1");
            (text, format!("{table}_of_merchant"))
        })
        .into();
    reads.push((MERCHANTS_DUE.replace("$1", "5"), "subscriptions_due".into()));
    let expired = OpenGroup::DELETE_EXPIRED_KEYS.replace("$1", "5").replace("$2", "1");
    reads.push((expired, "idempotency_keys_until".into()));
    for (text, index) in reads {
        let rows = sqlx::query(AssertSqlSafe(format!("EXPLAIN {text}"))).fetch_all(&mut connection).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert!(plan.iter().any(|line| line.contains(&*index)), "{plan:#?}");
        let sorted = plan.iter().any(|line| line.contains("Sort Key: ") && line.contains("seq"));
        assert!(!sorted, "no sorting: {plan:#?}");
    }
}
