// Renders every hook in Node.js: the server's snapshots, without a request. Prints the HTML.
import assert from "node:assert/strict";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { guichet, Page, requests } from "./views.js";

const html = renderToString(createElement(Page));
const shown = (page, ...ids) => ids.map((id) => new RegExp(`id="${id}">([^<]*)<`).exec(page)?.[1]);
assert.deepEqual(shown(html, "session", "first", "second", "checkout", "outcome"),
  ["none nobody false", "loading", "loading", "idle", "loading"]);
const given = renderToString(createElement(Page, { view: "given" }));
assert.deepEqual(shown(given, "first"), ["given 1"]);
await new Promise((next) => setTimeout(next, 50));
assert.deepEqual(requests, []);

// A component that suspends has its answer, an error. Others with the same question render what the browser begins with.
globalThis.fetch = async () => Response.json({ error: { code: "invalid" } }, { status: 422 });
renderToString(createElement(Page, { view: "suspense" }));
await assert.rejects(guichet.quotes({ amount: "5000", currency: "XAF", fee_bearer: "customer" }), { kind: "refused" });
await new Promise((next) => setTimeout(next));
const answered = renderToString(createElement(Page, { view: "quotes" }));
assert.deepEqual(shown(answered, "first", "second"), ["loading", "loading"]);
console.log(JSON.stringify({ html, given }));
