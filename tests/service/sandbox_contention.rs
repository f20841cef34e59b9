//! A request that loses to a concurrent update in every round is refused after some rounds and can be retried. A
//! trigger of the database plays the concurrent updates: it skips the write.

use crate::support::api::{Reply, client, control, order, phone, send};
use crate::support::folder::Folder;
use guichet_sandbox::Sandbox;
use serde_json::{Value, json};
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteConnectOptions;
use std::time::Duration;

const CREATE: &str = "/v1/payment-intents";

#[tokio::test]
async fn an_update_that_always_loses_to_concurrent_ones_ends_and_can_be_retried() {
    let folder = Folder::new("overtaken");
    let sandbox = Sandbox::start_with(folder.config()).await.unwrap();
    let automatic = create(&sandbox, CREATE, order("ORDER-1")).await;
    let mut manual = order("ORDER-2");
    manual["confirmation_method"] = json!("manual");
    let manual = create(&sandbox, CREATE, manual).await;
    assert_eq!(call(&sandbox, "POST", &format!("{manual}/payment-method"), phone("237670000001")).await.status, 200);
    let coded = create(&sandbox, CREATE, order("ORDER-3")).await;
    assert_eq!(call(&sandbox, "POST", &format!("{coded}/payment-method"), phone("237670000010")).await.status, 200);
    let moves = [
        (format!("{automatic}/payment-method"), phone("237670000001")),
        (format!("{automatic}/cancel"), Value::Null),
        (format!("{manual}/confirm"), Value::Null),
        (format!("{coded}/answer"), json!({ "otp": "123456" })),
    ];
    let sandbox = overtaken(sandbox, &folder, "UPDATE", "intents").await;
    for (path, fields) in &moves {
        refused(&call(&sandbox, "POST", path, fields.clone()).await, path);
    }
    let sandbox = let_through(sandbox, &folder).await;
    for (path, fields) in moves.into_iter().skip(1) {
        assert_eq!(call(&sandbox, "POST", &path, fields).await.status, 200, "{path}");
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn a_create_that_always_loses_to_concurrent_ones_ends_and_can_be_retried() {
    let folder = Folder::new("overtaken-creation");
    let sandbox = Sandbox::start_with(folder.config()).await.unwrap();
    let plan = json!({ "name": "Gold", "code": "gold", "amount": 5000, "billing_cycle": "daily" });
    assert_eq!(call(&sandbox, "POST", "/v1/subscriptions/plans", plan).await.status, 201);
    let package = call(&sandbox, "GET", "/v1/esim/packages", Value::Null).await.body["data"][0]["id"].clone();
    let esim = json!({ "package_id": package, "quantity": 1 });

    let sandbox = overtaken(sandbox, &folder, "INSERT", "intents").await;
    refused(&call(&sandbox, "POST", CREATE, order("ORDER-1")).await, "an intent");
    let sandbox = let_through(sandbox, &folder).await;
    let sandbox = overtaken(sandbox, &folder, "INSERT", "idempotency_keys").await;
    refused(&keyed(&sandbox, "/v1/esim/orders", esim.clone()).await, "an eSIM order");
    refused(&keyed(&sandbox, "/v1/subscriptions", subscription()).await, "a subscription");
    let sandbox = let_through(sandbox, &folder).await;
    assert_eq!(call(&sandbox, "POST", CREATE, order("ORDER-1")).await.status, 201);
    assert_eq!(keyed(&sandbox, "/v1/esim/orders", esim).await.status, 201);
    assert_eq!(keyed(&sandbox, "/v1/subscriptions", subscription()).await.status, 201);
    sandbox.stop().await;
}

#[tokio::test]
async fn billing_and_fulfilment_that_always_lose_to_concurrent_updates_end_and_can_be_retried() {
    let folder = Folder::new("overtaken-billing");
    let sandbox = Sandbox::start_with(folder.config()).await.unwrap();
    let plan = json!({ "name": "Gold", "code": "gold", "amount": 5000, "billing_cycle": "daily" });
    assert_eq!(call(&sandbox, "POST", "/v1/subscriptions/plans", plan).await.status, 201);
    let subscribed = create(&sandbox, "/v1/subscriptions", subscription()).await;
    // Its first charge has settled, and the next is due in a day.
    control(&sandbox, "POST", "/clock", json!({ "advance_seconds": 60 })).await;
    let package = call(&sandbox, "GET", "/v1/esim/packages", Value::Null).await.body["data"][0]["id"].clone();
    let ordered = create(&sandbox, "/v1/esim/orders", json!({ "package_id": package, "quantity": 1 })).await;
    let id = ordered.rsplit('/').next().unwrap();
    let mut paying = order("ORDER-1");
    paying["amount"] = json!("2500");
    paying["metadata"] = json!({ "esim_order_id": id });
    let paying = create(&sandbox, CREATE, paying).await;
    let paid = call(&sandbox, "POST", &format!("{paying}/payment-method"), phone("237670000000")).await;
    assert_eq!(paid.body["data"]["status"], "succeeded");

    let sandbox = overtaken(sandbox, &folder, "UPDATE", "subscriptions").await;
    refused(&call(&sandbox, "POST", &format!("{subscribed}/pause"), json!({})).await, "a pause");
    refused(&control(&sandbox, "POST", "/clock", json!({ "advance_seconds": 86_400 })).await, "a clock");
    refused(&call(&sandbox, "GET", &subscribed, Value::Null).await, "a subscription that is due");
    let sandbox = let_through(sandbox, &folder).await;
    assert_eq!(call(&sandbox, "GET", &subscribed, Value::Null).await.status, 200);

    let sandbox = overtaken(sandbox, &folder, "UPDATE", "esim_orders").await;
    refused(&call(&sandbox, "GET", &ordered, Value::Null).await, "an order that is paid");
    refused(&control(&sandbox, "GET", "/events", Value::Null).await, "events");
    let sandbox = let_through(sandbox, &folder).await;
    assert_eq!(call(&sandbox, "GET", &ordered, Value::Null).await.body["data"]["status"], "fulfilled");
    sandbox.stop().await;
}

/// The refusal says that the request may be retried.
fn refused(reply: &Reply, what: &str) {
    assert_eq!(
        (reply.status, reply.code(), reply.header("retry-after")),
        (503, "unavailable", Some("1")),
        "{what}: {}",
        reply.text
    );
    assert_eq!(reply.body["error"]["retryable"], true);
}

/// Restarts the sandbox with a trigger that skips this statement on a table.
async fn overtaken(sandbox: Sandbox, folder: &Folder, statement: &str, table: &str) -> Sandbox {
    let text = format!("CREATE TRIGGER overtaken BEFORE {statement} ON {table} BEGIN SELECT RAISE(IGNORE); END");
    restarted(sandbox, folder, text).await
}

async fn let_through(sandbox: Sandbox, folder: &Folder) -> Sandbox {
    restarted(sandbox, folder, "DROP TRIGGER overtaken".into()).await
}

async fn restarted(sandbox: Sandbox, folder: &Folder, text: String) -> Sandbox {
    sandbox.stop().await;
    let options = SqliteConnectOptions::new().filename(folder.path.join("sandbox.sqlite"));
    let pool = SqlitePool::connect_with(options).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(&pool).await.unwrap();
    pool.close().await;
    Sandbox::start_with(folder.config()).await.unwrap()
}

fn subscription() -> Value {
    let mut fields =
        json!({ "plan": "gold", "customer_email": "awa@example.com", "firstname": "Awa", "lastname": "Ngo" });
    fields["payment_method"] = phone("237670000000")["payment_method"].clone();
    fields
}

/// Creates an object. Returns the path to read it.
async fn create(sandbox: &Sandbox, path: &str, fields: Value) -> String {
    let created = call(sandbox, "POST", path, fields).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let data = &created.body["data"];
    format!("{path}/{}", data["id"].as_str().or(data["order_id"].as_str()).unwrap())
}

async fn call(sandbox: &Sandbox, method: &str, path: &str, fields: Value) -> Reply {
    sent(sandbox, method, path, fields, &[]).await
}

async fn keyed(sandbox: &Sandbox, path: &str, fields: Value) -> Reply {
    sent(sandbox, "POST", path, fields, &[("idempotency-key", "key-1")]).await
}

/// Sends a request. Fails after two minutes without a response, because then the service retries forever.
async fn sent(sandbox: &Sandbox, method: &str, path: &str, fields: Value, headers: &[(&str, &str)]) -> Reply {
    let (key, url) = (sandbox.secret_key().expose(), format!("{}{path}", sandbox.base_url()));
    let body = (!fields.is_null()).then(|| fields.to_string());
    let client = client();
    let reply = send(&client, method, &url, Some(key), body, headers);
    tokio::time::timeout(Duration::from_secs(120), reply).await.expect("it is not refused")
}
