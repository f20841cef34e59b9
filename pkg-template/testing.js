import { GuichetError } from "./error.js";
import { words } from "./words.js";

/** Makes an error as the package's calls reject with. */
export function guichetError(kind, { message = `An error of kind ${kind}, made by a test.`, ...more } = {}) {
  const kinds = Object.keys(words("en").kinds);
  if (!kinds.includes(kind)) throw new Error(`Unknown kind \`${kind}\`. The kinds are: ${kinds.join(", ")}.`);
  return new GuichetError(kind, message, more);
}

/** Puts a page into this process, which `checkout` and the hosted page can leave. */
export function openTestPage(address = "https://shop.example.com/", { popups = false } = {}) {
  if (typeof popups !== "boolean") throw new TypeError("Option `popups` must be true or false.");
  const localStorage = storage();
  const channels = new Set();
  const hidden = { is: false };
  // Who waits for a popup, and the popups that nobody has waited for yet.
  const opened = queue();
  const timers = freezableTimers();

  // The tab that this process is: the globals are its parts.
  let shown = tab(address);
  const page = shown;

  const open = () => {
    if (!popups) return null;
    const popup = tab("about:blank", shown);
    opened.put(popup);
    return popup.window;
  };
  const globals = {
    location: () => shown.location, history: () => shown.history, sessionStorage: () => shown.window.sessionStorage,
    navigator: () => navigator, localStorage: () => localStorage, BroadcastChannel: () => Channel,
    open: () => open, close: () => () => shown.window.close(),
    ...Object.fromEntries(Object.entries(timers.globals).map(([name, own]) => [name, () => own])),
  };
  const navigator = { userAgent: "guichet/testing", language: "en", onLine: true };
  const events = new EventTarget();
  const restore = install(globals, events, hidden);

  function tab(address, opener) {
    const addresses = [new URL(address)];
    const here = () => addresses.at(-1);
    const isBlank = () => here().href === "about:blank";
    const sent = queue(); // the addresses that `navigation` has not returned yet
    let state = null;
    const go = (kept) => (to) => {
      const isEmpty = isBlank(); // a window that was just opened: its address is not kept
      addresses.splice(addresses.length - 1 + (isEmpty ? 0 : kept), 1, new URL(to, isEmpty ? opener.address : here()));
      state = null;
      sent.put(here().href);
    };
    const location = { assign: go(1), replace: go(0), toString: () => here().href };
    for (const part of ["href", "origin", "protocol", "host", "hostname", "port", "pathname", "search", "hash"]) {
      const set = part === "href" ? location.assign : undefined;
      Object.defineProperty(location, part, { get: () => here()[part], set, enumerable: true });
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
    let looks = 0; // of the page that opened it, at the page that it shows
    let isClosed = false;
    let isLeft = false; // its customer closes it
    // What the page that opened it sees of it. A customer closes what is shown for a while: what is gone sooner may have been cut off.
    const window = {
      document: { body: {} }, sessionStorage: storage(), focus() {},
      get location() {
        if (!isBlank()) looks += 1;
        return location;
      },
      get closed() {
        return isClosed || (isLeft && (isBlank() || looks > 1));
      },
      // As in a browser, a page closes only what it has opened.
      close: () => hide(() => (isClosed = true)),
    };
    const hide = (mark) => {
      if (!opener) return;
      mark();
      if (shown === self) shown = opener;
    };
    const self = {
      location, history, window,
      get address() {
        return here().href;
      },
      get addresses() {
        return addresses.map(String);
      },
      get closed() {
        return isClosed || isLeft;
      },
      async navigation(call) {
        if (call) sent.clear(); // the page was sent there before
        return sent.next(call, "The call has ended without leaving the page.");
      },
      back() {
        if (addresses.length > 1) addresses.pop();
        state = null;
        events.dispatchEvent(Object.assign(new Event("pageshow"), { persisted: true }));
      },
      show() {
        shown = self;
      },
      close: () => hide(() => (isLeft = true)),
    };
    return self;
  }

  // Channels between the tabs of this process. Those of Node.js would keep it alive.
  class Channel extends EventTarget {
    constructor(name) {
      super();
      this.name = name;
      channels.add(this);
    }
    postMessage(data) {
      for (const channel of channels) {
        if (channel !== this && channel.name === this.name) timers.real.setTimeout(() => channels.has(channel) && channel.receive(data));
      }
    }
    receive(data) {
      const event = Object.assign(new Event("message"), { data });
      this.onmessage?.(event);
      this.dispatchEvent(event);
    }
    close() {
      channels.delete(this);
    }
  }

  return Object.defineProperties(page, Object.getOwnPropertyDescriptors({
    async popup(call) {
      if (!popups) throw new Error("This page opens no window: make it by openTestPage(address, { popups: true }).");
      return opened.next(call, "The call has ended without opening a window, or its window is closed.", ({ closed }) => !closed);
    },
    openTab: (address = page.address) => tab(address),
    freeze() {
      timers.freeze();
      hidden.is = true;
      globalThis.document.dispatchEvent(new Event("visibilitychange"));
    },
    resume() {
      hidden.is = false;
      timers.resume();
      globalThis.document.dispatchEvent(new Event("visibilitychange"));
    },
    close() {
      hidden.is = false;
      timers.resume(); // what is held may be the test's own
      channels.clear();
      restore();
    },
  }));
}

/** The functions for timers of a page, which can be frozen: what comes due meanwhile is held until it is resumed. */
function freezableTimers() {
  const real = { setTimeout, setInterval, clearTimeout, clearInterval };
  const due = new Map(); // what is held, by its timer: an interval once
  let isFrozen = false;
  const key = (timer) => Number(timer) || timer; // Node.js clears a timer by its number, too
  const schedule = (name) => {
    const own = (run, ms, ...values) => {
      const timer = real[name](() => (isFrozen ? due.set(key(timer), () => run(...values)) : run(...values)), ms);
      return timer;
    };
    return Object.defineProperties(own, Object.getOwnPropertyDescriptors(real[name]));
  };
  const clear = (name) => (timer) => {
    due.delete(key(timer));
    real[name](timer);
  };
  return {
    real,
    globals: {
      setTimeout: schedule("setTimeout"), setInterval: schedule("setInterval"),
      clearTimeout: clear("clearTimeout"), clearInterval: clear("clearInterval"),
    },
    freeze: () => void (isFrozen = true),
    resume() {
      isFrozen = false;
      // The loop leaves out what one of them clears.
      for (const [timer, run] of due) {
        due.delete(timer);
        try {
          run();
        } catch (error) {
          // The others run nevertheless, and this is reported as an error of a timer.
          real.setTimeout(() => {
            throw error;
          });
        }
      }
    },
  };
}

/** What has come and nobody has taken yet, and who waits for the next. */
function queue() {
  const items = [];
  let waiting = [];
  return {
    put(item) {
      items.push(item);
      waiting.forEach((wake) => wake());
      waiting = [];
    },
    clear: () => void items.splice(0),
    /** The next item that counts. Rejects if the call ends first. */
    async next(call, nothing, counts = () => true) {
      const find = () => items.findIndex(counts);
      const ended = call?.then(() => {
        throw new Error(nothing);
      });
      ended?.catch(() => {}); // a call may end after the item has come
      while (find() < 0) {
        const comes = new Promise((wake) => waiting.push(wake));
        await Promise.race([comes, ...(ended ? [ended] : [])]).catch((error) => {
          if (find() < 0) throw error;
        });
      }
      return items.splice(0, find() + 1).at(-1);
    },
  };
}

/** Defines the globals of a page: over those of jsdom if they are there, else with a small document. Returns what undoes it. */
function install(page, events, hidden) {
  const document = Object.assign(new EventTarget(), { documentElement: { lang: "" } });
  // The wasm keeps the first global object that it finds.
  const is_jsdom = globalThis.window === globalThis;
  const globals = { ...page };
  if (!is_jsdom) {
    globals.document = () => document;
    globals.window = () => globalThis;
  }
  for (const name of ["addEventListener", "removeEventListener", "dispatchEvent"]) {
    const own = events[name].bind(events);
    globals[name] = () => own;
  }
  const before = Object.keys(globals).map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]);
  const restore = () => {
    for (const [name, descriptor] of before) {
      if (descriptor) Object.defineProperty(globalThis, name, descriptor);
      else delete globalThis[name];
    }
    // jsdom's own are on its prototype.
    delete globalThis.document?.hidden;
    delete globalThis.document?.hasFocus;
  };
  const fixed = before.find(([, descriptor]) => descriptor?.configurable === false);
  if (fixed) {
    throw new Error(
      `openTestPage cannot replace \`${fixed[0]}\` here: a browser does not allow it, nor does the jsdom of Jest. Run this test in the environment of Node.js.`,
    );
  }
  // A test may replace a part of the page by its own.
  for (const [name, value] of Object.entries(globals)) {
    const set = (own) => Object.defineProperty(globalThis, name, { value: own, configurable: true, writable: true });
    Object.defineProperty(globalThis, name, { get: value, set, configurable: true });
  }
  Object.defineProperty(globalThis.document, "hidden", { get: () => hidden.is, configurable: true });
  Object.defineProperty(globalThis.document, "hasFocus", { value: () => !hidden.is, configurable: true });
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
