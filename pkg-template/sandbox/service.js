import { Execution, initSync, Sandbox } from "./core/guichet_sandbox.js";
import { file } from "./host.js";

/** The service reads no longer body, in bytes. */
export const BODY_LIMIT = 64 * 1024;

let isLoaded = false;

/** Starts the service in this process. All sandboxes of a process share the compiled wasm and nothing else. */
export async function start(options = {}) {
  if (typeof options !== "object" || options === null) throw new TypeError("The options must be an object.");
  const json = toJson(options);
  load();
  return new Service(await Sandbox.start(json));
}

/** Loads the wasm. */
export function load() {
  if (isLoaded) return;
  initSync({ module: file("core/guichet_sandbox_bg.wasm") });
  isLoaded = true;
}

/** A running service. */
export class Service {
  #wasm;
  #isClosed = false;
  /** What ends each request that has to wait. */
  #ends = new Set();

  constructor(wasm) {
    this.#wasm = wasm;
    this.baseUrl = wasm.baseUrl;
    this.secretKey = wasm.secretKey;
    this.controlToken = wasm.controlToken;
  }

  /** An address of the inspector, which opens it once. The service of a check has none. */
  get inspectorUrl() {
    return this.#wasm.inspectorUrl?.();
  }

  get isClosed() {
    return this.#isClosed;
  }

  /** Starts the execution of a request. */
  respond({ method, target, headers, body = NO_BYTES }) {
    return this.#wasm.respond(method, target, headers.join("\n"), body);
  }

  /** Awaits work until the signal aborts or the service is closed: then it rejects as `fetch` does. The work gets a promise of that. */
  async until(signal, work) {
    this.refuseIfEnded(signal);
    let end;
    const ended = new Promise((_, reject) => (end = reject));
    const abort = () => end(reason(signal));
    signal?.addEventListener("abort", abort, { once: true });
    this.#ends.add(end);
    try {
      return await Promise.race([work(ended), ended]);
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#ends.delete(end);
      // What waits for it in the wasm is freed once it is settled.
      end();
    }
  }

  refuseIfEnded(signal) {
    if (signal?.aborted) throw reason(signal);
    if (this.#isClosed) throw failed(CLOSED);
  }

  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const end of this.#ends) end(failed(CLOSED));
    await this.#wasm.close();
  }
}

const NO_BYTES = new Uint8Array();

export const CLOSED = "The sandbox is closed.";

/**
 * Sends one request. An abort ends its execution, as the end of a connection does. `undefined` if a fault drops the connection.
 */
export async function exchange(service, request, signal) {
  service.refuseIfEnded(signal);
  let answer = service.respond(request);
  if (answer instanceof Execution) answer = await service.until(signal, (ended) => answer.finish(ended));
  if (!answer) return undefined;
  const [status, lines, body, isWhole] = answer;
  return { status, headers: lines.split("\n").slice(0, -1), body, isWhole };
}

/** The error of `fetch` without a response. */
export const failed = (why) => new TypeError("fetch failed", { cause: why instanceof Error ? why : new Error(why) });

/** What `fetch` rejects with. Only an old signal of another realm has no reason. */
export const reason = ({ reason }) => (reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason);

/** Writes JSON. What JSON cannot hold would pass for a field that was not given: it becomes `{}`, which no field takes. */
export const toJson = (fields) =>
  JSON.stringify(fields, (name, value) => {
    if (typeof value === "string" && !value.isWellFormed()) {
      throw new TypeError(`\`${name}\` is not valid Unicode: it has one half of a surrogate pair.`);
    }
    const isLost = ["function", "symbol", "bigint"].includes(typeof value) || (typeof value === "number" && !Number.isFinite(value));
    return isLost ? {} : (value ?? null);
  });
