import { GuichetError } from "./error.js";

// The compiled modules of the page, by their source.
const modules = new Map();
// The instance of each core, by the function of its glue that makes it. All clients of a page share it.
const instances = new Map();

/** Loads a core, from the page's `wasm` option or else from the package's own wasm. After a failure the next call tries again. */
export async function load(init, given, own) {
  if (instances.has(init)) return instances.get(init);
  const source = given ?? own;
  try {
    if (!modules.has(source)) modules.set(source, compiled(source));
    const module = await modules.get(source);
    if (!instances.has(init)) {
      const instance = init(module);
      instances.set(init, instance);
      instance.catch(() => instances.delete(init)); // this one alone: another client may have begun the next
    }
    await instances.get(init);
  } catch (cause) {
    modules.delete(source);
    throw await explained(cause);
  }
}

async function compiled(source) {
  let wasm = await (typeof source === "function" ? source() : source);
  if (typeof wasm === "string" || wasm instanceof URL) wasm = await fetch(wasm);
  if (wasm instanceof Response) {
    if (!wasm.ok) throw new Error(`status ${wasm.status}`);
    // It is compiled while it arrives, if the server names its type.
    const { compileStreaming } = WebAssembly;
    if (compileStreaming && wasm.headers.get("content-type") === "application/wasm") return compileStreaming(wasm);
    wasm = await wasm.arrayBuffer();
  }
  return wasm instanceof WebAssembly.Module ? wasm : WebAssembly.compile(wasm);
}

async function explained(cause) {
  let error = new GuichetError("offline", "guichet's wasm could not be loaded.", { retryable: true, cause });
  try {
    // The smallest module: if even this one is refused, all are. WebKit compiles modules that it then does not run.
    await WebAssembly.instantiate(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
  } catch {
    error = new GuichetError("wasm_blocked", "WebAssembly is not allowed here: the page's Content-Security-Policy needs script-src 'wasm-unsafe-eval'.", { cause });
  }
  return error;
}
