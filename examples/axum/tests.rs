#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use super::*;
use guichet::native::AskAgain;
use guichet::operations::Instrument;
use guichet::sandbox::{Sandbox, Tenant};
use guichet::values::{Currency, IntentId, Phone};
use sqlx::PgPool;
use support::postgres::PostgresServer;
use tokio::task::JoinSet;

#[path = "../../tests/support"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::disallowed_methods,
    reason = "the example uses a part of it, which may read the clock"
)]
mod support {
    mod database_process;
    mod port;
    pub mod postgres;
}

#[tokio::test]
async fn a_customer_who_pays_and_closes_the_tab_has_paid() {
    let world = World::new().await;
    let World { client, shop, database, .. } = &world;
    let base_url = world.serve().await;
    let page = guichet::native::reqwest::Client::builder().no_proxy().build().unwrap();
    let post = |path: &str, body: &'static str| {
        let request = page.post(format!("{base_url}{path}")).header("content-type", "application/json");
        request.header("cookie", "login=awa").body(body)
    };

    let unsigned = page.post(format!("{base_url}/guichet/session")).send().await.unwrap();
    assert_eq!(unsigned.status(), 401, "nobody is signed in");
    let session = json_of(post("/guichet/session", "").send().await.unwrap()).await;
    let me = page.get(format!("{base_url}/api/me"));
    assert_eq!(me.try_clone().unwrap().send().await.unwrap().status(), 401, "no token");
    let me = me.bearer_auth(session["session_token"].as_str().unwrap()).send().await.unwrap();
    assert_eq!(me.text().await.unwrap(), r#"{"email":"awa@example.com"}"#);

    let unsigned = page.post(format!("{base_url}/orders")).header("content-type", "application/json").body("{}");
    assert_eq!(unsigned.send().await.unwrap().status(), 401, "nobody is signed in");
    assert_eq!(json_of(post("/orders", "{}").send().await.unwrap()).await, json!({ "id": "1" }));
    assert_eq!(post("/guichet/intents", r#"{"id":"2"}"#).send().await.unwrap().status(), 404);
    let another_customers = shop.purchase(&buyer("paul"), json!({ "id": "1" })).await.unwrap_err();
    assert_eq!((another_customers.status(), another_customers.code()), (404, "order_missing"));
    let begun = json_of(post("/guichet/intents", r#"{"id":"1"}"#).send().await.unwrap()).await;
    assert_eq!(rows(database, "SELECT paid_by FROM orders WHERE paid_by IS NOT NULL").await, [""; 0]);

    // The customer pays on the hosted page and never comes back.
    let intent = IntentId::new(begun["intent"]["id"].as_str().unwrap()).unwrap();
    client.attach_payment_method(&intent, phone("237670000000")).await.unwrap();
    assert_eq!(round(client, shop).await.unwrap(), 1);
    assert_eq!(rows(database, "SELECT paid_by FROM orders").await, ["ORDER-1"]);
    assert_eq!(round(client, shop).await.unwrap(), 0, "no payment is left to read");
    let payment_ref = begun["intent"]["payment_ref"].as_str().unwrap();
    let back = async |cookie| {
        page.get(format!("{base_url}/guichet/intents/{payment_ref}")).header("cookie", cookie).send().await.unwrap()
    };
    assert_eq!(back("login=paul").await.status(), 404, "it is another customer's");
    let back = json_of(back("login=awa").await).await;
    assert_eq!(back["status"], "succeeded", "a customer who comes back later sees the order paid");
}

#[tokio::test]
async fn two_servers_hand_out_one_token_of_a_login() {
    let world = World::new().await;
    let page = guichet::native::reqwest::Client::builder().no_proxy().build().unwrap();
    let token = async || {
        let session = page.post(format!("{}/guichet/session", world.serve().await)).header("cookie", "login=awa");
        json_of(session.send().await.unwrap()).await["session_token"].clone()
    };
    assert_eq!(token().await, token().await);
}

#[tokio::test]
async fn two_servers_claim_different_payments_and_an_unread_one_is_due_again() {
    let world = World::new().await;
    let World { shop, database, .. } = &world;
    for (intent, reference) in [("pi_1", "ORDER-1"), ("pi_2", "ORDER-2")] {
        shop.orders.remember(&sold(intent, reference)).await.unwrap();
    }
    // At this moment another server claims the first one.
    let mut other = database.begin().await.unwrap();
    let row = sqlx::query("SELECT FROM payments WHERE payment_ref = 'gch_pi_1' FOR UPDATE");
    row.execute(&mut *other).await.unwrap();
    assert_eq!(claim(shop).await, ["ORDER-2"]);
    assert_eq!(claim(shop).await, [""; 0]);
    other.rollback().await.unwrap();
    assert_eq!(claim(shop).await, ["ORDER-1"]);
    assert_eq!(claim(shop).await, [""; 0]);

    execute(database, "UPDATE payments SET read_at = read_at - INTERVAL '61 s'").await;
    assert_eq!(claim(shop).await, ["ORDER-1", "ORDER-2"], "the server that claimed them was killed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_servers_that_claim_at_once_claim_each_payment_once() {
    let world = World::new().await;
    let World { shop, database, .. } = &world;
    let all: Vec<String> = (10..50).map(|number| format!("ORDER-{number}")).collect();
    for (number, reference) in all.iter().enumerate() {
        shop.orders.remember(&sold(&format!("pi_{number}"), reference)).await.unwrap();
    }
    for _ in 0..10 {
        let servers: JoinSet<_> = (0..8)
            .map(|_| {
                let shop = shop.clone();
                async move { claim(&shop).await }
            })
            .collect();
        let mut claimed: Vec<String> = servers.join_all().await.concat();
        claimed.sort_unstable();
        assert_eq!(claimed, all);
        execute(database, "UPDATE payments SET read_at = now()").await;
    }
}

#[tokio::test]
async fn a_claim_takes_each_owners_first_payment_then_those_returned_to_and_the_youngest() {
    let world = World::new().await;
    let World { shop, database, .. } = &world;
    for number in 10..30 {
        let owner = match number {
            10 => "paul",
            11 => "fatou",
            _ => "awa",
        };
        let sold = Sold { owner: buyer(owner).owner, ..sold(&format!("pi_{number}"), &format!("ORDER-{number}")) };
        shop.orders.remember(&sold).await.unwrap();
    }
    for number in [13, 14] {
        let payment_ref = PaymentRef::new(format!("gch_pi_{number}")).unwrap();
        assert_eq!(shop.find(&payment_ref, &buyer("paul").owner).await.unwrap(), None, "of another customer");
        assert!(shop.find(&payment_ref, &buyer("awa").owner).await.unwrap().is_some());
    }
    let claim = async || claim(shop).await.join(" ").replace("ORDER-", "");
    assert_eq!(claim().await, "10 11 13 14 26 27 28 29");
    assert_eq!(claim().await, "18 19 20 21 22 23 24 25");
    assert_eq!(claim().await, "12 15 16 17");
    assert_eq!(rows(database, "SELECT payment_ref FROM payments WHERE read_at <= now()").await, [""; 0]);
}

#[tokio::test]
async fn another_customers_payment_is_settled_within_two_rounds_beside_a_thousand_open_ones() {
    let world = World::new().await;
    let World { client, shop, database, .. } = &world;
    let paul = buyer("paul");
    let id = shop.orders.place(&paul.owner, SHOES).await.unwrap().unwrap();
    let purchase = shop.purchase(&paul, json!({ "id": id.to_string() })).await.unwrap();
    let intent = client.create_payment_intent(&purchase).await.unwrap();
    client.attach_payment_method(&intent.id, phone("237670000000")).await.unwrap();
    let of_paul = Sold { owner: paul.owner, email: purchase.email, ..sold(intent.id.as_str(), &format!("ORDER-{id}")) };
    shop.orders.remember(&of_paul).await.unwrap();
    // Those of Awa are due before and after it. The service knows none of them.
    let of_awa = "INSERT INTO payments (payment_ref, merchant_reference, owner, sold, read_at) \
                  SELECT 'gch_pi_' || n, 'ORDER-' || n, 'customer:awa', replace($1, 'pi_n', 'pi_' || n), \
                  now() + (n - 500) * INTERVAL '1 ms' - INTERVAL '1 s' FROM generate_series(1, 1000) n";
    let text = serde_json::to_string(&sold("pi_n", "ORDER-n")).unwrap();
    sqlx::query(of_awa).bind(text).execute(database).await.unwrap();
    for _ in 0..2 {
        round(client, shop).await.unwrap();
    }
    assert_eq!(rows(database, "SELECT paid_by FROM orders").await, [format!("ORDER-{id}")]);
}

#[tokio::test]
async fn the_21st_open_payment_is_refused_and_a_repeated_create_is_not() {
    let world = World::new().await;
    let World { client, shop, .. } = &world;
    let base_url = world.serve().await;
    let page = guichet::native::reqwest::Client::builder().no_proxy().build().unwrap();
    let create = async |customer: &str, id: i64| {
        let request = page.post(format!("{base_url}/guichet/intents")).header("content-type", "application/json");
        let request = request.header("cookie", format!("login={customer}"));
        request.body(json!({ "id": id.to_string() }).to_string()).send().await.unwrap()
    };
    for id in 1..=21 {
        assert_eq!(shop.orders.place(&buyer("awa").owner, SHOES).await.unwrap(), Some(id));
    }
    let first = json_of(create("awa", 1).await).await;
    for id in 2..=20 {
        json_of(create("awa", id).await).await;
    }
    assert_eq!(create("awa", 21).await.status(), 409);
    json_of(create("awa", 20).await).await;
    let of_paul = shop.orders.place(&buyer("paul").owner, SHOES).await.unwrap().unwrap();
    json_of(create("paul", of_paul).await).await;

    // The customer cancels one, and the page asks for its status.
    client.cancel_payment_intent(&IntentId::new(first["intent"]["id"].as_str().unwrap()).unwrap()).await.unwrap();
    let back = format!("{base_url}/guichet/intents/{}", first["intent"]["payment_ref"].as_str().unwrap());
    let back = page.get(back).header("cookie", "login=awa").send().await.unwrap();
    assert_eq!(json_of(back).await["status"], "canceled");
    json_of(create("awa", 21).await).await;
}

#[tokio::test]
async fn an_open_payment_keeps_its_price_and_the_next_reference_takes_todays() {
    let world = World::new().await;
    let World { shop, database, .. } = &world;
    let awa = buyer("awa");
    let id = shop.orders.place(&awa.owner, SHOES).await.unwrap().unwrap();
    let begin = async || {
        let purchase = shop.purchase(&awa, json!({ "id": id.to_string() })).await?;
        Ok::<_, Refused>((purchase.merchant_reference.to_string(), purchase.amount))
    };
    let first = (format!("ORDER-{id}"), Amount::units(45_000));
    execute(database, "UPDATE products SET price = 50000").await;
    assert_eq!(begin().await.unwrap(), first, "the price at which it was ordered");
    shop.orders.count_decline(&sold("pi_1", &first.0)).await.unwrap();
    let second = (format!("ORDER-{id}.1"), Amount::units(50_000));
    assert_eq!(begin().await.unwrap(), second);
    execute(database, "DELETE FROM products").await;
    assert_eq!(begin().await.unwrap(), second, "it is open");
    shop.orders.count_decline(&sold("pi_2", &second.0)).await.unwrap();
    let ended = begin().await.unwrap_err();
    assert_eq!((ended.status(), ended.code()), (409, "order_ended"));
}

#[tokio::test]
async fn a_payment_is_read_for_a_day_after_its_final_status_and_once_more() {
    let world = World::new().await;
    let World { shop, database, .. } = &world;
    shop.orders.remember(&sold("pi_1", "ORDER-1")).await.unwrap();
    let read = async |ask_again| {
        if ask_again == AskAgain::ForADay {
            shop.orders.mark_final(&sold("pi_1", "ORDER-1")).await.unwrap();
        }
        let claimed = shop.orders.claim().await.unwrap();
        shop.orders.release(&claimed[0], ask_again).await.unwrap();
        let next = "SELECT CASE WHEN read_at <= now() + INTERVAL '5 s' THEN 'in 5 s' \
                    WHEN read_at <= now() + INTERVAL '30 s' THEN 'in 30 s' WHEN read_at IS NULL THEN 'never' \
                    ELSE 'in a minute' END FROM payments";
        rows(database, next).await
    };
    let pass = async |time| {
        let sql = "UPDATE payments SET read_at = read_at - $1::interval, final_since = final_since - $1::interval, \
                   created_at = created_at - $1::interval";
        sqlx::query(sql).bind(time).execute(database).await.unwrap();
    };
    assert_eq!(read(AskAgain::Soon).await, ["in 5 s"]);
    pass("31 minutes").await;
    assert_eq!(read(AskAgain::Soon).await, ["in 30 s"]);
    pass("1 minute").await;
    assert_eq!(read(AskAgain::ForADay).await, ["in a minute"]);
    pass("23 hours").await;
    assert_eq!(read(AskAgain::ForADay).await, ["in a minute"]);
    pass("2 hours").await;
    assert_eq!(read(AskAgain::ForADay).await, ["never"]);
}

/// The settling of each server, the customer's own page and a slow server whose claim has ended may read one payment at once.
#[tokio::test]
async fn many_readers_at_once_mark_an_order_paid_once_and_store_each_refund_once() {
    let world = World::new().await;
    let World { client, merchant, shop, database, .. } = &world;
    execute(database, MARKED).await;
    let awa = buyer("awa");
    for _ in 0..8 {
        let id = shop.orders.place(&awa.owner, SHOES).await.unwrap().unwrap();
        let purchase = shop.purchase(&awa, json!({ "id": id.to_string() })).await.unwrap();
        let intent = client.create_payment_intent(&purchase).await.unwrap();
        // The first attempt is declined and approved later. The second one pays.
        client.attach_payment_method(&intent.id, phone("237670000012")).await.unwrap();
        client.attach_payment_method(&intent.id, phone("237670000000")).await.unwrap();
        merchant.clock().advance(601).await.unwrap();
        let sold =
            Sold { payment_ref: intent.payment_ref.unwrap(), ..sold(intent.id.as_str(), &format!("ORDER-{id}")) };
        let read = async || {
            shop.remember(&sold).await.unwrap();
            settle(client, shop, &sold).await.unwrap().ask_again
        };
        let read = tokio::join!(read(), read(), read(), read());
        assert_eq!(read, (AskAgain::ForADay, AskAgain::ForADay, AskAgain::ForADay, AskAgain::ForADay));
    }
    let orders: Vec<String> = (1..=8).map(|id| format!("ORDER-{id}")).collect();
    assert_eq!(rows(database, "SELECT reference FROM marked ORDER BY 1").await, orders);
    assert_eq!(rows(database, "SELECT merchant_reference FROM refunds_due ORDER BY 1").await, orders);
}

#[tokio::test]
async fn a_final_decline_is_counted_once_and_a_second_payment_of_an_order_is_refunded() {
    let world = World::new().await;
    let World { shop, database, .. } = &world;
    let awa = buyer("awa");
    let id = shop.orders.place(&awa.owner, SHOES).await.unwrap().unwrap();
    let (first, second) = (sold("pi_1", &format!("ORDER-{id}")), sold("pi_2", &format!("ORDER-{id}.1")));
    tokio::try_join!(shop.orders.count_decline(&first), shop.orders.count_decline(&first)).unwrap();
    let order = shop.orders.to_pay(id, &awa.owner).await.unwrap().unwrap();
    assert_eq!(order.reference, second.merchant_reference.as_str());
    for sold in [&second, &second, &first, &first] {
        shop.orders.mark_paid(sold).await.unwrap();
        shop.orders.count_decline(sold).await.unwrap();
    }
    assert_eq!(rows(database, "SELECT paid_by FROM orders").await, [second.merchant_reference.as_str()]);
    assert_eq!(rows(database, "SELECT intent || ' ' || amount FROM refunds_due").await, ["pi_1 45000"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_start_at_once_create_the_tables_once() {
    for _ in 0..4 {
        let url = PostgresServer::shared().create_database();
        let open = async |url: String| Orders::open(PgPool::connect(&url).await?).await;
        let servers: JoinSet<_> = (0..8).map(|_| open(url.clone())).collect();
        for opened in servers.join_all().await {
            opened.unwrap();
        }
    }
}

/// A table of every statement that has set `paid_by`.
const MARKED: &str = "
    CREATE TABLE marked (reference TEXT NOT NULL);
    CREATE FUNCTION mark() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN INSERT INTO marked VALUES (NEW.paid_by); RETURN NEW; END';
    CREATE TRIGGER mark AFTER UPDATE OF paid_by ON orders FOR EACH ROW EXECUTE FUNCTION mark();
";

/// A sandbox and an empty database.
struct World {
    client: Client,
    merchant: Tenant,
    shop: ShoeShop,
    database: PgPool,
    _sandbox: Sandbox,
}

impl World {
    async fn new() -> Self {
        let sandbox = Sandbox::start().await.unwrap();
        let merchant = sandbox.merchant().await.unwrap();
        let key = SecretKey::new(merchant.secret_key().expose()).unwrap();
        let client = Client::builder(merchant.base_url(), key).build().unwrap();
        let database = PgPool::connect(&PostgresServer::shared().create_database()).await.unwrap();
        let orders = Orders::open(database.clone()).await.unwrap();
        let shop = ShoeShop { orders, url: "http://127.0.0.1:3000".to_owned() };
        Self { client, merchant, shop, database, _sandbox: sandbox }
    }

    /// Starts a server, and returns its address.
    async fn serve(&self) -> String {
        let sessions = PostgresSessions::new(self.database.clone(), &self.client).await.unwrap();
        let app = app(self.client.clone(), self.shop.clone(), sessions);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await });
        format!("http://{address}")
    }
}

fn sold(intent: &str, reference: &str) -> Sold {
    Sold {
        payment_ref: PaymentRef::new(format!("gch_{intent}")).unwrap(),
        intent: IntentId::new(intent).unwrap(),
        merchant_reference: MerchantReference::new(reference).unwrap(),
        amount: Amount::units(45_000),
        currency: Currency::xaf(),
        owner: buyer("awa").owner,
        email: Some(Email::new("awa@example.com").unwrap()),
    }
}

fn buyer(customer: &str) -> Buyer {
    Buyer::customer(customer).verified_email(Email::new(format!("{customer}@example.com")).unwrap())
}

/// The references of the payments that a server claims.
async fn claim(shop: &ShoeShop) -> Vec<String> {
    let claimed = tokio::time::timeout(Duration::from_secs(30), shop.orders.claim()).await;
    let claimed = claimed.expect("it waits for no other server").unwrap();
    let mut references: Vec<_> = claimed.iter().map(|claimed| claimed.sold.merchant_reference.to_string()).collect();
    references.sort_unstable();
    references
}

fn phone(number: &str) -> Instrument {
    Instrument::MobileMoney { phone: Phone::new(number).unwrap() }
}

async fn json_of(response: guichet::native::reqwest::Response) -> Value {
    assert_eq!(response.status(), 200);
    serde_json::from_slice(&response.bytes().await.unwrap()).unwrap()
}

/// The first column of each row.
async fn rows(database: &PgPool, sql: &'static str) -> Vec<String> {
    sqlx::query_scalar(sql).fetch_all(database).await.unwrap()
}

async fn execute(database: &PgPool, sql: &'static str) {
    sqlx::raw_sql(sql).execute(database).await.unwrap();
}
