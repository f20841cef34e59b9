// Writes the JavaScript of the documents as TypeScript to readme/, for the compiler. Prints the number of its blocks. The argument is the
// root of the project.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** The documents that show JavaScript. */
const WITH_JAVASCRIPT = ["README.md", "README.fr.md", "docs/loading.md", "docs/page.md", "docs/react.md", "docs/testing.md", "pkg-template/README.md", "pkg-template/sandbox/README.md", "pkg-template/server/README.md"];
/** TypeScript's extensions for the languages of blocks. */
const EXTENSIONS = { js: "ts", mjs: "ts", cjs: "ts", javascript: "ts", ts: "ts", mts: "ts", typescript: "ts", jsx: "tsx", tsx: "tsx" };

/** The blocks of a document that are JavaScript or TypeScript, without the indentation of a list. */
function blocks(document) {
  const found = [...document.matchAll(/^( *)```(.*)\n([^]*?)^ *```$/gm)];
  return found.filter(([, , language]) => language.trim() in EXTENSIONS).map(([, indentation, language, code]) => ({ language: language.trim(), code: code.replaceAll(new RegExp(`^${indentation}`, "gm"), "") }));
}

/** A block without imports continues the block of the same language before it. */
function scripts(blocks) {
  const scripts = [];
  for (const { language, code } of blocks) {
    const before = scripts.findLast((script) => script.language === language);
    if (before && !code.includes("import ")) before.code += code;
    else scripts.push({ language, code });
  }
  return scripts;
}

const continued = "\n```js\nimport a;\n```\n\n```mjs\nd();\n```\n```js\nb();\n```\n```sh\nno\n```\n```js\nimport c;\n```\n";
assert.deepEqual(scripts(blocks(continued)).map(({ code }) => code), ["import a;\nb();\n", "d();\n", "import c;\n"]);
assert.deepEqual(blocks("```sh\n```\n1. A list:\n   ```tsx\n   f(\n     1);\n   ```\n"), [{ language: "tsx", code: "f(\n  1);\n" }]);

const root = process.argv[2];
const list = (folder) => readdirSync(`${root}/${folder}`, { withFileTypes: true });
const examples = list("examples").filter((entry) => entry.isDirectory()).map(({ name }) => `examples/${name}/`);
const folders = ["", "docs/", "pkg-template/", "pkg-template/sandbox/", "pkg-template/server/", ...examples];
const documents = folders.flatMap((folder) => list(folder).filter(({ name }) => name.endsWith(".md")).map(({ name }) => folder + name));

let count = 0;
for (const document of ["llms.txt", ...documents]) {
  const found = blocks(readFileSync(`${root}/${document}`, "utf8"));
  assert(found.length > 0 || !WITH_JAVASCRIPT.includes(document), `${document} shows no JavaScript`);
  count += found.length;
  for (const [number, { language, code }] of scripts(found).entries()) {
    writeFileSync(new URL(`readme/${document.replaceAll("/", "-")}-${number}.${EXTENSIONS[language]}`, import.meta.url), code);
  }
}
console.log(count);
