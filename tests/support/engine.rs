//! The engines that customers' browsers are made of, each headless under its WebDriver.
//!
//! `cargo xtask test` installs what they need; where a driver is missing, a test fails with how to get it.

use super::browser::Browser;
use super::line::Line;
use super::{evidence, firefox, port};
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

/// How long a driver may take to listen.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a browser is made of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Engine {
    Chromium,
    Firefox,
    WebKit,
}

/// One test of each function an engine, `chromium::…`, `firefox::…` and `webkit::…`: the functions take the [`Engine`].
#[allow(unused_macros, reason = "each test binary uses a part of it")]
macro_rules! in_every_browser {
    ($($test:ident),+ $(,)?) => {
        $crate::support::engine::in_one_browser!(chromium Chromium $($test)+);
        $crate::support::engine::in_one_browser!(firefox Firefox $($test)+);
        $crate::support::engine::in_one_browser!(webkit WebKit $($test)+);
    };
}

/// One test for each function, `one_engine::…`: for what does not differ between engines. See [`Engine::usual`].
#[allow(unused_macros, reason = "each test binary uses a part of it")]
macro_rules! in_chromium {
    ($($test:ident),+ $(,)?) => {
        $crate::support::engine::in_one_browser!(@ one_engine, $crate::support::engine::Engine::usual(), $($test)+);
    };
}

#[allow(unused_macros, reason = "each test binary uses a part of it")]
macro_rules! in_one_browser {
    ($module:ident $engine:ident $($test:ident)+) => {
        $crate::support::engine::in_one_browser!(@ $module, $crate::support::engine::Engine::$engine, $($test)+);
    };
    (@ $module:ident, $engine:expr, $($test:ident)+) => {
        mod $module {
            $(
                #[tokio::test]
                async fn $test() {
                    super::$test($engine).await;
                }
            )+
        }
    };
}

#[allow(unused_imports, reason = "each test binary uses a part of it")]
pub(crate) use {in_chromium, in_every_browser, in_one_browser};

/// Names the engine of the tests that run in one: `firefox` or `webkit`. `cargo xtask test --all-engines` sets it.
const ENGINE: &str = "GUICHET_ENGINE";

impl Engine {
    /// The engine of a test that runs in one: Chromium, unless `GUICHET_ENGINE` names another.
    pub fn usual() -> Self {
        match std::env::var(ENGINE).as_deref() {
            Err(_) | Ok("chromium") => Self::Chromium,
            Ok("firefox") => Self::Firefox,
            Ok("webkit") => Self::WebKit,
            Ok(other) => panic!("{ENGINE} is `{other}`. The engines are: chromium, firefox, webkit."),
        }
    }

    /// Starts a browser for one journey of a customer.
    pub async fn start(self, journey: &'static str) -> Browser {
        Browser::under(self.session(journey, "en", None).await).await
    }

    /// The same for a customer whose browser speaks this language.
    pub async fn start_in(self, journey: &'static str, language: &str) -> Browser {
        Browser::under(self.session(journey, language, None).await).await
    }

    /// The same for a customer whose network the test holds in its hand.
    pub async fn start_on(self, line: &Line, journey: &'static str) -> Browser {
        Browser::under(self.session(journey, "en", Some(line.address())).await).await
    }

    async fn session(self, journey: &'static str, language: &str, proxy: Option<SocketAddr>) -> Session {
        /// A browser is several processes and some hundreds of megabytes.
        static PLACES: LazyLock<Semaphore> = LazyLock::new(|| {
            Semaphore::new(std::thread::available_parallelism().map_or(1, |cores| cores.get().min(4)))
        });
        let place = PLACES.acquire().await.unwrap();
        let (client, driver) = match self.kept(language, proxy).await {
            Some(kept) => kept,
            None => self.launch(language, proxy).await,
        };
        let keep = self == Self::Firefox && language == KEPT_LANGUAGE;
        Session { engine: self, journey, client, driver: Some(driver), keep, _place: place }
    }

    /// A browser that an earlier test left, without anything of that test. Only Firefox is worth keeping: it takes four
    /// times as long to start as the others.
    async fn kept(self, language: &str, proxy: Option<SocketAddr>) -> Option<(Client, Driver)> {
        if self != Self::Firefox || language != KEPT_LANGUAGE {
            return None;
        }
        let (client, mut driver) = KEPT.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        match firefox::reset(&client, proxy).await {
            Ok(()) => {
                driver.before = driver.output.metadata().map_or(0, |file| file.len());
                Some((client, driver))
            }
            Err(error) => {
                eprintln!("a Firefox that an earlier test left is started anew: {error}");
                None
            }
        }
    }

    /// Starts a driver and its browser. What fails is tried again, for a driver can be too slow on a busy machine.
    async fn launch(self, language: &str, proxy: Option<SocketAddr>) -> (Client, Driver) {
        const ATTEMPTS: u32 = 3;
        for attempt in 1.. {
            let mut driver = Driver::start(self, language);
            let Value::Object(capabilities) = self.capabilities(language, proxy) else {
                unreachable!("it is an object")
            };
            let address = format!("http://{}", driver.address);
            // A client ends with the runtime that made it, and a kept browser outlives its first test's.
            let connected = RUNTIME.spawn(async move {
                ClientBuilder::new(HttpConnector::new()).capabilities(capabilities).connect(&address).await
            });
            match connected.await.unwrap() {
                Ok(client) => {
                    driver.session = client.session_id().await.unwrap();
                    return (client, driver);
                }
                Err(error) if attempt == ATTEMPTS => panic!("{self:?} does not start: {error}"),
                Err(error) => eprintln!("{self:?} does not start, and is started again: {error}"),
            }
        }
        unreachable!("the last attempt returns or panics")
    }

    fn capabilities(self, language: &str, proxy: Option<SocketAddr>) -> Value {
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
                json!({ "goog:chromeOptions": { "args": args }, "goog:loggingPrefs": { "browser": "ALL" } })
            }
            Self::Firefox => json!({ "moz:firefoxOptions": {
                "binary": installed(&["firefox-esr", "firefox"]).unwrap_or_else(|| panic!(
                    "Firefox is not there: `cargo xtask test` installs it, or `apt-get install firefox-esr`"
                )),
                "args": ["-headless"],
                "prefs": {
                    "intl.accept_languages": language,
                    "ui.prefersReducedMotion": 1,
                    "network.proxy.allow_hijacking_localhost": true,
                    "devtools.console.stdout.content": true,
                    "network.captive-portal-service.enabled": false,
                    "network.connectivity-service.enabled": false,
                },
            } }),
            Self::WebKit => json!({ "webkitgtk:browserOptions": {
                "binary": MINI_BROWSERS.iter().find(|binary| Path::new(binary).exists()).unwrap_or_else(|| panic!(
                    "WebKit's browser is not there: `cargo xtask test` installs it, or `apt-get install webkit2gtk-driver`"
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

/// Where Debian has it, for each of its machines.
const MINI_BROWSERS: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser",
    "/usr/lib/aarch64-linux-gnu/webkit2gtk-4.1/MiniBrowser",
    "/usr/libexec/webkit2gtk-4.1/MiniBrowser",
];

/// A browser under its driver. When it is dropped, both end or are kept for the next test.
pub struct Session {
    pub engine: Engine,
    pub journey: &'static str,
    pub client: Client,
    driver: Option<Driver>,
    keep: bool,
    _place: SemaphorePermit<'static>,
}

/// The language of browsers that are kept.
const KEPT_LANGUAGE: &str = "en";

static KEPT: Mutex<Vec<(Client, Driver)>> = Mutex::new(Vec::new());
/// Where the clients of all drivers run.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

impl Session {
    /// Prints what the page of a failed test looks like, and what it and its browser have said.
    fn print_evidence(&self) {
        let (client, picture) = (self.client.clone(), evidence::file("png"));
        let (send, receive) = std::sync::mpsc::channel();
        // Here nothing can be awaited.
        RUNTIME.spawn(async move {
            let page = async {
                let url = client.current_url().await?;
                let title = client.title().await?;
                let file = client.screenshot().await.map(|bytes| match std::fs::write(&picture, bytes) {
                    Ok(()) => picture.display().to_string(),
                    Err(error) => error.to_string(),
                })?;
                Ok::<_, fantoccini::error::CmdError>(format!("{url} {title:?}\n  picture: {file}"))
            };
            let page = page.await.unwrap_or_else(|error| error.to_string());
            // Chromium alone keeps its console for its driver; the others write it to their output.
            let console = client.issue_cmd(Console).await.unwrap_or_default();
            let _ = send.send((page, console));
        });
        let Ok((page, console)) = receive.recv_timeout(Duration::from_secs(20)) else {
            eprintln!("\n{:?} does not answer", self.engine);
            return;
        };
        eprintln!("\nthe page in {:?}: {page}", self.engine);
        for entry in console.as_array().into_iter().flatten() {
            eprintln!("  console: {} {}", entry["level"].as_str().unwrap_or_default(), entry["message"]);
        }
        if let Some(driver) = &self.driver {
            eprintln!("  the driver and its browser have written:\n{}", driver.output());
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.print_evidence();
        }
        // A failed test may leave its browser in any state.
        if self.keep
            && !std::thread::panicking()
            && let Some(driver) = self.driver.take()
        {
            KEPT.lock().unwrap_or_else(PoisonError::into_inner).push((self.client.clone(), driver));
        }
    }
}

/// A WebDriver that listens, and the screen of a browser that needs one.
struct Driver {
    address: SocketAddr,
    process: Child,
    session: Option<String>,
    screen: Option<Child>,
    /// While this is open, the driver runs.
    leash: Option<ChildStdin>,
    /// What it and its browser write.
    output: File,
    /// How much of that an earlier test has caused.
    before: u64,
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
        let program = program
            .unwrap_or_else(|| panic!("{name} is not there: `cargo xtask test` installs it, or by hand: `{package}`"));
        let mut command = match engine {
            Engine::Firefox => firefox::on_a_leash(&program),
            Engine::Chromium | Engine::WebKit => Command::new(program),
        };
        command.arg(format!("--port={port}"));
        let mut screen = None;
        match engine {
            Engine::Chromium => {}
            // Each Firefox finds a port of its own for what speaks to it.
            Engine::Firefox => drop(command.args(["--websocket-port=0", "--allow-system-access"])),
            Engine::WebKit => {
                let (process, display) = start_screen();
                screen = Some(process);
                command.env("DISPLAY", display).env("LANGUAGE", language).env("LIBGL_ALWAYS_SOFTWARE", "1");
                command.env("GDK_BACKEND", "x11").env("NO_AT_BRIDGE", "1");
            }
        }
        command.stdin(if engine == Engine::Firefox { Stdio::piped() } else { Stdio::null() });
        let output = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let process = command.stdout(output.try_clone().unwrap()).stderr(output.try_clone().unwrap()).spawn();
        let mut process = process.unwrap_or_else(|error| panic!("{name} cannot be started: {error}"));
        let leash = process.stdin.take();
        let driver = Self { address, process, session: None, screen, leash, output, before: 0 };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(begun.elapsed() < PATIENCE, "{name} does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        driver
    }
}

impl Driver {
    /// What it and its browser have written since this test began, the last lines of it.
    fn output(&self) -> String {
        const LINES: usize = 60;
        let length = self.output.metadata().map_or(0, |file| file.len()).saturating_sub(self.before);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        // Its position belongs to those who write.
        let _ = self.output.read_exact_at(&mut bytes, self.before);
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].iter().map(|line| format!("    {line}\n")).collect()
    }
}

impl Drop for Driver {
    /// The driver ends its browser; one that is killed leaves it behind.
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
        if self.leash.take().is_none() {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
        if let Some(screen) = &mut self.screen {
            let _ = screen.kill();
            let _ = screen.wait();
        }
    }
}

/// A screen that nobody looks at, and its name.
fn start_screen() -> (Child, String) {
    let process = Command::new("Xvfb")
        .args(["-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp", "-noreset"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut process =
        process.expect("Xvfb is not there: `cargo xtask test` installs it, or by hand: `apt-get install xvfb`");
    let mut number = String::new();
    let said = process.stdout.as_mut().map(|stdout| BufReader::new(stdout).read_line(&mut number));
    assert!(matches!(said, Some(Ok(2..))), "Xvfb opens no screen");
    (process, format!(":{}", number.trim()))
}

/// Where the first of these programs is: among the project's own tools, or on PATH.
fn installed(names: &[&str]) -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/bin");
    let folders: Vec<PathBuf> =
        std::iter::once(own).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())).collect();
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|file| file.is_file())
}

/// Chromium's console, as its driver has collected it since it was last asked.
#[derive(Debug)]
struct Console;

impl WebDriverCompatibleCommand for Console {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "type": "browser" }).to_string()))
    }
}
