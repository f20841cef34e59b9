//! Uses the packages as their users do, from the tarballs: builds pages with every bundler, without configuration, and runs the sandbox
//! in Node.js.
//!
//! The pages are written to `target/consumers/out/`, and `tests/pages/package/` opens them in a real browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::cargo::{at_root, root};
use crate::npm::{INSTALL, Tools, npm, run_quietly};
use crate::pack::ROOT_FILES;
use crate::{steps, types};

/// The entries of the package that a page may import, and the folders of their pages.
const ENTRIES: [(&str, &str); 2] = [("inside", "guichet"), ("beside", "guichet/beside")];

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
    Ok(vec![
        check("pages by every bundler", &|remark| project.bundle(newest, remark)),
        check("a preload by Vite", &|remark| project.preload_by_vite(newest, remark)),
        check("pages in React", &|remark| project.develop_in_react(newest, &oldest_react, remark)),
        check("the example in React", &|remark| project.example_in_react(newest, remark)),
        check("the manifests, the licences and llms.txt", &|_| {
            is_described(&project.package())?;
            is_described(&project.sandbox())
        }),
        check("types", &|remark| types::check(&project, locked, newest, &oldest_react, remark)),
        check("import in Node.js", &|_| project.import_in_node()),
        check("calls without a page", &|remark| project.call_without_a_page(newest, remark)),
        check("the sandbox in a process of Node.js", &|remark| project.run_sandbox(newest, remark)),
        check("purchases in Vitest", &|remark| project.purchase_in_vitest(newest, remark)),
        check("purchases in Jest", &|remark| project.purchase_in_jest(&jest, remark)),
        check("the command guichet-sandbox", &|remark| project.run_sandbox_command(newest, remark)),
        check("the command guichet-sandbox demo", &|remark| project.run_demo(newest, remark)),
        check("the command guichet-sandbox check", &|remark| project.run_check(newest, remark)),
        check("publint", &|_| publint(tarballs, newest)),
        check("attw", &|_| attw(tarballs, newest)),
    ])
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

/// attw checks that each entry has the types of the module that is loaded. The `.wasm` entries are not modules and are excluded.
fn attw(tarballs: &Tarballs, newest: &Tools) -> Result<()> {
    let wasm = ["--exclude-entrypoints", "./core/guichet_core_bg.wasm", "./core/guichet_hosted_bg.wasm"];
    for (tarball, excluded) in [(&tarballs.guichet, &wasm[..]), (&tarballs.sandbox, &[])] {
        let how = ["--profile", "esm-only", "--no-emoji", "--no-color"];
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

    /// Copies these sources into a folder beside the package.
    pub fn with_sources(&self, sources: &Path) -> Result<PathBuf> {
        let folder = self.folder.join(sources.file_name().context("the sources have a parent folder")?);
        copy(sources, &folder)?;
        Ok(folder)
    }

    /// Imports every entry in Node.js.
    pub fn import_in_node(&self) -> Result<()> {
        fs::copy(root().join("tests/pages/package/import.js"), self.folder.join("import.js"))?;
        run_quietly(at_root("node").current_dir(&self.folder).arg("import.js"))
            .context("importing the package fails or has side effects")?;
        Ok(())
    }

    /// Makes every call in Node.js and in jsdom.
    fn call_without_a_page(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        let script = "without_a_page.js";
        fs::copy(root().join("tests/pages/package").join(script), self.folder.join(script))?;
        run_quietly(at_root("node").current_dir(&self.folder).env("JSDOM", tools.modules()).arg(script))
            .context("a call without a page fails its check")?;
        *remark = format!("jsdom {}", tools.version("jsdom")?);
        Ok(())
    }

    /// Uses the sandbox in the process of a test, in Node.js and in jsdom.
    fn run_sandbox(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        let figures = self.run_script("sandbox.js", tools).context("the sandbox in a process fails its check")?;
        *remark = format!("started in {} ms, {} creations a second", figures["started"], figures["perSecond"]);
        Ok(())
    }

    /// Runs the command `guichet-sandbox`.
    fn run_sandbox_command(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        let figures = self.run_script("sandbox_command.js", tools).context("`guichet-sandbox` fails its check")?;
        *remark = format!("ready after {} ms", figures["readyMs"]);
        Ok(())
    }

    /// Runs the command `guichet-sandbox demo`.
    fn run_demo(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        let figures = self.run_script("sandbox_demo.js", tools).context("`guichet-sandbox demo` fails its check")?;
        *remark = format!("ready after {} ms", figures["readyMs"]);
        Ok(())
    }

    /// Runs the command `guichet-sandbox check` against the example server on Express, and against a shop that breaks rules.
    fn run_check(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        let shop = self.folder.join("express");
        fs::create_dir_all(&shop)?;
        fs::copy(root().join("examples/express/server.mjs"), shop.join("server.mjs"))?;
        copy(&root().join("examples/page"), &shop.join("page"))?;
        copy(&Tools::express()?.modules(), &shop.join("node_modules"))?;
        copy(&self.package(), &shop.join("node_modules/guichet"))?;
        let figures = self.run_script("sandbox_check.js", tools).context("`guichet-sandbox check` fails its check")?;
        *remark = format!("{} rules in {} s", figures["passed"], figures["seconds"]);
        Ok(())
    }

    /// Copies the tests of `tests/pages/testing/` and that of the package's README into a folder, for this runner.
    fn purchases(&self, folder: &str, runner: &str) -> Result<()> {
        let readme = fs::read_to_string(root().join("pkg-template/README.md"))?;
        let tests = fs::read_to_string(root().join("tests/pages/testing/purchase.test.js"))?;
        fs::create_dir_all(self.folder.join(folder))?;
        for (name, test) in [("purchase", &*tests), ("readme", block(&readme, "mjs", "from \"vitest\"")?)] {
            let file = self.folder.join(folder).join(format!("{name}.test.js"));
            fs::write(file, test.replace("from \"vitest\"", &format!("from \"{runner}\"")))?;
        }
        Ok(())
    }

    /// Makes whole purchases in Vitest, in Node.js and in jsdom.
    fn purchase_in_vitest(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        self.purchases("in-vitest", "vitest")?;
        let mut times = Vec::new();
        for environment in ["node", "jsdom"] {
            let mut vitest = tools.node("vitest", "vitest")?;
            vitest.args(["run", "--environment", environment, "in-vitest/"]).env("NO_COLOR", "1");
            let output = run_quietly(vitest.current_dir(&self.folder).env_remove("NODE_ENV"))?;
            let report = String::from_utf8_lossy(&output.stdout);
            let time = report.lines().find_map(|line| line.strip_suffix(" for all purchases"));
            times.push(format!("{} in {environment}", time.context("Vitest printed no time")?));
        }
        *remark = format!("vitest {}: {}", tools.version("vitest")?, times.join(", "));
        Ok(())
    }

    /// Makes the same purchases in Jest, in Node.js.
    fn purchase_in_jest(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        self.purchases("in-jest", "@jest/globals")?;
        let mut node = at_root("node");
        node.arg("--experimental-vm-modules").arg(tools.script("jest", "jest")?).args(["--rootDir", ".", "in-jest/"]);
        run_quietly(node.current_dir(&self.folder).env("NO_COLOR", "1").env_remove("NODE_ENV"))?;
        *remark = format!("jest {}", tools.version("jest")?);
        Ok(())
    }

    /// Runs a script of `tests/pages/package/`. Returns the JSON that it prints.
    fn run_script(&self, script: &str, tools: &Tools) -> Result<Value> {
        fs::copy(root().join("tests/pages/package").join(script), self.folder.join(script))?;
        let mut node = at_root("node");
        let output = run_quietly(node.current_dir(&self.folder).env("JSDOM", tools.modules()).arg(script))?;
        serde_json::from_slice(&output.stdout).with_context(|| format!("{script} printed no figures"))
    }

    /// Builds every page with every bundler.
    pub fn bundle(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        for (entry, name) in ENTRIES {
            for (bundler, make) in BUNDLERS {
                let page = Page {
                    tools,
                    project: &self.folder,
                    main: format!("pages/{entry}/main.js"),
                    out: self.folder.with_file_name("out").join(format!("{bundler}-{entry}")),
                };
                make(&page).with_context(|| format!("{bundler} cannot build the page {name}"))?;
            }
        }
        *remark = BUNDLERS.map(|(bundler, _)| bundler).join(", ");
        Ok(())
    }

    /// Builds the two preloads of the package's README with Vite: in the head of a page, and by `?url`.
    fn preload_by_vite(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        let readme = fs::read_to_string(root().join("pkg-template/README.md"))?;
        let (link, head) = (block(&readme, "html", "node_modules/")?, block(&readme, "javascript", "?url")?);
        let page = fs::read_to_string(self.folder.join("pages/beside/index.html"))?;
        fs::copy(self.folder.join("pages/beside/main.js"), self.folder.join("call.js"))?;
        fs::write(self.folder.join("head.js"), head)?;
        let by_script = "import { head } from \"./head.js\";\n\
            document.head.insertAdjacentHTML(\"beforeend\", head);\nawait import(\"./call.js\");\n";
        for (name, link, main) in [("link", link, "import \"./call.js\";\n"), ("url", "", by_script)] {
            // As in a Vite project: the page is in the folder of `node_modules`.
            fs::write(self.folder.join("index.html"), page.replace("<pre", &format!("{link}\n<pre")))?;
            fs::write(self.folder.join("main.js"), main)?;
            let out = self.folder.with_file_name("out").join(format!("vite-preload-{name}"));
            let mut vite = tools.node("vite", "vite")?;
            vite.args(["build", "--base", "./", "--outDir"]).arg(out);
            run_quietly(vite.current_dir(&self.folder).env("NO_COLOR", "1").env_remove("NODE_ENV"))?;
        }
        *remark = format!("vite {}", tools.version("vite")?);
        Ok(())
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

/// A page to build.
struct Page<'a> {
    tools: &'a Tools,
    project: &'a Path,
    main: String,
    out: PathBuf,
}

type Build = fn(&Page<'_>) -> Result<()>;

const BUNDLERS: [(&str, Build); 5] =
    [("plain", plain), ("vite", vite), ("webpack", webpack), ("esbuild", esbuild), ("rollup", rollup)];

/// No bundler: the package's files beside the page, imported by their addresses.
fn plain(page: &Page<'_>) -> Result<()> {
    page.html("type=\"module\"")?;
    copy(&page.project.join("node_modules/guichet"), &page.out.join("guichet"))?;
    let main = fs::read_to_string(page.project.join(&page.main))?;
    let main = ["guichet/words", "guichet/hosted-words", "guichet/hosted", "guichet/beside", "guichet"].iter().fold(
        main,
        |main, entry| {
            let file = entry.strip_prefix("guichet/").unwrap_or(entry);
            main.replace(&format!("\"{entry}\""), &format!("\"./guichet/{file}.js\""))
        },
    );
    Ok(fs::write(page.out.join("main.js"), main)?)
}

fn vite(page: &Page<'_>) -> Result<()> {
    let root = Path::new(&page.main).parent().expect("the page has a parent folder");
    page.run(page.tools.node("vite", "vite")?.arg("build").arg(root).args(["--base", "./", "--outDir"]).arg(&page.out))
}

fn webpack(page: &Page<'_>) -> Result<()> {
    page.html("defer")?;
    let entry = format!("./{}", page.main);
    let how = ["build", "--mode", "production", "--entry", &entry, "--output-path"];
    page.run(page.tools.node("webpack-cli", "webpack-cli")?.args(how).arg(&page.out))
}

fn esbuild(page: &Page<'_>) -> Result<()> {
    page.html("type=\"module\"")?;
    let out = format!("--outdir={}", page.out.display());
    page.run(page.tools.node("esbuild", "esbuild")?.args([&page.main, "--bundle", "--minify", "--format=esm", &out]))?;
    page.copy_wasm()
}

fn rollup(page: &Page<'_>) -> Result<()> {
    page.html("type=\"module\"")?;
    let how = ["--plugin", "node-resolve", "--format", "es", "--dir"];
    page.run(page.tools.node("rollup", "rollup")?.arg(&page.main).args(how).arg(&page.out))?;
    page.copy_wasm()
}

impl Page<'_> {
    /// The page itself, for bundlers that begin with a script.
    fn html(&self, script: &str) -> Result<()> {
        fs::create_dir_all(&self.out)?;
        let html = fs::read_to_string(self.project.join(&self.main).with_file_name("index.html"))?;
        Ok(fs::write(self.out.join("index.html"), html.replace("type=\"module\"", script))?)
    }

    /// Copies the wasm to where `guichet/beside` loads it, as the README says: esbuild and Rollup do not handle
    /// `new URL("…", import.meta.url)`.
    fn copy_wasm(&self) -> Result<()> {
        if self.main.contains("beside") {
            let wasm = "core/guichet_core_bg.wasm";
            fs::create_dir_all(self.out.join("core"))?;
            fs::copy(self.project.join("node_modules/guichet").join(wasm), self.out.join(wasm))?;
        }
        Ok(())
    }

    fn run(&self, command: &mut Command) -> Result<()> {
        // No prompts, no telemetry, no colours.
        run_quietly(command.current_dir(self.project).env("NO_COLOR", "1").env_remove("NODE_ENV")).map(drop)
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
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
