// What a shop of the package guichet-server does at services that the document allows, and that say it in other ways: the fixtures of this
// folder. Each step is a purchase in a shop of its own. Prints a table, and fails if a step does that is not in `known`, or if one of these
// does not. An argument is a part of the steps' names. The orders are in memory, or with STORE=sqlite in SQLite.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { createGuichet } from "guichet";
import { formatMoney } from "guichet/words";
import { createShop } from "guichet-server";
import { toNode } from "guichet-server/node";
import { memoryOrders, sqliteOrders } from "guichet-server/orders";

/** Steps that fail at a service, and why. */
const known = {
  methods: { laravel: "a page gets the service's own objects: 0 and 1 are not made false and true" },
};

/** What a service says beyond the document. */
const MANNERS = {
  minimal: { saysNoReason: true },
  laravel: { namesPayable: true, namesDuplicates: true, wordOfEnd: "expired" },
  always200: { namesPayable: true, namesDuplicates: true },
  proxy: { namesPayable: true, namesDuplicates: true },
  elsewhere: { profile: profileOf("elsewhere"), wordOfEnd: "expired" },
  secret: { profile: profileOf("secret"), cancels: false, wordOfEnd: "expired" },
};
// The same without profiles, to see what these are for.
if (process.env.UNTOUCHED) for (const manner of Object.values(MANNERS)) delete manner.profile;
const HOUR = 3600;
const MINUTE = 60;
const SUM_WITH_FEE = /45\D?900|45\D?000.*fee/; // or that says so
const COOKIE = "customer=awa";
const UNREAD = "We cannot ask the payment company just now. If you have paid, it counts. Try again in a moment.";

const steps = {
  async "session"({ page, guest, signOut }) {
    const { session } = page;
    await page.paymentMethods();
    expect("the e-mail", session.email, "awa@example.com");
    expect("the state", session.state, "active");
    const minutes = Math.round((session.expiresAt - Date.now()) / 60_000);
    expect("its minutes", minutes, 30);
    const { valid } = await session.validate();
    expect("is valid", Boolean(valid), true);
    expect("without a login", await guest.paymentMethods().catch(({ kind }) => kind), "signed_out");
    const { failed } = await signOut();
    expect("signing out", failed.map(({ cause, message }) => cause ?? message), []);
  },
  async "a session that has ended"({ advance, page }) {
    await page.paymentMethods();
    await advance(31 * MINUTE);
    const request = { payment_method: "mobile_money", currency: "XAF", amount: "5000" };
    expect("a fee, by a new one", await page.fee(request).then(({ fee }) => Number(fee), ({ kind }) => kind), 100);
    await advance(31 * MINUTE);
    expect("is valid", (await page.session.validate()).valid, false);
  },
  async "methods"({ page }) {
    const methods = await page.paymentMethods({ country_code: "CM" });
    expect("the methods", methods.map(({ id, active }) => [id, active]), [["svc_mobile_money", true], ["svc_card", true], ["svc_wallet", false]]);
  },
  async "fee"({ page }) {
    const { fee, total_payable } = await page.fee({ payment_method: "mobile_money", currency: "XAF", amount: "45000" });
    expect("the fee", [fee, total_payable].map(Number), [900, 45_900]);
    const quotes = await page.quotes({ amount: "45000", fee_bearer: "customer", payment_method_types: ["mobile_money"] });
    expect("the quote", quotes.map(({ customer_pays, error }) => error?.message ?? Number(customer_pays)), [45_900]);
  },
  async "a refusal says why"({ page, manner }) {
    const refused = await page.fee({ payment_method: "voucher", currency: "XAF", amount: "45000" }).then(() => "none", (error) => error);
    const reason = manner.saysNoReason ? "The request was refused: see `reply`." : "Vouchers are not accepted.";
    expect("the error", [refused.kind, refused.message], ["refused", reason]);
  },
  async "no quote of a method that is not active"({ page }) {
    const quotes = await page.quotes({ amount: "45000" });
    expect("the methods", quotes.map(({ payment_method }) => payment_method).includes("wallet"), false);
  },
  async "click, and the same click again"({ click, intents }) {
    const first = await click();
    expect("the status", [first.status, first.body.intent?.status, first.body.intent?.amount], [200, "requires_action", "45000"]);
    const [{ id, checkout_url }] = await intents();
    expect("the payment", [first.body.intent.id, first.body.intent.checkout_url], [id, checkout_url]);
    const second = await click();
    expect("again", [second.status, second.body.intent?.checkout_url], [200, checkout_url]);
    expect("the payments at the service", (await intents()).length, 1);
  },
  async "pay"({ click, pay, status, returnPage, order, events }) {
    const { body: { intent } } = await click();
    await pay(intent);
    const { body } = await status(intent);
    expect("the status", [body.status, body.late?.state], ["succeeded", "never"]);
    expect("the page", (await returnPage(intent))[0], "Thank you. You have paid.");
    expect("the sum in words", formatMoney(body.amount_payable ?? body.amount, "XAF", "en"), "FCFA\u00a045,000");
    expect("the order", [order().state, order().paid_by?.id, order().refunds_due], ["paid", intent.id, []]);
    const again = await click();
    expect("a click afterwards", [again.body.intent?.status, again.body.intent?.checkout_url], ["succeeded", null]);
    expect("how often the shop heard of it", events.filter(({ state }) => state === "paid").length, 1);
  },
  async "decline, then the next reference"({ click, pay, decline, status, returnPage, order }) {
    const { body: { intent: first } } = await click();
    await decline(first);
    const { body } = await status(first);
    expect("the status", [body.status, body.late?.state], ["failed", "open"]);
    expect("the page", (await returnPage(first))[0], /^We do not know yet whether your operator took the money/);
    const { body: { intent: next } } = await click();
    expect("the next", [next?.merchant_reference, next?.status], [`${first.merchant_reference}-1`, "requires_action"]);
    await pay(next);
    await status(next);
    expect("the order", [order().state, order().paid_by?.id], ["paid", next.id]);
  },
  async "late success after a decline"({ click, pay, decline, status, advance, settle, order, intents, manner }) {
    const { body: { intent: first } } = await click();
    await decline(first);
    await status(first);
    await click();
    await pay(first);
    await advance(HOUR);
    await settle();
    expect("the order", [order().state, order().paid_by?.id], ["paid", first.id]);
    expect("the next at the service", (await intents())[1].status, manner.cancels === false ? "requires_action" : "canceled");
  },
  async "both are paid"(shop) {
    const [first, next] = await paidBoth(shop);
    const { state, paid_by, refunds_due } = shop.order();
    expect("the order", [state, paid_by?.id], ["paid", next.id]);
    expect("the refunds", refunds_due.map(({ id, amount }) => [id, Number(amount)]), [[first.id, 45_000]]);
  },
  // A shop computes with them.
  async "sums are texts of digits"(shop) {
    const [first] = await paidBoth(shop);
    const { paid_by, refunds_due: [refund] } = shop.order();
    expect("the sums", [(await shop.status(first)).body.amount, paid_by.amount, refund.amount], [/^\d+$/, /^\d+$/, /^\d+$/]);
  },
  async "canceled by the service"({ click, does, status, returnPage, advance, settle, manner }) {
    const { body: { intent } } = await click();
    await does("end", { reference: intent.merchant_reference });
    expect("the status", (await status(intent)).body.status, manner.wordOfEnd ?? "canceled");
    const [sentence] = await returnPage(intent);
    expect("the page", sentence, manner.wordOfEnd ? /^Your payment is not confirmed yet/ : /^(The payment was canceled\.|We do not know yet)/);
    // A word that the document does not have ends the payment when its time is over.
    if (manner.wordOfEnd) await advance(25 * HOUR);
    for (const _ of [1, 2]) await settle(); // asks for its cancellation first
    const { body: { intent: next } } = await click();
    expect("the next", [next?.merchant_reference, next?.status], [`${intent.merchant_reference}-1`, "requires_action"]);
  },
  async "price changed while open"(shop) {
    if (shop.manner.cancels === false) return "—";
    await shop.click();
    await buyAtNewPrice(shop);
  },
  async "price changed, and the old is paid"({ click, pay, purchase, order, intents }) {
    const { body: { intent } } = await click();
    await pay(intent);
    purchase.amount = "50000";
    await click();
    expect("the order", [order().state, order().paid_by?.amount], ["paid_other_sum", "45000"]);
    expect("the payments at the service", (await intents()).length, 1);
  },
  async "price changed, and no reply to the cancellation"(shop) {
    if (shop.manner.cancels === false) return "—";
    await shop.click();
    await shop.does("lose", { reply: "cancel", times: 4 });
    await buyAtNewPrice(shop);
  },
  async "canceled, and approved late"({ click, pay, does, purchase, status, advance, settle, order, intents, manner }) {
    if (manner.cancels === false) return "—";
    await click();
    purchase.amount = "50000";
    const { body: { intent } } = await click();
    const [{ id, merchant_reference }] = await intents();
    await pay(intent);
    await status(intent);
    await does("pay", { reference: merchant_reference });
    await advance(HOUR);
    await settle();
    expect("the refunds", order().refunds_due.map((due) => [due.id, Number(due.amount)]), [[id, 45_000]]);
  },
  async "a reply to the creation is lost"(shop) {
    const { click, does, intents } = shop;
    await does("lose", { reply: "create", times: 1 });
    await click();
    await buyAtLast(shop);
    expect("the payments at the service", (await intents()).length <= 2, true);
  },
  async "no reply to the creation"(shop) {
    await shop.does("lose", { reply: "create", times: 4 });
    expect("is led to it", (await shop.click()).status === 200, Boolean(shop.manner.profile?.find_by_reference));
    await buyAtLast(shop);
  },
  // It may have been done: an error says neither that it was not, nor that its data were wrong.
  async "no reply to the creation, in words"({ click, does, advance }) {
    await does("lose", { reply: "create", times: 4 });
    saysNotKnown(await click());
    await advance(2);
    saysNotKnown(await click());
  },
  // The operator asks the customer by their phone, whether they see the service's page or not.
  async "no reply, and it is paid"({ click, pay, does, advance, settle, intents }) {
    await does("lose", { reply: "create", times: 4 });
    await click();
    await pay((await intents())[0]);
    await advance(11 * MINUTE);
    await settle();
  },
  async "no reply, it is paid, and clicks"({ click, pay, does, advance, settle, order, intents }) {
    await does("lose", { reply: "create", times: 4 });
    await click();
    await pay((await intents())[0]);
    for (const minutes of [1, 16, 1]) {
      await click();
      await advance(minutes * MINUTE);
    }
    const open = (await intents()).find(({ status }) => status === "requires_action");
    if (open) await pay(open);
    await settle();
    expect("the order", order()?.state, "paid");
  },
  async "a reply to a read is lost"({ click, pay, does, status, returnPage, order }) {
    const { body: { intent } } = await click();
    await does("lose", { reply: "read", times: 4 });
    const lost = await status(intent);
    expect("the status", [lost.status, lost.body.error?.retryable], [503, true]);
    await does("lose", { reply: "read", times: 4 });
    expect("the page", (await returnPage(intent))[0], UNREAD);
    await pay(intent);
    await does("lose", { reply: "read", times: 1 });
    expect("the status", (await status(intent)).body.status, "succeeded");
    expect("the order", order().state, "paid");
  },
  async "two clicks at once"({ click, does, intents }) {
    await does("slow", { ms: 500 });
    const both = await Promise.all([click(), click()]);
    expect("the payments at the service", (await intents()).length, 1);
    const again = await click();
    const addresses = [...both, again].map(({ body }) => body.intent?.checkout_url).filter(Boolean);
    expect("the address", [addresses.length > 1, new Set(addresses).size], [true, 1]);
  },
  async "two clicks at once, in words"({ click, does }) {
    await does("slow", { ms: 500 });
    for (const one of await Promise.all([click(), click()])) saysNotKnown(one);
  },
  async "one payment is paid twice"({ click, pay, status, returnPage, order, manner }) {
    if (!manner.namesDuplicates) return "—";
    const { body: { intent } } = await click();
    for (const _ of [1, 2]) await pay(intent);
    await status(intent);
    expect("the refunds", order().refunds_due.map(({ id, amount }) => [id, Number(amount)]), [[intent.id, 45_000]]);
    expect("the page", (await returnPage(intent))[1], "Your operator took the money once too often. A refund is due.");
  },
  async "the attempt that was paid besides"({ click, pay, status, order, manner }) {
    if (!manner.namesDuplicates) return "—";
    const { body: { intent } } = await click();
    for (const _ of [1, 2]) await pay(intent);
    await status(intent);
    expect("its number", order().refunds_due.map(({ attempt }) => attempt), ["2"]);
  },
  async "the sum is not told"({ click, does, status, returnPage, advance, settle, order }) {
    const { body: { intent } } = await click();
    const reference = intent.merchant_reference;
    await does("pay", { reference });
    await does("set", { reference, is_sum_hidden: true });
    const shown = await status(intent);
    expect("the status", shown.status, 502);
    expect("the page", (await returnPage(intent))[0], UNREAD);
    expect("the order", order()?.state, undefined);
    const { status: ofClick } = await click();
    expect("a click", ofClick >= 500, true);
    await advance(11 * MINUTE);
    const { notReadable } = await settle();
    expect("what is not readable", notReadable, [[reference, intent.id]]);
    await does("set", { reference, is_sum_hidden: false });
    await status(intent);
    expect("the order", order()?.state, "paid");
  },
  async "another sum is paid"({ click, does, status, returnPage, advance, settle, order }) {
    const { body: { intent } } = await click();
    await does("pay", { reference: intent.merchant_reference, amount: 4500 });
    expect("the status", (await status(intent)).body.error?.code, "payment_mismatch");
    expect("the page", (await returnPage(intent))[0], /ask the shop/);
    expect("a click", (await click()).body.error?.code, "payment_mismatch");
    expect("the order", order()?.state, undefined);
    await advance(25 * HOUR);
    expect("what is not readable", (await settle()).notReadable, [[intent.merchant_reference, intent.id]]);
  },
  async "the payment cannot be read"({ click, does, status, returnPage, advance, settle, order }) {
    const { body: { intent } } = await click();
    const reference = intent.merchant_reference;
    await does("set", { reference, is_broken: true });
    await does("pay", { reference });
    const shown = await status(intent);
    expect("the status", [shown.status >= 500, shown.body.error?.code], [true, /^(service_failed|unavailable)$/]);
    expect("the page", (await returnPage(intent))[0], UNREAD);
    await advance(10);
    const { read, failed, notReadable } = await settle();
    expect("a round", [read, failed.map(({ message }) => message), notReadable], [0, [`The payment ${reference} could not be read.`], []]);
    expect("why", failed[0].kind, /^(refused|offline|unsupported)$/);
    await advance(11 * MINUTE);
    expect("what is not readable", (await settle()).notReadable, [[reference, intent.id]]);
    await does("set", { reference, is_broken: false });
    await status(intent);
    expect("the order", order()?.state, "paid");
  },
  async "the fee is on top"({ click, pay, purchase, status, returnPage, order, manner }) {
    purchase.fee_bearer = "customer";
    const { body: { intent } } = await click();
    await pay(intent);
    const { body } = await status(intent);
    expect("the status", [Number(body.amount), body.amount_payable && Number(body.amount_payable)], [45_000, manner.namesPayable ? 45_900 : null]);
    expect("the order", [order().state, order().paid_by?.amount], ["paid", "45000"]);
    expect("the page's sum", (await returnPage(intent)).at(-1), SUM_WITH_FEE);
  },
  async "the fee is on top, before it is paid"({ click, purchase, returnPage }) {
    purchase.fee_bearer = "customer";
    const { body: { intent } } = await click();
    expect("the page's sum", (await returnPage(intent)).at(-1), SUM_WITH_FEE);
  },
  async "the fee is on top, and refunded"(shop) {
    shop.purchase.fee_bearer = "customer";
    await paidBoth(shop);
    const due = shop.order().refunds_due.map(({ amount, plus_fee }) => [Number(amount), plus_fee ?? false]);
    expect("the refund", due, [shop.manner.namesPayable ? [45_900, false] : [45_000, true]]);
  },
};

/** A first payment is declined, and paid after the next one. */
async function paidBoth({ click, pay, decline, status, advance, settle }) {
  const { body: { intent: first } } = await click();
  await decline(first);
  const { body: { intent: next } } = await click();
  await pay(next);
  await status(next);
  await pay(first);
  await advance(HOUR);
  await settle();
  return [first, next];
}

/** The open payment is canceled, and the next one has the new price. */
async function buyAtNewPrice({ click, pay, purchase, status, order, intents }) {
  purchase.amount = "50000";
  const { body: { intent } } = await click();
  expect("the next", [intent?.amount, (await intents())[0].status], ["50000", "canceled"]);
  await pay(intent);
  await status(intent);
  expect("the order", [order().state, order().paid_by?.amount], ["paid", "50000"]);
}

/** A customer clicks on until there is an address, pays there, and the order is paid. */
async function buyAtLast({ click, pay, status, advance, order }) {
  for (const minutes of [0, 2, 16, 16]) {
    await advance(minutes * MINUTE);
    const { body: { intent } } = await click();
    if (!intent) continue;
    await pay(intent);
    await status(intent);
    return expect("the order", [order()?.state, order()?.paid_by?.id], ["paid", intent.id]);
  }
  throw new Error("a click led to no address within 34 minutes");
}

function saysNotKnown({ status, body: { message, error } }) {
  if (status !== 200) expect("the error", [error?.code, message], [/^(unavailable|uncertain|service_failed)$/, /cannot confirm|not certain|did not answer/]);
}

/** Money that the service took is an order that is paid by it, a refund that is due, or is named as not readable. */
async function nothingIsLost({ intents, order, named, manner }) {
  for (const { id, merchant_reference, taken } of await intents()) {
    const due = (order()?.refunds_due ?? []).filter((refund) => refund.id === id).length;
    const accounted = Number(order()?.paid_by?.id === id) + due;
    const isNamed = named.some(([reference]) => reference === merchant_reference);
    const counted = manner.namesDuplicates ? taken.length : Math.min(taken.length, 1);
    if (accounted < counted && !isNamed) throw new Error(`${merchant_reference}: money was taken ${taken.length} times, the shop knows of ${accounted}, and no alarm names it`);
  }
}

function expect(what, is, should) {
  const isSame = (is, should) => (should instanceof RegExp ? should.test(is) : JSON.stringify(is) === JSON.stringify(should));
  const isRight = Array.isArray(should) && Array.isArray(is) && should.length === is.length ? should.every((one, i) => isSame(is[i], one)) : isSame(is, should);
  if (isRight) return;
  const text = (value) => (value instanceof RegExp ? String(value) : Array.isArray(value) ? `[${value.map(text).join(", ")}]` : JSON.stringify(value));
  throw new Error(`${what}: is ${text(is)}, should be ${text(should)}`);
}

function profileOf(name) {
  return JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url)));
}

/** Starts a fixture. Returns its address, and what ends it. */
async function started(name) {
  const child = spawn(process.execPath, [new URL(`${name}.mjs`, import.meta.url).pathname], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = await once(createInterface({ input: child.stdout }), "line");
  return { service: `http://127.0.0.1:${port}`, end: () => child.kill() };
}

// The ledger's clock is the store's, and with a test key the service's `Date`. A test moves both.
let Database;
function storeAt(clock) {
  const store = Database ? sqliteOrders(new Database(":memory:")) : memoryOrders();
  return { ...store, now: async () => (await store.now()) + clock.ahead };
}

/** A shop at a service, and a customer's page. */
async function opened(service, name, manner, clock) {
  const [events, named] = [[], []];
  const purchase = { name, amount: "45000", description: "Shoes", firstname: "Awa", lastname: "Ngono", email: "awa@example.com" };
  const isOurs = ({ headers }) => headers.get("cookie") === COOKIE;
  const { profile } = manner;
  const shop = createShop({
    ...(profile ? { profile: { ...profile, base_url: service } } : { baseUrl: service }),
    secretKey: "sk_test_manners",
    customer: (request) => (isOurs(request) ? { id: "awa", email: "awa@example.com", emailVerified: true, login: "one" } : null),
    purchase: () => purchase,
    orderChanged: (changed) => events.push(changed),
    orders: storeAt(clock),
  });
  const server = createServer(toNode(shop));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const routes = `http://127.0.0.1:${server.address().port}/guichet`;
  const withCookie = (url, init = {}) => fetch(url, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), cookie: COOKIE } });
  const json = async (response) => ({ status: response.status, body: await response.json() });
  const does = async (what, body = {}) => (await fetch(`${service}/test/${what}`, { method: "POST", body: JSON.stringify(body) })).json();
  return {
    manner, purchase, events, named, does,
    decline: ({ merchant_reference: reference }) => does("decline", { reference }),
    pay: ({ merchant_reference: reference }) => does("pay", { reference }),
    page: createGuichet({ baseUrl: service, merchant: routes, fetch: (url, init) => (String(url).startsWith(routes) ? withCookie(url, init) : fetch(url, init)) }),
    guest: createGuichet({ baseUrl: service, merchant: routes }),
    order: () => events.toSorted((a, b) => a.version - b.version).at(-1),
    intents: async () => (await does("intents")).filter(({ merchant_reference }) => merchant_reference.replace(/-\d+$/, "") === name),
    click: async () => json(await withCookie(`${routes}/intents`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" })),
    status: async ({ payment_ref }) => json(await withCookie(`${routes}/intents/${payment_ref}`)),
    /** Its sentences. */
    async returnPage({ payment_ref }) {
      const html = await (await withCookie(`${routes}/return?payment_ref=${payment_ref}`)).text();
      return [...html.matchAll(/<p>([^<]+)<\/p>/g)].map(([, sentence]) => sentence);
    },
    async settle() {
      const round = await shop.settle();
      named.push(...round.notReadable);
      return round;
    },
    signOut: () => shop.signOut("one"),
    async advance(seconds) {
      clock.ahead += seconds;
      await does("clock", { seconds });
    },
    end: () => (server.close(), server.closeAllConnections()),
  };
}

/** The result of each step at a fixture: "ok", "—" if it does not apply, or what failed. */
async function walked(name) {
  const { service, end } = await started(name);
  const [clock, results] = [{ ahead: 0 }, {}];
  const wanted = Object.entries(steps).filter(([step]) => step.includes(process.argv[2] ?? ""));
  for (const [i, [step, walk]] of wanted.entries()) {
    const shop = await opened(service, `ORDER.${i}`, MANNERS[name], clock);
    try {
      results[step] = (await walk(shop)) ?? "ok";
      await nothingIsLost(shop);
    } catch (e) {
      results[step] = e.message.startsWith("{") ? e.stack : e.message;
    }
    shop.end();
  }
  end();
  return results;
}

if (process.env.STORE === "sqlite") Database = (await import("libsql")).default;
console.error = () => {}; // what the shops log
const names = Object.keys(MANNERS);
const table = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await walked(name)])));
const wordOf = (result) => (["ok", "—"].includes(result) ? result : "FAIL");
const line = (first, words) => console.log([first.padEnd(48), ...words.map((word) => word.padEnd(10))].join("").trimEnd());
line("step", names);
for (const step of Object.keys(table[names[0]])) line(step, names.map((name) => wordOf(table[name][step])));
for (const name of names) {
  for (const [step, result] of Object.entries(table[name])) {
    const reason = known[step]?.[name];
    if ((wordOf(result) === "FAIL") !== Boolean(reason)) process.exitCode = 1;
    if (wordOf(result) === "FAIL") console.log(`${name}: ${step}: ${result}${reason ? ` (known: ${reason})` : ""}`);
    else if (reason) console.log(`${name}: ${step}: does not fail any more: remove it from \`known\``);
  }
}
const results = names.flatMap((name) => Object.values(table[name]));
console.log(`${results.length} steps at ${names.length} services, ${results.filter((result) => wordOf(result) === "FAIL").length} fail`);
