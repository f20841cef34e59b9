import { GuichetError } from "./error.js";

// Why the wasm was not loaded, for the developer, and the wasm in its place. `load.js` imports this file when that has happened.

let embedded;

/**
 * Returns the embedded wasm if the file beside the script is missing: the console says so once. Otherwise throws the error of the load.
 * `failure`: what was thrown; where a source was fetched or compiled, with the address, the response or the bytes.
 */
export async function replacement(failure, isBeside) {
  const error = await loadError(failure);
  if (!isBeside || error.kind === "wasm_blocked") throw error;
  embedded ??= import("./embedded.js").then((it) => it.embedded()).then((wasm) => {
    console.warn(`guichet/beside has loaded the embedded wasm, which costs bytes. ${error.message}`);
    return wasm;
  });
  return embedded.catch(() => {
    embedded = undefined;
    throw error;
  });
}

async function loadError(failure) {
  const [cause, wasm] = Array.isArray(failure) ? failure : [failure];
  try {
    // The smallest module: if even this one is refused, all are. WebKit compiles modules that it then does not run.
    await WebAssembly.instantiate(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
  } catch {
    return new GuichetError("wasm_blocked", "WebAssembly is not allowed here: the page's Content-Security-Policy needs script-src 'wasm-unsafe-eval'.", { cause });
  }
  const missing = (found, fix = FIX) => new GuichetError("wasm_missing", `guichet's wasm is missing: ${found}. ${fix}`, { status: wasm?.status, cause });
  const offline = (found) => new GuichetError("offline", `guichet's wasm could not be loaded: ${found}.`, { status: wasm?.status, retryable: true, cause });
  if (wasm instanceof Response) {
    const address = wasm.url || "a response without an address";
    // The server may have it later.
    if ([408, 425, 429].includes(wasm.status) || wasm.status >= 500) return offline(`${address} answered ${wasm.status}`);
    if (!wasm.ok) return missing(`${address} answered ${wasm.status}`);
    if (cause instanceof WebAssembly.CompileError) return missing(`${address} answered ${wasm.headers.get("content-type") ?? "no content type"}, which is no wasm`);
    return offline(`${address} broke off`);
  }
  if (typeof wasm === "string" || wasm instanceof URL) {
    const address = absolute(wasm);
    if (/^https?:/.test(address)) return offline(`no reply from ${address}. The device may be offline`);
    return missing(`this \`fetch\` reads no ${address}`, "Pass the file's bytes by the option `wasm`, or import `guichet`, which embeds it.");
  }
  if (wasm !== undefined) return missing("the option `wasm` is no wasm", "Pass the module's address, response, bytes, or the compiled module.");
  return offline("a file of the package did not arrive. The device may be offline");
}

const FIX = "Serve core/guichet_core_bg.wasm of the package there (its type is application/wasm), pass its address by the option `wasm`, or import `guichet`, which embeds it.";

function absolute(address) {
  try {
    return new URL(address, globalThis.location?.href).href;
  } catch {
    return `${address}`;
  }
}
