// Measures the npm package `guichet-server`, as `cargo xtask pack --server` has built it: what a server loads, how long it takes from the
// import to its first reply, and the work of each route, with a service and a store that answer at once.
//   node benches/server_package.js
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { brotliCompressSync } from "node:zlib";

const folder = process.argv[2] ?? `${import.meta.dirname}/../target/npm/server`;
const begun = performance.now();
const { createShop } = await import(`${folder}/server.js`);
const intent = { id: "pi_1", payment_ref: "gch_1", merchant_reference: "ORDER-17", amount: "45000", currency: "XAF", status: "requires_action", attempts: 0 };
const data = JSON.stringify({ data: { ...intent, session_token: "cst_test_1", checkout_url: "https://pay.example/", customer: { email: "awa@example.com" } } });
let sold;
const shop = createShop({
  baseUrl: "https://api.example.com",
  secretKey: "sk_test_1",
  fetch: async () => new Response(data),
  customer: () => ({ id: "awa", email: "awa@example.com", emailVerified: true }),
  purchase: () => ({ merchant_reference: "ORDER-17", amount: "45000", description: "Shoes", firstname: "Awa", lastname: "Ngono", email: "awa@example.com", redirect_url: "https://shop.example/" }),
  orders: { openPayments: () => 0, remember: (sale) => (sold = sale), find: () => sold, settled() {}, overpaid() {}, open: () => [], claim: () => true },
});
const send = (method, path) => {
  const body = path === "intents" ? '{"id":"17"}' : undefined;
  return shop.fetch(new Request(`https://shop.example/guichet/${path}`, { method, body, headers: { "content-type": "application/json", host: "shop.example" } }));
};
await (await send("POST", "session")).text();
const start = performance.now() - begun;
if (process.argv[3]) {
  console.log(start);
} else {
  const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".js") && !name.startsWith("examples"));
  const bytes = names.reduce((sum, name) => sum + brotliCompressSync(readFileSync(`${folder}/${name}`)).length, 0);
  const starts = Array.from({ length: 11 }, () => Number(execFileSync(process.execPath, [process.argv[1], folder, "start"])));
  console.log(`${bytes} bytes after brotli; from the import to the first reply ${median(starts).toFixed(1)} ms`);
  for (const [method, path] of [["POST", "session"], ["POST", "intents"], ["GET", "intents/gch_1"]]) {
    const times = [];
    for (let round = 0; round < 4_000; round++) {
      const begun = performance.now();
      const { status } = await send(method, path);
      times.push(performance.now() - begun);
      if (status !== 200) throw new Error(`${path}: ${status}`);
    }
    console.log(`${method} ${path}: ${median(times.slice(1_000)).toFixed(3)} ms`);
  }
}

function median(numbers) {
  return numbers.toSorted((one, other) => one - other)[numbers.length >> 1];
}
