//! Pages that every bundler builds from the package, without configuration.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::Toolchains;
use super::project::{Project, block, copy};
use crate::cargo::root;
use crate::npm::{Tools, run_quietly};
use crate::package;

/// The entries of the package that a page may import, and the folders of their pages.
pub const ENTRIES: [(&str, &str); 2] = [("inside", "guichet"), ("beside", "guichet/beside")];

impl Project {
    /// Builds every page with every bundler of these toolchains.
    pub(super) fn bundle(&self, tools: &Tools, toolchains: Toolchains, remark: &mut String) -> Result<()> {
        let bundlers = if toolchains == Toolchains::All { &BUNDLERS[..] } else { &BUNDLERS[..2] };
        for (entry, name) in ENTRIES {
            for (bundler, make) in bundlers {
                let page = Page {
                    tools,
                    project: &self.folder,
                    main: format!("pages/{entry}/main.js"),
                    out: self.folder.with_file_name("out").join(format!("{bundler}-{entry}")),
                };
                make(&page).with_context(|| format!("{bundler} cannot build the page {name}"))?;
            }
        }
        *remark = bundlers.iter().map(|(bundler, _)| *bundler).collect::<Vec<_>>().join(", ");
        Ok(())
    }

    /// Builds the two preloads of `docs/loading.md` with Vite: in the head of a page, and by `?url`.
    pub(super) fn preload_by_vite(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        let page = fs::read_to_string(root().join("docs/loading.md"))?;
        let (link, head) = (block(&page, "html", "node_modules/")?, block(&page, "javascript", "?url")?);
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
}

/// A page to build.
struct Page<'a> {
    tools: &'a Tools,
    project: &'a Path,
    main: String,
    out: PathBuf,
}

type Build = fn(&Page<'_>) -> Result<()>;

/// Builds the page of the first fee in a project that has the package, by each bundler's defaults: with both entries, with the hand-written
/// client in their place, and `preloaded.html`, which preloads the file of the wasm. The bench measures them, and a test counts their requests.
pub fn first_fee(tools: &Tools, project: &Path, out: &Path, remark: &mut String) -> Result<()> {
    const BUNDLERS: [(&str, Build); 5] = [
        ("esbuild", esbuild),
        ("esbuild-iife", esbuild_iife),
        ("esbuild-splitting", esbuild_splitting),
        ("vite", vite),
        ("webpack", webpack),
    ];
    let sources = root().join("benches/bars/pages");
    let main = fs::read_to_string(sources.join("main.js"))?;
    for (name, import) in ENTRIES.into_iter().chain([("hand", "./hand.js")]) {
        let folder = project.join("first-fee").join(name);
        fs::create_dir_all(&folder)?;
        for file in ["index.html", "hand.js"] {
            fs::copy(sources.join(file), folder.join(file))?;
        }
        fs::write(folder.join("main.js"), main.replace("\"guichet\"", &format!("\"{import}\"")))?;
        for (bundler, make) in BUNDLERS {
            let main = format!("first-fee/{name}/main.js");
            let page = Page { tools, project, main, out: out.join(format!("{bundler}-{name}")) };
            make(&page).with_context(|| format!("{bundler} cannot build the page of the first fee, {name}"))?;
            page.preload_wasm()?;
        }
    }
    let versions = ["esbuild", "vite", "webpack"].map(|name| Ok(format!("{name} {}", tools.version(name)?)));
    *remark = versions.into_iter().collect::<Result<Vec<_>>>()?.join(", ");
    Ok(())
}

/// The first two are in the gate.
const BUNDLERS: [(&str, Build); 10] = [
    ("plain", plain),
    ("vite", vite),
    ("vite_4", |page| vite_of(page, "vite-4")),
    ("vite_5", |page| vite_of(page, "vite-5")),
    ("vite_6", |page| vite_of(page, "vite-6")),
    ("vite_7", |page| vite_of(page, "vite-7")),
    ("webpack", webpack),
    ("esbuild", esbuild),
    ("rollup", rollup),
    ("parcel", parcel),
];

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
    vite_of(page, "vite")
}

/// Vite as the npm package of this name: `newest.json` has its older versions under names of their own.
fn vite_of(page: &Page<'_>, package: &str) -> Result<()> {
    let root = Path::new(&page.main).parent().expect("the page has a parent folder");
    page.run(page.tools.node(package, "vite")?.arg("build").arg(root).args(["--base", "./", "--outDir"]).arg(&page.out))
}

fn webpack(page: &Page<'_>) -> Result<()> {
    page.html("defer")?;
    let entry = format!("./{}", page.main);
    let how = ["build", "--mode", "production", "--entry", &entry, "--output-path"];
    page.run(page.tools.node("webpack-cli", "webpack-cli")?.args(how).arg(&page.out))
}

fn esbuild(page: &Page<'_>) -> Result<()> {
    esbuild_with(page, "type=\"module\"", &["--format=esm"])
}

fn esbuild_splitting(page: &Page<'_>) -> Result<()> {
    esbuild_with(page, "type=\"module\"", &["--format=esm", "--splitting"])
}

/// As a script that is no module.
fn esbuild_iife(page: &Page<'_>) -> Result<()> {
    esbuild_with(page, "defer", &["--format=iife"])
}

fn esbuild_with(page: &Page<'_>, script: &str, how: &[&str]) -> Result<()> {
    page.html(script)?;
    let out = format!("--outdir={}", page.out.display());
    page.run(page.tools.node("esbuild", "esbuild")?.args([&page.main, "--bundle", "--minify", &out]).args(how))?;
    page.copy_wasm()
}

fn rollup(page: &Page<'_>) -> Result<()> {
    page.html("type=\"module\"")?;
    let how = ["--plugin", "node-resolve", "--format", "es", "--dir"];
    page.run(page.tools.node("rollup", "rollup")?.arg(&page.main).args(how).arg(&page.out))?;
    page.copy_wasm()
}

fn parcel(page: &Page<'_>) -> Result<()> {
    let html = Path::new(&page.main).with_file_name("index.html");
    let mut parcel = page.tools.node("parcel", "parcel")?;
    // Its cache would be beside the nearest `.git`. To write it, it reads all folders of the project, and fails if another check deletes one.
    let cache = ["--no-cache", "--cache-dir", ".parcel-cache"];
    parcel.arg("build").arg(html).args(["--public-url", "./"]).args(cache).arg("--dist-dir");
    page.run(parcel.arg(&page.out))
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

    /// Writes the page once more with the preload of `docs/loading.md`, if it has a file of wasm.
    fn preload_wasm(&self) -> Result<()> {
        let is_wasm = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "wasm");
        if let Some(wasm) = package::files(&self.out)?.into_iter().find(is_wasm) {
            let link = format!(
                "<link rel=\"preload\" as=\"fetch\" crossorigin href=\"./{}\">\n</head>",
                wasm.strip_prefix(&self.out)?.display()
            );
            let html = fs::read_to_string(self.out.join("index.html"))?;
            fs::write(self.out.join("preloaded.html"), html.replacen("</head>", &link, 1))?;
        }
        Ok(())
    }

    fn run(&self, command: &mut Command) -> Result<()> {
        // No prompts, no telemetry, no colours.
        run_quietly(command.current_dir(self.project).env("NO_COLOR", "1").env_remove("NODE_ENV")).map(drop)
    }
}
