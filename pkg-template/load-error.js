// Why the wasm was not loaded, for the developer, and the wasm in its place. `load.js` imports this file when that has happened.

let embedded;

/**
 * Returns the embedded wasm, which `replace` gets, if the file beside the script is missing or is no wasm: the console says so once. Otherwise
 * throws the error of the load. `failure`: the cause, with the address, the response or the bytes that it is about, or what the start of the
 * wasm has thrown. `given`: the page's option `wasm`.
 */
export async function replacement(GuichetError, failure, given, replace) {
  const error = await loadError(GuichetError, failure, given);
  if (!replace || given || error.kind !== "wasm_missing") throw error;
  embedded ??= replace().then((wasm) => {
    console.warn(`guichet/beside has loaded the embedded wasm, which costs bytes. ${error.message}`);
    return wasm;
  });
  return embedded.catch(() => {
    embedded = undefined;
    throw error;
  });
}

async function loadError(GuichetError, failure, given) {
  const isLoad = "wasm" in Object(failure);
  const { cause, wasm } = isLoad ? failure : { cause: failure };
  const errorOf = (kind, found, fix, retryable = false) =>
    new GuichetError(kind, `guichet's wasm ${found}. ${fix}`, { status: wasm?.status, retryable, cause });
  const blocked = (found, fix) => errorOf("wasm_blocked", found, fix);
  const missing = (found, fix = FIX) => errorOf("wasm_missing", `is missing: ${found}`, fix + serviceWorker());
  const offline = (found, fix = "Try again") => errorOf("offline", `could not be loaded: ${found}`, `${fix}.`, true);
  if (typeof WebAssembly === "undefined") return blocked("cannot run: this browser has WebAssembly turned off", "On an iPhone or a Mac, Lockdown Mode does that: the customer may exclude this site from it, in the page's settings.");
  if (!(await runs(SMALLEST))) return blocked("is not allowed here", typeof document === "undefined" ? COMPILED : "The page's Content-Security-Policy needs script-src 'wasm-unsafe-eval'.");
  if (!WebAssembly.validate(FEATURES)) return blocked("needs a newer browser", "The oldest are Chrome and Edge 100, Firefox 97 and Safari 15.4.");
  if (!isLoad) {
    if (!(cause instanceof WebAssembly.LinkError || cause instanceof TypeError)) return blocked("could not be started here", `The browser says: ${cause}`);
    return missing("the file is of another version than the script");
  }
  if (wasm instanceof Response) {
    const address = wasm.url ? shown(wasm.url) : "a response without an address";
    // The server may have it later.
    if ([408, 425, 429].includes(wasm.status) || wasm.status >= 500) return offline(`${address} answered ${wasm.status}`);
    if (!wasm.ok) return missing(`${address} answered ${wasm.status}`);
    if (cause instanceof WebAssembly.CompileError) return missing(`${address} answered ${wasm.headers.get("content-type") ?? "no content type"}, which is no wasm`);
    return offline(`${address} broke off`);
  }
  const connection = globalThis.navigator?.onLine === false ? "The device is offline" : "Check the connection, CORS, and the page's Content-Security-Policy";
  if (typeof wasm === "string" || wasm instanceof URL) {
    const address = shown(wasm);
    if (/^https?:/.test(address)) return offline(`no reply from ${address}`, connection);
    return missing(`this \`fetch\` reads no ${address}`, "Pass the file's bytes by the option `wasm`, or import `guichet`, which embeds it.");
  }
  if (/\bURL\b/.test(cause)) return missing("this script is no module, so it knows no address", "Import `guichet`, which embeds it, or pass its address by the option `wasm`.");
  if (wasm === undefined && (await isGone(cause))) return missing("a file of the package is gone", OLD);
  if (wasm === undefined) return offline("a file of the package did not arrive", connection);
  if (given) return missing("the option `wasm` is no wasm", "Pass the module's address, response, bytes, or the compiled module.");
  return missing("the text that the package holds it in was changed", "Leave the folder core/ of the package as it is.");
}

/** Whether a file that an import did not get is gone, or has a page in its place. Only the text of the error holds its address, in brackets with some bundlers. */
async function isGone(cause) {
  const [address] = /https?:[^\s()"']+/.exec(cause?.message) ?? [];
  const { status, headers } = address ? await fetch(address).catch(() => ({})) : {};
  return status === 404 || /html/.test(headers?.get("content-type"));
}

/** A service worker may answer with what it has kept. */
const serviceWorker = () => (globalThis.navigator?.serviceWorker?.controller ? " A service worker answers for this page: it may have kept another version of the file." : "");

/** Whether the wasm may run. WebKit compiles modules that it then does not run. */
async function runs(wasm) {
  try {
    return await WebAssembly.instantiate(wasm);
  } catch {}
}

// A module of nothing: if even this one is refused, all are.
const SMALLEST = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
// A function of two results, one of them a reference, that also fills memory: what the package's wasm needs of a browser.
const FEATURES = Uint8Array.of(
  ...SMALLEST, 1, 6, 1, 96, 0, 2, 111, 127, 3, 2, 1, 0, 5, 3, 1, 0, 0, 10, 17, 1, 15, 0, 65, 0, 65, 0, 65, 0, 252, 11, 0, 208, 111, 65, 0, 11,
);

const FIX = "Serve the package's core/guichet_core_bg.wasm there (for guichet/hosted: core/guichet_hosted_bg.wasm) as application/wasm, pass its address by the option `wasm`, or import `guichet` without that option, which embeds it. If it was there before, this page is of an older version of the site: reload it.";

const OLD = "This page is of an older version of the site. Reload it.";

const COMPILED = "Import the package's core/guichet_core_bg.wasm as a compiled module, as Cloudflare's Workers do, and pass it by the option `wasm`.";

/** An address without its query, which may hold a secret, or its scheme alone: a `data:` URL holds the whole file. */
function shown(address) {
  try {
    const { protocol, host, pathname } = new URL(address, globalThis.location?.href);
    return /^(https?|file):$/.test(protocol) ? `${protocol}//${host}${pathname}` : protocol;
  } catch {
    return "such address";
  }
}
