// Measures the npm package `guichet-server`, as `cargo xtask pack --server` has built it: what a server loads, how long it takes from the
// import to its first reply, and the work of each route, with a service and a store that answer at once, beside a handler that only reads
// the body. What Node.js itself does at its first Request is not counted.
//   node benches/server_package.js
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { brotliCompressSync } from "node:zlib";

const folder = process.argv[2] ?? `${import.meta.dirname}/../target/npm/server`;
const bare = async (request) => Response.json({ length: (await request.text()).length });
await (await bare(new Request("https://shop.example/", { method: "POST", body: "{}" }))).text();
await crypto.subtle.digest("SHA-256", new Uint8Array());
const begun = performance.now();
const [{ createShop }, { memoryOrders }] = await Promise.all([import(`${folder}/server.js`), import(`${folder}/orders.js`)]);
const intent = { id: "pi_1", payment_ref: "gch_1", merchant_reference: "ORDER-17", amount: "45000", currency: "XAF", status: "requires_action", attempts: 0 };
const data = JSON.stringify({ data: { ...intent, session_token: "cst_test_1", checkout_url: "https://pay.example/", customer: { email: "awa@example.com" } } });
const shop = createShop({
  baseUrl: "https://api.example.com",
  secretKey: "sk_live_1",
  fetch: async () => new Response(data),
  customer: () => ({ id: "awa", email: "awa@example.com", emailVerified: true }),
  purchase: () => ({ name: "ORDER-17", amount: "45000", description: "Shoes", firstname: "Awa", lastname: "Ngono", email: "awa@example.com", redirect_url: "https://shop.example/" }),
  orderChanged() {},
  orders: memoryOrders(),
});
const send = (method, path, handle = shop.fetch) => {
  const body = path === "intents" ? '{"id":"17"}' : undefined;
  return handle(new Request(`https://shop.example/guichet/${path}`, { method, body, headers: { "content-type": "application/json", host: "shop.example" } }));
};
await (await send("POST", "session")).text();
const start = performance.now() - begun;
if (process.argv[3]) {
  console.log(start);
} else {
  const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".js"));
  const bytes = names.reduce((sum, name) => sum + brotliCompressSync(readFileSync(`${folder}/${name}`)).length, 0);
  const starts = Array.from({ length: 11 }, () => Number(execFileSync(process.execPath, [process.argv[1], folder, "start"])));
  console.log(`${bytes} bytes after brotli; from the import to the first reply ${Math.min(...starts).toFixed(1)} ms`);
  for (const [method, path] of [["POST", "session"], ["POST", "intents"], ["GET", "intents/gch_1"]]) {
    const measure = async (handle) => {
      const begun = performance.now();
      const { status } = await send(method, path, handle);
      if (status !== 200) throw new Error(`${path}: ${status}`);
      return performance.now() - begun;
    };
    const times = [];
    // Alternately, so that what else the machine does slows both.
    for (let round = 0; round < 400; round++) times.push([await measure(shop.fetch), await measure(bare)]);
    const [ours, theirs] = [0, 1].map((which) => median(times.slice(100).map((pair) => pair[which])));
    console.log(`${method} ${path}: ${ours.toFixed(3)} ms, ${(ours - theirs).toFixed(3)} more than the bare handler`);
  }
}

function median(numbers) {
  return numbers.toSorted((one, other) => one - other)[numbers.length >> 1];
}
