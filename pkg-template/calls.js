import { GuichetError } from "./error.js";

// Rust cannot report its own panic: the WebAssembly just stops. It says when it begins to run in the background and when
// it has ended; if it has not ended once the JavaScript of the moment is done, it has panicked, and every call is rejected.
const pending = new Set();
let running = 0;
let panicked = false;

export function enter() {
  if (panicked) return false;
  if (running++ === 0) queueMicrotask(check);
  return true;
}
export function leave() {
  running--;
}

function check() {
  if (running > 0) panic();
}

function panic() {
  panicked = true;
  for (const reject of pending) reject(defect());
  pending.clear();
}

const defect = () => new GuichetError("panic", "guichet has stopped because of a bug. Reload the page.");

/** Runs what enters the WebAssembly now. After a panic nothing does. */
export function guarded(work) {
  if (panicked) throw defect();
  try {
    return work();
  } catch (e) {
    if (!(e instanceof WebAssembly.RuntimeError)) throw e;
    panic();
    throw defect();
  }
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
