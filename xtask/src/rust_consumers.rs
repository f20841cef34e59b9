//! Checks the wasm of Rust crates that depend on guichet, `tests/consumers/`: it contains only what their features
//! enable.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use walrus::Module;

use crate::cargo::root;
use crate::package::Packed;
use crate::{rust_page, shrink};

/// Checks the modules of both crates. Each search has a positive control: the package's own module, or the module of
/// the other crate.
pub fn look(packed: &Packed) -> Result<()> {
    with_browser(&Glue::read(&packed.glue())?)?;
    without_browser()
}

/// With the feature `browser`: no exports, no imports of the package's JavaScript, no allocator.
fn with_browser(package: &Glue) -> Result<()> {
    // It defines an allocator. If guichet had one as well, it would not compile.
    let wasm = rust_page::build_wasm("consumer-own-allocator", "dev")?;
    let folder = root().join("target/rust-consumers");
    rust_page::generate("own_allocator", &wasm, &folder)?;
    let glue = Glue::read(&folder.join("own_allocator.js"))?;
    ensure!(
        glue.exports == ["allocations", "count_methods"].map(String::from).into(),
        "guichet adds exports to a crate that depends on it: {:?}",
        glue.exports
    );
    ensure!(glue.imports.is_empty(), "guichet makes a crate that depends on it import {:?}", glue.imports);
    ensure!(
        package.exports.contains("Client") && !package.imports.is_empty(),
        "the search finds no exports or imports in the package's own module"
    );
    ensure!(
        shrink::has_function(&read(&wasm)?, shrink::DESERIALIZER)?,
        "the search does not find serde-wasm-bindgen's deserializer, so `pack` would not find it in a shop's page"
    );
    ensure!(uses_wasm_bindgen(&wasm)?, "the search does not find wasm-bindgen");
    Ok(())
}

/// Without it: no wasm-bindgen, and so no imports that only a page provides.
fn without_browser() -> Result<()> {
    let wasm = rust_page::build_wasm("consumer-without-browser", "dev")?;
    ensure!(!uses_wasm_bindgen(&wasm)?, "guichet brings wasm-bindgen to a crate that does not ask for `browser`");
    let module = module(&wasm)?;
    let imports: Vec<_> = module.imports.iter().map(|import| format!("{}.{}", import.module, import.name)).collect();
    ensure!(imports.is_empty(), "guichet makes a crate that depends on it import {imports:?}");
    let exports: BTreeSet<_> = module.exports.iter().map(|export| export.name.as_str()).collect();
    let own = ["__data_end", "__heap_base", "is_amount", "memory", "next_read"];
    ensure!(exports == own.into(), "guichet adds exports to a crate that depends on it: {exports:?}");
    Ok(())
}

/// The exports of a module's generated glue, and the JavaScript that it imports.
struct Glue {
    exports: BTreeSet<String>,
    imports: Vec<String>,
}

impl Glue {
    fn read(file: &Path) -> Result<Self> {
        let text = String::from_utf8(read(file)?)?;
        let exported = |line: &str| {
            let rest = line.strip_prefix("export ")?;
            let rest = rest.strip_prefix("async ").unwrap_or(rest);
            let rest = rest.strip_prefix("function ").or_else(|| rest.strip_prefix("class "))?;
            rest.split([' ', '(']).next().map(String::from)
        };
        Ok(Self {
            exports: text.lines().filter_map(exported).collect(),
            imports: text.lines().filter(|line| line.starts_with("import ")).map(String::from).collect(),
        })
    }
}

fn uses_wasm_bindgen(wasm: &Path) -> Result<bool> {
    Ok(module(wasm)?.customs.iter().any(|(_, section)| section.name().starts_with("__wasm_bindgen")))
}

fn module(wasm: &Path) -> Result<Module> {
    Module::from_file(wasm).with_context(|| format!("{} cannot be read", wasm.display()))
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("{} could not be read", file.display()))
}
