//! Whole purchases in the test runners of `docs/testing.md`: Vitest, Jest and Playwright.

use std::fs;
use std::net::TcpListener;

use anyhow::{Context as _, Result};

use super::project::{Project, block, copy};
use crate::cargo::{at_root, root};
use crate::npm::{self, Tools, run_quietly};
use crate::setup;

impl Project {
    /// Copies the tests of `tests/pages/testing/` and that of `docs/testing.md` into a folder, for this runner.
    fn purchases(&self, folder: &str, runner: &str) -> Result<()> {
        let page = fs::read_to_string(root().join("docs/testing.md"))?;
        let tests = fs::read_to_string(root().join("tests/pages/testing/purchase.test.js"))?;
        fs::create_dir_all(self.folder.join(folder))?;
        for (name, test) in [("purchase", &*tests), ("readme", block(&page, "mjs", "from \"vitest\"")?)] {
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
            let time = report.lines().find(|line| line.contains(" for the first purchase, "));
            times.push(format!("in {environment} {}", time.context("Vitest printed no time")?));
        }
        *remark = format!("vitest {}: {}", tools.version("vitest")?, times.join("; "));
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

    /// Shows a component in Jest's jsdom, by the configuration of `docs/testing.md`.
    pub(super) fn component_in_jest(&self, remark: &mut String) -> Result<()> {
        let tools = Tools::framework("jest-jsdom")?;
        let application = tools.folder().join("application");
        npm::remove(&application)?;
        copy(&root().join("tests/pages/package/frameworks/jest-jsdom"), &application)?;
        copy(&self.package(), &application.join("node_modules/guichet"))?;
        let page = fs::read_to_string(root().join("docs/testing.md"))?;
        fs::write(application.join("jest.config.mjs"), block(&page, "mjs", "// jest.config.mjs")?)?;
        let mut jest = tools.node("jest", "jest")?;
        run_quietly(
            jest.current_dir(&application).args(["--ci", "--no-cache"]).env("NO_COLOR", "1").env_remove("NODE_ENV"),
        )?;
        *remark = format!("jest {}", tools.version("jest")?);
        Ok(())
    }

    /// Makes the purchase of `docs/testing.md` in Playwright, in Chromium: `guichet-sandbox` and the example on Express on two ports.
    pub(super) fn purchase_in_playwright(&self, tools: &Tools, remark: &mut String) -> Result<()> {
        setup::chromium(remark)?;
        let page = fs::read_to_string(root().join("docs/testing.md"))?;
        let shop = self.shop_on_express("in-playwright")?;
        copy(&self.sandbox(), &shop.join("node_modules/guichet-sandbox"))?;
        for package in ["@playwright/test", "playwright", "playwright-core"] {
            copy(&tools.modules().join(package), &shop.join("node_modules").join(package))?;
        }
        // The page's ports may be in use.
        let mut config = block(&page, "mjs", "// playwright.config.js")?.to_owned();
        for port in ["4243", "8000"] {
            config = config.replace(port, &free_port()?.to_string());
        }
        fs::write(shop.join("readme.config.js"), config)?;
        fs::write(shop.join("playwright.config.js"), INSTALLED_CHROMIUM)?;
        fs::write(shop.join("purchase.spec.js"), block(&page, "mjs", "// purchase.spec.js")?)?;
        let mut playwright = at_root("node");
        playwright.args(["node_modules/@playwright/test/cli.js", "test", "--reporter=list"]).current_dir(&shop);
        run_quietly(
            playwright.env("CHROMIUM", setup::chromium_program()?).env("NO_COLOR", "1").env_remove("NODE_ENV"),
        )?;
        *remark = format!("playwright {}", tools.version("@playwright/test")?);
        Ok(())
    }
}

/// The page's configuration, with the browser that is installed in place of one that Playwright downloads, and with longer limits: this
/// runs beside builds.
const INSTALLED_CHROMIUM: &str = "\
import config from \"./readme.config.js\";

const use = { ...config.use, launchOptions: { executablePath: process.env.CHROMIUM } };
export default { ...config, use, timeout: 180_000, expect: { timeout: 60_000 } };
";

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
