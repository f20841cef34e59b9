//! The stores of the ledger: one contract on each engine, two servers at once, a crash within a commit, and the start.

use crate::support::folder::Folder;
use crate::support::postgres::PostgresServer;
use crate::support::wait::until;
use futures_util::future::join_all;
use guichet::shop::Owner;
use guichet::shop::ledger::contract::{click, contract};
use guichet::shop::ledger::{Answer, Clock, Effect, Service, Store, apply};
use guichet_orders::{OrdersError, PostgresOrders, SqliteOrders};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{PgPool, SqlitePool, query, raw_sql};
use std::path::Path;

pub(crate) async fn sqlite(folder: &Folder) -> SqlitePool {
    sqlite_at(&folder.path.join("orders.sqlite")).await
}

pub(crate) async fn sqlite_at(file: &Path) -> SqlitePool {
    let file = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    SqlitePoolOptions::new().max_connections(4).connect_with(file).await.unwrap()
}

/// Of a shop whose own transactions are of another isolation.
async fn postgres() -> [PgPool; 2] {
    let (server, address) = (PostgresServer::shared(), PostgresServer::shared().create_database());
    let database = address.rsplit('/').next().unwrap();
    server.psql(database, &format!("ALTER DATABASE {database} SET default_transaction_isolation = 'repeatable read'"));
    [PgPool::connect(&address).await.unwrap(), PgPool::connect(&address).await.unwrap()]
}

#[tokio::test]
async fn the_contract_on_sqlite() {
    let folder = Folder::new("orders-contract");
    let one = SqliteOrders::open(sqlite(&folder).await, "guichet_").await.unwrap();
    let other = SqliteOrders::open(sqlite(&folder).await, "guichet_").await.unwrap();
    contract(&one, &other).await;
}

#[tokio::test]
async fn the_contract_on_postgresql() {
    let [one, other] = postgres().await;
    let one = PostgresOrders::open(one, "guichet_").await.unwrap();
    contract(&one, &PostgresOrders::open(other, "guichet_").await.unwrap()).await;
}

/// Each click is on an order of its own.
async fn open_exactly_20<S: Store>(servers: [&S; 2]) {
    let (awa, service) = (Owner::Customer("awa".to_owned()), Service::default());
    let event = click(&awa);
    let clicks =
        (0..64).map(|number: usize| {
            let (awa, service, event) = (&awa, &service, &event);
            async move {
                apply(servers[number % 2], &format!("ORDER-{number}"), awa, service, &Clock::new(false), event).await
            }
        });
    let decisions = join_all(clicks).await.into_iter().map(|decision| decision.unwrap().unwrap());
    let (mut sent, mut refused) = (0, 0);
    for decision in decisions {
        match &*decision.effects {
            [Effect::Send { .. }] => sent += 1,
            [Effect::Answer(Answer::Error { status: 409, code: "too_many_open_payments" })] => refused += 1,
            effects => panic!("{effects:?}"),
        }
    }
    assert_eq!((sent, refused), (20, 44));
    let now = servers[0].now().await.unwrap();
    assert_eq!(servers[1].load("ORDER-0", &awa, now).await.unwrap().open, 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_clicks_on_two_servers_open_exactly_20_on_sqlite() {
    let folder = Folder::new("orders-twenty");
    let one = SqliteOrders::open(sqlite(&folder).await, "guichet_").await.unwrap();
    let other = SqliteOrders::open(sqlite(&folder).await, "guichet_").await.unwrap();
    open_exactly_20([&one, &other]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_clicks_on_two_servers_open_exactly_20_on_postgresql() {
    let [one, other] = postgres().await;
    let one = PostgresOrders::open(one, "guichet_").await.unwrap();
    open_exactly_20([&one, &PostgresOrders::open(other, "guichet_").await.unwrap()]).await;
}

/// The database is killed while a commit waits before one of its tables.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_a_crash_cuts_off_before_any_table_is_stored_not_at_all() {
    let mut server = PostgresServer::start(&[]);
    let (awa, service) = (Owner::Customer("awa".to_owned()), Service::default());
    let address = server.create_database();
    for (number, table) in ["orders", "payments", "names"].into_iter().enumerate() {
        let (name, event) = (format!("ORDER-{number}"), click(&awa));
        let orders = PostgresOrders::open(PgPool::connect(&address).await.unwrap(), "guichet_").await.unwrap();
        let other = PgPool::connect(&address).await.unwrap();
        let mut lock = other.begin().await.unwrap();
        raw_sql(sqlx::AssertSqlSafe(format!("LOCK TABLE guichet_{table} IN SHARE MODE")))
            .execute(&mut *lock)
            .await
            .unwrap();
        let cut_off = {
            let (orders, awa, service, name) = (orders.clone(), awa.clone(), service.clone(), name.clone());
            tokio::spawn(async move { apply(&orders, &name, &awa, &service, &Clock::new(false), &click(&awa)).await })
        };
        until("the commit waits for the table", async || {
            let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'";
            query(waiting).fetch_one(&other).await.is_ok_and(|row| sqlx::Row::get::<i64, _>(&row, 0) == 1)
        })
        .await;
        server.kill();
        assert!(
            cut_off.await.unwrap().is_err(),
            "a commit before {table} is acknowledged by a database that was killed"
        );
        server.run();
        let orders = PostgresOrders::open(PgPool::connect(&address).await.unwrap(), "guichet_").await.unwrap();
        let now = orders.now().await.unwrap();
        let loaded = orders.load(&name, &awa, now).await.unwrap();
        assert_eq!((loaded.order, loaded.open), (None, number), "half a commit is stored, cut off before {table}");
        assert_eq!(orders.find(&name).await.unwrap(), [""; 0]);
        assert!(
            apply(&orders, &name, &awa, &service, &Clock::new(false), &event).await.unwrap().is_some(),
            "the click again"
        );
        assert_eq!(orders.find(&name).await.unwrap(), [name]);
    }
}

#[tokio::test]
async fn the_ledger_leaves_the_shops_own_tables_alone() {
    let folder = Folder::new("orders-prefix");
    let pool = sqlite(&folder).await;
    raw_sql("CREATE TABLE payments (id TEXT); INSERT INTO payments VALUES ('of the shop')")
        .execute(&pool)
        .await
        .unwrap();
    SqliteOrders::open(pool.clone(), "guichet_").await.unwrap();
    SqliteOrders::open(pool.clone(), "pay_").await.unwrap();
    let tables = query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'pay%' ORDER BY name");
    let tables: Vec<String> = tables.fetch_all(&pool).await.unwrap().iter().map(|row| sqlx::Row::get(row, 0)).collect();
    assert_eq!(tables, ["pay_events", "pay_ledger", "pay_names", "pay_orders", "pay_payments", "payments"]);
    let own: String = sqlx::Row::get(&query("SELECT id FROM payments").fetch_one(&pool).await.unwrap(), 0);
    assert_eq!(own, "of the shop");
}

#[tokio::test]
async fn what_cannot_be_opened_is_said_by_name() {
    let folder = Folder::new("orders-newer");
    let pool = sqlite(&folder).await;
    for prefix in ["a b", "x\"", "Guichet_", "1_", "é"] {
        let error = SqliteOrders::open(pool.clone(), prefix).await.unwrap_err();
        assert!(matches!(&error, OrdersError::Prefix(named) if named == prefix), "{prefix}: {error}");
    }
    SqliteOrders::open(pool.clone(), "guichet_").await.unwrap();
    raw_sql("UPDATE guichet_ledger SET format = 9; DROP TABLE guichet_names").execute(&pool).await.unwrap();
    let error = SqliteOrders::open(pool.clone(), "guichet_").await.unwrap_err().to_string();
    assert!(error.contains("guichet_ledger has the format 9"), "{error}");
    assert!(query("SELECT * FROM guichet_names").fetch_all(&pool).await.is_err(), "a newer ledger got a table");

    let server = PostgresServer::shared();
    let address = server.create_database();
    let database = address.rsplit('/').next().unwrap();
    let role = format!("{database}_shop");
    server.psql(database, &format!("REVOKE CREATE ON SCHEMA public FROM PUBLIC; CREATE ROLE {role} LOGIN"));
    let as_role = address.replace("guichet@", &format!("{role}@"));
    let shop = PgPool::connect(&as_role).await.unwrap();
    let error = PostgresOrders::open(shop.clone(), "guichet_").await.unwrap_err().to_string();
    for named in
        ["guichet_ledger", "guichet_orders", "guichet_payments", "guichet_names", "guichet_events", "permission denied"]
    {
        assert!(error.contains(named), "{named} is not named: {error}");
    }
    // A role that may not create uses what another has created.
    PostgresOrders::open(PgPool::connect(&address).await.unwrap(), "guichet_").await.unwrap();
    server.psql(database, &format!("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}"));
    let orders = PostgresOrders::open(shop, "guichet_").await.unwrap();
    let awa = Owner::Customer("awa".to_owned());
    apply(&orders, "ORDER-1", &awa, &Service::default(), &Clock::new(false), &click(&awa)).await.unwrap();
}
