// Compares the keys that the types declare with those that the words have, in each language: neither may have one more. And
// tries `describe` with a table of another language.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { hostedWords } from "guichet/hosted-words";
import { describe, words } from "guichet/words";

const union = (file, type) => {
  const text = readFileSync(new URL(`../node_modules/guichet/${file}`, import.meta.url), "utf8");
  const members = new RegExp(`export type ${type} =([^;]*);`).exec(text)?.[1] ?? "";
  return [...members.matchAll(/"(\w+)"/g)].map(([, key]) => key);
};
const methods = union("words.d.ts", "MethodKey");
const declared = {
  MethodKey: [methods, ({ methods }) => methods],
  KindKey: [union("words.d.ts", "KindKey"), ({ kinds }) => kinds],
  CodeKey: [union("words.d.ts", "CodeKey"), ({ codes }) => codes],
  DeclineKey: [union("words.d.ts", "DeclineKey"), ({ declines }) => declines],
  PageKey: [[...methods, ...union("hosted-words.d.ts", "PageKey")], ({ language }) => hostedWords(language)],
};
for (const [type, [keys, sentences]] of Object.entries(declared)) {
  assert.ok(keys.length > 3, `${type} is not declared`);
  for (const locale of ["en", "fr"]) {
    assert.deepEqual(Object.keys(sentences(words(locale))).sort(), keys.toSorted(), `${type} and its words in ${locale}`);
  }
}

// A table of one's own is taken before the package's sentences, and what it lacks is said in English.
const swahili = { kinds: { offline: "Hakuna mtandao." }, codes: {}, declines: { expired_card: "Kadi imeisha muda." }, otherwise: "Kuna tatizo." };
assert.equal(describe({ kind: "offline" }, swahili), "Hakuna mtandao.");
assert.equal(describe({ code: "expired_card" }, swahili), "Kadi imeisha muda.");
assert.equal(describe({ kind: "refused", code: "plan_inactive" }, swahili), "Kuna tatizo.");
const { otherwise, ...short } = swahili;
assert.equal(describe({ kind: "refused", code: "plan_inactive" }, short), words("en").codes.plan_inactive);
assert.equal(describe({ kind: "constructor", code: "toString" }, short), words("en").otherwise);
for (const none of [null, {}, undefined, "de", { kinds: null, codes: { offline: "" } }]) {
  assert.equal(describe({ kind: "offline" }, none), words("en").kinds.offline);
}
// One code is a decline's, and the service's: what has a kind is an error.
const { codes, declines } = words("fr");
assert.equal(describe({ code: "authentication_required" }, "fr"), declines.authentication_required);
assert.equal(describe({ kind: "session", code: "authentication_required" }, "fr"), codes.authentication_required);
