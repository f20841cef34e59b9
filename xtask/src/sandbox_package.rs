//! The npm package `guichet-sandbox`, in `target/npm/sandbox/`: the hand-written modules of `pkg-template/sandbox/`,
//! under `core/` the sandbox as wasm and its glue, under `guichet/` and `server/` the packages `guichet` and
//! `guichet-server`, under `demo/pages/` the pages of the demo's shop, under `inspector/` the inspector's page, and
//! under `examples/` the shops that `init` writes: all of it must run from this package alone.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::bytes::Weight;
use crate::cargo::{at_root, root};
use crate::hosted_page;
use crate::npm::{Tools, run_quietly};
use crate::package::{self, Packed};
use crate::steps::Steps;

/// The file name of the module: `core/guichet_sandbox.js` and `core/guichet_sandbox_bg.wasm`.
const MODULE: &str = "guichet_sandbox";
/// The package.json of a package in this one, where `init` finds it. A second package.json would be taken for that of
/// this package.
const MANIFEST: &str = "manifest.json";
/// The limit of the wasm in bytes after brotli. The hosted page without a script has 28,000 of them: its sentences, its
/// templates and what its forms do; a profile has 30,000, the inspector 20,000, and what a
/// rule of the check takes from an earlier one 9,000.
const LIMIT: usize = 1_026_000;

/// Builds the package around the packages `guichet` and `guichet-server`, or keeps the one that is up to date.
pub fn build(steps: &mut Steps, tools: &Tools, guichet: &Packed, server: &Packed) -> Result<Packed> {
    let (wasm, version) =
        steps.step("the sandbox as wasm", |_| package::build_module("guichet-npm-sandbox", "wasm-sandbox", &[]))?;
    steps.step("the sandbox's package", |_| package(&wasm, &version, tools, guichet, server))
}

fn package(wasm: &[u8], version: &str, tools: &Tools, guichet: &Packed, server: &Packed) -> Result<Packed> {
    let template = root().join("pkg-template/sandbox");
    // Without their documents. The server's wasm is in a module, too.
    let guichet_files = with_extensions(guichet, &["js", "json", "ts", "wasm"])?;
    let server_files = with_extensions(server, &["js", "json", "ts"])?;
    let (pages, examples) = (shop_pages()?, examples()?);
    let inspector_folder = root().join("www/inspector");
    let inspector = package::files(&inspector_folder)?;
    let files = [&package::files(&template)?, &guichet_files, &server_files, &pages, &inspector, &examples]
        .map(|files| &**files)
        .concat();
    let stamp = package::stamp(&[wasm], version, &files)?;
    package::up_to_date(root().join("target/npm/sandbox"), &[stamp], |new| {
        package::write_template(&template, new, version)?;
        package::copy(&guichet_files, &guichet.folder, &new.join("guichet"))?;
        package::copy(&server_files, &server.folder, &new.join("server"))?;
        for package in ["guichet", "server"] {
            let folder = new.join(package);
            fs::rename(folder.join("package.json"), folder.join(MANIFEST))?;
        }
        package::copy(&pages, &shop_folder(), &new.join("demo/pages"))?;
        package::copy(&inspector, &inspector_folder, &new.join("inspector"))?;
        package::copy(&examples, &root(), new)?;
        let core = new.join("core");
        let mut bindgen = package::bindgen(false)?;
        bindgen.input_bytes(MODULE, wasm.to_vec()).generate(&core).context("the glue could not be generated")?;
        optimize(tools, &core.join(format!("{MODULE}_bg.wasm")))
    })
}

/// The files of a package that have one of these extensions.
fn with_extensions(package: &Packed, extensions: &[&str]) -> Result<Vec<PathBuf>> {
    let mut files = package::files(&package.folder)?;
    files.retain(|file| !file.starts_with(package.folder.join(hosted_page::FOLDER)));
    files.retain(|file| extensions.iter().any(|one| file.extension().is_some_and(|extension| extension == *one)));
    Ok(files)
}

/// The shop's pages and their files. The shop of this package has no subscriptions.
fn shop_pages() -> Result<Vec<PathBuf>> {
    let mut pages = package::files(&shop_folder())?;
    pages.retain(|page| page.file_stem().is_none_or(|name| name != "subscriptions"));
    Ok(pages)
}

/// The servers of `examples/` that `init` writes, and their page, without their documents and without what npm or Next
/// has written there.
fn examples() -> Result<Vec<PathBuf>> {
    let folders = ["express", "next", "php", "page"].map(|kind| format!("examples/{kind}"));
    let listed = run_quietly(at_root("git").args(["ls-files", "-z"]).args(folders))?;
    let paths = String::from_utf8(listed.stdout)?;
    Ok(paths.split_terminator('\0').filter(|path| !path.ends_with(".md")).map(|path| root().join(path)).collect())
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
