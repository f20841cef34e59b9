//! `guichet shop reconcile`: the statement of a payment company against orders that were sold.

use crate::shop_process::{Process, Shop};
use crate::support::api;
use crate::support::wait::until;
use guichet::values::Moment;
use guichet_orders::AnyOrders;
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

const HEADING: &str = "Transaction ID,Merchant reference,Amount,Currency,Status,Created at";

/// A row of a payment as the service has it.
fn row(intent: &Value, amount: &str, status: &str) -> String {
    let text = |name: &str| intent[name].as_str().unwrap().to_owned();
    let (id, reference) = (text("id"), text("merchant_reference"));
    format!("{id},{reference},{amount},XAF,{status},{}", at(intent))
}

fn at(intent: &Value) -> Moment {
    Moment::from_unix(intent["created_at"].as_i64().unwrap())
}

fn statement(shop: &Shop, rows: &[String]) {
    fs::write(shop.file("statement.csv"), [HEADING, &rows.join("\n")].join("\n")).unwrap();
}

/// A shop whose ledger has no orders.
async fn without_orders() -> Shop {
    let shop = Shop::new("database = \"sqlite:orders.sqlite\"").await;
    let address = format!("sqlite:{}", shop.file("orders.sqlite").display());
    AnyOrders::connect(&address, "guichet_").await.unwrap();
    shop
}

/// The payment as the service has it.
async fn read(process: &Process, intent: Value) -> Value {
    let path = format!("/v1/payment-intents/{}", intent["id"].as_str().unwrap());
    process.call("GET", &path, Value::Null).await.body["data"].clone()
}

#[tokio::test]
async fn a_statement_shows_what_differs_and_apply_reads_what_is_paid_there() {
    let shop = Shop::new("database = \"sqlite:orders.sqlite\"").await;
    let service = crate::support::service::Sandbox::start().await.unwrap();
    let merchant = api::Merchant::of(&service, "Statement").await;
    let mut process = shop.start_at(&merchant.base_url, &merchant.key());
    let run = async |arguments: &[&str]| {
        shop.run(&[&["reconcile"], arguments].concat(), &merchant.key(), &merchant.base_url).await
    };
    let mut sold = Vec::new();
    for order in ["17", "18", "19", "20"] {
        let intent = process.begin(order).await;
        process.pay(&intent).await;
        process.status(&intent).await;
        sold.push(read(&process, intent).await);
    }
    let late = read(&process, process.begin("21").await).await;
    let unpaid = read(&process, process.begin("22").await).await;
    until("four are paid", async || shop.application.shipped().len() == 4).await;
    // It is paid while the process is not there.
    process.child.kill().unwrap();
    process.pay(&late).await;

    let paid: Vec<String> = sold.iter().map(|intent| row(intent, "45000", "succeeded")).collect();
    let unknown = "pi_elsewhere,HATS-1,9000,XAF,succeeded,2026-11-21".to_owned();
    statement(
        &shop,
        &[
            paid[0].clone(),
            row(&late, "45 000", "Successful"),
            unknown.clone(),
            row(&sold[2], "44000", "paid"),
            paid[3].clone(),
            paid[3].clone(),
            row(&unpaid, "45000", "failed"),
            format!(",,45000,XAF,paid,{}", at(&late)),
            "one column".to_owned(),
        ],
    );
    let (code, output) = run(&["statement.csv", "--from", "2020-01-01", "--to", "9000-01-01"]).await;
    assert_eq!(code, Some(3), "{output}");
    for expected in [
        "Paid there and not here: 1\n",
        "  line 3  ORDER-awa-21  pi_",
        "Paid there, and unknown here: 1\n",
        "let its customer open the order again before `guichet shop restore close`",
        "Never charge for it again.\n",
        "  line 4  HATS-1  pi_elsewhere  9 000 XAF\n",
        "Paid here and not there: 1\n",
        "  no line  ORDER-awa-18  pi_",
        "Paid with another sum: 1\n",
        "there 44 000 XAF, here 45 000 XAF\n",
        "Paid more than once: 1\n",
        "  lines 6, 7  ORDER-awa-20  pi_",
        "refunds here: 0 due, 0 made\n",
        "Not judged: 2\n",
        "  line 9  It has neither an id nor a reference.\n",
        "  line 10  It has more or fewer columns than the heading.\n",
        "These words count as not paid: failed (1).",
        "9 rows, 6 of them paid, against 6 orders: 5 differences, 2 not judged.\n",
    ] {
        assert!(output.contains(expected), "{expected:?} in {output}");
    }
    let (code, output) = run(&["statement.csv", "--json"]).await;
    let all: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(code, Some(3), "{output}");
    let kinds: Vec<&str> =
        all["differences"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["paid_there", "unknown_here", "paid_here", "other_sum", "double"], "{output}");
    assert_eq!(all["not_judged"], json!([{"line": 9, "why": "no_name"}, {"line": 10, "why": "columns"}]));
    assert_eq!(all["span"]["from"], "2026-11-21T00:00:00Z", "the first date of the file");
    assert_eq!(shop.application.shipped().len(), 4, "nothing has changed");

    // A statement of what differs in nothing else is in order, once this one was read.
    let mut rows = paid.clone();
    rows.push(row(&late, "45000", "SUCCEEDED"));
    statement(&shop, &rows);
    let (code, output) = run(&["statement.csv"]).await;
    assert!(code == Some(3) && output.contains("1 difference, 0 not judged"), "{output}");
    let (code, output) = run(&["statement.csv", "--apply"]).await;
    assert!(code == Some(0) && output.contains("  is paid; the application has received it\n"), "{output}");
    assert!(output.ends_with(": no difference.\n") && !output.contains("Paid there and not here"), "{output}");
    assert!(shop.application.shipped().contains(&"ORDER-awa-21".to_owned()));
    let (code, output) = run(&["statement.csv"]).await;
    assert!(
        code == Some(0) && output.ends_with("5 rows, 5 of them paid, against 6 orders: no difference.\n"),
        "{output}"
    );

    // A row with our reference and an id that we do not have is not ours.
    rows.push(row(&sold[1], "45000", "paid").replacen("pi_", "pi_another_", 1));
    statement(&shop, &rows);
    let (code, output) = run(&["statement.csv"]).await;
    assert!(code == Some(3) && output.contains("2 differences, 0 not judged"), "{output}");
    let ours = format!("45 000 XAF  here: {}\n", sold[1]["id"].as_str().unwrap());
    assert!(output.contains("  line 7  ORDER-awa-18  pi_another_") && output.contains(&ours), "{output}");
    assert!(
        output.contains("it was created twice") && output.contains("  lines 3, 7  ORDER-awa-18  refunds"),
        "{output}"
    );
    rows.pop();

    // What was reversed there later is not paid there any more.
    rows.push(row(&sold[1], "45000", "reversed"));
    statement(&shop, &rows);
    let (code, output) = run(&["statement.csv"]).await;
    let reversed = output.contains("  line 7  ORDER-awa-18  pi_") && output.contains("  there: reversed\n");
    assert!(code == Some(3) && reversed, "{output}");
    rows.pop();

    // What the service does not confirm stays as it is.
    rows.push(row(&unpaid, "45000", "paid"));
    statement(&shop, &rows);
    let (code, output) = run(&["statement.csv", "--apply"]).await;
    assert!(code == Some(3) && output.contains("  is not paid, as the service answers now"), "{output}");
    let (code, output) =
        shop.run(&["reconcile", "statement.csv", "--apply"], &merchant.key(), "http://127.0.0.1:9").await;
    assert!(code == Some(3) && output.contains("  could not be read: "), "{output}");
    assert_eq!(shop.application.shipped().len(), 5);
}

#[tokio::test]
async fn a_file_that_is_no_statement_is_refused_with_the_remedy() {
    let shop = without_orders().await;
    let key = "sk_test_0123456789abcdef";
    let run =
        async |arguments: &[&str]| shop.run(&[&["reconcile"], arguments].concat(), key, "http://127.0.0.1:9").await;
    let (code, output) = run(&[]).await;
    assert!(code == Some(1) && output.contains("no list of payments") && output.contains("CSV"), "{output}");
    let (code, output) = run(&["none.csv"]).await;
    assert!(code == Some(1) && output.contains("none.csv: No such file"), "{output}");
    fs::write(shop.file("columns.csv"), "Ref;Total;Currency\n").unwrap();
    let (code, output) = run(&["columns.csv"]).await;
    assert!(code == Some(1) && output.contains("\"Ref\", \"Total\", \"Currency\""), "{output}");
    let named = ["columns.csv", "--column", "reference=Ref", "--column", "amount=Total"];
    let (code, output) = run(&named).await;
    assert!(code == Some(3) && output.contains("the statement has no dates. Name the span"), "{output}");
    assert!(
        output.ends_with("0 of them paid, against 0 orders: 0 differences, 0 not judged, and no span.\n"),
        "{output}"
    );
    let (code, output) = run(&[&named[..], &["--from", "2026-11-01"]].concat()).await;
    assert!(code == Some(3) && output.contains("and no span"), "one end is no span: {output}");
    let (code, output) = run(&[&named[..], &["--from", "2026-11-01", "--to", "2026-11-30"]].concat()).await;
    assert!(code == Some(0) && output.contains("0 rows, 0 of them paid, against 0 orders: no difference."), "{output}");
    let (code, output) = run(&["columns.csv", "--column", "ref=Ref"]).await;
    assert!(code == Some(2) && output.contains("id, reference, amount"), "{output}");
    let (code, output) = run(&["columns.csv", "--from", "tomorrow"]).await;
    assert!(code == Some(2) && output.contains("2026-11-21"), "{output}");
    let (code, output) = run(&["columns.csv", "--from", "2026-11-21", "--to", "2026-11-20"]).await;
    assert!(code == Some(1) && output.contains("--from is later"), "{output}");
}

#[tokio::test]
async fn dates_with_their_day_first_are_read_by_the_clock_of_the_statement() {
    let shop = without_orders().await;
    let run = async |arguments: &[&str]| {
        let arguments = [&["reconcile", "statement.csv"], arguments].concat();
        shop.run(&arguments, "sk_test_0123456789abcdef", "http://127.0.0.1:9").await
    };
    let write = |dates: &[&str]| {
        let rows: String = dates.iter().map(|date| format!("ORDER-1,45000,XAF,failed,{date},a\n")).collect();
        fs::write(shop.file("statement.csv"), format!("Merchant ref,Amount,Currency,Status,Date,Note\n{rows}"))
            .unwrap();
    };
    write(&["05/11/2026 16:55", "30/11/2026"]);
    let (code, output) = run(&["--utc-offset", "+01:00"]).await;
    assert!(
        code == Some(0) && output.contains("from 2026-11-05T16:55:00+01:00 to 2026-11-30T23:59:59+01:00"),
        "{output}"
    );
    assert!(output.contains("Not read: the columns Note.\n"), "{output}");
    let (code, output) = run(&["--utc-offset", "+01:00", "--to", "2026-12-01", "--json"]).await;
    let all: Value = serde_json::from_str(&output).unwrap();
    assert!(code == Some(0) && all["span"]["to"] == "2026-12-01T23:59:59+01:00", "{output}");
    assert_eq!(all["columns_not_read"], json!(["Note"]));
    write(&["05/11/2026", "06/11/2026"]);
    let (code, output) = run(&[]).await;
    assert!(
        code == Some(3) && output.contains("the date 05/11/2026 in line 2 may have its day or its month"),
        "{output}"
    );
    let (code, output) = run(&["--from", "2026-11-01", "--to", "2026-11-30"]).await;
    assert!(code == Some(0) && output.ends_with("against 0 orders: no difference.\n"), "{output}");
}

#[tokio::test]
async fn a_hundred_thousand_rows_are_compared_with_as_many_orders_in_seconds() {
    const ORDERS: usize = 100_000;
    let shop = without_orders().await;
    let run = async |arguments: &[&str]| shop.run(arguments, "sk_test_0123456789abcdef", "http://127.0.0.1:9").await;
    let found = json!({
        "id": "pi_@", "payment_ref": "pay_@", "state": {"paid": {"at": 1_796_000_060}}, "status": "succeeded",
        "since": 1_796_000_000,
    });
    let body = json!({
        "firstname": "Awa", "lastname": "Ngono", "description": "Shoes", "phone": "237670000000", "amount": "45000",
        "currency": "XAF",
    });
    let payment = json!({"reference": "ORDER-@", "created_at": 1_796_000_000, "body": body, "found": [found]});
    let owner = json!({"customer": "awa"});
    let order = json!({"name": "ORDER-@", "owner": owner, "version": 1, "paid_by": "pi_@", "payments": [payment]});
    let pool = sqlx::SqlitePool::connect(&format!("sqlite:{}", shop.file("orders.sqlite").display())).await.unwrap();
    let insert = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
        INSERT INTO guichet_orders (name, version, body) SELECT 'ORDER-' || i, 1, replace($2, '@', i) FROM n";
    sqlx::query(insert).bind(ORDERS as i64).bind(order.to_string()).execute(&pool).await.unwrap();
    pool.close().await;
    let rows = (1..=ORDERS).map(|i| format!("pi_{i},ORDER-{i},45000,XAF,succeeded,2026-11-29"));
    statement(&shop, &rows.collect::<Vec<_>>());
    let began = Instant::now();
    let (code, output) = run(&["reconcile", "statement.csv", "--from", "2020-01-01"]).await;
    println!("{ORDERS} rows in {:?}", began.elapsed());
    assert!(code == Some(0) && output.contains("100000 rows, 100000 of them paid, against 100000 orders"), "{output}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}
