//! The package as its users get it: pages that each bundler builds from the npm tarball call a real sandbox in
//! Chromium.
//!
//! `cargo xtask test` builds the pages with locked versions of each tool (`tests/consumers/toolchains/`), `--newest`
//! with the newest, and then runs these tests.

use crate::support::browser::{Browser, until};
use crate::support::engine::{Engine, not_in_webkit};
use crate::support::wait::TIMEOUT;
use crate::support::{http, npm_tools, port, root};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::http::{HeaderValue, Response};
use axum::middleware::{map_request, map_response, map_response_with_state};
use axum::routing::post;
use axum::{Json, Router};
use guichet::operations::{CreatePaymentIntent, CustomerName};
use guichet::values::{Amount, Email, MerchantReference};
use guichet::{Client, SecretKey};
use guichet_sandbox::Sandbox;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tower_http::services::ServeDir;
use url::form_urlencoded::Serializer;

/// Makes a test of each bundler; `plain` is none: the package's files, by their addresses.
macro_rules! pages_made_by {
    ($($bundler:ident)+) => {
        mod a_page_calls_that_is_made_by {$(
            #[tokio::test]
            #[ignore = "needs files that `cargo xtask test` builds"]
            async fn $bundler() {
                super::Consumer::of(stringify!($bundler)).await.calls_by_both_entries().await;
            }
        )+}
    };
}

pages_made_by!(plain vite vite_4 vite_5 vite_6 vite_7 webpack esbuild rollup parcel);

/// If the entry shared a module with a part that loads on demand, a bundler would make a second file of it, a round
/// trip later.
#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn the_first_fee_needs_one_script_and_as_many_rounds_as_by_hand() {
    let (service, browser) = (Service::open().await, Browser::start("first-fee").await);
    let session = Json(json!({ "session_token": service.token }));
    let folder = out().join("first-fee");
    let pages = Router::new()
        .route("/merchant/session", post(async move || session.clone()))
        .fallback_service(ServeDir::new(&folder))
        // As over a network: requests that a page sends together overlap.
        .layer(map_response(async |response: Response<Body>| {
            tokio::time::sleep(Duration::from_millis(100)).await;
            response
        }));
    let url = http::serve(pages).await;
    for bundler in ["esbuild", "esbuild-iife", "esbuild-splitting", "vite", "webpack"] {
        for (page, files) in [("hand", &["js"][..]), ("inside", &["js"]), ("beside", &["js", "wasm"])] {
            let page = format!("{bundler}-{page}/index.html");
            let parameters = format!("service={}&amount=5000", service.sandbox.base_url());
            browser.open(&format!("{url}/{page}?{parameters}")).await;
            let first = browser.run_async("return await first").await;
            if page.starts_with("esbuild-iife-beside/") {
                assert!(
                    first["text"].as_str().is_some_and(|text| text.contains("Import `guichet`")),
                    "{page}: {first}"
                );
                continue;
            }
            let requests: Vec<&str> = first["requests"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let mut found: Vec<&str> = requests
                .iter()
                .filter(|request| request.starts_with(&url) && !request.ends_with("/session"))
                .filter_map(|request| Some(request.rsplit_once('.')?.1))
                .collect();
            found.sort_unstable();
            assert_eq!(found, files, "{page}: {first}");
            // The script, the session and the fee. The wasm comes beside the session.
            assert_eq!(first["rounds"], 3, "{page}: {first}");
        }
    }
    // A bundler that writes one file puts the embedded wasm into the page of `guichet` alone.
    let length = |page: &str| fs::metadata(folder.join(page).join("main.js")).expect("the bundle").len();
    let wasm = fs::metadata(folder.join("esbuild-beside/core/guichet_core_bg.wasm")).expect("the wasm").len();
    assert!(length("esbuild-inside") > wasm && length("esbuild-beside") < wasm / 2);
}

not_in_webkit!(
    "WebKitGTK's `fetch` uses no preload and loads the file twice":
    #[ignore = "needs files that `cargo xtask test` builds"]
    the_preload_links_of_the_readme_load_the_wasm_that_the_page_uses,
);

async fn the_preload_links_of_the_readme_load_the_wasm_that_the_page_uses(engine: Engine) {
    let consumer = Consumer::of("vite").await;
    for page in ["link", "url"] {
        // Both pages have the same wasm, which a browser may keep in its cache.
        let browser = engine.start("preload").await;
        consumer.requests.lock().unwrap().clear();
        consumer
            .service
            .is_called_by(&browser, &format!("{}/vite-preload-{page}/index.html", consumer.url), true)
            .await;
        let requests = consumer.requests.lock().unwrap().clone();
        assert_eq!(requests.iter().filter(|path| path.ends_with(".wasm")).count(), 1, "{page}: {requests:?}");
        let preloads = "return document.querySelector('link[rel=preload]').href.endsWith('.wasm')";
        assert_eq!(browser.run(preloads).await, true, "{page}");
        browser.close().await;
    }
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn the_server_that_vite_develops_with_serves_a_page_that_calls() {
    a_page_calls_that_is_served_by("vite").await;
}

async fn a_page_calls_that_is_served_by(vite: &str) {
    let service = Service::open().await;
    let browser = Browser::start("vite-dev").await;
    for (entry, has_wasm_file) in ENTRIES {
        // A package of its own, because Vite keeps its cache beside the nearest package.json.
        let (pages, folder) = (project().join("pages").join(entry), PathBuf::from(format!("{vite}-{entry}")));
        let page = project().join(&folder);
        fs::create_dir_all(&page).expect("a folder");
        fs::write(page.join("package.json"), "{}").expect("a file");
        for file in ["index.html", "main.js"] {
            fs::copy(pages.join(file), page.join(file)).expect("`cargo xtask test` writes the pages");
        }
        let vite = NodeServer::vite(vite, &folder, &[]);
        service.is_called_by(&browser, &format!("{}/index.html", vite.url), has_wasm_file).await;
        // Vite's script reloads a page whose server has ended, and Firefox's driver takes that for the next navigation.
        browser.open("about:blank").await;
    }
}

/// Applications of the newest of each framework, and older versions of Vite. All but the newest Vite load the embedded
/// wasm in development: they move the script away from the file.
mod frameworks {
    use super::{Application, BOTH, Built};

    #[tokio::test]
    #[ignore = "needs files that `cargo xtask test` builds"]
    async fn vite_4_to_7_in_development() {
        for version in ["vite-4", "vite-5", "vite-6", "vite-7"] {
            super::a_page_calls_that_is_served_by(version).await;
        }
    }

    macro_rules! applications {
        ($($name:ident: $develop:expr, $built:expr, $forms:expr;)+) => {$(
            #[tokio::test]
            #[ignore = "needs files that `cargo xtask test` builds"]
            async fn $name() {
                let application = Application { name: stringify!($name), develop: &$develop, built: $built, forms: &$forms };
                application.calls_in_development_and_as_built().await;
            }
        )+};
    }

    applications!(
        svelte: ["vite"], Built::Files("dist"), BOTH;
        sveltekit: ["vite"], Built::Server(&["../node_modules/.bin/vite", "preview"]), BOTH;
        nuxt: ["nuxt", "dev", "--no-fork"], Built::Server(&[".output/server/index.mjs"]), BOTH;
        astro: ["astro", "dev"], Built::Files("dist"), BOTH;
        angular: ["ng", "serve"], Built::Files("dist/browser"), BOTH;
        react_router: ["react-router", "dev"], Built::Server(&["../node_modules/.bin/react-router-serve", "build/server/index.js"]), BOTH;
        gatsby: [], Built::Files("public"), BOTH;
        storybook: ["storybook", "dev", "--ci"], Built::Files("storybook-static"), ["/iframe.html?id=shop--inside", "/iframe.html?id=shop--beside"];
        metro: [], Built::Files("public"), ["/"];
    );
}

/// An application of `tests/consumers/`.
struct Application {
    name: &'static str,
    /// The command that serves it in development, with its arguments. None for Metro, which serves no page, and for
    /// Gatsby, which answers before its page is there.
    develop: &'static [&'static str],
    built: Built,
    /// The pages of each entry that it imports.
    forms: &'static [&'static str],
}

/// An application that imports both entries, by its address.
const BOTH: [&str; 2] = ["/", "/?beside"];

/// What serves the application that is built: any server of files, or a script.
enum Built {
    Files(&'static str),
    Server(&'static [&'static str]),
}

impl Application {
    async fn calls_in_development_and_as_built(self) {
        let folder = root().join(format!("target/npm-{}/application", self.name.replace('_', "-")));
        let (service, browser) = (Service::open().await, Browser::start(self.name).await);
        if let [program, arguments @ ..] = self.develop {
            let program = format!("../node_modules/.bin/{program}");
            let server = NodeServer::start(&folder, &[&[&*program], arguments].concat(), &[]);
            service.is_called_by_each_form(&browser, &server.url, self.forms).await;
        }
        match self.built {
            Built::Files(files) => {
                let url = http::serve(Router::new().fallback_service(ServeDir::new(folder.join(files)))).await;
                service.is_called_by_each_form(&browser, &url, self.forms).await;
            }
            Built::Server(script) => {
                let server = NodeServer::start(&folder, script, &[]);
                service.is_called_by_each_form(&browser, &server.url, self.forms).await;
            }
        }
        browser.close().await;
    }
}

/// The folders of the pages, and whether they load the wasm as a file.
const ENTRIES: [(&str, bool); 2] = [("inside", false), ("beside", true)];

/// The pages of one bundler, served under the README's content security policy, and the sandbox that they call.
struct Consumer {
    bundler: &'static str,
    service: Service,
    url: String,
    /// The paths of all requests.
    requests: Arc<Mutex<Vec<String>>>,
}

impl Consumer {
    async fn of(bundler: &'static str) -> Self {
        let service = Service::open().await;
        // Parcel writes an import map into a page whose scripts import others when they run.
        let inline = if bundler == "parcel" { "'unsafe-inline'" } else { "" };
        let policy = format!(
            "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' {inline}; connect-src 'self' {}; img-src data:; base-uri 'none'",
            service.sandbox.base_url()
        );
        let policy = HeaderValue::from_str(&policy).expect("an address is a header value");
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let book = Arc::clone(&requests);
        let pages = Router::new()
            .fallback_service(ServeDir::new(out()))
            .layer(map_response_with_state(policy, guarded))
            .layer(map_request(move |request: Request| {
                book.lock().unwrap().push(request.uri().path().to_owned());
                std::future::ready(request)
            }));
        let url = http::serve(pages).await;
        Self { bundler, service, url, requests }
    }

    async fn calls_by_both_entries(self) {
        let browser = Browser::start(self.bundler).await;
        for (entry, has_wasm_file) in ENTRIES {
            let page = format!("{}/{}-{entry}/index.html", self.url, self.bundler);
            self.service.is_called_by(&browser, &page, has_wasm_file).await;
        }
    }
}

async fn guarded(State(policy): State<HeaderValue>, mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    response
}

/// A sandbox with a session and an unpaid payment.
struct Service {
    sandbox: Sandbox,
    /// The session's token.
    token: String,
    /// The parameters in the page's address.
    parameters: String,
}

impl Service {
    async fn open() -> Self {
        let sandbox = Sandbox::start().await.expect("a sandbox");
        let key = SecretKey::new(sandbox.secret_key().expose()).expect("a secret key");
        let client = Client::builder(sandbox.base_url(), key).build().expect("a client");
        let email = Email::new("awa@example.com").expect("an e-mail address");
        let session = client.create_session(&email).await.expect("a session");
        let reference = MerchantReference::new("ORDER-17").expect("a reference");
        let amount = Amount::units(45_000);
        let order =
            CreatePaymentIntent::new(reference, amount, "Shoes", CustomerName { firstname: "Awa", lastname: "Ngono" })
                .email(email);
        let intent = client.create_payment_intent(&order).await.expect("a payment");
        let parameters = Serializer::new(String::new())
            .append_pair("service", sandbox.base_url())
            .append_pair("token", session.session_token.expose())
            .append_pair("checkout", intent.checkout_url.expect("a checkout address").expose())
            .finish();
        Self { token: session.session_token.expose().to_owned(), sandbox, parameters }
    }

    /// Opens the page and checks what it shows and whether it has requested a wasm file.
    async fn is_called_by(&self, browser: &Browser, page: &str, has_wasm_file: bool) {
        self.is_called(browser, page).await;
        let requested = "return performance.getEntriesByType('resource').some(({ name }) => new URL(name).pathname.endsWith('.wasm'))";
        if has_wasm_file {
            // Firefox lists a file some time after the page has used it.
            until(&format!("{page} has requested a wasm file"), async || browser.run(requested).await == true).await;
        } else {
            assert_eq!(browser.run(requested).await, false, "{page} requests no wasm file");
        }
    }

    /// Opens the forms of an application. Frameworks may load files early that only the other form uses.
    async fn is_called_by_each_form(&self, browser: &Browser, application: &str, forms: &[&str]) {
        for form in forms {
            self.is_called(browser, &format!("{application}{form}")).await;
            browser.open("about:blank").await;
        }
    }

    /// Opens the page and checks what it shows.
    async fn is_called(&self, browser: &Browser, page: &str) {
        browser.open(&format!("{page}#{}", self.parameters)).await;
        let shown = browser.wait_for("#shown[data-state]").await;
        let found: Value = serde_json::from_str(&shown).unwrap_or_else(|_| panic!("{page} shows:\n{shown}"));
        assert_eq!(
            (&found["valid"], &found["methods"], &found["status"]),
            (&json!(true), &json!(["svc_mobile_money", "svc_card"]), &json!("requires_action")),
            "{page}"
        );
        assert!(found["total"].as_str().is_some_and(|total| total.contains("FCFA")), "{page}: {found}");
    }
}

/// A server in Node.js.
pub(crate) struct NodeServer {
    process: Child,
    pub(crate) url: String,
}

impl NodeServer {
    /// Serves a folder of the project that has the packages by a version of Vite, with these environment variables.
    pub(crate) fn vite(package: &str, folder: &Path, variables: &[(&str, &str)]) -> Self {
        let vite = npm_tools().join(format!("node_modules/{package}/bin/vite.js"));
        let arguments = [vite.as_os_str(), folder.as_os_str(), OsStr::new("--strictPort")];
        Self::start(&project(), &arguments, variables)
    }

    /// Runs a script with these arguments, and with the address as Vite takes it and as servers of Node.js do.
    pub(crate) fn start(folder: &Path, arguments: &[impl AsRef<OsStr>], variables: &[(&str, &str)]) -> Self {
        let port = port::free().to_string();
        let mut command = Command::new("node");
        command.current_dir(folder).args(arguments).args(["--host", "127.0.0.1", "--port", &port]);
        command.envs([("HOST", "127.0.0.1"), ("PORT", &port), ("NG_CLI_ANALYTICS", "false")]);
        command.envs([("ASTRO_TELEMETRY_DISABLED", "1"), ("NUXT_TELEMETRY_DISABLED", "1")]);
        command.envs([("GATSBY_TELEMETRY_DISABLED", "1"), ("STORYBOOK_DISABLE_TELEMETRY", "1")]);
        command.envs(variables.iter().copied()).stdin(Stdio::null()).stdout(Stdio::null());
        let started =
            Self { process: command.spawn().expect("Node.js starts"), url: format!("http://127.0.0.1:{port}") };
        let begun = Instant::now();
        while !answers(&port) {
            assert!(begun.elapsed() < TIMEOUT, "{command:?} does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        started
    }
}

/// Whether a server answers requests at a port. Vite first tries a port by another server, which closes what it has
/// accepted.
fn answers(port: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(format!("127.0.0.1:{port}")) else { return false };
    stream.set_read_timeout(Some(TIMEOUT)).expect("a time");
    let sent = stream.write_all(b"GET / HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
    sent.is_ok() && stream.read(&mut [0]).is_ok_and(|read| read > 0)
}

impl Drop for NodeServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What the consumers of the packages have built.
fn out() -> PathBuf {
    root().join("target/consumers/out")
}

/// The project that has the packages, below the tools that have built from it.
pub(crate) fn project() -> PathBuf {
    npm_tools().join("project")
}
