// Calls the sandbox by its `fetch`, as a test in any runtime does: Node.js, Deno or Bun.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createGuichet } from "guichet";
import { createGuichet as createBeside } from "guichet/beside";
import { createSandbox } from "guichet-sandbox";

const { baseUrl, fetch, close } = await createSandbox({ publicMethods: true });
const options = { baseUrl, fetch, publicReads: "anonymous" };
// The `fetch` of Node.js reads no files.
const wasm = await readFile(new URL(import.meta.resolve("guichet/core/guichet_core_bg.wasm")));
for (const guichet of [createGuichet(options), createBeside({ ...options, wasm })]) {
  const methods = await guichet.paymentMethods({ country_code: "CM" });
  assert.deepEqual(methods.map(({ id }) => id), ["svc_mobile_money", "svc_card"]);
  const quotes = await guichet.quotes({ amount: "5000", currency: "XAF", fee_bearer: "customer" });
  assert.deepEqual(quotes.map(({ customer_pays }) => customer_pays), ["5100", "5145", "5195"]);
}
await close();
