import { GuichetError } from "./error.js";

// The same rule as `flow::carries_a_secret_key`: the arguments of a page are checked before the wasm is there.
const SECRET_KEY = /(?:^|[^A-Za-z0-9_]|%..)(?:FLWSECK|[sr]k_(?:test_|live_|sandbox_|[A-Za-z0-9]{20}))/;

/** Refuses a value that contains a merchant's secret key, at any depth, in a value or in a name. The error does not repeat it. */
export function refuse_secret_key(value) {
  if (SECRET_KEY.test(texts(value))) throw_secret_key();
}

/** Throws the error about a secret key, for the wasm too. */
export function throw_secret_key() {
  throw new GuichetError("secret_key", "A merchant's secret key was given to a browser. Replace the key, since whoever opened this page may have it, and give the page a customer's session token.");
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

/**
 * Refuses a name that is not in `known` (separated by spaces), because a mistyped option would be ignored. `what` is the word for
 * such a name: `option`, `field`.
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
    const meant = nearest(name, names);
    const message = `Unknown ${what} \`${name}\`. ${meant ? `Did you mean \`${meant}\`?` : listed}`;
    throw new GuichetError("input", message, { fields: [{ param: name, code: "parameter_unknown", message }] });
  }
}

/** The known name that a mistyped one was meant to be. Case and underscores do not count; otherwise one letter in three may differ. */
function nearest(name, known) {
  const near = known.map((known) => [distance(letters(name), letters(known)), known]).filter(([distance, known]) => distance <= known.length / 3);
  return near.sort(([one], [other]) => one - other)[0]?.[1];
}

const letters = (name) => name.replace(/_/g, "").toLowerCase().slice(0, 64);

/** How many letters differ: Levenshtein's distance. */
function distance(one, other) {
  let row = [...other, ""].map((_, at) => at);
  for (const letter of one) {
    const next = [row[0] + 1];
    for (let at = 0; at < other.length; at++) next.push(Math.min(row[at] + (letter !== other[at]), row[at + 1] + 1, next[at] + 1));
    row = next;
  }
  return row[other.length];
}
