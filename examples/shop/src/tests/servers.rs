//! Several servers on one database, and the file of one server alone.

use super::World;
use crate::open::open;
use sqlx::raw_sql;

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
    world
        .execute(
            "DROP TABLE orders; CREATE TABLE orders (id TEXT, customer TEXT, return_url TEXT, status TEXT, lines TEXT)",
        )
        .await;
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
    use super::super::{Visitor, support::postgres::PostgresServer};
    use super::{World, open};
    use crate::open::open_orders;
    use tokio::task::JoinSet;

    #[tokio::test]
    async fn two_servers_hand_out_one_token_of_a_login() {
        let world = World::on_postgres().await;
        let awa = Visitor::sign_in(&world.serve().await, "awa").await;
        assert_eq!(awa.at(&world.serve().await).token().await, awa.token().await);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn servers_that_start_at_once_create_the_tables_once() {
        for _ in 0..4 {
            let address = PostgresServer::shared().create_database();
            let start = |address: String| async move {
                open(&address).await.unwrap();
                open_orders(&address).await.unwrap();
            };
            let servers: JoinSet<_> = (0..8).map(|_| start(address.clone())).collect();
            servers.join_all().await;
        }
    }
}
