// The rules of a merchant's server: the cases of this folder, against the npm package guichet-server. `Routes` passes the same
// (`tests/service/shop_rules.rs`). Then what only this package has: its options, rounds, bodies that Express has read, a panic. The stores
// have a contract of their own (`ledger-stores.mjs`).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createShop, ShopError } from "guichet-server";
import { toNode } from "guichet-server/node";
import { memoryOrders } from "guichet-server/orders";
import { calling, casesOf, contains, fail, requestOf, serviceOf, usualOptions, verify, withNonces } from "./cases.mjs";

// Of no test environment, where the service is also asked for its time.
const KEY = "sk_live_1";
const logged = [];
console.error = (text) => logged.push(text);
let count = 0;

for (const name of ["guard", "session", "intents", "status", "return", "reads"]) {
  const tests = casesOf(name);
  for (const test of tests) await run(test).catch((e) => fail(test, e));
  count += tests.length;
}
assert.ok(count > 150);
assert.ok(!logged.some((text) => text.includes(KEY) || text.includes("client_secret=")), "no log has the key or a client secret");

// A round reads what is due, and brings the shop what it could not store before. A paid order leads to what was paid, and nothing is asked.
{
  const store = memoryOrders();
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
  const { reference, payment_ref, amount } = await shop.order("ORDER-17");
  assert.deepEqual([reference, payment_ref, amount, await shop.order("ORDER-18")], ["ORDER-17", "gch_1", "45000", null]);
  const { intent: paid } = await click();
  assert.deepEqual([paid.status, paid.checkout_url, sent], ["succeeded", null, ["POST", "GET"]]);
}

async function run(test) {
  const [calls, sent, bodies] = [[], [], []];
  const orders = await ordersOf(test);
  const shop = createShop({ ...options(test, calls), orders, fetch: serviceOf(test, KEY, sent, bodies) });
  const response = await shop.fetch(requestOf(test));
  const { order } = await orders.load(test.shop.purchase?.merchant_reference ?? "", "", 0);
  const nonce = order ? JSON.parse(order).payments[0].nonce : "";
  const filled = (expected) => withNonces(expected, nonce, nonce);
  await verify(response, filled(test.reply));
  assert.deepEqual(sent, test.sent);
  (filled(test.bodies) ?? []).forEach((body, i) => contains(bodies[i], body, "body"));
  if (test.calls) assert.deepEqual(calls, test.calls);
}

/** The orders that a case begins with. */
async function ordersOf({ shop: { kept, open = 0 } }) {
  const orders = memoryOrders();
  await orders.open((now) => JSON.stringify({ created_at: now, epoch: now * 1e6, round_until: 0, held_until: 0, repeats: true }));
  if (kept) await begun(orders, { ...kept, name: kept.merchant_reference, id: kept.intent });
  for (let i = 0; i < open; i++) await begun(orders, { owner: "customer:awa", name: `OPEN-${i}`, id: `pi_open_${i}`, payment_ref: `OPEN-${i}`, amount: "1", currency: "XAF" });
  return orders;
}

/** An open payment, as if it had been begun. */
async function begun(orders, { owner, name, id, payment_ref, amount, currency, fee_bearer, quote }) {
  const [now, nonce] = [await orders.now(), "0123456789abcdefghijAB"];
  const body = { firstname: "Awa", lastname: "Ngono", description: "Shoes", email: "awa@example.com", amount, currency, fee_bearer };
  const found = [{ id, payment_ref, state: "open", status: "requires_action", since: now }];
  const [kind, ...login] = owner.split(":");
  const order = { name, owner: { [kind]: login.join(":") }, payments: [{ reference: name, created_at: now, body, nonce, quote, found }] };
  const row = { reference: name, created_at: now, due_at: now, counts_until: now + 86_400, names: [name, nonce, id, payment_ref] };
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
    orders: memoryOrders(),
    orderChanged() {},
  };
}

const { shop: sellsIt } = JSON.parse(readFileSync(new URL("status.json", import.meta.url), "utf8"));

const PROFILES = JSON.parse(readFileSync(new URL("profile.json", import.meta.url), "utf8"));
const PROFILE = { base_url: "https://api.example.com", read: { method: "GET", path: "/v1/charges/{payment_ref}" } };

// Bad options are refused at once.
const usual = { ...options({ shop: { customer: { id: "awa" } } }, []), secretKey: "sk_test_1" };
for (const [changed, message] of [
  [{ baseUrl: undefined }, /Missing option `baseUrl`/],
  [{ baseUrl: "http://api.example.com" }, /`baseUrl` must begin with https:.*`plainHosts`/],
  [{ gatewayUrl: "http://gateway.example.com" }, /`gatewayUrl` must begin with https:/],
  [{ baseUrl: "http://sandbox:4243", plainHosts: ["sandbox"], secretKey: "sk_live_1" }, /use a test key/],
  [{ plainHosts: ["sandbox:4243"] }, /`plainHosts` must be a list of host names, without port/],
  [{ plainHosts: "sandbox" }, /`plainHosts` must be/],
  [{ keepDays: 0.5 }, /`keepDays` must be a whole number of days/],
  [{ guests: "false" }, /`guests` must be true or false/],
  [{ publicReads: "merchant" }, /`publicReads` must be true or false/],
  [{ baseUrl: "https://api.example.com?x" }, /`baseUrl` must be/],
  [{ secretKey: "sk_test_1\n" }, /without spaces, line ends and quotes/],
  [{ secretKey: '"sk_test_1"' }, /without spaces, line ends and quotes/],
  [{ origins: ["https://shop.example/pay"] }, /`origins` must be/],
  [{ origins: "https://shop.example" }, /`origins` must be/],
  [{ origins: ["https://*.shop.example"] }, /`origins` must be a list of whole origins/],
  [{ checkoutOrigins: ["https://*"] }, /`checkoutOrigins` must be a list of whole origins/],
  [{ orders: { ...usual.orders, commit: undefined } }, /`orders` must be a store of guichet-server\/orders/],
  [{ orderChanged: undefined }, /Missing option `orderChanged`/],
  [{ path: "/guichet/" }, /`path` must be/],
  [{ profile: "service.json" }, /`profile` must be the parsed content of a profile/],
  [{ profile: { ...PROFILE, base_url: "http://api.example.com" }, baseUrl: undefined }, /must begin with https:/],
  ...PROFILES.wrong.map(([text, words]) => [{ profile: JSON.parse(text) }, { test: (message) => message.startsWith(`Option \`profile\`: ${words}`) }]),
  [{ costumer: () => null }, /Unknown option `costumer`/],
]) {
  assert.throws(() => createShop({ ...usual, ...changed }), (e) => e instanceof TypeError && message.test(e.message) && !/cst_|sk_/.test(e.message));
}
// What says the same is taken.
for (const changed of [
  { profile: PROFILE },
  { profile: { ...PROFILE, gateway_url: "https://gateway.example.com", checkout_origins: ["https://pay.example.com"] }, baseUrl: undefined },
  { profile: { ...PROFILE, checkout_origins: [] }, baseUrl: undefined },
  { profile: { ...PROFILE, gateway_url: null, find_by_reference: null, cancel: null } },
]) {
  createShop({ ...usual, ...changed });
}
// A key and the address that it is sent to, as in Rust.
const rules = (name) => JSON.parse(readFileSync(new URL(`../rules/${name}.json`, import.meta.url), "utf8"));
for (const { key, is_test } of rules("keys").of_a_server) {
  const open = () => createShop({ ...usual, baseUrl: "http://sandbox:4243", plainHosts: ["sandbox"], secretKey: key });
  if (is_test) open();
  else assert.throws(open, /use a test key/, key);
}
for (const secretKey of rules("keys").of_no_server) assert.throws(() => createShop({ ...usual, secretKey }), /`secretKey` must be/, secretKey);
const { anywhere, servers } = rules("addresses");
for (const { address: baseUrl, key: secretKey = "sk_live_1", plain_hosts: plainHosts, root } of [...anywhere, ...servers]) {
  const sent = [];
  const fetch = async (url) => (sent.push(url), Response.json({ data: [] }));
  const open = () => createShop({ ...usual, baseUrl, secretKey, plainHosts, publicReads: true, fetch });
  if (root === null) {
    assert.throws(open, TypeError, baseUrl);
  } else {
    await open().fetch(new Request("http://shop.example/guichet/payment-methods"));
    assert.deepEqual(sent, [`${root}/v1/payment-methods`]);
  }
}
globalThis.document = {};
assert.throws(() => createShop(usual), /does not run in a page/);
delete globalThis.document;

// Without `guests`, somebody without an id is an error of the shop, and no guest.
const status = async (more) => (await createShop({ ...usual, ...more }).fetch(new Request("http://shop.example/guichet/intents/gch_1"))).status;
assert.equal(await status({ customer: () => null }), 401);
assert.equal(await status({ guests: false, customer: () => ({ login: "9f86" }) }), 500);
assert.equal(await status({ customer: () => ({ id: 17n }) }), 500);
assert.equal(await status({ customer: async () => ({ id: 17 }) }), 404);

// What decides is true or false: a text or a number of a database is an error of the shop.
const awa = { id: "awa", email: "awa@example.com" };
for (const emailVerified of ["false", "true", 1, 0, ""]) assert.equal(await status({ customer: () => ({ ...awa, emailVerified }) }), 500, emailVerified);
assert.ok(logged.at(-1).includes("`emailVerified` of a customer must be true or false"), logged.at(-1));
for (const emailVerified of [true, false, null, undefined]) assert.equal(await status({ customer: () => ({ ...awa, emailVerified }) }), 404);
// Half a character would make two customers one.
assert.equal(await status({ customer: () => ({ id: "\ud800" }) }), 500);

// An e-mail address that the rules cannot read costs a customer the session, which the log explains, and neither purchases nor payments.
const odd = createShop({ ...usual, customer: () => ({ ...awa, email: "awa@intranet", emailVerified: true }) });
const statusOf = async (method, path) => (await odd.fetch(new Request(`http://shop.example/guichet${path}`, { method }))).status;
assert.deepEqual([await statusOf("POST", "/session"), await statusOf("GET", "/intents/gch_1"), await statusOf("GET", "/return?payment_ref=gch_1")], [403, 404, 404]);
assert.match(logged.at(-1), /no session for the verified e-mail address: customer:awa: An e-mail/);

// An amount is sent as a text, and a purchase that cannot be sent is named.
const { shop: { purchase: shoes }, intent: created } = JSON.parse(readFileSync(new URL("intents.json", import.meta.url), "utf8"));
async function buy(changed) {
  const [sent, bodies] = [[], []];
  const service = { service: [{ intent: {} }], intent: created };
  const { merchant_reference: name, ...costs } = shoes;
  const purchase = () => ({ name, ...costs, ...changed });
  const checkoutOrigins = ["https://pay.example"];
  const shop = createShop({ ...usual, secretKey: KEY, orders: memoryOrders(), checkoutOrigins, purchase, fetch: serviceOf(service, KEY, sent, bodies) });
  const reply = await shop.fetch(new Request("http://shop.example/guichet/intents", { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }));
  return { status: reply.status, body: await reply.json(), sent: bodies[0] };
}
assert.deepEqual((({ status, sent }) => [status, sent.amount])(await buy({ amount: 45000 })), [200, "45000"]);
for (const [changed, message] of [
  [{ amount: 45000.5 }, /`amount` must be a whole number/],
  [{ amount: NaN }, /`amount` must be a whole number/],
  [{ amount: 2 ** 53 }, /`amount` must be a whole number/],
  [{ amount: 45000n }, /BigInt/],
  [{ amount: undefined }, /amount/],
  [{ currency: "francs" }, /currency/],
  [{ redirect_url: "http://shop.example/return" }, /must begin with https:/],
  [{ redirect_url: ["https://shop.example/return"] }, /`redirect_url` must be a text/],
  [{ firstname: "Awa\ud83d" }, /`firstname` holds half a character/],
  [{ metadata: { note: ["\udc00"] } }, /half a character/],
  [{ name: undefined }, /`purchase` must return `name`/],
]) {
  const { status, sent } = await buy(changed);
  assert.deepEqual([status, sent], [500, undefined], `${message}`);
  assert.match(logged.splice(0).join("\n"), message);
}
for (const redirect_url of ["http://shop.localhost:8000/return", "http://shop.test/return"]) assert.equal((await buy({ redirect_url })).status, 200, redirect_url);
// A customer learns what they may have mistyped.
const typed = await buy({ email: "awa@" });
assert.deepEqual([typed.status, typed.body.error.code, typed.sent], [422, "parameter_invalid", undefined]);
assert.match(typed.body.message, /e-mail/);

// A new payment is made at the gateway, and nothing else. The addresses of a profile are used if it is about the service of `baseUrl`.
{
  const ofCompany = { ...PROFILE, gateway_url: "https://gateway.example.com", checkout_origins: ["https://pay.example"] };
  for (const [baseUrl, gatewayUrl, creation, checkout] of [
    [undefined, undefined, "https://gateway.example.com", "https://pay.example"],
    ["https://api.example.com/v1", undefined, "https://gateway.example.com", "https://pay.example"],
    ["http://127.0.0.1:4243", undefined, "http://127.0.0.1:4243", undefined],
    ["http://127.0.0.1:4243", "http://127.0.0.1:4244", "http://127.0.0.1:4244", undefined],
  ]) {
    const sent = [];
    const fetch = async (url) => (sent.push(new URL(url).origin), Response.json({ data: { ...created, status: "requires_action" } }));
    const purchase = () => (({ merchant_reference: name, ...costs }) => ({ name, ...costs }))(shoes);
    const shop = createShop({ ...usual, secretKey: KEY, orders: memoryOrders(), profile: ofCompany, baseUrl, gatewayUrl, purchase, fetch });
    const form = { method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" }, body: "id=17" };
    const { headers } = await shop.fetch(new Request("http://shop.example/guichet/intents", form));
    const location = headers.get("location");
    assert.deepEqual([sent, location ? new URL(location).origin : undefined], [[creation], checkout]);
  }

  const sent = [];
  const orders = memoryOrders();
  const { merchant_reference: name, ...costs } = shoes;
  const shop = createShop({
    ...usual, secretKey: KEY, orders, gatewayUrl: "https://gateway.example.com/v1", purchase: () => ({ name, ...costs }),
    fetch: async (url) => (sent.push(url), Response.json({ data: { ...created, id: "pi_1", status: "requires_action" } })),
  });
  const request = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  const { intent } = await (await shop.fetch(new Request("http://shop.example/guichet/intents", request))).json();
  await shop.fetch(new Request(`http://shop.example/guichet/intents/${intent.payment_ref}`));
  assert.deepEqual(sent, ["https://gateway.example.com/v1/payment-intents", "http://127.0.0.1:1/v1/payment-intents/pi_1"]);
}

// One round of a process is not begun twice, and one whose store fails says so.
let rounds = 0;
const counting = { ...memoryOrders(), due: async () => (rounds++, []) };
const single = createShop({ ...usual, secretKey: KEY, orders: counting });
await Promise.all([single.settle(), single.settle()]);
assert.equal(rounds, 1);
const failing = createShop({ ...usual, secretKey: KEY, orders: { ...memoryOrders(), due: () => assert.fail("the disk is full") } });
const ofFailing = await failing.settle();
assert.ok(ofFailing.failed.some((e) => /the disk is full/.test(e.cause ?? e.message)), ofFailing.failed);

// Signing out ends every session token of the login, one that is created meanwhile too, and no other login's. The store sees no token.
{
  const kept = memoryOrders();
  const keepSession = (login, token, ...times) => {
    assert.ok(!token.includes("cst_") && !atob(token).includes("cst_"), token);
    return kept.keepSession(login, token, ...times);
  };
  const formerKeys = [btoa("of a former secret key, which is long enough")];
  const endSessions = async (...login) => [...(await kept.endSessions(...login)), ...formerKeys];
  const [revoked, made] = [[], []];
  let answer = () => {};
  const service = async (url, { headers }) => {
    if (url.endsWith("/sessions/revoke")) {
      revoked.push(headers.authorization);
      if (headers.authorization === "Bearer cst_2") return Response.json({ error: { code: "session_revoked" } }, { status: 401 });
      return headers.authorization === "Bearer cst_3" ? Response.json({}, { status: 400 }) : Response.json({ data: { revoked: true } });
    }
    await answer();
    made.push(`cst_${made.length + 1}`);
    return Response.json({ data: { session_token: made.at(-1), customer_email: "awa@example.com" } });
  };
  const customer = ({ headers }) => ({ id: "awa", email: "awa@example.com", emailVerified: true, login: headers.get("login") });
  const shop = createShop({ ...usual, fetch: service, customer, orders: { ...kept, keepSession, endSessions } });
  const session = (login) => shop.fetch(new Request("http://shop.example/guichet/session", { method: "POST", headers: { login } }));
  for (const login of ["one", "one", "one", "two"]) assert.equal((await session(login)).status, 200);

  let go;
  answer = () => new Promise((resolve) => (go = resolve));
  const late = session("one");
  while (!go) await new Promise(setImmediate);
  const { failed } = await shop.signOut("one");
  assert.deepEqual(revoked.splice(0).sort(), ["Bearer cst_1", "Bearer cst_2", "Bearer cst_3"]);
  assert.deepEqual(failed.map(({ code }) => code), ["service_failed"], "a session that the service does not know has ended");
  go();
  assert.equal((await late).status, 401);
  assert.deepEqual(revoked.splice(0), ["Bearer cst_5"]);
  assert.deepEqual(await shop.signOut("one"), { failed: [] });
  assert.deepEqual(await shop.signOut("two"), { failed: [] });
  assert.deepEqual(revoked, ["Bearer cst_4"]);
  await assert.rejects(shop.signOut(undefined), /`signOut` takes the `login`/);
}
const broken = createShop({ ...usual, orders: { ...usual.orders, endSessions: () => assert.fail("the disk is full") } });
assert.equal((await broken.signOut("one")).failed[0].message, "the disk is full");

// Equal reads of pages are one request, whose answer is kept for ten seconds. One that another attempt may change is not. Nothing of a
// page's request is in it, and more than a thousand in ten seconds are not sent.
{
  const [sent, replies] = [[], []];
  const service = async (url, init) => {
    sent.push([url.replace("http://127.0.0.1:1/v1", ""), init.method, init.body, Object.keys(init.headers)]);
    await new Promise(setImmediate);
    return replies.shift() ?? Response.json({ data: { fee: 1 } });
  };
  const shop = createShop({ ...usual, publicReads: true, customer: () => assert.fail("nobody has to be signed in"), fetch: service });
  const read = (query, headers) => shop.fetch(new Request(`http://shop.example/guichet/fee?payment_method=card&currency=XAF&${query}`, { headers }));
  const together = await Promise.all([read("amount=1"), read("amount=1&x=1", { cookie: "a=1", authorization: "Bearer cst_1" }), read("amount=2&amount=%31")]);
  assert.deepEqual(await Promise.all(together.map((reply) => reply.json())), Array(3).fill({ status_code: 200, response_type: "success", data: { fee: 1 } }));
  assert.equal((await read("amount=1")).status, 200);
  assert.deepEqual(sent.splice(0), [["/payment-methods/fee/card/XAF/1", "GET", undefined, ["accept", "authorization"]]]);

  const { now } = performance;
  performance.now = () => now.call(performance) + 10_001;
  assert.equal((await read("amount=1")).status, 200);
  assert.equal(sent.splice(0).length, 1, "it is read again after ten seconds");
  performance.now = now;

  const refused = (status) => Response.json({ message: "No.", error: { code: "no", retryable: false } }, { status });
  replies.push(refused(429), refused(422));
  for (const status of [429, 422, 422]) assert.equal((await read("amount=2")).status, status);
  assert.equal(sent.splice(0).length, 2);

  const statuses = await Promise.all(Array.from({ length: 1000 }, async (_, at) => (await read(`amount=${at + 3}`)).status));
  assert.deepEqual([statuses.filter((status) => status === 200).length, statuses.filter((status) => status === 429).length, sent.length], [998, 2, 998]);
  assert.equal((await read("amount=3")).status, 200, "what is kept is still answered");
}

// A reply that is too large is not read to its end.
const { kept: sale } = sellsIt;
let read = 0;
const endless = () => new Response(new ReadableStream({ pull: (to) => (read++, to.enqueue(new Uint8Array(1 << 20))) }));
const calls = [];
const ofSale = await ordersOf({ shop: { kept: sale } });
const large = createShop({ ...usual, secretKey: KEY, fetch: async () => endless(), onCall: (call) => calls.push(call), orders: ofSale });
const unread = await large.fetch(new Request("http://shop.example/guichet/intents/gch_1"));
assert.deepEqual([unread.status, (await unread.json()).error.code], [502, "service_failed"]);
assert.ok(read < 20, `${read} MiB were read`);
assert.deepEqual([calls[0].operation, calls[0].attempt, calls[0].status, calls[0].kind], ["read_payment_intent", 1, 200, "unreadable"]);

// An order of more than 64 KiB is refused, by a page or in JSON. `Routes` does the same.
for (const [type, part] of [["application/json", '"code":"body_too_large"'], ["application/x-www-form-urlencoded", "<p>The order is too large.</p>"]]) {
  const request = { method: "POST", headers: { "content-type": type }, body: "7".repeat(64 * 1024 + 1) };
  await verify(await createShop(usual).fetch(new Request("http://shop.example/guichet/intents", request)), { status: 413, has: [part] });
}

// A shop behind `node:http`, as it is and with a body that Express has read.
const orders = [];
const shop = createShop({ ...usual, purchase: (order) => (orders.push(order), Promise.reject(new ShopError(404, "order_missing", "No."))) });
for (const [parse, type, sends] of [
  [undefined, "application/json", '{"id":"17"}'],
  [JSON.parse, "application/json", '{"id":"17"}'],
  [(text) => Object.fromEntries(new URLSearchParams(text)), "application/x-www-form-urlencoded", "id=17"],
]) {
  const handler = toNode(shop);
  const server = createServer(async (request, response) => {
    if (parse) {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      if (text) request.body = parse(text);
    }
    handler(request, response, () => response.writeHead(418).end());
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const at = `http://127.0.0.1:${server.address().port}`;
  const response = await fetch(`${at}/guichet/intents`, { method: "POST", headers: { "content-type": type }, body: sends });
  assert.equal(response.status, 404);
  assert.match(await response.text(), /No\./); // in JSON, or in a page
  assert.equal((await fetch(`${at}/other`)).status, 418, "what is not the shop's goes on");
  server.close();
  server.closeAllConnections();
}
assert.deepEqual(orders, [{ id: "17" }, { id: "17" }, { id: "17" }]);

// After a panic the module is made anew: the request that was beside it fails, and the next one is answered.
const { __wbg_reset_state } = await import(new URL("core/guichet_server.js", import.meta.resolve("guichet-server")));
assert.equal(typeof __wbg_reset_state, "function");
const { run: execute } = await import(new URL("core.js", import.meta.resolve("guichet-server")));
let go;
const beside = createShop({ ...usual, customer: () => new Promise((resolve) => (go = resolve)) });
const pending = beside.fetch(new Request("http://shop.example/guichet/session", { method: "POST" }));
await new Promise(setImmediate);
await assert.rejects(execute(() => { throw new WebAssembly.RuntimeError("unreachable"); }, {}), /because of a bug/);
go({ id: "awa" });
assert.equal((await pending).status, 500);
assert.equal(await status({}), 404);

console.log(`${count} cases`);
