//! The packages in processes of Node.js, Deno and Bun: imports, calls without a page, and everything that `guichet-sandbox` does.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::project::Project;
use crate::cargo::{at_root, root};
use crate::npm::{Tools, run_quietly};

impl Project {
    /// Imports every entry in Node.js, loads it by `require`, and calls `guichet-sandbox`.
    pub(super) fn import_in_node(&self) -> Result<()> {
        for script in ["import.js", "require.cjs", "call_the_sandbox.js"] {
            self.run_in(&mut at_root("node"), script)?;
        }
        Ok(())
    }

    /// Imports every entry, makes every call, and calls `guichet-sandbox`, in Deno and in Bun. In Deno, `guichet` needs no
    /// permission: React reads `NODE_ENV`, and the sandbox reads its files.
    pub(super) fn run_in_deno_and_bun(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        for (script, permissions) in [
            ("import.js", &["--allow-env=NODE_ENV"][..]),
            ("without_a_page.js", &["--allow-env=JSDOM"]),
            ("call_the_sandbox.js", &["--allow-read", "--allow-env"]),
        ] {
            self.run_in(self.deno(tools)?.args(permissions), script).context("in Deno")?;
            self.run_in(&mut bun(tools)?, script).context("in Bun")?;
        }
        *remark = format!("deno {}, bun {}", tools.version("deno")?, tools.version("bun")?);
        Ok(())
    }

    /// Runs the cases of `tests/shop/` in Node.js, Deno and Bun, and as in workerd: there, wasm is imported and not compiled.
    pub(super) fn run_rules_of_a_server(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        let folder = self.with_sources(&root().join("tests/shop"))?;
        let (mut node, mut compiled, mut deno) = (at_root("node"), at_root("node"), self.deno(tools)?);
        compiled.args(["--conditions=workerd", "--import=./compiled.mjs"]);
        deno.args(["--allow-read", "--allow-net=127.0.0.1", "--allow-env"]);
        for (name, runtime) in
            [("Node.js", &mut node), ("workerd", &mut compiled), ("Deno", &mut deno), ("Bun", &mut bun(tools)?)]
        {
            let output = run_quietly(runtime.current_dir(&folder).env("NO_COLOR", "1").arg("run.mjs"));
            let output = output.with_context(|| format!("the rules in {name}"))?;
            *remark = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        }
        let adapters = Tools::locked_in("xtask/npm/adapters")?;
        let mut node = at_root("node");
        node.current_dir(&folder).env("ADAPTERS", adapters.modules()).arg("adapters.mjs");
        run_quietly(&mut node).context("toNode in adapters")?;
        Ok(())
    }

    /// The command that runs a script in Deno, without a permission.
    fn deno(&self, tools: &Tools) -> Result<Command> {
        let mut deno = tools.native("@deno", "deno")?;
        deno.args(["run", "--no-prompt", "--cached-only"]);
        deno.env("DENO_DIR", self.folder.with_file_name("deno")).env("DENO_NO_UPDATE_CHECK", "1");
        Ok(deno)
    }

    /// Copies a script of `tests/pages/package/` beside the packages, and runs it by this runtime.
    fn run_in(&self, runtime: &mut Command, script: &str) -> Result<()> {
        fs::copy(root().join("tests/pages/package").join(script), self.folder.join(script))?;
        run_quietly(runtime.current_dir(&self.folder).env("NO_COLOR", "1").arg(script)).map(drop)
    }

    /// Makes every call in Node.js and in jsdom.
    pub(super) fn call_without_a_page(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        self.run_in(at_root("node").env("JSDOM", tools.modules()), "without_a_page.js")?;
        *remark = format!("jsdom {}", tools.version("jsdom")?);
        Ok(())
    }

    /// Imports the package in Cloudflare's Workers, and calls with the compiled module.
    pub(super) fn call_in_workerd(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        self.run_in(at_root("node").env("TOOLS", tools.modules()), "workerd.js")?;
        *remark = format!("miniflare {}", tools.version("miniflare")?);
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
        self.shop_on_express("express")?;
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

/// The command that runs a script in Bun.
fn bun(tools: &Tools) -> Result<Command> {
    let mut bun = tools.native("@oven", "bin/bun")?;
    bun.env("DO_NOT_TRACK", "1");
    Ok(bun)
}
