/** Every text in a value, names included, one per line: of objects, lists, maps and headers, and of the JSON of the rest. */
export function texts(value) {
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
