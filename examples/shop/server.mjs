// A shop's server without a library: it serves the page and the merchant's three routes, and settles payments by a timer.
//
//   cp -r ../../target/npm/package .                      (npm: npm install guichet, and node_modules/guichet)
//   GUICHET_SECRET_KEY=sk_test_… node server.mjs          (the key that `guichet sandbox` prints)

import { createHmac } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const service = "http://127.0.0.1:4243"; // the sandbox
const shop = "http://127.0.0.1:8000"; // this server, as browsers name it
const readOpenEvery = 3_000; // milliseconds between two reads of a payment whose status is not final yet
const readFinalEvery = 60_000; // and of one whose status is final, for 24 hours
const day = 24 * 60 * 60 * 1000;

const key = process.env.GUICHET_SECRET_KEY;
if (!key) stop("GUICHET_SECRET_KEY is not set. Set it to the secret key that `guichet sandbox` prints (sk_test_…).");
if (!existsSync("package/guichet.js")) stop("There is no folder package here. Copy it: cp -r ../../target/npm/package .");

// These three stand for the tables of your database. Their content is lost when this process ends.
const orders = new Map([
  ["17", { email: "awa@example.com", reference: "ORDER-17", amount: "45000", description: "A pair of shoes", tries: 0, paid: false }],
]);
const payments = new Map(); // by payment_ref: the order and its customer
const refundsDue = new Map(); // by intent and attempt: payments to refund

// The signed-in customer. Read your session cookie here, and return null for a guest.
const customer = (request) => ({ email: "awa@example.com", firstname: "Awa", lastname: "Ngono" });

const routes = {
  "POST /guichet/session": ({ email }) => callService("POST", "/sessions/create", { customer_email: email }),

  // Only the server sets price, customer and reference. The same reference again returns the same payment.
  "POST /guichet/intents": async (buyer, wanted) => {
    const order = orders.get(wanted?.id);
    if (order?.email !== buyer.email) throw new Refused(404, "order_missing", "There is no such order.");
    if (payments.size >= 10_000) throw new Refused(503, "unavailable", "The shop has too many open payments. Please try again later.");
    const { amount, description, tries } = order;
    const merchant_reference = tries ? `${order.reference}.${tries}` : order.reference;
    const return_nonce = createHmac("sha256", key).update(merchant_reference).digest("hex").slice(0, 22);
    const { data } = await callService("POST", "/payment-intents", {
      ...buyer, merchant_reference, amount, description, fee_bearer: "customer",
      redirect_url: `${shop}/?guichet_return=${return_nonce}`, // without it the return page cannot match the return
    });
    const { id, checkout_url, payment_ref, status } = data;
    // Store it before the customer leaves to pay.
    if (!payments.has(payment_ref)) payments.set(payment_ref, { id, merchant_reference, amount, order, tries, email: buyer.email });
    return { intent: { id, checkout_url, payment_ref, merchant_reference, status }, return_nonce };
  },

  // Another customer's payment gets the same 404 as one that does not exist.
  "GET /guichet/intents": async ({ email }, _, payment_ref) => {
    const payment = payments.get(payment_ref);
    if (payment?.email !== email) throw new Refused(404, "resource_missing", "There is no such payment.");
    const { status, last_payment_error } = await settle(payment);
    return { status, last_payment_error };
  },
};

// Reads a payment with the secret key. An order becomes paid here, and nowhere else.
async function settle(payment) {
  const { id, merchant_reference, amount, email, order, tries } = payment;
  const begun = Date.now();
  const data = (await callService("GET", `/payment-intents/${id}`))?.data ?? {};
  const { status, attempts, duplicate_payments } = data;
  const isTheOneSold = data.merchant_reference === merchant_reference && data.amount === amount && data.currency === "XAF"
    && data.customer?.email?.toLowerCase() === email.toLowerCase();
  if (!isTheOneSold) {
    // The service may have sent an unexpected reply: keep reading, and log it once.
    payment.readAt = begun + readFinalEvery;
    if (!payment.mismatchLogged) log(`${merchant_reference}: the payment ${id} is not the one that was sold. Look at it by hand.`);
    payment.mismatchLogged = true;
    throw new Refused(409, "payment_mismatch", "The payment is not the one of this order. Please ask the shop.");
  }
  if (status === "succeeded" && !order.paid) {
    order.paid = true;
    console.log(`${merchant_reference} is paid.`); // ship it
  }
  // A failed or canceled payment is final. Create another one for the order, under a new reference.
  if ((status === "failed" || status === "canceled") && tries === order.tries) order.tries += 1;
  // An operator approved an attempt late, after the customer had paid by another one or the payment had ended. The interface
  // has no refund: make it with the payment company.
  for (const duplicate of duplicate_payments ?? []) {
    const name = `${id}, attempt ${duplicate.attempt}`;
    if (refundsDue.has(name)) continue;
    refundsDue.set(name, duplicate);
    log(`${merchant_reference}: a refund of ${duplicate.amount} ${duplicate.currency} is due (${name}).`);
  }
  if (["succeeded", "failed", "canceled"].includes(status)) {
    payment.finalSince ??= begun;
    payment.readAt = begun + readFinalEvery;
    // Only a declined attempt can be approved late, and only for a day: read once more after that.
    const nothingWasDeclined = attempts <= (status === "succeeded" ? 1 : 0);
    payment.isOver = nothingWasDeclined || begun - payment.finalSince > day;
  }
  return data;
}

// The service calls no webhook, and a customer who pays and closes the tab sends no further request. So the shop reads every
// few seconds until a payment's status is final, and then for 24 hours, in which an operator may approve an attempt late.
async function settleAll() {
  for (const [payment_ref, payment] of payments) {
    const now = Date.now();
    if (payment.isOver && now - payment.finalSince > day) payments.delete(payment_ref);
    else if (!payment.isOver && now >= (payment.readAt ?? 0)) await settle(payment).catch(logUnexpected);
  }
  setTimeout(settleAll, readOpenEvery);
}

// Calls the service with the key. A failure is logged here with its cause. The page gets an error that it can act on.
async function callService(method, path, body) {
  const failed = (why, ...refused) => {
    log(`${method} ${service}/v1${path}: ${why}`);
    return new Refused(...refused);
  };
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  let status, reply;
  try {
    const response = await fetch(`${service}/v1${path}`, {
      method, headers, body: body && JSON.stringify(body), redirect: "error", signal: AbortSignal.timeout(20_000),
    });
    status = response.status;
    reply = await response.json();
  } catch (error) {
    const why = status ? `${status}, and no JSON` : `no answer (${error.cause?.code ?? error.name}). Is the service running?`;
    throw failed(why, 503, "unavailable", "The payment service does not answer. Please try again.");
  }
  if (status < 300) return reply;
  const { code, request_id } = reply?.error ?? {};
  const why = `${status} ${code}, ${request_id}: ${reply?.message}`;
  // The customer can correct these errors or try again. A refused key is the shop's own problem: a 401 would tell the page that
  // nobody is signed in.
  if ([409, 422, 429, 503].includes(status)) throw failed(why, status, code, reply?.message, reply?.error);
  throw failed(why, 502, "service_failed", "The payment service refused the shop's request.");
}

// An error response in the service's format, which guichet in the page reads.
class Refused extends Error {
  constructor(status, code, message, error = { errors: [], request_id: null, retryable: status === 503 }) {
    super(message);
    this.status = status;
    this.body = { status_code: status, response_type: "error", message, data: null, error: { ...error, code } };
  }
}

async function answer(request, url) {
  const [, first, second, last] = url.pathname.split("/");
  const route = routes[`${request.method} /${first}/${second}`];
  if (!route) return file(url.pathname);
  refuseOtherSites(request.headers);
  const buyer = customer(request);
  if (!buyer) throw new Refused(401, "authentication_required", "Nobody is signed in.");
  return { type: "application/json", body: JSON.stringify(await route(buyer, await readJson(request), last)) };
}

// The routes are called with the customer's cookies, so only this shop's pages may call them. Browsers set both headers, and no
// page can change them. A request without either does not come from a page.
function refuseOtherSites({ origin, "sec-fetch-site": site }) {
  const isOurs = [undefined, shop].includes(origin) && [undefined, "same-origin", "none"].includes(site);
  if (!isOurs) throw new Refused(403, "cross_site", "Only the shop's own pages may call this address.");
}

// Only JSON, which a form of another site cannot send.
async function readJson(request) {
  let text = "";
  for await (const chunk of request.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.length > 65_536) throw new Refused(413, "body_too_large", "The request is too large.");
  }
  if (!text) return null;
  const [type] = (request.headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/json") throw new Refused(415, "unsupported_media_type", "Send JSON.");
  try {
    return JSON.parse(text);
  } catch {
    throw new Refused(400, "invalid_json", "The request is not JSON.");
  }
}

// Serves the page and the package, and nothing else of this folder.
async function file(path) {
  const script = /^\/package\/(?:\w+\/)*[\w.-]+\.js$/.test(path);
  const bytes = script || path === "/" ? await readFile(script ? `.${path}` : "index.html").catch(() => null) : null;
  if (!bytes) throw new Refused(404, "route_not_found", "This page does not exist.");
  return { type: script ? "text/javascript" : "text/html", body: bytes };
}

// Control characters are escaped in logs, so that texts of others cannot forge a line or control a terminal.
function log(text) {
  console.error(text.replace(/[\p{C}\u2028\u2029]/gu, (character) => `\\u{${character.codePointAt(0).toString(16)}}`));
}

function logUnexpected(error) {
  if (!(error instanceof Refused)) log(String(error?.stack)); // a Refused was already logged with its cause
}

function stop(why) {
  console.error(why);
  process.exit(1);
}

const server = createServer(async (request, response) => {
  const send = (status, { type, body }) => response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(body);
  try {
    if (!URL.canParse(shop + request.url)) throw new Refused(400, "invalid_address", "This address cannot be read.");
    send(200, await answer(request, new URL(shop + request.url)));
  } catch (error) {
    logUnexpected(error);
    const { status, body } = error instanceof Refused ? error : new Refused(500, "internal_error", "Something went wrong in the shop.");
    send(status, { type: "application/json", body: JSON.stringify(body) });
  }
});
// Timeouts, so that slow clients do not hold connections.
server.maxConnections = 1_000;
server.requestTimeout = 30_000;
server.setTimeout(30_000);
server.on("error", (error) => stop(`The shop cannot listen at ${shop} (${error.code}). Name another address in this file.`));
server.listen(new URL(shop).port, "127.0.0.1", () => console.log(`Open ${shop}`));
settleAll();
