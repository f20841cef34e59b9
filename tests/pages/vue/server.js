// Renders every function in Node.js, without a request. Prints the HTML.
import assert from "node:assert/strict";
import { renderToString } from "vue/server-renderer";
import { createPage, requests } from "./views.js";

const html = await renderToString(createPage());
const shown = (page, ...ids) => ids.map((id) => new RegExp(`id="${id}">([^<]*)<`).exec(page)?.[1]);
assert.deepEqual(shown(html, "session", "first", "second", "checkout", "outcome"),
  ["none nobody false", "loading", "loading", "idle", "loading"]);
const given = await renderToString(createPage("given"));
assert.deepEqual(shown(given, "first"), ["given 1"]);
await new Promise((next) => setTimeout(next, 50));
assert.deepEqual(requests, []);
console.log(JSON.stringify({ html, given }));
