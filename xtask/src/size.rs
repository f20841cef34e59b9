//! `cargo xtask size`: what the package weighs, what a page loads of it, what each behaviour costs, and what a browser is
//! really sent for the hosted page and the shop.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::behaviours::Behaviours;
use crate::bytes::Weight;
use crate::cargo::{cargo, root, run};
use crate::npm::{Tools, quietly};
use crate::pack::{self, Packed};
use crate::setup;
use crate::steps::Steps;

/// What a page may load for one session, methods, fee, redirect and return (`tests/pages/package/pages/shop.js`), and what
/// the hosted page may, in bytes as brotli sends them.
const BARS: [(&str, usize); 3] = [("inside", 45_500), ("beside", 44_000), ("hosted", 47_000)];
/// What they loaded when a change was committed last.
const COMMITTED: &str = include_str!("../sizes.toml");

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
        ("guichet-hosted-words", all_of, "hosted-words.js"),
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
    let names = ["guichet", "guichet/beside", "guichet/hosted", "guichet/words", "guichet/hosted-words"];
    let parts: Vec<(&str, Weight)> = names.into_iter().zip(parts.iter().copied()).collect();
    let hosted = parts[2].1;
    Ok(Sizes {
        parts: [("wasm", *wasm), ("glue, as generated", *glue)].into_iter().chain(parts).collect(),
        pages: [*inside, *beside + *wasm, hosted],
    })
}

/// A path as an import names it.
fn path(file: &Path) -> String {
    file.display().to_string().replace('\\', "/")
}

/// What a package weighs.
pub struct Sizes {
    parts: Vec<(&'static str, Weight)>,
    /// As [`BARS`] has them.
    pages: [Weight; 3],
}

impl Sizes {
    /// Fails if a page loads 1 % more than when a change was committed last.
    pub fn hold(&self) -> Result<()> {
        let mut grown = Vec::new();
        for (name, weight, _) in self.pages() {
            let committed = committed(name)?;
            if weight.brotli * 100 > committed * 101 {
                grown.push(format!("{name}: {} bytes, {committed} before", weight.brotli));
            }
        }
        if grown.is_empty() {
            Ok(())
        } else {
            bail!("A page loads more than 1 % more than `xtask/sizes.toml` says. {}", grown.join("; "))
        }
    }

    fn pages(&self) -> impl Iterator<Item = (&'static str, Weight, usize)> {
        BARS.into_iter().zip(self.pages).map(|((name, bar), weight)| (name, weight, bar))
    }
}

/// A figure of `sizes.toml`.
fn committed(name: &str) -> Result<usize> {
    let figure = COMMITTED.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_prefix('='));
    let figure = figure.with_context(|| format!("xtask/sizes.toml has no line `{name} = …`"))?;
    figure.trim().replace('_', "").parse().with_context(|| format!("xtask/sizes.toml: `{name}` is no number"))
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<20}{}", "bytes", Weight::TITLE)?;
        for (name, weight) in &self.parts {
            writeln!(f, "{name:<20}{weight}")?;
        }
        write!(f, "\nA page with one session, methods, fee, redirect and return loads:")?;
        for (name, weight, bar) in self.pages() {
            let missed = if weight.brotli > bar { ": the bar is missed" } else { "" };
            write!(f, "\n{name:<20}{weight}  of {bar} ({} %){missed}", weight.brotli * 100 / bar)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_grows_by_more_than_a_hundredth_fails() {
        let sizes = |share: usize| Sizes {
            parts: vec![],
            pages: BARS.map(|(name, _)| {
                let brotli = committed(name).expect("it is there") * share / 1000;
                Weight { raw: 0, gzip: 0, brotli }
            }),
        };
        assert!(sizes(1000).hold().is_ok());
        assert!(sizes(1010).hold().is_ok());
        let error = sizes(1020).hold().expect_err("it has grown").to_string();
        assert!(error.contains("beside: "), "{error}");
    }

    #[test]
    fn the_packages_readme_says_what_a_page_loads() {
        let readme = fs::read_to_string(root().join("pkg-template/README.md")).expect("it is there");
        for (row, name) in [("| `guichet` | ", "inside"), ("| `guichet/beside` | ", "beside")] {
            let figures = readme.lines().filter_map(|line| line.strip_prefix(row)?.split(" |").next()?.parse().ok());
            let figures: Vec<usize> = figures.collect();
            let kilobytes = committed(name).expect("it is there") / 1000;
            let is_near = |figure: &usize| figure.abs_diff(kilobytes) <= 2;
            assert!(figures.len() == 1 && figures.iter().all(is_near), "{row}{kilobytes} is true, not {figures:?}");
        }
    }
}
