// Compares the keys that `words.d.ts` declares with those that `words.js` has, in each language: neither may have one more.
import { readFileSync } from "node:fs";
import { words } from "guichet/words";

const declared = readFileSync(new URL("../node_modules/guichet/words.d.ts", import.meta.url), "utf8");
const faults = [];
for (const [member, type] of [["page", "PageKey"], ["kinds", "KindKey"], ["codes", "CodeKey"], ["declines", "DeclineKey"]]) {
  const union = new RegExp(`export type ${type} =([^;]*);`).exec(declared)?.[1] ?? "";
  const types = [...union.matchAll(/"(\w+)"/g)].map(([, key]) => key);
  if (!types.length) faults.push(`words.d.ts declares no ${type}`);
  if (new Set(types).size !== types.length) faults.push(`${type} names a key twice`);
  for (const locale of ["en", "fr"]) {
    const keys = Object.keys(words(locale)[member]);
    for (const key of keys) if (!types.includes(key)) faults.push(`${type} lacks "${key}" (${locale})`);
    for (const key of types) if (!keys.includes(key)) faults.push(`${member} in ${locale} lacks "${key}"`);
  }
}
if (faults.length) throw new Error(`words.d.ts and words.js differ:\n${faults.join("\n")}`);
