// A shop's server on Express: its page, the three routes that `guichet` in the page calls, and a
// timer that settles payments. README.md says how to run it, docs/shop.md why it does what it does.
// Copy it, then replace the demo's customers, products and sign-in by your own.

import { createHash, randomBytes } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import express from "express";
import sqlite from "node-sqlite3-wasm";

const service = process.env.GUICHET_BASE_URL ?? "http://127.0.0.1:4243"; // the sandbox
const shop = process.env.SHOP_URL ?? "http://127.0.0.1:8000"; // this server, as browsers name it
const file = process.env.SHOP_DATABASE ?? "shop.sqlite";
const key = process.env.GUICHET_SECRET_KEY;
if (!key) stop("Set GUICHET_SECRET_KEY to the secret key that the sandbox prints (sk_test_…).");
if (!existsSync("node_modules/guichet")) stop("First run: npm install guichet-0.1.0.tgz");
const [DAY, MAX_OPEN] = [24 * 60 * 60, 20];

rmSync(`${file}.lock`, { recursive: true, force: true }); // a killed process leaves it
const db = new sqlite.Database(file);
db.exec(`
  CREATE TABLE IF NOT EXISTS customers (
    id TEXT PRIMARY KEY, firstname TEXT NOT NULL, lastname TEXT NOT NULL, verified_email TEXT,
    phone TEXT);
  CREATE TABLE IF NOT EXISTS logins (
    token_hash TEXT PRIMARY KEY, customer_id TEXT NOT NULL, created_at INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS products (
    id TEXT PRIMARY KEY, amount TEXT NOT NULL, en TEXT NOT NULL, fr TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY, customer_id TEXT NOT NULL, basket TEXT NOT NULL, product_id TEXT NOT NULL,
    declines INTEGER NOT NULL DEFAULT 0, paid_by TEXT, UNIQUE (customer_id, basket, product_id));
  CREATE TABLE IF NOT EXISTS payments (
    merchant_reference TEXT PRIMARY KEY, order_id TEXT NOT NULL, declines INTEGER NOT NULL,
    customer_id TEXT NOT NULL, body TEXT NOT NULL, return_nonce TEXT NOT NULL,
    created_at INTEGER NOT NULL, intent TEXT, payment_ref TEXT UNIQUE, returned_at INTEGER,
    read_at INTEGER NOT NULL DEFAULT 0, final_since INTEGER, is_over INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE IF NOT EXISTS refunds_due (
    intent TEXT, attempt TEXT, order_id TEXT NOT NULL, amount TEXT, currency TEXT,
    PRIMARY KEY (intent, attempt));
  INSERT OR IGNORE INTO customers VALUES
    ('awa', 'Awa', 'Ngono', 'awa@example.com', NULL),
    ('fatou', 'Fatou', 'Sali', NULL, '237670000000'),
    ('paul', 'Paul', 'Biyik', 'paul@example.com', NULL);
  INSERT INTO products SELECT * FROM (VALUES
    ('trainers', '45000', 'Wouri trainers', 'Baskets Wouri'),
    ('sandals', '12500', 'Kribi sandals', 'Sandales Kribi'))
    WHERE NOT EXISTS (SELECT * FROM products);
`);

const app = express();
const hide = (_, value) => (typeof value === "string" ? value.replaceAll(key, "***") : value);
app.set("json replacer", hide);
app.use("/package", express.static("node_modules/guichet"));
app.use(express.static("page"));
app.use(ownPagesOnly);
app.use(express.json({ limit: "64kb" }));

app.post("/guichet/session", signedIn, async (request, response) => {
  const email = request.customer.verified_email;
  if (!email) throw new Refused(403, "email_not_verified", "The customer has no verified e-mail.");
  const body = JSON.stringify({ customer_email: email });
  const data = await callService("POST", "/sessions/create", body);
  const { session_token, customer_email, expires_at } = data;
  const isTheirs = typeof session_token === "string" && equalEmails(customer_email, email);
  if (!isTheirs) throw mismatch("a session");
  response.json({ session_token, expires_at });
});

// The page names a product and its basket. The server sets price, customer and reference. It stores
// what it will send before it sends it: the same order is the same payment, also if it is killed.
app.post("/guichet/intents", signedIn, async (request, response) => {
  const payment = paymentOf(orderOf(request.customer, request.body), request.customer);
  const { merchant_reference, return_nonce, body } = payment;
  const headers = { "idempotency-key": merchant_reference };
  const data = await callService("POST", "/payment-intents", body, headers);
  verifyAndSettle(payment, data);
  const { id, checkout_url, status } = data;
  const payment_ref = data.payment_ref ?? id;
  if (typeof checkout_url !== "string") throw mismatch(merchant_reference);
  const sql = "UPDATE payments SET intent = ?, payment_ref = ? WHERE merchant_reference = ?";
  db.run(sql, [id, payment_ref, merchant_reference]);
  const intent = { id, checkout_url, payment_ref, merchant_reference, status };
  response.json({ intent, return_nonce });
});

app.get("/guichet/intents/:payment_ref", signedIn, async (request, response) => {
  const sql = `UPDATE payments SET returned_at = ? WHERE payment_ref = ? AND customer_id = ?
    RETURNING *`;
  const payment = db.get(sql, [now(), request.params.payment_ref, request.customer.id]);
  // Another customer's payment is answered like an unknown one.
  if (!payment) throw new Refused(404, "resource_missing", "There is no such payment.");
  const { status, last_payment_error } = await readAndSettle(payment);
  response.json({ status, last_payment_error });
});

function orderOf(customer, wanted) {
  const { id, product } = wanted ?? {};
  const missing = new Refused(404, "order_missing", "There is no such order.");
  const isName = (text) => typeof text === "string" && /^[\w-]{1,64}$/.test(text);
  if (!isName(id) || !isName(product)) throw missing;
  const sql = `INSERT OR IGNORE INTO orders (id, customer_id, basket, product_id)
    SELECT ?, ?, ?, id FROM products WHERE id = ?`;
  db.run(sql, [randomBytes(8).toString("hex"), customer.id, id, product]);
  const found = "customer_id = ? AND basket = ? AND product_id = ?";
  const order = db.get(`SELECT * FROM orders WHERE ${found}`, [customer.id, id, product]);
  if (!order) throw missing;
  return order;
}

// The payment of an order's reference, which is the next one after a final decline. What was stored
// is sent again, so an open payment keeps its price. A new reference takes today's.
function paymentOf(order, customer) {
  const reference = `ORDER-${order.id}` + (order.declines ? `.${order.declines}` : "");
  const find = () => db.get("SELECT * FROM payments WHERE merchant_reference = ?", reference);
  const stored = find();
  if (stored) return stored;
  const product = db.get("SELECT * FROM products WHERE id = ?", order.product_id);
  if (!product) throw new Refused(409, "order_ended", "The shop no longer sells this.");
  const return_nonce = randomBytes(11).toString("hex"); // the return page matches the return by it
  const { firstname, lastname, verified_email, phone } = customer;
  const body = JSON.stringify({
    ...{ merchant_reference: reference, description: product.en, fee_bearer: "customer" },
    ...{ amount: product.amount, currency: "XAF", firstname, lastname },
    ...(verified_email ? { email: verified_email } : { phone }),
    redirect_url: `${shop}/?guichet_return=${return_nonce}`,
  });
  // One statement counts and inserts. What the service did not get is not open for long.
  const sql = `INSERT INTO payments
    (merchant_reference, order_id, declines, customer_id, body, return_nonce, created_at)
    SELECT ?, ?, ?, ?, ?, ?, ? WHERE ${MAX_OPEN} > (SELECT count(*) FROM payments
      WHERE customer_id = ? AND final_since IS NULL AND (intent IS NOT NULL OR created_at > ?))`;
  const values = [reference, order.id, order.declines, customer.id, body, return_nonce];
  db.run(sql, [...values, now(), customer.id, now() - 60]);
  const payment = find();
  if (payment) return payment;
  const message = `You have ${MAX_OPEN} unpaid payments. Pay or cancel one of them first.`;
  throw new Refused(409, "too_many_open_payments", message);
}

async function readAndSettle(payment) {
  const path = `/payment-intents/${encodeURIComponent(payment.intent)}`;
  const data = await callService("GET", path);
  verifyAndSettle(payment, data);
  return data;
}

// Stores what the service says, if it speaks of the payment that was sold: same intent, reference,
// amount, currency and e-mail. An order becomes paid here and nowhere else, once.
function verifyAndSettle(payment, data) {
  const { merchant_reference, order_id, declines, final_since } = payment;
  const sold = JSON.parse(payment.body);
  const isTheOneSold =
    typeof data.id === "string" &&
    [null, data.id].includes(payment.intent) &&
    data.merchant_reference === merchant_reference &&
    String(data.amount) === sold.amount &&
    data.currency === sold.currency &&
    (!sold.email || equalEmails(data.customer?.email, sold.email));
  if (!isTheOneSold) throw mismatch(merchant_reference);
  const { id, status, attempts } = data;
  const unpaid = "WHERE id = ? AND paid_by IS NULL";
  if (status === "succeeded") {
    const sql = `UPDATE orders SET paid_by = ? ${unpaid}`;
    const { changes } = db.run(sql, [merchant_reference, order_id]);
    if (changes) log(`${merchant_reference} is paid.`); // ship it
  } else if (status === "failed" || status === "canceled") {
    // Final: the order's next payment gets the next reference.
    const sql = `UPDATE orders SET declines = declines + 1 ${unpaid} AND declines = ?`;
    db.run(sql, [order_id, declines]);
  }
  // An operator approved an attempt late, after the customer had paid by another attempt or by the
  // order's next payment. The interface has no refund: make it with the payment company.
  // If the service gives no number, the place in its list, which only grows, stands for it.
  const duplicates = Array.isArray(data.duplicate_payments) ? data.duplicate_payments : [];
  duplicates.forEach((one, i) => refundDue(payment, id, one.attempt || 0xffffffff - i, one));
  const { paid_by } = db.get("SELECT paid_by FROM orders WHERE id = ?", order_id);
  const isSecond = status === "succeeded" && paid_by !== merchant_reference;
  if (isSecond) refundDue(payment, id, "successful", data);
  if (!["succeeded", "failed", "canceled"].includes(status)) return;
  // Only a declined attempt can be approved late, and only for a day: read it once more after that.
  const nothingWasDeclined = attempts <= (status === "succeeded" ? 1 : 0);
  const since = final_since ?? now();
  const sql = "UPDATE payments SET final_since = ?, is_over = ? WHERE merchant_reference = ?";
  const isOver = nothingWasDeclined || now() - since > DAY;
  db.run(sql, [since, Number(isOver), merchant_reference]);
}

function refundDue({ merchant_reference, order_id }, id, attempt, { amount, currency }) {
  const values = [id, String(attempt), order_id, String(amount), String(currency)];
  const { changes } = db.run("INSERT OR IGNORE INTO refunds_due VALUES (?, ?, ?, ?, ?)", values);
  const refund = `a refund of ${amount} ${currency} is due (${id}, attempt ${attempt})`;
  if (changes) log(`${merchant_reference}: ${refund}.`);
}

// The service calls no webhook, and a customer who pays and closes the tab sends no more requests.
// So the shop reads each payment every 3 seconds, an old one every 30, a final one every minute. A
// round reads every customer's first payment before anyone's second, and 8 at a time.
async function settleDue() {
  const sql = `SELECT *, ROW_NUMBER() OVER (
      PARTITION BY customer_id ORDER BY returned_at IS NULL, created_at DESC) AS place
    FROM payments WHERE intent IS NOT NULL AND is_over = 0 AND read_at <= ?
    ORDER BY place, returned_at IS NULL, created_at DESC LIMIT 50`;
  const due = db.all(sql, now()).values();
  const readOn = async () => {
    for (const payment of due) {
      const { merchant_reference, final_since, created_at } = payment;
      const pause = final_since ? 60 : Math.min(30, 3 + Math.floor((now() - created_at) / 60));
      const sql = "UPDATE payments SET read_at = ? WHERE merchant_reference = ?";
      db.run(sql, [now() + pause, merchant_reference]);
      await readAndSettle(payment).catch(logUnexpected);
    }
  };
  await Promise.all(Array.from({ length: 8 }, readOn));
}
async function keepSettling() {
  await settleDue().catch(logUnexpected);
  setTimeout(keepSettling, 1_000);
}

// Calls the service with the key. The log gets the cause of a failure, the page an error to act on.
async function callService(method, path, body, more) {
  const url = `${service}/v1${path}`;
  const headers = { ...more, authorization: `Bearer ${key}`, "content-type": "application/json" };
  const options = { method, body, headers, redirect: "error", signal: AbortSignal.timeout(10_000) };
  let [status, reply] = ["no answer"];
  try {
    const response = await fetch(url, options);
    status = response.status;
    reply = (await response.json()) ?? {};
  } catch (error) {
    const cause = error.cause?.code ?? error.name;
    log(`${method} ${url}: ${status} (${cause}). Is the service running?`);
    throw new Refused(503, "unavailable", "The payment service does not answer. Please try again.");
  }
  if (status < 300) return reply.data ?? {};
  const { code, request_id } = reply.error ?? {};
  log(`${method} ${url}: ${status} ${code}, ${request_id}: ${reply.message}`);
  const busy = { 429: "rate_limited", 503: "unavailable" }[status];
  if (busy) throw new Refused(status, busy, "The payment service is busy. Please try again.");
  // Also if it refuses the key: a 401 would tell the page that nobody is signed in.
  const message = "The payment service refused the shop's request. Please ask the shop.";
  throw new Refused(502, "service_failed", message);
}

// An error response in the service's format, which `guichet` in the page reads.
class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    const retryable = status === 503 || status === 429;
    const error = { code, errors: [], request_id: null, retryable };
    this.status = status;
    this.body = { status_code: status, response_type: "error", message, data: null, error };
  }
}
function mismatch(what) {
  log(`${what}: the service's reply is about something else. Look at it by hand.`);
  const message = "The payment is not the one of this order. Please ask the shop.";
  return new Refused(409, "payment_mismatch", message);
}

// Only this shop's pages may send the cookie, and only with JSON, which no form can send. Browsers
// set both headers, and no page can change them. A request without either comes from no page.
function ownPagesOnly({ headers }, response, next) {
  response.set("cache-control", "no-store");
  const { origin, "sec-fetch-site": site, "content-type": type = "application/json" } = headers;
  if (![undefined, shop].includes(origin) || ![undefined, "same-origin", "none"].includes(site)) {
    throw new Refused(403, "cross_site", `Only the pages of ${shop} may call this address.`);
  }
  const isJson = type.split(";")[0].trim().toLowerCase() === "application/json";
  if (!isJson) throw new Refused(415, "unsupported_media_type", "Send JSON.");
  next();
}

// A login is a row, found by the hash of the cookie's random token. Signing out deletes it.
function loginOf({ headers }) {
  const [, token] = /(?:^|; )shop=([0-9a-f]{64})(?:;|$)/.exec(headers.cookie ?? "") ?? [];
  return token ? sha256(token) : "";
}
function customerOf(request) {
  const sql = `SELECT customers.* FROM customers JOIN logins ON customer_id = customers.id
    WHERE token_hash = ? AND created_at > ?`;
  return db.get(sql, [loginOf(request), now() - 30 * DAY]);
}
function signedIn(request, _, next) {
  request.customer = customerOf(request);
  if (!request.customer) throw new Refused(401, "authentication_required", "Nobody is signed in.");
  next();
}

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const now = () => Math.floor(Date.now() / 1000);
const equalEmails = (a, b) => typeof a === "string" && a.toLowerCase() === b.toLowerCase();

// Without the key, and without characters that could forge a line or control a terminal.
function log(text) {
  const shown = text.replaceAll(key, "***").replace(/[^ -~]/g, "?");
  console.log(shown.slice(0, 500));
}
function logUnexpected(error) {
  if (!(error instanceof Refused)) log(String(error.stack)); // a Refused was logged with its cause
}
function stop(why) {
  console.error(why);
  process.exit(1);
}

// What the demo's page shows, and its sign-in without a password.
app.get("/shop", (request, response) => {
  const customer = customerOf(request)?.id ?? null;
  const customers = db.all("SELECT id FROM customers ORDER BY id").map(({ id }) => id);
  const products = db.all("SELECT * FROM products");
  const sql = `SELECT id, basket, product_id, paid_by,
    (SELECT count(*) FROM refunds_due WHERE order_id = id) AS refunds
    FROM orders WHERE customer_id = ? ORDER BY rowid`;
  const orders = db.all(sql, customer);
  response.json({ base_url: service, customers, customer, products, orders });
});
function endLogin(request) {
  const sql = "DELETE FROM logins WHERE token_hash = ? OR created_at <= ?";
  db.run(sql, [loginOf(request), now() - 30 * DAY]);
}
const cookie = { httpOnly: true, sameSite: "lax", secure: shop.startsWith("https:") };
app.post("/sign-in", (request, response) => {
  const id = request.body?.customer;
  const isKnown = typeof id === "string" && db.get("SELECT id FROM customers WHERE id = ?", id);
  if (!isKnown) throw new Refused(422, "customer_unknown", "There is no such customer.");
  endLogin(request);
  const token = randomBytes(32).toString("hex");
  db.run("INSERT INTO logins VALUES (?, ?, ?)", [sha256(token), id, now()]);
  response.cookie("shop", token, cookie).json({});
});
app.post("/sign-out", (request, response) => {
  endLogin(request);
  response.clearCookie("shop", cookie).json({});
});

app.use(() => {
  throw new Refused(404, "route_not_found", "This page does not exist.");
});
app.use((error, request, response, _) => {
  const status = error.status < 500 ? error.status : 500; // as Express says
  if (status === 500) logUnexpected(error);
  const code = status === 500 ? "internal_error" : "invalid_request";
  const message = "The shop could not do this. Please try again.";
  const { body } = error instanceof Refused ? error : new Refused(status, code, message);
  response.status(body.status_code).json(body);
});
app.listen(process.env.PORT || new URL(shop).port || 8000, "127.0.0.1", () => {
  console.log(`Open ${shop}`);
  keepSettling();
});
