// The rules that stand in Rust and in the JavaScript of the package `guichet`: the cases of this folder, against that JavaScript. The unit
// tests of `src` have the same cases for Rust, and `tests/shop/run.mjs` those of a server for guichet-server.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { is_french, refuse_secret_key } from "../../pkg-template/arguments.js";
import { forget_sessions, request_session } from "../../pkg-template/early.js";
import { GuichetError } from "../../pkg-template/error.js";
import { explain } from "../../pkg-template/explain.js";
import { formatMoney, words } from "../../pkg-template/words.js";

const casesOf = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), "utf8"));

for (const { amount, currency, ...texts } of casesOf("money").cases) {
  for (const [language, text] of Object.entries(texts)) assert.equal(formatMoney(amount, currency, language), text);
}

for (const { tag, language } of casesOf("languages").cases) {
  assert.deepEqual([words(tag).language, is_french(tag) ? "fr" : "en"], [language, language], tag);
}

for (const { known, typed, meant } of casesOf("names").cases) {
  const message = `Unknown option \`${typed}\`. The options are: ${known.join(", ")}.`;
  const error = new GuichetError("input", message, { fields: [{ param: typed, code: "parameter_unknown", message }] });
  explain(error, {});
  assert.equal(error.message, meant === null ? message : `Unknown option \`${typed}\`. Did you mean \`${meant}\`?`);
}

const { carries, carries_none } = casesOf("keys");
for (const text of carries) assert.throws(() => refuse_secret_key({ text }), { kind: "secret_key" }, text);
for (const text of carries_none) refuse_secret_key({ text });

// Before the wasm is there, the address gives the channel of the tabs its name.
const { anywhere, pages } = casesOf("addresses");
for (const { address, root, origin = null } of [...anywhere, ...pages]) {
  if (root === null) continue;
  assert.equal((origin ?? "") + channelOf(address), `${root}#guichet`, address);
}

function channelOf(baseUrl) {
  let channel;
  globalThis.location = { origin: "https://shop.example" };
  globalThis.fetch = async () => {};
  globalThis.BroadcastChannel = class {
    constructor(name) {
      channel = name;
    }
  };
  forget_sessions();
  request_session({ baseUrl, merchant: "/guichet" });
  return channel;
}
