//! The rules that stand in Rust and in the package's JavaScript, which needs them before the wasm is there: the cases
//! of `tests/rules/*.json`, against that JavaScript. The unit tests of `src` run them, too.

use crate::support::root;
use std::process::Command;

#[test]
fn the_packages_scripts_follow_the_rules_that_stand_in_rust_too() {
    let output = Command::new("node").arg(root().join("tests/rules/run.mjs")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
