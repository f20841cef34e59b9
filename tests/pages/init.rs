//! `guichet-sandbox init`: a customer buys in the shop that it writes into an empty folder, which is run by the lines
//! that it prints.
//!
//! `cargo xtask test` installs the tarball before these tests. PHP needs nothing else, and `--newest` also runs those
//! that npm installs.

use crate::package::{NodeServer, project};
use crate::react::pay;
use crate::support::browser::{Browser, until};
use crate::support::child::{ends_with_tests, spawn};
use crate::support::folder::Folder;
use crate::support::wait::TIMEOUT;
use crate::support::{port, root};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn php() {
    a_customer_buys("php", EXAMPLE_PAGE).await;
}

mod with_packages {
    macro_rules! kinds {
        ($($kind:ident: $page:ident)+) => {$(
            #[tokio::test]
            #[ignore = "needs files that `cargo xtask test` builds"]
            async fn $kind() {
                super::a_customer_buys(stringify!($kind), super::$page).await;
            }
        )+};
    }

    kinds!(express: EXAMPLE_PAGE next: NEXT_PAGE);

    /// The steps of `docs/page.md`.
    #[tokio::test]
    #[ignore = "needs files that `cargo xtask test` builds"]
    async fn a_page_behind_the_proxy_of_vite() {
        super::a_customer_buys_behind_vite().await;
    }
}

/// What the page shows once its script runs, what a customer clicks to sign in and to pay, and where the page says that
/// they have paid.
type Page = [&'static str; 4];
const EXAMPLE_PAGE: Page = [".primary.trainers", "#sign-in button", ".primary.trainers:enabled", "#message"];
const NEXT_PAGE: Page = ["header button", "header button", "#pay", "[role=status]"];

async fn a_customer_buys(kind: &str, [drawn, sign_in, checkout, message]: Page) {
    let (folder, lines) = init(kind);
    let url = format!("http://127.0.0.1:{}", port::free());
    // The last line takes the place of the shell.
    let mut shop = Shop::run(folder, &lines.join(" && exec "), url, &[("GUICHET_BASE_URL", "http://127.0.0.1:0")]);
    let browser = Browser::start("init").await;
    shop.is_open().await;
    browser.open(&shop.url).await;
    browser.wait_for(drawn).await;
    browser.click(sign_in).await;
    browser.click(checkout).await;
    pay(&browser).await;
    browser.wait_for_text(message, "Thank you").await;
    browser.close().await;
    until("the order is paid", async || shop.log().contains(" is paid.")).await;
    shop.stops_and_leaves_no_database().await;
}

async fn a_customer_buys_behind_vite() {
    let (folder, [install, start]) = init("express");
    let run = |line: &str| Command::new("sh").args(["-c", line]).current_dir(&folder.path).status().expect("a shell");
    assert!(run(&format!("{install} && npm install --save-dev vite")).success());
    let [server, service] = [port::free(), port::free()].map(|port| format!("http://127.0.0.1:{port}"));
    let document = fs::read_to_string(root().join("docs/page.md")).expect("a document");
    let config = document.split_once("```javascript\n").and_then(|(_, rest)| rest.split_once("```"));
    let config = config.expect("a configuration of Vite").0.replace("http://127.0.0.1:8000", &server);
    let script = include_str!("init/page.js").replace("http://127.0.0.1:4243", &service);
    let page = folder.path.join("shop");
    for (file, text) in
        [("vite.config.mjs", &*config), ("index.html", include_str!("init/index.html")), ("page.js", &script)]
    {
        fs::write(page.join(file), text).expect("a file");
    }
    let vite = NodeServer::start(&page, &["node_modules/vite/bin/vite.js", "--strictPort"], &[]);
    let port = server.rsplit_once(':').expect("a port").1;
    let variables = [("GUICHET_BASE_URL", &*service), ("PORT", port)];
    let mut shop = Shop::run(folder, &format!("cd shop && exec {start}"), vite.url.clone(), &variables);
    let browser = Browser::start("init").await;
    shop.is_open().await;
    browser.open(&shop.url).await;
    browser.click("#sign-in").await;
    browser.wait_for_text("#message", "3 prices").await;
    browser.click("#pay").await;
    pay(&browser).await;
    browser.wait_for_text("#message", "succeeded").await;
    browser.close().await;
    shop.stops_and_leaves_no_database().await;
}

/// Writes a shop of this kind into a new folder. Returns the lines that run it there.
fn init(kind: &str) -> (Folder, [String; 2]) {
    let folder = Folder::new("init");
    let command = project().join("node_modules/guichet-sandbox/bin.js");
    let name = if kind == "php" { "Awa's \"shop\" for $HOME" } else { "shop" };
    let init = Command::new("node").arg(command).args(["init", kind, name]).current_dir(&folder.path).output();
    let init = init.expect("Node.js starts");
    let printed = String::from_utf8_lossy(&[init.stdout, init.stderr].concat()).into_owned();
    let lines: Vec<String> = printed.lines().filter_map(|line| line.strip_prefix("  ").map(str::to_owned)).collect();
    assert!(init.status.success(), "{printed}");
    (folder, lines.try_into().unwrap_or_else(|_| panic!("{printed}")))
}

/// A shop that runs.
struct Shop {
    folder: Folder,
    url: String,
    shell: Child,
}

impl Shop {
    fn run(folder: Folder, lines: &str, url: String, variables: &[(&str, &str)]) -> Self {
        let temporary = folder.path.join("temporary");
        fs::create_dir(&temporary).expect("a folder");
        let log = File::create(folder.log()).expect("a log");
        let mut shell = ends_with_tests("sh");
        shell.args(["-c", lines]).current_dir(&folder.path);
        shell.env("SHOP_URL", &url).env("TMPDIR", &temporary).env("NEXT_TELEMETRY_DISABLED", "1");
        for variable in ["GUICHET_SECRET_KEY", "PORT", "SHOP_DATABASE"] {
            shell.env_remove(variable);
        }
        shell.envs(variables.iter().copied());
        shell.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
        Self { shell: spawn(shell), folder, url }
    }

    /// An installation may take minutes.
    async fn is_open(&mut self) {
        while !self.log().contains("The shop  ") {
            assert!(self.end().is_none(), "it has ended:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn stops_and_leaves_no_database(mut self) {
        self.ask_to_stop();
        let begun = Instant::now();
        let end = loop {
            if let Some(end) = self.end() {
                break end;
            }
            assert!(begun.elapsed() < TIMEOUT, "it does not stop:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        assert!(end.success(), "{end}:\n{}", self.log());
        let left = fs::read_dir(self.temporary()).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("guichet-")).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    fn ask_to_stop(&self) {
        let _ = Command::new("kill").arg(self.shell.id().to_string()).status();
    }

    fn end(&mut self) -> Option<ExitStatus> {
        self.shell.try_wait().expect("a process")
    }

    /// Where the shop's database is.
    fn temporary(&self) -> PathBuf {
        self.folder.path.join("temporary")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.log()).unwrap_or_default()
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        if self.end().is_none() {
            self.ask_to_stop();
            let _ = self.shell.wait();
        }
        if std::thread::panicking() {
            eprintln!("\nthe shop's log:\n{}", self.log());
        }
    }
}
