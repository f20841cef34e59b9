import { inside } from "./inside.js";
import { guarded, load } from "./load.js";

export { GuichetError } from "./error.js";

/** Opens the checkout of one payment intent. Every method hands its arguments to the wasm. */
export async function openHostedCheckout(options, how) {
  const core = await load(options?.wasm === undefined ? inside : () => options.wasm);
  const page = await guarded(() => core.open_hosted({ ...options }, how));
  return {
    get intent() {
      return page.intent();
    },
    quotes: async (how) => guarded(() => page.quotes(how)),
    pay: async (method, how) => guarded(() => page.pay(method, how)),
    leave: () => guarded(() => page.leave()),
  };
}
