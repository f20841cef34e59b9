//! Uses the packages as their users do, from the tarballs: each script of `tests/consumers/toolchains/package.json` is
//! a check, and so is `check` of each framework's application beside it.
//!
//! The pages are written to `target/consumers/out/`, and `tests/pages/package.rs` opens them in a real browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::{Value, json};

use crate::cargo::root;
use crate::npm::{INSTALL, Tools, npm, remove, run_quietly};
use crate::pack::Tarballs;
use crate::package::{self, ROOT_FILES};
use crate::setup;
use crate::steps::{Done, timed};

mod types;
pub mod works_with;

/// The parts of the names of the tests of `tests/pages` that only `cargo xtask test --newest` runs: other bundlers,
/// frameworks, languages, and shops that install packages.
pub const TESTS_OF_NEWEST: [&str; 10] = [
    "applications::go::",
    "applications::laravel::",
    "init::with_packages::",
    "package::frameworks::",
    "package::a_page_calls_that_is_made_by::vite_",
    "package::a_page_calls_that_is_made_by::esbuild",
    "package::a_page_calls_that_is_made_by::parcel",
    "package::a_page_calls_that_is_made_by::rollup",
    "package::a_page_calls_that_is_made_by::webpack",
    "next::webpack::",
];

/// Those of them that run in Chromium alone: another engine would install or build as much once more.
pub const IN_CHROMIUM: [&str; 2] = ["init::with_packages::", "package::frameworks::"];

/// The checks by name.
pub type Checks = Vec<(String, Done<()>)>;

/// The scripts that need nothing but the packages, in a folder of their own.
const TOOLCHAINS: &str = "tests/consumers/toolchains";

/// What only `cargo xtask test --newest` runs.
const OF_NEWEST: &str = "newest: ";

/// Runs the checks of the gate or `all` on the tarballs, if their name contains `part`. Fails if the tarballs cannot
/// even be installed.
pub fn check_all(tarballs: &Tarballs, locked: &Tools, newest: &Tools, all: bool, part: &str) -> Result<Checks> {
    let consumer = &Consumer::install(tarballs, newest)?;
    let check = |name: &str, run: &dyn Fn(&mut String) -> Result<()>| {
        name.contains(part).then(|| (name.to_owned(), timed(run)))
    };
    let script = |name: &String| check(name, &|remark| consumer.run(name, remark));
    // They wait for timers most of the time.
    let (commands, builds): (Vec<_>, Vec<_>) = scripts()?
        .into_iter()
        .filter(|name| all || !name.starts_with(OF_NEWEST))
        .partition(|name| name.starts_with("the command "));
    thread::scope(|scope| {
        let commands = scope.spawn(move || commands.iter().filter_map(script).collect::<Vec<_>>());
        let mut results: Checks = builds.iter().filter_map(script).collect();
        let described = |_: &mut String| {
            ["guichet", "guichet-sandbox", "guichet-server"]
                .iter()
                .try_for_each(|name| is_described(&consumer.modules().join(name)))
        };
        results.extend(check("the manifests, the licences and llms.txt", &described));
        results.extend(check("types", &|remark| types::check(&consumer.project, locked, newest, remark)));
        if all {
            for name in applications()? {
                results.extend(check(&name, &|remark| consumer.build_application(&name, remark)));
            }
        }
        results.extend(commands.join().map_err(|_| anyhow!("a check of the command guichet-sandbox has panicked"))?);
        ensure!(!results.is_empty(), "no check has a name that contains {part:?}");
        Ok(results)
    })
}

/// The names of the scripts that are checks. `develop` is a part of others.
fn scripts() -> Result<Vec<String>> {
    let manifest = manifest(&root().join(TOOLCHAINS))?;
    let scripts = manifest["scripts"].as_object().context("there are no scripts")?;
    Ok(scripts.keys().filter(|name| *name != "develop").cloned().collect())
}

/// The applications of frameworks, by the names of their folders.
fn applications() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("tests/consumers"))? {
        let folder = entry?.path();
        if folder.join("package.json").is_file() && folder != root().join(TOOLCHAINS) {
            names.extend(folder.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

/// A project into which npm has installed the packages from their tarballs. It is below the tools' `node_modules`, so
/// that it has React, Vue and the tools' commands.
struct Consumer<'a> {
    project: PathBuf,
    tools: &'a Tools,
    tarballs: String,
}

impl<'a> Consumer<'a> {
    fn install(tarballs: &Tarballs, tools: &'a Tools) -> Result<Self> {
        remove(&root().join("target/consumers"))?;
        let project = tools.folder().join("project");
        remove(&project)?;
        copy(&root().join(TOOLCHAINS), &project)?;
        let [guichet, sandbox, server] = tarballs.all().map(|tarball| format!("file:{}", tarball.display()));
        let mut manifest = manifest(&project)?;
        manifest["devDependencies"] = json!({});
        manifest["dependencies"] = json!({ "guichet": guichet, "guichet-sandbox": sandbox, "guichet-server": server });
        fs::write(project.join("package.json"), manifest.to_string())?;
        run_quietly(npm(&project).args(["install", "--offline", "--no-package-lock"]).args(INSTALL))?;
        write_pages(&project)?;
        let tarballs = tarballs.all().map(|tarball| tarball.display().to_string()).join(" ");
        for folder in ["xtask/npm/next", "xtask/npm/jest", "xtask/npm/adapters", "examples/express"] {
            Tools::locked_in(folder)?;
        }
        // With the oldest React, in a folder of its own.
        let oldest = project.join("react-oldest/node_modules");
        copy(&Tools::locked_in("xtask/npm/react-oldest")?.modules(), &oldest)?;
        for name in ["guichet", "guichet-sandbox", "guichet-server"] {
            copy(&project.join("node_modules").join(name), &oldest.join(name))?;
        }
        Ok(Self { project, tools, tarballs })
    }

    fn modules(&self) -> PathBuf {
        self.project.join("node_modules")
    }

    /// Runs a script of the project. The last line that it prints is the remark.
    fn run(&self, name: &str, remark: &mut String) -> Result<()> {
        let mut script = script(&self.project, name, self.tools);
        script.env("TARBALLS", &self.tarballs);
        script.env("DENO", self.tools.native("@deno", "deno")?).env("BUN", self.tools.native("@oven", "bin/bun")?);
        if name.ends_with("Playwright") {
            setup::chromium(remark)?;
            script.env("CHROMIUM", setup::chromium_program()?);
        }
        let output = run_quietly(&mut script)?;
        *remark = String::from_utf8_lossy(&output.stdout).trim().lines().last().unwrap_or_default().to_owned();
        Ok(())
    }

    /// Builds the application of a framework with its newest version.
    fn build_application(&self, name: &str, remark: &mut String) -> Result<()> {
        let tools = Tools::framework(name)?;
        // Without the framework's cache: it takes a package of the same version for the same package.
        let application = tools.folder().join("application");
        remove(&application)?;
        let sources = root().join("tests/consumers");
        copy(&sources.join(name), &application)?;
        let folder = application.join(if application.join("app").is_dir() { "app" } else { "src" });
        fs::copy(sources.join("calls.js"), folder.join("calls.js"))?;
        for (entry, call) in calls()? {
            fs::write(folder.join(format!("{entry}.js")), call)?;
        }
        copy(&self.modules().join("guichet"), &application.join("node_modules/guichet"))?;
        run_quietly(&mut script(&application, "check", &tools))?;
        *remark = tools.versions()?;
        Ok(())
    }
}

/// The entries of the package that a page may import, and the script of the page that imports it.
fn calls() -> Result<[(&'static str, String); 2]> {
    let call = fs::read_to_string(root().join("tests/consumers/pages/call.js"))?;
    let beside = call.replace("\"guichet\"", "\"guichet/beside\"");
    Ok([("inside", call), ("beside", beside)])
}

/// Writes the pages that every bundler builds.
fn write_pages(project: &Path) -> Result<()> {
    for (entry, call) in calls()? {
        let folder = project.join("pages").join(entry);
        fs::create_dir_all(&folder)?;
        fs::copy(root().join("tests/consumers/pages/index.html"), folder.join("index.html"))?;
        fs::write(folder.join("main.js"), format!("{call}\ncall(document.querySelector(\"#shown\"));\n"))?;
    }
    write_first_fee(project)
}

/// Writes the page of the first fee: with both entries, and with the hand-written client in their place. The bench
/// measures them, and a test counts their requests.
pub fn write_first_fee(project: &Path) -> Result<()> {
    let sources = root().join("benches/bars/pages");
    let main = fs::read_to_string(sources.join("main.js"))?;
    for (name, import) in [("inside", "guichet"), ("beside", "guichet/beside"), ("hand", "./hand.js")] {
        let folder = project.join("first-fee").join(name);
        fs::create_dir_all(&folder)?;
        for file in ["index.html", "hand.js"] {
            fs::copy(sources.join(file), folder.join(file))?;
        }
        fs::write(folder.join("main.js"), main.replace("\"guichet\"", &format!("\"{import}\"")))?;
    }
    Ok(())
}

/// The command that runs a script of a package.json: with the commands of these tools, without colours and telemetry.
pub fn script(folder: &Path, name: &str, tools: &Tools) -> Command {
    let target = root().join("target");
    let mut npm = npm(folder);
    npm.args(["run", "--silent", name]).env_remove("NODE_ENV").env("ROOT", root()).env("TARGET", &target);
    npm.env("OUT", target.join("consumers/out")).env("MODULES", tools.modules()).env("NO_COLOR", "1");
    npm.env("DENO_DIR", target.join("consumers/deno"));
    for variable in [
        "ASTRO_TELEMETRY_DISABLED",
        "DENO_NO_UPDATE_CHECK",
        "DO_NOT_TRACK",
        "GATSBY_TELEMETRY_DISABLED",
        "NEXT_TELEMETRY_DISABLED",
        "NUXT_TELEMETRY_DISABLED",
        "STORYBOOK_DISABLE_TELEMETRY",
    ] {
        npm.env(variable, "1");
    }
    npm.env("NG_CLI_ANALYTICS", "false");
    npm
}

fn manifest(folder: &Path) -> Result<Value> {
    Ok(serde_json::from_str(&fs::read_to_string(folder.join("package.json"))?)?)
}

pub fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    package::copy(&package::files(from)?, from, to)
}

/// The versions of Node.js in which `require` loads an ES module.
const NODE: &str = "^20.19.0 || >=22.12.0";

/// Checks that an installed package has the licences, `llms.txt` and the fields of package.json that a registry shows.
fn is_described(package: &Path) -> Result<()> {
    let manifest = manifest(package)?;
    let repository = manifest["repository"]["url"].as_str().unwrap_or_default();
    let crates = fs::read_to_string(root().join("Cargo.toml"))?;
    let address = repository.trim_start_matches("git+").trim_end_matches(".git");
    ensure!(
        address.starts_with("https://") && crates.contains(&format!("repository = \"{address}\"")),
        "package.json names the repository {repository:?}, and Cargo.toml another"
    );
    for name in ["homepage", "bugs"] {
        let value = manifest[name].as_str().unwrap_or_default();
        ensure!(value.starts_with(address), "package.json: `{name}` is {value:?}, which is not of {address}");
    }
    let node = manifest["engines"]["node"].as_str();
    ensure!(node == Some(NODE), "package.json: `engines.node` is {node:?}, and `require` loads an ES module in {NODE}");
    for file in ROOT_FILES {
        let published = fs::read(package.join(file));
        ensure!(
            published.is_ok_and(|text| fs::read(root().join(file)).is_ok_and(|own| own == text)),
            "the tarball has no {file}"
        );
    }
    Ok(())
}
