import { GuichetError } from "./error.js";

// The compiled modules of the page, by their source.
const modules = new Map();
// The instance of each core, by the function of its glue that makes it. All clients of a page share it.
const instances = new Map();

/**
 * Loads a core, from the page's `wasm` option or else from the package's own wasm. After a failure the next call tries again.
 * `replace`: gets the wasm in place of the package's own, if that is a file that is missing.
 */
export async function load(init, given, own, replace) {
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
  } catch (failure) {
    modules.delete(source);
    // That file is seldom needed. It imports nothing, so that a bundler makes no third file of what both would share.
    const { replacement } = await import("./load-error.js").catch(() => {
      const { wasm, cause = failure } = failure;
      // Gone, or a page in its place: the site has replaced its files while this page was open.
      const isOld = wasm?.status === 404 || /html/.test(wasm?.headers?.get("content-type"));
      const found = isOld ? "is of an older version of the site" : "could not be loaded. Check the connection";
      throw new GuichetError(isOld ? "wasm_missing" : "offline", `guichet's wasm ${found}. Reload the page.`, { retryable: !isOld, cause });
    });
    await load(init, undefined, await replacement(GuichetError, failure, given, replace));
  }
}

/** Fetches and compiles a source. Throws the cause of a failure with the address, the response or the bytes that it is about. */
async function compiled(source) {
  let wasm;
  try {
    wasm = await (typeof source === "function" ? source() : source);
    // A path is one of this page, whatever `<base>` it has.
    if (typeof wasm === "string" || wasm instanceof URL) wasm = await fetch(`${new URL(wasm, globalThis.location?.href)}`);
    if (!(wasm instanceof Response)) return wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
    if (!wasm.ok) throw new Error(`status ${wasm.status}`);
    // It is compiled while it arrives, if the server names its type.
    const { compileStreaming } = WebAssembly;
    if (compileStreaming && wasm.headers.get("content-type") === "application/wasm") return await compileStreaming(wasm);
    return await WebAssembly.compile(await wasm.arrayBuffer());
  } catch (cause) {
    throw { cause, wasm };
  }
}
