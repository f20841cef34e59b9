// Writes the examples of the declarations (`@example`) to examples/, for the compiler. Fails if an exported name, or a member that is
// called, has none, if a file here does not use an exported name, or if a declaration is `any`, which would turn off the user's checks.
// The argument is the folder of TypeScript.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const ts = require(process.argv[2]);
const modules = new URL("../node_modules/", import.meta.url);

/** The file of declarations of each entry, by the entry's name: `guichet/react`. */
const entries = new Map();
for (const name of ["guichet", "guichet-sandbox", "guichet-server"]) {
  const { exports } = JSON.parse(readFileSync(new URL(`${name}/package.json`, modules), "utf8"));
  for (const [path, { types }] of Object.entries(exports)) {
    if (types) entries.set(name + path.slice(1), new URL(`${name}/${types}`, modules).pathname);
  }
}
const program = ts.createProgram([...entries.values()], { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext });
const checker = program.getTypeChecker();
const isOurs = (node) => /\/node_modules\/guichet/.test(node.getSourceFile().fileName);

/** The entries of each exported name, and the declarations that a reader hovers. */
const entriesOf = new Map();
const declarations = new Map();
for (const [entry, file] of entries) {
  for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)))) {
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    entriesOf.set(exported.name, [...(entriesOf.get(exported.name) ?? []), entry]);
    for (const declaration of symbol.declarations) declarations.set(declaration, exported.name);
    for (const member of members(symbol)) {
      for (const declaration of (member.declarations ?? []).filter(isOurs)) {
        if (isCalled(member, declaration) && !declarations.has(declaration)) declarations.set(declaration, `${exported.name}.${member.name}`);
      }
    }
  }
}

/** The members of a class or an interface, inherited ones and static ones included. */
function members(symbol) {
  if (!(symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface))) return [];
  const own = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol));
  const ofClass = symbol.flags & ts.SymbolFlags.Class ? checker.getPropertiesOfType(checker.getTypeOfSymbol(symbol)) : [];
  return [...own, ...ofClass];
}

function isCalled(member, declaration) {
  const type = checker.getNonNullableType(checker.getTypeOfSymbolAtLocation(member, declaration));
  return type.getCallSignatures().length > 0;
}

const without = [];
let count = 0;
for (const [declaration, name] of declarations) {
  const examples = ts.getJSDocTags(declaration).filter(({ tagName }) => tagName.text === "example");
  if (examples.length === 0) without.push(`${name} (${declaration.getSourceFile().fileName.split("/").pop()})`);
  for (const { comment } of examples) {
    count += 1;
    writeFileSync(new URL(`examples/${name}-${count}.tsx`, import.meta.url), asModule(ts.getTextOfJSDocComment(comment), declaration));
  }
}
assert.deepEqual(without, [], "exported names without an example");
assert.ok(count > 100, `only ${count} examples were found`);
console.log(JSON.stringify({ entries: entries.size, names: entriesOf.size, declarations: declarations.size, examples: count }));

const here = new URL("./", import.meta.url);
const tests = readdirSync(here).filter((name) => /\.tsx?$/.test(name)).map((name) => readFileSync(new URL(name, here), "utf8"));
const used = new Set(tests.join().match(/[\w$]+/g));
assert.deepEqual([...entriesOf.keys()].filter((name) => !used.has(name)), [], "exported names that tests/types does not use");
const untyped = [];
const findAny = (node) => {
  if (node.kind === ts.SyntaxKind.AnyKeyword) untyped.push(`${node.getSourceFile().fileName}: ${node.parent.getText()}`);
  ts.forEachChild(node, findAny);
};
program.getSourceFiles().filter(isOurs).forEach(findAny);
assert.deepEqual(untyped, [], "declarations that are `any`");

/**
 * An example as a module: it imports the exported names that it uses, from the entry of its declaration if that has the name, and runs in
 * a function, so that it may `await` and `return`.
 */
function asModule(example, declaration) {
  const words = new Set(example.match(/\w+/g));
  const entryOf = (all) => all.find((entry) => entries.get(entry) === declaration.getSourceFile().fileName) ?? all[0];
  const used = [...entriesOf].filter(([name]) => words.has(name));
  const imports = used.map(([name, all]) => `import { ${name} } from "${entryOf(all)}";\n`);
  return `${imports.join("")}export async function example() {\n${example}\n}\n`;
}
