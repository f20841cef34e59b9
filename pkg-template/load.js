import { GuichetError } from "./error.js";

const loading = new Map();

/** Loads one core, once for the page; after a failure the next call tries again. */
export function load(core_of, source) {
  if (!loading.has(core_of)) {
    loading.set(core_of, start(core_of, source).catch((cause) => {
      loading.delete(core_of);
      throw explained(cause);
    }));
  }
  return loading.get(core_of);
}

async function start(core_of, source) {
  const [core, module_or_path] = await Promise.all([core_of(), source()]);
  await core.default({ module_or_path });
  return core;
}

function explained(cause) {
  if (GuichetError.is(cause)) return cause;
  const blocked = typeof WebAssembly === "undefined" || cause instanceof WebAssembly.CompileError;
  const error = blocked
    ? new GuichetError("wasm_blocked", "WebAssembly is not allowed here: the page's Content-Security-Policy needs script-src 'wasm-unsafe-eval'.")
    : new GuichetError("offline", "A part of guichet could not be loaded.", { retryable: true });
  error.cause = cause;
  return error;
}

/** Works as the wasm works; a defect of the wasm itself becomes an error of its own kind. */
export async function guarded(work) {
  try {
    return await work();
  } catch (e) {
    if (e instanceof WebAssembly.RuntimeError) throw new GuichetError("panic", "guichet met a defect of its own. Reload the page.");
    throw e;
  }
}
