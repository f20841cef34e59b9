//! A server of `examples/` as a process of its own, and visitors who send requests to it.

use crate::support::api::{self, Reply};
use crate::support::folder::Folder;
use crate::support::http;
use crate::support::port;
use crate::support::postgres::PostgresServer;
use crate::support::root;
use axum::Router;
use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tower_http::services::ServeDir;

/// A server to copy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Server {
    Express,
    Php,
    /// The shop of `tests/shop/server.mjs` on `node:http`, with the store in PostgreSQL of guichet-server.
    Postgres,
}

impl Server {
    fn file(self) -> &'static str {
        match self {
            Self::Express => "examples/express/server.mjs",
            Self::Php => "examples/php/shop.php",
            Self::Postgres => "tests/shop/server.mjs",
        }
    }

    /// The command that serves the shop.
    fn serve(self, address: &str) -> Command {
        match self {
            Self::Express | Self::Postgres => command("node", &["server.mjs"]),
            Self::Php => command("php", &["-S", address, "-t", "page", "shop.php"]),
        }
    }

    /// The command that settles payments once. The servers in Node.js have a timer instead.
    fn settle(self) -> Option<Command> {
        match self {
            Self::Express | Self::Postgres => None,
            Self::Php => Some(command("php", &["shop.php", "settle"])),
        }
    }
}

/// A running server. When it is dropped, its process is killed, and its log is printed if the test has failed.
pub struct ShopServer {
    server: Server,
    pub url: String,
    settings: Settings,
    folder: Folder,
    process: Child,
    /// The files of a page at another origin, for as long as the server runs.
    _page: Option<Folder>,
}

/// The service, the key there, and the address of the database if it is no file.
#[derive(Clone, Default)]
struct Settings {
    service: String,
    key: String,
    database: Option<String>,
    /// The origin of the page, if that is another one.
    page: Option<String>,
    /// The file of a payment company's profile.
    profile: Option<PathBuf>,
}

impl ShopServer {
    /// Copies a server and its page into a folder, and starts it there.
    pub async fn start(server: Server, service: &str, key: &str) -> Self {
        let database = (server == Server::Postgres).then(|| PostgresServer::shared().create_database());
        let (service, key) = (service.to_owned(), key.to_owned());
        Self::start_with(server, Settings { service, key, database, ..Settings::default() }).await
    }

    /// The same, with the page at another origin of the site. Returns that, too.
    pub async fn start_for_a_page_elsewhere(server: Server, service: &str, key: &str) -> (Self, String) {
        let (files, url) = (Folder::new("page"), own_url());
        for entry in fs::read_dir(root().join("examples/page")).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), files.path.join(entry.file_name())).unwrap();
        }
        let html = fs::read_to_string(files.path.join("index.html")).unwrap();
        let named = html
            .replace("<link rel=\"icon\"", &format!("<meta name=\"server\" content=\"{url}\">\n<link rel=\"icon\""));
        assert_ne!(named, html);
        fs::write(files.path.join("index.html"), named).unwrap();
        let package = ServeDir::new(root().join("target/npm/package"));
        let pages = Router::new().nest_service("/package", package).fallback_service(ServeDir::new(&files.path));
        let page = http::serve(pages).await;
        let (service, key) = (service.to_owned(), key.to_owned());
        let settings = Settings { service, key, page: Some(page.clone()), ..Settings::default() };
        (Self::start_at(url, copy(server), server, settings, Some(files)).await, page)
    }

    /// The same for a page at this origin, which nobody serves.
    pub async fn start_for_a_page_at(server: Server, service: &str, key: &str, page: &str) -> Self {
        let [service, key, page] = [service, key, page].map(str::to_owned);
        Self::start_with(server, Settings { service, key, page: Some(page), ..Settings::default() }).await
    }

    /// The same at the service of a payment company with this profile.
    pub async fn start_by_profile(server: Server, service: &str, key: &str, profile: PathBuf) -> Self {
        let (service, key, profile) = (service.to_owned(), key.to_owned(), Some(profile));
        Self::start_with(server, Settings { service, key, profile, ..Settings::default() }).await
    }

    /// Starts another server on the same database.
    pub async fn beside(&self) -> Self {
        Self::start_with(self.server, self.settings.clone()).await
    }

    /// Starts a server whose file is changed to this text.
    pub async fn start_changed(server: Server, service: &str, key: &str, source: &str) -> Self {
        let folder = copy(server);
        let file = Path::new(server.file()).file_name().unwrap();
        fs::write(folder.path.join(file), source).unwrap();
        let settings = Settings { service: service.to_owned(), key: key.to_owned(), ..Settings::default() };
        Self::start_at(own_url(), folder, server, settings, None).await
    }

    async fn start_with(server: Server, settings: Settings) -> Self {
        Self::start_at(own_url(), copy(server), server, settings, None).await
    }

    async fn start_at(url: String, folder: Folder, server: Server, settings: Settings, page: Option<Folder>) -> Self {
        let process = spawn(server, &folder, &url, &settings);
        let shop = Self { server, url, settings, folder, process, _page: page };
        shop.is_open().await;
        shop
    }

    /// Kills the process and starts another one on the same database.
    pub async fn restart(&mut self) {
        self.kill();
        self.process = spawn(self.server, &self.folder, &self.url, &self.settings);
        self.is_open().await;
    }

    /// Kills the process with SIGKILL.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Sends SIGTERM, as a container's runtime does.
    pub fn terminate(&self) {
        let kill = Command::new("kill").arg("-TERM").arg(self.process.id().to_string()).status().unwrap();
        assert!(kill.success());
    }

    /// How the process has ended, which must happen within ten seconds.
    pub async fn ended(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "{:?} does not end:\n{}", self.server, self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Runs the command for cron once, if the server has one. Express settles by its own timer.
    pub fn settle(&self) {
        let Some(mut run) = self.start_settling() else { return };
        let status = run.wait().unwrap();
        assert!(status.success(), "{:?}: settling fails: {status}\n{}", self.server, self.log());
    }

    /// Starts the command for cron, if the server has one.
    pub fn start_settling(&self) -> Option<Child> {
        let mut command = self.server.settle()?;
        prepare(&mut command, &self.folder, &self.url, &self.settings);
        Some(command.spawn().unwrap())
    }

    /// Runs statements on the shop's database.
    pub async fn execute(&mut self, statements: &str) {
        execute(&self.file("shop.sqlite"), statements).await;
    }

    /// Lets nobody write to the database, until the connection is closed.
    pub async fn lock_database(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.file("shop.sqlite"));
        let mut database = SqliteConnection::connect_with(&options).await.unwrap();
        sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut database).await.unwrap();
        database
    }

    /// A file in the shop's folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path.join(name)
    }

    /// The cookies of a login of Awa, signed with a key that is derived from the payment key, as Express's
    /// cookie-session does. PHP signs no cookie.
    pub fn forged_login(&self) -> Option<String> {
        if self.server != Server::Express {
            return None;
        }
        let mut command = command("node", &["-e", FORGED_FOR_EXPRESS]);
        let output = command.env("GUICHET_SECRET_KEY", &self.settings.key).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }

    /// Settles until the log contains this line.
    pub async fn settles(&self, line: &str) {
        let begun = Instant::now();
        while self.count(line) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not log {line:?}:\n{}", self.log());
            self.settle();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// How many lines of the log contain this text.
    pub fn count(&self, text: &str) -> usize {
        self.log().lines().filter(|line| line.contains(text)).count()
    }

    /// Everything that the server and its command have printed.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.log()).unwrap()).into_owned()
    }

    /// Runs `guichet check`, whose service listens at this address, against the server, with these options more.
    /// Returns its report, and whether every rule passed.
    pub async fn check(&mut self, service: &str, more: &[&str]) -> (bool, String) {
        let report = self.folder.path.with_file_name("report");
        let mut command = Command::new(env!("CARGO_BIN_EXE_guichet"));
        command.args(["check", &self.url, "--listen", service]).env("GUICHET_SECRET_KEY", &self.settings.key);
        for order in 17..25 {
            command.args(["--order", &format!(r#"{{"id":"{order}","product":"trainers"}}"#)]);
        }
        for customer in ["awa", "paul"] {
            command.args(["--login", &format!(r#"POST /sign-in {{"customer":"{customer}"}}"#)]);
        }
        command.args(["--order-pattern", r#"{"id":"N-%d","product":"trainers"}"#]);
        command.args(self.settings.page.iter().flat_map(|page| ["--page-origin", page]));
        // The loop below does what these files request.
        let [reprice, restart] = ["reprice", "restart"].map(|name| self.file(name));
        let wait = |file: &Path| format!(": > '{0}'; while [ -e '{0}' ]; do sleep 0.05; done", file.display());
        if self.server == Server::Postgres {
            // Its store is what differs from Express in SQLite.
            command.args(["--only", "orders", "--only", "payments"]);
        } else {
            command.args(["--reprice", &wait(&reprice), "--log"]).arg(self.folder.log());
        }
        command.args(["--restart", &wait(&restart)]);
        command.args(["--orders", &books(&self.folder.log())]);
        if let Some(settle) = self.settle_line() {
            command.args(["--settle", &settle]);
        }
        command.args(more);
        let output = File::create(&report).unwrap();
        let mut check = command.stdout(output.try_clone().unwrap()).stderr(output).spawn().unwrap();
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = check.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > Duration::from_secs(1500) {
                check.kill().unwrap();
                panic!("the check takes more than 25 minutes:\n{}", fs::read_to_string(report).unwrap());
            }
            if reprice.exists() {
                self.execute("UPDATE products SET amount = '47500'").await;
                fs::remove_file(&reprice).unwrap();
            }
            if restart.exists() {
                self.kill();
                self.process = spawn(self.server, &self.folder, &self.url, &self.settings);
                fs::remove_file(&restart).unwrap();
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        (status.success(), fs::read_to_string(report).unwrap())
    }

    /// The command for cron as a line of the shell.
    fn settle_line(&self) -> Option<String> {
        let command = self.server.settle()?;
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<String> = words.map(|word| format!("'{}'", word.to_string_lossy())).collect();
        let (folder, log, words) = (self.folder.path.display(), self.folder.log(), words.join(" "));
        let Settings { service, key, page, .. } = &self.settings;
        let page = page.as_ref().map(|page| format!("SHOP_ORIGIN={} ", careless(page))).unwrap_or_default();
        let settings = format!("{page}GUICHET_BASE_URL={service} GUICHET_SECRET_KEY={key} SHOP_URL={}", self.url);
        Some(format!("cd '{folder}' && {settings} {words} >> '{}' 2>&1", log.display()))
    }

    async fn is_open(&self) {
        let begun = Instant::now();
        while api::client().get(format!("{}/shop", self.url)).send().await.is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?} does not start:\n{}", self.server, self.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// A command that prints what this log says about the order of `GUICHET_REFERENCE`: `paid`, `refund_due 45900`. A
/// payment is called as its order, or that and a number after a dash.
pub fn books(log: &Path) -> String {
    let awk = r#"match($0, /ORDER-[-A-Za-z0-9_]+/) {
        name = substr($0, RSTART, RLENGTH)
        if (index(of "-", name "-") != 1) next
        if (/ is paid\./) print "paid"
        else if (match($0, /a refund of [0-9]+/)) print "refund_due " substr($0, RSTART + 12, RLENGTH - 12)
    }"#;
    format!(r#"awk -v of="$GUICHET_REFERENCE" '{awk}' '{}'"#, log.display())
}

impl Drop for ShopServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            eprintln!("\nthe log of {:?}:\n{}", self.server, self.log());
        }
    }
}

const FORGED_FOR_EXPRESS: &str = "
    const { createHmac } = require('node:crypto');
    const key = createHmac('sha256', process.env.GUICHET_SECRET_KEY).update('session cookie').digest('hex');
    const value = Buffer.from(JSON.stringify({ customer: 'awa', email: 'awa@example.com' })).toString('base64');
    const signature = createHmac('sha1', key).update(`shop=${value}`).digest('base64url');
    console.log(`shop=${value}; shop.sig=${signature}`);
";

/// Runs statements on a database of SQLite.
pub async fn execute(database: &Path, statements: &str) {
    let options = SqliteConnectOptions::new().filename(database);
    let mut database = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements.to_owned())).execute(&mut database).await.unwrap();
    database.close().await.unwrap();
}

/// A browser without a page: it keeps cookies.
#[derive(Clone)]
pub struct Visitor {
    shop: String,
    cookies: BTreeMap<String, String>,
}

impl Visitor {
    /// A visitor who has seen the shop's page.
    pub async fn of(shop: &ShopServer) -> Self {
        let mut visitor = Self { shop: shop.url.clone(), cookies: BTreeMap::new() };
        visitor.send("GET", "/", None, &[]).await;
        visitor
    }

    /// The same, signed in.
    pub async fn signed_in(shop: &ShopServer, customer: &str) -> Self {
        let mut visitor = Self::of(shop).await;
        let reply = visitor.send("POST", "/sign-in", Some(&format!(r#"{{"customer":"{customer}"}}"#)), &[]).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        visitor
    }

    /// The same, with cookies that are separated as in a request.
    pub async fn with_cookies(shop: &ShopServer, cookies: &str) -> Self {
        let mut visitor = Self::of(shop).await;
        let pairs = cookies.split("; ").map(|cookie| cookie.split_once('=').unwrap());
        visitor.cookies.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        visitor
    }

    /// Sends a request with these headers.
    pub async fn send(&mut self, method: &str, path: &str, body: Option<&str>, headers: &[(&str, &str)]) -> Reply {
        let reply = self.request(method, path, body, headers).await;
        for cookie in reply.header_values("set-cookie") {
            let (name, value) = cookie.split(';').next().unwrap_or_default().split_once('=').unwrap_or_default();
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        reply
    }

    /// The same, but cookies that the shop sets are ignored.
    pub async fn request(&self, method: &str, path: &str, body: Option<&str>, headers: &[(&str, &str)]) -> Reply {
        self.try_request(method, path, body, headers).await.unwrap()
    }

    /// Sends a form of the shop's page, and follows no redirect.
    pub async fn form(&self, path: &str, fields: &str) -> http::Reply {
        let cookies: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let cookies = format!("Cookie: {}", cookies.join("; "));
        let headers = ["Content-Type: application/x-www-form-urlencoded", &format!("Origin: {}", self.shop), &cookies];
        http::post(&format!("{}{path}", self.shop), &headers, fields).await
    }

    /// Sends an order of trainers, as the page does.
    pub async fn order(&self, basket: &str) -> Reply {
        self.try_order(basket).await.unwrap()
    }

    /// The same. An error if the connection ends before the response.
    pub async fn try_order(&self, basket: &str) -> Result<Reply, reqwest::Error> {
        let order = format!(r#"{{"id":"{basket}","product":"trainers","amount":"1","merchant_reference":"x"}}"#);
        self.try_request("POST", "/guichet/intents", Some(&order), &[("origin", &self.shop)]).await
    }

    async fn try_request(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
        headers: &[(&str, &str)],
    ) -> Result<Reply, reqwest::Error> {
        let cookies: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let cookies = cookies.join("; ");
        let mut all = headers.to_vec();
        all.push(("cookie", &cookies));
        let url = format!("{}{path}", self.shop);
        api::try_send(&api::client(), method, &url, None, body.map(|body| body.to_owned().into()), &all).await
    }
}

/// An address for a server.
fn own_url() -> String {
    format!("http://127.0.0.1:{}", port::free())
}

/// Copies a server and its page into a folder.
fn copy(server: Server) -> Folder {
    let folder = Folder::new("server");
    let file = root().join(server.file());
    fs::copy(&file, folder.path.join(file.file_name().unwrap())).unwrap();
    if server == Server::Php {
        for part in ["ledger.php", "ledger_profile.php", "ledger_store.php", "ledger_run.php"] {
            fs::copy(file.with_file_name(part), folder.path.join(part)).unwrap();
        }
    }
    let page = folder.path.join("page");
    fs::create_dir(&page).unwrap();
    for entry in fs::read_dir(root().join("examples/page")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), page.join(entry.file_name())).unwrap();
    }
    match server {
        Server::Express | Server::Postgres => install(&folder.path.join("node_modules")),
        Server::Php => symlink(root().join("target/npm/package"), page.join("package")).unwrap(),
    }
    folder
}

/// Starts a server, or its command for cron, with another value of an environment variable, or without it. Returns how
/// it ends and what it prints.
pub fn start_wrongly(server: Server, (name, value): (&str, Option<&str>)) -> (ExitStatus, String) {
    end_of(server, server.settle().unwrap_or_else(|| server.serve("127.0.0.1:0")), |command| {
        command.env_remove(name).envs(value.map(|value| (name, value)));
    })
}

/// Starts a server's file with an argument. Returns how it ends and what it prints.
pub fn start_with_argument(server: Server, argument: &str) -> (ExitStatus, String) {
    let program = match server {
        Server::Express | Server::Postgres => command("node", &["server.mjs"]),
        Server::Php => command("php", &["shop.php"]),
    };
    end_of(server, program, |command| {
        command.arg(argument);
    })
}

fn end_of(server: Server, mut command: Command, change: impl FnOnce(&mut Command)) -> (ExitStatus, String) {
    let folder = copy(server);
    let (service, key) = ("http://127.0.0.1:1".to_owned(), "sk_test_1".to_owned());
    prepare(&mut command, &folder, "http://127.0.0.1:8000", &Settings { service, key, ..Settings::default() });
    change(&mut command);
    let mut process = command.spawn().unwrap();
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = process.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > Duration::from_secs(30) {
            process.kill().unwrap();
            panic!("it starts: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    (status, fs::read_to_string(folder.log()).unwrap())
}

/// `node_modules/` of the installed packages, of `pg`, `guichet` and `guichet-server`.
fn install(modules: &Path) {
    let installed = root().join("target/npm-express/node_modules");
    fs::create_dir(modules).unwrap();
    for entry in fs::read_dir(&installed).unwrap_or_else(|_| panic!("`cargo xtask test` installs {installed:?}")) {
        let entry = entry.unwrap();
        symlink(entry.path(), modules.join(entry.file_name())).unwrap();
    }
    let others = [("guichet", "npm/package"), ("guichet-server", "npm/server"), ("pg", "npm-tools/node_modules/pg")];
    for (name, folder) in others {
        symlink(root().join("target").join(folder), modules.join(name)).unwrap();
    }
}

/// Runs a script of `tests/shop` with an argument, beside that folder's files and the packages of the servers in
/// Node.js.
pub fn run_in_node(script: &str, argument: &str) {
    let folder = Folder::new("script");
    for file in fs::read_dir(root().join("tests/shop")).unwrap().map(|file| file.unwrap().path()) {
        fs::copy(&file, folder.path.join(file.file_name().unwrap())).unwrap();
    }
    install(&folder.path.join("node_modules"));
    let output = command("node", &[script, argument]).current_dir(&folder.path).output().unwrap();
    assert!(output.status.success(), "{script} {argument}: {}", String::from_utf8_lossy(&output.stderr));
}

fn spawn(server: Server, folder: &Folder, url: &str, settings: &Settings) -> Child {
    let mut command = server.serve(url.trim_start_matches("http://"));
    prepare(&mut command, folder, url, settings);
    command.spawn().unwrap_or_else(|error| panic!("{server:?}: {error}. `cargo xtask test` installs what it needs."))
}

fn prepare(command: &mut Command, folder: &Folder, url: &str, settings: &Settings) {
    let log = File::options().create(true).append(true).open(folder.log()).unwrap();
    command.current_dir(&folder.path).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    let Settings { service, key, database, page, profile } = settings;
    command.env("GUICHET_BASE_URL", service).env("GUICHET_SECRET_KEY", key).env("SHOP_URL", url);
    command.env_remove("SHOP_DATABASE").env_remove("PORT");
    // Nobody listens there: the key goes to no proxy of the environment.
    command.envs(["http_proxy", "https_proxy", "all_proxy"].map(|name| (name, "http://127.0.0.1:1")));
    // A name that is not loopback's: browsers reach the service by another one.
    if service.contains("//0.0.0.0:") {
        command.env("GUICHET_PLAIN_HOSTS", "0.0.0.0");
        command.env("GUICHET_PUBLIC_URL", service.replace("0.0.0.0", "127.0.0.1"));
    }
    command.envs(database.as_ref().map(|database| ("SHOP_DATABASE", database)));
    command.envs(page.as_ref().map(|page| ("SHOP_ORIGIN", careless(page))));
    command.env_remove("GUICHET_PROFILE").envs(profile.as_ref().map(|profile| ("GUICHET_PROFILE", profile)));
}

/// An origin as a person may type it, and no browser writes it.
fn careless(origin: &str) -> String {
    format!("{}/", origin.to_uppercase())
}

fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}
