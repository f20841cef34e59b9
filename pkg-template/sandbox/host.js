// What the wasm takes from Node.js. The functions are kept from the start: a test may replace the global ones.
import { randomFillSync } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { performance } from "node:perf_hooks";
import timers from "node:timers";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

// Of a realm of its own: a test may have replaced the global one before this module is loaded.
export const unixMilliseconds = runInNewContext("Date.now");
export const monotonicMilliseconds = performance.now.bind(performance);

const { setTimeout, clearTimeout } = timers;
export const startTimer = (call, milliseconds) => setTimeout(call, milliseconds);
export const endTimer = (timer) => clearTimeout(timer);

// Made in advance: an id needs few bytes, and a call into the system costs more than they do.
const random = Buffer.alloc(4096);
let used = random.length;

/** Fills with random bytes, none of which is used twice. */
export function fillRandom(bytes) {
  if (bytes.length > random.length) return void randomFillSync(bytes);
  if (used + bytes.length > random.length) {
    randomFillSync(random);
    used = 0;
  }
  bytes.set(random.subarray(used, used + bytes.length));
  used += bytes.length;
}

// By the best quality, 11, the first customer would wait 0.4 s for the hosted page, and by 9 0.03 s, for 9 % more bytes.
export const brotli = (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });
export const gzip = (bytes) => gzipSync(bytes, { level: 9 });
export const variable = (name) => process.env[name];

/** The bytes of a file of the option `checkout`. */
export function readFile(path) {
  try {
    return readFileSync(path);
  } catch {
    return undefined; // there is none, or it cannot be read
  }
}

export const panicked = (message) => console.error(`guichet-sandbox has stopped because of a bug: ${message}`);

const here = fileURLToPath(new URL(".", import.meta.url));

/** The bytes of a file of this package. */
export const file = (name) => readFileSync(join(here, name));

/**
 * The modules of the npm package `guichet`, which the hosted page loads, and the files of the inspector: a name, its content, a name, its
 * content.
 */
export const packageFiles = () => [...filesIn("guichet", /\.(js|wasm)$/), ...filesIn("inspector", /\.\w+$/, "inspector/")];

function filesIn(name, ends, prefix = "") {
  const folder = join(here, name);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(({ name }) => ends.test(name));
  return files.flatMap((entry) => {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    return [prefix + path.slice(folder.length + 1).replaceAll(sep, "/"), readFileSync(path)];
  });
}
