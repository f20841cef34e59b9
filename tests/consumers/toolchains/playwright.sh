# Makes the purchase of docs/testing.md in Playwright: guichet-sandbox and the example on Express on two ports.
set -e
sh express.sh in-playwright
cp -r node_modules/guichet-sandbox in-playwright/node_modules
# The page's ports may be in use.
port() {
  node -p 'const server = require("node:net").createServer().listen(0, () => server.close()); server.address().port'
}
node block.js docs/testing.md mjs '// playwright.config.js' > in-playwright/readme.config.js
sed -i "s/4243/$(port)/g; s/8000/$(port)/g" in-playwright/readme.config.js
node block.js docs/testing.md mjs '// purchase.spec.js' > in-playwright/purchase.spec.js
# The browser that is installed in place of one that Playwright downloads, and longer limits: this runs beside builds.
cat > in-playwright/playwright.config.js <<'END'
import config from "./readme.config.js";

const use = { ...config.use, launchOptions: { executablePath: process.env.CHROMIUM } };
export default { ...config, use, timeout: 180_000, expect: { timeout: 60_000 } };
END
cd in-playwright
playwright test --reporter=list
