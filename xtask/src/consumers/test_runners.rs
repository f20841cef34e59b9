//! Whole purchases in the test runners of the package's README.

use std::fs;

use anyhow::{Context as _, Result};

use super::{Project, block};
use crate::cargo::{at_root, root};
use crate::npm::{Tools, run_quietly};

impl Project {
    /// Copies the tests of `tests/pages/testing/` and that of the package's README into a folder, for this runner.
    fn purchases(&self, folder: &str, runner: &str) -> Result<()> {
        let readme = fs::read_to_string(root().join("pkg-template/README.md"))?;
        let tests = fs::read_to_string(root().join("tests/pages/testing/purchase.test.js"))?;
        fs::create_dir_all(self.folder.join(folder))?;
        for (name, test) in [("purchase", &*tests), ("readme", block(&readme, "mjs", "from \"vitest\"")?)] {
            let file = self.folder.join(folder).join(format!("{name}.test.js"));
            fs::write(file, test.replace("from \"vitest\"", &format!("from \"{runner}\"")))?;
        }
        Ok(())
    }

    /// Makes whole purchases in Vitest, in Node.js and in jsdom.
    pub(super) fn purchase_in_vitest(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        self.purchases("in-vitest", "vitest")?;
        let mut times = Vec::new();
        for environment in ["node", "jsdom"] {
            let mut vitest = tools.node("vitest", "vitest")?;
            vitest.args(["run", "--environment", environment, "in-vitest/"]).env("NO_COLOR", "1");
            let output = run_quietly(vitest.current_dir(&self.folder).env_remove("NODE_ENV"))?;
            let report = String::from_utf8_lossy(&output.stdout);
            let time = report.lines().find_map(|line| line.strip_suffix(" for all purchases"));
            times.push(format!("{} in {environment}", time.context("Vitest printed no time")?));
        }
        *remark = format!("vitest {}: {}", tools.version("vitest")?, times.join(", "));
        Ok(())
    }

    /// Makes the same purchases in Jest, in Node.js.
    pub(super) fn purchase_in_jest(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        self.purchases("in-jest", "@jest/globals")?;
        let mut node = at_root("node");
        node.arg("--experimental-vm-modules").arg(tools.script("jest", "jest")?).args(["--rootDir", ".", "in-jest/"]);
        run_quietly(node.current_dir(&self.folder).env("NO_COLOR", "1").env_remove("NODE_ENV"))?;
        *remark = format!("jest {}", tools.version("jest")?);
        Ok(())
    }
}
