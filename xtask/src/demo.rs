//! `cargo xtask demo`: builds and starts a shop and the service it uses.
//! `cargo xtask demo --check`: makes a purchase there in a headless browser. `--pictures` also renews those of the
//! documents.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::cargo::{self, Artifact, at_root, cargo, root, run};
use crate::npm::{Tools, remove};
use crate::package::Packed;
use crate::steps::{Steps, in_background};
use crate::{package, setup};

/// What a purchase needs. One command builds both packages, because each selection of packages has features of its own.
const PROGRAMS: [&str; 3] = ["--package=guichet-cli", "--package=guichet-shop", "--bins"];
/// How long the programs have to stop.
const STOPPING: Duration = Duration::from_secs(6);

#[derive(clap::Args)]
pub struct Options {
    /// Make the same purchase in a headless browser, step by step, with a screenshot of each page in target/demo/
    #[arg(long)]
    check: bool,
    /// The same, and copy some of the screenshots to docs/pictures/
    #[arg(long)]
    pictures: bool,
    /// Options of the shop, such as `-- --listen 127.0.0.1:8080`
    #[arg(last = true)]
    shop: Vec<String>,
}

pub fn command(options: &Options) -> Result<()> {
    match options {
        Options { pictures: true, .. } => check_purchase().and_then(|()| renew_pictures()),
        Options { check: true, .. } => check_purchase(),
        Options { shop, .. } => open_shop(shop),
    }
}

/// Builds everything that a purchase needs, then runs the sandbox and the shop until Ctrl-C.
fn open_shop(args: &[String]) -> Result<()> {
    let mut steps = Steps::start();
    let (packed, built) = build(&mut steps)?;
    let program = |name: &str| cargo::program(name, &built).map(at_root);
    println!("\nReady after {}. Starting the shop; Ctrl-C stops it.\n", steps.elapsed());

    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let mut running = Running(Vec::new());
    let service = running.sandbox(program("guichet")?, &packed.folder)?;
    // Not under `--json`, which prints one line.
    if let Some(inspector) = service["inspector_url"].as_str().filter(|_| !args.iter().any(|arg| arg == "--json")) {
        println!("  The inspector        {inspector}    (opens it once)\n");
    }
    running.shop(program("guichet-shop")?.arg("--package").arg(&packed.folder).args(args), &service)?;
    running.until(&stop)
}

/// Builds the programs, and beside them the package of their pages: both have long parts that use one core.
fn build(steps: &mut Steps) -> Result<(Packed, Vec<Artifact>)> {
    steps.step("the wasm32 target", setup::wasm_target)?;
    let progress = Progress::start();
    let package = in_background("the package of their pages", |_| package::build(None));
    let programs = steps.step("the shop and the sandbox", |_| cargo::build(cargo(["build"]).args(PROGRAMS)));
    let packed = steps.join(package);
    progress.end()?;
    Ok((packed?, programs?))
}

/// A build from nothing: how many artifacts it has, and the seconds that it took.
#[derive(Clone, Copy)]
struct Whole {
    artifacts: usize,
    seconds: u64,
}

impl Whole {
    /// On two cores that have nothing else to do.
    const USUAL: Self = Self { artifacts: 419, seconds: 120 };
    /// Whatever takes less has found most artifacts.
    const LEAST_SECONDS: u64 = 60;

    /// Where the last one of this folder is kept.
    fn file() -> PathBuf {
        root().join("target/demo-build")
    }

    fn last() -> Option<Self> {
        let kept = fs::read_to_string(Self::file()).ok()?;
        let (artifacts, seconds) = kept.split_once(' ')?;
        Some(Self { artifacts: artifacts.parse().ok()?, seconds: seconds.parse().ok()? })
    }

    /// How far a build of so many artifacts is.
    fn progress(self, built: usize) -> String {
        let percent = (100 * built / self.artifacts).min(99);
        let left = self.seconds * (100 - percent as u64) / 100;
        format!("   {percent} % is built; about {left} s are left")
    }
}

/// Prints every ten seconds how far the build is, until it ends.
struct Progress {
    begun: Instant,
    printer: JoinHandle<()>,
    is_done: Arc<AtomicBool>,
}

impl Progress {
    fn start() -> Self {
        let is_done = Arc::new(AtomicBool::new(false));
        let whole = Whole::last().unwrap_or(Whole::USUAL);
        let done = Arc::clone(&is_done);
        let printer = thread::spawn(move || {
            loop {
                thread::park_timeout(Duration::from_secs(10));
                if done.load(Ordering::Relaxed) {
                    break;
                }
                println!("{}", whole.progress(cargo::built()));
            }
        });
        Self { begun: crate::steps::now(), printer, is_done }
    }

    /// Ends it, and keeps what a build from nothing took.
    fn end(self) -> Result<()> {
        self.is_done.store(true, Ordering::Relaxed);
        self.printer.thread().unpark();
        let (artifacts, seconds) = (cargo::built(), self.begun.elapsed().as_secs());
        if seconds >= Whole::LEAST_SECONDS {
            fs::write(Whole::file(), format!("{artifacts} {seconds}"))?;
        }
        Ok(())
    }
}

/// The programs that run. They end with this.
struct Running(Vec<Child>);

impl Running {
    /// Starts the sandbox, and returns the line that it prints when it is ready.
    fn sandbox(&mut self, mut sandbox: Command, package: &Path) -> Result<Value> {
        sandbox.args(["sandbox", "--json", "--merchant-name", "Pas à Pas", "--package"]).arg(package);
        let mut child = sandbox.stdout(Stdio::piped()).spawn().context("the sandbox could not be started")?;
        let stdout = child.stdout.take().expect("standard output was piped");
        self.0.push(child);
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        // If it has not started, it has printed why.
        serde_json::from_str(&line).context("the sandbox did not start")
    }

    fn shop(&mut self, shop: &mut Command, service: &Value) -> Result<()> {
        let text = |name: &str| service[name].as_str().with_context(|| format!("the sandbox printed no {name}"));
        shop.args(["--base-url", text("base_url")?]).env("GUICHET_SECRET_KEY", text("secret_key")?);
        self.0.push(shop.spawn().context("the shop could not be started")?);
        Ok(())
    }

    /// Waits for Ctrl-C or SIGTERM. Fails if a program ends before.
    fn until(&mut self, stop: &AtomicBool) -> Result<()> {
        while !stop.load(Ordering::Relaxed) {
            for child in &mut self.0 {
                if let Some(status) = child.try_wait()?.filter(|_| !stop.load(Ordering::Relaxed)) {
                    bail!("the demo has ended ({status})");
                }
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Running {
    /// Stops the programs gently, because Ctrl-C reaches them too and SIGTERM does not, and then by force.
    fn drop(&mut self) {
        for child in &self.0 {
            #[cfg(unix)]
            let _ = Command::new("kill").arg(child.id().to_string()).stderr(Stdio::null()).status();
        }
        let start = crate::steps::now();
        for child in &mut self.0 {
            while matches!(child.try_wait(), Ok(None)) && start.elapsed() < STOPPING {
                thread::sleep(Duration::from_millis(10));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The documents' pictures, and the screenshots of which they are copies.
const PICTURES: [(&str, &str); 6] = [
    ("shop.png", "paid-02-what-each-way-of-paying-costs-phone.png"),
    ("checkout.png", "paid-03-the-hosted-checkout-page-phone.png"),
    ("inspector.png", "inspector-late-1280-light.png"),
    ("inspector-list.png", "inspector-list-1280-light.png"),
    ("inspector-handset.png", "inspector-handset-320-dark.png"),
    ("bookkeeper.png", "bookkeeper-en-1280-light.png"),
];

fn renew_pictures() -> Result<()> {
    // Their screenshots come from the tests of accessibility, which need axe-core.
    let tools = Tools::locked()?;
    let pages = ["--test=pages", "--", "--include-ignored", "--test-threads=1", "inspector::", "bookkeeper::"];
    let mut tests = cargo(["test"]);
    tests.args(&PROGRAMS[..2]).args(pages).env("GUICHET_NPM_TOOLS", tools.folder());
    run(tests.env("GUICHET_PICTURES", root().join("target/demo")))?;
    for (picture, screenshot) in PICTURES {
        let from = root().join("target/demo").join(screenshot);
        fs::copy(&from, root().join("docs/pictures").join(picture)).with_context(|| from.display().to_string())?;
    }
    Ok(())
}

/// Makes the purchase in a headless browser. The test prints each step with its time.
fn check_purchase() -> Result<()> {
    let mut steps = Steps::start();
    steps.step("the wasm32 target", setup::wasm_target)?;
    steps.step("the browser", setup::chromium)?;
    package::quick(&mut steps)?;
    steps.step("the shop, the sandbox and the customer", |_| run(cargo(["build", "--test=pages"]).args(PROGRAMS)))?;
    let pictures = root().join("target/demo");
    let bought = steps.step("the purchase", |_| {
        // Old screenshots would be mistaken for new ones.
        remove(&pictures)?;
        let purchase = ["--test=pages", "--", "purchase::chromium", "--nocapture", "--test-threads=1"];
        run(cargo(["test"]).args(&PROGRAMS[..2]).args(purchase).env("GUICHET_PICTURES", &pictures))
    });
    println!("\n{}", steps.table());
    let count = fs::read_dir(&pictures).map_or(0, Iterator::count);
    println!("\n{count} screenshots in target/demo/");
    bought
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_progress_says_how_much_is_built_and_how_long_is_left() {
        let whole = Whole { artifacts: 400, seconds: 200 };
        assert_eq!(whole.progress(0), "   0 % is built; about 200 s are left");
        assert_eq!(whole.progress(300), "   75 % is built; about 50 s are left");
        assert_eq!(whole.progress(500), "   99 % is built; about 2 s are left");
    }
}
