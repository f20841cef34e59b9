// A whole purchase, every decline, lost responses and sessions that end, without a browser or a network: in Node.js and in jsdom.
// The shop's server is three functions.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createGuichet, GuichetError } from "guichet";
import { openHostedCheckout } from "guichet/hosted";
import { guichetError, openTestPage } from "guichet/testing";
import { describe as sentence } from "guichet/words";
import { createSandbox } from "guichet-sandbox";

const begun = performance.now();
const sinceBegun = () => `${Math.round(performance.now() - begun)} ms`;
let firstPurchase;
let sandbox, shop, page, guichet;
beforeAll(async () => {
  sandbox = await createSandbox();
});
beforeEach(async () => {
  shop = await sandbox.merchant();
  page = openTestPage("https://shop.example.com/basket");
  guichet = createGuichet({ baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, merchant: merchant() });
});
afterEach(() => page.close());
afterAll(() => console.log(`${firstPurchase} for the first purchase, ${sinceBegun()} for all`));

const call = async (method, path, body) => {
  const headers = { authorization: `Bearer ${shop.secretKey}`, "content-type": "application/json" };
  const response = await sandbox.fetch(`${sandbox.baseUrl}/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
  const { data, message } = await response.json();
  if (!response.ok) throw new Error(message);
  return data;
};

function merchant() {
  const customer = { firstname: "Awa", lastname: "Ngono", email: "awa@example.com" };
  return {
    session: () => call("POST", "/sessions/create", { customer_email: customer.email }),
    intent: async ({ id }) => {
      const return_nonce = String(id).padStart(22, "0");
      const redirect_url = `https://shop.example.com/paid?guichet_return=${return_nonce}`;
      const order = { ...customer, merchant_reference: `ORDER-${id}`, amount: "5000", description: "Shoes", redirect_url };
      return { intent: await call("POST", "/payment-intents", order), return_nonce };
    },
    status: ({ id }) => call("GET", `/payment-intents/${id}`),
  };
}

async function hostedPage(id, how) {
  const address = await page.navigation(guichet.checkout({ order: { id } }, how));
  expect(address).toMatch(/^http:\/\/localhost:4243\/checkout\/pi_/);
  return openHostedCheckout({ baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, intent: address });
}

test.each(["redirect", "popup"])("a customer pays by %s and comes back", async (mode) => {
  const quotes = await guichet.quotes({ amount: "5000", currency: "XAF", fee_bearer: "customer" });
  expect(quotes.map(({ customer_pays }) => customer_pays)).toEqual(["5100", "5145", "5195"]);
  const hosted = await hostedPage(mode, { mode });
  expect((await hosted.pay(phone(0))).status).toBe("succeeded");
  hosted.leave();
  expect(page.address).toMatch(/^https:\/\/shop\.example\.com\/paid\?guichet_return=.*&status=succeeded$/);
  const back = await guichet.returned();
  expect(back).toMatchObject({ match: "matched", reference: { merchant_reference: `ORDER-${mode}` } });
  expect(page.address).toBe("https://shop.example.com/paid");
  expect(await guichet.waitForOutcome(back)).toMatchObject({ state: "succeeded", status: "succeeded" });
  firstPurchase ??= sinceBegun(); // with the start of the sandbox and of the wasm
  expect(page.addresses).toEqual(["https://shop.example.com/basket", "https://shop.example.com/paid"]);
});

const card = (number) => ({ type: "card", card: { number, exp_month: 12, exp_year: 2034, cvc: "123" } });
const phone = (last) => ({ type: "mobile_money", phone: `23767000${String(last).padStart(4, "0")}` });

test.each([
  ["insufficient_funds", "pending", phone(2)],
  ["rejected_by_payer", "pending", phone(3)],
  ["payer_timeout", "pending", phone(4)],
  ["payer_not_found", "failed", phone(6)],
  ["provider_unavailable", "pending", phone(7)],
  ["limit_exceeded", "failed", phone(8)],
  ["fraud_blocked", "failed", phone(9)],
  ["incorrect_otp", "pending", phone(10)],
  ["generic_decline", "failed", card("4000000000000002")],
  ["insufficient_funds", "pending", card("4000000000009995")],
  ["expired_card", "pending", card("4000000000000069")],
  ["incorrect_cvc", "pending", card("4000000000000127")],
  ["processing_error", "pending", card("4000000000000119")],
])("a payment is declined: %s, and is %s", async (code, state, instrument) => {
  const hosted = await hostedPage(code);
  const wait = { onStatus: ({ status }) => status === "processing" && void shop.clock.advance("5m") };
  let intent = await hosted.pay(instrument, wait);
  if (intent.next_action?.type === "otp") intent = await hosted.answer("000000", wait);
  expect(intent.last_payment_error.code).toBe(code);
  hosted.leave();
  const back = await guichet.returned();
  expect(await guichet.waitForOutcome(back, { budgetMs: 1 })).toMatchObject({ state, last_payment_error: { code } });
});

/** Vitest and Jest have no such function in common. */
async function until(holds) {
  while (!holds()) await sleep(10);
}

test("a customer who turns back with the back button has not paid", async () => {
  const checkout = guichet.checkout({ order: { id: "back" } });
  await page.navigation(checkout);
  page.back();
  expect(page.address).toBe("https://shop.example.com/basket");
  expect((await checkout).state).toBe("dismissed");
});

test("a second checkout of a page does not get an address from before it", async () => {
  const first = await hostedPage("first");
  await first.pay(phone(0));
  first.leave();
  const address = await page.navigation(guichet.checkout({ order: { id: "second" } }));
  expect(address).toMatch(/\/checkout\/pi_/);
  expect(address).not.toContain(first.intent.id);
});

describe("with popups", () => {
  beforeEach(() => {
    page.close();
    page = openTestPage("https://shop.example.com/basket", { popups: true });
  });
  const openPopup = async (id) => {
    const checkout = guichet.checkout({ order: { id } }, { mode: "popup" });
    const popup = await page.popup(checkout);
    return { checkout, popup, address: await popup.navigation() };
  };

  test("the customer pays in one, and its return page closes it", async () => {
    const { checkout, popup, address } = await openPopup("paid");
    const hosted = await openHostedCheckout({ baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, intent: address });
    await hosted.pay(phone(0));
    popup.show();
    hosted.leave();
    expect((await guichet.returned()).match).toBe("matched");
    expect((await checkout).state).toBe("succeeded");
    expect([popup.closed, location.href]).toEqual([true, "https://shop.example.com/basket"]);
  });

  test("the customer closes one", async () => {
    const { checkout, popup } = await openPopup("closed");
    popup.close();
    expect((await checkout).state).toBe("dismissed");
  });

  test("one that is closed again is not waited for", async () => {
    await shop.faults.set({ operation: "create_payment_intent", kind: "status", status: 422 });
    const checkout = guichet.checkout({ order: { id: "refused" } }, { mode: "popup" });
    await expect(checkout).rejects.toThrow();
    await expect(page.popup(checkout)).rejects.toThrow("injected");
    await expect(page.popup(Promise.resolve())).rejects.toThrow("its window is closed");
  });
});

test("what decides is true or false", () => {
  expect(() => openTestPage("https://shop.example.com/", { popups: "false" })).toThrow("`popups` must be true or false");
});

test("a page without popups says so to a test that waits for one", async () => {
  await expect(page.popup()).rejects.toThrow("popups: true");
});

test("a sign-out in a second tab ends the session of the first", async () => {
  await guichet.session.validate();
  page.openTab().show();
  const other = createGuichet({ baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, merchant: merchant() });
  await other.session.validate();
  await other.session.revoke();
  page.show();
  await until(() => guichet.session.state === "revoked");
});

test("a frozen page asks at once when it is shown again", async () => {
  let reads = 0;
  const status = async () => ({ status: ++reads > 1 ? "succeeded" : "processing" });
  const outcome = createGuichet({ baseUrl: sandbox.baseUrl, merchant: { status } }).waitForOutcome({ payment_ref: "gch_1" });
  await until(() => reads === 1);
  page.freeze();
  await sleep(2_000); // the page would have asked again by now
  expect([reads, document.hidden]).toEqual([1, true]);
  page.resume();
  expect((await outcome).state).toBe("succeeded");
});

describe("what comes due on a frozen page", () => {
  const ran = [];
  beforeEach(() => void ran.splice(0));
  const hold = async () => {
    const cleared = setTimeout(() => ran.push("cleared"));
    const number = setTimeout(() => ran.push("cleared by its number"));
    setTimeout(() => ran.push("first"));
    const interval = setInterval(() => ran.push("interval"));
    page.freeze();
    await sleep(20);
    clearTimeout(cleared);
    clearTimeout(Number(number));
    expect(ran).toEqual([]);
    return interval;
  };

  test("runs once when it is shown again, unless it was cleared", async () => {
    const interval = await hold();
    page.resume();
    expect(ran).toEqual(["first", "interval"]);
    clearInterval(interval);
  });

  test("runs when the page is closed", async () => {
    const interval = await hold();
    page.close();
    expect(ran).toEqual(["first", "interval"]);
    clearInterval(interval);
  });

  test("runs although one of them throws, which is reported as an error of a timer", async () => {
    page.close();
    const reported = [];
    const { setTimeout: real } = globalThis;
    const report = (run) => () => {
      try {
        run();
      } catch (error) {
        reported.push(error.message);
      }
    };
    globalThis.setTimeout = (run, ms) => real(report(run), ms);
    page = openTestPage();
    setTimeout(() => {
      throw new Error("mine");
    });
    const interval = await hold();
    page.resume();
    expect(ran).toEqual(["first", "interval"]);
    await until(() => reported.length);
    expect(reported).toEqual(["mine"]);
    clearInterval(interval);
    page.close();
    globalThis.setTimeout = real;
  });
});

test("a charge whose response is lost is made once", async () => {
  const hosted = await hostedPage("lost");
  await shop.faults.set({ operation: "attach_payment_method", kind: "lost_response" });
  expect((await hosted.pay(phone(0))).status).toBe("succeeded");
  const events = (await shop.events()).map(({ type }) => type);
  expect(events.filter((type) => type === "payment_intent.succeeded")).toHaveLength(1);
});

test("a session that ends is renewed once, and one that is revoked stays ended", async () => {
  await guichet.paymentMethods();
  await shop.clock.advance("31m");
  expect(await guichet.session.validate()).toMatchObject({ valid: false, reason: "expired" });
  expect(await guichet.paymentMethods()).toHaveLength(2);
  await guichet.session.revoke();
  await expect(guichet.paymentMethods()).rejects.toMatchObject({ kind: "signed_out" });
  expect(guichet.session.state).toBe("revoked");
});

test("a checkout that fails leaves the page where it is", async () => {
  await shop.faults.set({ operation: "create_payment_intent", kind: "status", status: 422 });
  await expect(page.navigation(guichet.checkout({ order: { id: 1 } }))).rejects.toThrow();
  expect(page.address).toBe("https://shop.example.com/basket");
});

describe("an error of a test", () => {
  test("of an unknown kind is refused", () => {
    expect(() => guichetError("nonsense")).toThrow(/Unknown kind `nonsense`. The kinds are: .*wasm_missing/);
  });
  test("is an error of the package", () => {
    const error = guichetError("refused", { code: "payment_method_unavailable", retryable: true, status: 422 });
    expect(GuichetError.is(error)).toBe(true);
    expect(error).toMatchObject({ kind: "refused", code: "payment_method_unavailable", retryable: true, status: 422, fields: [] });
    expect(sentence(error, "fr")).not.toBe(sentence(guichetError("offline"), "fr"));
  });
});

test("without a page, every call that needs one is refused", async () => {
  page.close();
  for (const mode of ["redirect", "popup"]) {
    await expect(guichet.checkout({ order: { id: 1 } }, { mode })).rejects.toMatchObject({ kind: "unsupported" });
  }
  expect(await guichet.returned()).toBe(null);
});
