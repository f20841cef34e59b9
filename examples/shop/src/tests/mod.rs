//! What the shop promises, on SQLite, and with the feature `postgres` on a PostgreSQL server that the tests start.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod payments;
mod routes;
mod servers;

use crate::app::App;
use crate::open::{ShopLedger, open, open_orders};
use crate::seller::Seller;
use crate::{install_tls, sessions};
use guichet::native::Ledger;
use guichet::operations::{Instrument, PaymentIntent};
use guichet::values::{Address, IntentId, Phone};
use guichet::{Client, SecretKey};
use guichet_sandbox::{Sandbox, Tenant};
use serde_json::{Value, json};
use std::path::Path;
use support::http::{Reply, get, post};
use tempfile::TempDir;
use tokio::net::TcpListener;

#[path = "../../../../tests/support"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::disallowed_methods,
    reason = "the shop uses a part of it, which may read the clock"
)]
mod support {
    #[cfg(feature = "postgres")]
    mod database_process;
    pub mod http;
    #[cfg(feature = "postgres")]
    mod port;
    #[cfg(feature = "postgres")]
    pub mod postgres;
}

/// Runs each test on each database, in a world of its own.
macro_rules! on_each_database {
    ($($test:ident)*) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(super::World::on_sqlite().await).await;
            })*
        }
        #[cfg(feature = "postgres")]
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(super::World::on_postgres().await).await;
            })*
        }
    };
}
use on_each_database;

/// As browsers name the shop, on each of its servers.
const URL: &str = "http://127.0.0.1:4242";
/// Test phones of the sandbox.
const PAYS: &str = "237670000000";
const FAILS: &str = "237670000009";
/// Its payment is declined at once, and approved 600 seconds later.
const APPROVED_LATE: &str = "237670000012";

/// A sandbox, an empty database, and a shop.
struct World {
    merchant: Tenant,
    client: Client,
    database: String,
    seller: Seller,
    ledger: ShopLedger,
    folder: TempDir,
    _sandbox: Sandbox,
}

impl World {
    async fn on_sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}", folder.path().join("shop.sqlite").display());
        Self::new(folder, database).await
    }

    #[cfg(feature = "postgres")]
    async fn on_postgres() -> Self {
        let server = support::postgres::PostgresServer::shared();
        Self::new(tempfile::tempdir().unwrap(), server.create_database()).await
    }

    async fn new(folder: TempDir, database: String) -> Self {
        install_tls();
        let sandbox = Sandbox::start().await.unwrap();
        let merchant = sandbox.merchant().await.unwrap();
        let key = SecretKey::new(merchant.secret_key().expose()).unwrap();
        let client = Client::builder(merchant.base_url(), key).build().unwrap();
        let seller = Seller { database: open(&database).await.unwrap(), url: URL.to_owned() };
        std::fs::write(folder.path().join("guichet.js"), "export {};").unwrap();
        let ledger = Ledger::new(client.clone(), open_orders(&database).await.unwrap());
        Self { merchant, client, database, seller, ledger, folder, _sandbox: sandbox }
    }

    /// Starts a server of the shop, with connections of its own to the database, and returns its address.
    async fn serve(&self) -> String {
        self.serve_for_a_page_at(None).await
    }

    /// The same, with the origin of a page that is not the server's.
    async fn serve_for_a_page_at(&self, page: Option<&str>) -> String {
        let (sessions, guard) = sessions(&self.client, &self.database).await.unwrap();
        let app = App {
            client: self.client.clone(),
            seller: Seller { database: open(&self.database).await.unwrap(), url: URL.to_owned() },
            sessions,
            guard,
            ledger: Ledger::new(self.client.clone(), open_orders(&self.database).await.unwrap()),
            service: Address::new(self.merchant.base_url()).unwrap(),
            url: URL.to_owned(),
            page_origin: page.map(str::to_owned),
            pages: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../www/shop"),
            package: self.folder.path().to_owned(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = app.router().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}")
    }

    /// Pays as the hosted page does.
    async fn attach(&self, intent: &IntentId, phone: &str) -> PaymentIntent {
        let phone = Phone::new(phone).unwrap();
        self.client.attach_payment_method(intent, Instrument::mobile_money(phone)).await.unwrap();
        self.client.read_payment_intent(intent).await.unwrap()
    }

    async fn execute(&self, sql: &'static str) {
        sqlx::raw_sql(sql).execute(&self.seller.database.pool).await.unwrap();
    }

    /// Lets time pass at the service, whose clock the ledger follows with a test key, and lets the shop's server see
    /// it.
    async fn pass(&self, seconds: u32, visitor: &Visitor, payment: &Value) {
        self.merchant.clock().advance(seconds).await.unwrap();
        visitor.get(&format!("/guichet/intents/{}", payment["intent"]["payment_ref"].as_str().unwrap())).await;
    }
}

/// A signed-in customer's browser on a server of the shop.
struct Visitor {
    shop: String,
    cookie: String,
}

impl Visitor {
    async fn sign_in(shop: &str, customer: &str) -> Self {
        let reply = post(&format!("{shop}/api/sign-in"), &[], &json!({"customer": customer}).to_string()).await;
        assert_eq!(reply.status, 200);
        let set = reply.header("set-cookie").unwrap();
        assert!(set.contains("HttpOnly") && set.contains("SameSite=Lax"), "{set}");
        Self { shop: shop.to_owned(), cookie: reply.cookie().unwrap() }
    }

    /// The same browser, on another server.
    fn at(&self, shop: &str) -> Self {
        Self { shop: shop.to_owned(), cookie: self.cookie.clone() }
    }

    async fn get(&self, path: &str) -> Reply {
        get(&format!("{}{path}", self.shop), &[&self.cookie]).await
    }

    async fn post(&self, path: &str, body: &str) -> Reply {
        post(&format!("{}{path}", self.shop), &[&self.cookie], body).await
    }

    /// Places an order of so many pairs, and returns its number.
    async fn place(&self, pairs: u32) -> String {
        let basket = json!({"lines": [{"sku": "trainers", "quantity": pairs}]});
        let reply = self.post("/api/orders", &basket.to_string()).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
        reply.json()["id"].as_str().unwrap().to_owned()
    }

    async fn order(&self, id: &str) -> Value {
        self.get(&format!("/api/orders/{id}")).await.json()
    }

    async fn status(&self, id: &str) -> Value {
        self.order(id).await["status"].clone()
    }

    /// Asks to pay an order.
    async fn begin(&self, id: &str) -> Reply {
        self.post("/guichet/intents", &json!({"id": id}).to_string()).await
    }

    /// Begins to pay an order.
    async fn ticket(&self, id: &str) -> Value {
        let reply = self.begin(id).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.json()
    }

    /// The header of the customer for the shop's own API.
    async fn token(&self) -> String {
        let session = self.post("/guichet/session", "").await.json();
        format!("Authorization: Bearer {}", session["session_token"].as_str().unwrap())
    }
}

fn intent_of(ticket: &Value) -> IntentId {
    IntentId::new(ticket["intent"]["id"].as_str().unwrap()).unwrap()
}
