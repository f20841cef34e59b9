//! `cargo xtask bench`: runs the benchmarks of the project and prints one table. Rows without a bar inform.
//!
//! It builds in release mode, which takes minutes the first time, and its figures depend on what else the machine does.
//! So it is not part of `cargo xtask test`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};
use serde_json::Value;

use crate::cargo::{at_root, cargo, root, run, run_reading};
use crate::consumers::{copy, script, write_first_fee};
use crate::npm::{self, Tools, run_quietly};
use crate::package::Packed;
use crate::steps::Steps;
use crate::{package, setup};

const BENCH: [&str; 4] = ["bench", "--package=guichet-cli", "--bench=bars", "--quiet"];

pub fn command(names: &[String]) -> Result<()> {
    let mut steps = Steps::start();
    let tools = setup::to_pack(&mut steps)?;
    steps.step("set-up: the browser", setup::chromium)?;
    steps.step("set-up: PostgreSQL and Redis", setup::databases)?;
    let packed = package::optimized(&mut steps, &tools)?;
    let pages = steps.step("bundle the compared pages", |remark| pages(&packed, remark))?;
    steps.step("build in release mode", |_| run(cargo(BENCH).arg("--no-run")))?;
    let rows =
        steps.step("measure", |_| measured(cargo(BENCH).arg("--").args(names).env("GUICHET_BENCH_PAGES", pages)))?;
    println!("\n{}", table(&rows));
    println!("\nMedians; in brackets the lowest and the highest of ten parts of the run. {}", machine());
    let missed = rows.iter().filter(|row| row["met"] == false).count();
    let bars = rows.iter().filter(|row| row["bar"] != NO_BAR).count();
    println!("{} of {bars} bars met.", rows.iter().filter(|row| row["met"] == true).count());
    if missed > 0 {
        bail!("{missed} bars not met on this machine");
    }
    Ok(())
}

/// Bundles and compresses the pages with the package and those without, as a shop would serve them.
fn pages(packed: &Packed, remark: &mut String) -> Result<PathBuf> {
    const COMPRESS: &str = "const { brotliCompressSync } = require('node:zlib'), fs = require('node:fs');
        for (const file of process.argv.slice(1)) fs.writeFileSync(`${file}.br`, brotliCompressSync(fs.readFileSync(file)))";
    let tools = Tools::locked()?;
    let sources = root().join("benches/bars/pages");
    let (project, out) = (tools.folder().join("bench"), root().join("target/bench-pages"));
    let made = out.join("first-fee");
    npm::remove(&project)?;
    npm::remove(&out)?;
    copy(&packed.folder, &project.join("node_modules/guichet"))?;
    copy(&root().join("tests/consumers/toolchains"), &project)?;
    write_first_fee(&project)?;
    run_quietly(script(&project, "the page of the first fee", &tools).env("OUT", &out))?;
    *remark = tools.versions()?;
    for file in ["calls.js", "hand.js"] {
        fs::copy(sources.join(file), project.join(file))?;
    }
    let mut esbuild = tools.node("esbuild", "esbuild")?;
    esbuild.args(["calls.js", "--bundle", "--minify", "--format=esm", &format!("--outdir={}", made.display())]);
    run_quietly(esbuild.current_dir(&project))?;
    let mut files = package::files(&made)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "js" || extension == "wasm"));
    run_quietly(at_root("node").args(["--eval", COMPRESS]).args(files))?;
    Ok(made)
}

/// Runs the benchmarks. Each line of their standard output is one row.
fn measured(command: &mut Command) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    run_reading(command, |line| {
        if let Ok(row @ Value::Object(_)) = serde_json::from_str(line) {
            rows.push(row);
        }
    })?;
    Ok(rows)
}

/// The bar of a row that only informs.
const NO_BAR: &str = "none";

const COLUMNS: [&str; 6] = ["what", "ours", "other", "ratio", "bar", "met"];

/// The table of all rows.
fn table(rows: &[Value]) -> String {
    let cell = |row: &Value, column: &str| match &row[column] {
        Value::Bool(met) => (if *met { "yes" } else { "NO" }).to_owned(),
        Value::Null if row["bar"] == NO_BAR => String::new(),
        Value::Null => "skipped".to_owned(),
        value => value.as_str().unwrap_or_default().to_owned(),
    };
    let titles = COLUMNS.map(|column| if column == "other" { "the other" } else { column }.to_owned());
    let lines: Vec<[String; 6]> =
        std::iter::once(titles).chain(rows.iter().map(|row| COLUMNS.map(|column| cell(row, column)))).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    let line = |line: &[String; 6]| {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A description of the machine and its load.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    match load {
        "" => format!("{cores} cores."),
        load => format!("{cores} cores, load {load} at the end, the bench's own included."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn missed_and_skipped_bars_are_marked_in_the_table() {
        let row = |what, met: Value| json!({ "what": what, "ours": "1 ms", "other": "2 ms", "ratio": "0.50", "bar": "≤ 1.05 ×", "met": met });
        let table = table(&[row("one", json!(true)), row("another", json!(false)), row("a third", Value::Null)]);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "what     ours  the other  ratio  bar       met");
        assert!(lines[1].ends_with("≤ 1.05 ×  yes") && lines[2].ends_with("NO") && lines[3].ends_with("skipped"));
    }
}
