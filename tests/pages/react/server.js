// Renders every hook in Node.js: the server's snapshots, without a request. Prints the HTML.
import assert from "node:assert/strict";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { Page, requests } from "./views.js";

const html = renderToString(createElement(Page));
const shown = (id) => new RegExp(`id="${id}">([^<]*)<`).exec(html)?.[1];
assert.deepEqual(["session", "first", "second", "checkout", "outcome"].map(shown),
  ["none nobody false", "loading", "loading", "idle", "loading"]);
await new Promise((next) => setTimeout(next, 50));
assert.deepEqual(requests, []);
console.log(JSON.stringify({ html }));
