// What the wasm asks of the browser. Each function opens one door and decides nothing.

// Ends when the task that is being stepped ends: with it end its requests, timers and listeners.
let here;

/** Runs a task of the wasm: waits for what it waits for, and tells it what came. A caller's abort ends it. */
export async function run(task, signal) {
  const end = new AbortController();
  const called_off = new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { signal: end.signal });
  });
  called_off.catch(() => {});
  try {
    let answer;
    let failed = false;
    await undefined;
    for (;;) {
      if (signal?.aborted) throw signal.reason;
      here = end.signal;
      const asked = task.step(answer, failed);
      if (!asked) return task.value();
      try {
        answer = await Promise.race([asked, called_off]);
        failed = false;
      } catch (e) {
        answer = e;
        failed = true;
      }
    }
  } finally {
    end.abort();
    try {
      task.free();
    } catch {} // it met a defect in mid-step, and says so itself
  }
}

/** Starts a task that others may join by its name, while it is under way. */
export function start(flights, name, task, signal) {
  const flight = run(task, signal);
  flights.set(name, flight);
  const landed = () => flights.get(name) === flight && flights.delete(name);
  flight.then(landed, landed);
  return flight;
}
export const flights = () => new Map();
export const under_way = (flights, name) => flights.get(name);
export const forget = (flights, name) => void flights.delete(name);

/** Runs tasks side by side, each in its place; they end with the task that asked for them. */
export function run_all(tasks) {
  const signal = here;
  return Promise.all(tasks.map((task) => run(task, signal)));
}

/** How a request to the service is sent: no cookie, no referrer, no redirect followed, no header but these two. */
export const to_service = (method, bearer, body) => ({
  method,
  body,
  headers: object("authorization content-type", [bearer && `Bearer ${bearer}`, body && "application/json"]),
  credentials: "omit",
  referrerPolicy: "no-referrer",
  redirect: "error",
  cache: "no-store",
});

/** How one to the merchant's own server is sent: with its cookies, and with the page's headers under ours. */
export function to_merchant(method, body, theirs, locale) {
  const headers = new Headers(typeof theirs === "function" ? theirs() : undefined);
  headers.set("accept", "application/json");
  if (body) headers.set("content-type", "application/json");
  if (locale) headers.set("accept-language", locale);
  return { method, body, headers, credentials: "same-origin", cache: "no-store" };
}
export const said = ({ headers }) => [...headers.values()].join("\n");

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
  let timer;
  const over = new Promise((_, reject) => (timer = setTimeout(reject, ms, late)));
  here.addEventListener("abort", () => own.abort(), { signal: own.signal });
  try {
    return await Promise.race([work(own.signal), over]);
  } finally {
    clearTimeout(timer);
    own.abort();
  }
}

/** Resolves when the time is over, or when `wakes` and there may be news: back online, back in sight. */
export function pause(ms, wakes) {
  const signal = here;
  return new Promise((over) => {
    const timer = setTimeout(over, ms);
    signal.addEventListener("abort", () => clearTimeout(timer));
    if (!wakes || typeof document === "undefined") return;
    addEventListener("online", over, { signal });
    document.addEventListener("visibilitychange", () => document.hidden || over(), { signal });
  });
}

/** Resolves when the page that was left is shown again as it was. */
export function shown_again() {
  const signal = here;
  return new Promise((again) => {
    addEventListener("pageshow", ({ persisted }) => persisted && again(), { signal });
  });
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

export const any_text = (value) => `${value}`;
export const json = (value) => JSON.stringify(value);
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
export const merged = (under, over) => ({ ...under, ...over });

/** What the URL Standard's parser says of an address, a line each. */
export function address_parts(text) {
  try {
    const { protocol, hostname, origin, username, password } = new URL(text);
    return [protocol, hostname, origin, username || password ? "user" : ""].join("\n");
  } catch {}
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
export const state = () => history.state;
export const rewrite = (state, address) => history.replaceState(state, "", address);

// A browser may forbid its storage: then nothing is kept.
export const keep = (key, value) => {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
  } catch {}
};
export const kept = (key) => {
  try {
    return JSON.parse(sessionStorage.getItem(key));
  } catch {}
};

/** Lets the page's other tabs hear a word, and hears theirs. */
export function tabs(name, hear) {
  if (typeof document === "undefined" || typeof BroadcastChannel === "undefined") return () => {};
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }) => hear(data);
  return (word) => channel.postMessage(word);
}
