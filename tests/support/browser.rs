//! A real browser, driven by WebDriver, as a customer would use it.
//!
//! `GUICHET_PICTURES=<folder>` writes screenshots of each step at phone and desktop width into that folder, and prints
//! each step with its duration. `cargo xtask demo --pictures` sets it.

use super::engine::{Engine, Session};
use super::proxy::Proxy;
pub use super::wait::{TIMEOUT, until};
use fantoccini::Locator;
use fantoccini::key::Key;
use fantoccini::wd::WindowHandle;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A phone's viewport in CSS pixels. The pages support no narrower one.
const PHONE: (u32, u32) = (360, 780);
const DESKTOP: (u32, u32) = (1280, 900);
/// One browser. When it is dropped, its data is cleared and another test may use it.
pub struct Browser {
    session: Session,
    steps: std::cell::Cell<u32>,
    step_start: std::cell::Cell<Instant>,
}

/// A tab or popup of a browser.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tab(WindowHandle);

impl Browser {
    /// Starts the default engine for one scenario, whose name is in the names of its screenshots.
    pub async fn start(scenario: &'static str) -> Self {
        Engine::from_env().start(scenario).await
    }

    /// The same with this language in `Accept-Language`.
    pub async fn start_in_language(scenario: &'static str, language: &'static str) -> Self {
        Engine::from_env().start_in_language(scenario, language).await
    }

    pub(super) async fn new(session: Session) -> Self {
        let browser = Self { session, steps: 0.into(), step_start: Instant::now().into() };
        browser.resize(PHONE).await;
        browser
    }

    /// Its engine.
    pub fn engine(&self) -> Engine {
        self.session.engine
    }

    /// Its proxy, if it was started with one.
    pub fn proxy(&self) -> &Proxy {
        self.session.proxy()
    }

    /// Opens an address.
    pub async fn open(&self, url: &str) {
        self.session.client.goto(url).await.unwrap();
        // WebKit's driver returns before module scripts have run: a click would find a button without a listener.
        if self.engine() == Engine::WebKit {
            self.wait_until("return document.readyState === 'complete'").await;
        }
    }

    /// The current address.
    pub async fn url(&self) -> url::Url {
        self.session.client.current_url().await.unwrap()
    }

    /// Waits until the element of this selector can be clicked, and clicks it.
    pub async fn click(&self, css: &str) {
        let begun = Instant::now();
        loop {
            let clicked = match self.session.client.find(Locator::Css(css)).await {
                Ok(element) => element.click().await,
                Err(error) => Err(error),
            };
            match clicked {
                Ok(()) => return,
                Err(error) if begun.elapsed() > TIMEOUT => {
                    panic!("cannot click {css}: {error}\n{}", self.describe_page().await)
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// Clicks a checkbox until it is in this state: a click misses if the layout moves at that moment.
    pub async fn set_checked(&self, css: &str, checked: bool) {
        self.wait_for(css).await;
        let is_checked = format!("return document.querySelector({}).checked", json!(css));
        until(&format!("{css} is checked: {checked}"), async || {
            let is_so = self.run(&is_checked).await == checked;
            if !is_so {
                self.click(css).await;
            }
            is_so
        })
        .await;
    }

    /// Replaces the text of a field.
    pub async fn fill(&self, css: &str, text: &str) {
        self.wait_for(css).await;
        let element = self.session.client.find(Locator::Css(css)).await.unwrap();
        element.clear().await.unwrap();
        element.send_keys(text).await.unwrap();
    }

    /// Waits until the element of this selector is visible, and returns its text.
    pub async fn wait_for(&self, css: &str) -> String {
        let begun = Instant::now();
        loop {
            if let Ok(element) = self.session.client.find(Locator::Css(css)).await
                && element.is_displayed().await.unwrap_or(false)
                && let Ok(text) = element.text().await
            {
                return text;
            }
            assert!(begun.elapsed() < TIMEOUT, "{css} is not visible\n{}", self.describe_page().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until the element of this selector contains this text.
    pub async fn wait_for_text(&self, css: &str, text: &str) {
        let begun = Instant::now();
        loop {
            // The page may replace the element, or navigate away, while the text is read.
            let found = match self.session.client.find(Locator::Css(css)).await {
                Ok(element) => element.text().await.unwrap_or_default(),
                Err(_) => String::new(),
            };
            if found.contains(text) {
                return;
            }
            assert!(begun.elapsed() < TIMEOUT, "{css} does not contain {text:?}\n{}", self.describe_page().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until the address fulfils a condition, which `what` names in the failure.
    pub async fn wait_for_url(&self, what: &str, fulfils: impl Fn(&url::Url) -> bool) -> url::Url {
        let begun = Instant::now();
        loop {
            let url = self.url().await;
            if fulfils(&url) {
                return url;
            }
            assert!(begun.elapsed() < TIMEOUT, "the address does not become: {what}\n{}", self.describe_page().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Runs a script on the page: `return …`.
    pub async fn run(&self, script: &str) -> Value {
        self.session.client.execute(script, vec![]).await.unwrap()
    }

    /// Gives a page the time in which it looks at the window that it has opened, as a customer does who sees that
    /// window for a while. By the page's own timers, because a browser slows those of a page in the background.
    pub async fn let_the_page_look(&self) {
        self.run_async(
            "for (let look = 0; look < 4; look++) await new Promise((go) => setTimeout(go, 300)); return true",
        )
        .await;
    }

    /// Runs an async function's body on the page and returns what it resolves to, or `{rejected: {kind, message}}`.
    pub async fn run_async(&self, body: &str) -> Value {
        let work = format!("async () => {{ {body} }}");
        // Firefox runs a driver's script in a sandbox with its own classes and globals. The page's own `eval` runs it
        // in the page, unless the page's content security policy forbids that.
        let in_page = match self.engine() {
            Engine::Firefox => format!("try {{ work = window.eval({}); }} catch {{}}", json!(work)),
            Engine::Chromium | Engine::WebKit => String::new(),
        };
        let script = format!(
            "const done = arguments[arguments.length - 1];
             let work = {work};
             {in_page}
             work().then((value) => done(value ?? null), (error) => done({{
                 rejected: {{ name: error?.name, kind: error?.kind, code: error?.code, message: String(error?.message ?? error) }},
             }}));"
        );
        self.session.client.execute_async(&script, vec![]).await.unwrap()
    }

    /// Waits until a script returns `true`.
    pub async fn wait_until(&self, script: &str) {
        let begun = Instant::now();
        while self.run(script).await != true {
            assert!(begun.elapsed() < TIMEOUT, "it does not become true: {script}\n{}", self.describe_page().await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Goes back in history.
    pub async fn go_back(&self) {
        self.session.client.back().await.unwrap();
    }

    /// Loads the page again.
    pub async fn reload(&self) {
        self.session.client.refresh().await.unwrap();
    }

    /// Sends keys to the focused element: a [`Key`](fantoccini::key::Key), or text.
    pub async fn press(&self, keys: &str) {
        self.session.client.active_element().await.unwrap().send_keys(keys).await.unwrap();
    }

    /// Presses Tab until the element of this selector has the focus.
    pub async fn tab_to(&self, css: &str) {
        let is_focused = format!("return document.activeElement.matches({})", json!(css));
        for _ in 0..40 {
            if self.run(&is_focused).await == true {
                return;
            }
            self.press(&Key::Tab.to_string()).await;
        }
        panic!("Tab does not reach {css}\n{}", self.describe_page().await);
    }

    /// Disconnects the page from the network, or reconnects it. Chromium only.
    pub async fn set_online(&self, online: bool) {
        self.cdp("Network.enable", json!({})).await;
        let conditions = json!({ "offline": !online, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
        self.cdp("Network.emulateNetworkConditions", conditions).await;
    }

    /// Runs this in the page's first frame.
    pub async fn in_the_frame(&self, work: impl AsyncFnOnce()) {
        self.session.client.enter_frame(0).await.unwrap();
        work().await;
        self.session.client.enter_parent_frame().await.unwrap();
    }

    /// Runs this in a new tab, closes that tab and returns to the current one.
    pub async fn in_another_tab(&self, work: impl AsyncFnOnce()) {
        let here = self.current_tab().await;
        self.open_tab().await;
        work().await;
        self.close_tab_and_switch_to(&here).await;
    }

    /// Runs a script in each page that is opened from now on, before the page's own scripts. Chromium only.
    pub async fn add_init_script(&self, script: &str) {
        self.cdp("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script })).await;
    }

    /// Lets the pages of this tab run no script of their own. Chromium only.
    pub async fn disable_scripts(&self) {
        self.cdp("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
    }

    /// Limits the network to this many bytes a second, with this delay of each response. Chromium only.
    pub async fn throttle(&self, bytes_per_second: u32, latency_ms: u32) {
        let limits = json!({
            "offline": false, "latency": latency_ms, "downloadThroughput": bytes_per_second, "uploadThroughput": bytes_per_second,
        });
        self.cdp("Network.emulateNetworkConditions", limits).await;
    }

    /// Sets the viewport's width and the preferred color scheme, `light` or `dark`. Chromium only.
    pub async fn set_appearance(&self, width: u32, scheme: &str) {
        self.resize((width, 780)).await;
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.cdp("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// Shows pages as on this medium, `screen` or `print`. Chromium only.
    pub async fn set_medium(&self, medium: &str) {
        self.cdp("Emulation.setEmulatedMedia", json!({ "media": medium })).await;
    }

    /// Writes a screenshot of the whole page if `GUICHET_PICTURES` is set.
    pub async fn screenshot(&self, name: &str) {
        let Some(folder) = std::env::var_os("GUICHET_PICTURES") else { return };
        let height = self.run("return Math.max(780, document.documentElement.scrollHeight)").await;
        let width = self.run("return innerWidth").await;
        let size = |value: &Value| value.as_u64().and_then(|value| u32::try_from(value).ok()).unwrap_or(780);
        self.resize((size(&width), size(&height))).await;
        let png = self.session.client.screenshot().await.unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(PathBuf::from(folder).join(format!("{name}.png")), png).unwrap();
    }

    /// The current tab.
    pub async fn current_tab(&self) -> Tab {
        Tab(self.session.client.window().await.unwrap())
    }

    /// Opens another tab and switches to it.
    pub async fn open_tab(&self) -> Tab {
        let tab = Tab(self.session.client.new_window(true).await.unwrap().handle);
        self.switch_to(&tab).await;
        self.resize(PHONE).await;
        tab
    }

    /// Makes a tab the current one.
    pub async fn switch_to(&self, tab: &Tab) {
        self.session.client.switch_to_window(tab.0.clone()).await.unwrap();
    }

    /// Closes the current tab and switches to another.
    pub async fn close_tab_and_switch_to(&self, next: &Tab) {
        self.session.client.close_window().await.unwrap();
        self.switch_to(next).await;
    }

    /// Waits until another tab or popup than this one is open.
    pub async fn wait_for_other_tab(&self, tab: &Tab) -> Tab {
        let begun = Instant::now();
        loop {
            if let Some(other) = self.tabs().await.into_iter().find(|other| other != tab) {
                return other;
            }
            assert!(begun.elapsed() < TIMEOUT, "nothing opens\n{}", self.describe_page().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Every tab and popup that is open.
    pub async fn tabs(&self) -> Vec<Tab> {
        self.session.client.windows().await.unwrap().into_iter().map(Tab).collect()
    }

    /// Ends a step of the scenario. If `GUICHET_PICTURES` is set, prints the step with its duration, scrolls the
    /// element of the selector `css` into view and writes screenshots of the page at both widths.
    pub async fn step(&self, name: &str, css: &str) {
        let number = self.steps.get() + 1;
        self.steps.set(number);
        let duration = self.step_start.get().elapsed();
        if let Some(folder) = std::env::var_os("GUICHET_PICTURES") {
            println!("  {}: {number:>2}. {name:<44} {:>6.2} s", self.session.scenario, duration.as_secs_f64());
            let folder = PathBuf::from(folder);
            std::fs::create_dir_all(&folder).unwrap();
            let file = name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
            for (width, size) in [("desktop", DESKTOP), ("phone", PHONE)] {
                self.resize(size).await;
                let scroll = format!(
                    "document.querySelector({})?.scrollIntoView({{ block: 'nearest', behavior: 'instant' }})",
                    json!(css)
                );
                self.run(&scroll).await;
                let png = self.session.client.screenshot().await.unwrap();
                std::fs::write(folder.join(format!("{}-{number:02}-{file}-{width}.png", self.session.scenario)), png)
                    .unwrap();
            }
        }
        self.step_start.set(Instant::now());
    }

    /// Gives it back, which closes its pages.
    pub async fn close(self) {
        drop(self);
    }

    /// Sets the viewport's size in Chromium, whose headless window is at least 500 pixels wide, and the window's size
    /// elsewhere.
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

    /// Sends a command of the Chrome DevTools Protocol, for what WebDriver has no command.
    async fn cdp(&self, command: &'static str, parameters: Value) {
        let done = self.session.client.issue_cmd(Cdp { command, parameters }).await;
        done.unwrap_or_else(|error| panic!("Chromium refuses {command}: {error}"));
    }

    /// The page's address and text, for failure messages.
    async fn describe_page(&self) -> String {
        let url = self
            .session
            .client
            .current_url()
            .await
            .map(|url| url.origin().ascii_serialization() + url.path())
            .unwrap_or_default();
        let text = self.run("return document.body ? document.body.innerText : ''").await;
        format!("the text of the page at {url}:\n{}", text.as_str().unwrap_or_default())
    }
}

/// A command of the Chrome DevTools Protocol.
#[derive(Debug)]
pub(super) struct Cdp {
    pub(super) command: &'static str,
    pub(super) parameters: Value,
}

impl fantoccini::wd::WebDriverCompatibleCommand for Cdp {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "cmd": self.command, "params": self.parameters }).to_string()))
    }
}
