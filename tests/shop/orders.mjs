// The stores of guichet-server, each in the database that the argument names: an order is paid once, keeps its price and belongs to one
// owner, refunds are due once, a customer has 20 open payments, and one process has the round.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createShop } from "guichet-server";
import { postgresOrders, sqliteOrders } from "guichet-server/examples/orders.mjs";

const [, , database, role] = process.argv;
let clock = 1_000;
const [paid, refunds] = [[], []];
const { store, close } = await (database.startsWith("postgres:") ? inPostgres() : inSqlite());
const orders = await store();

async function inSqlite() {
  const { default: sqlite } = await import("node-sqlite3-wasm");
  const db = new sqlite.Database(database);
  db.exec("PRAGMA busy_timeout = 10000");
  return { store: () => sqliteOrders(db, options()), close: () => db.close() };
}

async function inPostgres() {
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({ connectionString: database });
  return { store: () => postgresOrders(pool, options()), close: () => pool.end() };
}

function options() {
  const onRefund = ({ merchant_reference }, { attempt, amount }) => refunds.push(`${merchant_reference} ${attempt} ${amount}`);
  return { now: () => clock, onPaid: (sold, order) => paid.push(order), onRefund };
}

if (role === "beside") {
  // Another process, at the same time: it pays the same orders.
  for (let i = 0; i < 20; i++) {
    const sold = { payment_ref: `gch_S${i}`, intent: `pi_S${i}`, merchant_reference: `S${i}`, amount: "1", currency: "XAF", owner: "customer:eve", email: null };
    await orders.purchase(`S${i}`, () => ({ amount: "1" }));
    await orders.openPayments("customer:eve", `S${i}`);
    await orders.remember(sold);
    await orders.settled(sold, { id: sold.intent, status: "succeeded", amount: "1", currency: "XAF" }, "never");
  }
  console.log(paid.join("\n"));
  await close();
  process.exit();
}

/** The service: each payment by its reference. */
const intents = new Map();
let isRefusing = false;
const service = async (url, { method, body }) => {
  if (isRefusing) return Response.json({}, { status: 400 });
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

// A repeated creation whose reply names another payment: that one would never be read.
assert.equal((await send("intents", { id: "E" }, "fay")).status, 200);
Object.assign(intents.get("pi_E"), { id: "pi_another" });
assert.equal((await send("intents", { id: "E" }, "fay")).error.code, "payment_mismatch");
end("E", "canceled", { id: "pi_E", attempts: 0 });
assert.equal((await send("intents/pi_E", undefined, "fay")).status, "canceled");

// A round settles what no page asks for; a second payment of one order, and each duplicate, is a refund, once.
end("A.1", "succeeded", { duplicate_payments: [{ attempt: 2, amount: "50000", currency: "XAF" }] });
for (let i = 0; i < 2; i++) {
  clock += 100;
  assert.deepEqual((await shop.settle()).failed, []);
}
assert.deepEqual([paid, refunds], [["A"], ["A.1 2 50000"]]);
// What is due is what was paid: the fee is a part of it.
end("A", "succeeded", { amount_payable: "45900" });
clock += 100;
await shop.settle();
assert.deepEqual([paid, refunds], [["A"], ["A.1 2 50000", "A successful 45900"]]);
assert.equal((await send("intents", { id: "A" })).intent.merchant_reference, "A.1", "a paid order keeps its payment");

// A payment that was shown as failed succeeds after all: its order is paid, and is not sold again, not even by the payment that is open.
assert.equal((await send("intents", { id: "L" })).intent.merchant_reference, "L");
end("L", "failed");
assert.equal((await send("intents/pi_L")).status, "failed");
assert.equal((await send("intents", { id: "L" })).intent.merchant_reference, "L.1");
end("L", "succeeded");
clock += 100;
await shop.settle();
assert.deepEqual(paid, ["A", "L"]);
const again = (await send("intents", { id: "L" })).intent;
assert.deepEqual([again.merchant_reference, again.status], ["L", "succeeded"]);

// An order belongs to who began it, in every state: refused, open, ended, paid.
isRefusing = true;
assert.equal((await send("intents", { id: "O" }, "paul")).status, 502);
isRefusing = false;
const isPauls = async () => {
  const reply = await send("intents", { id: "O" }, "awa");
  assert.deepEqual([reply.status, reply.error?.code], [404, "order_missing"]);
};
await isPauls();
for (const status of ["requires_action", "failed", "succeeded"]) {
  const { merchant_reference } = (await send("intents", { id: "O" }, "paul")).intent;
  await isPauls();
  end(merchant_reference, status);
  await send(`intents/pi_${merchant_reference}`, undefined, "paul");
  await isPauls();
}

// An order may be called as another one's next reference.
assert.equal((await send("intents", { id: "N.1" }, "paul")).intent.merchant_reference, "N.1");
for (const reference of ["N", "N.2", "N.3"]) {
  assert.equal((await send("intents", { id: "N" })).intent.merchant_reference, reference);
  end(reference, "failed");
  assert.equal((await send(`intents/pi_${reference}`)).status, "failed");
}
end("N.1", "failed");
assert.equal((await send("intents/pi_N.1", undefined, "paul")).status, "failed");
assert.equal((await send("intents", { id: "N.1" }, "paul")).intent.merchant_reference, "N.1.1");
for (const reference of ["L.1", "N.1.1"]) end(reference, "canceled");
clock += 100;
await shop.settle();

// After a day nothing is read any more.
clock += 2 * 24 * 60 * 60;
await shop.settle();
clock += 100;
assert.equal((await shop.settle()).read, 0);

// 20 open payments, and no 21st, although they are begun at the same time; each owner's first payment comes before any owner's second.
const begun = await Promise.all(Array.from({ length: 22 }, (_, i) => send("intents", { id: `B${i}` })));
const open = begun.filter(({ intent }) => intent?.status === "requires_action");
assert.equal(open.length, 20);
assert.deepEqual(begun.filter((reply) => !open.includes(reply)).map(({ error }) => error.code), Array(2).fill("too_many_open_payments"));
assert.equal((await send("intents", { id: open[3].intent.merchant_reference })).intent.id, open[3].intent.id, "it exists");
await send("intents", { id: "P" }, "paul");
assert.ok((await orders.open(2)).some(({ owner }) => owner === "customer:paul"));
// An open payment is due after 3 seconds, after half an hour every 30 seconds.
assert.equal((await orders.open(50)).length, 19);
assert.equal((await orders.open(50)).length, 0);
clock += 3;
assert.equal((await orders.open(50)).length, 21);
clock += 1_700;
assert.equal((await orders.open(50)).length, 21);
clock += 29;
assert.equal((await orders.open(50)).length, 0);
clock += 1;
assert.equal((await orders.open(50)).length, 21);

// A place that was reserved for a payment that was not created is free after a minute.
for (let i = 0; i < 20; i++) assert.equal(await orders.openPayments("customer:dan", `D${i}`), 0);
assert.equal(await orders.openPayments("customer:dan", "D20"), 20);
assert.equal(await orders.openPayments("customer:dan", "D7"), 0);
clock += 60;
assert.equal(await orders.openPayments("customer:dan", "D20"), 0);

// The session tokens of a login, for half an hour; none once the login has ended, also if both are at the same time.
const there = await store(); // as another server has it
assert.deepEqual([await orders.keepSession("one", "a"), await there.keepSession("one", "b"), await orders.keepSession("two", "c")], [true, true, true]);
assert.deepEqual([...(await there.endSessions("one"))].sort(), ["a", "b"]);
assert.deepEqual([await orders.keepSession("one", "d"), await orders.endSessions("one")], [false, []]);
clock += 31 * 60 + 1;
assert.equal(await orders.keepSession("one", "e"), true, "the end is forgotten, as what was given out before has expired");
assert.deepEqual(await orders.endSessions("two"), []);
for (let i = 0; i < 20; i++) {
  const [isKept, tokens] = await Promise.all([orders.keepSession(`at once ${i}`, "f"), there.endSessions(`at once ${i}`)]);
  assert.equal(tokens.length, isKept ? 1 : 0);
}

// A payment that the service did not get is repeated at its price for a day. Then the order's next one has today's.
isRefusing = true;
for (const id of ["F", "G"]) assert.equal((await send("intents", { id }, "fay")).status, 502);
isRefusing = false;
price = "60000";
for (const [id, reference, amount] of [["F", "F", "50000"], ["G", "G.1", "60000"]]) {
  const { intent } = await send("intents", { id }, "fay");
  assert.deepEqual([intent.merchant_reference, intent.amount], [reference, amount]);
  clock += 24 * 60 * 60 + 1;
}
assert.equal((await send("intents", { id: "G" }, "fay")).intent.merchant_reference, "G.1", "it exists");

// Another secret key changes nothing of an open order: the nonce is stored with it.
const bodies = [];
for (const secretKey of ["sk_test_old", "sk_test_new"]) {
  const keyed = createShop({
    baseUrl: "http://127.0.0.1:1",
    secretKey,
    fetch: (url, init) => (bodies.push(init.body), service(url, init)),
    customer: () => ({ id: "gil" }),
    purchase: () => orders.purchase("KEYED", () => ({ amount: 45000, description: "Shoes", firstname: "Gil", lastname: "Fru", redirect_url: "https://shop.example/" })),
    orders,
  });
  const order = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
  assert.equal((await keyed.fetch(new Request("http://shop.example/guichet/intents", order))).status, 200);
}
assert.equal(bodies[0], bodies[1]);
assert.match(bodies[0], /"amount":"45000".*guichet_return=[0-9a-f]{22}/);
// What the rules refuse is not kept: the corrected purchase is.
await assert.rejects(orders.purchase("CORRECTED", () => ({ amount: "45000", currency: "francs" })), /currency/);
await assert.rejects(orders.purchase("CORRECTED", () => ({ amount: "45000", email: "gil@" })), { status: 422 });
assert.equal((await orders.purchase("CORRECTED", () => ({ amount: "45000", currency: "XAF" }))).currency, "XAF");

// One process has the round, until its claim ends or it gives it back.
const other = await store();
const claims = async (...wanted) => {
  const got = [];
  for (const [one, ms] of wanted) got.push(await one.claim(ms));
  return got;
};
assert.deepEqual(await claims([orders, 10_000], [other, 50], [orders, 50]), [true, false, true]);
while (!(await other.claim(10_000))) await new Promise((resolve) => setTimeout(resolve, 10));
assert.deepEqual(await claims([orders, 50], [other, 0], [orders, 50]), [false, true, true]);

// Two other processes pay the same orders at the same time: each of them once.
const outputs = await Promise.all([1, 2].map(async () => {
  const child = spawn(process.execPath, [process.argv[1], database, "beside"], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (part) => (text += part));
  const [code] = await once(child, "close");
  assert.equal(code, 0);
  return text.split("\n").filter(Boolean);
}));
assert.deepEqual(outputs.flat().sort(), Array.from({ length: 20 }, (_, i) => `S${i}`).sort());
await close();
