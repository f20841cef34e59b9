//! `guichet check`: a right shop passes every rule, and a shop that is broken in one point fails that rule and no
//! other. The right one is made of the library; the broken ones are written by hand, as a merchant's would be.

mod defects;
mod right;
mod shop;

use super::command::guichet;
use super::native::builder::https_service;
use crate::support::folder::Folder;
use crate::support::generated::is_up_to_date;
use crate::support::http::post;
use crate::support::port;
use crate::support::root;
use crate::support::shop_process::{ShopProcess, shop_command};
use defects::Broken;
use guichet_check::options::{self, Options};
use guichet_check::{LocalService, Shop};
use serde_json::{Value, json};
use shop::ShopServer;
use std::collections::HashSet;
use std::process::Output;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tower_service::Service;

const KEY: &str = "sk_test_0123456789abcdefghijklmn";
/// Only shops that need a token set the cookie.
const CSRF: &[&str] = &["--csrf", "csrf=X-CSRF-Token"];
/// The shops that are checked at the same time. They mostly wait.
const AT_ONCE: usize = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_shop_passes_every_rule() {
    let by_timer = Checked::right(true, &[]);
    // With a command in the place of the timer, only the rules about payments see another shop.
    let by_command = Checked::right(false, &["--only", "payments"]);
    let (by_timer, by_command) = tokio::join!(by_timer, by_command);
    by_timer.passes();
    by_command.passes();
    let broken: HashSet<&str> = Broken::EACH.iter().map(|(_, rule)| *rule).collect();
    for rule in by_timer.verdicts("pass") {
        assert!(broken.contains(rule), "there is no broken shop for {rule}");
    }
    compare_table(&by_timer.report);
}

/// Compares the table of the rules, `docs/check-rules.md`, and the headings of the guide that it names.
fn compare_table(report: &Value) {
    let guide = std::fs::read_to_string(root().join("docs/shop.md")).unwrap();
    let headings: HashSet<String> = guide.lines().filter(|line| line.starts_with('#')).map(anchor).collect();
    let mut table = "\
# The rules of `guichet check`

This table is generated from the rules. A failed rule also prints what was sent, what came and how to fix it. [What the check
sees](check.md), and what it cannot see, is another page.

| rule | what it promises | in the guide | not checked without |
|---|---|---|---|
"
    .to_owned();
    for rule in report["rules"].as_array().unwrap() {
        let text = |name: &str| rule[name].as_str().unwrap();
        let needs: Vec<String> =
            rule["needs"].as_array().unwrap().iter().map(|option| format!("`{}`", option.as_str().unwrap())).collect();
        let guide = text("guide").trim_start_matches("docs/");
        let heading = guide.trim_start_matches("shop.md#");
        assert!(headings.contains(heading), "{}: docs/shop.md has no heading {heading}", text("id"));
        table.push_str(&format!("| `{}` | {} | [here]({guide}) | {} |\n", text("id"), text("title"), needs.join(", ")));
    }
    is_up_to_date("docs/check-rules.md", &table);
}

/// A heading as in an address.
pub(crate) fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c)).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shop_that_is_broken_in_one_point_fails_the_rule_about_it() {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let mut checks = JoinSet::new();
    for (broken, rule) in Broken::EACH.iter().copied() {
        let permits = Arc::clone(&permits);
        checks.spawn(async move {
            let _permit = permits.acquire_owned().await.unwrap();
            (broken, rule, Checked::run("broken", broken, false, &["--only", rule]).await)
        });
    }
    let mut wrong = Vec::new();
    while let Some(checked) = checks.join_next().await {
        let (broken, rule, checked) = checked.unwrap();
        let failed = checked.verdicts("fail");
        if failed != [rule] || checked.output.status.code() != Some(1) {
            wrong.push(format!("{broken:?}: {failed:?} and not {rule}: {}", checked.report));
            continue;
        }
        let failure = checked.rule(rule);
        if !(failure["why"].is_string() && failure["came"].is_string() && failure["fix"].is_string()) {
            wrong.push(format!("{broken:?} lacks an explanation: {failure}"));
        }
        let printed = checked.printed();
        for secret in [KEY, "cst_test_", "_secret_"] {
            assert!(!printed.contains(secret), "{broken:?} shows {secret}: {printed}");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_right_designs_fail_no_rule() {
    for (design, groups) in [
        (Broken::Pair, &["sessions"][..]),
        (Broken::SendsAgain, &["forged", "orders", "strangers", "origins", "same_order_at_once"]),
        (Broken::SellsInUgx, &["forged", "wrong_currency_pays_nothing"]),
        (Broken::NeedsCsrfToken, &["origins"]),
    ] {
        Checked::run("design", design, false, &[&only(groups)[..], CSRF].concat()).await.passes();
    }
}

/// A shop's CSRF token is sent with a foreign origin too, so that the origin alone is judged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_csrf_token_hides_no_trusted_origin() {
    let rules = only(&["foreign_origin_refused"]);
    let checked = Checked::run("csrf", Broken::NeedsCsrfTokenAlone, false, &[&rules[..], CSRF].concat()).await;
    assert_eq!(checked.verdicts("fail"), ["foreign_origin_refused"], "{}", checked.report);
}

/// The lies tell UGX first, and another currency where the shop sells in it. Without an honest order the check cannot
/// know that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_currency_of_a_lie_is_not_the_shops_own() {
    let rule = "forged_currency_is_ignored";
    let checked = Checked::run("ugx", Broken::SellsInUgxOrPagesCurrency, false, &only(&[rule])).await;
    assert_eq!(checked.verdicts("fail"), [rule], "{}", checked.report);

    let shop = ShopServer::open("ugx_without_pattern", Broken::SellsInUgxOrPagesCurrency, KEY).await;
    let checked = Checked::of(finish(check(&shop, &[&["--json"][..], &only(&[rule])].concat())).await);
    assert_eq!(checked.verdicts("pass"), Vec::<&str>::new(), "{}", checked.report);
}

/// The books are a log, and the shop ended between the mark and the line. Another payment shows that none was lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_a_restart_lost_is_judged_by_another_order() {
    let rule = "paid_across_restart";
    let checked = Checked::run("line", Broken::LosesLineAtRestart, false, &only(&[rule])).await;
    assert_eq!(checked.verdicts("pass"), [rule], "{}", checked.report);

    let shop = ShopServer::open("line_without_pattern", Broken::LosesLineAtRestart, KEY).await;
    let restart = shop.command("restart");
    let options = [&["--json", "--restart", &restart][..], &only(&[rule])].concat();
    let checked = Checked::of(finish(check(&shop, &options)).await);
    assert_eq!(checked.verdicts("not checked"), [rule], "{}", checked.report);
    let why = checked.rule(rule)["why"].as_str().unwrap();
    assert!(why.starts_with("Missing option --order-pattern: the books have no line"), "{why}");
}

/// The arguments that run these rules or groups alone.
fn only<'a>(rules: &[&'a str]) -> Vec<&'a str> {
    rules.iter().flat_map(|rule| ["--only", *rule]).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn books_that_never_say_paid_prove_nothing() {
    let shop = ShopServer::open("silent", Broken::IgnoresReference, KEY).await;
    let rules = ["wrong_reference_pays_nothing", "return_page_pays_nothing"];
    let mut options = vec!["--json", "--order-pattern", r#"{"id":"N-%d"}"#];
    options.extend(only(&rules));
    let checked = Checked::of(finish(check_with(&shop, "true", &[&options[..], &["--limit", "2"]].concat())).await);
    assert_eq!(checked.verdicts("not checked"), rules, "{}", checked.report);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_shop_of_the_demo_breaks_no_rule() {
    let service = format!("127.0.0.1:{}", port::free());
    let mut shop = shop_command(&format!("http://{service}"), KEY, "memory:");
    shop.args(["--settle-every", "0.2"]);
    let shop = ShopProcess::spawn(shop).listening();
    let awa = post(&format!("{}/api/sign-in", shop.url()), &[], r#"{"customer":"awa"}"#).await.cookie().unwrap();
    let mut command = guichet(&["check", shop.url(), "--listen", &service, "--limit", "20", "--json"]);
    command.env("GUICHET_SECRET_KEY", KEY);
    for quantity in 1..=5 {
        let basket = json!({"lines": [{"sku": "trainers", "quantity": quantity}]}).to_string();
        let placed = post(&format!("{}/api/orders", shop.url()), &[&awa], &basket).await.json();
        command.args(["--order", &json!({"id": placed["id"]}).to_string()]);
    }
    for customer in ["awa", "paul"] {
        command.args(["--login", &format!("POST /api/sign-in {}", json!({"customer": customer}))]);
    }
    // A call of the shop ends after 30 seconds, which is over the limit.
    let rules: HashSet<&str> = Broken::EACH.iter().map(|(_, rule)| *rule).collect();
    for rule in rules.into_iter().filter(|rule| *rule != "slow_service") {
        command.args(["--only", rule]);
    }
    let checked = Checked::of(finish(command).await);
    assert_eq!(checked.verdicts("fail"), Vec::<&str>::new(), "{}", checked.report);
    for rule in checked.report["rules"].as_array().unwrap().iter().filter(|rule| rule["verdict"] == "not checked") {
        let why = rule["why"].as_str().unwrap();
        assert!(why.starts_with("Missing option --"), "{rule}");
    }
}

#[tokio::test]
async fn a_missing_option_is_named_and_exits_with_2() {
    let shop = ShopServer::open("options", Broken::Nothing, KEY).await;
    let mut command =
        guichet(&["check", &shop.url, "--listen", &shop.service, "--order", r#"{"id":"17"}"#, "--limit", "5"]);
    command.args([
        "--only",
        "session_needs_login",
        "--only",
        "same_payment_after_restart",
        "--only",
        "key_in_no_answer",
    ]);
    let output = finish(command).await;
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stdout}");
    assert!(stdout.contains("Missing option --login") && stdout.contains("Missing option --restart"), "{stdout}");
    assert!(stdout.ends_with("\n1 passed, 0 failed, 2 not checked\n"), "{stdout}");
}

#[tokio::test]
async fn a_failure_says_what_was_sent_what_came_and_how_to_fix_it() {
    let shop = ShopServer::open("said", Broken::TrustsNull, KEY).await;
    let output = finish(check(&shop, &["--only", "null_origin_refused"])).await;
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stdout}");
    for part in
        ["FAIL", "sent: POST /guichet/session {} (Origin: null)", "came: 200 ", "fix: Refuse a request whose Origin"]
    {
        assert!(stdout.contains(part), "{part} is missing: {stdout}");
    }
    assert!(stdout.contains(KEY), "the key to configure is printed");
    assert_eq!(stdout.matches(KEY).count(), 1);
}

#[tokio::test]
async fn a_shop_that_does_not_answer_or_does_not_call_the_service_exits_with_3() {
    let nowhere = format!("http://127.0.0.1:{}", port::free());
    let arguments = ["check", &nowhere, "--order", "{}", "--listen", "127.0.0.1:0", "--wait", "1", "--json"];
    let output = finish(guichet(&arguments)).await;
    assert_eq!(output.status.code(), Some(3));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains(&nowhere) && stderr.contains("did not answer"), "{stderr}");

    let untrusted = https_service();
    let output = finish(guichet(&["check", &untrusted, "--order", "{}", "--listen", "127.0.0.1:0"])).await;
    assert_eq!(output.status.code(), Some(3));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("certificate is not trusted") && stderr.contains("SSL_CERT_FILE="), "{stderr}");
}

/// The shop is a value: its router answers in the process of the check, and a function reads its books.
#[tokio::test]
async fn a_shop_may_be_a_function_from_request_to_response() {
    let (service, folder) = (local_service().await, Folder::new("check_function"));
    let shop = "https://shop.example";
    let (base_url, key) = (service.base_url(), service.secret_key());
    let router = shop::router(Broken::TrustsNull, shop, base_url, key, folder.path.clone());
    let mut options = Options::new(shop).unwrap();
    options.order_pattern = Some(options::order_pattern(r#"{"id":"N-%d"}"#).unwrap());
    options.logins = ["POST /login name=awa", "POST /login name=paul"].map(|text| options::login(text).unwrap()).into();
    options.only =
        ["orders", "null_origin_refused", "paid_without_return"].map(|text| options::rule(text).unwrap()).into();
    options.orders_command = Some("the books".to_owned());
    let books = folder.path.clone();
    let shop = Shop::function(move |request| router.clone().call(request)).command("the books", move |variables| {
        let text = std::fs::read_to_string(books.join(&variables["GUICHET_REFERENCE"])).unwrap_or_default();
        async { Ok(text) }
    });
    let report = guichet_check::check(shop, options, &service).await.unwrap();
    let verdict = |id: &str| {
        let json = report.to_json();
        let rule = json["rules"].as_array().unwrap().iter().find(|rule| rule["id"] == id).cloned();
        rule.unwrap_or_else(|| panic!("{id} is not in the report"))["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict("order_becomes_payment"), "pass", "{report}");
    assert_eq!(verdict("paid_without_return"), "pass", "{report}");
    assert_eq!(verdict("same_payment_after_restart"), "not checked", "{report}");
    assert_eq!(verdict("null_origin_refused"), "fail", "{report}");
    assert_eq!((report.has_passed(), report.exit_code()), (false, 1));
    assert!(report.to_string().contains("FAIL         null_origin_refused"), "{report}");
}

/// A check without a shop ends with what to do, and not with a report.
#[tokio::test]
async fn a_check_without_a_shop_has_no_report() {
    let service = local_service().await;
    let mut options = Options::new("http://shop.example").unwrap();
    options.wait = Duration::from_secs(1);
    let answers_404 =
        |_| async { Ok::<_, String>(axum::http::Response::builder().status(404).body("".into()).unwrap()) };
    let why = guichet_check::check(Shop::function(answers_404), options, &service).await.unwrap_err().to_string();
    assert!(why.contains("The shop has no routes at http://shop.example/guichet"), "{why}");
}

async fn local_service() -> LocalService {
    LocalService::start(([127, 0, 0, 1], 0).into()).await.unwrap()
}

#[test]
fn invalid_arguments_are_refused_with_an_example() {
    for (arguments, example) in [
        (&["http://127.0.0.1:1", "--order", "17x"][..], r#"{"id":"17"}"#),
        (&["127.0.0.1:1", "--order", "{}"], "http://127.0.0.1:8000"),
        (&["http://127.0.0.1:1", "--order", "{}", "--login", "awa"], "POST /login"),
        (&["http://127.0.0.1:1", "--order", "{}", "--csrf", "token"], "csrftoken=X-CSRFToken"),
        (&["http://127.0.0.1:1", "--order", "{}", "--only", "paid_twice"], "paid_once"),
        (&["http://127.0.0.1:1"], "--order"),
    ] {
        let output = guichet(&[&["check"], arguments].concat()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(4) && stderr.contains(example), "{arguments:?}: {stderr}");
    }
}

/// A finished check.
struct Checked {
    output: Output,
    report: Value,
}

impl Checked {
    /// The shop that is made of the library.
    async fn right(has_timer: bool, more: &[&str]) -> Self {
        let shop = right::open(&format!("check_right_{has_timer}"), KEY, has_timer).await;
        // The next payment of an order has a number after a dash.
        let file = format!("{}/\"$GUICHET_REFERENCE\"", shop.folder.display());
        let books = format!("f={file}; cat \"$f\" 2>/dev/null || cat \"${{f%-*}}\" 2>/dev/null || true");
        Self::finish(&shop, check_with(&shop, &books, more), !has_timer).await
    }

    async fn run(name: &str, broken: Broken, settles_by_command: bool, more: &[&str]) -> Self {
        let shop = ShopServer::open(&format!("check_{name}_{broken:?}").replace(['(', ')'], "_"), broken, KEY).await;
        Self::finish(&shop, check(&shop, more), settles_by_command).await
    }

    /// With everything that a rule may need.
    async fn finish(shop: &ShopServer, mut command: std::process::Command, settles_by_command: bool) -> Self {
        let (restart, settle) = (shop.command("restart"), shop.command("settle"));
        let reprice = format!("echo 47500 > {}/price", shop.folder.display());
        let log = shop.folder.join("log");
        std::fs::write(&log, "The shop has started.\n").unwrap();
        command.args(["--json", "--restart", &restart, "--reprice", &reprice, "--order-pattern", r#"{"id":"N-%d"}"#]);
        command.arg("--log").arg(&log);
        if settles_by_command {
            command.args(["--settle", &settle]);
        }
        Self::of(finish(command).await)
    }

    fn of(output: Output) -> Self {
        let stdout = String::from_utf8_lossy(&output.stdout);
        let report = stdout.lines().nth(1).and_then(|line| serde_json::from_str(line).ok());
        let report =
            report.unwrap_or_else(|| panic!("no report: {stdout} {}", String::from_utf8_lossy(&output.stderr)));
        Self { output, report }
    }

    /// Panics unless every rule has passed.
    fn passes(&self) {
        let wrong = (self.verdicts("fail"), self.verdicts("not checked"));
        assert_eq!((wrong, self.output.status.code()), ((vec![], vec![]), Some(0)), "{}", self.report);
    }

    /// The rules with this verdict.
    fn verdicts(&self, verdict: &str) -> Vec<&str> {
        let rules = self.report["rules"].as_array().unwrap().iter();
        rules.filter(|rule| rule["verdict"] == verdict).map(|rule| rule["id"].as_str().unwrap()).collect()
    }

    fn rule(&self, id: &str) -> &Value {
        self.report["rules"].as_array().unwrap().iter().find(|rule| rule["id"] == id).unwrap()
    }

    /// Everything but the first line, which has the key to configure.
    fn printed(&self) -> String {
        let stdout = String::from_utf8_lossy(&self.output.stdout);
        let stderr = String::from_utf8_lossy(&self.output.stderr);
        stdout.lines().skip(1).chain(stderr.lines()).collect::<Vec<_>>().join("\n")
    }
}

/// The check of a shop with everything that it needs but `--restart`.
fn check(shop: &ShopServer, more: &[&str]) -> std::process::Command {
    let books = format!("cat {}/\"$GUICHET_REFERENCE\" 2>/dev/null || true", shop.folder.display());
    check_with(shop, &books, &[&["--limit", "8", "--timeout", "8"], more].concat())
}

/// The same, with this command for the books and no limit.
fn check_with(shop: &ShopServer, books: &str, more: &[&str]) -> std::process::Command {
    let mut command = guichet(&["check", &shop.url, "--listen", &shop.service]);
    for id in shop::ORDERS {
        command.args(["--order", &format!(r#"{{"id":"{id}"}}"#)]);
    }
    command.args(["--login", r#"POST /login {"name":"awa"}"#, "--login", "POST /login name=paul"]);
    command.args(["--orders", books]).args(more).env("GUICHET_SECRET_KEY", KEY);
    command
}

async fn finish(mut command: std::process::Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}
