// The rules of a merchant's server: the cases of this folder, against the npm package guichet-server. `Routes` passes the same
// (`tests/service/shop_rules.rs`). Then what only this package has: its options, rounds, bodies that Express has read, a panic.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { checkPurchase, createShop, ShopError } from "guichet-server";
import { toNode } from "guichet-server/node";
import { calling, casesOf, contains, fail, requestOf, serviceOf, usualOptions, verify, withNonces } from "./cases.mjs";

const RETURN_KEY = "a secret text of one's own";
const logged = [];
console.error = (text) => logged.push(text);
let count = 0;

for (const name of ["guard", "session", "intents", "status", "return", "settle"]) {
  for (const test of casesOf(name)) await run(test).catch((e) => fail(test, e));
  count += casesOf(name).length;
}

// Whether a declined attempt may still become money. Only a store knows when a final status was first seen.
const { shop: sellsIt, request, intent } = JSON.parse(readFileSync(new URL("status.json", import.meta.url), "utf8"));
const late = JSON.parse(readFileSync(new URL("late.json", import.meta.url), "utf8")).cases;
for (const { name, as_of, late: expected, ...one } of late.filter(({ final_since }) => final_since === undefined)) {
  const { id, amount, currency, merchant_reference, customer } = intent;
  const data = { id, amount, currency, merchant_reference, customer, ...one.intent };
  const headers = as_of === null ? {} : { date: new Date(as_of * 1000).toUTCString() };
  const test = { shop: sellsIt, service: [{ body: { data }, headers }] };
  const shop = createShop({ ...options(test, []), fetch: serviceOf(test, "sk_test_1", [], []) });
  const reply = await (await shop.fetch(new Request(`http://shop.example/guichet${request.path}`))).json();
  assert.deepEqual([reply.late, reply.as_of], [expected, as_of], `late.json: ${name}`);
  count += 1;
}

async function run(test) {
  const [calls, sent, bodies] = [[], [], []];
  const shop = createShop({ ...options(test, calls), fetch: serviceOf(test, "sk_test_1", sent, bodies) });
  if (test.settle) {
    const { read, failed } = await shop.settle();
    assert.equal(read, 1);
    if (test.refused) assert.equal(failed[0]?.code, test.refused);
    else assert.deepEqual(failed, []);
    assert.ok(failed.every((e) => e instanceof ShopError));
    if (test.refused === "unavailable") assert.equal(failed[0].kind, "offline");
  } else {
    await verify(await shop.fetch(requestOf(test)), filled(test.reply));
  }
  assert.deepEqual(sent, test.sent);
  (filled(test.bodies) ?? []).forEach((body, i) => contains(bodies[i], body, "body"));
  if (test.calls) assert.deepEqual(calls, test.calls);
}

function options({ shop, settle }, calls) {
  const call = calling(shop, calls);
  return {
    ...usualOptions(shop, "sk_test_1"),
    returnKey: RETURN_KEY,
    purchase(order) {
      call("purchase", JSON.stringify(order));
      return shop.purchase;
    },
    orders: {
      openPayments(owner, next) {
        call("open_payments", owner, next);
        return shop.open ?? 0;
      },
      remember({ payment_ref, intent, merchant_reference, amount, currency, owner, email }) {
        call("remember", payment_ref, intent, merchant_reference, amount, currency, owner, email);
      },
      // It forgets to compare the owner.
      find(reference, { owner }) {
        call("find", reference, owner);
        return shop.kept?.payment_ref === reference ? shop.kept : null;
      },
      settled({ merchant_reference }, { status }, askAgain) {
        call("settled", merchant_reference, status, askAgain);
      },
      overpaid({ merchant_reference }, { attempt, amount = "", currency }) {
        call("overpaid", merchant_reference, attempt, amount, currency);
      },
      open: () => (settle ? [shop.kept] : []),
      claim: () => true,
    },
  };
}

function filled(expected) {
  return withNonces(expected, nonce("ORDER-17"), nonce("ORDER-18"));
}

function nonce(reference) {
  const hmac = (key, text) => createHmac("sha256", key).update(text).digest();
  let number = BigInt(`0x${hmac(hmac(RETURN_KEY, "guichet return key"), reference).toString("hex")}`);
  let text = "";
  for (let i = 0; i < 43; i++, number /= 62n) text = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[number % 62n] + text;
  return text.slice(0, 22);
}

assert.ok(logged.some((text) => text.includes("the payment is not the one that was sold")), "the shop's operator reads the cause");
assert.ok(!logged.some((text) => text.includes("sk_test_1")), "no log has the key");

// Bad options are refused at once.
const usual = options({ shop: { customer: { id: "awa" } } }, []);
for (const [changed, message] of [
  [{ baseUrl: undefined }, /Missing option `baseUrl`/],
  [{ baseUrl: "http://api.example.com" }, /`baseUrl` must begin with https:.*`plainHosts`/],
  [{ baseUrl: "http://notlocalhost" }, /`plainHosts`/],
  [{ baseUrl: "http://sandbox:4243", plainHosts: ["other"] }, /`plainHosts`/],
  [{ baseUrl: "http://sandbox:4243", plainHosts: ["sandbox"], secretKey: "sk_live_1" }, /use a test key/],
  [{ plainHosts: ["sandbox:4243"] }, /`plainHosts` must be a list of host names, without port/],
  [{ plainHosts: "sandbox" }, /`plainHosts` must be/],
  [{ guests: "false" }, /`guests` must be true or false/],
  [{ baseUrl: "https://api.example.com?x" }, /`baseUrl` must be/],
  [{ secretKey: "cst_test_1" }, /`secretKey` must be/],
  [{ secretKey: "sk_test 1" }, /`secretKey` must be/],
  [{ secretKey: "sk_test_1\n" }, /without spaces, line ends and quotes/],
  [{ secretKey: '"sk_test_1"' }, /without spaces, line ends and quotes/],
  [{ origins: ["https://shop.example/pay"] }, /`origins` must be/],
  [{ origins: "https://shop.example" }, /`origins` must be/],
  [{ origins: ["https://*.shop.example"] }, /`origins` must be a list of whole origins/],
  [{ checkoutOrigins: ["https://*"] }, /`checkoutOrigins` must be a list of whole origins/],
  [{ orders: { ...usual.orders, claim: undefined } }, /`orders` must be/],
  [{ orders: { ...usual.orders, keepSession: () => true } }, /both or none of keepSession and endSessions/],
  [{ returnKey: "short" }, /`returnKey` must be/],
  [{ path: "/guichet/" }, /`path` must be/],
  [{ costumer: () => null }, /Unknown option `costumer`/],
]) {
  assert.throws(() => createShop({ ...usual, ...changed }), (e) => e instanceof TypeError && message.test(e.message) && !/cst_|sk_/.test(e.message));
}
// What says the same is taken.
for (const changed of [
  { baseUrl: "http://127.0.0.1:4243/v1/" },
  { baseUrl: "http://pay.localhost:4243", secretKey: "sk_live_1" },
  { baseUrl: "http://sandbox:4243", plainHosts: ["sandbox", "192.168.1.20"] },
  { baseUrl: "https://api.example.com", plainHosts: ["sandbox"], secretKey: "sk_live_1" },
]) {
  createShop({ ...usual, ...changed });
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
for (const claim of [() => "false", () => 1, () => undefined]) {
  const { read, failed } = await createShop({ ...usual, orders: { ...usual.orders, claim, open: () => assert.fail("it has no claim") } }).settle();
  assert.deepEqual([read, failed.map((e) => e.message)], [0, ["`orders.claim` must return true or false."]]);
}
// Half a character would make two customers one.
assert.equal(await status({ customer: () => ({ id: "\ud800" }) }), 500);

// An e-mail address that the rules cannot read costs a customer the session, which the log explains, and neither purchases nor payments.
const odd = createShop({ ...usual, customer: () => ({ ...awa, email: "awa@intranet", emailVerified: true }) });
const statusOf = async (method, path) => (await odd.fetch(new Request(`http://shop.example/guichet${path}`, { method }))).status;
assert.deepEqual([await statusOf("POST", "/session"), await statusOf("GET", "/intents/gch_1"), await statusOf("GET", "/return?payment_ref=gch_1")], [403, 404, 404]);
assert.match(logged.at(-1), /no session for the verified e-mail address: customer:awa: An e-mail/);

// An amount is sent as a text, and a purchase that cannot be sent is named.
const { shop: { purchase: shoes }, intent: created } = JSON.parse(readFileSync(new URL("intents.json", import.meta.url), "utf8"));
async function buy(changed, service = [{ intent: {} }]) {
  const [sent, bodies] = [[], []];
  const shop = createShop({ ...usual, checkoutOrigins: ["https://pay.example"], purchase: () => ({ ...shoes, ...changed }), fetch: serviceOf({ service, intent: created }, "sk_test_1", sent, bodies) });
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
  [{ redirect_url: new URL("https://shop.example/return") }, /`redirect_url` must be a text/],
  [{ firstname: "Awa\ud83d" }, /`firstname` holds half a character/],
  [{ metadata: { note: ["\udc00"] } }, /half a character/],
  [{ return_nonce: "short" }, /`return_nonce` must be 22 letters and digits/],
]) {
  const { status, sent } = await buy(changed);
  assert.deepEqual([status, sent], [500, undefined], `${message}`);
  assert.match(logged.at(-1), message);
  // The store asks before it keeps it.
  await assert.rejects(checkPurchase({ ...shoes, ...changed }), (e) => e instanceof TypeError && message.test(e.message));
}
for (const redirect_url of ["http://shop.localhost:8000/return", "http://shop.test/return"]) assert.equal((await buy({ redirect_url })).status, 200, redirect_url);
// A customer learns what they may have mistyped.
const typed = await buy({ email: "awa@" });
assert.deepEqual([typed.status, typed.body.error.code, typed.sent], [422, "parameter_invalid", undefined]);
assert.match(typed.body.message, /e-mail/);
await assert.rejects(checkPurchase({ ...shoes, email: "awa@" }), (e) => e instanceof ShopError && e.status === 422);
await checkPurchase(shoes);

// A nonce that is stored with the order outlives the key.
const stored = { return_nonce: "Zk3vQ8mN1xTb5Lr7Wc2YpD" };
const kept = await buy(stored);
assert.deepEqual([kept.body.return_nonce, kept.sent.return_nonce], [stored.return_nonce, undefined]);
assert.ok(kept.sent.redirect_url.includes(`guichet_return=${stored.return_nonce}`), kept.sent.redirect_url);

// A round that another process has is not begun; one of this process is not begun twice.
let rounds = 0;
const claimed = createShop({ ...usual, orders: { ...usual.orders, claim: () => false, open: () => assert.fail("it has no claim") } });
assert.deepEqual(await claimed.settle(), { read: 0, failed: [] });
const claims = [];
const single = createShop({ ...usual, orders: { ...usual.orders, open: () => (rounds++, []), claim: (ms) => claims.push(ms) > 0 } });
await Promise.all([single.settle(), single.settle()]);
assert.deepEqual([rounds, claims], [1, [15_000, 0]], "it gives the round back");
for (const name of ["claim", "open"]) {
  const broken = createShop({ ...usual, orders: { ...usual.orders, [name]: () => assert.fail("the disk is full") } });
  assert.ok((await broken.settle()).failed.some((e) => e.message === "the disk is full"), name);
}

// Signing out ends every session token of the login, one that is created meanwhile too, and no other login's. The store sees no token.
for (const store of [{}, sessionStore()]) {
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
  const shop = createShop({ ...usual, fetch: service, customer, orders: { ...usual.orders, ...store } });
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
const broken = createShop({ ...usual, orders: { ...usual.orders, ...sessionStore(), endSessions: () => assert.fail("the disk is full") } });
assert.equal((await broken.signOut("one")).failed[0].message, "the disk is full");

/** A store of sessions, which refuses tokens that can be read. */
function sessionStore() {
  const [kept, ended] = [new Map(), new Set()];
  return {
    keepSession(login, token) {
      assert.ok(!token.includes("cst_") && !atob(token).includes("cst_"), token);
      if (!ended.has(login)) kept.set(login, [...(kept.get(login) ?? []), token]);
      return !ended.has(login);
    },
    endSessions(login) {
      ended.add(login);
      const tokens = kept.get(login) ?? [];
      kept.delete(login);
      return [...tokens, btoa("of a former secret key, which is long enough")];
    },
  };
}

// A reply that is too large is not read to its end.
const sale = JSON.parse(readFileSync(new URL("settle.json", import.meta.url), "utf8")).shop.kept;
let read = 0;
const endless = () => new Response(new ReadableStream({ pull: (to) => (read++, to.enqueue(new Uint8Array(1 << 20))) }));
const calls = [];
const large = createShop({ ...usual, fetch: async () => endless(), onCall: (call) => calls.push(call), orders: { ...usual.orders, open: () => [sale] } });
const { failed } = await large.settle();
assert.deepEqual([failed[0].kind, failed[0].code], ["unreadable", "service_failed"]);
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
