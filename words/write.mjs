// Writes the sentences of en.json and fr.json into the package's words.js and hosted-words.js: node words/write.mjs [--check]
//
// `cargo xtask generate` runs it. With --check it only compares.

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";

const root = new URL("../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root), "utf8");
const { check: isCheck } = parseArgs({ options: { check: { type: "boolean" } } }).values;

const languages = ["en", "fr"].map((name) => [name, JSON.parse(read(`words/${name}.json`))]);

/** An object as JavaScript, one entry on a line. */
function lines(object, indent) {
  return Object.entries(object).map(([key, value]) => {
    const text = typeof value === "string" ? JSON.stringify(value) : `{\n${lines(value, `${indent}  `)}\n${indent}}`;
    return `${indent}${key}: ${text},`;
  }).join("\n");
}

/** The file with the object of one language replaced. */
function withObject(text, name, body) {
  const start = text.indexOf(`const ${name} = {\n`) + `const ${name} = {\n`.length;
  return text.slice(0, start) + body + text.slice(text.indexOf("\n};", start));
}

const files = {
  "pkg-template/words.js": ({ hosted, plain, issuer, ...shop }) => lines(shop, "  "),
  "pkg-template/hosted-words.js": ({ language, hosted }) => `  ...words(${JSON.stringify(language)}).methods,\n${lines(hosted, "  ")}`,
};
for (const [path, body] of Object.entries(files)) {
  const before = read(path);
  const after = languages.reduce((text, [name, words]) => withObject(text, name, body(words)), before);
  if (before === after) continue;
  if (isCheck) throw new Error(`${path} is not what words/*.json say. Run \`cargo xtask generate\`, and commit what it writes.`);
  writeFileSync(new URL(path, root), after);
}
