// What the wasm asks of the browser. Each function opens one door and decides nothing.

/** One request and its whole answer. */
export async function exchange(fetcher, url, init) {
  const response = await (fetcher ?? fetch)(url, init);
  const text = await response.text();
  const header = (name) => response.headers.get(name) ?? undefined;
  let body;
  try {
    body = JSON.parse(text);
  } catch {}
  return { status: response.status, text, body, retry_after: header("retry-after"), request_id: header("request-id") };
}

/** Resolves when the time is over, or when `wakes` and there may be news: back online, back in sight. */
export function pause(ms, wakes, signal) {
  return new Promise((over) => {
    const timer = setTimeout(over, ms);
    signal.addEventListener("abort", () => clearTimeout(timer));
    if (!wakes || typeof document === "undefined") return;
    addEventListener("online", over, { signal });
    document.addEventListener("visibilitychange", () => document.hidden || over(), { signal });
  });
}

/** Resolves when the caller calls it off. */
export function called_off(theirs, signal) {
  return new Promise((off) => {
    if (theirs.aborted) off();
    else theirs.addEventListener("abort", off, { signal });
  });
}

/** Resolves when the page that was left is shown again as it was. */
export function shown_again() {
  return new Promise((again) => {
    addEventListener("pageshow", function heard({ persisted }) {
      if (!persisted) return;
      removeEventListener("pageshow", heard);
      again();
    });
  });
}

/** Headers of the merchant's page with ours over them; and what they all say. */
export function headers(theirs, ours) {
  const all = new Headers(theirs);
  for (const [name, value] of Object.entries(ours)) all.set(name, value);
  return all;
}
export const said = (headers) => [...headers.values()].join("\n");

export const now = () => performance.now();
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
