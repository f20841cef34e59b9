// The rules of a merchant's server over a ledger: the cases of this folder, but those for a shop that keeps its payments itself, and rounds.
// `Routes` passes the same (`tests/service/shop_rules.rs`). The stores have a contract of their own (`ledger-stores.mjs`).
import assert from "node:assert/strict";
import { createShop } from "guichet-server";
import { sqliteOrders } from "guichet-server/orders";
import sqlite from "node-sqlite3-wasm";
import { calling, casesOf, contains, fail, requestOf, serviceOf, usualOptions, verify, withNonces } from "./cases.mjs";

// Of no test environment, where the service is also asked for its time.
const KEY = "sk_live_1";
const logged = [];
console.error = (text) => logged.push(text);
let count = 0;

for (const name of ["guard", "session", "intents", "status", "return"]) {
  const tests = casesOf(name).filter(({ no_ledger }) => !no_ledger);
  for (const test of tests) await run(test).catch((e) => fail(test, e));
  count += tests.length;
}
assert.ok(count > 150);
assert.ok(!logged.some((text) => text.includes(KEY) || text.includes("client_secret=")), "no log has the key or a client secret");

// A round reads what is due, and brings the shop what it could not store before. A paid order leads to what was paid, and nothing is asked.
{
  const store = sqliteOrders(new sqlite.Database(":memory:"));
  let [time, status, isFull] = [1_795_000_000, "requires_action", false];
  const [events, sent] = [[], []];
  const intent = { id: "pi_1", payment_ref: "gch_1", amount: "45000", currency: "XAF", checkout_url: "https://pay.example/#1" };
  const shop = createShop({
    ...options({ shop: { customer: { id: "awa" }, purchase: { merchant_reference: "ORDER-17", amount: 45_000, description: "Shoes", firstname: "Awa", lastname: "Ngono", email: "awa@example.com" } } }, []),
    orders: { ...store, now: async () => time },
    orderChanged(changed) {
      if (isFull) throw new Error("the disk is full");
      events.push(changed);
    },
    fetch: async (url, { method }) => {
      sent.push(method);
      return Response.json({ data: { ...intent, status } }, { headers: { date: new Date(time * 1000).toUTCString() } });
    },
  });
  const click = async () => (await shop.fetch(new Request("http://shop.example/guichet/intents", { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }))).json();
  assert.equal((await click()).intent.checkout_url, intent.checkout_url);
  assert.deepEqual([(await shop.settle()).due, events], [0, []]);
  [time, status, isFull] = [time + 10, "succeeded", true];
  const { read, due, notReceived, failed } = await shop.settle();
  assert.deepEqual([read, due, notReceived, failed], [1, 1, 1, []]);
  isFull = false;
  assert.equal((await shop.settle()).notReceived, 0);
  assert.deepEqual(events.map(({ name, state, paid_by }) => [name, state, paid_by.amount]), [["ORDER-17", "paid", "45000"]]);
  const { intent: paid } = await click();
  assert.deepEqual([paid.status, paid.checkout_url, sent], ["succeeded", null, ["POST", "GET"]]);
}

async function run(test) {
  const [calls, sent, bodies] = [[], [], []];
  const orders = sqliteOrders(new sqlite.Database(":memory:"));
  await orders.open((now) => JSON.stringify({ created_at: now, epoch: now * 1e6, round_until: 0, held_until: 0, repeats: true }));
  const { kept, open = 0, purchase } = test.shop;
  if (kept) await begun(orders, { ...kept, name: kept.merchant_reference, id: kept.intent });
  for (let i = 0; i < open; i++) await begun(orders, { owner: "customer:awa", name: `OPEN-${i}`, id: `pi_open_${i}`, payment_ref: `OPEN-${i}`, amount: "1", currency: "XAF" });
  const shop = createShop({ ...options(test, calls), orders, fetch: serviceOf(test, KEY, sent, bodies) });
  const response = await shop.fetch(requestOf(test));
  const { order } = await orders.load(purchase?.merchant_reference ?? "", "", 0);
  const nonce = order ? JSON.parse(order).payments[0].nonce : "";
  const filled = (expected) => withNonces(expected, nonce, nonce);
  await verify(response, filled(test.reply));
  assert.deepEqual(sent, test.sent);
  (filled(test.bodies) ?? []).forEach((body, i) => contains(bodies[i], body, "body"));
  if (test.calls) assert.deepEqual(calls, test.calls.filter((call) => call.startsWith("purchase ")));
}

/** An open payment, as if it had been begun. */
async function begun(orders, { owner, name, id, payment_ref, amount, currency }) {
  const now = await orders.now();
  const body = { firstname: "Awa", lastname: "Ngono", description: "Shoes", email: "awa@example.com", amount, currency };
  const found = [{ id, payment_ref, state: "open", status: "requires_action", since: now }];
  const [kind, ...login] = owner.split(":");
  const order = { name, owner: { [kind]: login.join(":") }, payments: [{ reference: name, created_at: now, body, found }] };
  const row = { reference: name, created_at: now, due_at: now, counts_until: now + 86_400, names: [name, id, payment_ref] };
  const commit = { name, version: 0, body: JSON.stringify(order), owner, before: null, open: null, now, rows: [row], event: null };
  assert.equal(await orders.commit(commit), true);
}

function options({ shop }, calls) {
  const call = calling(shop, calls);
  return {
    ...usualOptions(shop, KEY),
    purchase(order) {
      call("purchase", JSON.stringify(order));
      const { merchant_reference: name, ...costs } = shop.purchase;
      return { name, ...costs };
    },
    orderChanged() {},
  };
}
