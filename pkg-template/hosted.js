import core from "./core/guichet_hosted.js";
import { run } from "./doors.js";
import { imported, unpacked } from "./inside.js";
import { load } from "./load.js";

export { GuichetError } from "./error.js";

const inside = async () => unpacked(await imported(() => import("./core/inline_hosted.js")));

/** Opens the checkout of one payment intent. Every method hands its arguments to the wasm. */
export async function openHostedCheckout(options, how) {
  const { HostedPage } = await load(core, options?.wasm, inside);
  const page = new HostedPage({ ...options });
  const call = async (name, first, how) => {
    how?.signal?.throwIfAborted();
    return run(page.call(name, first, how), how?.signal);
  };
  await call("open", undefined, how);
  return {
    get intent() {
      return page.intent();
    },
    quotes: (how) => call("quotes", undefined, how),
    pay: (method, how) => call("pay", method, how),
    answer: (otp, how) => call("answer", otp, how),
    cancel: (how) => call("cancel", undefined, how),
    wait: (how) => call("wait", undefined, how),
    refresh: async (how) => (await call("open", undefined, how), page.intent()),
    proceed: () => page.proceed(),
    leave: () => page.leave(),
  };
}
