//! Installs the tools that a run needs besides cargo.
//!
//! Each function first checks whether the tool is there. If not, it installs it if that needs no
//! confirmation (a target with rustup; a Debian package as root; a program with cargo, under `target/`).
//! Otherwise the error says what is missing and how to install it.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, bail, ensure};

use crate::cargo::{at_root, cargo, root, run};
use crate::npm::{Tools, run_quietly};
use crate::steps::Steps;

const WASM: &str = "wasm32-unknown-unknown";

/// The standard library for wasm32.
pub fn wasm_target(remark: &mut String) -> Result<()> {
    if has_wasm_target()? {
        *remark = "already installed".to_owned();
        return Ok(());
    }
    if find("rustup").is_none() {
        bail!(
            "Rust's standard library for {WASM} is missing, and so is rustup, which would add it.\n\
             Install rustup (https://rustup.rs), or your distribution's package for that target\n\
             (Debian: apt-get install libstd-rust-dev-wasm32), and run this again."
        );
    }
    println!("   missing: adding it by `rustup target add {WASM}`");
    run(at_root("rustup").args(["target", "add", WASM]))
        .with_context(|| format!("the target {WASM} could not be added"))?;
    *remark = "added".to_owned();
    Ok(())
}

fn has_wasm_target() -> Result<bool> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = at_root(rustc)
        .args(["--print", "target-libdir", "--target", WASM])
        .output()
        .context("rustc could not be started")?;
    let folder = String::from_utf8_lossy(&output.stdout);
    Ok(output.status.success() && Path::new(folder.trim()).exists())
}

/// Chromium and its WebDriver, for the purchase that `cargo xtask demo --check` makes.
pub fn chromium(remark: &mut String) -> Result<()> {
    require(&CHROMIUM, ELSEWHERE, remark)
}

/// The path of Chromium.
pub fn chromium_program() -> Result<PathBuf> {
    CHROMIUM[0].names.iter().find_map(|name| find(name)).context("Chromium is missing. `cargo xtask test` installs it.")
}

/// A browser of each engine with its WebDriver: Chromium, Firefox and WebKit.
pub fn browsers(remark: &mut String) -> Result<()> {
    let [chromium, chromedriver] = CHROMIUM;
    let [firefox, webkit, screen] = MORE_BROWSERS;
    let mut geckodriver_remark = String::new();
    // Both are tried, so that everything that is missing is reported at once.
    let packages = require(&[chromium, chromedriver, firefox, webkit, screen], ELSEWHERE, remark);
    let program = geckodriver(&mut geckodriver_remark);
    if *remark != geckodriver_remark {
        *remark = format!("packages {remark}, geckodriver {geckodriver_remark}");
    }
    packages.and(program)
}

const CHROMIUM: [Tool; 2] = [
    Tool::new(
        "the browser Chromium",
        &["chromium", "chromium-browser", "google-chrome"],
        &["chromium", "fonts-liberation"],
    ),
    Tool::new("its WebDriver", &["chromedriver"], &["chromium-driver"]),
];

const MORE_BROWSERS: [Tool; 3] = [
    Tool::new("the browser Firefox", &["firefox-esr", "firefox"], &["firefox-esr"]),
    Tool::new("the WebDriver of WebKitGTK", &["WebKitWebDriver"], &["webkit2gtk-driver"]),
    Tool::new("a virtual display for it", &["Xvfb"], &["xvfb"]),
];

const ELSEWHERE: &str = "macOS: brew install --cask chromium chromedriver firefox. Elsewhere: Chrome and the chromedriver\n\
     of the same version, from https://googlechromelabs.github.io/chrome-for-testing/, on PATH; Firefox;\n\
     on Linux WebKitGTK with its WebDriver. Where an engine cannot be had: cargo test -p guichet-cli --all-features -- --skip webkit::";

/// Firefox's WebDriver, which Debian does not package. It is built without optimizations: it mostly waits for Firefox.
fn geckodriver(remark: &mut String) -> Result<()> {
    let build = root().join("target/tools/build");
    let options =
        ["--version", "0.37.1", "--debug", "--target-dir"].map(AsRef::as_ref).into_iter().chain([build.as_os_str()]);
    let environment = [("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_INCREMENTAL", "0")];
    *remark = "already installed".to_owned();
    if named("geckodriver").is_none() && cargo_install("geckodriver", options, environment, remark)? {
        std::fs::remove_dir_all(&build)?;
    }
    Ok(())
}

/// A program from crates.io, such as cargo-semver-checks, the newest.
pub fn cargo_subcommand(name: &str, remark: &mut String) -> Result<()> {
    let environment = [("CARGO_PROFILE_RELEASE_LTO", "off"), ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")];
    cargo_install(name, [], environment, remark).map(drop)
}

/// Builds a program from crates.io in `target/tools/`, if it is not there or on PATH. Returns whether it was built.
fn cargo_install<'a>(
    name: &'a str,
    options: impl IntoIterator<Item = &'a OsStr>,
    environment: [(&str, &str); 2],
    remark: &mut String,
) -> Result<bool> {
    let is_missing = find(name).is_none() && !own_tool(name).is_file();
    if is_missing {
        println!("   missing: building {name} by `cargo install`, into target/tools/");
        let mut install = cargo(["install", name, "--locked", "--quiet", "--root"]);
        install.arg(root().join("target/tools")).args(options).envs(environment);
        run_quietly(&mut install).with_context(|| format!("{name} could not be built. Put it on PATH."))?;
    }
    *remark = if is_missing { "installed" } else { "already installed" }.to_owned();
    Ok(is_missing)
}

/// The path of a WebDriver: the variable's value, the one in `target/tools`, or the one on PATH.
pub fn driver(name: &str) -> Result<PathBuf> {
    let own = own_tool(name);
    named(name).or_else(|| own.is_file().then_some(own)).or_else(|| find(name)).with_context(|| {
        format!("{name} is missing. `cargo xtask test` installs it; or set {} to its path.", name.to_uppercase())
    })
}

/// The command that runs such a program at the root of the checkout.
pub fn subcommand(name: &str) -> Command {
    let own = own_tool(name);
    at_root(if own.is_file() { own } else { name.into() })
}

/// The path of a program in `target/tools/`, whether it is there or not.
fn own_tool(name: &str) -> PathBuf {
    root().join("target/tools/bin").join(format!("{name}{}", env::consts::EXE_SUFFIX))
}

/// Node.js and npm, which optimize the package and test it as its users do.
pub fn node(remark: &mut String) -> Result<()> {
    require(
        &[Tool::new("Node.js", &["node"], &["nodejs"]), Tool::new("npm", &["npm"], &["npm"])],
        "Both come from https://nodejs.org (version 20.19 or newer).",
        remark,
    )?;
    let output = run_quietly(at_root("node").arg("--version"))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    ensure!(
        is_supported_node(&version),
        "Node.js {version} is installed, and 20.19 is the oldest that the tools support. Install a newer one from https://nodejs.org."
    );
    Ok(())
}

/// What `cargo xtask pack` needs. Returns the tools that make the packages.
pub fn to_pack(steps: &mut Steps) -> Result<Tools> {
    steps.step("set-up: the wasm32 target", wasm_target)?;
    steps.step("set-up: Node.js", node)?;
    steps.step("set-up: the tools that make the package", |_| Tools::pack())
}

/// Whether a version of Node.js, for example `v20.19.2`, is 20.19 or newer.
fn is_supported_node(version: &str) -> bool {
    let mut numbers = version.trim_start_matches('v').split('.').map(|number| number.parse().unwrap_or(0));
    let (major, minor): (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    (major, minor) >= (20, 19)
}

/// PostgreSQL and Redis. The tests start their own servers of them.
pub fn databases(remark: &mut String) -> Result<()> {
    require(
        &[
            Tool::new("PostgreSQL", &["postgres"], &["postgresql"]),
            Tool::new("Redis", &["redis-server"], &["redis-server"]),
        ],
        "PostgreSQL 15 or newer, from https://www.postgresql.org, and Redis 7 or newer, from https://redis.io.",
        remark,
    )
}

/// lynx, a browser without scripts, in which a test buys.
pub fn lynx(remark: &mut String) -> Result<()> {
    let lynx = Tool::new("lynx", &["lynx"], &["lynx"]);
    require(&[lynx], "lynx, from https://lynx.invisible-island.net.", remark)
}

/// schemathesis, which generates requests from the OpenAPI description; in a virtual environment,
/// `target/schemathesis/`.
pub fn schemathesis(remark: &mut String) -> Result<()> {
    python_program("schemathesis", "xtask/python/schemathesis.txt", remark)
}

/// A generator of clients from `docs/openapi.json`: openapi-typescript in `target/npm-openapi/`.
pub fn typescript_generator(remark: &mut String) -> Result<()> {
    node(remark)?;
    Tools::locked_in("xtask/npm/openapi").map(drop)
}

/// That generator, and openapi-python-client in a virtual environment, `target/openapi-python-client/`.
pub fn client_generators(remark: &mut String) -> Result<()> {
    typescript_generator(remark)?;
    python_program("openapi-python-client", "xtask/python/openapi-python-client.txt", remark)
}

/// What the examples need: Express in `target/npm-express/`, PHP, and Django in a virtual environment,
/// `target/django/`.
pub fn example_servers(remark: &mut String) -> Result<()> {
    node(remark)?;
    Tools::locked_in("examples/express")?;
    php(remark)?;
    mariadb(remark)?;
    python_program("django", "examples/django/requirements.txt", remark)
}

/// What the applications in Go and on Laravel need, and the one in Go as a program.
pub fn applications(remark: &mut String) -> Result<()> {
    const PACKAGES: [&str; 3] = ["golang-go", "php-laravel-framework", "php-xml"];
    let go = Tool::new("Go", &["go"], &PACKAGES);
    let laravel = Tool::new("Laravel", &["/usr/share/php/Illuminate/Foundation/Application.php"], &PACKAGES);
    require(&[go, laravel], "Go 1.19 or newer, from https://go.dev, and Laravel where Debian has it.", remark)?;
    let mut build = at_root("go");
    build.args(["build", "-o"]).arg(root().join("target/go-shop")).arg(".");
    run_quietly(build.current_dir(root().join("examples/go"))).map(drop)
}

/// MariaDB, for the ledger's store in PHP. The tests start their own server. It is in `sbin`, where only root's PATH
/// leads.
fn mariadb(remark: &mut String) -> Result<()> {
    let mariadb = Tool::new("MariaDB", &["mariadbd", "/usr/sbin/mariadbd"], &["mariadb-server"]);
    require(&[mariadb], "MariaDB 10.11 or newer, from https://mariadb.org.", remark)
}

/// What compiles C for static programs.
pub fn musl(remark: &mut String) -> Result<()> {
    require(&[Tool::new("musl", &["musl-gcc"], &["musl-tools"])], "musl, from https://musl.libc.org.", remark)
}

/// PHP with its extensions for SQLite, MySQL and HTTP.
pub fn php(remark: &mut String) -> Result<()> {
    const PACKAGES: [&str; 4] = ["php-cli", "php-sqlite3", "php-mysql", "php-curl"];
    const ELSEWHERE: &str =
        "PHP 8.2 or newer, with the extensions pdo_sqlite, pdo_mysql and curl, from https://www.php.net.";
    require(&[Tool::new("PHP", &["php"], &PACKAGES)], ELSEWHERE, remark)?;
    let has_extensions = || {
        let script = "exit(array_diff(['pdo_sqlite', 'pdo_mysql', 'curl'], get_loaded_extensions()) ? 1 : 0);";
        at_root("php").args(["-r", script]).status().is_ok_and(|status| status.success())
    };
    if !has_extensions() && is_debian() && is_root() {
        println!("   missing: installing the extensions of PHP by apt-get");
        apt_get(&PACKAGES)?;
    }
    ensure!(
        has_extensions(),
        "PHP has no pdo_sqlite, pdo_mysql or curl.\nDebian: sudo apt-get install {}\n{ELSEWHERE}",
        PACKAGES.join(" ")
    );
    Ok(())
}

/// A Python program with the versions and hashes of a file of requirements; in a virtual environment, `target/<name>/`.
fn python_program(name: &str, requirements: &str, remark: &mut String) -> Result<()> {
    let wanted = root().join(requirements);
    let folder = root().join("target").join(name);
    // The requirements of the installed version are beside it.
    let installed = folder.join("requirements.txt");
    if std::fs::read(&installed).is_ok_and(|installed| std::fs::read(&wanted).is_ok_and(|wanted| wanted == installed)) {
        *remark = "already installed".to_owned();
        return Ok(());
    }
    let python = Tool::new("Python", &["python3"], &["python3", "python3-venv"]);
    require(&[python], "Python 3.11 or newer, from https://www.python.org.", remark)?;
    let venv = || run_quietly(at_root("python3").args(["-m", "venv", "--clear"]).arg(&folder)).map(drop);
    if let Err(error) = venv() {
        // On Debian, venv is a separate package.
        if !(is_debian() && is_root()) {
            let remedy = format!(
                "Python cannot create a virtual environment for {name}. On Debian: sudo apt-get install python3-venv"
            );
            return Err(error.context(remedy));
        }
        println!("   missing: installing python3-venv by apt-get");
        apt_get(&["python3-venv"])?;
        venv()?;
    }
    let pip = folder.join(if cfg!(windows) { "Scripts/pip" } else { "bin/pip" });
    let options = ["--quiet", "--disable-pip-version-check", "--require-hashes", "--requirement"];
    run_quietly(at_root(pip).arg("install").args(options).arg(&wanted))
        .with_context(|| format!("{name} could not be installed by pip"))?;
    std::fs::copy(&wanted, &installed)?;
    *remark = "installed".to_owned();
    Ok(())
}

/// A program that must be on PATH under one of its names.
struct Tool {
    what: &'static str,
    names: &'static [&'static str],
    /// Its Debian packages.
    packages: &'static [&'static str],
}

impl Tool {
    const fn new(what: &'static str, names: &'static [&'static str], packages: &'static [&'static str]) -> Self {
        Self { what, names, packages }
    }

    fn is_installed(&self) -> bool {
        self.names.iter().any(|name| named(name).is_some() || find(name).is_some())
    }
}

/// The path of a WebDriver that an environment variable has: `CHROMEDRIVER` that of chromedriver.
fn named(driver: &str) -> Option<PathBuf> {
    let variable = driver.to_uppercase();
    variable.ends_with("DRIVER").then(|| env::var_os(variable))?.map(PathBuf::from)
}

fn require(tools: &[Tool], elsewhere: &str, remark: &mut String) -> Result<()> {
    let missing = || tools.iter().filter(|tool| !tool.is_installed());
    let packages: Vec<&str> = missing().flat_map(|tool| tool.packages).copied().collect();
    if packages.is_empty() {
        *remark = "already installed".to_owned();
        return Ok(());
    }
    if is_debian() && is_root() {
        println!("   missing: installing {} by apt-get", packages.join(" and "));
        apt_get(&packages)?;
        *remark = "installed".to_owned();
    }
    let missing: Vec<String> = missing().map(|tool| format!("{} (`{}`)", tool.what, tool.names[0])).collect();
    if !missing.is_empty() {
        bail!(
            "{} missing.\n\
             Debian: sudo apt-get install {}\n\
             {elsewhere}",
            match missing.as_slice() {
                [one] => format!("{one} is"),
                more => format!("{} are", more.join(" and ")),
            },
            packages.join(" ")
        );
    }
    Ok(())
}

fn apt_get(packages: &[&str]) -> Result<()> {
    // apt-get runs once at a time and fails otherwise. Its lists are read once.
    static UPDATED: Mutex<bool> = Mutex::new(false);
    let mut updated = UPDATED.lock().unwrap_or_else(PoisonError::into_inner);
    let apt_get = |args: &[&str]| {
        run_quietly(at_root("apt-get").env("DEBIAN_FRONTEND", "noninteractive").arg("-q").args(args)).map(drop)
    };
    if !*updated {
        apt_get(&["update"])?;
        *updated = true;
    }
    apt_get(&[&["install", "-y", "--no-install-recommends"], packages].concat())
}

/// Whether this is Debian: elsewhere these packages have other names or only transitional content.
fn is_debian() -> bool {
    std::fs::read_to_string("/etc/os-release").is_ok_and(|text| text.lines().any(|line| line == "ID=debian"))
        && find("apt-get").is_some()
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// The path of a program on PATH, or in the folders of PostgreSQL's programs, which Debian does not put on PATH.
fn find(name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", env::consts::EXE_SUFFIX);
    let on_path = env::var_os("PATH").unwrap_or_default();
    let of_postgresql = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders = env::split_paths(&on_path).chain(of_postgresql.map(|version| version.path().join("bin")));
    folders.map(|folder| folder.join(&name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_is_supported_from_20_19_on() {
        for (version, expected) in
            [("v18.20.4", false), ("v20.18.1", false), ("v20.19.0", true), ("v24.1.0", true), ("", false)]
        {
            assert_eq!(is_supported_node(version), expected, "{version}");
        }
    }

    #[test]
    fn a_program_that_is_nowhere_is_not_found() {
        assert!(find("sh").is_some());
        assert!(find("no-such-program").is_none());
    }
}
