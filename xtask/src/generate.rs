//! `cargo xtask generate`: writes the files of the repository that follow from the code. Tests compare them.

use anyhow::{Result, bail};

use crate::cargo::{at_root, cargo, root, run};
use crate::consumers::copy;
use crate::steps::Steps;
use crate::{pack, setup};

/// The tests that compare them: `docs/trust.md`, `docs/openapi.json` and README.md; `docs/check.md`.
const TESTS: [&str; 2] = ["up_to_date", "check::a_right_shop"];

pub fn command(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("usage: cargo xtask generate");
    }
    let mut steps = Steps::start();
    steps.step("the wasm32 target", setup::wasm_target)?;
    let packed = pack::quick(&mut steps)?;
    steps.step("docs/errors.md", |_| {
        let folder = root().join("target/generate");
        copy(&packed.folder, &folder.join("node_modules/guichet"))?;
        let script = folder.join("types/errors.mjs");
        copy(&root().join("tests/types"), &folder.join("types"))?;
        run(at_root("node").arg(script).arg(root().join("docs/errors.md")).env("GUICHET_GENERATE", "1"))
    })?;
    steps.step("docs/trust.md, docs/openapi.json, docs/check.md, README.md", |_| {
        let mut tests = cargo(["test", "--package=guichet-cli", "--all-features", "--test=service", "--"]);
        run(tests.args(TESTS).env("GUICHET_GENERATE", "1"))
    })
}
