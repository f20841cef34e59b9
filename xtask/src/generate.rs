//! `cargo xtask generate`: writes the files of the repository that follow from the code. `--check` only compares them, as tests do.

use std::fs;

use anyhow::{Result, bail, ensure};

use crate::binaries::PRODUCT;
use crate::cargo::{at_root, cargo, root, run};
use crate::consumers::{copy, works_with};
use crate::steps::Steps;
use crate::{package, setup};

/// The tests that generate each file but those of the errors.
const TESTS: [&str; 2] = ["up_to_date", "check::a_right_shop"];

const FILES: [&str; 10] = [
    "docs/check-rules.md",
    "docs/errors.fr.md",
    "docs/errors.md",
    "docs/index.md",
    "docs/openapi.json",
    "docs/operations.md",
    "docs/trust.md",
    "llms.txt",
    works_with::PAGE,
    "pkg-template/sandbox/sandbox.d.ts",
];

pub const SENTENCES: &str = "the sentences of the pages";

/// Writes the sentences of `words/*.json` into the scripts of the package, or fails if they differ.
pub fn sentences(is_check: bool) -> Result<()> {
    run(at_root("node").arg("words/write.mjs").args(is_check.then_some("--check")))
}

pub fn command(args: &[String]) -> Result<()> {
    let is_check = match args {
        [] => false,
        [check] if check == "--check" => true,
        _ => bail!("usage: cargo xtask generate [--check]"),
    };
    let mut steps = Steps::start();
    // Before the package is built, which contains them.
    steps.step(SENTENCES, |_| sentences(is_check))?;
    steps.step("the wasm32 target", setup::wasm_target)?;
    let packed = package::quick(&mut steps)?;
    let folder = root().join("target/generate");
    let generated = folder.join("files");
    fs::create_dir_all(generated.join("docs"))?;
    steps.step("the pages of the errors", |_| {
        copy(&packed.folder, &folder.join("node_modules/guichet"))?;
        copy(&root().join("tests/types"), &folder.join("types"))?;
        let mut node = at_root("node");
        node.arg(folder.join("types/errors.mjs")).arg(root().join("docs"));
        run(node.env("GUICHET_GENERATE", generated.join("docs")))
    })?;
    steps.step("the other files", |_| {
        fs::write(generated.join(works_with::PAGE), works_with::page()?)?;
        let mut tests = cargo(["test", "--test=service"]);
        run(tests.args(PRODUCT).arg("--").args(TESTS).env("GUICHET_GENERATE", &generated))
    })?;
    let mut stale = Vec::new();
    for file in FILES {
        let (text, tracked) = (fs::read(generated.join(file))?, root().join(file));
        if text != fs::read(&tracked)? {
            stale.push(file);
            if !is_check {
                fs::write(tracked, text)?;
                println!("   written: {file}");
            }
        }
    }
    ensure!(
        stale.is_empty() || !is_check,
        "stale: {}. Run `cargo xtask generate`, and commit what it writes.",
        stale.join(", ")
    );
    Ok(())
}
