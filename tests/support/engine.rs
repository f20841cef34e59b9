//! The browser engines, each headless and driven by its WebDriver.
//!
//! `cargo xtask test` installs the browsers and drivers. If one is missing, a test fails and says how to install it.

use super::browser::Browser;
use super::proxy::Proxy;
use super::{diagnostics, port, reset};
use fantoccini::error::CmdError;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, SemaphorePermit};

/// How long a driver may take until it accepts connections.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);

/// A browser engine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Engine {
    Chromium,
    Firefox,
    WebKit,
}

/// Makes three tests of each function, one per engine: `chromium::…`, `firefox::…` and `webkit::…`. The function takes
/// the [`Engine`].
#[allow(unused_macros, reason = "each test binary uses a part of it")]
macro_rules! in_every_browser {
    ($($test:ident),+ $(,)?) => {
        $crate::support::engine::in_one_browser!(chromium Chromium $($test)+);
        $crate::support::engine::in_one_browser!(firefox Firefox $($test)+);
        $crate::support::engine::in_one_browser!(webkit WebKit $($test)+);
    };
}

/// Makes one test of each function, `one_engine::…`, for behaviour that is the same in all engines. See
/// [`Engine::from_env`].
#[allow(unused_macros, reason = "each test binary uses a part of it")]
macro_rules! in_chromium {
    ($($test:ident),+ $(,)?) => {
        $crate::support::engine::in_one_browser!(@ one_engine, $crate::support::engine::Engine::from_env(), $($test)+);
    };
}

/// Makes one test of each function, `only_chromium::…`, which no other engine can run, for this reason.
#[allow(unused_macros, reason = "each test binary uses a part of it")]
macro_rules! only_in_chromium {
    ($reason:literal: $($(#[$attribute:meta])* $test:ident),+ $(,)?) => {
        $crate::support::engine::in_one_browser!(@ only_chromium, $crate::support::engine::Engine::Chromium, $($(#[$attribute])* $test)+);
    };
}

/// Makes one test of each function, `not_webkit::…`, as [`in_chromium!`] does, which WebKit cannot run, for the reason
/// before it.
#[allow(unused_macros, reason = "each test binary uses a part of it")]
macro_rules! not_in_webkit {
    ($($reason:literal: $(#[$attribute:meta])* $test:ident),+ $(,)?) => {
        $crate::support::engine::in_one_browser!(@ not_webkit, $crate::support::engine::Engine::from_env(), $($(#[$attribute])* $test)+);
    };
}

#[allow(unused_macros, reason = "each test binary uses a part of it")]
macro_rules! in_one_browser {
    ($module:ident $engine:ident $($test:ident)+) => {
        $crate::support::engine::in_one_browser!(@ $module, $crate::support::engine::Engine::$engine, $($test)+);
    };
    (@ $module:ident, $engine:expr, $($(#[$attribute:meta])* $test:ident)+) => {
        mod $module {
            $(
                #[tokio::test]
                $(#[$attribute])*
                async fn $test() {
                    super::$test($engine).await;
                }
            )+
        }
    };
}

#[allow(unused_imports, reason = "each test binary uses a part of it")]
pub(crate) use {in_chromium, in_every_browser, in_one_browser, not_in_webkit, only_in_chromium};

/// What a browser is started with.
#[derive(Clone, Copy, PartialEq)]
struct Settings {
    language: &'static str,
    has_proxy: bool,
    scripts: bool,
}

impl Settings {
    const USUAL: Self = Self { language: "en", has_proxy: false, scripts: true };
}

/// The engine of the tests that run in one engine. `cargo xtask test --all-engines` sets it.
const ENGINE: &str = "GUICHET_ENGINE";

impl Engine {
    /// The engine of a test that runs in one engine: Chromium, unless `GUICHET_ENGINE` is `firefox` or `webkit`.
    pub fn from_env() -> Self {
        match std::env::var(ENGINE).as_deref() {
            Err(_) | Ok("chromium") => Self::Chromium,
            Ok("firefox") => Self::Firefox,
            Ok("webkit") => Self::WebKit,
            Ok(other) => panic!("{ENGINE} is `{other}`. The engines are: chromium, firefox, webkit."),
        }
    }

    /// Starts a browser for one scenario, whose name is in the names of its screenshots.
    pub async fn start(self, scenario: &'static str) -> Browser {
        Browser::new(self.session(scenario, Settings::USUAL).await).await
    }

    /// The same with this language in `Accept-Language`.
    pub async fn start_in_language(self, scenario: &'static str, language: &'static str) -> Browser {
        Browser::new(self.session(scenario, Settings { language, ..Settings::USUAL }).await).await
    }

    /// The same with a network that the test can disconnect, stall and delay: [`Browser::proxy`].
    pub async fn start_with_proxy(self, scenario: &'static str) -> Browser {
        Browser::new(self.session(scenario, Settings { has_proxy: true, ..Settings::USUAL }).await).await
    }

    /// The same with scripts switched off in the browser. Chromium and Firefox only.
    pub async fn start_without_scripts(self, scenario: &'static str) -> Browser {
        Browser::new(self.session(scenario, Settings { scripts: false, ..Settings::USUAL }).await).await
    }

    async fn session(self, scenario: &'static str, settings: Settings) -> Session {
        /// Limits how many browsers tests use at a time: each is several processes and some hundreds of megabytes. Two
        /// more than there are cores, because a page mostly waits.
        static PERMITS: LazyLock<Semaphore> = LazyLock::new(|| {
            Semaphore::new(std::thread::available_parallelism().map_or(2, |cores| (cores.get() + 2).min(6)))
        });
        let permit = PERMITS.acquire().await.unwrap();
        let running = match self.idle(settings).await {
            Some(running) => running,
            None => self.launch(settings).await,
        };
        Session { engine: self, scenario, client: running.client.clone(), running: Some(running), permit: Some(permit) }
    }

    /// A browser of an earlier test that was started with these settings.
    async fn idle(self, settings: Settings) -> Option<Running> {
        loop {
            let running = {
                let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
                let index = idle.iter().position(|running| running.engine == self && running.settings == settings)?;
                idle.remove(index)
            };
            match running.client.windows().await {
                Ok(_) => {
                    if let Some(proxy) = &running.proxy {
                        proxy.renew();
                    }
                    return Some(running);
                }
                Err(error) => eprintln!("a {self:?} has ended while no test used it, so another is started: {error}"),
            }
        }
    }

    /// Starts a driver and its browser. A failed start is tried again, because a driver can be too slow on a busy
    /// machine.
    async fn launch(self, settings: Settings) -> Running {
        const ATTEMPTS: u32 = 3;
        // A proxy and a client end with the runtime that they were made in, and a reused browser outlives the runtime
        // of its first test.
        let proxy = match settings.has_proxy {
            true => Some(RUNTIME.spawn(Proxy::open()).await.unwrap()),
            false => None,
        };
        for attempt in 1.. {
            let mut driver = Driver::start(self, settings.language);
            let capabilities = self.capabilities(settings, proxy.as_ref().map(Proxy::address));
            let Value::Object(capabilities) = capabilities else { unreachable!("it is an object") };
            let address = format!("http://{}", driver.address);
            let connected = RUNTIME.spawn(async move {
                ClientBuilder::new(HttpConnector::new()).capabilities(capabilities).connect(&address).await
            });
            match connected.await.unwrap() {
                Ok(client) => {
                    driver.session = client.session_id().await.unwrap();
                    return Running { engine: self, settings, client, driver, proxy };
                }
                Err(error) if attempt == ATTEMPTS => panic!("{self:?} does not start: {error}"),
                Err(error) => eprintln!("{self:?} does not start, next attempt: {error}"),
            }
        }
        unreachable!("the last attempt returns or panics")
    }

    fn capabilities(self, Settings { language, scripts, .. }: Settings, proxy: Option<SocketAddr>) -> Value {
        let mut capabilities = match self {
            Self::Chromium => {
                let mut args = vec![
                    "--headless".to_owned(),
                    "--no-sandbox".to_owned(),
                    "--disable-gpu".to_owned(),
                    "--disable-dev-shm-usage".to_owned(),
                    "--disable-quic".to_owned(),
                    "--no-first-run".to_owned(),
                    "--disable-background-networking".to_owned(),
                    "--disable-component-update".to_owned(),
                    "--disable-sync".to_owned(),
                    format!("--lang={language}"),
                    format!("--accept-lang={language}"),
                    "--force-prefers-reduced-motion".to_owned(),
                ];
                if proxy.is_some() {
                    args.push("--proxy-bypass-list=<-loopback>".to_owned());
                }
                // 1 allows, 2 blocks.
                let prefs =
                    json!({ "profile.managed_default_content_settings.javascript": if scripts { 1 } else { 2 } });
                json!({ "goog:chromeOptions": { "args": args, "prefs": prefs }, "goog:loggingPrefs": { "browser": "ALL" } })
            }
            Self::Firefox => json!({ "moz:firefoxOptions": {
                "binary": installed(&["firefox-esr", "firefox"]).unwrap_or_else(|| panic!(
                    "Firefox is missing. `cargo xtask test` installs it, or `apt-get install firefox-esr`."
                )),
                "args": ["-headless"],
                "prefs": {
                    "intl.accept_languages": language,
                    "javascript.enabled": scripts,
                    "ui.prefersReducedMotion": 1,
                    "network.proxy.allow_hijacking_localhost": true,
                    "devtools.console.stdout.content": true,
                    "network.captive-portal-service.enabled": false,
                    "network.connectivity-service.enabled": false,
                },
            } }),
            Self::WebKit => json!({ "webkitgtk:browserOptions": {
                "binary": MINI_BROWSERS.iter().find(|binary| Path::new(binary).exists()).unwrap_or_else(|| panic!(
                    "WebKit's MiniBrowser is missing. `cargo xtask test` installs it, or `apt-get install webkit2gtk-driver`."
                )),
                "args": ["--automation", "--enable-write-console-messages-to-stdout=true"],
            } }),
        };
        capabilities["timeouts"] = json!({ "script": 60_000 });
        if let Some(proxy) = proxy {
            capabilities["proxy"] = json!({ "proxyType": "manual", "httpProxy": proxy.to_string() });
        }
        capabilities
    }
}

/// The paths of WebKit's browser on Debian, one per architecture.
const MINI_BROWSERS: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser",
    "/usr/lib/aarch64-linux-gnu/webkit2gtk-4.1/MiniBrowser",
    "/usr/libexec/webkit2gtk-4.1/MiniBrowser",
];

/// The use of a browser by a test. Afterwards the browser waits in [`IDLE`] for the next one, or ends if the test has
/// failed.
pub struct Session {
    pub engine: Engine,
    pub scenario: &'static str,
    pub client: Client,
    /// Always `Some` until it is dropped.
    running: Option<Running>,
    permit: Option<SemaphorePermit<'static>>,
}

/// A browser with its driver, and with its proxy if it has one.
struct Running {
    engine: Engine,
    settings: Settings,
    client: Client,
    driver: Driver,
    proxy: Option<Proxy>,
}

/// Browsers that no test uses at the moment, the oldest first.
static IDLE: Mutex<Vec<Running>> = Mutex::new(Vec::new());
/// The most of them: four of each engine.
const MOST_IDLE: usize = 12;
/// The runtime of the clients of all drivers, and of all proxies.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

impl Running {
    /// Clears all data of a test and waits in [`IDLE`] for the next one. Ends the browser if that fails, or the oldest
    /// if there are enough.
    async fn rest(mut self) {
        let cleared = tokio::time::timeout(Duration::from_secs(30), self.clear()).await;
        let ended = match cleared {
            Ok(Ok(())) => {
                let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
                idle.push(self);
                (idle.len() > MOST_IDLE).then(|| idle.remove(0))
            }
            failed => {
                eprintln!("cannot clear the data of a test in {:?}, so it ends: {failed:?}", self.engine);
                Some(self)
            }
        };
        // A driver waits until its browser has ended.
        let _ = tokio::task::spawn_blocking(|| drop(ended)).await;
    }

    async fn clear(&mut self) -> Result<(), CmdError> {
        // WebKit loads a page for it.
        if let Some(proxy) = &self.proxy {
            proxy.reconnect();
        }
        match self.engine {
            Engine::Chromium => reset::chromium(&self.client).await,
            Engine::Firefox => reset::firefox(&self.client).await,
            Engine::WebKit => reset::webkit(&self.client, self.driver.address).await,
        }?;
        // What is still requested is no request of the next test.
        if let Some(proxy) = &self.proxy {
            proxy.disconnect();
        }
        self.driver.output_start = self.driver.output.metadata().map_or(0, |file| file.len());
        Ok(())
    }
}

impl Session {
    /// The proxy of a browser that was started with one.
    pub fn proxy(&self) -> &Proxy {
        self.running.as_ref().and_then(|running| running.proxy.as_ref()).expect("it was started with a proxy")
    }

    /// Prints the page of a failed test, its console and the browser's output, and writes a screenshot.
    fn print_diagnostics(&self) {
        let (client, screenshot) = (self.client.clone(), diagnostics::file("png"));
        let (send, receive) = std::sync::mpsc::channel();
        // `drop` cannot await, so the runtime runs this and `drop` waits for the result.
        RUNTIME.spawn(async move {
            let page = async {
                let url = client.current_url().await?;
                let title = client.title().await?;
                let file = client.screenshot().await.map(|bytes| match std::fs::write(&screenshot, bytes) {
                    Ok(()) => screenshot.display().to_string(),
                    Err(error) => error.to_string(),
                })?;
                Ok::<_, fantoccini::error::CmdError>(format!("{url} {title:?}\n  screenshot: {file}"))
            };
            let page = page.await.unwrap_or_else(|error| error.to_string());
            // Only Chromium's driver returns the console. The others write it to their output.
            let console = client.issue_cmd(Console).await.unwrap_or_default();
            let _ = send.send((page, console));
        });
        let Ok((page, console)) = receive.recv_timeout(Duration::from_secs(20)) else {
            eprintln!("\n{:?} does not respond", self.engine);
            return;
        };
        eprintln!("\nthe page in {:?}: {page}", self.engine);
        for entry in console.as_array().into_iter().flatten() {
            eprintln!("  console: {} {}", entry["level"].as_str().unwrap_or_default(), entry["message"]);
        }
        if let Some(running) = &self.running {
            eprintln!("  output of the driver and its browser:\n{}", running.driver.output());
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // A failed test may leave its browser in any state.
            return self.print_diagnostics();
        }
        let (Some(running), permit) = (self.running.take(), self.permit.take()) else { return };
        // Now, not when another test begins: a page that no test uses would go on with its animations and requests.
        RUNTIME.spawn(async move {
            running.rest().await;
            // A test that has waited for the permit finds this browser.
            drop(permit);
        });
    }
}

/// A running WebDriver, and the virtual display that WebKit's browser needs.
struct Driver {
    address: SocketAddr,
    process: Child,
    session: Option<String>,
    display: Option<Child>,
    /// The driver ends when this is closed: see [`reset::ends_with_stdin`].
    stdin: Option<ChildStdin>,
    /// The output of the driver and its browser.
    output: File,
    /// The offset at which the output of the current test begins, in bytes.
    output_start: u64,
}

impl Driver {
    fn start(engine: Engine, language: &str) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], port::free()));
        let port = address.port();
        let (name, variable, package) = match engine {
            Engine::Chromium => ("chromedriver", "CHROMEDRIVER", "apt-get install chromium-driver"),
            Engine::Firefox => (
                "geckodriver",
                "GECKODRIVER",
                "cargo install geckodriver --version 0.37.1 --locked --debug --root target/tools",
            ),
            Engine::WebKit => ("WebKitWebDriver", "WEBKITWEBDRIVER", "apt-get install webkit2gtk-driver"),
        };
        let program = std::env::var_os(variable).or_else(|| installed(&[name]).map(OsString::from));
        let program =
            program.unwrap_or_else(|| panic!("{name} is missing. `cargo xtask test` installs it, or `{package}`."));
        let mut command = reset::ends_with_stdin(&program);
        command.arg(format!("--port={port}"));
        let mut display = None;
        match engine {
            Engine::Chromium => {}
            // Port 0: each Firefox picks a free port for its remote protocol.
            Engine::Firefox => drop(command.args(["--websocket-port=0", "--allow-system-access"])),
            Engine::WebKit => {
                let (process, name) = start_display();
                display = Some(process);
                command.env("DISPLAY", name).env("LANGUAGE", language).env("LIBGL_ALWAYS_SOFTWARE", "1");
                command.env("GDK_BACKEND", "x11").env("NO_AT_BRIDGE", "1");
            }
        }
        command.stdin(Stdio::piped());
        let output = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let process = command.stdout(output.try_clone().unwrap()).stderr(output.try_clone().unwrap()).spawn();
        let mut process = process.unwrap_or_else(|error| panic!("{name} cannot be started: {error}"));
        let stdin = process.stdin.take();
        let driver = Self { address, process, session: None, display, stdin, output, output_start: 0 };
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(start.elapsed() < STARTUP_TIMEOUT, "{name} does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        driver
    }
}

impl Driver {
    /// The last lines that the driver and its browser have written since this test began.
    fn output(&self) -> String {
        const LINES: usize = 60;
        let length = self.output.metadata().map_or(0, |file| file.len()).saturating_sub(self.output_start);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        // `read_at`, because the writers share the file's position.
        let _ = self.output.read_exact_at(&mut bytes, self.output_start);
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].iter().map(|proxy| format!("    {proxy}\n")).collect()
    }
}

impl Drop for Driver {
    /// Deletes the WebDriver session first: the driver then ends its browser, which would go on if the driver were
    /// killed.
    fn drop(&mut self) {
        if let Some(session) = &self.session
            && let Ok(mut stream) = TcpStream::connect(self.address)
        {
            let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
            let _ = write!(
                stream,
                "DELETE /session/{session} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
                self.address
            );
            let _ = stream.read(&mut [0; 64]);
        }
        drop(self.stdin.take());
        let _ = self.process.wait();
        if let Some(display) = &mut self.display {
            drop(display.stdin.take());
            let _ = display.wait();
        }
    }
}

/// Starts a virtual X display. Returns its process and its name.
fn start_display() -> (Child, String) {
    let process = reset::ends_with_stdin("Xvfb".as_ref())
        .args(["-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp", "-noreset"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut process = process.expect("Xvfb is missing. `cargo xtask test` installs it, or `apt-get install xvfb`.");
    let mut number = String::new();
    let read = process.stdout.as_mut().map(|stdout| BufReader::new(stdout).read_line(&mut number));
    assert!(matches!(read, Some(Ok(2..))), "Xvfb opens no display");
    (process, format!(":{}", number.trim()))
}

/// The path of the first of these programs that is installed, in `target/tools/bin` or on PATH.
fn installed(names: &[&str]) -> Option<PathBuf> {
    let own = crate::support::root().join("target/tools/bin");
    let folders: Vec<PathBuf> =
        std::iter::once(own).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())).collect();
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|file| file.is_file())
}

/// Reads Chromium's console messages since the last such command.
#[derive(Debug)]
pub(super) struct Console;

impl WebDriverCompatibleCommand for Console {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "type": "browser" }).to_string()))
    }
}
