//! Uses the packages as their users do, from the tarballs: builds pages with every bundler, without configuration, and runs them in Node.js,
//! Deno and Bun and in test runners.
//!
//! The pages are written to `target/consumers/out/`, and `tests/pages/package/` opens them in a real browser.

use std::fs;
use std::path::Path;
use std::thread;

use anyhow::{Result, anyhow, ensure};
use serde_json::Value;

use crate::cargo::root;
use crate::npm::{Tools, run_quietly};
use crate::pack::Tarballs;
use crate::package::ROOT_FILES;
use crate::steps::{Done, timed};

mod bundlers;
mod frameworks;
mod next;
mod processes;
mod project;
mod test_runners;
mod types;
pub mod works_with;

pub use bundlers::first_fee;
pub use project::copy;

use project::Project;

/// The toolchains that use the packages.
#[derive(Clone, Copy, Eq, PartialEq)]
pub enum Toolchains {
    /// Two bundlers: Vite, and Turbopack in Next.
    InTheGate,
    All,
}

/// The parts of the names of the tests of `tests/pages` that only `cargo xtask test --newest` runs: other bundlers, frameworks, and shops that
/// install packages.
pub const TESTS_OF_NEWEST: [&str; 8] = [
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
pub type Checks = Vec<(&'static str, Done<()>)>;

/// Runs all checks on the tarballs. Fails if they cannot even be installed.
pub fn check_all(tarballs: &Tarballs, locked: &Tools, newest: &Tools, toolchains: Toolchains) -> Result<Checks> {
    let project = Project::install(tarballs, newest)?;
    let oldest_react = Tools::locked_in("xtask/npm/react-oldest")?;
    let jest = Tools::locked_in("xtask/npm/jest")?;
    let check = |what, run: &dyn Fn(&mut String) -> Result<()>| (what, timed(run));
    let builds = || {
        let mut checks = vec![
            check("pages by every bundler", &|remark| project.bundle(newest, toolchains, remark)),
            check("the page of the first fee", &|remark| {
                first_fee(newest, &project.folder, &project.folder.with_file_name("out").join("first-fee"), remark)
            }),
            check("a preload by Vite", &|remark| project.preload_by_vite(newest, remark)),
            check("pages in React", &|remark| project.develop_in_react(newest, &oldest_react, remark)),
            check("pages in Vue", &|remark| project.develop_in_vue(newest, remark)),
            check("the example in React", &|remark| project.example_in_react(newest, remark)),
            check("the example in Next", &|remark| next::build(&project, toolchains, remark)),
            check("the manifests, the licences and llms.txt", &|_| {
                is_described(&project.package())?;
                is_described(&project.sandbox())?;
                is_described(&project.server())
            }),
            check("types", &|remark| types::check(&project, locked, newest, &oldest_react, remark)),
            check("import and require in Node.js", &|_| project.import_in_node()),
            check("Deno and Bun", &|remark| project.run_in_deno_and_bun(newest, remark)),
            check("calls without a page", &|remark| project.call_without_a_page(newest, remark)),
            check("the sandbox in a process of Node.js", &|remark| project.run_sandbox(newest, remark)),
            check("the rules of a merchant's server", &|remark| project.run_rules_of_a_server(newest, remark)),
            check("purchases in Vitest", &|remark| project.purchase_in_vitest(newest, remark)),
            check("purchases in Jest", &|remark| project.purchase_in_jest(&jest, remark)),
            check("a purchase in Playwright", &|remark| project.purchase_in_playwright(newest, remark)),
            check("publint", &|_| publint(tarballs, newest)),
            check("attw", &|_| attw(tarballs, newest)),
        ];
        if toolchains == Toolchains::All {
            checks.push(check("pages by frameworks", &|remark| project.build_in_frameworks(remark)));
            checks.push(check("a component in Jest", &|remark| project.component_in_jest(remark)));
            checks.push(check("calls in workerd", &|remark| project.call_in_workerd(newest, remark)));
        }
        checks
    };
    // They wait for timers most of the time.
    let commands = || {
        vec![
            check("the command guichet-sandbox", &|remark| project.run_sandbox_command(newest, remark)),
            check("the command guichet-sandbox demo", &|remark| project.run_demo(newest, remark)),
            check("the command guichet-sandbox check", &|remark| project.run_check(newest, remark)),
        ]
    };
    thread::scope(|scope| {
        let commands = scope.spawn(commands);
        let mut results = builds();
        results.extend(commands.join().map_err(|_| anyhow!("a check of the command guichet-sandbox has panicked"))?);
        Ok(results)
    })
}

/// publint must report nothing, not even a suggestion.
fn publint(tarballs: &Tarballs, newest: &Tools) -> Result<()> {
    for tarball in [&tarballs.guichet, &tarballs.sandbox, &tarballs.server] {
        let mut publint = newest.node("publint", "publint")?;
        let output = run_quietly(publint.env("NO_COLOR", "1").arg("run").arg(tarball).arg("--strict"))?;
        let report = String::from_utf8_lossy(&output.stdout);
        ensure!(report.contains("All good!"), "publint reports:\n{report}");
    }
    Ok(())
}

/// attw checks that each entry has the types of the module that is loaded, however TypeScript resolves it. `require` loads an ES module, as
/// Node.js does since 20.19. The `.wasm` entries are not modules and are excluded.
fn attw(tarballs: &Tarballs, newest: &Tools) -> Result<()> {
    let wasm = ["--exclude-entrypoints", "./core/guichet_core_bg.wasm", "./core/guichet_hosted_bg.wasm"];
    for (tarball, excluded) in [(&tarballs.guichet, &wasm[..]), (&tarballs.sandbox, &[]), (&tarballs.server, &[])] {
        let how = ["--ignore-rules", "cjs-resolves-to-esm", "--no-emoji", "--no-color"];
        run_quietly(newest.node("@arethetypeswrong/cli", "attw")?.arg(tarball).args(how).args(excluded))?;
    }
    Ok(())
}

/// The versions of Node.js in which `require` loads an ES module.
const NODE: &str = "^20.19.0 || >=22.12.0";

/// Checks that an installed package has the licences, `llms.txt` and the fields of package.json that a registry shows.
fn is_described(package: &Path) -> Result<()> {
    let manifest: Value = serde_json::from_str(&fs::read_to_string(package.join("package.json"))?)?;
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
