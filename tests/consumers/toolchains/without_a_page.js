// Every call outside a browser: in Node.js, Deno or Bun, and in jsdom as test runners set it up. Calls that need no page work with
// the caller's `fetch`. Calls that need one reject with an error that says so, instead of a ReferenceError or a promise that
// never settles.
// `JSDOM` is the folder in which jsdom is installed. Without it, jsdom is left out.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { createGuichet, GuichetError } from "guichet";
import { openHostedCheckout } from "guichet/hosted";

const baseUrl = "https://api.example.com";
const methods = [{ id: "svc_mobile_money", name: "Mobile money", active: true, supported_countries: ["CM"] }];
const fee = { amount: 5000, currency: "XAF", fee: 100, total_payable: 5100 };
const unpaid = {
  id: "pi_1",
  status: "requires_action",
  amount: "5000",
  currency: "XAF",
  attempts: 0,
  checkout_url: `${baseUrl}/checkout/pi_1`,
  redirect_url: "https://shop.example.com/",
  next_action: { type: "redirect", url: "https://bank.example.com/" },
};
const json = (status, body) => new Response(JSON.stringify(body), { status });

await tryAll("no page");
if (!process.env.JSDOM) process.exit();
const { JSDOM } = createRequire(`${process.env.JSDOM}/`)("jsdom");
const { window } = new JSDOM("<!doctype html>", { url: "https://shop.example.com/" });
for (const name of ["window", "document", "navigator", "location", "history", "sessionStorage", "localStorage"]) {
  Object.defineProperty(globalThis, name, { value: name === "window" ? window : window[name], configurable: true });
}
for (const name of ["open", "addEventListener", "removeEventListener"]) globalThis[name] = window[name].bind(window);
await tryAll("jsdom");
process.exit(0); // jsdom keeps the process alive

async function tryAll(where) {
  try {
    await aShopsPage();
    await aShopsPageWhoseServerHasRoutes();
    await amountsAreWrittenAsTheyWereSent();
    await callsThatFail();
    await theHostedPage();
  } catch (e) {
    e.message = `${where}: ${e.message}`;
    throw e;
  }
}

async function aShopsPage() {
  const requests = [];
  const fetch = async (url, { method }) => {
    const path = url.slice(baseUrl.length).replace(/\?.*/, "");
    requests.push(`${method} ${path}`);
    if (path.includes("/fee/")) return json(200, { data: fee });
    if (path.endsWith("/validate")) return json(200, { data: { valid: true } });
    if (path.endsWith("/revoke")) return json(200, { data: { revoked: true } });
    return json(200, { data: path.includes("/payment-intents/") ? { ...unpaid, status: "succeeded" } : methods });
  };
  const intents = [];
  const merchant = {
    session: async () => ({ session_token: "cst_test_1", customer_email: "awa@example.com" }),
    intent: async (order) => (intents.push(order), { intent: unpaid, return_nonce: "0123456789012345678901" }),
  };
  const guichet = createGuichet({ baseUrl, merchant, fetch });
  const states = [];
  const unsubscribe = guichet.session.subscribe((state) => states.push(state));

  await guichet.ready();
  assert.deepEqual(requests, []);
  assert.deepEqual(await guichet.session.validate(), { valid: true });
  assert.deepEqual([guichet.session.state, guichet.session.email], ["active", "awa@example.com"]);
  assert.deepEqual(await guichet.paymentMethods({ country_code: "CM" }), methods);
  assert.deepEqual(await guichet.fee({ payment_method: "mobile_money", currency: "XAF", amount: "5000" }), fee);
  const [quote] = await guichet.quotes({ amount: "5000", currency: "XAF", fee_bearer: "customer" });
  assert.deepEqual([quote.customer_pays, quote.merchant_gets, quote.error], ["5100", "5000", undefined]);
  assert.equal(await guichet.returned(), null);
  assert.equal((await guichet.waitForOutcome({ id: "pi_1" })).state, "succeeded");
  await guichet.session.renew();
  await guichet.session.revoke();
  assert.equal(guichet.session.state, "revoked");
  assert.equal(await kind(guichet.paymentMethods()), "signed_out");
  unsubscribe();
  assert.deepEqual(states, ["active", "revoked"]);
  assert.deepEqual([...new Set(requests)].sort(), [
    "GET /v1/payment-intents/pi_1",
    "GET /v1/payment-methods",
    "GET /v1/payment-methods/fee/mobile_money/XAF/5000",
    "POST /v1/sessions/revoke",
    "POST /v1/sessions/validate",
  ]);
  for (const mode of ["redirect", "popup"]) await needsAPage(() => guichet.checkout({ order: 1 }, { mode }));
  assert.deepEqual(intents, [], "an intent was created for a checkout that is not possible");
}

async function aShopsPageWhoseServerHasRoutes() {
  const requests = [];
  const fetch = async (url, { method }) => {
    requests.push(`${method} ${url}`);
    if (url.endsWith("/session")) return json(201, { session_token: "cst_test_1" });
    return json(200, url.includes("/intents/") ? { status: "failed" } : { data: methods });
  };
  const guichet = createGuichet({ baseUrl, merchant: "https://shop.example.com/guichet", fetch });
  assert.equal((await guichet.paymentMethods()).length, 1);
  assert.equal((await guichet.waitForOutcome({ payment_ref: "gch_1" })).state, "failed");
  assert.deepEqual(requests, [
    "POST https://shop.example.com/guichet/session",
    `GET ${baseUrl}/v1/payment-methods`,
    "GET https://shop.example.com/guichet/intents/gch_1",
  ]);
}

// The wasm of the package has passed through every step that makes it smaller.
async function amountsAreWrittenAsTheyWereSent() {
  for (const [amount, fee, total, pays, gets] of [
    ["5000", 100, 5100, "5100", "4900"],
    ["5000", "145.10", "5145.10", "5145.10", "4854.9"],
    ["5000", "0.05", "5000.050", "5000.050", "4999.95"],
    ["1", "-0.50", "0.5", "0.5", undefined],
    ["999999999999999", "18446744073709551615.000000000000000001", "18446744073709551615", "18446744073709551615", undefined],
  ]) {
    const fetch = async (url) => json(200, { data: url.includes("/fee/") ? { fee, total_payable: total } : methods });
    const guichet = createGuichet({ baseUrl, publicReads: "anonymous", fetch });
    const price = async (fee_bearer) => (await guichet.quotes({ amount, currency: "XAF", fee_bearer }))[0];
    const [customer, merchant] = [await price("customer"), await price("merchant")];
    assert.deepEqual([customer.amount, customer.fee, customer.customer_pays], [amount, String(fee), pays]);
    assert.deepEqual([merchant.customer_pays, merchant.merchant_gets], [amount, gets]);
  }
}

async function callsThatFail() {
  const failing = (fetch) => createGuichet({ baseUrl, publicReads: "anonymous", fetch }).paymentMethods({}, { timeoutMs: 300 });
  assert.equal(await kind(failing(async () => Promise.reject("lost"))), "offline");
  assert.equal(await kind(failing(() => new Promise(() => {}))), "timeout");
  assert.equal(await kind(failing(async () => json(422, { error: { code: "parameter_invalid" } }))), "refused");
  assert.equal(await kind(failing(async () => new Response("<h1>Log in</h1>"))), "unreadable");
  const signal = AbortSignal.timeout(20);
  const hangs = createGuichet({ baseUrl, publicReads: "anonymous", fetch: () => new Promise(() => {}) });
  assert.equal(await hangs.paymentMethods({}, { signal }).catch((e) => e), signal.reason);
}

async function theHostedPage() {
  let intent = unpaid;
  const fetch = async (url, { method }) => {
    if (url.includes("/fee/")) return json(200, { data: fee });
    if (url.includes("/payment-methods")) return json(200, { data: methods });
    if (method === "POST") {
      const last = new URL(url).pathname.split("/").at(-1);
      const next = { "payment-method": { next_action: { type: "otp" } }, answer: { status: "processing" }, cancel: { status: "canceled" } };
      intent = { ...intent, attempts: 1, next_action: null, ...next[last] };
    } else if (intent.status === "processing") {
      intent = { ...intent, status: "succeeded" };
    }
    return json(200, { data: intent });
  };
  const open = () => openHostedCheckout({ baseUrl, intent: { id: "pi_1", client_secret: "s" }, fetch });
  const page = await open();
  assert.equal(page.intent.status, "requires_action");
  await needsAPage(async () => page.leave());
  await needsAPage(async () => page.proceed());
  assert.equal((await page.quotes())[0].fee, "100");
  assert.equal((await page.pay({ type: "mobile_money", phone: "+237 670 00 00 00" })).next_action.type, "otp");
  const statuses = [];
  assert.equal((await page.answer("123456", { onStatus: ({ status }) => statuses.push(status) })).status, "succeeded");
  assert.deepEqual(statuses.at(-1), "succeeded");
  assert.equal((await page.refresh()).status, "succeeded");
  assert.equal((await page.wait()).status, "succeeded");
  intent = unpaid;
  assert.equal((await (await open()).cancel()).status, "canceled");
}

/** What a call rejects with. */
async function kind(call) {
  const e = await call.then((value) => assert.fail(`it resolves with ${JSON.stringify(value)}`), (e) => e);
  assert.ok(GuichetError.is(e), String(e?.stack ?? e));
  return e.kind;
}

async function needsAPage(work) {
  const never = new Promise((resolve) => setTimeout(resolve, 30_000, "never settles"));
  const found = await Promise.race([work().then(() => "resolves", (e) => e), never]);
  assert.ok(GuichetError.is(found) && found.kind === "unsupported", String(found?.stack ?? found));
  assert.match(found.message, /needs a browser's page/);
}
