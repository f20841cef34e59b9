// The wasm: one instance for all shops of a process. After a panic it is made anew, and what was being executed fails.
import embedded from "#wasm";
import { __wbg_reset_state, initSync } from "./core/guichet_server.js";

/** Rises when the wasm is made anew: what it kept between tasks is gone. */
export let generation = 0;

/** Makes it at its first use. */
export function begin(module) {
  if (generation) return;
  initSync({ module: module ?? embedded() });
  generation = 1;
}

/** Starts a task and does what it names, one after the other. Resolves with its result. */
export async function run(start, actions, module) {
  begin(module);
  const own = generation;
  let task = enter(own, start);
  try {
    for (let answer; ; ) {
      const [name, ...values] = enter(own, () => task.next(answer));
      if (name === "done") return values[0];
      answer = await answerOf(actions[name], values);
    }
  } finally {
    if (own === generation) task.free();
  }
}

async function answerOf(action, values) {
  try {
    return { value: await action(...values) };
  } catch (e) {
    const { status, code, message } = e?.name === "ShopError" ? e : {};
    // Where it was thrown, too, in one line.
    const cause = String(e?.stack ?? e).split("\n", 2).map((line) => line.trim()).join(" ");
    return { refused: { status, code, message, cause } };
  }
}

function enter(own, work) {
  if (own !== generation) throw new Error("guichet-server has stopped because of a bug in another request.");
  try {
    return work();
  } catch (cause) {
    generation++;
    __wbg_reset_state();
    throw new Error("guichet-server has stopped because of a bug.", { cause });
  }
}
