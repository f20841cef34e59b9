//! The npm package `guichet-sandbox`, in `target/npm/sandbox/`: the hand-written modules of `pkg-template/sandbox/`, under `core/`
//! the sandbox as wasm and its glue, under `guichet/` the modules that its pages load, and for the demo, under `demo/pages/` the
//! shop's pages and under `server/` the modules of `guichet-server`: it must run from this package alone.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::bytes::Weight;
use crate::cargo::root;
use crate::npm::{Tools, run_quietly};
use crate::package::{self, Packed};
use crate::steps::Steps;

/// The file name of the module: `core/guichet_sandbox.js` and `core/guichet_sandbox_bg.wasm`.
const MODULE: &str = "guichet_sandbox";
/// The limit of the wasm in bytes after brotli. The hosted page without a script has 28,000 of them: its sentences, its templates and
/// what its forms do.
const LIMIT: usize = 960_000;

/// Builds the package around the packages `guichet` and `guichet-server`, or keeps the one that is up to date.
pub fn build(steps: &mut Steps, tools: &Tools, guichet: &Packed, server: &Packed) -> Result<Packed> {
    let (wasm, version) =
        steps.step("the sandbox as wasm", |_| package::build_module("guichet-npm-sandbox", "wasm-sandbox", &[]))?;
    steps.step("the sandbox's package", |_| package(&wasm, &version, tools, guichet, server))
}

fn package(wasm: &[u8], version: &str, tools: &Tools, guichet: &Packed, server: &Packed) -> Result<Packed> {
    let template = root().join("pkg-template/sandbox");
    // Their modules alone: a second package.json would be taken for that of a package. The server's wasm is in a module, too.
    let (guichet_modules, server_modules) = (modules(guichet, &["js", "wasm"])?, modules(server, &["js"])?);
    let pages = shop_pages()?;
    let files = [package::files(&template)?, guichet_modules.clone(), server_modules.clone(), pages.clone()].concat();
    let stamp = package::stamp(&[wasm], version, &files)?;
    package::up_to_date(root().join("target/npm/sandbox"), &[stamp], |new| {
        package::write_template(&template, new, version)?;
        package::copy(&guichet_modules, &guichet.folder, &new.join("guichet"))?;
        package::copy(&server_modules, &server.folder, &new.join("server"))?;
        package::copy(&pages, &shop_folder(), &new.join("demo/pages"))?;
        let core = new.join("core");
        let mut bindgen = package::bindgen(false)?;
        bindgen.input_bytes(MODULE, wasm.to_vec()).generate(&core).context("the glue could not be generated")?;
        optimize(tools, &core.join(format!("{MODULE}_bg.wasm")))
    })
}

/// The files of a package that have one of these extensions.
fn modules(package: &Packed, extensions: &[&str]) -> Result<Vec<PathBuf>> {
    let mut files = package::files(&package.folder)?;
    files.retain(|file| extensions.iter().any(|one| file.extension().is_some_and(|extension| extension == *one)));
    Ok(files)
}

/// The shop's pages and their files. The shop of this package has no subscriptions.
fn shop_pages() -> Result<Vec<PathBuf>> {
    let mut pages = package::files(&shop_folder())?;
    pages.retain(|page| page.file_stem().is_none_or(|name| name != "subscriptions"));
    Ok(pages)
}

fn shop_folder() -> PathBuf {
    root().join("www/shop")
}

/// Optimizes the wasm lightly: by `-Os` it is smaller, but larger after brotli, and takes three times as long.
fn optimize(tools: &Tools, wasm: &Path) -> Result<()> {
    let how = ["-O1", "--strip-target-features", "--strip-producers"];
    run_quietly(tools.node("binaryen", "wasm-opt")?.args(how).arg(wasm).arg("-o").arg(wasm)).map(drop)
}

/// Measures the wasm. Fails if it is over the limit.
pub fn measure(sandbox: &Packed) -> Result<String> {
    let weights = Weight::of(&[sandbox.folder.join("core").join(format!("{MODULE}_bg.wasm"))])?;
    let brotli = weights[0].brotli;
    ensure!(brotli <= LIMIT, "the sandbox's wasm has {brotli} bytes after brotli, and the limit is {LIMIT}");
    Ok(format!("the sandbox's wasm  {}  of {LIMIT} ({} %)", weights[0], brotli * 100 / LIMIT))
}
