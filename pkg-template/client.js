import { call, guarded } from "./calls.js";
import init, { Client } from "./core/guichet_core.js";
import { load } from "./load.js";

/** Makes `createGuichet` for one way of getting the wasm. Every method hands its arguments to the wasm. */
export const creator = (wasm) => (options) => {
  const given = { ...options };
  const listeners = new Set();
  // The session, as the wasm last reported it: the same values until one of them changes.
  let session = { state: "none" };
  let timer;
  const on_session = ({ state, expiresAt, email, lasts }) => {
    const key = `${[state, expiresAt, email]}`;
    const is_news = key !== session.key;
    if (is_news) session = { key, state, email, expiresAt: expiresAt === undefined ? undefined : new Date(expiresAt) };
    clearTimeout(timer);
    if (lasts > 0) {
      timer = setTimeout(() => guarded(() => client.reportSession()), lasts);
      timer.unref?.(); // Node.js would wait for it
    }
    if (is_news) {
      for (const listener of listeners) {
        try {
          listener(state);
        } catch (e) {
          globalThis.reportError?.(e);
        }
      }
    }
  };
  let client;
  let opening;

  const open = async () => {
    await load(init, given.wasm, wasm);
    client = guarded(() => new Client(given, on_session));
  };
  const ready = () =>
    (opening ??= open().catch((e) => {
      opening = undefined;
      throw e;
    }));
  const method = (name) => async (...args) => {
    await ready();
    return call(() => client[name](...args));
  };
  const checkout = method("checkout");
  const popups = new Map();

  return {
    ready,
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
      validate: method("validate"),
      renew: method("renew"),
      revoke: method("revoke"),
      subscribe(listener) {
        const own = (state) => listener(state);
        listeners.add(own);
        return () => void listeners.delete(own);
      },
    },
    paymentMethods: method("paymentMethods"),
    fee: method("fee"),
    quotes: method("quotes"),
    checkout: async (what, how) => {
      // Opened in the click itself: later it would be blocked. A second click for an order finds the first one's window.
      const order = how?.mode === "popup" ? json(what?.order) : undefined;
      let window = popups.get(order);
      if (window?.closed === false) return window.focus(), checkout(what, how);
      window = order && popup(given.locale);
      if (window) popups.set(order, window);
      try {
        return await checkout(what, how, window);
      } finally {
        window?.close();
        if (popups.get(order) === window) popups.delete(order);
      }
    },
    returned: method("returned"),
    waitForOutcome: method("waitForOutcome"),
  };
};

function json(value) {
  try {
    return JSON.stringify(value);
  } catch {}
}

/** Opens an empty window in the click itself, before its address is known. Its pages cannot reach this one. */
function popup(locale) {
  if (typeof document === "undefined" || /jsdom|happydom/i.test(navigator.userAgent)) return;
  const window = open("", "", "popup,width=480,height=760");
  if (!window || window.closed) return;
  window.opener = null;
  const { body } = window.document;
  body.textContent = /^fr/i.test(locale || document.documentElement.lang || navigator.language) ? "Un instant…" : "One moment…";
  body.style = "font:1.5em system-ui;margin:2em";
  return window;
}
