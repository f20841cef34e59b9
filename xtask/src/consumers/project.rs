//! The project into which npm installs the packages, for every check.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::bundlers::ENTRIES;
use crate::cargo::{at_root, root};
use crate::npm::{INSTALL, Tools, npm, run_quietly};
use crate::pack::Tarballs;
use crate::package;

/// A project into which npm has installed the packages from their tarballs.
pub struct Project {
    pub(super) folder: PathBuf,
}

impl Project {
    /// Creates the project from scratch.
    pub fn install(tarballs: &Tarballs, frameworks: &Tools) -> Result<Self> {
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
            "guichet": file(&tarballs.guichet)?, "guichet-sandbox": file(&tarballs.sandbox)?, "guichet-server": file(&tarballs.server)?,
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
        project.add(&REACT, &frameworks.modules())?;
        project.add(&VUE, &frameworks.modules())?;
        Ok(project)
    }

    /// The same packages in another project, with this React.
    pub fn with_other_react(&self, name: &str, react: &Tools) -> Result<Self> {
        let other = Self { folder: self.folder.with_file_name(name) };
        fs::create_dir_all(&other.folder)?;
        fs::copy(self.folder.join("package.json"), other.folder.join("package.json"))?;
        copy(&self.package(), &other.package())?;
        copy(&self.sandbox(), &other.sandbox())?;
        copy(&self.server(), &other.server())?;
        other.add(&REACT, &react.modules())?;
        other.add(&VUE, &self.folder.join("node_modules"))?;
        Ok(other)
    }

    /// Copies a framework's packages beside ours.
    fn add(&self, packages: &[&str], modules: &Path) -> Result<()> {
        for package in packages {
            let installed = modules.join(package);
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

    /// The folder of the package `guichet-server`.
    pub fn server(&self) -> PathBuf {
        self.folder.join("node_modules/guichet-server")
    }

    /// Copies the example server on Express into a folder, with what it needs.
    pub(super) fn shop_on_express(&self, folder: &str) -> Result<PathBuf> {
        let shop = self.folder.join(folder);
        fs::create_dir_all(&shop)?;
        fs::copy(root().join("examples/express/server.mjs"), shop.join("server.mjs"))?;
        copy(&root().join("examples/page"), &shop.join("page"))?;
        copy(&Tools::express()?.modules(), &shop.join("node_modules"))?;
        copy(&self.package(), &shop.join("node_modules/guichet"))?;
        copy(&self.server(), &shop.join("node_modules/guichet-server"))?;
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
    pub(super) fn develop_in_react(&self, newest: &Tools, oldest: &Tools, remark: &mut String) -> Result<()> {
        self.develop("react", "react", newest)?;
        self.with_other_react("react-oldest", oldest)?.develop("react", "react-oldest", newest)?;
        *remark = format!("react {} and {}", newest.version("react")?, oldest.version("react")?);
        Ok(())
    }

    /// The same with Vue.
    pub(super) fn develop_in_vue(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        self.develop("vue", "vue", tools)?;
        *remark = format!("vue {}", tools.version("vue")?);
        Ok(())
    }

    /// Builds `tests/pages/{pages}/page.js` in development mode and runs its `server.js`, into `target/consumers/out/{name}`.
    fn develop(&self, pages: &str, name: &str, tools: &Tools) -> Result<()> {
        let pages = self.with_sources(&root().join("tests/pages").join(pages))?;
        let out = self.folder.with_file_name("out").join(name);
        let mut esbuild = tools.node("esbuild", "esbuild")?;
        esbuild.arg("page.js").args(["--bundle", "--format=esm", "--define:process.env.NODE_ENV=\"development\""]);
        for flag in ["__VUE_OPTIONS_API__", "__VUE_PROD_DEVTOOLS__", "__VUE_PROD_HYDRATION_MISMATCH_DETAILS__"] {
            esbuild.arg(format!("--define:{flag}=false"));
        }
        run_quietly(esbuild.current_dir(&pages).arg(format!("--outdir={}", out.display())))?;
        let rendered = run_quietly(at_root("node").current_dir(&pages).arg("server.js"))
            .with_context(|| format!("{name}: the page cannot be rendered in Node.js"))?;
        fs::write(out.join("server.json"), rendered.stdout)?;
        Ok(())
    }

    /// Compiles `examples/react` as TypeScript and builds it with Vite.
    pub(super) fn example_in_react(&self, tools: &Tools, remark: &mut String) -> Result<()> {
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

/// Vue, and the packages that it needs.
const VUE: [&str; 15] = [
    "vue",
    "@vue/compiler-core",
    "@vue/compiler-dom",
    "@vue/compiler-sfc",
    "@vue/compiler-ssr",
    "@vue/reactivity",
    "@vue/runtime-core",
    "@vue/runtime-dom",
    "@vue/server-renderer",
    "@vue/shared",
    "@babel/parser",
    "@babel/types",
    "entities",
    "estree-walker",
    "source-map-js",
];

/// The first code block of a document in this language that contains this text.
pub(super) fn block<'a>(document: &'a str, language: &str, part: &str) -> Result<&'a str> {
    let fence = format!("\n```{language}\n");
    let mut blocks = document.split(&fence).skip(1).filter_map(|block| block.split("\n```").next());
    blocks.find(|block| block.contains(part)).with_context(|| format!("the page shows no {language} with {part:?}"))
}

pub fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    package::copy(&package::files(from)?, from, to)
}
