//! `cargo xtask size`: the sizes of the package's files, of what a page loads, and the bytes that a browser receives
//! for the hosted page and the shop.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Result, bail, ensure};

use crate::binaries::PRODUCT;
use crate::bytes::Weight;
use crate::cargo::{cargo, root, run};
use crate::npm::{Tools, run_quietly};
use crate::package::{self, Packed};
use crate::setup;
use crate::steps::Steps;

/// The limits in bytes after brotli: of a shop's page with a session, methods, fee, redirect and return
/// (`tests/consumers/pages/shop.js`), by entry, of the hosted page, of the parts for React and Vue, without these, and
/// of a page that imports nothing but `GuichetError`. `cargo xtask pack` fails above them: what adds bytes takes as
/// many away elsewhere.
const BARS: [(&str, usize); 6] =
    [("inside", 48_300), ("beside", 46_800), ("hosted", 45_000), ("react", 1_300), ("vue", 1_500), ("error", 400)];

/// Files that a page imports only after an error.
const LOADED_AFTER_AN_ERROR: [&str; 2] = ["explain.js", "load-error.js"];

pub fn command() -> Result<()> {
    let mut steps = Steps::start();
    let tools = setup::to_pack(&mut steps)?;
    let packed = package::optimized(&mut steps, &tools)?;
    println!("\n{}", measure(&packed, &tools)?);
    steps.step("the browser", setup::chromium)?;
    println!("\nBytes that Chromium receives, without headers:");
    // The test fails above its limit.
    let test = ["--test=pages", "--", "wire::", "--nocapture", "--test-threads=1"];
    run(cargo(["test", "--quiet"]).args(PRODUCT).args(test))
}

/// Measures a package, minified by esbuild.
pub fn measure(packed: &Packed, tools: &Tools) -> Result<Sizes> {
    let folder = root().join("target/npm-size");
    fs::create_dir_all(&folder)?;
    let shop = fs::read_to_string(root().join("tests/consumers/pages/shop.js"))?;
    let all_of = "export * from \"guichet\";";
    let error = "export { GuichetError } from \"guichet\";";
    let (mut made, mut names) = (Vec::new(), Vec::new());
    for (name, source, entry) in [
        ("shop-inside", &*shop, "guichet.js"),
        ("shop-beside", &*shop, "beside-alone.js"),
        ("shop-error", error, "guichet.js"),
        ("guichet", all_of, "guichet.js"),
        ("guichet/beside", all_of, "beside-alone.js"),
        ("guichet/hosted", all_of, "hosted.js"),
        ("guichet/react", all_of, "react.js"),
        ("guichet/vue", all_of, "vue.js"),
        ("guichet/words", all_of, "words.js"),
        ("guichet/hosted-words", all_of, "hosted-words.js"),
    ] {
        let page = folder.join(format!("{}.js", name.replace('/', "-")));
        fs::write(&page, source.replace("\"guichet\"", &format!("\"{}\"", path(&packed.folder.join(entry)))))?;
        made.push(page);
        names.push(name);
    }
    let out = folder.join("minified");
    let how = [
        "--bundle",
        "--minify",
        "--format=esm",
        "--target=es2022",
        "--log-level=error",
        "--external:react",
        "--external:vue",
    ];
    let later = LOADED_AFTER_AN_ERROR.map(|file| format!("--external:./{file}"));
    let out_to = format!("--outdir={}", path(&out));
    run_quietly(tools.node("esbuild", "esbuild")?.args(&made).args(how).args(later).arg(out_to))?;

    let minified = made.iter().filter_map(|page| page.file_name()).map(|name| out.join(name));
    let weights = Weight::of(&minified.chain([packed.wasm(), packed.glue()]).collect::<Vec<_>>())?;
    let [inside, beside, error, parts @ .., wasm, glue] = &*weights else { bail!("a file was not measured") };
    let parts: Vec<(&str, Weight)> = names[3..].iter().copied().zip(parts.iter().copied()).collect();
    let (hosted, react, vue) = (parts[2].1, parts[3].1, parts[4].1);
    Ok(Sizes {
        parts: [("wasm", *wasm), ("glue, as generated", *glue)].into_iter().chain(parts).collect(),
        pages: [*inside, *beside + *wasm, hosted, react, vue, *error],
    })
}

/// A path for an import statement.
fn path(file: &Path) -> String {
    file.display().to_string().replace('\\', "/")
}

/// The sizes of a package.
pub struct Sizes {
    parts: Vec<(&'static str, Weight)>,
    /// In the order of [`BARS`].
    pages: [Weight; 6],
}

impl Sizes {
    /// Fails if a page loads more than its limit.
    pub fn check_budget(&self) -> Result<()> {
        let over = self.pages().filter(|(_, weight, bar)| weight.brotli > *bar);
        let over: Vec<_> =
            over.map(|(name, weight, bar)| format!("{name}: {} of {bar} bytes", weight.brotli)).collect();
        ensure!(over.is_empty(), "A page loads more than its limit in `xtask/src/size.rs`. {}", over.join("; "));
        Ok(())
    }

    fn pages(&self) -> impl Iterator<Item = (&'static str, Weight, usize)> {
        BARS.into_iter().zip(self.pages).map(|((name, bar), weight)| (name, weight, bar))
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<20}{}", "bytes", Weight::TITLE)?;
        for (name, weight) in &self.parts {
            writeln!(f, "{name:<20}{weight}")?;
        }
        write!(f, "\nA page with one session, methods, fee, redirect and return loads:")?;
        for (name, weight, bar) in self.pages() {
            let missed = if weight.brotli > bar { ": over the limit" } else { "" };
            write!(f, "\n{name:<20}{weight}  of {bar} ({} %){missed}", weight.brotli * 100 / bar)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_loads_more_than_its_limit_fails() {
        let sizes = |more: usize| Sizes {
            parts: vec![],
            pages: BARS.map(|(_, bar)| Weight { raw: 0, gzip: 0, brotli: bar + more }),
        };
        assert!(sizes(0).check_budget().is_ok());
        let error = sizes(1).check_budget().expect_err("it is over its limit").to_string();
        let (name, bar) = BARS[1];
        assert!(error.contains(&format!("{name}: {} of {bar} bytes", bar + 1)), "{error}");
    }

    #[test]
    fn the_documents_have_the_current_sizes() {
        let page = fs::read_to_string(root().join("docs/loading.md")).expect("it is there");
        for ((_, bar), row) in BARS.iter().zip(["| `guichet` | ", "| `guichet/beside` | "]) {
            let figures = page.lines().filter_map(|line| line.strip_prefix(row)?.split(" |").next()?.parse().ok());
            let figures: Vec<usize> = figures.collect();
            let kilobytes = bar / 1000;
            let is_near = |figure: &usize| figure.abs_diff(kilobytes) <= 2;
            assert!(figures.len() == 1 && figures.iter().all(is_near), "{row}must say {kilobytes}, not {figures:?}");
        }
    }
}
