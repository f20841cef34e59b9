//! `cargo xtask rust-page`: builds `examples/rust-page` for browsers, in `target/rust-page/`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use wasm_bindgen_cli_support::Bindgen;

use crate::cargo::{self, cargo, root};
use crate::setup;
use crate::steps::Steps;

pub fn command() -> Result<()> {
    let mut steps = Steps::start();
    steps.step("the wasm32 target", setup::wasm_target)?;
    steps.step("the page in Rust", |remark| {
        let page = build()?;
        *remark = format!("{} bytes of wasm, in target/rust-page/", page.wasm);
        Ok(())
    })
}

/// The built page.
pub struct RustPage {
    /// The size of its wasm in bytes.
    pub wasm: u64,
}

pub fn build() -> Result<RustPage> {
    let wasm = build_wasm("rust-page", "wasm")?;
    let folder = root().join("target/rust-page");
    fs::create_dir_all(&folder)?;
    generate("rust_page", &wasm, &folder)?;
    fs::copy(root().join("examples/rust-page/index.html"), folder.join("index.html"))?;
    Ok(RustPage { wasm: fs::metadata(folder.join("rust_page_bg.wasm"))?.len() })
}

/// Builds the wasm of a package of the workspace.
pub fn build_wasm(package: &str, profile: &str) -> Result<PathBuf> {
    let mut build = cargo(["build", "--target=wasm32-unknown-unknown", "--package", package, "--profile", profile]);
    Ok(cargo::build_wasm(package, &mut build)?.0)
}

/// Generates the glue of a module, as `wasm-bindgen --target web` does.
pub fn generate(name: &str, wasm: &Path, folder: &Path) -> Result<()> {
    Bindgen::new()
        .input_path(wasm)
        .out_name(name)
        .web(true)?
        // The glue loads the wasm from its own folder.
        .omit_default_module_path(false)
        .typescript(false)
        .generate(folder)
        .with_context(|| format!("the glue of {name} could not be generated"))
}
