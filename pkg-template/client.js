import { invalid, is_french, needs_base_url, only, only_options, refuse_secret_key } from "./arguments.js";
import { call, explained, guarded, in_background } from "./calls.js";
import init, { Client } from "./core/guichet_core.js";
import { forget_sessions, request_session } from "./early.js";
import { GuichetError } from "./error.js";
import { load } from "./load.js";
import { needs_page } from "./page.js";

const OPTIONS = "baseUrl merchant merchantHeaders merchantCredentials checkoutOrigins publicReads locale fetch wasm onCall";
const CALL = "signal timeoutMs";
const WAIT = `${CALL} budgetMs onStatus`;

/**
 * Makes `createGuichet` for one way of getting the wasm: embedded, or a file beside the script, in whose place `replace` gets another if it
 * is missing. Every method checks the names of its arguments and hands them to the wasm.
 */
export const creator = (wasm, replace) => (options) => {
  const given = { ...options };
  try {
    only(options, "option", OPTIONS);
    refuse_secret_key(given);
    needs_base_url(given);
    if (![undefined, "same-origin", "include"].includes(given.merchantCredentials)) throw invalid("merchantCredentials", 'Pass `"same-origin"` or `"include"`.');
    if (typeof given.merchant !== "string") only(given.merchant, "merchant function", "session intent status");
  } catch (e) {
    explained(e);
    throw e;
  }
  const session = new SessionState();
  const report = reporter(session);
  let client;
  let opening;
  /** The customer signs out: no session is requested before the wasm has done it. */
  let is_over;
  /** Why the calls under way ended, once the client is closed. */
  let closed;

  const open = async () => {
    await load(init, given.wasm, wasm, replace);
    if (!closed) client = guarded(() => new Client(given, report));
  };
  const ready = async () => {
    if (closed) throw new GuichetError("input", "This client is closed.");
    await (opening ??= open().catch(async (e) => {
      opening = undefined;
      throw await explained(e, given);
    }));
    if (closed) throw closed;
  };
  /** `options` and `fields`: the names that the last and the first argument may have. `early` is called while there is no wasm. */
  const method = (name, options, fields, early) => async (...args) => {
    const [how, of] = fields ? [args[1], args[0]] : args;
    let forget;
    try {
      refuse_secret_key([of, how]);
      only_options(how, options);
      only(of, "field", fields);
      forget = client || closed ? undefined : early?.(how);
      await ready();
      return await call(() => client[name](...args));
    } catch (e) {
      throw await explained(e, given);
    } finally {
      forget?.();
    }
  };
  /** Requests the session while the wasm is loading, if the page has no part in the request, and the address is a path that `Base` accepts. */
  const early = (how) => {
    try {
      if (is_over || !/^\/(?![/\\])[^?#\\\s]*$/.test(given.merchant) || given.merchantHeaders || given.fetch || how?.signal?.aborted) return;
      return request_session(given);
    } catch {} // the call reports it, or there is no page
  };
  const early_read = (how) => ((given.publicReads ?? "session") === "session" ? early(how) : undefined);
  const renew = method("renew", CALL, undefined, early);
  const checkout = method("checkout", `${WAIT} mode`, "order");
  const waitForOutcome = method("waitForOutcome", WAIT, "id payment_ref merchant_reference");
  const popups = new Map();

  const guichet = {
    ready,
    session: {
      get state() {
        return session.now.state;
      },
      get expiresAt() {
        return session.now.expiresAt;
      },
      get email() {
        return session.now.email;
      },
      validate: method("validate", CALL, undefined, early),
      // The customer may have signed in just now.
      renew: (how) => (forget_sessions(), renew(how)),
      revoke: method("revoke", CALL, undefined, () => void (is_over = true)),
      subscribe: (listener) => session.subscribe(listener),
    },
    paymentMethods: method("paymentMethods", CALL, "country_code", early_read),
    fee: method("fee", CALL, "payment_method currency amount country_code card_type", early_read),
    quotes: method("quotes", CALL, "amount currency fee_bearer country_code payment_method_types codes", early_read),
    checkout: async (what, how) => {
      needs_page("checkout");
      // Opened in the click itself: later it would be blocked. A second click for an order finds the first one's window.
      const order = how?.mode === "popup" && !closed ? quietly(() => JSON.stringify(what?.order)) : undefined;
      let window = popups.get(order);
      if (window?.closed === false) return quietly(() => window.focus()), checkout(what, how);
      window = order && quietly(() => popup(given.locale));
      if (window) popups.set(order, window);
      else if (order) console.warn("guichet opened no popup. Call `checkout` in the click itself.");
      try {
        return await checkout(what, how, window);
      } finally {
        quietly(() => window?.close());
        if (popups.get(order) === window) popups.delete(order);
      }
    },
    returned: async () => {
      await ready();
      return guarded(() => client.returned());
    },
    waitForOutcome: async (back, how) => {
      const isReturn = typeof back?.reference === "object";
      if (isReturn) only(back, "field", "match reference");
      const of = isReturn ? back.reference : back;
      let names;
      for (const name in of) names ||= of[name];
      if (!names) throw await explained(invalid("reference"), given);
      return waitForOutcome(of, how);
    },
    close() {
      closed ??= new DOMException("The client was closed.", "AbortError");
      in_background(() => client?.close(closed));
      client = undefined;
    },
  };
  if (Symbol.dispose) guichet[Symbol.dispose] = guichet.close;
  return guichet;
};

/** The session, as the wasm last reported it. */
class SessionState {
  now = { state: "none" };
  listeners = new Set();

  report({ state, expiresAt, email }) {
    const key = `${[state, expiresAt, email]}`;
    if (key === this.now.key) return; // the same values until one of them changes
    this.now = { key, state, email, expiresAt: expiresAt && new Date(expiresAt) };
    for (const listener of this.listeners) {
      try {
        listener(state);
      } catch (e) {
        globalThis.reportError?.(e);
      }
    }
  }

  subscribe(listener) {
    if (typeof listener !== "function") throw invalid("listener", "Pass a function.");
    const own = (state) => listener(state);
    this.listeners.add(own);
    return () => void this.listeners.delete(own);
  }
}

/** What the wasm calls. It holds the session weakly: else the wasm would keep a client whose listeners know the client. */
function reporter(session) {
  const weak = globalThis.WeakRef ? new WeakRef(session) : { deref: () => session }; // older Workers have none
  return (status) => weak.deref()?.report(status);
}

/** Runs what may throw: the page's own `toJSON`, and the browser or the function that stands in the place of `open`. */
function quietly(work) {
  try {
    return work();
  } catch {}
}

/** Opens an empty window in the click itself, before its address is known. Closes what is no window, or cannot be used: then there is none. */
function popup(locale) {
  const window = open("", "", "popup,width=480,height=760");
  const isOne = quietly(() => {
    window.document.body.textContent = is_french(locale || document.documentElement.lang || navigator.language) ? "Un instant…" : "One moment…";
    return window.closed === false;
  });
  if (isOne) return window;
  window.close();
}
