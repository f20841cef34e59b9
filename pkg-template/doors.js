// What the wasm asks of the browser. Each function opens one door and decides nothing.

import { failure } from "./error.js";

// What is to be ended with the task that is being stepped: its requests, timers and listeners. Each hears the reason.
let here;

/** Runs a task of the wasm: waits for what it waits for, and tells it what came. A caller's abort ends it. */
export function run(task, signal) {
  const { came, end } = begin(task);
  if (signal?.aborted) end(signal.reason);
  return until(came, signal, end);
}

/** What is under way, and who is told meanwhile that a signal calls it off. */
function until(came, signal, end) {
  if (signal) {
    const called_off = () => end(signal.reason);
    const over = () => signal.removeEventListener("abort", called_off);
    signal.addEventListener("abort", called_off);
    came.then(over, over);
  }
  return came;
}

function begin(task) {
  const ends = new Set();
  let over;
  let stop;
  const end = (reason) => {
    over ??= [reason];
    stop?.(reason);
  };
  const work = async () => {
    try {
      let answer;
      let failed = false;
      await undefined;
      for (;;) {
        if (over) throw over[0];
        here = ends;
        const asked = task.step(answer, failed);
        if (asked === undefined) return task.value();
        try {
          // Not Promise.race: with a promise that lasts as long as the task it would keep something of every step.
          answer = await new Promise((go, fail) => Promise.resolve(asked).then(go, (stop = fail)));
          failed = false;
        } catch (e) {
          answer = e;
          failed = true;
        }
      }
    } finally {
      ends.forEach((end) => end(over?.[0]));
      try {
        task.free();
      } catch {} // it met a defect in mid-step, and says so itself
    }
  };
  return { came: work(), end };
}

/** Starts a task that others may join by its name, while it is under way. It ends early when all have called it off. */
export function start(flights, name, task, joiner) {
  const { came, end } = begin(task);
  const landed = () => flights.get(name) === flight && flights.delete(name);
  const flight = { came, waiting: 0, end: (reason) => (landed(), end(reason)) };
  flights.set(name, flight);
  came.then(landed, landed);
  return under_way(flights, name, joiner);
}
/** Joins it, until the joiner ends: a signal, or what is ended with a task. */
export function under_way(flights, name, joiner) {
  const flight = flights.get(name);
  if (!flight) return;
  flight.waiting++;
  const leave = (reason) => --flight.waiting || flight.end(reason);
  if (!joiner?.add) return until(flight.came, joiner, leave);
  joiner.add(leave);
  return flight.came;
}
export const ending = () => here;
export const flights = () => new Map();
export const forget = (flights, name) => void flights.delete(name);

/** Runs tasks side by side, each in its place; they end with the task that asked for them. */
export function run_all(tasks) {
  const ends = here;
  return Promise.all(tasks.map((task) => {
    const { came, end } = begin(task);
    ends.add(end);
    return came;
  }));
}

/**
 * How a request to the service is sent: no cookie, no referrer, no redirect followed, no header but these two. One that
 * says nothing but that something is over (a session) arrives though the page goes away. One that is to pass by the cache
 * is dear: Chromium asks before each of them whether it may be sent from here (CORS).
 */
export const to_service = (method, bearer, body, fresh) => ({
  method,
  body,
  headers: object("authorization content-type", [bearer && `Bearer ${bearer}`, body && "application/json"]),
  credentials: "omit",
  referrerPolicy: "no-referrer",
  redirect: "error",
  cache: fresh ? "no-store" : "default",
  keepalive: method === "POST" && !body,
});

/** How one to the merchant's own server is sent: with its cookies, and with the page's headers under ours. */
export function to_merchant(method, body, theirs, locale) {
  const own = theirs?.();
  // Made into headers, a promise would be none, and nobody would know.
  if (typeof own?.then === "function") throw failure("input", "`merchantHeaders` returned a promise. Return the headers themselves.", undefined, false);
  const headers = new Headers(own);
  headers.set("accept", "application/json");
  if (body) headers.set("content-type", "application/json");
  if (locale) headers.set("accept-language", locale);
  return { method, body, headers, credentials: "same-origin", cache: "no-store" };
}
/** Its values but for the language: `sk_SK` is one, and begins as a secret key does. */
export const header_values = ({ headers }) =>
  [...headers].map(([name, value]) => (name === "accept-language" ? "" : value)).join("\n");

/** One request and its whole answer; or that none came, and whether the time was over. */
export function exchange(fetcher, url, init, ms) {
  return within(ms, async (signal) => {
    const response = await (fetcher ?? fetch)(url, { ...init, signal });
    const text = await response.text();
    const header = (name) => response.headers.get(name) ?? undefined;
    let body;
    try {
      body = JSON.parse(text);
    } catch {}
    return { status: response.status, text, body, retry_after: header("retry-after"), request_id: header("request-id") };
  }).catch((e) => ({ late: e === late }));
}

/** Asks a function of the page's. */
export const ask = (functions, name, given, ms) =>
  within(ms, async (signal) => functions[name](...(given === undefined ? [] : [given]), { signal, timeoutMs: ms }))
    .then((answer) => ({ answer }), (e) => {
      if (e !== late) throw e;
      return { late: true };
    });
export const made_by = (make, value) => make(value);

const late = {};

async function within(ms, work) {
  const own = new AbortController();
  const ends = here;
  const end = (reason) => own.abort(reason);
  let timer;
  const over = new Promise((_, reject) => {
    timer = setTimeout(() => {
      reject(late);
      end();
    }, ms);
  });
  ends.add(end);
  try {
    return await Promise.race([work(own.signal), over]);
  } finally {
    clearTimeout(timer);
    ends.delete(end);
  }
}

/** Waits for what happens, with a signal that ends when it has happened, or with the task that is being stepped. */
function happens(wait) {
  const own = new AbortController();
  const ends = here;
  const end = () => own.abort();
  ends.add(end);
  return new Promise((happened) => wait(happened, own.signal)).finally(() => {
    ends.delete(end);
    end();
  });
}

/** Resolves when the time is over, or when `wakes` and there may be news: back online, back in sight. */
export const pause = (ms, wakes) =>
  happens((over, signal) => {
    const timer = setTimeout(over, ms);
    signal.addEventListener("abort", () => clearTimeout(timer));
    if (!wakes || typeof document === "undefined") return;
    for (const news of ["online", "pageshow"]) addEventListener(news, over, { signal });
    document.addEventListener("visibilitychange", () => document.hidden || over(), { signal });
  });

/** Opens a window in the middle of a click, before it is known what for. Its pages do not reach the one it came from. */
export function popup(locale) {
  if (!has_page()) return;
  const window = open("", "", "popup,width=480,height=760");
  if (!window || window.closed) return;
  window.opener = null;
  const { body } = window.document;
  body.textContent = /^fr/i.test(locale || document.documentElement.lang || navigator.language) ? "Un instant…" : "One moment…";
  body.style = "font:1.5em system-ui;margin:2em";
  return window;
}

/**
 * Follows an address, in the window where there is one. Resolves when the customer is back: with true where the return
 * page says so; otherwise when this page is shown again, or is used again and the window is gone. That alone says
 * nothing: a page can cut itself off from its opener, to which it then looks closed.
 */
export const leave = (address, window, key) =>
  happens((back, signal) => {
    if (!window) {
      addEventListener("pageshow", ({ persisted }) => persisted && back(), { signal });
      return location.assign(address);
    }
    const channel = new BroadcastChannel(key);
    channel.onmessage = () => {
      channel.postMessage("");
      back(true);
    };
    const look = (touched) => window.closed && (touched || document.hasFocus()) && back();
    const watch = setInterval(look, 300);
    addEventListener("pointerdown", look, { signal });
    signal.addEventListener("abort", () => {
      clearInterval(watch);
      channel.close();
    });
    window.location.replace(address);
  });

// What the page's clients are answered, each alike, while its address is as the first answer left it.
let left;
let returned;
export const answered = () => (left === href() ? returned : undefined);
export const answer = (answer) => {
  left = href();
  returned = answer;
};

/** Tells the page that waits for this return; where there is one it goes on there, and this window closes. */
export async function come_back(key, answer) {
  try {
    const channel = new BroadcastChannel(key);
    const is_heard = await new Promise((heard) => {
      channel.onmessage = () => heard(true);
      setTimeout(heard, 1000);
      channel.postMessage("");
    });
    channel.close();
    if (is_heard) close();
  } catch {}
  return answer;
}

/** A member of a member: `at(reply, "error.code")`; of no name, the value itself. */
export function at(value, path) {
  try {
    if (path) for (const name of path.split(".")) value = value?.[name];
    return value;
  } catch {}
}

/** The same where it is a text, or a number as JavaScript writes it. */
export function text(value, path) {
  const found = at(value, path);
  return typeof found === "string" || typeof found === "number" ? `${found}` : undefined;
}
export const number = (value, path) => {
  const found = at(value, path);
  return typeof found === "number" ? found : NaN;
};

const sorts = [
  (value) => value == null,
  (value) => typeof value === "string",
  Array.isArray,
  (value) => typeof value === "function",
  (value) => typeof value === "object" && value !== null,
  (value) => value === true,
  (value) => value === false,
];
export const is = (value, path, sort) => sorts[sort](at(value, path));

export const any_text = (value) => {
  try {
    return `${value}`;
  } catch {
    return ""; // a symbol, or an object that makes no text of itself
  }
};
export const json = (value) => {
  try {
    return JSON.stringify(value);
  } catch {}
};
export const milliseconds = (date) => Date.parse(date);
export const empty = () => [];
export const push = (list, value) => void list.push(value);
export const count = (value) => (Array.isArray(value) ? value.length : 0);
export const has = (list, text) => !count(list) || list.includes(text);
export const item = (list, index) => list[index];

/** An object of these names and values, without those that are not there. */
export function object(names, values) {
  const made = {};
  names.split(" ").forEach((name, index) => {
    if (values[index] !== undefined) made[name] = values[index];
  });
  return made;
}
export const picked = (value, names) => object(names, names.split(" ").map((name) => text(value, name)));
/** The first name of an object that is none of these. */
export const other = (value, names) => Object.keys(Object(value)).find((name) => !names.split(" ").includes(name));

/** Every text in a value, names included, a line each: of objects, lists, maps and headers, and of what JSON makes of the rest. */
export function texts(value) {
  const found = new Set([value]); // the loop goes on to what it adds, and takes nothing twice
  for (const it of found) {
    try {
      if (typeof it !== "object" || is_of_the_page(it)) continue;
      if (typeof it.toJSON === "function") found.add(it.toJSON());
      if (it instanceof String) found.add(`${it}`);
      if (/Map|Set|Headers|Params|FormData/.test(Object.prototype.toString.call(it))) it.forEach((member, name) => found.add(name).add(member));
      else for (const [name, member] of Object.entries(it)) found.add(name).add(member);
    } catch {} // null, or what does not let itself be read: it is not sent either
  }
  return [...found].filter((it) => typeof it === "string").join("\n");
}
/** A window, an element, bytes: they are no words, and lead to the whole page. */
const is_of_the_page = (it) => it.window === it || ArrayBuffer.isView(it) || (globalThis.Node && it instanceof Node);
export const merged = (under, over) => ({ ...under, ...over });

/** What the URL Standard's parser says of an address, a line each. */
export function address_parts(text) {
  try {
    const { protocol, hostname, origin, username, password } = new URL(text);
    return [protocol, hostname, origin, username || password ? "user" : ""].join("\n");
  } catch {}
}

/** Reads what is encoded as a form is: a broken escape stays, and bytes that are no UTF-8 say nothing. */
export function decode(text) {
  try {
    return decodeURIComponent(text.replaceAll("+", " ").replace(/%(?![0-9a-f]{2})/gi, "%25"));
  } catch {
    return "";
  }
}

/** Tells a function of the page's; what it throws is its own affair. */
export function tell(listener, value) {
  try {
    listener?.(value);
  } catch (e) {
    globalThis.reportError?.(e);
  }
}

/** Tells of one request that has ended. */
export const told = (listener, operation, attempt, ms, { status, request_id }, error) =>
  listener &&
  tell(listener, object("operation attempt ms status kind requestId",
    [operation, attempt, ms, status, error?.kind, error?.requestId ?? request_id]));

export const now = () => performance.now();
export const today = () => Date.now();
export const luck = () => Math.random() * 4294967295;
export const origin = () => globalThis.location?.origin;
export const href = () => globalThis.location?.href;
export const go = (address) => location.assign(address);
export const replace = (address) => location.replace(address);
export const has_page = () => typeof document !== "undefined" && !/jsdom|happydom/i.test(navigator.userAgent);
export const state = () => history.state;
export const rewrite = (state, address) => history.replaceState(state, "", address);

// A browser may forbid its storage: then nothing is kept.
export const keep = (key, value, window) => {
  try {
    (window ?? globalThis).sessionStorage.setItem(key, json(value));
  } catch {}
};
export const kept = (key) => {
  try {
    return JSON.parse(sessionStorage.getItem(key));
  } catch {}
};

/**
 * Lets the page's other tabs hear a word, and hears theirs. WebKit does not tell a page what is said while the back button
 * keeps it: the last word, with its time, is found when the page is shown again.
 */
export function tabs(name, hear) {
  if (typeof document === "undefined" || typeof BroadcastChannel === "undefined") return () => {};
  const channel = new BroadcastChannel(name);
  const last = () => {
    try {
      return localStorage[name];
    } catch {}
  };
  let heard = last();
  channel.onmessage = ({ data }) => hear((heard = data));
  addEventListener("pageshow", () => heard !== (heard = last()) && heard && hear(heard));
  return (word) => {
    heard = `${word} ${today()}`;
    try {
      localStorage[name] = heard;
    } catch {}
    channel.postMessage(heard);
  };
}
