//! What a crash of the database leaves.

use super::{REMEMBER_FOR, client, session};
use crate::support::postgres::PostgresServer;
use guichet::native::{KeepResult, SessionStore};
use guichet_sessions::PostgresSessions;

#[tokio::test]
async fn an_acknowledged_session_and_sign_out_survive_a_crash_of_postgresql_whatever_its_default_is() {
    // The server writes what is acknowledged without `synchronous_commit` after 10 seconds.
    let mut server = PostgresServer::start(&["fsync=off", "synchronous_commit=off", "wal_writer_delay=10s"]);
    let url = server.create_database();
    let store = PostgresSessions::connect(&url, &client()).await.expect("PostgreSQL");
    let pool = guichet_sessions::sqlx::PgPool::connect(&url).await.expect("a pool");
    let on_pool = PostgresSessions::builder(&client()).pool(pool).await.expect("PostgreSQL");
    // The tables, too, were created without it.
    server.psql("postgres", "CHECKPOINT");

    let [one, two] = ["crash-1", "crash-2"].map(session);
    store.keep("login-1", &one, None).await.expect("an answer");
    server.kill();
    server.run();
    assert_eq!(store.newest("login-1").await.expect("an answer"), Some(one.clone()));
    store.end("login-1", REMEMBER_FOR).await.expect("an answer");
    server.kill();
    server.run();
    assert!(store.has_ended(&one.token).await.expect("an answer"));
    assert_eq!(store.keep("login-1", &two, None).await.expect("an answer"), KeepResult::LoginEnded);

    on_pool.keep("login-2", &two, None).await.expect("an answer");
    server.kill();
    server.run();
    assert_eq!(on_pool.newest("login-2").await.expect("an answer"), Some(two));
}
