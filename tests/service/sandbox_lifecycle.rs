//! Starting, stopping and storing: the sandbox with its service, its control API and its hosted page.

use crate::support::api::{Reply, client, control, order, send};
use crate::support::folder::Folder;
use guichet_sandbox::{Config, Sandbox};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

#[tokio::test]
async fn acknowledged_writes_survive_a_restart() {
    let folder = Folder::new("restart");
    let sandbox = Sandbox::start_with(folder.config()).await.unwrap();
    let key = sandbox.secret_key().expose().to_owned();
    let created = first(&sandbox, "POST", "/v1/payment-intents", order("ORDER-17")).await;
    let session = first(&sandbox, "POST", "/v1/sessions/create", json!({ "customer_email": "awa@example.com" })).await;
    let intent = created.body["data"].clone();
    let method = json!({ "payment_method": { "type": "mobile_money", "phone": "237670000002" } });
    let path = format!("/v1/payment-intents/{}/payment-method", intent["id"].as_str().unwrap());
    assert_eq!(first(&sandbox, "POST", &path, method).await.status, 200);
    let control = control(&sandbox, "POST", "/clock", json!({ "advance_seconds": 600 })).await;
    sandbox.stop().await;

    let restarted = Sandbox::start_with(folder.config()).await.unwrap();
    assert_eq!(restarted.secret_key().expose(), key, "the first merchant keeps its key");
    let replayed = first(&restarted, "POST", "/v1/payment-intents", order("ORDER-17")).await;
    assert_eq!(replayed.status, 200);
    assert_eq!(replayed.body["data"]["client_secret"], intent["client_secret"]);
    assert_eq!(replayed.body["data"]["attempts"], 1);
    let token = session.body["data"]["session_token"].as_str();
    let valid =
        send(&client(), "POST", &format!("{}/v1/sessions/validate", restarted.base_url()), token, None, &[]).await;
    assert_eq!(valid.status, 200);
    let now = self::control(&restarted, "GET", "/clock", Value::Null).await;
    assert!(now.body["now"].as_i64() >= control.body["now"].as_i64(), "the clock does not go back");
    restarted.stop().await;
}

#[tokio::test]
async fn requests_in_flight_at_a_stop_are_answered_or_dropped_and_answered_ones_are_stored() {
    let folder = Folder::new("stop");
    let sandbox = Sandbox::start_with(folder.config()).await.unwrap();
    let (url, key) = (format!("{}/v1/payment-intents", sandbox.base_url()), sandbox.secret_key().expose().to_owned());
    let http = client();
    let mut requests = Vec::new();
    for number in 0..64 {
        let request = http.post(&url).bearer_auth(&key).header("content-type", "application/json");
        let request = request.body(order(&format!("ORDER-{number}")).to_string());
        requests.push(tokio::spawn(async move { request.send().await.map(|response| response.status().as_u16()) }));
    }
    requests.remove(0).await.unwrap().unwrap();
    sandbox.stop().await;
    let mut answered = Vec::new();
    for (number, request) in (1..).zip(requests) {
        if let Ok(status) = request.await.unwrap() {
            assert_eq!(status, 201);
            answered.push(number);
        }
    }
    let restarted = Sandbox::start_with(folder.config()).await.unwrap();
    for number in answered {
        let replayed = first(&restarted, "POST", "/v1/payment-intents", order(&format!("ORDER-{number}"))).await;
        assert_eq!(replayed.status, 200, "ORDER-{number} was acknowledged");
    }
    restarted.stop().await;
}

#[cfg(unix)]
#[tokio::test]
async fn the_database_and_the_keys_are_readable_by_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("owner");
    Sandbox::start_with(folder.config()).await.unwrap().stop().await;
    for name in ["sandbox.sqlite", "sandbox.sqlite.keys"] {
        let mode = fs::metadata(folder.path.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_failed_start_gives_its_reason_in_a_sentence() {
    let running = Sandbox::start().await.unwrap();
    let listen = running.base_url().trim_start_matches("http://").parse().unwrap();
    let taken = Sandbox::start_with(Config { listen, ..Config::default() }).await.unwrap_err();
    assert!(taken.to_string().contains("Another program already listens on 127.0.0.1:"), "{taken}");

    let folder = Folder::new("foreign");
    let refused = |config: Config| async move { Sandbox::start_with(config).await.unwrap_err().to_string() };
    fs::write(
        folder.path.join("sandbox.sqlite"),
        "This is a letter, not a database. It is long enough to look like one.".repeat(40),
    )
    .unwrap();
    let foreign = refused(folder.config()).await;
    assert!(foreign.contains("is not a database of the guichet sandbox"), "{foreign}");
    let letter = fs::read_to_string(folder.path.join("sandbox.sqlite")).unwrap();
    assert!(letter.starts_with("This is a letter"), "it was not changed");

    let unknown = refused(Config { database: "mysql://localhost/db".into(), ..Config::default() }).await;
    assert!(unknown.contains("sqlite:") && unknown.contains("memory:"), "{unknown}");
    let server =
        refused(Config { database: "postgres://awa:hunter2@127.0.0.1:1/db".into(), ..Config::default() }).await;
    let remedy = "Let one sandbox on SQLite serve the whole team: give sqlite: and a file";
    assert!(server.contains(remedy) && !server.contains("hunter2"), "{server}");
    let old_word = refused(Config { database: "sqlite::memory:".into(), ..Config::default() }).await;
    assert!(old_word.ends_with("give memory:."), "{old_word}");
    let folder_as_file =
        refused(Config { database: format!("sqlite:{}", folder.path.display()), ..Config::default() }).await;
    assert!(folder_as_file.contains("cannot be opened"), "{folder_as_file}");
    let public = refused(Config { public_url: Some("https://pay.example/path".into()), ..Config::default() }).await;
    assert!(public.contains("is not an origin"), "{public}");
}

#[tokio::test]
async fn one_sandbox_at_a_time_uses_a_database() {
    let folder = Folder::new("claim");
    let sandbox = Sandbox::start_with(folder.config()).await.unwrap();
    let second = Sandbox::start_with(folder.config()).await.unwrap_err().to_string();
    assert!(second.contains("Another sandbox already uses the database") && second.contains("--database"), "{second}");
    assert_eq!(
        first(&sandbox, "POST", "/v1/payment-intents", order("ORDER-17")).await.status,
        201,
        "the first sandbox goes on"
    );
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&folder.path, folder.path.join("other")).unwrap();
        let linked = format!("sqlite:{}", folder.path.join("other/sandbox.sqlite").display());
        let second =
            Sandbox::start_with(Config { database: linked, ..Config::default() }).await.unwrap_err().to_string();
        assert!(second.contains("Another sandbox"), "under another name it is the same database: {second}");
    }
    sandbox.stop().await;
    Sandbox::start_with(folder.config()).await.unwrap().stop().await;
}

#[tokio::test]
async fn a_read_only_database_is_refused_at_the_start() {
    let folder = Folder::new("readonly");
    Sandbox::start_with(folder.config()).await.unwrap().stop().await;
    let path = folder.path.join("sandbox.sqlite");
    let mut bytes = fs::read(&path).unwrap();
    // The file format's write version: an unknown number makes SQLite open the file read-only.
    bytes[18] = 3;
    fs::write(&path, bytes).unwrap();
    let refused = Sandbox::start_with(folder.config()).await.unwrap_err().to_string();
    assert!(refused.contains("read-only"), "{refused}");

    let nowhere = format!("sqlite:{}/sandbox.sqlite", path.display());
    let refused = Sandbox::start_with(Config { database: nowhere, ..Config::default() }).await.unwrap_err().to_string();
    assert!(refused.contains("cannot be opened for writing"), "{refused}");
}

#[tokio::test]
async fn a_database_of_another_program_is_not_changed() {
    let folder = Folder::new("others");
    let path = folder.path.join("sandbox.sqlite");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let pool = sqlx::SqlitePool::connect_with(options).await.unwrap();
    sqlx::raw_sql("CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('ndolé')")
        .execute(&pool)
        .await
        .unwrap();
    pool.close().await;
    let before = fs::read(&path).unwrap();
    let refused = Sandbox::start_with(folder.config()).await.unwrap_err().to_string();
    assert!(refused.contains("is not a database of the guichet sandbox"), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_stop_frees_the_port_and_a_drop_does_too() {
    let sandbox = Sandbox::start().await.unwrap();
    let listen = sandbox.base_url().trim_start_matches("http://").parse().unwrap();
    sandbox.stop().await;
    let restarted = Sandbox::start_with(Config { listen, ..Config::default() }).await.unwrap();
    drop(restarted);
    let mut tries = 0;
    while let Err(error) = Sandbox::start_with(Config { listen, ..Config::default() }).await {
        tries += 1;
        assert!(tries < 500, "{error}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn the_control_api_creates_merchants_and_moves_their_clocks() {
    let sandbox = Sandbox::start().await.unwrap();
    let created = control(&sandbox, "POST", "/merchants", json!({ "name": "Chez Awa" })).await;
    assert_eq!(created.status, 200);
    let (merchant, key) = (created.body["merchant"].as_str().unwrap(), created.body["secret_key"].as_str().unwrap());
    assert!(key.starts_with("sk_test_"));
    let methods =
        send(&client(), "GET", &format!("{}/v1/payment-methods", sandbox.base_url()), Some(key), None, &[]).await;
    assert_eq!(methods.status, 200, "the new key works");

    let before = control(&sandbox, "GET", &format!("/clock?merchant={merchant}"), Value::Null).await.body["now"]
        .as_i64()
        .unwrap();
    let after = control(&sandbox, "POST", "/clock", json!({ "merchant": merchant, "advance_seconds": 3600 })).await;
    assert!(after.body["now"].as_i64().unwrap() >= before + 3600);
    let firsts = control(&sandbox, "GET", "/clock", Value::Null).await.body["now"].as_i64().unwrap();
    assert!(firsts < before + 3600, "each merchant has its own clock");

    for wrong in [
        json!({ "advance_seconds": -1 }),
        json!({ "advance_seconds": "60" }),
        json!({}),
        json!({ "advance_seconds": 1e18 }),
    ] {
        let refused = control(&sandbox, "POST", "/clock", wrong).await;
        assert_eq!((refused.status, refused.code()), (422, "parameter_invalid"));
    }
    for (path, wrong, remedy) in [
        ("/clock", json!({ "advance_second": 60 }), "Did you mean `advance_seconds`?"),
        ("/merchants", json!({ "title": "Awa" }), "The fields are: name."),
        ("/reset", json!({ "merchnt": merchant }), "Did you mean `merchant`?"),
    ] {
        let refused = control(&sandbox, "POST", path, wrong).await;
        assert_eq!((refused.status, refused.code()), (422, "parameter_unknown"));
        assert!(refused.message().ends_with(remedy), "{}", refused.message());
    }
    let unknown = control(&sandbox, "POST", "/clock", json!({ "merchant": "mch_none", "advance_seconds": 1 })).await;
    assert_eq!((unknown.status, unknown.code()), (404, "resource_missing"));
}

#[tokio::test]
async fn an_allowed_host_that_is_no_host_name_is_refused() {
    for host in ["", "http://sandbox.test", "sandbox.test:4243", "*.test"] {
        let config = Config { allow_hosts: vec![host.into()], ..Config::default() };
        let refused = Sandbox::start_with(config).await.unwrap_err().to_string();
        assert!(refused.starts_with(&format!("{host:?} is not a host name.")), "{refused}");
    }
}

#[tokio::test]
async fn the_control_api_requires_its_token_and_a_known_host() {
    let sandbox =
        Sandbox::start_with(Config { allow_hosts: vec!["sandbox.test".into()], ..Config::default() }).await.unwrap();
    let url = format!("{}/clock", sandbox.control_url());
    let token = sandbox.control_token().expose();
    let call = |bearer: Option<&'static str>, headers: &'static [(&'static str, &'static str)]| {
        let (url, bearer) = (url.clone(), bearer.unwrap_or(token).to_owned());
        async move { send(&client(), "GET", &url, Some(&bearer), None, headers).await }
    };
    assert_eq!(send(&client(), "GET", &url, None, None, &[]).await.code(), "authentication_required");
    assert_eq!(call(Some("ctl_wrong"), &[]).await.code(), "invalid_key");
    let key = sandbox.secret_key().expose().to_owned();
    assert_eq!(
        send(&client(), "GET", &url, Some(&key), None, &[]).await.status,
        401,
        "a secret key does not open the control API"
    );
    for host in ["localhost:80", "127.0.0.1", "127.9.9.9:1", "[::1]:4243", "[::1]", "sandbox.test:4243", "SANDBOX.TEST"]
    {
        assert_eq!(send(&client(), "GET", &url, Some(token), None, &[("host", host)]).await.status, 200, "{host}");
    }
    for host in
        ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "192.168.1.9", "evil.test:4243", ""]
    {
        let refused = send(&client(), "GET", &url, Some(token), None, &[("host", host)]).await;
        assert_eq!((refused.status, refused.code()), (403, "host_not_allowed"), "{host}");
    }
    let described = call(None, &[("origin", "http://localhost:1")]).await;
    assert_eq!(
        (described.status, described.header("access-control-allow-origin")),
        (200, None),
        "no page can read the response"
    );
}

#[test]
fn a_sandbox_does_not_use_its_callers_runtime() {
    let alone = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let sandbox = alone().block_on(Sandbox::start()).unwrap();
    let shop = alone().block_on(sandbox.merchant()).unwrap();
    let before = alone().block_on(shop.now()).unwrap();
    let after = alone().block_on(shop.clock().advance(60)).unwrap();
    assert!(after.unix() >= before.unix() + 60);
    assert_eq!(format!("{:?}", shop.secret_key()), "***");
    alone().block_on(sandbox.stop());
}

/// Sends a request with the first merchant's key.
async fn first(sandbox: &Sandbox, method: &str, path: &str, fields: Value) -> Reply {
    let key = sandbox.secret_key().expose();
    send(&client(), method, &format!("{}{path}", sandbox.base_url()), Some(key), Some(fields.to_string()), &[]).await
}
