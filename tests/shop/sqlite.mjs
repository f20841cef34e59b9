// The store in SQLite of guichet-server: an order is paid once and keeps its price, refunds are due once, and one process has the round.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { createShop } from "guichet-server";
import sqlite from "node-sqlite3-wasm";
import { sqliteOrders } from "./node_modules/guichet-server/examples/sqlite.mjs";

const file = "orders.sqlite";
for (const name of [file, `${file}.lock`]) rmSync(name, { recursive: true, force: true });
const db = new sqlite.Database(file);
let clock = 1_000;
const [paid, refunds] = [[], []];
const store = () => sqliteOrders(db, { now: () => clock, onPaid: (order) => paid.push(order), onRefund: (sold, { attempt }) => refunds.push(`${sold.merchant_reference} ${attempt}`) });
const orders = store();

/** The service: each payment by its reference. */
const intents = new Map();
const service = async (url, { method, body }) => {
  if (method === "POST") {
    const { merchant_reference, amount, email } = JSON.parse(body);
    const id = `pi_${merchant_reference}`;
    if (!intents.has(id)) intents.set(id, { id, merchant_reference, amount, currency: "XAF", status: "requires_action", attempts: 0, customer: { email } });
    return Response.json({ data: intents.get(id) });
  }
  return Response.json({ data: intents.get(decodeURIComponent(url.split("/").pop())) });
};
let price = "45000";
const shop = createShop({
  baseUrl: "http://127.0.0.1:1",
  secretKey: "sk_test_1",
  fetch: service,
  customer: (request) => ({ id: request.headers.get("customer") ?? "awa" }),
  purchase: ({ id }) => orders.purchase(id, () => ({ amount: price, description: "Shoes", firstname: "Awa", lastname: "Ngono", email: "awa@example.com" })),
  orders,
});
const send = async (path, body, customer = "awa") => {
  const init = body ? { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json", customer } } : { headers: { customer } };
  const response = await shop.fetch(new Request(`http://shop.example/guichet/${path}`, init));
  return { status: response.status, ...(await response.json()) };
};
const end = (reference, status, more) => Object.assign(intents.get(`pi_${reference}`), { status, attempts: 1 }, more);

// The price of an open payment stays, and that of the next reference is today's.
assert.equal((await send("intents", { id: "A" })).intent.amount, "45000");
price = "50000";
assert.equal((await send("intents", { id: "A" })).intent.amount, "45000");
end("A", "failed");
assert.equal((await send("intents/pi_A")).status, "failed");
const next = (await send("intents", { id: "A" })).intent;
assert.deepEqual([next.merchant_reference, next.amount], ["A.1", "50000"]);
assert.equal((await send("intents/pi_A.1", undefined, "paul")).status, 404, "another customer's");

// A round settles what no page asks for; a second payment of one order, and each duplicate, is a refund, once.
end("A.1", "succeeded", { duplicate_payments: [{ attempt: 2, amount: "50000", currency: "XAF" }] });
for (let i = 0; i < 2; i++) {
  clock += 100;
  assert.deepEqual((await shop.settle()).failed, []);
}
assert.deepEqual([paid, refunds], [["A"], ["A.1 2"]]);
end("A", "succeeded");
clock += 100;
await shop.settle();
assert.deepEqual([paid, refunds], [["A"], ["A.1 2", "A successful"]]);
assert.equal((await send("intents", { id: "A" })).intent.merchant_reference, "A.1", "a paid order keeps its payment");

// After a day nothing is read any more.
clock += 2 * 24 * 60 * 60;
await shop.settle();
clock += 100;
assert.equal((await shop.settle()).read, 0);

// 20 open payments, and no 21st; each owner's first payment comes before any owner's second.
for (let i = 0; i < 20; i++) assert.equal((await send("intents", { id: `B${i}` })).intent.status, "requires_action");
assert.equal((await send("intents", { id: "B20" })).error.code, "too_many_open_payments");
assert.equal((await send("intents", { id: "B3" })).intent.status, "requires_action", "it exists");
await send("intents", { id: "P" }, "paul");
assert.ok((await orders.open(2)).some(({ owner }) => owner === "customer:paul"));

// One process has the round, until its claim ends.
const other = store();
assert.deepEqual([orders.claim(50), other.claim(50), orders.claim(50)], [true, false, true]);
await new Promise((resolve) => setTimeout(resolve, 80));
assert.equal(other.claim(50), true);
db.close();
console.log("the store in SQLite");
