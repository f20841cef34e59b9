//! Rust crates that depend on guichet for wasm32, `tests/consumers/`: what is in their modules is what they asked for.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use walrus::Module;

use crate::cargo::root;
use crate::pack::Packed;
use crate::{rust_page, shrink};

/// Looks at the modules of both crates. Each search is tried where it must find something: in the package's own module,
/// and in that of the other crate.
pub fn look(packed: &Packed) -> Result<()> {
    with_browser(&Glue::read(&packed.glue())?)?;
    without_browser()
}

/// With the feature `browser`: no exports, no imports of the package's JavaScript, no allocator.
fn with_browser(package: &Glue) -> Result<()> {
    // It has an allocator of its own: were there another in guichet, it would not build.
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
        "exports and imports are not found where they are, in the package's own module"
    );
    ensure!(
        shrink::has_function(&read(&wasm)?, shrink::DESERIALIZER)?,
        "serde-wasm-bindgen's deserializer is not found where it is: `pack` would not find it in a shop's page"
    );
    ensure!(uses_wasm_bindgen(&wasm)?, "wasm-bindgen is not found where it is");
    Ok(())
}

/// Without it: no wasm-bindgen, and so nothing that only a page can give.
fn without_browser() -> Result<()> {
    let wasm = rust_page::build_wasm("consumer-without-browser", "dev")?;
    ensure!(!uses_wasm_bindgen(&wasm)?, "guichet brings wasm-bindgen to a crate that does not ask for `browser`");
    let module = module(&wasm)?;
    let imports: Vec<_> = module.imports.iter().map(|import| format!("{}.{}", import.module, import.name)).collect();
    ensure!(imports.is_empty(), "guichet makes a crate that depends on it import {imports:?}");
    let exports: BTreeSet<_> = module.exports.iter().map(|export| export.name.as_str()).collect();
    let own = ["__data_end", "__heap_base", "is_amount", "memory", "next_look"];
    ensure!(exports == own.into(), "guichet adds exports to a crate that depends on it: {exports:?}");
    Ok(())
}

/// What generated glue exports of a module, and the JavaScript that it imports.
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
