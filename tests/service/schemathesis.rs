//! Property-based test of the sandbox: schemathesis generates valid and invalid requests from the OpenAPI description
//! and checks every response against it.
//!
//! `cargo xtask test` installs it into `target/schemathesis/` and runs this test. To run it alone:
//! `cargo test -p guichet-cli --all-features --test service schemathesis:: -- --ignored`.

use crate::support::api::{client, order, phone, send};
use crate::support::npm_service::NpmProcess;
use crate::support::root;
use crate::support::service::Service;
use guichet_sandbox::Config;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// The number of requests per operation, valid and invalid together. `GUICHET_EXAMPLES` sets another.
const EXAMPLES: &str = "30";

#[tokio::test]
#[ignore = "needs schemathesis: cargo xtask test"]
async fn generated_requests_get_only_described_responses() {
    let sandbox = SandboxProcess::start();
    let config = sandbox.config().await;
    run("run", &sandbox, &config, &["--exclude-path-regex", "^/sandbox/"]);
}

/// Apart from the others: a reset deletes what they use, and a fault makes them fail.
#[tokio::test]
#[ignore = "needs schemathesis: cargo xtask test"]
async fn generated_requests_to_the_control_api_get_only_described_responses() {
    let sandbox = SandboxProcess::start();
    let config = sandbox.config_of_the_control_api().await;
    // No call leads to another, so there is nothing for the stateful phase.
    let phases = ["--phases", "examples,coverage,fuzzing"];
    run("control", &sandbox, &config, &[&phases[..], &["--include-path-regex", "^/sandbox/"]].concat());
}

/// Runs schemathesis in a folder of this name.
fn run(name: &str, sandbox: &SandboxProcess, config: &str, filter: &[&str]) {
    let program = root().join("target/schemathesis/bin/schemathesis");
    assert!(program.is_file(), "schemathesis is missing. `cargo xtask test` installs it.");
    let folder = root().join("target/schemathesis").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("schemathesis.toml");
    std::fs::write(&file, config).unwrap();

    let examples = std::env::var("GUICHET_EXAMPLES");
    let output = Command::new(program)
        .current_dir(&folder)
        .arg("--config-file")
        .arg(&file)
        .args(["run", &format!("{}/sandbox/openapi.json", sandbox.base_url)])
        .args(filter)
        // One worker: with more, Hypothesis changes Python's recursion limit in one thread while another parses, and
        // Python ends that with a SystemError. They would share one core anyway.
        .args([
            "--checks",
            "all",
            "--max-examples",
            examples.as_deref().unwrap_or(EXAMPLES),
            "--workers",
            "1",
            "--continue-on-failure",
        ])
        .args(["--generation-database", "none", "--no-color", "--seed", &seed()])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "GUICHET_SEED={} repeats this run of schemathesis:\n{}{}",
        seed(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The seed, which is the same each time so that a failed run can be repeated. `GUICHET_SEED` sets another.
fn seed() -> String {
    std::env::var("GUICHET_SEED").unwrap_or_else(|_| "17".to_owned())
}

/// `guichet sandbox` in memory, or the npm package if that is chosen.
struct SandboxProcess {
    _process: Running,
    base_url: String,
    secret_key: String,
    control_token: String,
}

enum Running {
    Binary(Child),
    Package { _process: NpmProcess },
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Self::Binary(child) = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl SandboxProcess {
    fn start() -> Self {
        if Service::chosen() == Service::Package {
            let process = NpmProcess::start(&Config::default()).expect("the package starts");
            return Self {
                base_url: process.base_url.clone(),
                secret_key: process.secret_key.expose().to_owned(),
                control_token: process.control_token.expose().to_owned(),
                _process: Running::Package { _process: process },
            };
        }
        let mut child = Command::new(env!("CARGO_BIN_EXE_guichet"))
            .args(["sandbox", "--json", "--listen", "127.0.0.1:0", "--database", "memory:"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| ready[name].as_str().unwrap().to_owned();
        Self {
            _process: Running::Binary(child),
            base_url: text("base_url"),
            secret_key: text("secret_key"),
            control_token: text("control_token"),
        }
    }

    async fn call(&self, method: &str, path: &str, fields: Value) -> Value {
        let body = (!fields.is_null()).then(|| fields.to_string());
        let url = format!("{}{path}", self.base_url);
        let mut reply = send(&client(), method, &url, Some(&self.secret_key), body, &[]).await;
        assert!((200..300).contains(&reply.status), "{method} {path}: {}", reply.text);
        reply.body["data"].take()
    }

    async fn session(&self) -> String {
        let created = self.call("POST", "/v1/sessions/create", json!({ "customer_email": "awa@example.com" })).await;
        created["session_token"].as_str().unwrap().to_owned()
    }

    /// The configuration for the control API: its token, and the ids of some merchants.
    async fn config_of_the_control_api(&self) -> String {
        let mut merchants = Vec::new();
        for _ in 0..MERCHANTS {
            let url = format!("{}/sandbox/merchants", self.base_url);
            let mut created = send(&client(), "POST", &url, Some(&self.control_token), None, &[]).await;
            merchants.push(created.body["merchant"].take());
        }
        let mut config = format!(
            "hooks = {:?}\n\n[auth.openapi]\ncontrol_token = {{ bearer = {:?} }}\n\n[dictionaries.merchants]\nvalues = {}\n\n",
            root().join("tests/service/schemathesis/hooks.py"),
            self.control_token,
            Value::from(merchants)
        );
        for (operation, parameter) in ABOUT_A_MERCHANT {
            let says =
                format!("parameters = {{ {parameter:?} = {{ dictionary = \"merchants\", probability = 0.8 }} }}");
            section(&mut config, operation, &says);
        }
        config
    }

    /// The configuration: credentials, and ids of existing objects for every family, so that most requests find their
    /// object.
    async fn config(&self) -> String {
        let mut config = format!(
            "hooks = {:?}\n\n[auth.openapi]\nsecret_key = {{ bearer = {:?} }}\nsession_token = {{ bearer = {:?} }}\n\n",
            root().join("tests/service/schemathesis/hooks.py"),
            self.secret_key,
            self.session().await
        );
        // This operation revokes the session of its request, so it gets its own.
        let ended = format!("headers = {{ Authorization = \"Bearer {}\" }}", self.session().await);
        section(&mut config, "revoke_session", &ended);

        let mut intents = Vec::new();
        for number in 0..INTENTS {
            let created = self.call("POST", "/v1/payment-intents", order(&format!("SEED-{number}"))).await;
            intents.push(created["id"].clone());
        }
        let mut plans = Vec::new();
        for number in 0..PLANS {
            let plan =
                json!({ "name": "Gold", "code": format!("gold-{number}"), "amount": 5000, "billing_cycle": "monthly" });
            plans.push(self.call("POST", "/v1/subscriptions/plans", plan).await["id"].clone());
        }
        let mut subscriptions = Vec::new();
        for plan in plans.iter().cycle().take(INTENTS) {
            let mut one =
                json!({ "plan": plan, "customer_email": "awa@example.com", "firstname": "Awa", "lastname": "Ngo" });
            one["payment_method"] = phone("237670000000")["payment_method"].clone();
            subscriptions.push(self.call("POST", "/v1/subscriptions", one).await["id"].clone());
        }
        let packages = self.call("GET", "/v1/esim/packages", Value::Null).await;
        let packages: Vec<Value> = packages
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["active"] == true)
            .map(|one| one["id"].clone())
            .collect();
        let eso = self.call("POST", "/v1/esim/orders", json!({ "package_id": packages[0] })).await["order_id"].clone();
        let customers = self.call("GET", "/v1/customers", Value::Null).await[0]["id"].clone();

        // Other objects than those that the DELETE operations remove.
        let (sold, withdrawn) = plans.split_at(PLANS / 2);
        let dictionaries: [(&str, &[Value]); 7] = [
            ("intents", &intents),
            ("sold_plans", sold),
            ("withdrawn_plans", withdrawn),
            ("subscriptions", &subscriptions),
            ("packages", &packages),
            ("orders", &[eso]),
            ("customers", &[customers]),
        ];
        for (name, values) in dictionaries {
            let _ = writeln!(config, "[dictionaries.{name}]\nvalues = {}\n", Value::from(values.to_vec()));
        }
        for (operation, parameter, dictionary) in NAMED {
            let mut says =
                format!("parameters = {{ {parameter:?} = {{ dictionary = {dictionary:?}, probability = 0.8 }} }}");
            if REFUSED_BY_STATE.contains(&operation) {
                says += "\nchecks.positive_data_acceptance.expected-statuses = [\"2xx\", 401, 403, 404, 409, 422]";
            }
            section(&mut config, operation, &says);
        }
        config
    }
}

/// So many that none has a thousand faults.
const MERCHANTS: usize = 5;

/// The calls of the control API about one merchant, and where they name it.
const ABOUT_A_MERCHANT: [(&str, &str); 13] = [
    ("read_clock", "query.merchant"),
    ("advance_clock", "body.merchant"),
    ("list_faults", "query.merchant"),
    ("add_fault", "body.merchant"),
    ("clear_faults", "query.merchant"),
    ("set_operator", "body.merchant"),
    ("list_purchases", "query.merchant"),
    ("read_thread", "query.merchant"),
    ("await_changes", "query.merchant"),
    ("decide_on_handset", "body.merchant"),
    ("list_requests", "query.merchant"),
    ("list_events", "query.merchant"),
    ("reset_merchant", "body.merchant"),
];

const INTENTS: usize = 60;
const PLANS: usize = 12;

/// Well-formed requests that are refused with 422 because of the state, which no schema can express: a plan that is no
/// longer active, a method that this payment does not accept, an `Idempotency-Key` that was used with another body.
const REFUSED_BY_STATE: [&str; 3] = ["create_subscription", "attach_payment_method", "create_esim_order"];

/// The parameters of operations that name an existing object.
const NAMED: [(&str, &str, &str); 20] = [
    ("read_payment_intent", "path.id", "intents"),
    ("attach_payment_method", "path.id", "intents"),
    ("confirm_payment_intent", "path.id", "intents"),
    ("answer_payment_intent", "path.id", "intents"),
    ("cancel_payment_intent", "path.id", "intents"),
    ("abandon_payment_intent", "path.id", "intents"),
    ("list_payment_intents", "query.starting_after", "intents"),
    ("list_plans", "query.starting_after", "sold_plans"),
    ("deactivate_plan", "path.id", "withdrawn_plans"),
    ("create_subscription", "body.plan", "sold_plans"),
    ("list_subscriptions", "query.starting_after", "subscriptions"),
    ("read_subscription", "path.id", "subscriptions"),
    ("pause_subscription", "path.id", "subscriptions"),
    ("resume_subscription", "path.id", "subscriptions"),
    ("cancel_subscription", "path.id", "subscriptions"),
    ("change_subscription_payment_method", "path.id", "subscriptions"),
    ("configure_fallback", "path.id", "subscriptions"),
    ("create_esim_order", "body.package_id", "packages"),
    ("read_esim_order", "path.id", "orders"),
    ("list_customers", "query.starting_after", "customers"),
];

fn section(config: &mut String, operation: &str, says: &str) {
    let _ = writeln!(config, "[[operations]]\ninclude-operation-id = {operation:?}\n{says}\n");
}
