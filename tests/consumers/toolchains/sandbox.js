// The package `guichet-sandbox` as its users get it: the whole service in this process, in Node.js and in jsdom.
// `JSDOM` is the folder in which jsdom is installed.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { setTimeout as wait } from "node:timers/promises";
import { inspect } from "node:util";
import { createGuichet } from "guichet";
import { createSandbox } from "guichet-sandbox";

const begun = performance.now();
const sandbox = await createSandbox(); // in this process, in memory
const started = Math.round(performance.now() - begun);
await aTestOfAShop();
await faults();
await aFetch();
await theFrontPage();
await bodiesThatAreStreams();
await abortsAndCloses();
await fakedTimers();
await theHostedPage();
await optionsAndErrors();
await severalSandboxes();
aProcessThatEnds();
await inJsdom();
const perSecond = await creationsPerSecond();
console.log(JSON.stringify({ started, perSecond }));
await sandbox.close();
process.exit(0); // jsdom keeps the process alive

/** What a merchant's server does. */
function server(of, { secretKey }) {
  const send = async (method, path, body) => {
    const headers = { authorization: `Bearer ${secretKey}`, "content-type": "application/json" };
    const response = await of.fetch(`${of.baseUrl}/v1${path}`, { method, headers, body: JSON.stringify(body) });
    const { data, message } = await response.json();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${message}`);
    return data;
  };
  const customer = { firstname: "Awa", lastname: "Ngono", email: "awa@example.com" };
  const create = (merchant_reference) =>
    send("POST", "/payment-intents", { ...customer, merchant_reference, amount: "5000", description: "Shoes" });
  return { send, create };
}

async function aTestOfAShop() {
  const shop = await sandbox.merchant();
  const { send, create } = server(sandbox, shop);
  const headers = { authorization: `Bearer ${shop.secretKey}` };
  const response = await sandbox.fetch(new Request(`${sandbox.baseUrl}/v1/payment-methods`, { headers }));
  assert.equal(response.status, 200);
  assert.match(response.headers.get("request-id"), /^req_/);
  assert.equal((await response.json()).data[0].id, "svc_mobile_money");

  const merchant = {
    session: () => send("POST", "/sessions/create", { customer_email: "awa@example.com" }),
    intent: async (order) => ({ intent: await create(`ORDER-${order.id}`) }),
    status: ({ id }) => send("GET", `/payment-intents/${id}`),
  };
  const guichet = createGuichet({ baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, merchant });
  assert.equal((await guichet.session.validate()).customer_email, "awa@example.com");
  assert.equal((await guichet.paymentMethods({ country_code: "CM" })).length, 2);
  const quotes = await guichet.quotes({ amount: "5000", currency: "XAF", fee_bearer: "customer" });
  assert.deepEqual(quotes.map(({ customer_pays }) => Number(customer_pays) > 5000), [true, true, true]);

  // A purchase, and a subscription that is charged on the merchant's clock.
  const { id } = await create("ORDER-1");
  const phone = { payment_method: { type: "mobile_money", phone: "237670000000" } };
  await send("POST", `/payment-intents/${id}/payment-method`, phone);
  assert.ok((await shop.clock.now()) instanceof Date);
  await shop.clock.advance("1m");
  assert.equal((await guichet.waitForOutcome({ id })).state, "succeeded");
  await send("POST", "/subscriptions/plans", { name: "Box", code: "box", amount: 2000, billing_cycle: "monthly" });
  await send("POST", "/subscriptions", { plan: "box", customer_email: "awa@example.com", firstname: "Awa", lastname: "Ngono", ...phone });
  await shop.clock.advance(60);
  const before = await shop.clock.now();
  const after = await shop.clock.advance("31d");
  assert.ok(Math.abs(after - before - 31 * 86_400_000) <= 2000, `${before.toISOString()} to ${after.toISOString()}`);
  const types = (await shop.events()).map(({ type }) => type);
  for (const type of ["payment_intent.succeeded", "subscription.created", "subscription.renewed"]) assert.ok(types.includes(type), `${types}`);

  const requests = await shop.requests();
  assert.deepEqual(requests.find(({ operation }) => operation === "create_payment_intent"), {
    ...requests.find(({ operation }) => operation === "create_payment_intent"),
    method: "POST", path: "/v1/payment-intents", intent: null, credential: "secret_key", status: 201, fault: null,
  });
  await shop.reset();
  assert.deepEqual([await shop.events(), await shop.requests()], [[], []]);
  const [reset, now] = [await shop.clock.now(), Date.now()];
  assert.ok(Math.abs(reset - now) <= 3000, "the clock shows the sandbox's time again");
  await create("ORDER-1");
  await sandbox.reset();
  assert.deepEqual(await shop.events(), []);
}

async function faults() {
  const shop = await sandbox.merchant({ name: "Faults" });
  const { create } = server(sandbox, shop);
  const operation = "create_payment_intent";
  const stored = async () => (await shop.events()).length;

  for (const [kind, isStored] of [["drop", false], ["lost_response", true]]) {
    const before = await stored();
    await shop.faults.set({ operation, kind, count: 1 });
    const error = await create(`FAULT-${kind}`).catch((e) => e);
    assert.ok(error instanceof TypeError && error.message === "fetch failed" && error.cause instanceof Error, inspect(error));
    assert.equal((await stored()) > before, isStored, kind);
    await create(`FAULT-${kind}`);
  }

  await shop.faults.set({ operation: "list_payment_methods", kind: "truncate" });
  const headers = { authorization: `Bearer ${shop.secretKey}` };
  const broken = await sandbox.fetch(`${sandbox.baseUrl}/v1/payment-methods`, { headers });
  assert.equal(broken.status, 200);
  const reader = broken.body.getReader();
  const { value } = await reader.read();
  assert.equal(value.length, Number(broken.headers.get("content-length")) >> 1);
  await assert.rejects(reader.read(), { name: "TypeError", message: "terminated" });

  await shop.faults.set({ operation, kind: "delay", milliseconds: 150 });
  const begun = performance.now();
  await create("FAULT-delay");
  assert.ok(performance.now() - begun >= 149, "a delay is real");

  // An abort ends a delay, and the call is not executed.
  const before = await stored();
  await shop.faults.set({ operation, kind: "delay", milliseconds: 600_000 });
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error("the customer left")), 30);
  const init = { method: "POST", headers: { ...headers, "content-type": "application/json" }, body: "{}", signal: controller.signal };
  await assert.rejects(sandbox.fetch(`${sandbox.baseUrl}/v1/payment-intents`, init), { message: "the customer left" });
  await assert.rejects(sandbox.fetch(`${sandbox.baseUrl}/v1/payment-intents`, init), { message: "the customer left" });
  assert.deepEqual([await shop.faults.list(), await stored()], [[], before]);

  const waiting = await shop.faults.set({ operation, kind: "status", status: 503, retry_after: 7, count: 2 });
  assert.deepEqual(waiting, [{ operation, kind: "status", status: 503, retry_after: 7, count: 2 }]);
  const refused = await sandbox.fetch(`${sandbox.baseUrl}/v1/payment-intents`, { ...init, signal: null });
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "7"]);
  await shop.faults.clear();
  assert.deepEqual(await shop.faults.list(), []);
  await assert.rejects(shop.faults.set({ operation: "create_payment_intend", kind: "drop" }), /faults\.set: .*Did you mean create_payment_intent\?/);
}

async function aFetch() {
  const { fetch, baseUrl } = sandbox;
  assert.equal((await fetch(new URL(`${baseUrl}/v1/nothing`))).status, 404);
  const head = await fetch(`${baseUrl}/v1/payment-methods`, { method: "HEAD", headers: { authorization: `Bearer ${sandbox.secretKey}` } });
  assert.equal(head.status, 200);
  assert.equal(await head.text(), "");
  const description = await fetch(`${baseUrl}/sandbox/openapi.json?a=%20#fragment`);
  assert.deepEqual([description.url, description.statusText], [`${baseUrl}/sandbox/openapi.json?a=%20`, "OK"]);
  assert.equal((await description.json()).openapi, "3.1.0");
  await assert.rejects(fetch("https://api.example.com/v1/payment-methods"), /This sandbox is http:\/\/localhost:4243, and the request is for https:\/\/api\.example\.com/);
  await assert.rejects(fetch("data:text/plain,1"), { name: "TypeError", message: /^This sandbox is http:\/\/localhost:4243, and the request is for a data: address\./ });
  await assert.rejects(fetch("/v1/payment-methods"), TypeError);
  for (const reason of [null, 0, "left"]) assert.equal(await fetch(baseUrl, { signal: AbortSignal.abort(reason) }).catch((e) => e), reason);
  await assert.rejects(fetch(baseUrl, { signal: AbortSignal.abort() }), { name: "AbortError" });
  const large = { method: "POST", headers: { authorization: `Bearer ${sandbox.secretKey}`, "content-type": "application/json" }, body: "x".repeat(65 * 1024) };
  assert.equal((await fetch(`${baseUrl}/v1/payment-intents`, large)).status, 413);
  const control = await fetch(`${baseUrl}/sandbox/clock`, { headers: { authorization: `Bearer ${sandbox.controlToken}` } });
  assert.equal(control.status, 200);
}

async function theFrontPage() {
  const page = await sandbox.fetch(sandbox.baseUrl, { headers: { accept: "text/html", "accept-language": "fr" } });
  assert.equal(page.status, 200);
  const html = await page.text();
  assert.ok(html.includes('<html lang="fr">') && html.includes(`${sandbox.baseUrl}/v1`), html);
  assert.ok(!html.includes(sandbox.secretKey) && !html.includes(sandbox.controlToken), html);
}

/** A body that sends parts of 16 KiB until it is canceled. */
function endless() {
  const sent = { parts: 0, isCanceled: false };
  const body = new ReadableStream({
    pull: (controller) => (sent.parts++, controller.enqueue(new Uint8Array(16 * 1024))),
    cancel: () => void (sent.isCanceled = true),
  });
  return { sent, init: { method: "POST", headers: keyed(sandbox), body, duplex: "half" } };
}

function keyed({ secretKey }) {
  return { authorization: `Bearer ${secretKey}`, "content-type": "application/json" };
}

async function bodiesThatAreStreams() {
  const intents = `${sandbox.baseUrl}/v1/payment-intents`;
  const { sent, init } = endless();
  assert.equal((await sandbox.fetch(intents, init)).status, 413);
  assert.ok(sent.isCanceled && sent.parts < 10, inspect(sent));
  const order = { firstname: "Awa", lastname: "Ngono", email: "awa@example.com", merchant_reference: "STREAM", amount: "5000", description: "Shoes" };
  const text = JSON.stringify(order);
  const halves = [text.slice(0, 30), text.slice(30)].map((half) => new TextEncoder().encode(half));
  for (const body of [text, ReadableStream.from(halves), new Blob([text]), new TextEncoder().encode(text)]) {
    assert.ok((await sandbox.fetch(intents, { ...init, body })).ok);
    assert.ok((await sandbox.fetch(new Request(intents, { ...init, body: body === text ? body : new Blob([text]) }))).ok);
  }
  await assert.rejects(sandbox.fetch(intents, { ...init, body: ReadableStream.from(["text"]) }), { message: "fetch failed" });
}

/** Waits for a promise that must settle within five seconds. */
function soon(promise) {
  const late = wait(5000).then(() => Promise.reject(new Error("it is still waiting")));
  return Promise.race([promise, late]);
}

async function abortsAndCloses() {
  const own = await createSandbox({ publicMethods: true });
  const intents = `${own.baseUrl}/v1/payment-intents`;
  const methods = `${own.baseUrl}/v1/payment-methods`;
  const silent = () => {
    const sent = { isCanceled: false };
    const body = new ReadableStream({ cancel: () => void (sent.isCanceled = true) });
    return { sent, init: { method: "POST", headers: keyed(own), body, duplex: "half" } };
  };

  // While the body is read.
  const left = silent();
  await assert.rejects(soon(own.fetch(intents, { ...left.init, signal: AbortSignal.timeout(20) })), { name: "TimeoutError" });
  assert.ok(left.sent.isCanceled);

  // After the headers: the body ends with the error, unless it was read before.
  const controller = new AbortController();
  const [unread, read] = [await own.fetch(methods, { signal: controller.signal }), await own.fetch(methods, { signal: controller.signal })];
  assert.equal((await read.json()).data.length, 2);
  controller.abort();
  await assert.rejects(unread.json(), { name: "AbortError" });

  // A close ends what waits: a body, a delay, and a call of the control API that comes later.
  const shop = await own.merchant();
  await shop.faults.set({ operation: "create_payment_intent", kind: "delay", milliseconds: 600_000 });
  const { sent, init } = silent();
  const [uploading, delayed] = [init, { method: "POST", headers: keyed(shop), body: "{}" }].map((request) => own.fetch(intents, request).catch((e) => e));
  await wait(20);
  await own.close();
  for (const error of [await soon(uploading), await soon(delayed)]) {
    assert.deepEqual([error.name, error.message, error.cause?.message], ["TypeError", "fetch failed", "The sandbox is closed."]);
  }
  assert.ok(sent.isCanceled);
  await assert.rejects(shop.clock.now(), { message: "clock.now: The sandbox is closed." });

  // `await using`, where the runtime has it.
  if (Symbol.asyncDispose) {
    const other = await createSandbox();
    await other[Symbol.asyncDispose]();
    await assert.rejects(other.fetch(other.baseUrl), { message: "fetch failed" });
  }
}

/** A test runner's fake timers and fake time change neither a delay nor the clock, even if they are there before the import. */
async function fakedTimers() {
  const shop = await sandbox.merchant();
  await shop.faults.set({ operation: "list_payment_methods", kind: "delay", milliseconds: 50 });
  const { setTimeout: real } = globalThis;
  globalThis.setTimeout = () => 0;
  try {
    assert.equal((await soon(sandbox.fetch(`${sandbox.baseUrl}/v1/payment-methods`, { headers: keyed(shop) }))).status, 200);
  } finally {
    globalThis.setTimeout = real;
  }

  const script = `
    Date = class extends Date { static now() { return 0; } };
    globalThis.setTimeout = () => 0;
    const { createSandbox } = await import("guichet-sandbox");
    const sandbox = await createSandbox();
    const shop = await sandbox.merchant();
    await shop.faults.set({ operation: "list_payment_methods", kind: "delay", milliseconds: 50 });
    const headers = { authorization: "Bearer " + shop.secretKey };
    const { status } = await sandbox.fetch(sandbox.baseUrl + "/v1/payment-methods", { headers });
    console.log(status, (await shop.clock.now()).toISOString().slice(0, 4));`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], { timeout: 30_000, encoding: "utf8" });
  assert.deepEqual([stdout.trim(), stderr], [`200 ${new Date().toISOString().slice(0, 4)}`, ""]);
}

async function theHostedPage() {
  const shop = await sandbox.merchant();
  const { checkout_url } = await server(sandbox, shop).create("HOSTED");
  const opened = await sandbox.fetch(checkout_url);
  assert.equal(opened.status, 303);
  const address = new URL(opened.headers.get("location"), sandbox.baseUrl);
  const [cookie] = opened.headers.get("set-cookie").split(";");
  assert.equal((await sandbox.fetch(address)).status, 404);
  const page = await sandbox.fetch(address, { headers: { cookie } });
  assert.equal(page.status, 200);
  assert.match(page.headers.get("content-security-policy"), /^default-src 'none'; script-src 'self' 'sha256-/);
  assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
  const html = await page.text();
  assert.match(html, /<form method="post"/);
  const [, assets] = /src="([^"]+)\/checkout\.js"/.exec(html);
  for (const name of ["checkout.js", "icon.svg", "package/hosted.js", "package/core/guichet_hosted_bg.wasm"]) {
    const href = `${assets}/${name}`;
    const file = await sandbox.fetch(new URL(href, sandbox.baseUrl));
    assert.equal(file.status, 200, href);
    assert.equal(file.headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.ok((await file.arrayBuffer()).byteLength > 100, href);
  }
}

async function optionsAndErrors() {
  const object = "The options must be an object.";
  for (const [options, message] of [
    [{ publicMethod: true }, "Unknown option `publicMethod`. Did you mean `publicMethods`?"],
    [{ database: () => 1 }, /^Unknown option `database`\. The options are: /],
    [{ strict: "yes" }, "Option `strict` must be true or false."],
    [{ strict: 1n }, "Option `strict` must be true or false."],
    [{ baseUrl: "localhost:4243" }, /^Option `baseUrl` must be an origin/],
    [{ allowOrigins: ["shop"] }, /^shop is not an origin\./],
    [{ allowHosts: ["http://sandbox.test"] }, /^"http:\/\/sandbox\.test" is not a host name\. /],
    [{ allowHosts: ["*.test"] }, /^"\*\.test" is not a host name\. /],
    ...["", " ", "x".repeat(101), () => 1, 5].map((merchantName) => [{ merchantName }, "Option `merchantName` must be a text of 1 to 100 characters."]),
    [{ merchantName: "\ud800" }, "`merchantName` is not valid Unicode: it has one half of a surrogate pair."],
    ...[1, null, [], () => 1].map((options) => [options, object]),
  ]) {
    await assert.rejects(createSandbox(options), { name: "TypeError", message }, inspect(options));
  }
  for (const [options, message] of [
    [{ nam: "x" }, "merchant: Unknown option `nam`. The option is `name`."],
    [{ name: "" }, "merchant: name must be a string that is not empty."],
    [{ name: 5 }, "merchant: name must be a string that is not empty."],
    [{ name: "x".repeat(101) }, "merchant: name must have at most 100 characters."],
    [{ name: "\ud800" }, "`name` is not valid Unicode: it has one half of a surrogate pair."],
    ...[null, 5, "x"].map((options) => [options, /^merchant: The options must be an object/]),
  ]) {
    await assert.rejects(sandbox.merchant(options), { name: "TypeError", message }, inspect(options));
  }
  const shop = await sandbox.merchant();
  for (const [length, shown] of [["1w", "'1w'"], [-1, "-1"], [1.5, "1.5"], ["", "''"], [undefined, "undefined"], [NaN, "NaN"], [Infinity, "Infinity"], [5n, "5n"], [[5], "[ 5 ]"]]) {
    const message = `clock.advance: ${shown} is not a length of time. Give one: 90, "90s", "15m", "2h" or "31d".`;
    await assert.rejects(shop.clock.advance(length), { name: "TypeError", message });
  }
  for (const length of [1e21, 4e9, "36601d"]) {
    await assert.rejects(shop.clock.advance(length), { name: "TypeError", message: /^clock\.advance: \S+ is too long\. One call moves the clock by "36600d" at most/ });
  }
  const operation = "list_payment_methods";
  for (const [fault, message] of [
    [{ opperation: operation, kind: "drop" }, "faults.set: Unknown field `opperation`. Did you mean `operation`?"],
    [{ operation, kind: "delay", millis: 5 }, "faults.set: Unknown field `millis`. The fields are: count, kind, milliseconds, operation, retry_after, status, merchant."],
    [{ operation, kind: "drop", count: 5n }, /^faults\.set: count must be a whole number/],
    [undefined, "faults.set: operation is required."],
  ]) {
    await assert.rejects(shop.faults.set(fault), { name: "TypeError", message });
  }

  const shown = [sandbox, shop].flatMap((each) => [inspect(each), inspect(each, { depth: 9, showHidden: true, getters: true }), JSON.stringify(each)]);
  assert.doesNotMatch(shown.join(), /sk_test_|ctl_/, "no log shows a key");
  assert.match(shown[0], /^Sandbox \{ baseUrl: 'http:\/\/localhost:4243' \}$/);
  assert.throws(() => (sandbox.baseUrl = "https://elsewhere.example.com"), TypeError);
  // No method needs `this`.
  const { merchant, reset } = sandbox;
  const { requests, events, reset: resetShop, clock: { now, advance }, faults: { set, list, clear } } = await merchant();
  await advance(1);
  await set({ operation, kind: "drop" });
  assert.equal((await list()).length, 1);
  await Promise.all([now(), clear(), requests(), events(), resetShop(), reset()]);
}

async function severalSandboxes() {
  const other = await createSandbox({ baseUrl: new URL("https://api.example.com"), publicMethods: true, strict: true, merchantName: "Other" });
  assert.notEqual(other.secretKey, sandbox.secretKey);
  assert.equal((await other.fetch("https://api.example.com/v1/payment-methods")).status, 200);
  const headers = { authorization: `Bearer ${sandbox.secretKey}` };
  assert.equal((await other.fetch("https://api.example.com/v1/customers", { headers })).status, 401);
  assert.match((await server(other, await other.merchant()).create("1")).checkout_url, /^https:\/\/api\.example\.com\/checkout\//);
  const { close } = other;
  await close();
  await close();
  const closed = await other.fetch("https://api.example.com/v1/payment-methods").catch((e) => e);
  assert.deepEqual([closed.message, closed.cause.message], ["fetch failed", "The sandbox is closed."]);
  await assert.rejects(other.merchant(), /The sandbox is closed/);
  assert.equal((await sandbox.fetch(`${sandbox.baseUrl}/sandbox/openapi.json`)).status, 200, "the first goes on");
}

/** Neither a sandbox that is not closed nor an aborted delay keeps a process alive. */
function aProcessThatEnds() {
  const script = `
    import { createSandbox } from "guichet-sandbox";
    const sandbox = await createSandbox();
    const shop = await sandbox.merchant();
    await shop.faults.set({ operation: "list_payment_methods", kind: "delay", milliseconds: 600000 });
    const headers = { authorization: "Bearer " + shop.secretKey };
    await sandbox.fetch(sandbox.baseUrl + "/v1/payment-methods", { headers, signal: AbortSignal.timeout(20) }).catch((e) => console.log(e.name));`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], { timeout: 30_000, encoding: "utf8" });
  assert.deepEqual([status, stdout.trim(), stderr], [0, "TimeoutError", ""]);
}

/** As test runners set it up: the page's globals are jsdom's. */
async function inJsdom() {
  const { JSDOM } = createRequire(`${process.env.JSDOM}/`)("jsdom");
  const { window } = new JSDOM("<!doctype html>", { url: "https://shop.example.com/" });
  const names = ["window", "document", "navigator", "location", "history", "sessionStorage", "AbortController", "AbortSignal", "Event", "EventTarget", "URL"];
  const before = names.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]);
  for (const name of names) Object.defineProperty(globalThis, name, { value: name === "window" ? window : window[name], configurable: true });
  try {
    const own = await createSandbox({ publicMethods: true });
    const guichet = createGuichet({ baseUrl: own.baseUrl, fetch: own.fetch, publicReads: "anonymous" });
    assert.equal((await guichet.paymentMethods()).length, 2);
    const controller = new AbortController();
    const aborted = own.fetch(new URL(`${own.baseUrl}/v1/payment-methods`), { signal: controller.signal });
    controller.abort();
    await assert.rejects(aborted, { name: "AbortError" });
  } finally {
    for (const [name, descriptor] of before) descriptor ? Object.defineProperty(globalThis, name, descriptor) : delete globalThis[name];
    window.close();
  }
}

async function creationsPerSecond() {
  const { create } = server(sandbox, await sandbox.merchant());
  const begun = performance.now();
  for (let number = 0; number < 500; number++) await create(`RATE-${number}`);
  return Math.round(500_000 / (performance.now() - begun));
}
