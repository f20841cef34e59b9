//! A real browser, driven by WebDriver, as a customer would use it.
//!
//! `GUICHET_PICTURES=<folder>` leaves a picture of each page at phone and desktop width and prints each step with its
//! time: `cargo xtask demo --check` sets it.

use super::engine::{Engine, Session};
use fantoccini::Locator;
use fantoccini::key::Key;
use fantoccini::wd::WindowHandle;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A phone's width in CSS pixels, the narrowest that the pages promise to serve.
const PHONE: (u32, u32) = (360, 780);
const DESKTOP: (u32, u32) = (1280, 900);
/// How long a page may take until it shows what a test waits for.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// One browser, gone with its profile when it is dropped.
pub struct Browser {
    session: Session,
    step: std::cell::Cell<u32>,
    begun: std::cell::Cell<Instant>,
}

/// A tab of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tab(WindowHandle);

impl Browser {
    /// Starts the usual browser for one journey of a customer.
    pub async fn start(journey: &'static str) -> Self {
        Engine::usual().start(journey).await
    }

    /// The same for a customer whose browser speaks this language.
    pub async fn start_in(journey: &'static str, language: &str) -> Self {
        Engine::usual().start_in(journey, language).await
    }

    pub(super) async fn under(session: Session) -> Self {
        let browser = Self { session, step: 0.into(), begun: Instant::now().into() };
        browser.resize(PHONE).await;
        browser
    }

    /// What it is made of.
    pub fn engine(&self) -> Engine {
        self.session.engine
    }

    /// Opens an address.
    pub async fn open(&self, url: &str) {
        self.session.client.goto(url).await.unwrap();
    }

    /// The address shown.
    pub async fn url(&self) -> url::Url {
        self.session.client.current_url().await.unwrap()
    }

    /// Clicks what this selector finds, once it is there and can be clicked.
    pub async fn click(&self, css: &str) {
        let begun = Instant::now();
        loop {
            let clicked = match self.session.client.find(Locator::Css(css)).await {
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
        let element = self.session.client.find(Locator::Css(css)).await.unwrap();
        element.clear().await.unwrap();
        element.send_keys(text).await.unwrap();
    }

    /// Waits until this selector finds something that shows, and returns its text.
    pub async fn see(&self, css: &str) -> String {
        let begun = Instant::now();
        loop {
            if let Ok(element) = self.session.client.find(Locator::Css(css)).await
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
            let shown = match self.session.client.find(Locator::Css(css)).await {
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
        self.session.client.execute(script, vec![]).await.unwrap()
    }

    /// Runs an async function's body on the page and returns what it resolves to, or `{rejected: {kind, message}}`.
    pub async fn run_async(&self, body: &str) -> Value {
        let work = format!("async () => {{ {body} }}");
        // Firefox runs a driver's script beside the page, where classes and globals are others; the page's own `eval` runs
        // it inside, unless the page's policy forbids that.
        let inside = match self.engine() {
            Engine::Firefox => format!("try {{ work = window.eval({}); }} catch {{}}", json!(work)),
            Engine::Chromium | Engine::WebKit => String::new(),
        };
        let script = format!(
            "const done = arguments[arguments.length - 1];
             let work = {work};
             {inside}
             work().then((value) => done(value ?? null), (error) => done({{
                 rejected: {{ name: error?.name, kind: error?.kind, code: error?.code, message: String(error?.message ?? error) }},
             }}));"
        );
        self.session.client.execute_async(&script, vec![]).await.unwrap()
    }

    /// Waits until a script returns `true`.
    pub async fn until(&self, script: &str) {
        let begun = Instant::now();
        while self.run(script).await != true {
            assert!(begun.elapsed() < PATIENCE, "it does not come true: {script}\n{}", self.page().await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Goes back in history.
    pub async fn back(&self) {
        self.session.client.back().await.unwrap();
    }

    /// Loads the page again.
    pub async fn reload(&self) {
        self.session.client.refresh().await.unwrap();
    }

    /// Presses keys where the focus is: [`Key`](fantoccini::key::Key), or a text.
    pub async fn press(&self, keys: &str) {
        self.session.client.active_element().await.unwrap().send_keys(keys).await.unwrap();
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
        let here = self.tab().await;
        self.open_tab().await;
        work().await;
        self.close_tab(&here).await;
    }

    /// Runs a script in each page that is opened from now on, before any of the page's own.
    pub async fn before_each_page(&self, script: &str) {
        self.cdp("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script })).await;
    }

    /// Shows the page at this width, to a customer who likes it light or dark.
    pub async fn look(&self, width: u32, scheme: &str) {
        self.resize((width, 780)).await;
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.cdp("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// A picture of the whole page, where pictures are asked for.
    pub async fn picture(&self, name: &str) {
        let Some(folder) = std::env::var_os("GUICHET_PICTURES") else { return };
        let height = self.run("return Math.max(780, document.documentElement.scrollHeight)").await;
        let width = self.run("return innerWidth").await;
        let size = |value: &Value| value.as_u64().and_then(|value| u32::try_from(value).ok()).unwrap_or(780);
        self.resize((size(&width), size(&height))).await;
        let picture = self.session.client.screenshot().await.unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(PathBuf::from(folder).join(format!("{name}.png")), picture).unwrap();
    }

    /// The tab that is used.
    pub async fn tab(&self) -> Tab {
        Tab(self.session.client.window().await.unwrap())
    }

    /// Opens another tab, and uses that.
    pub async fn open_tab(&self) -> Tab {
        let tab = Tab(self.session.client.new_window(true).await.unwrap().handle);
        self.turn_to(&tab).await;
        self.resize(PHONE).await;
        tab
    }

    /// Uses another tab.
    pub async fn turn_to(&self, tab: &Tab) {
        self.session.client.switch_to_window(tab.0.clone()).await.unwrap();
    }

    /// Closes the tab that is used, and uses this one.
    pub async fn close_tab(&self, then: &Tab) {
        self.session.client.close_window().await.unwrap();
        self.turn_to(then).await;
    }

    /// Waits until a tab or popup is open beside this one.
    pub async fn tab_beside(&self, tab: &Tab) -> Tab {
        let begun = Instant::now();
        loop {
            if let Some(other) = self.tabs().await.into_iter().find(|other| other != tab) {
                return other;
            }
            assert!(begun.elapsed() < PATIENCE, "nothing opens\n{}", self.page().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Every tab and popup that is open.
    pub async fn tabs(&self) -> Vec<Tab> {
        self.session.client.windows().await.unwrap().into_iter().map(Tab).collect()
    }

    /// A step of the purchase is done: it is printed with its time, and the page pictured at both widths, when asked
    /// for. What the step is about is brought into sight.
    pub async fn step(&self, name: &str, about: &str) {
        let number = self.step.get() + 1;
        self.step.set(number);
        let took = self.begun.get().elapsed();
        if let Some(folder) = std::env::var_os("GUICHET_PICTURES") {
            println!("  {}: {number:>2}. {name:<44} {:>6.2} s", self.session.journey, took.as_secs_f64());
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
                let picture = self.session.client.screenshot().await.unwrap();
                std::fs::write(
                    folder.join(format!("{}-{number:02}-{file}-{width}.png", self.session.journey)),
                    picture,
                )
                .unwrap();
            }
        }
        self.begun.set(Instant::now());
    }

    /// Ends the session.
    pub async fn close(self) {
        drop(self);
    }

    /// Sets the size of the page itself where the engine lets it: a headless window is never narrower than 500 pixels.
    async fn resize(&self, (width, height): (u32, u32)) {
        match self.engine() {
            Engine::Chromium => {
                let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
                self.cdp("Emulation.setDeviceMetricsOverride", metrics).await;
            }
            Engine::Firefox | Engine::WebKit => {
                self.session.client.set_window_size(width, height).await.unwrap();
            }
        }
    }

    /// A command of Chromium's own, where WebDriver has none.
    async fn cdp(&self, command: &'static str, parameters: Value) {
        let done = self.session.client.issue_cmd(Cdp { command, parameters }).await;
        done.unwrap_or_else(|error| panic!("Chromium does not take {command}: {error}"));
    }

    async fn page(&self) -> String {
        let url = self
            .session
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
