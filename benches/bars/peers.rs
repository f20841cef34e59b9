//! Other mock servers. `cargo xtask bench` installs them under `target/` and passes their paths.

use crate::load::Make;
use crate::servers::{Running, folder};
use axum::body::Body;
use axum::http::Request;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Prism (npm `@stoplight/prism-cli`): responds with the examples of an OpenAPI document and stores nothing.
pub async fn prism() -> Result<Running, String> {
    let script = named("GUICHET_BENCH_PRISM")?;
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/bars/prism.json");
    let port = free_port();
    let mut command = Command::new("node");
    command.arg(script).args(["mock", "--host", "127.0.0.1", "--port", &port, "--verboseLevel", "silent", document]);
    up(command, port).await
}

/// localstripe (PyPI): a stateful mock of Stripe.
pub async fn localstripe() -> Result<Running, String> {
    let program = named("GUICHET_BENCH_LOCALSTRIPE")?;
    let port = free_port();
    let mut command = Command::new(program);
    command.current_dir(folder("localstripe")).args(["--from-scratch", "--port", &port]);
    up(command, port).await
}

/// The request that creates a payment in localstripe.
pub fn localstripe_create() -> Make {
    Arc::new(|_| {
        Request::post("/v1/payment_intents")
            .header(HOST, "127.0.0.1")
            .header(AUTHORIZATION, "Bearer sk_test_12345")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from("amount=45000&currency=xaf"))
            .unwrap()
    })
}

fn named(variable: &str) -> Result<String, String> {
    std::env::var(variable).map_err(|_| format!("not installed ({variable} is its path)"))
}

/// Starts a server and waits until it listens.
async fn up(mut command: Command, port: String) -> Result<Running, String> {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    let child = quiet.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    let running = Running::at(format!("http://127.0.0.1:{port}"), child);
    let begun = Instant::now();
    while tokio::net::TcpStream::connect(format!("127.0.0.1:{port}")).await.is_err() {
        if begun.elapsed() > Duration::from_secs(30) {
            return Err("it does not respond".into());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(running)
}

fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}
