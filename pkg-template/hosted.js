import { call, guarded } from "./calls.js";
import init, { HostedPage } from "./core/guichet_hosted.js";
import { imported, unpacked } from "./inside.js";
import { load } from "./load.js";

export { GuichetError } from "./error.js";

const inside = async () => unpacked(await imported(() => import("./core/inline_hosted.js")));

/** Opens the checkout of one payment intent. Every method hands its arguments to the wasm. */
export async function openHostedCheckout(options, how) {
  await load(init, options?.wasm, inside);
  const page = guarded(() => new HostedPage({ ...options }));
  const method = (name) => async (...args) => call(() => page[name](...args));
  const refresh = method("refresh");
  await refresh(how);
  return {
    get intent() {
      return guarded(() => page.intent);
    },
    quotes: method("quotes"),
    pay: method("pay"),
    answer: method("answer"),
    cancel: method("cancel"),
    wait: method("wait"),
    refresh,
    proceed: () => guarded(() => page.proceed()),
    leave: () => guarded(() => page.leave()),
  };
}
