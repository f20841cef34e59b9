import { initSync, Sandbox } from "./core/guichet_sandbox.js";
import { file } from "./host.js";

let isLoaded = false;

/** Starts the service in this process. All sandboxes of a process share the compiled wasm and nothing else. */
export async function start(options = {}) {
  if (!isLoaded) {
    initSync({ module: file("core/guichet_sandbox_bg.wasm") });
    isLoaded = true;
  }
  // What JSON leaves out would pass for an option that was not given.
  const asJson = (_, value) => (typeof value === "function" || typeof value === "symbol" ? String(value) : (value ?? null));
  return Sandbox.start(JSON.stringify(options, asJson));
}

/**
 * Sends one request. An abort ends its execution, as the end of a connection does. `undefined` if a fault drops the connection.
 */
export async function exchange(service, { method, target, headers, body = new Uint8Array() }, signal) {
  if (!signal) return read(await service.respond(method, target, headers, body));
  if (signal.aborted) throw reason(signal);
  let abort;
  const aborted = new Promise((resolve) => (abort = resolve));
  signal.addEventListener("abort", abort, { once: true });
  try {
    const answer = await service.respond(method, target, headers, body, aborted);
    if (signal.aborted) throw reason(signal);
    return read(answer);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function read(answer) {
  if (!answer) return undefined;
  const [status, headers, body, isWhole] = answer;
  return { status, headers, body, isWhole };
}

const reason = (signal) => signal.reason ?? new DOMException("This operation was aborted", "AbortError");
