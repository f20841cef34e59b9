//! `cargo xtask size`: what the package weighs, what a page loads of it, what each behaviour costs, and what a browser is
//! really sent for the hosted page and the shop.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use crate::behaviours::Behaviours;
use crate::bytes::Weight;
use crate::cargo::{cargo, root, run};
use crate::npm::{Tools, quietly};
use crate::pack::{self, Packed};
use crate::setup;
use crate::steps::Steps;

/// What a page may load for one session, methods, fee, redirect and return (`tests/pages/package/pages/shop.js`), in bytes
/// as brotli sends them.
const INSIDE: usize = 32_000;
const BESIDE: usize = 44_000;

pub fn verb(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("usage: cargo xtask size");
    }
    let mut steps = Steps::begin();
    steps.step("the wasm32 target", setup::wasm_target)?;
    steps.step("Node.js", setup::node)?;
    let tools = steps.step("the tools of xtask/npm", |_| Tools::locked())?;
    let packed = pack::whole(&mut steps, &tools)?;
    println!("\n{}", measure(&packed, &tools)?);
    println!("\n{}", Behaviours::weigh(&pack::named(&tools)?)?);
    steps.step("the browser", setup::chromium)?;
    println!("\nWhat Chromium is sent, headers left out:");
    // The test fails where it is more than the bar.
    run(cargo(["test", "--quiet", "--package=guichet", "--features=cli", "--test=pages"]).args([
        "--",
        "wire::",
        "--nocapture",
        "--test-threads=1",
    ]))
}

/// Weighs a package, minified as a bundler does it.
pub fn measure(packed: &Packed, tools: &Tools) -> Result<Sizes> {
    let folder = root().join("target/npm-size");
    fs::create_dir_all(&folder)?;
    let shop = fs::read_to_string(root().join("tests/pages/package/pages/shop.js"))?;
    let all_of = "export * from \"guichet\";";
    let mut made = Vec::new();
    for (name, source, entry) in [
        ("shop-inside", &*shop, "guichet.js"),
        ("shop-beside", &*shop, "beside.js"),
        ("guichet", all_of, "guichet.js"),
        ("guichet-beside", all_of, "beside.js"),
        ("guichet-hosted", all_of, "hosted.js"),
        ("guichet-words", all_of, "words.js"),
    ] {
        let page = folder.join(format!("{name}.js"));
        fs::write(&page, source.replace("\"guichet\"", &format!("\"{}\"", path(&packed.place.join(entry)))))?;
        made.push(page);
    }
    let out = folder.join("minified");
    let how = ["--bundle", "--minify", "--format=esm", "--target=es2022", "--log-level=error"];
    quietly(tools.node("esbuild", "esbuild")?.args(&made).args(how).arg(format!("--outdir={}", path(&out))))?;

    let minified = made.iter().filter_map(|page| page.file_name()).map(|name| out.join(name));
    let weights = Weight::of(&minified.chain([packed.wasm(), packed.glue()]).collect::<Vec<_>>())?;
    let [inside, beside, parts @ .., wasm, glue] = &*weights else { bail!("not everything was weighed") };
    let names = ["guichet", "guichet/beside", "guichet/hosted", "guichet/words"];
    let parts = names.into_iter().zip(parts.iter().copied());
    Ok(Sizes {
        parts: [("wasm", *wasm), ("glue, as generated", *glue)].into_iter().chain(parts).collect(),
        inside: *inside,
        beside: *beside + *wasm,
    })
}

/// A path as an import names it.
fn path(file: &Path) -> String {
    file.display().to_string().replace('\\', "/")
}

/// What a package weighs.
pub struct Sizes {
    parts: Vec<(&'static str, Weight)>,
    inside: Weight,
    beside: Weight,
}

impl Sizes {
    /// Fails where a page loads more than it may.
    pub fn hold(&self) -> Result<()> {
        let over: Vec<String> = self
            .pages()
            .filter(|(_, weight, budget)| weight.brotli > *budget)
            .map(|(name, weight, budget)| format!("{name}: {} bytes over its {budget}", weight.brotli - budget))
            .collect();
        if over.is_empty() { Ok(()) } else { bail!("A page loads too much. {}", over.join("; ")) }
    }

    fn pages(&self) -> impl Iterator<Item = (&'static str, Weight, usize)> {
        [("wasm inside", self.inside, INSIDE), ("wasm beside it", self.beside, BESIDE)].into_iter()
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<20}{}", "bytes", Weight::TITLE)?;
        for (name, weight) in &self.parts {
            writeln!(f, "{name:<20}{weight}")?;
        }
        write!(f, "\nA page with one session, methods, fee, redirect and return loads:")?;
        for (name, weight, budget) in self.pages() {
            write!(f, "\n{name:<20}{weight}  of {budget} ({} %)", weight.brotli * 100 / budget)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_loads_too_much_fails() {
        let weight = |brotli| Weight { raw: 0, gzip: 0, brotli };
        let sizes = |inside, beside| Sizes { parts: vec![], inside: weight(inside), beside: weight(beside) };
        assert!(sizes(INSIDE, BESIDE).hold().is_ok());
        let error = sizes(INSIDE, BESIDE + 7).hold().expect_err("it is over").to_string();
        assert!(error.contains("wasm beside it: 7 bytes over"), "{error}");
    }
}

/// TEMP
pub fn weigh(_: &[String]) -> Result<()> {
    let tools = Tools::locked()?;
    let place = root().join("target/npm-size/weigh");
    let wasm = pack::weigh_core(&tools, &place)?;
    let shop = fs::read_to_string(root().join("tests/pages/package/pages/shop.js"))?;
    let page = place.join("shop-beside.js");
    fs::write(&page, shop.replace("\"guichet\"", &format!("\"{}\"", path(&place.join("beside.js")))))?;
    let how = ["--bundle", "--minify", "--format=esm", "--target=es2022", "--log-level=error"];
    let out = place.join("out");
    quietly(tools.node("esbuild", "esbuild")?.arg(&page).args(how).arg(format!("--outdir={}", path(&out))))?;
    let weights = Weight::of(&[wasm, out.join("shop-beside.js")])?;
    println!("WEIGH wasm {} js {} page {}", weights[0], weights[1], weights[0].brotli + weights[1].brotli);
    Ok(())
}
