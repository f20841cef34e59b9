import { GuichetError } from "./error.js";

/** Makes an error as the package's calls reject with. */
export const guichetError = (kind, { message = `An error of kind ${kind}, made by a test.`, ...more } = {}) =>
  new GuichetError(kind, message, more);

/** Puts a page into this process, which `checkout` and the hosted page can leave. */
export function openTestPage(address = "https://shop.example.com/") {
  const addresses = [new URL(address)];
  const here = () => addresses.at(-1);
  // The addresses that `navigation` has not returned yet, and who waits for the next.
  const unread = [];
  let waiting = [];
  let state = null;
  const go = (kept) => (to) => {
    addresses.splice(addresses.length - 1 + kept, 1, new URL(to, here()));
    state = null;
    unread.push(here().href);
    waiting.forEach((wake) => wake());
    waiting = [];
  };
  const location = { assign: go(1), replace: go(0), toString: () => here().href };
  for (const part of ["href", "origin", "protocol", "host", "hostname", "port", "pathname", "search", "hash"]) {
    Object.defineProperty(location, part, { get: () => here()[part], enumerable: true });
  }
  const history = {
    get state() {
      return state;
    },
    replaceState: (value, _, to) => {
      state = value;
      if (to) addresses[addresses.length - 1] = new URL(to, here());
    },
  };
  const navigator = { userAgent: "guichet/testing", language: "en", onLine: true };
  const page = { location, history, navigator, sessionStorage: storage(), localStorage: storage(), open: () => null, BroadcastChannel: Channel };
  const restore = install(page);
  return {
    get address() {
      return here().href;
    },
    get addresses() {
      return addresses.map(String);
    },
    async navigation(call) {
      const over = call?.then(() => {
        if (!unread.length) throw new Error("The call has ended without leaving the page.");
      });
      while (!unread.length) await Promise.race([new Promise((wake) => waiting.push(wake)), ...(over ? [over] : [])]);
      over?.catch(() => {});
      return unread.shift();
    },
    back() {
      if (addresses.length > 1) addresses.pop();
      state = null;
      globalThis.window.dispatchEvent(Object.assign(new Event("pageshow"), { persisted: true }));
    },
    close: restore,
  };
}

/** Defines the globals of a page: over those of jsdom if they are there, else with a small document. Returns what undoes it. */
function install(page) {
  const events = new EventTarget();
  const listeners = Object.fromEntries(["addEventListener", "removeEventListener", "dispatchEvent"].map((name) => [name, events[name].bind(events)]));
  const document = Object.assign(new EventTarget(), { hidden: false, hasFocus: () => true, documentElement: { lang: "" } });
  // The wasm keeps the first global object that it finds.
  const globals = globalThis.window === globalThis ? page : { document, ...listeners, ...page, window: globalThis };
  const before = Object.keys(globals).map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]);
  const restore = () => {
    for (const [name, descriptor] of before) {
      if (descriptor) Object.defineProperty(globalThis, name, descriptor);
      else delete globalThis[name];
    }
  };
  const fixed = before.find(([, descriptor]) => descriptor?.configurable === false);
  if (fixed) {
    throw new Error(
      `openTestPage cannot replace \`${fixed[0]}\` here: a browser does not allow it, nor does the jsdom of Jest. Run this test in the environment of Node.js.`,
    );
  }
  for (const name of Object.keys(globals)) Object.defineProperty(globalThis, name, { value: globals[name], configurable: true, writable: true });
  return restore;
}

function storage() {
  const items = new Map();
  return {
    getItem: (key) => items.get(String(key)) ?? null,
    setItem: (key, value) => void items.set(String(key), String(value)),
    removeItem: (key) => void items.delete(String(key)),
  };
}

// Channels between tabs, of which there are none here. Those of Node.js would keep the process alive.
class Channel extends EventTarget {
  postMessage() {}
  close() {}
}
