import { GuichetError } from "./error.js";

// The same rule as `flow::carries_a_secret_key`: the arguments of a page are checked before the wasm is there.
const SECRET_KEY = /(?:^|[^A-Za-z0-9_]|%..)(?:FLWSECK|[sr]k_(?:test_|live_|sandbox_|[A-Za-z0-9]{20}))/;

/**
 * Refuses a value that contains a merchant's secret key, at any depth, in a value or in a name: of objects, lists, maps and headers, and in
 * the JSON of the rest. The error does not repeat it.
 */
export function refuse_secret_key(value) {
  const found = new Set([value]); // the loop goes on to what it adds, and takes nothing twice
  for (const it of found) {
    if (typeof it === "string") refuse_secret_key_in(it);
    try {
      if (typeof it !== "object" || is_of_the_page(it)) continue;
      if (typeof it.toJSON === "function") found.add(it.toJSON());
      if (it instanceof String) found.add(`${it}`);
      const members = own(it);
      for (const name in members) found.add(name).add(members[name]);
      if (typeof it.forEach === "function") it.forEach((member, name) => found.add(name).add(member));
    } catch {} // null, or unreadable: it is not sent either
  }
}

/** Refuses a text that contains a secret key. The wasm calls it, too. */
export function refuse_secret_key_in(text) {
  if (SECRET_KEY.test(text)) throw_secret_key();
}

/** Throws the error about a secret key, for the wasm too. */
export function throw_secret_key() {
  throw new GuichetError("secret_key", "A merchant's secret key was given to a browser. Replace it, and give the page a session token.");
}

/** The own members of an object, for a loop: a page may have replaced `Object.keys`. A member that cannot be read throws. */
const own = (it) => ({ __proto__: null, ...it });

/** A window, an element, bytes: they hold no text, and lead to the whole page. */
const is_of_the_page = (it) => it.window === it || ArrayBuffer.isView(it) || (globalThis.Node && it instanceof Node);

/** The error of one option or field. Without a message `explain.js` gives it one. */
export const invalid = (param, message = "", about = `${param}: ${message || "Invalid."}`, code = "parameter_invalid") =>
  new GuichetError("input", about, { fields: [{ param, code, message }] });

/** Whether a text of the page is in French, as `words` decides: its file has all sentences, and this page may not load it. */
export const is_french = (tag) => /^fr/i.test(tag);

/** Refuses a client without the service's address. */
export function needs_base_url(given) {
  const message = "Missing option `baseUrl`. Pass the service's address: https://api.example.com.";
  if (given?.baseUrl == null) throw invalid("baseUrl", message, message);
}

/** Refuses unknown options of a call, and a `signal` that is none. */
export function only_options(given, known) {
  only(given, "option", known);
  const signal = given?.signal;
  if (signal && !signal.addEventListener) throw invalid("signal");
}

/**
 * Refuses a name that is not in `known` (separated by spaces), because a mistyped option would be ignored. `what` is the word for
 * such a name: `option`, `field`. `explain.js` reads the message.
 */
export function only(given, what, known) {
  if (given == null) return;
  const names = known.split(" ");
  const listed = `The ${what}s are: ${names.join(", ")}.`;
  if (typeof given !== "object") throw new GuichetError("input", `Pass an object. ${listed}`);
  for (const name in own(given)) {
    if (names.includes(name)) continue;
    refuse_secret_key(name);
    const message = `Unknown ${what} \`${name}\`. ${listed}`;
    throw invalid(name, message, message, "parameter_unknown");
  }
}
