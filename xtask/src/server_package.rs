//! The npm package `guichet-server`, in `target/npm/server/`: the hand-written modules of `pkg-template/server/`, and
//! under `core/` the rules of a merchant's server as wasm, its glue, and the same wasm as text.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use crate::bytes::Weight;
use crate::cargo::root;
use crate::inline;
use crate::npm::Tools;
use crate::package::{self, Packed};
use crate::steps::Steps;

/// The file name of the module: `core/guichet_server.js` and `core/guichet_server_bg.wasm`.
const MODULE: &str = "guichet_server";
/// The limit of the wasm and the JavaScript in bytes after brotli. Half of it is the ledger, which reads and writes
/// JSON, 10 KB the profile.
const LIMIT: usize = 243_000;

/// Builds the package, or keeps the one that is up to date.
pub fn build(steps: &mut Steps, tools: &Tools) -> Result<Packed> {
    let (wasm, version) =
        steps.step("the rules of a server as wasm", |_| package::build_module("guichet-npm-server", "wasm", &[]))?;
    steps.step("the server's package", |_| package(&wasm, &version, tools))
}

fn package(wasm: &[u8], version: &str, tools: &Tools) -> Result<Packed> {
    let template = root().join("pkg-template/server");
    let folder = root().join("target/npm/server");
    let symbols = folder.with_extension("symbols");
    let stamp = package::stamp(&[wasm], version, &package::files(&template)?)?;
    package::up_to_date(folder, &[stamp], |new| {
        package::write_template(&template, new, version)?;
        let core = new.join("core");
        let mut bindgen = package::bindgen(false)?;
        bindgen.input_bytes(MODULE, wasm.to_vec()).reset_state_function(true);
        bindgen.generate(&core).context("the glue could not be generated")?;
        let file = core.join(format!("{MODULE}_bg.wasm"));
        package::optimize(tools, &file, &symbols)?;
        Ok(fs::write(core.join("inline.js"), inline::module(&fs::read(&file)?))?)
    })
}

/// Measures what a server loads: the JavaScript and the wasm as text. Fails if it is over the limit.
pub fn measure(server: &Packed) -> Result<String> {
    let mut loaded = package::files(&server.folder)?;
    loaded.retain(|file: &PathBuf| file.extension().is_some_and(|extension| extension == "js"));
    let weights = Weight::of(&loaded)?;
    let brotli: usize = weights.iter().map(|weight| weight.brotli).sum();
    ensure!(brotli <= LIMIT, "guichet-server loads {brotli} bytes after brotli, and the limit is {LIMIT}");
    Ok(format!("guichet-server loads  {brotli} bytes after brotli  of {LIMIT} ({} %)", brotli * 100 / LIMIT))
}
