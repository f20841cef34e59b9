// What only a browser's page can do, tried where there is none: in Node.js, and in jsdom as test runners set it up. It must
// say so; today's alternatives are a ReferenceError, and a promise that never settles.
// `JSDOM` is the folder in which jsdom is installed.
import { createRequire } from "node:module";
import { createGuichet, GuichetError } from "guichet";
import { openHostedCheckout } from "guichet/hosted";

const intent = {
  id: "pi_1",
  status: "requires_action",
  checkout_url: "https://api.example.com/checkout/pi_1",
  redirect_url: "https://shop.example.com/",
  next_action: { type: "redirect", url: "https://bank.example.com/" },
};

await tryAll("Node.js");
const { JSDOM } = createRequire(`${process.env.JSDOM}/`)("jsdom");
const { window } = new JSDOM("<!doctype html>", { url: "https://shop.example.com/" });
for (const name of ["window", "document", "navigator", "location", "history", "sessionStorage", "localStorage"]) {
  Object.defineProperty(globalThis, name, { value: name === "window" ? window : window[name], configurable: true });
}
for (const name of ["open", "addEventListener", "removeEventListener"]) globalThis[name] = window[name].bind(window);
await tryAll("jsdom");
process.exit(0); // jsdom keeps the process alive

async function tryAll(where) {
  const asked = [];
  const merchant = {
    intent: async () => (asked.push("intent"), { intent, return_nonce: "0123456789012345678901" }),
    status: async () => ({ status: "succeeded" }),
  };
  const guichet = createGuichet({ baseUrl: "https://api.example.com", merchant });
  for (const mode of ["redirect", "popup"]) {
    await isUnsupported(`${where}: checkout by ${mode}`, () => guichet.checkout({ order: 1 }, { mode }));
  }
  if (asked.length) throw new Error(`${where}: an intent was made for a checkout that cannot be`);

  // What needs no page works.
  if ((await guichet.returned()) !== null) throw new Error(`${where}: nobody has returned`);
  const { state } = await guichet.waitForOutcome({ payment_ref: "gch_1" });
  if (state !== "succeeded") throw new Error(`${where}: the outcome is ${state}`);

  const fetch = async () => new Response(JSON.stringify({ data: intent }));
  const page = await openHostedCheckout({ baseUrl: "https://api.example.com", intent: { id: "pi_1", client_secret: "s" }, fetch });
  await isUnsupported(`${where}: leave`, async () => page.leave());
  await isUnsupported(`${where}: proceed`, async () => page.proceed());
}

async function isUnsupported(what, work) {
  const never = new Promise((resolve) => setTimeout(resolve, 30_000, "never settles"));
  const found = await Promise.race([work().then(() => "resolves", (e) => e), never]);
  if (!GuichetError.is(found) || found.kind !== "unsupported") throw new Error(`${what}: ${found?.stack ?? found}`);
  if (!found.message.includes("needs a page")) throw new Error(`${what} says: ${found.message}`);
}
