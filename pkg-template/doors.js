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

/** Starts a task that others wait for; it may come to nothing when none does. */
export function start(task, signal) {
  const under_way = run(task, signal);
  under_way.catch(() => {});
  return under_way;
}

/** Runs tasks side by side, each in its place; they end with the task that asked for them. */
export function run_all(tasks) {
  const signal = here;
  return Promise.all(tasks.map((task) => run(task, signal)));
}

/** One request and its whole answer; or why none came. */
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
  }).catch((e) => ({ lost: e === late ? "timeout" : "offline" }));
}

/** Asks a function of the page's; `null` when the time is over. */
export const ask = (functions, name, given, ms) =>
  within(ms, async (signal) => functions[name](...given, { signal, timeoutMs: ms }))
    .then((answer) => ({ answer }), (e) => {
      if (e !== late) throw e;
      return null;
    });

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

/** A member of a member: `at(reply, "error.code")`. */
export function at(value, path) {
  try {
    for (const name of path.split(".")) value = value?.[name];
    return value;
  } catch {}
}

/** The same where it is a text, or a number as JavaScript writes it. */
export function text(value, path) {
  const found = path ? at(value, path) : value;
  return typeof found === "string" || typeof found === "number" ? `${found}` : undefined;
}

export const any_text = (value) => `${value}`;
export const json = (value) => JSON.stringify(value);
export const parsed = (text) => JSON.parse(text);
export const milliseconds = (date) => Date.parse(date);

/** An object of these names and values, without those that are not there. */
export function object(names, ...values) {
  const made = {};
  names.split(" ").forEach((name, index) => {
    if (values[index] !== undefined) made[name] = values[index];
  });
  return made;
}
export const merged = (under, over) => ({ ...under, ...over });

/** Headers of the merchant's page with ours over them; and what they all say. */
export function headers(theirs, ours) {
  const all = new Headers(theirs);
  for (const [name, value] of Object.entries(ours)) all.set(name, value);
  return all;
}
export const said = (headers) => [...headers.values()].join("\n");

/** Tells a function of the page's; what it throws is its own affair. */
export function tell(listener, value) {
  try {
    listener?.(value);
  } catch (e) {
    reportError?.(e);
  }
}

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
export const keep = (key, text) => {
  try {
    sessionStorage.setItem(key, text);
  } catch {}
};
export const kept = (key) => {
  try {
    return sessionStorage.getItem(key) ?? undefined;
  } catch {}
};

/** Lets the page's other tabs hear a word, and hears theirs. */
export function tabs(name, hear) {
  if (typeof document === "undefined" || typeof BroadcastChannel === "undefined") return () => {};
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }) => hear(data);
  return (word) => channel.postMessage(word);
}
