//! The applications of `examples/` beside `guichet shop`, each as processes of their own: purchases in Chromium with
//! script and without, sign-out, other customers' orders, and an application that is killed.
//!
//! `cargo xtask test` installs what they need, builds the package and then runs these tests.

use crate::react::pay;
use crate::servers::running::{books, execute};
use crate::support::api::{self, Reply};
use crate::support::browser::{Browser, until};
use crate::support::child::{ends_with_tests, spawn};
use crate::support::engine::Engine;
use crate::support::folder::Folder;
use crate::support::{port, root};
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
/// The one before it, during a rotation.
const OLD_SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDC2FVsBQIhrs=";
/// One that the application does not have.
const OTHER_SECRET: &str = "whsec_AAAAsBQIhrscChlQIMV+b5sSYspob7oDC2FVsBQIhrs=";
const KEY: &str = "sk_test_0123456789abcdefghijABCDEFGHIJ";
const SUCCEEDS: &str = "237670000000";

/// An application to copy.
#[derive(Clone, Copy, Debug)]
enum Application {
    Django,
    Go,
    Laravel,
}

impl Application {
    /// Its folder in `examples`.
    fn folder(self) -> &'static str {
        match self {
            Self::Django => "django",
            Self::Go => "go",
            Self::Laravel => "laravel",
        }
    }

    /// What it prints if `guichet shop` does not take the end of a login.
    fn tokens_are_left(self) -> &'static str {
        match self {
            Self::Django => "session tokens of a login are not revoked",
            Self::Go => "A login has ended, and its pages' sessions go on",
            Self::Laravel => "does not take the message login_ended",
        }
    }

    /// The table of its products in `shop.sqlite`. Go has them in its code.
    fn products(self) -> Option<&'static str> {
        match self {
            Self::Django => Some("shop_product"),
            Self::Go => None,
            Self::Laravel => Some("products"),
        }
    }

    /// The command that serves it at an address, in its folder.
    fn serve(self, address: &str) -> Command {
        match self {
            Self::Django => {
                let mut command = ends_with_tests(root().join("target/django/bin/python"));
                command.args(["shop.py", "runserver", "--noreload", address]);
                command
            }
            Self::Go => ends_with_tests(root().join("target/go-shop")),
            Self::Laravel => {
                let mut command = ends_with_tests("php");
                command.args(["-S", address, "-t", "page", "index.php"]);
                command
            }
        }
    }
}

macro_rules! for_every_application {
    ($($test:ident),+ $(,)?) => {
        for_every_application!(@ django Django $($test)+);
        for_every_application!(@ go Go $($test)+);
        for_every_application!(@ laravel Laravel $($test)+);
    };
    (@ $module:ident $application:ident $($test:ident)+) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                #[ignore = "needs files that `cargo xtask test` builds"]
                async fn $test() {
                    super::$test(super::Application::$application).await;
                }
            )+
        }
    };
}

for_every_application!(
    a_customer_buys_by_redirect_and_by_popup,
    signing_out_ends_the_session_tokens,
    orders_and_payments_of_another_customer_are_not_found,
    a_login_is_changed_by_the_shops_own_page_and_for_a_known_customer,
    an_order_that_is_paid_while_the_application_is_down_is_paid_once,
    every_rule_of_the_check_passes,
    messages_are_verified_and_an_older_one_changes_nothing,
);

/// Scripts are switched off by Chromium's DevTools protocol.
mod only_chromium {
    use super::Application;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "needs files that `cargo xtask test` builds"]
    async fn a_customer_buys_without_script_at_django() {
        super::a_customer_buys_without_script(Application::Django).await;
    }
}

async fn a_customer_buys_by_redirect_and_by_popup(application: Application) {
    let shop = Shop::start(application).await;
    let browser = Browser::start("applications").await;
    browser.open(&shop.url).await;
    browser.wait_for(".popup").await; // the script has replaced the forms
    browser.click("#sign-in button").await;
    browser.click(".primary.trainers:enabled").await;
    browser.wait_for_url("the hosted page", |url| url.path().starts_with("/checkout/")).await;
    pay(&browser).await;
    browser.wait_for_text("#message", "Thank you, you have paid.").await;
    browser.wait_for_text("#orders", "Wouri trainers, paid").await;

    let opener = browser.current_tab().await;
    browser.click(".popup.sandals:enabled").await;
    browser.switch_to(&browser.wait_for_other_tab(&opener).await).await;
    browser.wait_for_text("[data-test='description']", "Kribi sandals").await;
    pay(&browser).await;
    browser.switch_to(&opener).await;
    browser.wait_for_text("#orders", "Kribi sandals, paid").await;
    until("the popup is closed", async || browser.tabs().await == [opener.clone()]).await;
    browser.close().await;
    assert_eq!((shop.count(" is paid."), shop.intents().await.len()), (2, 2), "{}", shop.log());
}

async fn a_customer_buys_without_script(application: Application) {
    let shop = Shop::start(application).await;
    let browser = Engine::Chromium.start("applications-plain").await;
    browser.disable_scripts().await;
    browser.open(&shop.url).await;
    browser.click("[aria-label='Pay, Kribi sandals']").await;
    browser.wait_for_text("main", "You are not signed in").await;
    browser.open(&shop.url).await;
    browser.click("#sign-in button").await;
    browser.wait_for_url("the shop", |url| url.path() == "/").await;
    browser.click("[aria-label='Pay, Kribi sandals']").await;
    browser.wait_for_url("the hosted page", |url| url.path().starts_with("/checkout/")).await;

    let intents = shop.intents().await;
    let reference = intents[0]["payment_ref"].as_str().expect("a reference");
    assert_eq!((intents.len(), &intents[0]["amount"]), (1, &json!("12500")), "one payment, of the server's price");
    let back = intents[0]["redirect_url"].as_str().expect("an address");
    browser.open(&format!("{back}&payment_ref={reference}&status=succeeded")).await;
    browser.wait_for_text("main", "You have not paid yet.").await;
    shop.pay(&intents[0]).await;
    // It loads itself again.
    browser.wait_for_text("main", "Thank you. You have paid.").await;
    browser.close().await;
    shop.becomes_paid(&intents[0]).await;
}

async fn signing_out_ends_the_session_tokens(application: Application) {
    let mut shop = Shop::start(application).await;
    let (mut awa, other) = (Visitor::signed_in(&shop, "awa").await, Visitor::signed_in(&shop, "awa").await);
    let before = awa.clone();
    let token = async |visitor: &Visitor| {
        let session = visitor.send("POST", &shop.route("session"), Some("{}")).await;
        assert_eq!(session.status, 200, "{}", session.text);
        session.body["session_token"].as_str().expect("a token").to_owned()
    };
    let works = async |token: &str| {
        let url = format!("{}/v1/payment-methods?country_code=CM", shop.service);
        api::send(&api::client(), "GET", &url, Some(token), None, &[]).await.status
    };
    let (ended, kept) = (token(&awa).await, token(&other).await);
    assert_eq!((works(&ended).await, works(&kept).await), (200, 200));
    awa.post(&shop, "/sign-out", "{}").await;
    // Laravel tells the process after its answer.
    until("the token has ended", async || works(&ended).await == 401).await;
    assert_eq!(works(&kept).await, 200, "another login of hers goes on");
    let refused = before.send("POST", &shop.route("session"), Some("{}")).await;
    assert_eq!((refused.status, refused.code()), (401, "authentication_required"), "the old cookie is no login");

    // Without the process a customer signs out nevertheless.
    let mut awa = Visitor::signed_in(&shop, "awa").await;
    shop.process.kill().unwrap();
    awa.post(&shop, "/sign-out", "{}").await;
    let shown = awa.send("GET", &format!("{}/shop", shop.url), None).await;
    assert_eq!((shown.status, &shown.body["customer"]), (200, &Value::Null), "{}", shown.text);
    until("the log says so", async || shop.count(application.tokens_are_left()) == 1).await;
}

async fn orders_and_payments_of_another_customer_are_not_found(application: Application) {
    let shop = Shop::start(application).await;
    let (awa, paul) = (Visitor::signed_in(&shop, "awa").await, Visitor::signed_in(&shop, "paul").await);
    let begun = awa.order(&shop, "17").await.body["intent"].clone();
    let path = shop.route(&format!("intents/{}", begun["payment_ref"].as_str().expect("a reference")));
    assert_eq!(awa.send("GET", &path, None).await.status, 200);
    let theirs = paul.send("GET", &path, None).await;
    let unknown = paul.send("GET", &shop.route("intents/gch_1"), None).await;
    assert_eq!((theirs.status, theirs.text), (404, unknown.text));
    // A basket of the same number is another order.
    let own = paul.order(&shop, "17").await;
    assert!(own.status == 200 && own.body["intent"]["id"] != begun["id"], "{}", own.text);
    assert_eq!(awa.order(&shop, "17").await.body["intent"]["id"], begun["id"], "the same order is the same payment");

    let orders = shop.route("intents");
    for order in [
        json!({"id": "18", "product": "boots"}),
        json!({"id": "next:0", "product": "trainers"}),
        json!({"id": 18, "product": "trainers"}),
        json!({"id": "18", "product": ["trainers"]}),
        json!({"product": "trainers"}),
        json!("18"),
    ] {
        let reply = paul.send("POST", &orders, Some(&order.to_string())).await;
        assert_eq!((reply.status, reply.code()), (404, "order_missing"), "{order}: {}", reply.text);
    }
    let signed_out = Visitor::of(&shop).await;
    let reply = signed_out.order(&shop, "17").await;
    assert_eq!((reply.status, reply.code()), (401, "authentication_required"), "{}", reply.text);
    let unsigned = awa.send("POST", &format!("{}/payments", shop.url), Some("{}")).await;
    assert_eq!(unsigned.status, 400, "{}", unsigned.text);
    assert_eq!(shop.intents().await.len(), 2);
}

/// CORS hides an answer, and does not stop the request.
async fn a_login_is_changed_by_the_shops_own_page_and_for_a_known_customer(application: Application) {
    let shop = Shop::start(application).await;
    let awa = Visitor::signed_in(&shop, "awa").await;
    let customer = async || awa.send("GET", &format!("{}/shop", shop.url), None).await.body["customer"].clone();
    for path in ["/sign-in", "/sign-out"] {
        let url = format!("{}{path}", shop.url);
        let reply = awa.send_from("https://evil.example", "POST", &url, Some(r#"{"customer":"paul"}"#)).await;
        assert!(matches!(reply.status, 403 | 419), "{path}: {} {}", reply.status, reply.text);
    }
    for body in ["{}", r#"{"customer":"unknown"}"#, r#"{"customer":["awa"]}"#, r#"{"customer":null}"#] {
        let reply = awa.send("POST", &format!("{}/sign-in", shop.url), Some(body)).await;
        assert!(matches!(reply.status, 400 | 422), "{body}: {} {}", reply.status, reply.text);
    }
    assert_eq!(customer().await, "awa", "her login has not ended");

    let Some(products) = application.products() else { return };
    assert_eq!(awa.order(&shop, "17").await.status, 200);
    execute(&shop.folder.path.join("shop.sqlite"), &format!("DELETE FROM {products} WHERE id = 'trainers'")).await;
    assert_eq!(awa.order(&shop, "17").await.code(), "order_ended");
    assert_eq!(awa.order(&shop, "18").await.code(), "order_missing", "it had not been ordered");
}

async fn an_order_that_is_paid_while_the_application_is_down_is_paid_once(application: Application) {
    let mut shop = Shop::start(application).await;
    let awa = Visitor::signed_in(&shop, "awa").await;
    let begun = awa.order(&shop, "17").await.body["intent"].clone();
    let path = shop.route(&format!("intents/{}", begun["payment_ref"].as_str().expect("a reference")));
    shop.stop_application();
    let refused = awa.send("GET", &path, None).await;
    assert_eq!((refused.status, refused.code()), (503, "unavailable"), "{}", refused.text);
    shop.pay(&begun).await;
    until("the service has been paid", async || shop.intents().await[0]["status"] == "succeeded").await;
    shop.start_application().await;
    shop.becomes_paid(&begun).await;

    // The login is a row of the database. A second start and eight readings do not pay it again.
    shop.stop_application();
    shop.start_application().await;
    for _ in 0..8 {
        let read = awa.send("GET", &path, None).await;
        assert_eq!((read.status, &read.body["status"]), (200, &json!("succeeded")), "{}", read.text);
    }
    let order = awa.send("GET", &format!("{}/shop", shop.url), None).await.body["orders"][0].clone();
    assert_eq!(order["paid_by"], begun["merchant_reference"], "{order}");
    assert_eq!(shop.count(" is paid."), 1, "{}", shop.log());
}

async fn every_rule_of_the_check_passes(application: Application) {
    let service = format!("127.0.0.1:{}", port::free());
    let mut shop = Shop::start_at(application, Some(&format!("http://{service}"))).await;
    let report = shop.folder.path.with_file_name("report");
    let mut command = Command::new(env!("CARGO_BIN_EXE_guichet"));
    command
        .args(["check", &shop.routes, "--listen", &service, "--page-origin", &shop.url])
        .env("GUICHET_SECRET_KEY", KEY);
    command.args(["--page", &format!("{}/", shop.url), "--order-pattern", r#"{"id":"N-%d","product":"trainers"}"#]);
    for order in 17..25 {
        command.args(["--order", &format!(r#"{{"id":"{order}","product":"trainers"}}"#)]);
    }
    for customer in ["awa", "paul"] {
        command.args(["--login", &format!(r#"POST {}/sign-in {{"customer":"{customer}"}}"#, shop.url)]);
    }
    match application {
        Application::Django => drop(command.args(["--csrf", "csrftoken=X-CSRFToken"])),
        Application::Laravel => drop(command.args(["--csrf", "XSRF-TOKEN=X-XSRF-TOKEN"])),
        Application::Go => {}
    }
    // The loop below does what these files request.
    let [restart, reprice] = ["restart", "reprice"].map(|name| shop.folder.path.join(name));
    let wait = |file: &Path| format!(": > '{0}'; while [ -e '{0}' ]; do sleep 0.05; done", file.display());
    if application.products().is_some() {
        command.args(["--reprice", &wait(&reprice)]);
    }
    command
        .args(["--restart", &wait(&restart), "--orders", &books(&shop.folder.log()), "--log"])
        .arg(shop.folder.log());
    let output = File::create(&report).unwrap();
    let mut check = command.stdout(output.try_clone().unwrap()).stderr(output).spawn().unwrap();
    while check.try_wait().unwrap().is_none() {
        if restart.exists() {
            shop.stop_application();
            shop.process.kill().unwrap();
            shop.process.wait().unwrap();
            shop.process = start_process(&shop.folder, Some(&shop.service)).0;
            shop.start_application().await;
            fs::remove_file(&restart).unwrap();
        }
        if let Some(products) = application.products().filter(|_| reprice.exists()) {
            let update = format!("UPDATE {products} SET amount = '47500'");
            execute(&shop.folder.path.join("shop.sqlite"), &update).await;
            fs::remove_file(&reprice).unwrap();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let report = fs::read_to_string(report).unwrap();
    println!("{application:?}: {report}");
    // The price does not change in Go.
    let not_checked = usize::from(application.products().is_none());
    assert!(report.contains(&format!(" passed, 0 failed, {not_checked} not checked")));
}

async fn messages_are_verified_and_an_older_one_changes_nothing(application: Application) {
    let shop = Shop::start(application).await;
    let awa = Visitor::signed_in(&shop, "awa").await;
    let begun = awa.order(&shop, "17").await.body["intent"].clone();
    let name = begun["merchant_reference"].as_str().expect("a reference");
    let refund = |attempt: u32| json!({"id": "pi_1", "attempt": attempt.to_string(), "amount": "45900", "currency": "XAF", "plus_fee": false});
    let changed = |version: i64, state: &str, refunds: &[Value]| {
        let paid_by = json!({"reference": name, "id": begun["id"], "amount": "45000", "currency": "XAF"});
        let event =
            json!({"type": "order_changed", "audience": "shoes", "name": name, "version": version, "state": state});
        let rest = json!({"paid_by": paid_by, "asked": {"amount": "45000", "currency": "XAF"}, "refunds_due": refunds});
        let members = [event, rest].map(|part| part.as_object().expect("an object").clone()).into_iter().flatten();
        Value::Object(members.collect())
    };
    let paid = changed(1_800_000_000_001_000, "paid", &[]);
    let with = |member: &str, value: &str| {
        let mut message = paid.clone();
        message[member] = json!(value);
        message
    };
    for (message, secret, age) in [
        (&paid, OTHER_SECRET, 0),
        (&paid, SECRET, 600),
        (&paid, SECRET, -600),
        (&with("audience", "boots"), SECRET, 0),
        (&with("type", "order_deleted"), SECRET, 0),
    ] {
        assert_eq!(shop.send_message(message, secret, age).await, 400, "{message} {age}");
    }
    for signature in ["v1", "v1,AA", "v2,AA==", "", "v1,AA== v1"] {
        let headers = [("webhook-id", "msg_1"), ("webhook-timestamp", "x"), ("webhook-signature", signature)];
        let url = format!("{}/payments", shop.url);
        let reply = api::send(&api::client(), "POST", &url, None, Some(paid.to_string()), &headers).await;
        assert_eq!(reply.status, 400, "{signature}: {}", reply.text);
    }
    assert_eq!(shop.count(" is paid."), 0, "{}", shop.log());
    let status = shop.send_message(&with("name", "ORDER-0"), SECRET, 0).await;
    assert!(status >= 400, "what is not stored has not been received: {status}");

    let due = changed(1_800_000_000_001_002, "paid", &[refund(2)]);
    let more = changed(1_800_000_000_001_003, "paid", &[refund(2), refund(3)]);
    for (message, secret) in
        [(&paid, OLD_SECRET), (&due, SECRET), (&paid, SECRET), (&due, SECRET), (&more, SECRET), (&more, SECRET)]
    {
        let status = shop.send_message(message, secret, 0).await;
        assert!((200..300).contains(&status), "{status}: {message}");
    }
    let before = changed(1_800_000_000_001_001, "unpaid", &[]);
    assert!((200..300).contains(&shop.send_message(&before, SECRET, 0).await));
    assert_eq!((shop.count(&format!("{name} is paid.")), shop.count("a refund of ")), (1, 2), "{}", shop.log());
    for attempt in [2, 3] {
        let line = format!("{name}: a refund of 45900 XAF is due (pi_1, attempt {attempt}).");
        assert_eq!(shop.count(&line), 1, "{line}\n{}", shop.log());
    }
    let order = awa.send("GET", &format!("{}/shop", shop.url), None).await.body["orders"][0].clone();
    assert_eq!((&order["paid_by"], &order["refunds"]), (&json!(name), &json!(2)), "{order}");
}

/// An application and its `guichet shop`, with the service in that process. When it is dropped, both are killed, and
/// the log is printed if the test has failed.
struct Shop {
    application: Application,
    url: String,
    /// The process, and the addresses of its routes and of the service in it.
    process: Child,
    routes: String,
    service: String,
    key: String,
    server: Child,
    folder: Folder,
}

impl Shop {
    /// Copies an application, its page and the package into a folder, and starts the two processes there.
    async fn start(application: Application) -> Self {
        Self::start_at(application, None).await
    }

    /// The same at a service elsewhere, with the orders in a file.
    async fn start_at(application: Application, service: Option<&str>) -> Self {
        let folder = Folder::new("application");
        let [url, routes] = [port::free(), port::free()].map(|port| format!("http://127.0.0.1:{port}"));
        copy(&root().join("examples").join(application.folder()), &folder.path);
        copy(&root().join("examples/page"), &folder.path.join("page"));
        copy(&root().join("target/npm/package"), &folder.path.join("page/package"));
        let secret = folder.path.join("app-secret");
        fs::write(&secret, format!("{SECRET}\n{OLD_SECRET}\n")).unwrap();
        fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
        let file = folder.path.join("shop.toml");
        let toml = fs::read_to_string(&file).unwrap();
        let toml = toml.replace("http://127.0.0.1:8000", &url);
        let toml = toml.replace("127.0.0.1:4244", routes.trim_start_matches("http://"));
        let toml: String =
            toml.lines().filter(|line| !line.starts_with("database")).map(|line| [line, "\n"].concat()).collect();
        let database = if service.is_some() { "sqlite:orders.sqlite" } else { "memory:" };
        fs::write(&file, format!("database = {database:?}\n{toml}")).unwrap();

        let (process, ready) = start_process(&folder, service);
        let text = |name: &str| ready[name].as_str().unwrap_or_default().to_owned();
        let (service, key) = (text("base_url"), text("secret_key"));
        let server = serve(application, &folder, &url, &routes, &service);
        let shop = Self { application, url, process, routes, service, key, server, folder };
        shop.is_open().await;
        shop
    }

    /// Kills the application with SIGKILL.
    fn stop_application(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }

    /// Starts it again, on the same database.
    async fn start_application(&mut self) {
        self.server = serve(self.application, &self.folder, &self.url, &self.routes, &self.service);
        self.is_open().await;
    }

    async fn is_open(&self) {
        let url = format!("{}/shop", self.url);
        until("the application answers", async || api::client().get(&url).send().await.is_ok()).await;
    }

    /// The address of a route of the page.
    fn route(&self, path: &str) -> String {
        format!("{}/guichet/{path}", self.routes)
    }

    /// Every payment at the service, newest first.
    async fn intents(&self) -> Vec<Value> {
        let url = format!("{}/v1/payment-intents", self.service);
        let listed = api::send(&api::client(), "GET", &url, Some(&self.key), None, &[]).await;
        listed.body["data"].as_array().expect("a list").clone()
    }

    /// Pays at the service, as the customer does on the hosted page.
    async fn pay(&self, intent: &Value) {
        let id = intent["id"].as_str().expect("an id");
        let url = format!("{}/v1/payment-intents/{id}/payment-method", self.service);
        let phone = api::phone(SUCCEEDS).to_string();
        let reply = api::send(&api::client(), "POST", &url, Some(&self.key), Some(phone), &[]).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
    }

    /// Sends the application a message that this secret has signed, so many seconds ago. Returns the status.
    async fn send_message(&self, message: &Value, secret: &str, age: i64) -> u16 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        let (body, timestamp) = (message.to_string(), now - age);
        let signature = Webhook::new(secret).unwrap().sign("msg_1", timestamp, body.as_bytes()).unwrap();
        let timestamp = timestamp.to_string();
        let headers = [("webhook-id", "msg_1"), ("webhook-timestamp", &*timestamp), ("webhook-signature", &*signature)];
        let url = format!("{}/payments", self.url);
        api::send(&api::client(), "POST", &url, None, Some(body), &headers).await.status
    }

    /// Waits until the application has printed that the order of a payment is paid, which it does once.
    async fn becomes_paid(&self, intent: &Value) {
        let line = format!("{} is paid.", intent["merchant_reference"].as_str().expect("a reference"));
        until("the order is paid", async || self.count(&line) > 0).await;
        assert_eq!(self.count(" is paid."), 1, "{}", self.log());
    }

    /// How many lines of the log contain this text.
    fn count(&self, text: &str) -> usize {
        self.log().lines().filter(|line| line.contains(text)).count()
    }

    /// What both processes have printed.
    fn log(&self) -> String {
        read_log(&self.folder)
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        for process in [&mut self.server, &mut self.process] {
            let _ = process.kill();
            let _ = process.wait();
        }
        if std::thread::panicking() {
            eprintln!("\nthe log of {:?}:\n{}", self.application, self.log());
        }
    }
}

/// Starts `guichet shop`, at this service or with one in the same process. Returns what it prints when it is ready.
fn start_process(folder: &Folder, service: Option<&str>) -> (Child, Value) {
    let mut command = ends_with_tests(env!("CARGO_BIN_EXE_guichet"));
    command.args(["shop", "--json"]);
    prepare(&mut command, folder);
    match service {
        Some(service) => command.env("GUICHET_SECRET_KEY", KEY).env("GUICHET_BASE_URL", service),
        None => command.arg("--sandbox=127.0.0.1:0"),
    };
    command.stdout(Stdio::piped());
    let mut process = spawn(command);
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready = serde_json::from_str(&line).unwrap_or_else(|_| panic!("it starts: {}", read_log(folder)));
    (process, ready)
}

fn serve(application: Application, folder: &Folder, url: &str, routes: &str, service: &str) -> Child {
    let mut command = application.serve(url.trim_start_matches("http://"));
    prepare(&mut command, folder);
    command.env("SHOP_URL", url).env("GUICHET_SHOP", routes).env("GUICHET_PUBLIC_URL", service);
    if let Some(port) = url.rsplit(':').next() {
        command.env("PORT", port);
    }
    command.stdout(log_file(folder));
    spawn(command)
}

/// Both run in the folder, with none of this machine's settings. No program listens at the proxies.
fn prepare(command: &mut Command, folder: &Folder) {
    command.current_dir(&folder.path).stdin(Stdio::null()).stderr(log_file(folder));
    for name in ["GUICHET_SECRET_KEY", "GUICHET_BASE_URL", "GUICHET_APP_SECRET", "SHOP_DATABASE", "PORT"] {
        command.env_remove(name);
    }
    command.envs(["http_proxy", "https_proxy", "all_proxy"].map(|name| (name, "http://127.0.0.1:1")));
}

fn log_file(folder: &Folder) -> File {
    File::options().create(true).append(true).open(folder.log()).unwrap()
}

fn read_log(folder: &Folder) -> String {
    String::from_utf8_lossy(&fs::read(folder.log()).unwrap_or_default()).into_owned()
}

/// Copies a folder with all that it contains, but what is installed or was written there.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap_or_else(|_| panic!("`cargo xtask test` makes {}", from.display())) {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A browser without a page: it keeps cookies, and sends the application the CSRF token that it keeps in one.
#[derive(Clone)]
struct Visitor {
    shop: String,
    cookies: BTreeMap<String, String>,
}

impl Visitor {
    /// A visitor who has seen the shop's page.
    async fn of(shop: &Shop) -> Self {
        let mut visitor = Self { shop: shop.url.clone(), cookies: BTreeMap::new() };
        let page = visitor.send("GET", &shop.url, None).await;
        visitor.keep_cookies(&page);
        visitor
    }

    /// The same, signed in.
    async fn signed_in(shop: &Shop, customer: &str) -> Self {
        let mut visitor = Self::of(shop).await;
        visitor.post(shop, "/sign-in", &json!({"customer": customer}).to_string()).await;
        visitor
    }

    /// Sends a request to the application, and keeps the cookies of the response.
    async fn post(&mut self, shop: &Shop, path: &str, body: &str) {
        let reply = self.send("POST", &format!("{}{path}", shop.url), Some(body)).await;
        assert!(reply.status < 400, "{path}: {}", reply.text);
        self.keep_cookies(&reply);
    }

    fn keep_cookies(&mut self, reply: &Reply) {
        for cookie in reply.header_values("set-cookie") {
            let (name, value) = cookie.split(';').next().unwrap_or_default().split_once('=').unwrap_or_default();
            self.cookies.insert(name.trim().to_owned(), value.to_owned());
        }
    }

    /// Sends an order of trainers, as the page does.
    async fn order(&self, shop: &Shop, basket: &str) -> Reply {
        let order = json!({"id": basket, "product": "trainers", "amount": "1", "name": "x"});
        self.send("POST", &shop.route("intents"), Some(&order.to_string())).await
    }

    async fn send(&self, method: &str, url: &str, body: Option<&str>) -> Reply {
        self.send_from(&self.shop, method, url, body).await
    }

    /// The same by a page of this origin.
    async fn send_from(&self, origin: &str, method: &str, url: &str, body: Option<&str>) -> Reply {
        let cookies: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let cookies = cookies.join("; ");
        let mut headers = vec![("cookie", &*cookies), ("origin", origin)];
        let own_page = url.starts_with(&self.shop) && origin == self.shop;
        if let Some(token) = self.cookies.get("csrftoken").filter(|_| own_page) {
            headers.push(("x-csrftoken", token));
        }
        let token = self.cookies.get("XSRF-TOKEN").filter(|_| own_page);
        let token = token.map(|token| percent_encoding::percent_decode_str(token).decode_utf8_lossy().into_owned());
        if let Some(token) = &token {
            headers.push(("x-xsrf-token", token));
        }
        api::send(&api::client(), method, url, None, body.map(str::to_owned), &headers).await
    }
}
