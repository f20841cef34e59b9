//! A real Chromium, driven by WebDriver, as a customer would use it.
//!
//! `GUICHET_PICTURES=<folder>` leaves a picture of each page at phone and desktop width and prints each step with its
//! time: `cargo xtask demo --check` sets it.

use fantoccini::key::Key;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A phone's width in CSS pixels, the narrowest that the pages promise to serve.
const PHONE: (u32, u32) = (360, 780);
const DESKTOP: (u32, u32) = (1280, 900);
const PATIENCE: Duration = Duration::from_secs(20);

/// One browser, gone with its profile when it is dropped.
pub struct Browser {
    /// What the pictures' names begin with.
    journey: &'static str,
    client: Client,
    driver: Driver,
    step: std::cell::Cell<u32>,
    begun: std::cell::Cell<Instant>,
}

struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Browser {
    /// Starts chromedriver on a free port, and a headless Chromium under it, for one journey of a customer.
    pub async fn start(journey: &'static str) -> Self {
        Self::start_in(journey, "en").await
    }

    /// The same for a customer whose browser speaks this language.
    pub async fn start_in(journey: &'static str, language: &str) -> Self {
        let port = free_port();
        let driver = Command::new(std::env::var_os("CHROMEDRIVER").unwrap_or_else(|| "chromedriver".into()))
            .arg(format!("--port={port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is not there: `cargo xtask test` installs it, or `apt-get install chromium-driver`");
        let driver = Driver(driver);
        let capabilities = json!({ "goog:chromeOptions": { "args": [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", format!("--lang={language}"),
            format!("--accept-lang={language}"), "--force-prefers-reduced-motion",
        ] } });
        let Value::Object(capabilities) = capabilities else { unreachable!("written as an object above") };
        let address = format!("http://127.0.0.1:{port}");
        let begun = Instant::now();
        let client = loop {
            let mut builder = ClientBuilder::new(HttpConnector::new());
            match builder.capabilities(capabilities.clone()).connect(&address).await {
                Ok(client) => break client,
                Err(error) if begun.elapsed() > PATIENCE => panic!("chromedriver does not answer: {error}"),
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        };
        let browser = Self { journey, client, driver, step: 0.into(), begun: Instant::now().into() };
        browser.resize(PHONE).await;
        browser
    }

    /// Opens an address.
    pub async fn open(&self, url: &str) {
        self.client.goto(url).await.unwrap();
    }

    /// The address shown.
    pub async fn url(&self) -> url::Url {
        self.client.current_url().await.unwrap()
    }

    /// Clicks what this selector finds, once it is there and can be clicked.
    pub async fn click(&self, css: &str) {
        let begun = Instant::now();
        loop {
            let clicked = match self.client.find(Locator::Css(css)).await {
                Ok(element) => element.click().await,
                Err(error) => Err(error),
            };
            match clicked {
                Ok(()) => return,
                Err(error) if begun.elapsed() > PATIENCE => {
                    panic!("cannot click {css}: {error}\n{}", self.page().await)
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// Types into a field, in place of what is there.
    pub async fn fill(&self, css: &str, text: &str) {
        self.see(css).await;
        let element = self.client.find(Locator::Css(css)).await.unwrap();
        element.clear().await.unwrap();
        element.send_keys(text).await.unwrap();
    }

    /// Waits until this selector finds something that shows, and returns its text.
    pub async fn see(&self, css: &str) -> String {
        let begun = Instant::now();
        loop {
            if let Ok(element) = self.client.find(Locator::Css(css)).await
                && element.is_displayed().await.unwrap_or(false)
                && let Ok(text) = element.text().await
            {
                return text;
            }
            assert!(begun.elapsed() < PATIENCE, "{css} does not show\n{}", self.page().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until what this selector finds shows this text.
    pub async fn arrive_at_text(&self, css: &str, text: &str) {
        let begun = Instant::now();
        loop {
            // The page may be drawn anew, or another page come, while it is read.
            let shown = match self.client.find(Locator::Css(css)).await {
                Ok(element) => element.text().await.unwrap_or_default(),
                Err(_) => String::new(),
            };
            if shown.contains(text) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{css} does not say {text:?}\n{}", self.page().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until the address fulfils this.
    pub async fn arrive(&self, what: &str, fulfils: impl Fn(&url::Url) -> bool) -> url::Url {
        let begun = Instant::now();
        loop {
            let url = self.url().await;
            if fulfils(&url) {
                return url;
            }
            assert!(begun.elapsed() < PATIENCE, "did not arrive: {what}\n{}", self.page().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Runs a script on the page: `return …`.
    pub async fn run(&self, script: &str) -> Value {
        self.client.execute(script, vec![]).await.unwrap()
    }

    /// Runs an async function's body on the page and returns what it resolves to, or `{rejected: {kind, message}}`.
    pub async fn run_async(&self, body: &str) -> Value {
        let script = format!(
            "const done = arguments[arguments.length - 1];
             (async () => {{ {body} }})().then((value) => done(value ?? null), (error) => done({{
                 rejected: {{ name: error?.name, kind: error?.kind, code: error?.code, message: String(error?.message ?? error) }},
             }}));"
        );
        self.client.execute_async(&script, vec![]).await.unwrap()
    }

    /// Goes back in history.
    pub async fn back(&self) {
        self.client.back().await.unwrap();
    }

    /// Loads the page again.
    pub async fn reload(&self) {
        self.client.refresh().await.unwrap();
    }

    /// Presses keys where the focus is: [`Key`](fantoccini::key::Key), or a text.
    pub async fn press(&self, keys: &str) {
        self.client.active_element().await.unwrap().send_keys(keys).await.unwrap();
    }

    /// Presses Tab until the focus is on what this selector finds.
    pub async fn tab_to(&self, css: &str) {
        let there = format!("return document.activeElement.matches({})", json!(css));
        for _ in 0..40 {
            if self.run(&there).await == true {
                return;
            }
            self.press(&Key::Tab.to_string()).await;
        }
        panic!("Tab does not come to {css}\n{}", self.page().await);
    }

    /// Cuts the page off from the network, or lets it back.
    pub async fn network(&self, is_there: bool) {
        self.cdp("Network.enable", json!({})).await;
        let conditions =
            json!({ "offline": !is_there, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
        self.cdp("Network.emulateNetworkConditions", conditions).await;
    }

    /// Does something in another tab, and comes back to this one.
    pub async fn in_another_tab(&self, work: impl AsyncFnOnce()) {
        let here = self.client.window().await.unwrap();
        let other = self.client.new_window(true).await.unwrap();
        self.client.switch_to_window(other.handle).await.unwrap();
        self.resize(PHONE).await;
        work().await;
        self.client.close_window().await.unwrap();
        self.client.switch_to_window(here).await.unwrap();
    }

    /// A step of the purchase is done: it is printed with its time, and the page pictured at both widths, when asked
    /// for. What the step is about is brought into sight.
    pub async fn step(&self, name: &str, about: &str) {
        let number = self.step.get() + 1;
        self.step.set(number);
        let took = self.begun.get().elapsed();
        if let Some(folder) = std::env::var_os("GUICHET_PICTURES") {
            println!("  {}: {number:>2}. {name:<44} {:>6.2} s", self.journey, took.as_secs_f64());
            let folder = PathBuf::from(folder);
            std::fs::create_dir_all(&folder).unwrap();
            let file = name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
            for (width, size) in [("desktop", DESKTOP), ("phone", PHONE)] {
                self.resize(size).await;
                let scroll = format!(
                    "document.querySelector({})?.scrollIntoView({{ block: 'nearest', behavior: 'instant' }})",
                    json!(about)
                );
                self.run(&scroll).await;
                let picture = self.client.screenshot().await.unwrap();
                std::fs::write(folder.join(format!("{}-{number:02}-{file}-{width}.png", self.journey)), picture)
                    .unwrap();
            }
        }
        self.begun.set(Instant::now());
    }

    /// Ends the session.
    pub async fn close(self) {
        self.client.close().await.unwrap();
        drop(self.driver);
    }

    /// Sets the size of the page itself: a headless window is never narrower than 500 pixels.
    async fn resize(&self, (width, height): (u32, u32)) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.cdp("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// A command of Chromium's own, where WebDriver has none.
    async fn cdp(&self, command: &'static str, parameters: Value) {
        let done = self.client.issue_cmd(Cdp { command, parameters }).await;
        done.unwrap_or_else(|error| panic!("Chromium does not take {command}: {error}"));
    }

    async fn page(&self) -> String {
        let url = self
            .client
            .current_url()
            .await
            .map(|url| url.origin().ascii_serialization() + url.path())
            .unwrap_or_default();
        let text = self.run("return document.body ? document.body.innerText : ''").await;
        format!("the page at {url} says:\n{}", text.as_str().unwrap_or_default())
    }
}

#[derive(Debug)]
struct Cdp {
    command: &'static str,
    parameters: Value,
}

impl fantoccini::wd::WebDriverCompatibleCommand for Cdp {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "cmd": self.command, "params": self.parameters }).to_string()))
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
