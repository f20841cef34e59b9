// `guichet-sandbox demo` as its users run it: the shop's server over HTTP, without its pages.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createServer, request } from "node:http";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { CUSTOMERS, PRODUCTS } from "./node_modules/guichet-sandbox/demo/catalogue.js";
import { nameOf, Orders, publicOrder, purchaseOf } from "./node_modules/guichet-sandbox/demo/orders.js";
import { memoryOrders } from "./node_modules/guichet-sandbox/server/orders.js";
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
await anOrderOfWhatIsNoLongerSoldHasEnded();
await duplicatesWithoutANumberAreRecordedOnceEach();
await whatTheLedgerSaysIsStoredOnceAndInOrder();
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
  assert.deepEqual(Object.keys(ready).sort(), ["base_url", "control_token", "control_url", "inspector_url", "shop_url"]);
  for (const path of ["/", "/return?payment_intent=pi_1", "/assets/shop.js", "/assets/package/words.js", "/assets/pictures/boots.svg"]) {
    const { status, headers } = await call("GET", path);
    assert.equal(status, 200, path);
    assert.match(headers["content-security-policy"], /^default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' http:\/\/127\.0\.0\.1:\d+; /);
    assert.equal(headers["x-content-type-options"], "nosniff");
  }
  for (const path of ["/subscriptions", "/assets/../orders.js", "/assets/%2e%2e/orders.js", "/assets/", "/package.json", "/api/none"]) {
    assert.equal((await call("GET", path)).status, 404, path);
  }
  const { text: texts } = await call("GET", "/assets/texts.js");
  for (const status of ["unpaid", "paid", "paid_other_sum", "paid_after_end"]) {
    assert.equal(texts.match(new RegExp(`^ +${status}(_text)?: "`, "gm"))?.length, 4, `an order that is ${status}, in two languages`);
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
  // The ledger asks the service for its time by what it may read at any time.
  const { requests } = (await call("GET", "/sandbox/requests", control)).body;
  assert.deepEqual(requests.filter(({ operation }) => operation !== "list_payment_methods"), [], "no request has reached the service");
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
  assert.equal(log().split(`ORDER-${order.id} is paid.`).length, 2, log());
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
  const declined = await orderOf(headers, order);
  assert.deepEqual([declined.status, declined.payment_ref], ["unpaid", intent.payment_ref]);
  const { intent: next } = await pay(headers, order);
  assert.equal(next.merchant_reference, `ORDER-${order.id}-1`);
  await attach(next, PAYS);
  assert.equal((await untilOrderIs("paid", headers, order)).payment_ref, next.payment_ref);
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

/** A shop at a service that answers each reading with what `service` says of a payment, and cancels one of which it says "canceled". */
function shopAt(service) {
  const [orders, ledger, created] = [new Orders(), memoryOrders(), new Map()];
  let late = 0;
  const { fetch: respond, order: shown, settle } = createShop({
    baseUrl: "http://127.0.0.1:1",
    secretKey: "sk_live_1", // of no test environment, where the service is also asked for its time
    customer: ({ headers }) => ({ id: headers.get("customer") }),
    purchase({ id }, { id: customer }) {
      const order = orders.require(id, CUSTOMERS.find((one) => one.id === customer));
      return purchaseOf(order, "http://127.0.0.1/return");
    },
    orderChanged: (changed) => orders.change(changed),
    orders: { ...ledger, now: async () => (await ledger.now()) + late },
    fetch: async (url, { method, body }) => {
      const [, named, verb] = /payment-intents(?:\/(\w+))?(?:\/(\w+))?$/.exec(url);
      const sold = !named && JSON.parse(body);
      const known = [...created].find(([, { merchant_reference }]) => merchant_reference === sold?.merchant_reference);
      const id = named ?? known?.[0] ?? `pi_${created.size + 1}`;
      if (sold && !known) created.set(id, sold);
      const changes = method === "GET" || verb === "cancel" ? await service(id) : {};
      if (verb === "cancel" && changes.status !== "canceled") return Response.json({ error: { code: "not_cancelable" } }, { status: 409 });
      const data = { status: "requires_action", attempts: 0, checkout_url: `http://127.0.0.1:1/checkout/${id}`, id, payment_ref: id };
      return Response.json({ data: { ...created.get(id), ...data, ...changes } });
    },
  });
  const send = async (customer, path, body) => {
    const init = { method: body ? "POST" : "GET", body: body && JSON.stringify(body), headers: { "content-type": "application/json", customer: customer.id } };
    const response = await respond(new Request(`http://127.0.0.1/guichet/intents${path}`, init));
    const reply = await response.json();
    return { ...reply, status: response.status === 200 ? reply.status : response.status };
  };
  return {
    created,
    settle,
    place: (customer, quantity) => orders.place(customer, [{ sku: "boots", quantity }], "en"),
    pay: ({ id, customer }) => send(customer, "", { id }),
    read: (id, customer) => send(customer, `/${id}`),
    shown: async (order) => publicOrder(order, await shown(nameOf(order))),
    later: (seconds) => (late += seconds),
  };
}

/** What a test writes to the console. */
async function logOf(test) {
  const [write, lines] = [console.error, []];
  console.error = (line) => lines.push(line);
  await test().finally(() => (console.error = write));
  return lines;
}

async function eachCustomersFirstPaymentIsReadFirstAnd8AtATime() {
  const [reads, waiting] = [[], []];
  let isHeld = true;
  const shop = shopAt((id) => new Promise((resolve) => (reads.push(id), isHeld ? waiting.push(() => resolve({})) : resolve({}))));
  const [awa, paul] = CUSTOMERS;
  await shop.pay(shop.place(paul, 1));
  for (let quantity = 1; quantity <= 20; quantity += 1) await shop.pay(shop.place(awa, quantity));
  shop.later(10);
  const read = shop.read("pi_5", awa);
  await pause(50);
  const round = shop.settle();
  await pause(200);
  assert.deepEqual([reads.slice(0, 3), reads.length], [["pi_5", "pi_5", "pi_1"], 9], "the page's own, and 8 of the round");
  isHeld = false;
  waiting.forEach((answer) => answer());
  await read;
  const { read: first, due, failed } = await round;
  assert.deepEqual([first, due, failed, reads.length], [8, 21, [], 9]);
  for (const left of [8, 5, 0]) assert.equal((await shop.settle()).read, left);
  assert.equal(new Set(reads).size, 21);
}

async function theNextReferenceHasTodaysPrice() {
  const statuses = {};
  const shop = shopAt(async (id) => ({ status: statuses[id] ?? "requires_action" }));
  const [awa] = CUSTOMERS;
  const order = shop.place(awa, 2);
  const boots = PRODUCTS.find(({ sku }) => sku === "boots");
  await shop.pay(order);
  boots.price += 1_000;
  assert.equal(shop.place(awa, 2), order, "the same basket is the same order");
  // The service does not cancel what is being paid: that keeps its price, and its page shows it.
  const lines = await logOf(async () => assert.equal((await shop.pay(order)).intent.id, "pi_1"));
  assert.ok(lines.some((line) => line.includes("price")), String(lines));
  const { total, lines: shown } = await shop.shown(order);
  assert.deepEqual([total, shown.map(({ price }) => price)], ["144000", ["73000"]]);
  statuses.pi_1 = "failed";
  await shop.read("pi_1", awa);
  assert.equal((await shop.pay(order)).intent.id, "pi_2");
  // One that it cancels is not paid any more.
  boots.price += 1_000;
  statuses.pi_2 = "canceled";
  await logOf(async () => assert.equal((await shop.pay(order)).intent.id, "pi_3"));
  const sold = [...shop.created.values()].map(({ merchant_reference, amount }) => [merchant_reference.split("-")[2], amount]);
  assert.deepEqual(sold, [[undefined, "144000"], ["1", "146000"], ["2", "148000"]]);
  assert.deepEqual([order.status, (await shop.shown(order)).total], ["unpaid", "148000"]);
  boots.price -= 2_000;
}

async function anOrderThatALaterSuccessHasPaidIsNotSoldAgain() {
  const statuses = { pi_1: "failed" };
  const shop = shopAt(async (id) => ({ status: statuses[id] ?? "requires_action", amount_payable: "73440" }));
  const [awa] = CUSTOMERS;
  const order = shop.place(awa, 1);
  const boots = PRODUCTS.find(({ sku }) => sku === "boots");
  await shop.pay(order);
  await shop.read("pi_1", awa);
  boots.price += 1_000;
  assert.equal((await shop.pay(order)).intent.id, "pi_2");
  statuses.pi_1 = "succeeded";
  // It costs more by now: nothing is shipped, and a person decides.
  const decides = await logOf(() => shop.read("pi_1", awa));
  const sums = `72000 XAF was paid (ORDER-${order.id}), and it costs 73000 XAF`;
  assert.deepEqual(decides, [`ORDER-${order.id}: ${sums}. Nothing is shipped; a person decides.`]);
  assert.equal((await shop.pay(order)).intent.id, "pi_1", "the payment that paid it, and not the open one");
  const shown = await shop.shown(order);
  assert.deepEqual([shown.status, shown.total, shown.payment_ref], ["paid_other_sum", "72000", "pi_1"]);
  assert.notEqual(shop.place(awa, 1), order, "the next basket is a new order");
  // What is due is what was paid: the fee is a part of it.
  statuses.pi_2 = "succeeded";
  const due = await logOf(async () => {
    for (let read = 0; read < 2; read += 1) await shop.read("pi_2", awa);
  });
  assert.deepEqual(due, [`ORDER-${order.id}: a refund of 73440 XAF is due (pi_2).`]);
  assert.deepEqual((await shop.shown(order)).refunds_due, [{ id: "pi_2", amount: "73440", currency: "XAF" }]);
  boots.price -= 1_000;
}

async function anOrderOfWhatIsNoLongerSoldHasEnded() {
  const statuses = { pi_1: "succeeded" };
  const shop = shopAt(async (id) => ({ status: statuses[id] ?? "requires_action" }));
  const [awa] = CUSTOMERS;
  const [paid, open] = [shop.place(awa, 1), shop.place(awa, 2)];
  await shop.pay(paid);
  await shop.pay(open);
  await logOf(() => shop.read("pi_1", awa));
  const at = PRODUCTS.findIndex(({ sku }) => sku === "boots");
  const [boots] = PRODUCTS.splice(at, 1);
  const { status, error } = await shop.pay(open);
  assert.deepEqual([status, error.code], [409, "order_ended"]);
  assert.equal((await shop.pay(paid)).intent.id, "pi_1", "a paid order leads to what was paid");
  const shown = await shop.shown(open);
  assert.deepEqual([shown.total, shown.lines.map(({ price }) => price)], ["144000", ["72000"]]);
  PRODUCTS.splice(at, 0, boots);
}

async function duplicatesWithoutANumberAreRecordedOnceEach() {
  const duplicate = { amount: "72000", currency: "XAF" };
  const shop = shopAt(async () => ({ status: "succeeded", attempts: 3, duplicate_payments: [duplicate, { ...duplicate, attempt: 2 }, duplicate] }));
  const order = shop.place(CUSTOMERS[0], 1);
  await shop.pay(order);
  const lines = await logOf(async () => {
    for (let read = 0; read < 3; read += 1) await shop.read("pi_1", CUSTOMERS[0]);
  });
  const due = (attempt) => `ORDER-${order.id}: a refund of 72000 XAF is due (pi_1, attempt ${attempt}).`;
  assert.deepEqual(lines, [`ORDER-${order.id} is paid.`, ...[4294967295, 2, 4294967293].map(due)]);
  assert.equal((await shop.shown(order)).refunds_due.length, 3);
}

async function whatTheLedgerSaysIsStoredOnceAndInOrder() {
  const orders = new Orders();
  const order = orders.place(CUSTOMERS[0], [{ sku: "boots", quantity: 1 }], "en");
  const whole = { id: "pi_2", amount: "72000", currency: "XAF", plus_fee: true };
  const attempt = { id: "pi_1", attempt: "2", amount: "73440", currency: "XAF" };
  const lines = await logOf(async () => {
    for (const [version, state, refunds_due, status] of [
      [5, "paid", [], "paid"],
      [4, "unpaid", [attempt], "paid"],
      [5, "unpaid", [], "paid"],
      [6, "paid", [whole], "paid"],
      [7, "paid", [attempt, whole], "paid"],
    ]) {
      orders.change({ name: nameOf(order), version, state, refunds_due });
      assert.equal(order.status, status);
    }
    orders.change({ name: "ORDER-0", version: 1, state: "paid", refunds_due: [] }); // an order that the shop does not have
  });
  const due = ["72000 XAF and the fee is due (pi_2)", "73440 XAF is due (pi_1, attempt 2)"].map((what) => `${nameOf(order)}: a refund of ${what}.`);
  assert.deepEqual(lines, [`${nameOf(order)} is paid.`, ...due]);
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
