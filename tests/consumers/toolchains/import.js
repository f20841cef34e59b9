// Imports every entry of the package in Node.js, Deno or Bun, as server-side rendering does, and creates a client. Neither may change
// anything in the process, send a request or compile wasm.
// React is a page's own, and CommonJS. Deno changes global names when it loads its first CommonJS module.
await import("react");
// The jsdom of Jest and older Workers lack these.
for (const name of ["TextDecoder", "TextEncoder", "FinalizationRegistry", "WeakRef"]) delete globalThis[name];
const before = snapshot();
const called = [];
for (const [owner, name] of [[globalThis, "fetch"], [globalThis, "setTimeout"], [WebAssembly, "compile"], [WebAssembly, "instantiate"], [WebAssembly, "instantiateStreaming"]]) {
  const real = owner[name];
  before.get(owner).set(name, (owner[name] = (...args) => (called.push(name), real(...args))));
}

const entries = [await import("guichet"), await import("guichet/beside"), await import("guichet/hosted"), await import("guichet/react"), await import("guichet/testing"), await import("guichet/words"), await import("guichet/hosted-words")];
const [main, beside] = entries;
for (const { createGuichet } of [main, beside]) {
  const guichet = createGuichet({ baseUrl: "https://api.example.com", merchant: "/guichet" });
  if (guichet.session.state !== "none") throw new Error("a client begins without a session");
}
await new Promise((next) => setImmediate(next));

const after = snapshot();
for (const [owner, members] of after) {
  for (const [name, value] of members) {
    if (!before.get(owner).has(name)) throw new Error(`the import adds ${String(name)}`);
    if (!Object.is(before.get(owner).get(name), value)) throw new Error(`the import changes ${String(name)}`);
  }
}
if (called.length) throw new Error(`the import calls ${called}`);
const busy = process.getActiveResourcesInfo().filter((kind) => !/^(TTY|Pipe|File)/.test(kind) && kind !== "Immediate");
if (busy.length) throw new Error(`the import leaves ${busy} behind`);

/** The globals that all code in the process shares. */
function snapshot() {
  const owners = [globalThis, WebAssembly, Object.prototype, Array.prototype, Promise.prototype, Error, String.prototype, Map.prototype];
  const value = (owner, name) => {
    const { value, get } = Object.getOwnPropertyDescriptor(owner, name);
    return get ?? value;
  };
  return new Map(owners.map((owner) => [owner, new Map(Reflect.ownKeys(owner).map((name) => [name, value(owner, name)]))]));
}
