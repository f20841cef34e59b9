import { GuichetError } from "./error.js";

// Rust cannot report its own panic: the WebAssembly just stops. After a panic every call is rejected, and nothing runs any more.
const pending = new Set();
let panicked = false;

const defect = (cause) => new GuichetError("panic", "guichet has stopped because of a bug. Reload the page.", { cause });

/** Runs what enters the WebAssembly now. After a panic nothing does. */
export function guarded(work) {
  if (panicked) throw defect();
  try {
    return work();
  } catch (e) {
    if (!(e instanceof WebAssembly.RuntimeError)) throw e;
    panicked = true;
    for (const reject of pending) reject(defect(e));
    pending.clear();
    throw defect(e);
  }
}

/** The same for what the browser calls: a timer, an event, the end of a promise. */
export const in_background = (work) => (panicked ? undefined : guarded(work));

/** The error, with what its developer must know: that is in a file of its own, which is seldom needed. */
export async function explained(e, options) {
  if (e?.fields?.[0]?.code === "parameter_unknown" || (e?.kind === "signed_out" && /:/.test(options.merchant))) {
    await import("./explain.js").then(({ explain }) => explain(e, options), () => {});
  }
  return e;
}

/** The promise of a call, which a panic rejects. */
export const call = (work) =>
  new Promise((resolve, reject) => {
    const over = (settle) => (value) => {
      pending.delete(reject);
      settle(value);
    };
    pending.add(reject);
    try {
      guarded(work).then(over(resolve), over(reject));
    } catch (e) {
      over(reject)(e);
    }
  });
