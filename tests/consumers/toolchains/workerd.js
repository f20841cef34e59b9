// The package in Cloudflare's Workers: an import never fails, and a call works with the compiled module, or says that it needs it.
// `TOOLS` is the folder in which miniflare and esbuild are installed.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:http";

const require = createRequire(`${process.env.TOOLS}/`);
const { buildSync } = require("esbuild");
const { Miniflare } = require("miniflare");

const service = createServer((request, response) => {
  if (request.url.startsWith("/moved")) return response.writeHead(302, { location: "/v1/payment-methods" }).end();
  const data = request.url.endsWith("/validate") ? { valid: true } : [];
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ data }));
});
await new Promise((listening) => service.listen(0, "127.0.0.1", listening));
const baseUrl = `http://127.0.0.1:${service.address().port}`;

const IMPORTS = `
  import { createGuichet } from "guichet";
  import { createGuichet as createBeside } from "guichet/beside";
  import { openHostedCheckout } from "guichet/hosted";
  const clients = [createGuichet, createBeside].map((create) => create({ baseUrl: "${baseUrl}", merchant: "/guichet" }));
  const answer = () => clients.map(({ session }) => session.state).join();`;
const calls = (options, path = "") => `
  import { createGuichet } from "guichet/beside";
  import wasm from "./core.wasm";
  let client;
  const shown = ({ kind, message }) => kind + ": " + message;
  async function answer() {
    client ??= createGuichet({ baseUrl: "${baseUrl}${path}", merchant: { session: async () => "cst_test_1" }, ${options} });
    return client.session.validate().then(() => client.paymentMethods()).then((list) => "methods: " + list.length, shown);
  }`;

for (const date of ["2023-01-01", "2025-04-30", "2026-01-01"]) {
  assert.equal(await answer(IMPORTS, date), "none,none", date);
  assert.equal(await answer(calls("wasm"), date), "methods: 0", date);
  assert.match(await answer(calls("wasm", "/moved"), date), /^(refused|unreadable): /, `${date}: a redirect is not followed`);
  assert.match(await answer(calls(""), date), /^wasm_(blocked|missing): .* option `wasm`/, date);
}
service.close();
process.exit();

/** What a worker answers, which esbuild bundles as Wrangler does. */
async function answer(source, compatibilityDate) {
  const contents = `${source}\nexport default { fetch: async () => new Response(await answer()) };`;
  const how = { bundle: true, format: "esm", external: ["*.wasm"], conditions: ["workerd", "worker", "browser"], write: false };
  const { outputFiles: [{ text }] } = buildSync({ stdin: { contents, resolveDir: import.meta.dirname }, ...how });
  const wasm = await readFile(new URL("node_modules/guichet/core/guichet_core_bg.wasm", import.meta.url));
  const modules = [{ type: "ESModule", path: "worker/index.mjs", contents: text }, { type: "CompiledWasm", path: "worker/core.wasm", contents: wasm }];
  const worker = new Miniflare({ modules, modulesRoot: "worker", compatibilityDate });
  try {
    return await (await worker.dispatchFetch("http://localhost/")).text();
  } finally {
    await worker.dispose();
  }
}
