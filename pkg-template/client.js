import { json, popup, run, tabs, tell as told } from "./doors.js";
import { load } from "./load.js";

/** Makes `createGuichet` for one way of getting the wasm. Every method hands its arguments to the wasm. */
export const creator = (core, wasm) => (options) => {
  const given = { ...options };
  const listeners = new Set();
  // How the session stood when the wasm told it last: what is read again is the same until it changes.
  let session = { state: "none" };
  let timer;
  const tell = ({ state, expires_at, email, lasts }) => {
    const said = `${[state, expires_at, email]}`;
    const is_news = said !== session.said;
    if (is_news) session = { said, state, email, expiresAt: expires_at >= 0 ? new Date(expires_at) : undefined };
    clearTimeout(timer);
    if (lasts > 0) {
      timer = setTimeout(() => client.hear(""), lasts);
      timer.unref?.(); // Node.js would wait for it
    }
    if (is_news) listeners.forEach((listener) => told(listener, state));
  };
  let client;
  let opening;

  const open = async () => {
    const opened = await load(core, given.wasm, wasm);
    const channel = opened.open(given, tell, (word) => say(word));
    const say = tabs(channel, opened.hear);
    client = opened;
  };
  const ready = () =>
    (opening ??= open().catch((e) => {
      opening = undefined;
      throw e;
    }));
  const call = async (name, first, how) => {
    await ready();
    how?.signal?.throwIfAborted();
    return run(client.call(name, first, how), how?.signal);
  };
  const of = (name) => (first, how) => call(name, first, how);
  const about = (name) => (how) => call(name, undefined, how);
  const popups = new Map();

  return {
    session: {
      get state() {
        return session.state;
      },
      get expiresAt() {
        return session.expiresAt;
      },
      get email() {
        return session.email;
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
    checkout: async (what, how) => {
      // Opened in the click itself: later it would be blocked. A second click for an order finds the first one's window.
      const order = how?.mode === "popup" ? json(what?.order) : undefined;
      let window = popups.get(order);
      if (window?.closed === false) return window.focus(), call("checkout", { what }, how);
      window = order && popup(given.locale);
      if (window) popups.set(order, window);
      try {
        return await call("checkout", { what, popup: window }, how);
      } finally {
        window?.close();
        if (popups.get(order) === window) popups.delete(order);
      }
    },
    returned: () => call("returned"),
    waitForOutcome: of("wait_for_outcome"),
  };
};
