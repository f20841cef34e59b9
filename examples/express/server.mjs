// A shop's server on Express: its page, the three routes that `guichet` in the page calls, and a timer that settles payments.
// README.md says how to run it. Copy it, then replace `customerOf`, `products` and the demo's sign-in by your own.

import { createHmac, randomBytes } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import cookieSession from "cookie-session";
import express from "express";
import sqlite from "node-sqlite3-wasm";

const service = process.env.GUICHET_BASE_URL ?? "http://127.0.0.1:4243"; // the sandbox
const shop = process.env.SHOP_URL ?? "http://127.0.0.1:8000"; // this server, as browsers name it
const file = process.env.SHOP_DATABASE ?? "shop.sqlite";
const key = process.env.GUICHET_SECRET_KEY;
if (!key) stop("GUICHET_SECRET_KEY is not set. Set it to the secret key that the sandbox prints (sk_test_…).");
if (!existsSync("node_modules/guichet")) stop("The package guichet is not installed: npm install guichet-0.1.0.tgz");

const products = {
  trainers: { amount: "45000", en: "Wouri trainers", fr: "Baskets Wouri" },
  sandals: { amount: "12500", en: "Kribi sandals", fr: "Sandales Kribi" },
};
const customers = {
  "awa@example.com": { email: "awa@example.com", firstname: "Awa", lastname: "Ngono" },
  "paul@example.com": { email: "paul@example.com", firstname: "Paul", lastname: "Biyik" },
};
const customerOf = (request) => customers[request.session.email]; // undefined: nobody is signed in

rmSync(`${file}.lock`, { recursive: true, force: true }); // node-sqlite3-wasm leaves it if the process is killed
const db = new sqlite.Database(file);
db.exec(`
  CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY, customer TEXT NOT NULL, basket TEXT NOT NULL, product TEXT NOT NULL, amount TEXT NOT NULL,
    declines INTEGER NOT NULL DEFAULT 0, paid_by TEXT, UNIQUE (customer, basket, product));
  CREATE TABLE IF NOT EXISTS payments (
    merchant_reference TEXT PRIMARY KEY, order_id TEXT NOT NULL, declines INTEGER NOT NULL, customer TEXT NOT NULL,
    body TEXT NOT NULL, return_nonce TEXT NOT NULL, created_at INTEGER NOT NULL, intent TEXT, payment_ref TEXT UNIQUE,
    read_at INTEGER NOT NULL DEFAULT 0, final_since INTEGER, is_over INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE IF NOT EXISTS refunds_due (
    intent TEXT, attempt TEXT, order_id TEXT NOT NULL, amount TEXT, currency TEXT, PRIMARY KEY (intent, attempt));
`);

const app = express();
app.set("trust proxy", 1); // a proxy in front of this server ends TLS
app.set("json replacer", (_, value) => (typeof value === "string" ? value.replaceAll(key, "***") : value));
app.use("/package", express.static("node_modules/guichet"));
app.use(express.static("page"));
app.use(ownPagesOnly);
app.use((_, response, next) => { response.set("cache-control", "no-store"); next(); });
const cookieKey = mac(key, "session cookie").toString("hex");
app.use(cookieSession({ name: "shop", keys: [cookieKey], sameSite: "lax", secure: shop.startsWith("https:") }));
app.use(express.json({ limit: "64kb" }));

app.post("/guichet/session", signedIn, async (request, response) => {
  const { email } = request.customer;
  const { data } = await callService("POST", "/sessions/create", JSON.stringify({ customer_email: email }));
  if (typeof data?.session_token !== "string" || !equalEmails(data.customer_email, email)) throw mismatch(`a session for ${email}`);
  response.json({ session_token: data.session_token, expires_at: data.expires_at });
});

// The page names a product and its basket. The server sets price, customer and reference, and stores what it will send before it
// sends it. So the same order is the same payment, also if this process is killed here.
app.post("/guichet/intents", signedIn, async (request, response) => {
  const payment = paymentOf(orderOf(request.customer, request.body), request.customer);
  const { merchant_reference, return_nonce, body } = payment;
  const { data } = await callService("POST", "/payment-intents", body, { "idempotency-key": merchant_reference });
  verify(payment, data);
  const { id, checkout_url, status } = data;
  const payment_ref = data.payment_ref ?? id;
  if (typeof checkout_url !== "string") throw mismatch(merchant_reference);
  db.run("UPDATE payments SET intent = ?, payment_ref = ? WHERE merchant_reference = ?", [id, payment_ref, merchant_reference]);
  settle(payment, data);
  response.json({ intent: { id, checkout_url, payment_ref, merchant_reference, status }, return_nonce });
});

app.get("/guichet/intents/:payment_ref", signedIn, async (request, response) => {
  const values = [request.params.payment_ref, request.customer.email];
  const payment = db.get("SELECT * FROM payments WHERE payment_ref = ? AND customer = ?", values);
  if (!payment) throw new Refused(404, "resource_missing", "There is no such payment."); // or it is another customer's
  const { status, last_payment_error } = await readAndSettle(payment);
  response.json({ status, last_payment_error });
});

function orderOf({ email }, wanted) {
  const { id, product } = wanted ?? {};
  const isKnown = typeof id === "string" && /^[\w-]{1,64}$/.test(id) && has(products, product);
  if (!isKnown) throw new Refused(404, "order_missing", "There is no such order.");
  db.run("INSERT OR IGNORE INTO orders (id, customer, basket, product, amount) VALUES (?, ?, ?, ?, ?)",
    [randomBytes(8).toString("hex"), email, id, product, products[product].amount]);
  return db.get("SELECT * FROM orders WHERE customer = ? AND basket = ? AND product = ?", [email, id, product]);
}

function paymentOf({ id, product, amount, declines }, { email, firstname, lastname }) {
  const merchant_reference = `ORDER-${id}` + (declines ? `.${declines}` : ""); // the next one after a final decline
  const return_nonce = nonce(merchant_reference); // the return page matches the return by it
  const body = {
    merchant_reference, amount, currency: "XAF", email, firstname, lastname, description: products[product].en,
    fee_bearer: "customer", redirect_url: `${shop}/?guichet_return=${return_nonce}`,
  };
  const columns = "merchant_reference, order_id, declines, customer, body, return_nonce, created_at";
  db.run(`INSERT OR IGNORE INTO payments (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    [merchant_reference, id, declines, email, JSON.stringify(body), return_nonce, now()]);
  return db.get("SELECT * FROM payments WHERE merchant_reference = ?", merchant_reference);
}

async function readAndSettle(payment) {
  const { data } = await callService("GET", `/payment-intents/${encodeURIComponent(payment.intent)}`);
  verify(payment, data);
  settle(payment, data);
  return data;
}

// Whether the service speaks of the payment that was sold: same intent, reference, amount, currency and owner.
function verify({ intent, merchant_reference, body }, data) {
  const { amount, currency, email } = JSON.parse(body);
  const isTheOneSold = typeof data?.id === "string" && (intent === null || intent === data.id)
    && data.merchant_reference === merchant_reference && String(data.amount) === amount && data.currency === currency
    && equalEmails(data.customer?.email, email);
  if (!isTheOneSold) throw mismatch(merchant_reference);
}

// Stores what the service says about a verified payment. An order becomes paid here and nowhere else, once.
function settle({ merchant_reference, order_id, declines, final_since }, data) {
  const { id, status, attempts } = data;
  if (status === "succeeded") {
    const { changes } = db.run("UPDATE orders SET paid_by = ? WHERE id = ? AND paid_by IS NULL", [merchant_reference, order_id]);
    if (changes) log(`${merchant_reference} is paid.`); // ship it
  } else if (status === "failed" || status === "canceled") {
    // Final: the order's next payment gets the next reference.
    db.run("UPDATE orders SET declines = declines + 1 WHERE id = ? AND declines = ? AND paid_by IS NULL", [order_id, declines]);
  }
  // An operator approved an attempt late, after the customer had paid by another attempt or by the order's next payment. The
  // interface has no refund: make it with the payment company.
  const paidTwice = Array.isArray(data.duplicate_payments) ? [...data.duplicate_payments] : [];
  const { paid_by } = db.get("SELECT paid_by FROM orders WHERE id = ?", order_id);
  if (status === "succeeded" && paid_by !== merchant_reference) paidTwice.push({ ...data, attempt: "successful" });
  for (const { attempt, amount, currency } of paidTwice) {
    const values = [id, String(attempt), order_id, String(amount), String(currency)];
    const { changes } = db.run("INSERT OR IGNORE INTO refunds_due VALUES (?, ?, ?, ?, ?)", values);
    if (changes) log(`${merchant_reference}: a refund of ${amount} ${currency} is due (${id}, attempt ${attempt}).`);
  }
  if (!["succeeded", "failed", "canceled"].includes(status)) return;
  // Only a declined attempt can be approved late, and only for a day: read until then, and once more after it.
  const nothingWasDeclined = attempts <= (status === "succeeded" ? 1 : 0);
  const isOver = nothingWasDeclined || (final_since !== null && now() - final_since > 24 * 60 * 60);
  const values = [final_since ?? now(), isOver ? 1 : 0, merchant_reference];
  db.run("UPDATE payments SET final_since = ?, is_over = ? WHERE merchant_reference = ?", values);
}

// The service calls no webhook, and a customer who pays and closes the tab sends no further request. So the shop reads each payment
// every 3 seconds, an old one every 30, and after its final status every minute.
async function settleDue() {
  const isDue = "intent IS NOT NULL AND is_over = 0 AND read_at <= ?";
  const due = db.all(`SELECT * FROM payments WHERE ${isDue} ORDER BY read_at LIMIT 50`, now());
  await Promise.all(due.map((payment) => {
    const pause = payment.final_since ? 60 : Math.min(30, 3 + Math.floor((now() - payment.created_at) / 60));
    db.run("UPDATE payments SET read_at = ? WHERE merchant_reference = ?", [now() + pause, payment.merchant_reference]);
    return readAndSettle(payment).catch(logUnexpected);
  }));
}
const keepSettling = () => settleDue().catch(logUnexpected).finally(() => setTimeout(keepSettling, 1_000));

// Calls the service with the key. The log gets the cause of a failure; the page gets an error that it can act on.
async function callService(method, path, body, headers) {
  const failed = (why, ...refused) => (log(`${method} ${service}/v1${path}: ${why}`), new Refused(...refused));
  let status, reply;
  try {
    const response = await fetch(`${service}/v1${path}`, {
      method, body, redirect: "error", signal: AbortSignal.timeout(10_000),
      headers: { ...headers, authorization: `Bearer ${key}`, "content-type": "application/json" },
    });
    status = response.status;
    reply = await response.json();
  } catch (error) {
    const why = status ? `${status}, and no JSON` : `no answer (${error.cause?.code ?? error.name}). Is the service running?`;
    throw failed(why, 503, "unavailable", "The payment service does not answer. Please try again.");
  }
  if (status < 300) return reply ?? {};
  const { code, request_id } = reply?.error ?? {};
  const why = `${status} ${code}, ${request_id}: ${reply?.message}`;
  if (status === 429 || status === 503) throw failed(why, status, code, "The payment service is busy. Please try again.");
  // Also if it refuses the key: a 401 would tell the page that nobody is signed in.
  throw failed(why, 502, "service_failed", "The payment service refused the shop's request. Please ask the shop.");
}

// An error response in the service's format, which `guichet` in the page reads.
class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    const error = { code, errors: [], request_id: null, retryable: status === 503 || status === 429 };
    Object.assign(this, { status, body: { status_code: status, response_type: "error", message, data: null, error } });
  }
}
function mismatch(what) {
  log(`${what}: the service's reply is about something else. Look at it by hand.`);
  return new Refused(409, "payment_mismatch", "The payment is not the one of this order. Please ask the shop.");
}

// The routes are called with cookies, so only this shop's pages may call them, and only with JSON, which no form can send.
// Browsers set both headers, and no page can change them. A request without either does not come from a page.
function ownPagesOnly({ headers: { origin, "sec-fetch-site": site, "content-type": type = "application/json" } }, _, next) {
  const isOurs = [undefined, shop].includes(origin) && [undefined, "same-origin", "none"].includes(site);
  if (!isOurs) throw new Refused(403, "cross_site", `Only the pages of ${shop} may call this address.`);
  const isJson = type.split(";")[0].trim().toLowerCase() === "application/json";
  if (!isJson) throw new Refused(415, "unsupported_media_type", "Send JSON.");
  next();
}
function signedIn(request, _, next) {
  request.customer = customerOf(request);
  if (!request.customer) throw new Refused(401, "authentication_required", "Nobody is signed in.");
  next();
}

// 22 characters of [0-9A-Za-z], the same each time for one reference.
function nonce(reference) {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  let [text, number] = ["", BigInt(`0x${mac(mac(key, "guichet return key"), reference).toString("hex")}`)];
  for (let place = 0; place < 43; place += 1, number /= 62n) text = digits[number % 62n] + text;
  return text.slice(0, 22);
}

function mac(secret, text) { return createHmac("sha256", secret).update(text).digest(); }
function has(table, name) { return typeof name === "string" && Object.hasOwn(table, name); }
function now() { return Math.floor(Date.now() / 1000); }
function equalEmails(a, b) { return typeof a === "string" && a.toLowerCase() === b.toLowerCase(); }

// Without the key, and without characters of others' texts that could forge a line or control a terminal.
function log(text) { console.log(text.replaceAll(key, "***").replace(/[^ -~]/g, "?").slice(0, 500)); }
function logUnexpected(error) { if (!(error instanceof Refused)) log(String(error.stack)); } // a Refused was logged with its cause
function stop(why) { console.error(why); process.exit(1); }
// What the demo's page shows, and its sign-in without a password.
app.get("/shop", (request, response) => {
  const customer = customerOf(request);
  const columns = "id, basket, product, paid_by, (SELECT count(*) FROM refunds_due WHERE order_id = id) AS refunds";
  const orders = db.all(`SELECT ${columns} FROM orders WHERE customer = ? ORDER BY rowid`, customer?.email ?? "");
  response.json({ base_url: service, customers: Object.keys(customers), customer: customer?.email ?? null, products, orders });
});
app.post("/sign-in", (request, response) => {
  if (!has(customers, request.body?.email)) throw new Refused(422, "customer_unknown", "There is no such customer.");
  request.session = { email: request.body.email };
  response.json({});
});
app.post("/sign-out", (request, response) => { request.session = null; response.json({}); });
app.use(() => { throw new Refused(404, "route_not_found", "This page does not exist."); });
app.use((error, request, response, _) => {
  const isUnreadable = !(error instanceof Refused) && error.status < 500; // as Express says
  if (!isUnreadable) logUnexpected(error);
  const [status, code] = isUnreadable ? [error.status, "invalid_request"] : [500, "internal_error"];
  const refused = error instanceof Refused ? error : new Refused(status, code, "The shop could not do this. Please try again.");
  response.status(refused.status).json(refused.body);
});
app.listen(process.env.PORT || new URL(shop).port || 8000, "127.0.0.1", () => { console.log(`Open ${shop}`); keepSettling(); });
