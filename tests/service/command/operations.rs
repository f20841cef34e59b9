//! Every operation as a command, against `guichet sandbox`: output and exit codes.

use super::{Running, guichet};
use crate::support::folder::Folder;
use crate::support::http;
use guichet::operations::*;
use guichet::protocol::Operation;
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

#[tokio::test]
async fn every_command_of_a_business_gets_a_response() {
    let sandbox = Terminal::open();
    let stdout_of = |arguments: &[&str]| sandbox.stdout_of(arguments);
    let session = sandbox.json(&["sessions", "create", "--customer-email", "awa@example.com"]);
    let token = session["data"]["session_token"].as_str().expect("a token").to_owned();
    for verb in ["validate", "revoke"] {
        let output = sandbox.run_with(&["sessions", verb], &[("GUICHET_SESSION_TOKEN", &token)], "");
        assert_eq!(output.code, 0, "{}", output.stderr);
    }
    assert!(stdout_of(&["methods", "list", "--country-code", "CM"]).contains("BJ, CG, CI, CM"), "countries as names");
    stdout_of(&["methods", "fee", "card", "XAF", "45000", "--card-type", "international"]);

    let asking = sandbox.intent("ORDER-1", &[]);
    stdout_of(&["intents", "pay", &asking, "--payment-method", "237670000010"]);
    let answered = sandbox.run_with(&["intents", "answer", &asking], &[], "123456\n");
    assert_eq!(answered.code, 0, "{}", answered.stderr);
    assert!(answered.stdout.contains("succeeded"), "{}", answered.stdout);
    let manual = sandbox.intent("ORDER-2", &["--confirmation-method", "manual"]);
    let card = r#"{"type":"card","card":{"number":"4242424242424242","exp_month":12,"exp_year":2034,"cvc":"123"}}"#;
    let paid = sandbox.run_with(&["intents", "pay", &manual, "--payment-method", "-"], &[], card);
    assert_eq!(paid.code, 0, "{}", paid.stderr);
    stdout_of(&["intents", "confirm", &manual]);
    let given_up =
        sandbox.intent("ORDER-3", &["--items", r#"[{"name":"Shoes","price":45000,"currency":"XAF","quantity":1}]"#]);
    stdout_of(&["intents", "cancel", &given_up]);
    assert!(stdout_of(&["intents", "read", &given_up]).contains("canceled"));
    assert!(stdout_of(&["intents", "list", "--limit", "2"]).contains("45 000 XAF"));
    assert!(stdout_of(&["customers", "list"]).contains("awa@example.com"));

    assert!(stdout_of(&["esim", "packages"]).contains("AMOUNT"));
    let order =
        sandbox.json(&["esim", "order", "--package-id", "esp_cm_1gb", "--quantity", "2", "--idempotency-key", "o-1"]);
    assert!(
        stdout_of(&["esim", "read", order["data"]["order_id"].as_str().expect("an identifier")]).contains("5 000 XAF")
    );

    let gold =
        ["plans", "create", "--name", "Gold", "--code", "gold", "--amount", "5000", "--billing-cycle", "monthly"];
    let plan = sandbox.json(&gold);
    let create =
        ["subscriptions", "create", "--plan", "gold", "--customer-email", "awa@example.com", "--firstname", "Awa"];
    let rest = ["--lastname", "Ngono", "--payment-method", "237670000000", "--metadata", r#"{"shop":"17"}"#];
    let subscription = sandbox.json(&[&create[..], &rest].concat());
    let id = subscription["data"]["id"].as_str().expect("an identifier");
    stdout_of(&["subscriptions", "payment-method", id, "--payment-method", "237690000000"]);
    stdout_of(&["subscriptions", "fallback", id, "--payment-method", "237670000000", "--trigger-after-failures", "2"]);
    let later = sandbox.json(&["subscriptions", "pause", id, "--immediately=false"]);
    assert_eq!(later["data"]["pause_at_period_end"], true);
    stdout_of(&["subscriptions", "resume", id]);
    assert_eq!(sandbox.json(&["subscriptions", "cancel", id, "--immediately"])["data"]["status"], "canceled");
    assert!(stdout_of(&["subscriptions", "read", id]).contains("canceled"));
    assert!(stdout_of(&["subscriptions", "list"]).contains("gold"));
    stdout_of(&["plans", "deactivate", plan["data"]["id"].as_str().expect("an identifier")]);
    assert!(stdout_of(&["plans", "list", "--include-inactive", "true"]).contains("gold"));

    let requests = sandbox.requests().await;
    assert!(requests.len() > 20, "{requests:?}");
    for request in requests {
        assert!(request["status"].as_u64().is_some_and(|status| status < 300), "{request}");
    }
}

#[tokio::test]
async fn tables_hide_secrets_by_default_and_json_is_the_services_reply() {
    let sandbox = Terminal::open();
    let order = sandbox.order("ORDER-1");
    let shown = sandbox.stdout_of(&order);
    assert!(shown.contains("45 000 XAF") && !shown.contains("_secret_"), "{shown}");
    let shown = sandbox.stdout_of(&[&order[..], &["--show-secrets"]].concat());
    assert!(shown.contains("_secret_"), "{shown}");
    let reply = sandbox.json(&order);
    assert!(reply["data"]["client_secret"].as_str().is_some_and(|secret| secret.contains("_secret_")));
    assert_eq!(reply["status_code"], 200);
    let shown = sandbox.stdout_of(&["sessions", "create", "--customer-email", "awa@example.com"]);
    assert!(!shown.contains("cst_test"), "{shown}");
}

#[tokio::test]
async fn the_commands_of_the_page_run_and_print_the_address_where_the_customer_pays() {
    let page = include_str!("../../../docs/command.md");
    let section = page.split("## At a terminal").nth(1).expect("the page has the section");
    let block = section.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block of commands");
    let block = block.replace("\\\n", " ");
    let commands: Vec<Vec<&str>> = block
        .lines()
        .filter_map(|line| line.strip_prefix("guichet "))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let sandbox = Terminal::open();
    let outputs: Vec<String> = commands.iter().map(|command| sandbox.stdout_of(command)).collect();
    let created = commands.iter().position(|command| command.starts_with(&["intents", "create"]));
    let created = &outputs[created.expect("the page creates an intent")];
    assert!(created.contains("/checkout/pi_") && created.contains("?client_secret="), "{created}");
}

#[tokio::test]
async fn the_next_page_is_printed() {
    let sandbox = Terminal::open();
    let ids = ["ORDER-1", "ORDER-2"].map(|reference| sandbox.intent(reference, &[]));
    let first = sandbox.run(&["intents", "list", "--limit", "1"]);
    let cursor = ids.iter().find(|id| first.stdout.contains(*id)).expect("an entry");
    assert!(first.stderr.contains(&format!("--starting-after {cursor}")), "{}", first.stderr);
    let second = sandbox.run(&["intents", "list", "--limit", "1", "--starting-after", cursor]);
    assert!(!second.stdout.contains(cursor) && second.stderr.is_empty(), "{}", second.stderr);
}

#[tokio::test]
async fn an_error_of_the_service_is_printed_with_its_code_and_exits_with_1() {
    let sandbox = Terminal::open();
    let missing = sandbox.run(&["intents", "read", "pi_unknown"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (1, ""));
    assert!(
        missing.stderr.starts_with("guichet: ") && missing.stderr.contains("[resource_missing]"),
        "{}",
        missing.stderr
    );
    let missing = sandbox.run(&["intents", "read", "pi_unknown", "--json"]);
    let reply: Value = serde_json::from_str(&missing.stdout).expect("the reply of the service");
    assert_eq!((missing.code, &reply["error"]["code"]), (1, &json!("resource_missing")));

    let inactive = sandbox.run(&["methods", "fee", "card", "XAF", "45000", "--country-code", "FR"]);
    assert_eq!(inactive.stderr.matches("is not available in FR").count(), 1, "reported once: {}", inactive.stderr);
    assert!(inactive.stderr.starts_with("guichet: calculate_fee: country_code: card is not"), "{}", inactive.stderr);

    let first = sandbox.intent("ORDER-1", &[]);
    let mut other = sandbox.order("ORDER-1");
    other.extend(["--fee-bearer", "customer"]);
    let conflict = sandbox.run(&other);
    assert_eq!(conflict.code, 1);
    assert!(
        conflict.stderr.contains("merchant_reference_conflict") && conflict.stderr.contains(&first),
        "{}",
        conflict.stderr
    );
    let wrong_key = sandbox.run_with(&["plans", "list"], &[("GUICHET_SECRET_KEY", "sk_test_hidden")], "");
    assert_eq!(wrong_key.code, 1);
    assert!(wrong_key.stderr.contains("[invalid_key]") && !wrong_key.stderr.contains("hidden"), "{}", wrong_key.stderr);
    let revoked = sandbox.run_with(&["sessions", "validate"], &[], "cst_test_unknown\n");
    assert_eq!(revoked.code, 1);
    assert!(revoked.stderr.contains("session_unknown"), "{}", revoked.stderr);
}

#[tokio::test]
async fn invalid_arguments_exit_with_2_and_send_nothing() {
    let sandbox = Terminal::open();
    let mut wrong = sandbox.order("ORDER-1");
    wrong[3] = "-5";
    wrong.extend(["--currency", "francs", "--redirect-url", "javascript:alert(1)", "--phone", "+237"]);
    let output = sandbox.run(&wrong);
    assert_eq!(output.code, 2);
    for field in ["amount", "currency", "redirect_url", "phone"] {
        assert!(output.stderr.contains(&format!("guichet: {field}: ")), "all errors together: {}", output.stderr);
    }
    let card = r#"{"type":"card","card":{"number":"4242424242424242","exp_month":12,"exp_year":2034,"cvc":"123"}}"#;
    for (arguments, message) in [
        (&["intents", "create"][..], "--amount"),
        (&["intents", "read"][..], "<ID>"),
        (&["intents", "read", ".."][..], "path"),
        (&["intents", "unknown"][..], "unrecognized"),
        (&["intents", "pay", "pi_1", "--payment-method", card][..], "command line"),
        (
            &["intents", "pay", "pi_1", "--payment-method", "4242424242424242"][..],
            "A card does not belong on a command line",
        ),
        (&["intents", "pay", "pi_1", "--payment-method", "4242 4242 4242 4242"][..], "A card does not belong"),
        (&["intents", "pay", "pi_1", "--payment-method", "378282246310005"][..], "A card does not belong"),
        (&["intents", "pay", "pi_1", "--payment-method", "2376700000000000"][..], "A card does not belong"),
        (&["intents", "pay", "pi_1", "--payment-method", "visa"][..], "A phone number is"),
        (&["intents", "pay", "pi_1", "--payment-method", "{"][..], "JSON"),
        (&["intents", "pay", "pi_1", "--payment-method", "@no/such/file"][..], "no/such/file"),
        (&["intents", "pay", "pi_1", "--payment-method", "+237"][..], "payment_method"),
        (&["esim", "order", "--package-id", "esp_cm_1gb", "--quantity", "6"][..], "quantity"),
        (&["subscriptions", "pause", "sub_1", "--immediately=perhaps"][..], "perhaps"),
        (&["sessions", "validate"][..], "GUICHET_SESSION_TOKEN"),
        (&["plans", "list", "--key-file", "no/such/file"][..], "no/such/file"),
        (&["plans", "list", "--base-url", "http://api.example.com"][..], "https"),
        (&["clock"][..], "GUICHET_CONTROL_TOKEN"),
        (&["clock", "advance", "-1"][..], "give a length of time"),
        (&["faults", "set", "create_session", "delay"][..], "--milliseconds"),
        (&["plans", "list", "--timeout", "0"][..], "from 1 to 86400"),
        (&["plans", "list", "--timeout", "-1"][..], "from 1 to 86400"),
        (&["methods", "fee", "card", "XAF", "-5"][..], "amount: An amount is"),
        (&["esim", "order", "--package-id", "esp_cm_1gb", "--quantity", "-1"][..], "quantity: "),
        (&["intents", "answer", "pi_1"][..], "one-time code"),
        (&["intents", "create", "--metadata", "{}", "--metadata", "{}"][..], "--metadata"),
    ] {
        let output = sandbox.run(arguments);
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{arguments:?}: {}", output.stderr);
        assert!(output.stderr.contains(message), "{arguments:?}: {}", output.stderr);
        for number in ["4242424242424242", "4242 4242 4242 4242", "378282246310005"] {
            assert!(!output.stderr.contains(number), "{}", output.stderr);
        }
    }
    let metadata = r#"{"a": 1, "n": 9007199254740993, "deep": [{"b": 1, "b": 2}], "a": 2}"#;
    let inexact = sandbox.run(&[&sandbox.order("ORDER-1")[..], &["--metadata", metadata]].concat());
    assert_eq!(inexact.code, 2, "{}", inexact.stderr);
    for message in ["metadata.a is given twice", "metadata.n is a number that", "metadata.deep[0].b is given twice"] {
        assert!(
            inexact.stderr.contains(&format!("guichet: {message}")),
            "the name is printed once: {}",
            inexact.stderr
        );
    }
    let plain = ["sessions", "validate", "--base-url", "http://pay.test", "--allow-plain-http", "pay.test"];
    let live = sandbox.run_with(&plain, &[], "cst_live_hidden\n");
    assert_eq!(live.code, 2, "{}", live.stderr);
    assert!(live.stderr.contains("plain http") && !live.stderr.contains("hidden"), "{}", live.stderr);
    let keyless = sandbox.run_with(&["plans", "list"], &[("GUICHET_SECRET_KEY", "")], "");
    assert_eq!(keyless.code, 2);
    assert!(
        keyless.stderr.contains("GUICHET_SECRET_KEY") && keyless.stderr.contains("--key-file"),
        "{}",
        keyless.stderr
    );
    let nowhere =
        sandbox.run_with(&["plans", "list"], &[("GUICHET_SECRET_KEY", "sk_live_1"), ("GUICHET_BASE_URL", "")], "");
    assert_eq!(nowhere.code, 2, "a live key is sent only to an explicitly given address");
    assert!(nowhere.stderr.contains("live key") && nowhere.stderr.contains("--base-url"), "{}", nowhere.stderr);
    assert!(sandbox.requests().await.is_empty());
}

#[tokio::test]
async fn an_unreachable_service_exits_with_3_and_an_uncertain_call_with_4() {
    let sandbox = Terminal::open();
    let unreachable = sandbox.run(&["plans", "list", "--base-url", "http://127.0.0.1:1", "--timeout", "1"]);
    assert_eq!(unreachable.code, 3, "{}", unreachable.stderr);

    let intent = sandbox.intent("ORDER-1", &[]);
    sandbox.faults(&["set", "attach_payment_method", "lost_response"]);
    let doubtful = sandbox.run(&["intents", "pay", &intent, "--payment-method", "237670000000"]);
    assert_eq!(doubtful.code, 4, "{}", doubtful.stderr);
    assert!(sandbox.stdout_of(&["intents", "read", &intent]).contains("succeeded"), "it was done");

    sandbox.faults(&["set", "read_payment_intent", "malformed"]);
    let odd = sandbox.run(&["intents", "read", &intent]);
    assert_eq!(odd.code, 5, "{}", odd.stderr);
}

#[tokio::test]
async fn a_key_file_that_others_can_read_is_warned_about() {
    let sandbox = Terminal::open();
    let folder = Folder::new("key");
    let file = folder.path.join("key");
    std::fs::write(&file, format!("{}\n", sandbox.key)).expect("it is written");
    let path = file.to_str().expect("text");
    let arguments = ["plans", "list", "--key-file", path];
    let none = [("GUICHET_SECRET_KEY", "")];
    let listed = sandbox.run_with(&arguments, &none, "");
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let allow = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("it is set");
        allow(0o644);
        assert!(sandbox.run_with(&arguments, &none, "").stderr.contains("chmod 600"));
        allow(0o600);
        assert_eq!(sandbox.run_with(&arguments, &none, "").stderr, "");
    }
}

#[tokio::test]
async fn the_clock_of_a_sandbox_is_read_and_moved_and_its_faults_are_set_and_cleared() {
    let sandbox = Terminal::open();
    let control_api =
        [("GUICHET_CONTROL_URL", sandbox.control_url.as_str()), ("GUICHET_CONTROL_TOKEN", &sandbox.control_token)];
    let now = |arguments: &[&str]| -> i64 {
        let output = sandbox.run_with(arguments, &control_api, "");
        let reply: Value = serde_json::from_str(&output.stdout).expect("JSON");
        reply["now"].as_i64().expect("a moment")
    };
    let before = now(&["clock", "--json"]);
    let after = now(&["clock", "advance", "30d", "--json"]);
    assert!((2_592_000..2_592_060).contains(&(after - before)));
    assert!(sandbox.run_with(&["clock"], &control_api, "").stdout.starts_with("20"), "a readable time");

    sandbox.faults(&["set", "create_session", "status", "--status", "503", "--count", "2", "--retry-after", "1"]);
    let listed = sandbox.run_with(&["faults", "list"], &control_api, "").stdout;
    assert!(listed.contains("create_session") && listed.contains("503"), "{listed}");
    sandbox.faults(&["clear"]);
    assert!(sandbox.run_with(&["faults"], &control_api, "").stdout.contains("No faults"));
    let unknown = sandbox.run_with(&["faults", "set", "make_money", "drop"], &control_api, "");
    assert_eq!(unknown.code, 1);
    let unknown = sandbox.run_with(&["clock", "--merchant", "mer_unknown"], &control_api, "");
    assert_eq!(unknown.code, 1, "{}", unknown.stderr);
    let old =
        [("GUICHET_CONTROL_URL", sandbox.control_url.as_str()), ("GUICHET_CONTROL_TOKEN", "ctl_of_the_last_start")];
    let old = sandbox.run_with(&["clock"], &old, "");
    assert_eq!(old.code, 1);
    assert!(old.stderr.contains("new at each start") && !old.stderr.contains("ctl_of"), "{}", old.stderr);
}

#[tokio::test]
async fn errors_of_the_control_api_begin_with_the_command_and_list_the_operations() {
    let sandbox = Terminal::open();
    let control =
        [("GUICHET_CONTROL_URL", sandbox.control_url.as_str()), ("GUICHET_CONTROL_TOKEN", &sandbox.control_token)];
    let unknown = sandbox.run_with(&["faults", "set", "make_money", "drop"], &control, "");
    assert!(unknown.stderr.starts_with("guichet: faults: operation: Unknown operation"), "{}", unknown.stderr);
    assert!(!unknown.stderr.contains("Did you mean"), "{}", unknown.stderr);
    macro_rules! names {
        ($($operation:ident)*) => {
            [$(<$operation as Operation>::SPEC.name),*]
        };
    }
    let help = sandbox.run_with(&["faults", "set", "--help"], &control, "").stdout;
    for name in guichet::every_operation!(names) {
        assert!(unknown.stderr.contains(name), "{name} is not listed: {}", unknown.stderr);
        assert!(help.contains(name), "{name} is not in the help: {help}");
    }
    let misspelt = sandbox.run_with(&["faults", "set", "create_sesion", "drop"], &control, "");
    assert!(misspelt.stderr.contains("Did you mean create_session?"), "{}", misspelt.stderr);
    let merchant = sandbox.run_with(&["clock", "--merchant", "mer_unknown"], &control, "");
    assert!(merchant.stderr.starts_with("guichet: clock: "), "{}", merchant.stderr);
}

#[test]
fn completions_contain_every_operation() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = guichet(&["completions", shell]).output().expect("it runs");
        let script = String::from_utf8(script.stdout).expect("text");
        assert!(script.contains("subscriptions") && script.contains("deactivate"), "{shell}");
    }
}

#[test]
fn every_operation_and_argument_has_help() {
    macro_rules! check {
        ($($operation:ident)*) => {
            [$(<$operation as Operation>::SPEC),*]
        };
    }
    let all = guichet::every_operation!(check);
    let help =
        |arguments: &[&str]| String::from_utf8(guichet(arguments).output().expect("it runs").stdout).expect("text");
    let mut found = Vec::new();
    for group in ["sessions", "methods", "intents", "customers", "plans", "subscriptions", "esim"] {
        let listed = help(&[group, "--help"]);
        let verbs = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split_once("  ").map(|(verb, _)| verb));
        for verb in verbs.filter(|verb| *verb != "help" && !verb.starts_with(['-', ' '])) {
            let message = help(&[group, verb, "--help"]);
            let endpoint = message.lines().next().unwrap_or_default().split(": ").next().unwrap_or_default().to_owned();
            found.push(endpoint);
        }
    }
    for spec in all {
        let endpoint = format!("{} {}", spec.method.as_str(), spec.path);
        assert!(found.contains(&endpoint), "{endpoint} has no description: {found:?}");
    }
    assert_eq!(found.len(), all.len());
}

/// A `guichet sandbox` of one test. It runs other commands with its address and keys.
pub struct Terminal {
    _sandbox: Running,
    pub base_url: String,
    pub key: String,
    control_url: String,
    control_token: String,
}

pub struct Output {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Terminal {
    pub fn open() -> Self {
        let arguments = ["sandbox", "--listen", "127.0.0.1:0", "--database", "memory:", "--json"];
        let mut sandbox = Running::start(&arguments);
        let ready = sandbox.line();
        let text = |name: &str| ready[name].as_str().expect("a text").to_owned();
        Self {
            base_url: text("base_url"),
            key: text("secret_key"),
            control_url: text("control_url"),
            control_token: text("control_token"),
            _sandbox: sandbox,
        }
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.run_with(arguments, &[], "")
    }

    pub fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)], input: &str) -> Output {
        let mut command = guichet(arguments);
        command.env("GUICHET_BASE_URL", &self.base_url).env("GUICHET_SECRET_KEY", &self.key);
        command.envs(environment.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        // A command that does not read stdin may have ended already.
        let _ = child.stdin.take().expect("it was piped").write_all(input.as_bytes());
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        let code = output.status.code().expect("it was not killed");
        Output { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The stdout of a command that must succeed.
    fn stdout_of(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.code, 0, "{arguments:?}: {}", output.stderr);
        output.stdout
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.stdout_of(&[arguments, &["--json"]].concat())).expect("JSON")
    }

    fn order<'a>(&self, reference: &'a str) -> Vec<&'a str> {
        let order = "intents create --amount 45000 --description Shoes --firstname Awa --lastname Ngono --email awa@example.com";
        order.split(' ').chain(["--merchant-reference", reference]).collect()
    }

    fn intent(&self, reference: &str, more: &[&str]) -> String {
        let created = self.json(&[&self.order(reference)[..], more].concat());
        created["data"]["id"].as_str().expect("an identifier").to_owned()
    }

    /// Runs a command of the control API.
    pub fn control(&self, arguments: &[&str]) -> Output {
        self.control_with(&self.control_token, arguments)
    }

    /// The same with this control token.
    pub fn control_with(&self, token: &str, arguments: &[&str]) -> Output {
        let environment = [("GUICHET_CONTROL_URL", self.control_url.as_str()), ("GUICHET_CONTROL_TOKEN", token)];
        self.run_with(arguments, &environment, "")
    }

    fn faults(&self, arguments: &[&str]) {
        let output = self.control(&[&["faults"], arguments].concat());
        assert_eq!(output.code, 0, "{}", output.stderr);
    }

    async fn requests(&self) -> Vec<Value> {
        let authorization = format!("Authorization: Bearer {}", self.control_token);
        let output = http::get(&format!("{}/requests", self.control_url), &[&authorization]).await;
        output.json()["requests"].as_array().expect("a list").clone()
    }
}

/// Printing a reply takes linear time, and the command's timeout applies.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_reply_is_printed_in_bounded_time() {
    let object = |members: String| format!(r#"{{"status_code":200,"data":{{{members}}}}}"#);
    let keys = |count: usize| (0..count).map(|number| format!(r#""k{number}":1"#)).collect::<Vec<_>>().join(",");
    let entries = |count: usize, last: &str| format!(r#"{{"data":[{}{last}]}}"#, r#"{"id":"a"},"#.repeat(count));
    let long = "a".repeat(3_000_000);
    let deep = 200_000;
    let read: &[&str] = &["intents", "read", "pi_1"];
    let list: &[&str] = &["intents", "list"];
    for (what, reply, arguments) in [
        ("100,000 keys", object(keys(100_000)), read),
        ("100,000 keys in an object", object(format!(r#""metadata":{{{}}}"#, keys(100_000))), read),
        ("60,000 keys below a long one", object(format!(r#""{long}":{{{}}}"#, keys(60_000))), read),
        ("60,000 keys beside a long value", object(format!(r#""id":"{long}",{}"#, keys(60_000))), read),
        ("200,000 nested objects", object(format!(r#""a":{}1{}"#, r#"{"a":"#.repeat(deep), "}".repeat(deep))), read),
        ("60,000 entries, one of them long", entries(60_000, &format!(r#"{{"id":"{long}"}}"#)), list),
        ("100 entries, one of them with 80,000 keys", entries(100, &format!("{{{}}}", keys(80_000))), list),
    ] {
        assert!(reply.len() < 8 * 1024 * 1024, "{what}: the client does not read more");
        let answer = move || async move { reply };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let service = tokio::spawn(async { axum::serve(listener, axum::Router::new().fallback(answer)).await });
        let mut command = guichet(arguments);
        command.args(["--base-url", &url, "--timeout", "20"]).env("GUICHET_SECRET_KEY", "sk_test_1");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        // A second is enough, more on a busy machine. Quadratic time would be many minutes.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let status = loop {
            if let Some(status) = child.try_wait().expect("its status can be read") {
                break status;
            }
            if std::time::Instant::now() > deadline {
                let _ = child.kill();
                panic!("{what}: the command is still busy");
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        };
        assert_eq!(status.code(), Some(0), "{what}");
        service.abort();
    }
}
