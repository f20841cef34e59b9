//! Uses the packages as their users do, from the tarballs: builds pages with every bundler, without configuration, and runs them in Node.js,
//! Deno and Bun and in test runners.
//!
//! The pages are written to `target/consumers/out/`, and `tests/pages/package/` opens them in a real browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::Value;

use crate::cargo::{at_root, root};
use crate::npm::{INSTALL, Tools, npm, run_quietly};
use crate::pack::ROOT_FILES;
use crate::{next, steps, types};

mod bundlers;
mod processes;
mod test_runners;
#[cfg(test)]
mod works_with;

use bundlers::ENTRIES;

/// The result of one check.
pub struct CheckResult {
    pub what: &'static str,
    pub duration: Duration,
    pub remark: String,
    pub result: Result<()>,
}

/// The tarballs of both packages.
pub struct Tarballs {
    pub guichet: PathBuf,
    pub sandbox: PathBuf,
}

/// Runs all checks on the tarballs. Fails if they cannot even be installed.
pub fn check_all(tarballs: &Tarballs, locked: &Tools, newest: &Tools) -> Result<Vec<CheckResult>> {
    let project = Project::install(tarballs, newest)?;
    let oldest_react = Tools::oldest_react()?;
    let jest = Tools::jest()?;
    let check = |what, run: &dyn Fn(&mut String) -> Result<()>| {
        let (begun, mut remark) = (steps::now(), String::new());
        let result = run(&mut remark);
        CheckResult { what, duration: begun.elapsed(), remark, result }
    };
    let builds = || {
        vec![
            check("pages by every bundler", &|remark| project.bundle(newest, remark)),
            check("a preload by Vite", &|remark| project.preload_by_vite(newest, remark)),
            check("pages in React", &|remark| project.develop_in_react(newest, &oldest_react, remark)),
            check("the example in React", &|remark| project.example_in_react(newest, remark)),
            check("the example in Next", &|remark| next::build(&project, remark)),
            check("the manifests, the licences and llms.txt", &|_| {
                is_described(&project.package())?;
                is_described(&project.sandbox())
            }),
            check("types", &|remark| types::check(&project, locked, newest, &oldest_react, remark)),
            check("import and require in Node.js", &|_| project.import_in_node()),
            check("Deno and Bun", &|remark| project.run_in_deno_and_bun(newest, remark)),
            check("calls without a page", &|remark| project.call_without_a_page(newest, remark)),
            check("the sandbox in a process of Node.js", &|remark| project.run_sandbox(newest, remark)),
            check("purchases in Vitest", &|remark| project.purchase_in_vitest(newest, remark)),
            check("purchases in Jest", &|remark| project.purchase_in_jest(&jest, remark)),
            check("a purchase in Playwright", &|remark| project.purchase_in_playwright(newest, remark)),
            check("publint", &|_| publint(tarballs, newest)),
            check("attw", &|_| attw(tarballs, newest)),
        ]
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
    for tarball in [&tarballs.guichet, &tarballs.sandbox] {
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
    for (tarball, excluded) in [(&tarballs.guichet, &wasm[..]), (&tarballs.sandbox, &[])] {
        let how = ["--ignore-rules", "cjs-resolves-to-esm", "--no-emoji", "--no-color"];
        run_quietly(newest.node("@arethetypeswrong/cli", "attw")?.arg(tarball).args(how).args(excluded))?;
    }
    Ok(())
}

/// A project into which npm has installed the packages from their tarballs.
pub struct Project {
    folder: PathBuf,
}

impl Project {
    /// Creates the project from scratch.
    pub fn install(tarballs: &Tarballs, react: &Tools) -> Result<Self> {
        let consumers = root().join("target/consumers");
        if consumers.exists() {
            fs::remove_dir_all(&consumers)?;
        }
        let folder = consumers.join("project");
        fs::create_dir_all(&folder)?;
        let file = |tarball: &Path| {
            let name = tarball.file_name().context("a tarball has a file name")?;
            Ok::<_, anyhow::Error>(format!("file:../../npm/{}", name.to_string_lossy()))
        };
        let dependencies = serde_json::json!({
            "guichet": file(&tarballs.guichet)?, "guichet-sandbox": file(&tarballs.sandbox)?,
        });
        let manifest = serde_json::json!({ "private": true, "type": "module", "dependencies": dependencies });
        fs::write(folder.join("package.json"), manifest.to_string())?;
        run_quietly(npm(&folder).args(["install", "--offline", "--no-package-lock"]).args(INSTALL))?;

        let page = |file: &str| fs::read_to_string(root().join("tests/pages/package/pages").join(file));
        for (name, entry) in ENTRIES {
            let folder = folder.join("pages").join(name);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("index.html"), page("index.html")?)?;
            fs::write(folder.join("main.js"), page("call.js")?.replace("\"guichet\"", &format!("\"{entry}\"")))?;
        }
        let project = Self { folder };
        project.add_react(react)?;
        Ok(project)
    }

    /// The same packages in another project, with this React.
    pub fn with_other_react(&self, name: &str, react: &Tools) -> Result<Self> {
        let other = Self { folder: self.folder.with_file_name(name) };
        fs::create_dir_all(&other.folder)?;
        fs::copy(self.folder.join("package.json"), other.folder.join("package.json"))?;
        copy(&self.package(), &other.package())?;
        copy(&self.sandbox(), &other.sandbox())?;
        other.add_react(react)?;
        Ok(other)
    }

    /// Copies React and its types beside the packages.
    fn add_react(&self, tools: &Tools) -> Result<()> {
        for package in REACT {
            let installed = tools.modules().join(package);
            if installed.is_dir() {
                copy(&installed, &self.folder.join("node_modules").join(package))?;
            }
        }
        Ok(())
    }

    /// The folder of the package, as npm has installed it.
    pub fn package(&self) -> PathBuf {
        self.folder.join("node_modules/guichet")
    }

    /// The folder of the package `guichet-sandbox`.
    pub fn sandbox(&self) -> PathBuf {
        self.folder.join("node_modules/guichet-sandbox")
    }

    /// Copies the example server on Express into a folder, with what it needs.
    fn shop_on_express(&self, folder: &str) -> Result<PathBuf> {
        let shop = self.folder.join(folder);
        fs::create_dir_all(&shop)?;
        fs::copy(root().join("examples/express/server.mjs"), shop.join("server.mjs"))?;
        copy(&root().join("examples/page"), &shop.join("page"))?;
        copy(&Tools::express()?.modules(), &shop.join("node_modules"))?;
        copy(&self.package(), &shop.join("node_modules/guichet"))?;
        Ok(shop)
    }

    /// Copies these sources into a folder beside the package.
    pub fn with_sources(&self, sources: &Path) -> Result<PathBuf> {
        let folder = self.folder.join(sources.file_name().context("the sources have a parent folder")?);
        copy(sources, &folder)?;
        Ok(folder)
    }

    /// Builds the page of every hook with React in development mode, in which StrictMode mounts every component twice, and renders it in
    /// Node.js. The oldest React has a project of its own.
    fn develop_in_react(&self, newest: &Tools, oldest: &Tools, remark: &mut String) -> Result<()> {
        let other = self.with_other_react("react-oldest", oldest)?;
        for (name, project) in [("react", self), ("react-oldest", &other)] {
            let pages = project.with_sources(&root().join("tests/pages/react"))?;
            let out = self.folder.with_file_name("out").join(name);
            let mut esbuild = newest.node("esbuild", "esbuild")?;
            esbuild.arg("page.js").args(["--bundle", "--format=esm", "--define:process.env.NODE_ENV=\"development\""]);
            run_quietly(esbuild.current_dir(&pages).arg(format!("--outdir={}", out.display())))?;
            let rendered = run_quietly(at_root("node").current_dir(&pages).arg("server.js"))
                .with_context(|| format!("{name}: the page cannot be rendered in Node.js"))?;
            fs::write(out.join("server.json"), rendered.stdout)?;
        }
        *remark = format!("react {} and {}", newest.version("react")?, oldest.version("react")?);
        Ok(())
    }

    /// Compiles `examples/react` as TypeScript and builds it with Vite.
    fn example_in_react(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        let example = self.folder.join("example");
        fs::create_dir_all(&example)?;
        for file in ["index.html", "vite.config.js", "shop-server.js", "package.json", "tsconfig.json"] {
            fs::copy(root().join("examples/react").join(file), example.join(file))?;
        }
        copy(&root().join("examples/react/src"), &example.join("src"))?;
        run_quietly(tools.node("typescript", "tsc")?.current_dir(&example).args(["--pretty", "false"]))?;
        let out = self.folder.with_file_name("out").join("react-example");
        let mut vite = tools.node("vite", "vite")?;
        vite.args(["build", "--outDir"]).arg(&out);
        run_quietly(vite.current_dir(&example).env("NO_COLOR", "1").env_remove("NODE_ENV"))?;
        *remark = format!("vite {}", tools.version("vite")?);
        Ok(())
    }
}

/// React, its types, and the packages that they need.
const REACT: [&str; 10] = [
    "react",
    "react-dom",
    "scheduler",
    "@types/react",
    "@types/react-dom",
    "csstype",
    // The oldest needs these, too.
    "loose-envify",
    "js-tokens",
    "@types/prop-types",
    "@types/scheduler",
];

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
    ensure!(node.is_some_and(|node| node.starts_with(">=")), "package.json: `engines` has no `node`");
    for file in ROOT_FILES {
        let published = fs::read(package.join(file));
        ensure!(
            published.is_ok_and(|text| fs::read(root().join(file)).is_ok_and(|own| own == text)),
            "the tarball has no {file}"
        );
    }
    Ok(())
}

/// The first code block of a document in this language that contains this text.
fn block<'a>(document: &'a str, language: &str, part: &str) -> Result<&'a str> {
    let fence = format!("\n```{language}\n");
    let mut blocks = document.split(&fence).skip(1).filter_map(|block| block.split("\n```").next());
    blocks.find(|block| block.contains(part)).with_context(|| format!("the README shows no {language} with {part:?}"))
}

pub fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("{} is missing", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
