import { GuichetError } from "./error.js";

// The same rule as `flow::carries_a_secret_key`: the arguments of a page are checked before the wasm is there.
const SECRET_KEY = /(?:^|[^A-Za-z0-9_]|%..)(?:FLWSECK|[sr]k_(?:test_|live_|sandbox_|[A-Za-z0-9]{20}))/;

/** Refuses a value that contains a merchant's secret key, at any depth, in a value or in a name. The error does not repeat it. */
export function refuse_secret_key(value) {
  if (SECRET_KEY.test(texts(value))) throw_secret_key();
}

/** Throws the error about a secret key, for the wasm too. */
export function throw_secret_key() {
  throw new GuichetError("secret_key", "A merchant's secret key was given to a browser. Replace it, and give the page a session token.");
}

/** Every text in a value, names included, one per line: of objects, lists, maps and headers, and of the JSON of the rest. */
function texts(value) {
  const found = new Set([value]); // the loop goes on to what it adds, and takes nothing twice
  for (const it of found) {
    try {
      if (typeof it !== "object" || is_of_the_page(it)) continue;
      if (typeof it.toJSON === "function") found.add(it.toJSON());
      if (it instanceof String) found.add(`${it}`);
      if (/Map|Set|Headers|Params|FormData/.test(Object.prototype.toString.call(it))) it.forEach((member, name) => found.add(name).add(member));
      else for (const [name, member] of Object.entries(it)) found.add(name).add(member);
    } catch {} // null, or unreadable: it is not sent either
  }
  return [...found].filter((it) => typeof it === "string").join("\n");
}

/** A window, an element, bytes: they hold no text, and lead to the whole page. */
const is_of_the_page = (it) => it.window === it || ArrayBuffer.isView(it) || (globalThis.Node && it instanceof Node);

/** The error of one option or field. */
export const invalid = (param, message, about = `${param}: ${message}`, code = "parameter_invalid") =>
  new GuichetError("input", about, { fields: [{ param, code, message }] });

/** Refuses a client without the service's address. */
export function needs_base_url(given) {
  if (given?.baseUrl == null) throw invalid("baseUrl", "It is required.");
}

/** Refuses unknown options of a call, and a `signal` that is none. */
export function only_options(given, known) {
  only(given, "option", known);
  const signal = given?.signal;
  if (signal && !signal.addEventListener) throw invalid("signal", "Pass `controller.signal`.");
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
  for (const name of Object.keys(given)) {
    given[name]; // a member that cannot be read does not count as absent
    if (names.includes(name)) continue;
    refuse_secret_key(name);
    const message = `Unknown ${what} \`${name}\`. ${listed}`;
    throw invalid(name, message, message, "parameter_unknown");
  }
}
