import { json, popup, run, tabs, tell as told } from "./doors.js";
import { guarded, load } from "./load.js";

/** Makes `createGuichet` for one way of getting the wasm. Every method hands its arguments to the wasm. */
export const creator = (core_of, source) => (options) => {
  const given = { ...options };
  const listeners = new Set();
  const tell = (state) => listeners.forEach((listener) => told(listener, state));
  let client;

  const ready = async () => {
    const core = await load(core_of, given.wasm === undefined ? source : () => given.wasm);
    if (client) return;
    client = new core.Client(given, tell, (word) => say(word));
    const say = tabs(client.channel(), (word) => client.hear(word));
  };
  const call = async (name, first, how) => {
    await ready();
    how?.signal?.throwIfAborted();
    return run(client.call(name, first, how), how?.signal);
  };
  const about = (name) => (how) => guarded(() => call(name, undefined, how));
  const of = (name) => (first, how) => guarded(() => call(name, first, how));
  const popups = new Map();

  return {
    session: {
      get state() {
        return client?.session().state ?? "none";
      },
      get expiresAt() {
        const at = client?.session().expires_at;
        return at >= 0 ? new Date(at) : undefined;
      },
      get email() {
        return client?.session().email;
      },
      validate: about("validate"),
      renew: about("renew"),
      revoke: about("revoke"),
      subscribe(listener) {
        const own = (state) => listener(state);
        listeners.add(own);
        return () => void listeners.delete(own);
      },
    },
    paymentMethods: of("payment_methods"),
    fee: of("fee"),
    quotes: of("quotes"),
    checkout: (what, how) => guarded(async () => {
      // Opened in the click itself: later it would be blocked. A second click for an order finds the first one's window.
      const order = how?.mode === "popup" ? json(what?.order) : undefined;
      let window = popups.get(order);
      if (window?.closed === false) return window.focus(), call("checkout", what, how);
      window = order && popup(given.locale);
      if (window) popups.set(order, window);
      try {
        return await call("checkout", { ...what, popup: window }, how);
      } finally {
        window?.close();
        if (popups.get(order) === window) popups.delete(order);
      }
    }),
    returned: () => guarded(async () => (await ready(), client.returned())),
    waitForOutcome: of("wait_for_outcome"),
  };
};
