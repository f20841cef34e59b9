//! Several servers on one database, and the file of one server alone.

use super::{APPROVED_LATE, PAYS, Visitor, World, intent_of, on_each_database};
use crate::open::open;
use guichet::native::{AskAgain, settle};
use sqlx::raw_sql;

on_each_database! {
    many_readers_at_once_mark_an_order_paid_once_and_store_each_refund_once
}

/// The settling of each server, the customer's own page and a slow server whose claim has ended may read one payment at once.
async fn many_readers_at_once_mark_an_order_paid_once_and_store_each_refund_once(world: World) {
    let World { client, seller, .. } = &world;
    // A table of every statement that has marked an order paid.
    world.execute("CREATE TABLE marked (id TEXT NOT NULL)").await;
    world.execute(if world.is_on_postgres() {
        "CREATE FUNCTION mark() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO marked VALUES (NEW.id); RETURN NEW; END'; \
         CREATE TRIGGER mark AFTER UPDATE OF status ON orders FOR EACH ROW WHEN (NEW.status = 'paid') EXECUTE FUNCTION mark()"
    } else {
        "CREATE TRIGGER mark AFTER UPDATE OF status ON orders WHEN NEW.status = 'paid' \
         BEGIN INSERT INTO marked VALUES (NEW.id); END"
    }).await;
    let awa = Visitor::sign_in(&world.serve().await, "awa").await;
    let mut orders = Vec::new();
    for pairs in 1..=8 {
        let id = awa.place(pairs).await;
        // The first attempt is declined and approved later. The second one pays.
        let ticket = awa.ticket(&id).await;
        world.attach(&intent_of(&ticket), APPROVED_LATE).await;
        world.attach(&intent_of(&ticket), PAYS).await;
        world.merchant.clock().advance(601).await.unwrap();
        let [claimed] = &*seller.database.claim().await.unwrap() else { panic!("one is due") };
        let read = async || settle(client, seller, &claimed.sold).await.unwrap().ask_again;
        let read = tokio::join!(read(), read(), read(), read());
        assert_eq!(read, (AskAgain::ForADay, AskAgain::ForADay, AskAgain::ForADay, AskAgain::ForADay));
        orders.push(id);
    }
    orders.sort_unstable();
    assert_eq!(world.rows("SELECT id FROM marked ORDER BY id").await, orders);
    assert_eq!(world.rows("SELECT order_id FROM refunds_due ORDER BY order_id").await, orders);
}

#[tokio::test]
async fn an_order_is_refused_when_no_number_is_free() {
    let world = World::on_sqlite().await;
    // As if every number were taken: inserts have no effect.
    world.execute("CREATE TRIGGER full BEFORE INSERT ON orders BEGIN SELECT RAISE(IGNORE); END").await;
    let refused = world.seller.database.place("awa", &[], "http://127.0.0.1:8000/return").await.unwrap_err();
    assert_eq!(refused.code(), "internal_error");
}

#[tokio::test]
async fn orders_in_memory_survive_canceled_requests() {
    let database = open("memory:").await.unwrap();
    for polls in 0..200 {
        let canceled = async {
            for _ in 0..polls % 7 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! { _ = database.customer_of("login") => {}, () = canceled => {} }
    }
    assert_eq!(database.customer_of("login").await.unwrap(), None);
}

#[tokio::test]
async fn a_database_of_an_earlier_version_is_refused_with_the_remedy() {
    let world = World::on_sqlite().await;
    world.execute("DROP TABLE payments; CREATE TABLE payments (payment_ref TEXT, owner TEXT, sold TEXT)").await;
    let refused = open(&world.database).await.unwrap_err();
    assert!(refused.contains("shop.sqlite") && refused.contains("delete it, or choose another"), "{refused}");
}

#[cfg(unix)]
#[tokio::test]
async fn the_database_is_readable_by_its_owner_alone() {
    use std::fs::{metadata, read_dir, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/shop.sqlite");
    for _ in 0..2 {
        let database = open(&format!("sqlite:{}", file.display())).await.unwrap();
        let mut transaction = database.pool.begin().await.unwrap();
        raw_sql("DELETE FROM logins").execute(&mut *transaction).await.unwrap();
        raw_sql("INSERT INTO logins VALUES ('login', 'awa')").execute(&mut *transaction).await.unwrap();
        let files: Vec<_> = read_dir(file.parent().unwrap()).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 2, "the database and its journal: {files:?}");
        for file in files {
            assert_eq!(metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{}", file.display());
        }
        transaction.commit().await.unwrap();
        database.pool.close().await;
        set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    }
}

#[cfg(feature = "postgres")]
mod on_one_postgres {
    use super::super::{sold, support::postgres::PostgresServer};
    use super::{Visitor, World, open, raw_sql};
    use crate::database::Database;
    use std::time::Duration;
    use tokio::task::JoinSet;

    #[tokio::test]
    async fn two_servers_hand_out_one_token_of_a_login() {
        let world = World::on_postgres().await;
        let awa = Visitor::sign_in(&world.serve().await, "awa").await;
        assert_eq!(awa.at(&world.serve().await).token().await, awa.token().await);
    }

    #[tokio::test]
    async fn two_servers_claim_different_payments_and_an_unread_one_is_due_again() {
        let world = World::on_postgres().await;
        let database = &world.seller.database;
        for (intent, reference) in [("pi_1", "ORDER-1"), ("pi_2", "ORDER-2")] {
            database.remember(&sold(intent, reference, "awa")).await.unwrap();
        }
        // At this moment another server claims the first one.
        let mut other = database.pool.begin().await.unwrap();
        let row = raw_sql("SELECT 1 FROM payments WHERE payment_ref = 'gch_pi_1' FOR UPDATE");
        row.execute(&mut *other).await.unwrap();
        assert_eq!(claim(database).await, ["ORDER-2"]);
        assert_eq!(claim(database).await, [""; 0]);
        other.rollback().await.unwrap();
        assert_eq!(claim(database).await, ["ORDER-1"]);
        assert_eq!(claim(database).await, [""; 0]);

        world.pass(61.0).await;
        assert_eq!(claim(database).await, ["ORDER-1", "ORDER-2"], "the server that claimed them was killed");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn eight_servers_that_claim_at_once_claim_each_payment_once() {
        let world = World::on_postgres().await;
        let all: Vec<String> = (10..50).map(|number| format!("ORDER-{number}")).collect();
        for (number, reference) in all.iter().enumerate() {
            world.seller.database.remember(&sold(&format!("pi_{number}"), reference, "awa")).await.unwrap();
        }
        for _ in 0..10 {
            let server = || {
                let database = world.seller.database.clone();
                async move { claim(&database).await }
            };
            let servers: JoinSet<_> = (0..8).map(|_| server()).collect();
            let mut claimed: Vec<String> = servers.join_all().await.concat();
            claimed.sort_unstable();
            assert_eq!(claimed, all);
            world.pass(61.0).await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn servers_that_start_at_once_create_the_tables_once() {
        for _ in 0..4 {
            let address = PostgresServer::shared().create_database();
            let start = |address: String| async move { open(&address).await };
            let servers: JoinSet<_> = (0..8).map(|_| start(address.clone())).collect();
            for opened in servers.join_all().await {
                opened.unwrap();
            }
        }
    }

    /// The references of the payments that a server claims.
    async fn claim(database: &Database) -> Vec<String> {
        let claimed = tokio::time::timeout(Duration::from_secs(30), database.claim()).await;
        let claimed = claimed.expect("it waits for no other server").unwrap();
        let mut references: Vec<_> = claimed.iter().map(|one| one.sold.merchant_reference.to_string()).collect();
        references.sort_unstable();
        references
    }
}
