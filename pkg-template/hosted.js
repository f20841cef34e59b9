import { run } from "./doors.js";
import { inside } from "./inside.js";
import { guarded, load } from "./load.js";

export { GuichetError } from "./error.js";

/** Opens the checkout of one payment intent. Every method hands its arguments to the wasm. */
export async function openHostedCheckout(options, how) {
  const core = await load(options?.wasm === undefined ? inside : () => options.wasm);
  const page = new core.HostedPage({ ...options });
  const call = (name, first, how) => guarded(() => run(page.call(name, first, how), how?.signal));
  await call("open", undefined, how);
  return {
    get intent() {
      return page.intent();
    },
    quotes: (how) => call("quotes", undefined, how),
    pay: (method, how) => call("pay", method, how),
    leave: () => page.leave(),
  };
}
