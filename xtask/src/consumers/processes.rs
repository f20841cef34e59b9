//! The packages in processes of Node.js: imports, calls without a page, and everything that `guichet-sandbox` does.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{Project, copy};
use crate::cargo::{at_root, root};
use crate::npm::{Tools, run_quietly};

impl Project {
    /// Imports every entry in Node.js.
    pub(super) fn import_in_node(&self) -> Result<()> {
        fs::copy(root().join("tests/pages/package/import.js"), self.folder.join("import.js"))?;
        run_quietly(at_root("node").current_dir(&self.folder).arg("import.js"))
            .context("importing the package fails or has side effects")?;
        Ok(())
    }

    /// Makes every call in Node.js and in jsdom.
    pub(super) fn call_without_a_page(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        let script = "without_a_page.js";
        fs::copy(root().join("tests/pages/package").join(script), self.folder.join(script))?;
        run_quietly(at_root("node").current_dir(&self.folder).env("JSDOM", tools.modules()).arg(script))
            .context("a call without a page fails its check")?;
        *remark = format!("jsdom {}", tools.version("jsdom")?);
        Ok(())
    }

    /// Uses the sandbox in the process of a test, in Node.js and in jsdom.
    pub(super) fn run_sandbox(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        let figures = self.run_script("sandbox.js", tools).context("the sandbox in a process fails its check")?;
        *remark = format!("started in {} ms, {} creations a second", figures["started"], figures["perSecond"]);
        Ok(())
    }

    /// Runs the command `guichet-sandbox`.
    pub(super) fn run_sandbox_command(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        let figures = self.run_script("sandbox_command.js", tools).context("`guichet-sandbox` fails its check")?;
        *remark = format!("ready after {} ms", figures["readyMs"]);
        Ok(())
    }

    /// Runs the command `guichet-sandbox demo`.
    pub(super) fn run_demo(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        let figures = self.run_script("sandbox_demo.js", tools).context("`guichet-sandbox demo` fails its check")?;
        *remark = format!("ready after {} ms", figures["readyMs"]);
        Ok(())
    }

    /// Runs the command `guichet-sandbox check` against the example server on Express, and against a shop that breaks rules.
    pub(super) fn run_check(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        let shop = self.folder.join("express");
        fs::create_dir_all(&shop)?;
        fs::copy(root().join("examples/express/server.mjs"), shop.join("server.mjs"))?;
        copy(&root().join("examples/page"), &shop.join("page"))?;
        copy(&Tools::express()?.modules(), &shop.join("node_modules"))?;
        copy(&self.package(), &shop.join("node_modules/guichet"))?;
        let figures = self.run_script("sandbox_check.js", tools).context("`guichet-sandbox check` fails its check")?;
        *remark = format!("{} rules in {} s", figures["passed"], figures["seconds"]);
        Ok(())
    }

    /// Runs a script of `tests/pages/package/`. Returns the JSON that it prints.
    fn run_script(&self, script: &str, tools: &Tools) -> Result<Value> {
        fs::copy(root().join("tests/pages/package").join(script), self.folder.join(script))?;
        let mut node = at_root("node");
        let output = run_quietly(node.current_dir(&self.folder).env("JSDOM", tools.modules()).arg(script))?;
        serde_json::from_slice(&output.stdout).with_context(|| format!("{script} printed no figures"))
    }
}
