//! A headless Chromium.

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Chromium {
    client: Client,
    driver: Child,
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

impl Chromium {
    pub async fn start() -> Result<Self, String> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let driver = Command::new(std::env::var_os("CHROMEDRIVER").unwrap_or_else(|| "chromedriver".into()))
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("chromedriver cannot be started: {error}"))?;
        let options = json!({ "args": [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--no-first-run",
        ] });
        let capabilities = [("goog:chromeOptions".to_owned(), options)].into_iter().collect();
        let begun = Instant::now();
        loop {
            let mut builder = ClientBuilder::new(HttpConnector::new());
            match builder.capabilities(Clone::clone(&capabilities)).connect(&format!("http://127.0.0.1:{port}")).await {
                Ok(client) => return Ok(Self { client, driver }),
                Err(error) if begun.elapsed() > Duration::from_secs(20) => return Err(error.to_string()),
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    pub async fn open(&self, url: &str) {
        self.client.goto(url).await.unwrap();
    }

    /// Evaluates an expression on the page and awaits its value.
    pub async fn resolve(&self, expression: &str) -> Value {
        let script = format!(
            "const done = arguments[arguments.length - 1];
             Promise.resolve({expression}).then(done, (error) => done({{ rejected: String(error) }}));"
        );
        let value = self.client.execute_async(&script, vec![]).await.unwrap();
        assert!(value.get("rejected").is_none(), "{expression}: {value}");
        value
    }

    /// Sets the timeout of scripts.
    pub async fn script_timeout(&self, time: Duration) {
        self.client.update_timeouts(fantoccini::wd::TimeoutConfiguration::new(Some(time), None, None)).await.unwrap();
    }

    /// Sends a DevTools command.
    pub async fn cdp(&self, command: &'static str, parameters: Value) {
        self.client.issue_cmd(Cdp { command, parameters }).await.unwrap();
    }

    pub async fn close(self) {
        let _ = self.client.clone().close().await;
    }
}

#[derive(Debug)]
struct Cdp {
    command: &'static str,
    parameters: Value,
}

impl WebDriverCompatibleCommand for Cdp {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "cmd": self.command, "params": self.parameters }).to_string()))
    }
}
