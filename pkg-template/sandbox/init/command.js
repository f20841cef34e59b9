// `guichet-sandbox init`: writes an example shop into an empty folder, with the packages that it uses.
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandError, parse, print } from "../terminal.js";

/** What installs the dependencies of each kind of shop, in its folder. `isOfNpm`: npm installs guichet's packages, too. */
const KINDS = {
  express: { install: "npm install", isOfNpm: true },
  next: { install: "npm install", isOfNpm: true },
  php: {},
};

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));

export function init(args) {
  const { help, kind, folder } = read(args);
  if (help) return print(HELP);
  refuseUnlessEmpty(folder);
  const { install, isOfNpm } = KINDS[kind];
  const copy = (from, to) => cpSync(join(PACKAGE, from), join(folder, to), { recursive: true });
  copy(`examples/${kind}`, "");
  copyFileSync(join(PACKAGE, `init/${kind}.mjs`), join(folder, "start.mjs"));
  // The whole package: the folder does not depend on where npx keeps it, and npm finds `guichet` and `guichet-server` in it.
  copy("", "guichet-sandbox");
  for (const part of ["guichet", "server"].map((name) => join(folder, "guichet-sandbox", name))) {
    renameSync(join(part, "manifest.json"), join(part, "package.json"));
  }
  if (kind !== "next") copy("examples/page", "page");
  if (isOfNpm) addPackages(join(folder, "package.json"));
  else copy("guichet", "page/package");
  print(`\
The shop is in ${folder}. These two lines run it:

  cd ${quoted(folder)}${install ? ` && ${install}` : ""}
  node start.mjs`);
}

const HELP = `\
Write an example shop, its page and the packages that it uses into an empty folder, and print the two lines that run it

Usage: guichet-sandbox init <KIND> <FOLDER>

  <KIND>    express, next or php
  <FOLDER>  A folder that is empty or does not exist

  -h, --help  Print this help

express and next need Node.js 20.19, php PHP 8.2 with pdo_sqlite and curl.`;

function read(args) {
  const { values, positionals } = parse(args, { help: { type: "boolean", short: "h" } }, "guichet-sandbox init", {}, true);
  const [kind, folder, extra] = positionals;
  if (values.help) return values;
  const kinds = "express, next or php";
  if (kind === undefined) throw new CommandError(2, `Missing argument <KIND>: ${kinds}. --help says more.`);
  if (!Object.hasOwn(KINDS, kind)) throw new CommandError(2, `invalid value '${kind}' for '<KIND>': it is ${kinds}.`);
  if (folder === undefined) throw new CommandError(2, `Missing argument <FOLDER>: an empty folder for the shop, for example: init ${kind} shop`);
  if (extra !== undefined) throw new CommandError(2, `unexpected argument '${extra}'. --help says more.`);
  const node = "20.19.0";
  if (process.versions.node.localeCompare(node, "en", { numeric: true }) < 0) {
    throw new CommandError(1, `This is Node.js ${process.versions.node}, and the kind ${kind} needs ${node} or newer. Install it from https://nodejs.org.`);
  }
  return { kind, folder };
}

function refuseUnlessEmpty(folder) {
  try {
    mkdirSync(folder, { recursive: true });
    if (readdirSync(folder).length === 0) return;
  } catch ({ code, message }) {
    const reason = code === "EEXIST" ? "it is a file" : message;
    throw new CommandError(1, `The folder ${folder} cannot be used: ${reason}. Give a folder that is empty or does not exist.`);
  }
  throw new CommandError(1, `The folder ${folder} is not empty. Nothing was written. Give a folder that is empty or does not exist.`);
}

/** Their names are not in the npm registry. */
function addPackages(file) {
  const manifest = JSON.parse(readFileSync(file));
  manifest.dependencies = { guichet: "file:guichet-sandbox/guichet", "guichet-server": "file:guichet-sandbox/server", ...others(manifest) };
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}

function others({ dependencies: { guichet, "guichet-server": server, ...others } }) {
  return others;
}

/** A folder as a word of a POSIX shell; on Windows, as one of cmd and PowerShell, where a name has no quotation mark. */
function quoted(folder) {
  if (process.platform === "win32") return `"${folder}"`;
  const path = folder.startsWith("-") ? `./${folder}` : folder;
  return /^[\w./:-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
