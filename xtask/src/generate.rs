//! `cargo xtask generate`: writes the files of the repository that follow from the code. `--check` only compares them,
//! as tests do.

use std::fs;

use anyhow::{Result, bail, ensure};

use crate::binaries::PRODUCT;
use crate::cargo::{at_root, cargo, root, run};
use crate::consumers::{copy, works_with};
use crate::steps::Steps;
use crate::{package, setup};

/// The tests that compare the files, but for those of the errors. Each leaves what a stale file should be in
/// `target/stale`.
const TESTS: [&str; 2] = ["up_to_date", "check::a_right_shop"];

pub const SENTENCES: &str = "the sentences of the pages";

/// Writes the sentences of `words/*.json` into the scripts of the package, or fails if they differ.
pub fn sentences(is_check: bool) -> Result<()> {
    run(at_root("node").arg("words/write.mjs").args(is_check.then_some("--check")))
}

pub fn command(is_check: bool) -> Result<()> {
    let mut steps = Steps::start();
    // Before the package is built, which contains them.
    steps.step(SENTENCES, |_| sentences(is_check))?;
    steps.step("the wasm32 target", setup::wasm_target)?;
    let packed = package::quick(&mut steps)?;
    let folder = root().join("target/generate");
    copy(&packed.folder, &folder.join("node_modules/guichet"))?;
    copy(&root().join("tests/types"), &folder.join("types"))?;
    steps.step("the pages of the errors", |_| {
        let errors = || run(at_root("node").arg(folder.join("types/errors.mjs")).arg(root().join("docs")));
        write_stale(is_check, errors)
    })?;
    steps.step("the other files", |_| {
        let page = works_with::page()?;
        if !is_check {
            fs::write(root().join(works_with::PAGE), &page)?;
        }
        ensure!(fs::read_to_string(root().join(works_with::PAGE))? == page, "stale: {}", works_with::PAGE);
        write_stale(is_check, || run(cargo(["test", "--test=service"]).args(PRODUCT).arg("--").args(TESTS)))
    })
}

/// Compares files, and writes those that are stale until none is: the list of pages follows from a page that was stale
/// itself.
fn write_stale(is_check: bool, compare: impl Fn() -> Result<()>) -> Result<()> {
    const ROUNDS: usize = 3;
    let folder = root().join("target/stale");
    for _ in 0..ROUNDS {
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let compared = compare();
        if compared.is_ok() || is_check || !folder.exists() {
            return compared;
        }
        copy(&folder, &root())?;
    }
    bail!("files are stale each time that they are written: see {}", folder.display())
}
