// `guichet-sandbox demo` as its users run it: the shop's server over HTTP, without its pages.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createServer, request } from "node:http";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { CUSTOMERS, PRODUCTS } from "./node_modules/guichet-sandbox/demo/catalogue.js";
import { Orders, purchaseOf } from "./node_modules/guichet-sandbox/demo/orders.js";
import { Payments } from "./node_modules/guichet-sandbox/demo/payments.js";
import { createShop } from "./node_modules/guichet-sandbox/server/server.js";

const COMMAND = "node_modules/.bin/guichet-sandbox";
const KEY = "sk_test_0123456789abcdefghijklmn";
const env = { ...process.env, GUICHET_SECRET_KEY: KEY };
const [PAYS, NEVER_PAYS, APPROVED_LATE] = ["237670000000", "237670000009", "237670000011"];
const running = [];
process.once("exit", () => running.forEach((child) => child.kill("SIGKILL")));

const { ready, readyMs, log, stop } = await start();
const replies = [];
await thePagesAndWhatTheyAreTold();
await othersAreRefused();
await aCustomerWhoPaysAndClosesTheTabHasPaid();
await afterAFinalDeclineTheOrderGetsTheNextReference();
await aLateApprovalIsARefundDue();
await aPlainFormIsSentOnToTheCheckout();
await anotherCustomersOrderAndPaymentAreUnknown();
await signingOutEndsEverySession();
await aCustomerHasAtMost20OpenPayments();
await eachCustomersFirstPaymentIsReadFirstAnd8AtATime();
await theNextReferenceHasTodaysPrice();
await anOrderThatALaterSuccessHasPaidIsNotSoldAgain();
await duplicatesWithoutANumberAreRecordedOnceEach();
for (const text of [...replies, log()]) assert.ok(!text.includes("sk_test_"), `the secret key is in ${text}`);
await itEndsAtOnce();
await whatItRefuses();
console.log(JSON.stringify({ readyMs }));

async function start() {
  const begun = performance.now();
  const child = spawn(COMMAND, ["demo", "--listen", "127.0.0.1:0", "--sandbox-listen", "127.0.0.1:0", "--json"], { env, stdio: ["ignore", "pipe", "pipe"] });
  running.push(child);
  let logged = "";
  child.stderr.on("data", (text) => (logged += text));
  const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)));
  const line = await new Promise((resolve, reject) => {
    createInterface(child.stdout).once("line", resolve);
    ended.then((code) => reject(new Error(`it ended: ${code}: ${logged}`)));
  });
  const stop = (signal) => (child.kill(signal), ended);
  return { ready: JSON.parse(line), readyMs: Math.round(performance.now() - begun), log: () => logged, stop };
}

/** Sends a request to the shop, or to the service with a credential. */
function call(method, path, { body, headers = {}, from = ready.shop_url } = {}) {
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = request(from + path, { method, headers: { ...(text && { "content-type": "application/json" }), ...headers } }, async (response) => {
      let reply = "";
      for await (const part of response.setEncoding("utf8")) reply += part;
      replies.push(reply);
      const isJson = response.headers["content-type"] === "application/json" && reply;
      resolve({ status: response.statusCode, headers: response.headers, text: reply, body: isJson ? JSON.parse(reply) : undefined });
    });
    sent.on("error", reject).end(text);
  });
}

async function signIn(customer) {
  const { status, headers } = await call("POST", "/api/sign-in", { body: { customer } });
  assert.equal(status, 200);
  const [cookie] = headers["set-cookie"];
  assert.match(cookie, /^shop_login=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Lax$/);
  return { cookie: cookie.split(";")[0] };
}

/** Places an order and begins its payment. */
async function begin(headers, sku) {
  const { status, body: order } = await call("POST", "/api/orders", { body: { lines: [{ sku, quantity: 2 }] }, headers });
  assert.deepEqual([status, order.status], [201, "unpaid"]);
  return { order, ...(await pay(headers, order)) };
}

async function pay(headers, { id }) {
  const { status, body, text } = await call("POST", "/guichet/intents", { body: { id }, headers });
  assert.equal(status, 200, text);
  return body;
}

/** Attaches a phone, as the hosted page does. */
async function attach({ id, checkout_url }, phone) {
  const secret = /client_secret=(.+)$/.exec(checkout_url)[1];
  const body = { payment_method: { type: "mobile_money", phone } };
  const { status, text } = await call("POST", `/v1/payment-intents/${id}/payment-method`, { body, headers: { authorization: `Bearer ${secret}` }, from: ready.base_url });
  assert.equal(status, 200, text);
}

async function orderOf(headers, { id }) {
  return (await call("GET", `/api/orders/${id}`, { headers })).body;
}

/** Waits until the shop shows an order with this status. Nothing but the shop's own server reads the payment. */
async function untilOrderIs(wanted, headers, order) {
  for (let waited = 0; waited < 15_000; waited += 100) {
    const found = await orderOf(headers, order);
    if (found.status === wanted) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the order is not ${wanted} after 15 s\n${log()}`);
}

async function thePagesAndWhatTheyAreTold() {
  assert.deepEqual(Object.keys(ready).sort(), ["base_url", "control_token", "control_url", "shop_url"]);
  for (const path of ["/", "/return?payment_intent=pi_1", "/assets/shop.js", "/assets/package/words.js", "/assets/pictures/boots.svg"]) {
    const { status, headers } = await call("GET", path);
    assert.equal(status, 200, path);
    assert.match(headers["content-security-policy"], /^default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' http:\/\/127\.0\.0\.1:\d+; /);
    assert.equal(headers["x-content-type-options"], "nosniff");
  }
  for (const path of ["/subscriptions", "/assets/../orders.js", "/assets/%2e%2e/orders.js", "/assets/", "/package.json", "/api/none"]) {
    assert.equal((await call("GET", path)).status, 404, path);
  }
  const { body: shop } = await call("GET", "/api/shop");
  assert.deepEqual([shop.customer, shop.has_subscriptions, shop.products.length], [null, false, 6]);
}

async function othersAreRefused() {
  const headers = await signIn("awa");
  const own = ready.shop_url;
  for (const [path, method] of [["/api/shop", "GET"], ["/api/orders", "POST"], ["/guichet/session", "POST"], ["/guichet/intents", "POST"], ["/guichet/intents/gch_1", "GET"]]) {
    for (const foreign of [
      { origin: "https://evil.example" }, { origin: "null" }, { origin: `${own.slice(0, -1)}` }, { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site", origin: own }, { "sec-fetch-site": "cross-site", origin: own },
    ]) {
      const { status, body } = await call(method, path, { headers: { ...headers, ...foreign } });
      assert.deepEqual([status, body.error.code], [403, "cross_site"], `${path} ${JSON.stringify(foreign)}`);
    }
    assert.equal((await call(method, path, { headers: { ...headers, host: "evil.example" } })).status, 421);
  }
  const body = { lines: [{ sku: "boots", quantity: 1 }] };
  for (const [more, sent, status] of [
    [{ "content-type": "text/plain" }, body, 415],
    [{ "content-type": "application/x-www-form-urlencoded" }, "lines=1", 415],
    [{}, "{", 400],
    [{}, { ...body, more: "x".repeat(70_000) }, 413],
    [{}, "null", 422],
    [{}, { lines: [null] }, 422],
    [{}, { lines: [{ sku: "boots", quantity: 0.5 }] }, 422],
    [{}, { lines: [{ sku: "boots", quantity: 100 }] }, 422],
    [{}, { lines: [{ sku: "slippers", quantity: 1 }] }, 422],
  ]) {
    assert.equal((await call("POST", "/api/orders", { body: sent, headers: { ...headers, ...more } })).status, status, JSON.stringify(sent).slice(0, 80));
  }
  for (const path of ["/api/orders", "/guichet/session", "/guichet/intents"]) {
    assert.equal((await call("POST", path, { body })).status, 401, path);
    assert.equal((await call("POST", path, { body, headers: { cookie: "shop_login=0" } })).status, 401, path);
  }
  const control = { headers: { authorization: `Bearer ${ready.control_token}` }, from: ready.base_url };
  assert.deepEqual((await call("GET", "/sandbox/requests", control)).body.requests, [], "no request has reached the service");
  for (const own of [{ origin: ready.shop_url }, { origin: ready.shop_url, "sec-fetch-site": "same-origin" }, {}]) {
    assert.equal((await call("POST", "/guichet/session", { headers: { ...headers, ...own } })).status, 200);
  }
}

async function aCustomerWhoPaysAndClosesTheTabHasPaid() {
  const headers = await signIn("awa");
  const { order, intent, return_nonce } = await begin(headers, "boots");
  assert.deepEqual([order.total, intent.amount, intent.merchant_reference], ["144000", "144000", `ORDER-${order.id}`]);
  assert.match(return_nonce, /^[0-9A-Za-z]{22}$/);
  // The same order again is the same payment, and an equal basket the same order.
  const again = await begin(headers, "boots");
  assert.deepEqual([again.order.id, again.intent.id, again.return_nonce], [order.id, intent.id, return_nonce]);
  await attach(intent, PAYS);
  const paid = await untilOrderIs("paid", headers, order);
  assert.equal(paid.payment_ref, intent.payment_ref);
  // Paying again is no second payment, and the next basket is a new order.
  assert.equal((await pay(headers, order)).intent.status, "succeeded");
  assert.notEqual((await begin(headers, "boots")).order.id, order.id);
}

async function afterAFinalDeclineTheOrderGetsTheNextReference() {
  const headers = await signIn("awa");
  const { order, intent } = await begin(headers, "sandals");
  await attach(intent, NEVER_PAYS);
  const { body } = await call("GET", `/guichet/intents/${intent.payment_ref}`, { headers });
  assert.deepEqual([body.status, body.last_payment_error.code], ["failed", "fraud_blocked"]);
  assert.equal((await orderOf(headers, order)).status, "failed");
  const { intent: next } = await pay(headers, order);
  assert.equal(next.merchant_reference, `ORDER-${order.id}.1`);
  await attach(next, PAYS);
  await untilOrderIs("paid", headers, order);
}

async function aLateApprovalIsARefundDue() {
  const headers = await signIn("awa");
  const { order, intent } = await begin(headers, "runners");
  const advance = (seconds) => call("POST", "/sandbox/clock", { body: { advance_seconds: seconds }, headers: { authorization: `Bearer ${ready.control_token}` }, from: ready.base_url });
  await attach(intent, APPROVED_LATE);
  await advance(300);
  await attach(intent, PAYS);
  await untilOrderIs("paid", headers, order);
  await advance(300);
  for (let read = 0; read < 2; read += 1) await call("GET", `/guichet/intents/${intent.payment_ref}`, { headers });
  const { refunds_due } = await orderOf(headers, order);
  assert.deepEqual(refunds_due.map(({ currency }) => currency), ["XAF"], "it is recorded once");
  assert.equal(log().match(/a refund of \d+ XAF is due/g).length, 1, log());
}

async function aPlainFormIsSentOnToTheCheckout() {
  const headers = await signIn("paul");
  const { order } = await begin(headers, "loafers");
  const form = { ...headers, origin: ready.shop_url, "content-type": "application/x-www-form-urlencoded" };
  const { status, headers: sent } = await call("POST", "/guichet/intents", { body: `id=${order.id}`, headers: form });
  assert.equal(status, 303);
  assert.ok(sent.location.startsWith(`${ready.base_url}/checkout/`), sent.location);
}

async function anotherCustomersOrderAndPaymentAreUnknown() {
  const [awa, fatou] = [await signIn("awa"), await signIn("fatou")];
  const { order, intent } = await begin(awa, "ballerinas");
  for (const [method, path, theirs, unknown] of [
    ["GET", "/api/orders/", order.id, "1"],
    ["GET", "/guichet/intents/", intent.payment_ref, "gch_1"],
    ["POST", "/guichet/intents", { id: order.id }, { id: "1" }],
  ]) {
    const as = (what) => (method === "GET" ? call(method, path + what, { headers: fatou }) : call(method, path, { body: what, headers: fatou }));
    const [one, other] = [await as(theirs), await as(unknown)];
    assert.deepEqual([one.status, one.text], [404, other.text], path);
  }
}

async function signingOutEndsEverySession() {
  const headers = await signIn("paul");
  const tokens = [];
  for (let tab = 0; tab < 2; tab += 1) tokens.push((await call("POST", "/guichet/session", { headers })).body.session_token);
  const validate = (token) => call("POST", "/v1/sessions/validate", { headers: { authorization: `Bearer ${token}` }, from: ready.base_url });
  for (const token of tokens) assert.equal((await validate(token)).status, 200);
  assert.equal((await call("POST", "/api/sign-out", { body: {}, headers })).status, 204);
  for (const token of tokens) assert.equal((await validate(token)).body.data.reason, "revoked");
  assert.equal((await call("POST", "/guichet/session", { headers })).status, 401);
}

async function aCustomerHasAtMost20OpenPayments() {
  const headers = await signIn("fatou");
  const orders = [];
  for (let quantity = 1; quantity <= 22; quantity += 1) {
    orders.push((await call("POST", "/api/orders", { body: { lines: [{ sku: "boots", quantity }] }, headers })).body);
  }
  const begun = await Promise.all(orders.map(({ id }) => call("POST", "/guichet/intents", { body: { id }, headers })));
  const [open, refused] = [200, 409].map((status) => begun.filter((reply) => reply.status === status));
  assert.deepEqual([open.length, refused.length], [20, 2]);
  for (const { body } of refused) assert.deepEqual([body.error.code, body.error.retryable], ["too_many_open_payments", false]);
  const place = begun.indexOf(open[0]);
  assert.equal((await pay(headers, orders[place])).intent.id, open[0].body.intent.id, "a repeated create is not refused");
  assert.equal((await begin(await signIn("awa"), "boots")).intent.status, "requires_action", "another customer's do not count");
}

/** A shop at a service that has one reply for all payments. */
function shopAt(service) {
  const orders = new Orders();
  const created = new Map();
  const { fetch: respond, settle } = createShop({
    baseUrl: "http://127.0.0.1:1",
    secretKey: KEY,
    customer: ({ headers }) => ({ id: headers.get("customer") }),
    purchase: ({ id }, customer) => purchaseOf(orders.toPay(id, CUSTOMERS.find((one) => one.id === customer.id)), "http://127.0.0.1/return"),
    orders: new Payments(orders),
    fetch: async (url, { method, body }) => {
      const sold = body && JSON.parse(body);
      const known = [...created].find(([, { merchant_reference }]) => merchant_reference === sold?.merchant_reference);
      const id = method === "GET" ? url.split("/").pop() : (known?.[0] ?? `pi_${created.size + 1}`);
      if (sold) created.set(id, sold);
      const data = { ...created.get(id), status: "requires_action", attempts: 0, customer: { email: created.get(id).email }, id, payment_ref: id };
      return Response.json({ data: { ...data, ...(method === "GET" && (await service(id))) } });
    },
  });
  const send = async (customer, path, body) => {
    const init = { method: body ? "POST" : "GET", body: body && JSON.stringify(body), headers: { "content-type": "application/json", customer: customer.id } };
    const response = await respond(new Request(`http://127.0.0.1/guichet/intents${path}`, init));
    assert.equal(response.status, 200, path);
    return response.json();
  };
  const place = (customer, quantity) => orders.place(customer, [{ sku: "boots", quantity }], "en");
  return { created, place, settle, pay: ({ id, customer }) => send(customer, "", { id }), read: (id, customer) => send(customer, `/${id}`) };
}

async function eachCustomersFirstPaymentIsReadFirstAnd8AtATime() {
  const [reads, waiting] = [[], []];
  let isHeld = true;
  const shop = shopAt((id) => new Promise((resolve) => (reads.push(id), isHeld ? waiting.push(() => resolve({})) : resolve({}))));
  const [awa, paul] = CUSTOMERS;
  await shop.pay(shop.place(paul, 1));
  for (let quantity = 1; quantity <= 20; quantity += 1) await shop.pay(shop.place(awa, quantity));
  const read = shop.read("pi_5", awa);
  await pause(50);
  const round = shop.settle();
  await pause(200);
  assert.deepEqual([reads.slice(0, 3), reads.length], [["pi_5", "pi_5", "pi_1"], 9], "the page's own, and 8 of the round");
  waiting.splice(0, 4).forEach((answer) => answer());
  await pause(200);
  assert.equal(reads.length, 12, "8 wait again");
  isHeld = false;
  waiting.forEach((answer) => answer());
  await read;
  assert.deepEqual(await round, { read: 21, failed: [] });
}

async function theNextReferenceHasTodaysPrice() {
  const shop = shopAt(async () => ({ status: "failed" }));
  const [awa] = CUSTOMERS;
  const order = shop.place(awa, 2);
  const boots = PRODUCTS.find(({ sku }) => sku === "boots");
  await shop.pay(order);
  boots.price += 1_000;
  await shop.pay(order);
  await shop.read("pi_1", awa);
  await shop.pay(order);
  const sold = [...shop.created.values()].map(({ merchant_reference, amount }) => [merchant_reference.split(".")[1], amount]);
  assert.deepEqual(sold, [[undefined, "144000"], ["1", "146000"]]);
  boots.price -= 1_000;
}

async function anOrderThatALaterSuccessHasPaidIsNotSoldAgain() {
  const statuses = { pi_1: "failed" };
  const shop = shopAt(async (id) => ({ status: statuses[id], amount_payable: "73440" }));
  const [awa] = CUSTOMERS;
  const order = shop.place(awa, 1);
  const boots = PRODUCTS.find(({ sku }) => sku === "boots");
  await shop.pay(order);
  const sent = shop.created.get("pi_1");
  await shop.read("pi_1", awa);
  boots.price += 1_000;
  assert.equal((await shop.pay(order)).intent.id, "pi_2");
  statuses.pi_1 = "succeeded";
  await shop.read("pi_1", awa);
  assert.equal((await shop.pay(order)).intent.id, "pi_1", "the payment that paid it, and not the open one");
  assert.deepEqual([order.status, shop.created.get("pi_1")], ["paid", sent]);
  // What is due is what was paid: the fee is a part of it.
  statuses.pi_2 = "succeeded";
  await shop.read("pi_2", awa);
  assert.deepEqual([...order.refundsDue.values()], [{ amount: "73440", currency: "XAF" }]);
  boots.price -= 1_000;
}

async function duplicatesWithoutANumberAreRecordedOnceEach() {
  const duplicate = { amount: "72000", currency: "XAF" };
  const shop = shopAt(async () => ({ status: "succeeded", attempts: 3, duplicate_payments: [duplicate, { ...duplicate, attempt: 2 }, duplicate] }));
  const order = shop.place(CUSTOMERS[0], 1);
  await shop.pay(order);
  for (let read = 0; read < 3; read += 1) await shop.read("pi_1", CUSTOMERS[0]);
  const attempts = [4294967295, 2, 4294967293].map((attempt) => `pi_1, attempt ${attempt}`);
  assert.deepEqual([...order.refundsDue.keys()], attempts);
}

async function itEndsAtOnce() {
  // Open connections of a browser do not hold it.
  await fetch(ready.shop_url).then((response) => response.text());
  const begun = performance.now();
  assert.equal(await stop("SIGINT"), 0);
  assert.ok(performance.now() - begun < 10_000, "it takes long to end");
}

async function whatItRefuses() {
  const other = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  const taken = `127.0.0.1:${other.address().port}`;
  const [shop, sandbox] = [["--listen", "127.0.0.1:0"], ["--sandbox-listen", "127.0.0.1:0"]];
  for (const [args, code, message] of [
    [["--listen", taken, ...sandbox], 1, `Another program already listens on ${taken}. Stop it, or give another port with --listen.`],
    [["--sandbox-listen", taken, ...shop], 1, `Another program already listens on ${taken}. Stop it, or give another port with --sandbox-listen.`],
    [["--listen", "0.0.0.0:4242"], 1, "0.0.0.0:4242 is not a loopback address, and the demo serves this machine only. Give one: --listen 127.0.0.1:4242."],
    [["--sandbox-listen", "4343"], 2, "invalid value '4343' for '--sandbox-listen <ADDRESS>'"],
    [["--database", "memory:"], 2, "Unknown option '--database'. --help lists the options."],
    [["--lisen"], 2, "Unknown option '--lisen'. --help lists the options."],
  ]) {
    const { status, stdout, stderr } = spawnSync(COMMAND, ["demo", ...args], { env, encoding: "utf8", timeout: 20_000 });
    assert.deepEqual([status, stdout], [code, ""], `${args}: ${stderr}`);
    assert.ok(stderr.startsWith("guichet-sandbox: ") && stderr.includes(message), `${args}: ${stderr}`);
  }
  const { status, stdout } = spawnSync(COMMAND, ["demo", "--help"], { encoding: "utf8" });
  assert.equal(status, 0);
  assert.match(stdout, /--sandbox-listen/);
  other.close();
}
