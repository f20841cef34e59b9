// A shop's server on Express: its page, the three routes that `guichet` in the page calls, and a
// timer that settles payments. Copy it, then replace the customers, products and sign-in by yours.

import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import express from "express";
import { createShop, ShopError } from "guichet-server";
import { toNode } from "guichet-server/node";
import { sqliteOrders } from "guichet-server/orders";
import Database from "libsql";

const { GUICHET_PROFILE, GUICHET_BASE_URL: base_url, GUICHET_SECRET_KEY: secretKey } = process.env;
const profile = GUICHET_PROFILE ? JSON.parse(readFileSync(GUICHET_PROFILE, "utf8")) : undefined;
// GUICHET_BASE_URL takes the place of every address of the profile.
if (base_url) Object.assign(profile ?? {}, { base_url, gateway_url: null, checkout_origins: [] });
const service = profile?.base_url ?? base_url ?? "http://127.0.0.1:4243"; // the sandbox
const pages = process.env.GUICHET_PUBLIC_URL ?? service; // the service, as browsers name it
const { checkout_origins = [] } = profile ?? {};
if (checkout_origins.length === 0) checkout_origins.push(new URL(pages).origin);
// The hosts of a sandbox elsewhere, by plain http.
const plainHosts = process.env.GUICHET_PLAIN_HOSTS?.split(",").filter(Boolean) ?? [];
parseArgs(); // refuses any: the settings are of the environment
const origin = originOf("SHOP_URL") ?? "http://127.0.0.1:8000"; // this server, as browsers name it
const page = originOf("SHOP_ORIGIN"); // the page's origin, if it is not this server's
if (!secretKey) throw new Error("Set GUICHET_SECRET_KEY to the key that the sandbox prints.");

// An origin as browsers write it, since `Origin` is compared with it.
function originOf(name) {
  const text = process.env[name];
  if (!text) return undefined;
  const { origin, href, protocol, hostname } = URL.canParse(text) ? new URL(text) : {};
  const isHere = /^((.+\.)?localhost|.+\.test|127\.[\d.]+|\[::1\])$/.test(hostname);
  const isSafe = protocol === "https:" || isHere;
  if (isSafe && href === `${origin}/`) return origin;
  throw new Error(`${name} must be an origin, https://shop.example (http: .test, here): ${text}`);
}

const db = new Database(process.env.SHOP_DATABASE ?? "shop.sqlite", { timeout: 5_000 });
db.exec(`
  CREATE TABLE IF NOT EXISTS customers
    (id TEXT PRIMARY KEY, firstname TEXT, lastname TEXT, verified_email TEXT, phone TEXT);
  CREATE TABLE IF NOT EXISTS logins (token_hash TEXT PRIMARY KEY, customer_id TEXT, began INTEGER);
  CREATE TABLE IF NOT EXISTS products (id TEXT PRIMARY KEY, amount TEXT, en TEXT, fr TEXT);
  CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, customer_id TEXT, basket TEXT,
    product_id TEXT, version INTEGER NOT NULL DEFAULT 0, state TEXT, paid_by TEXT,
    refunds TEXT NOT NULL DEFAULT '[]', UNIQUE (customer_id, basket, product_id));
  INSERT OR IGNORE INTO customers VALUES
    ('awa', 'Awa', 'Ngono', 'awa@example.com', NULL),
    ('fatou', 'Fatou', 'Sali', NULL, '237670000000'),
    ('paul', 'Paul', 'Biyik', 'paul@example.com', NULL);
  INSERT INTO products SELECT * FROM (VALUES
    ('trainers', '45000', 'Wouri trainers', 'Baskets Wouri'),
    ('sandals', '12500', 'Kribi sandals', 'Sandales Kribi'))
    WHERE NOT EXISTS (SELECT * FROM products);
`);

const shop = createShop({
  baseUrl: service,
  profile,
  secretKey,
  plainHosts,
  origins: page ? [origin, page] : [origin],
  checkoutOrigins: checkout_origins,
  customer({ headers }) {
    const language = /^fr/i.test(headers.get("accept-language")) ? "fr" : "en";
    const customer = customerOf(headers.get("cookie"));
    return customer && { ...customer, emailVerified: true, language };
  },
  // The page names a product and its basket. The server sets price, customer and order.
  purchase(order, customer) {
    const { id: name, basket, product_id } = orderOf(order ?? {}, customer);
    const product = db.prepare("SELECT * FROM products WHERE id = ?").get(product_id);
    if (!product) return { name, ended: true };
    const back = basket.startsWith("next:") ? `${origin}/guichet/return` : `${page ?? origin}/`;
    const { firstname, lastname, email, phone } = customer;
    const payer = { firstname, lastname, ...(email ? { email } : { phone }), redirect_url: back };
    const price = { amount: product.amount, currency: "XAF", fee_bearer: "customer" };
    return { name, ...price, ...payer, description: product[customer.language] };
  },
  // What an order has become. Each state comes at least once, and an older one changes nothing.
  orderChanged({ name, version, state, paid_by, refunds_due }) {
    const before = db.prepare("SELECT state, refunds FROM orders WHERE id = ?").get(name);
    const sql = `UPDATE orders SET version = ?, state = ?, paid_by = ?, refunds = ?
      WHERE id = ? AND version < ?`;
    const after = [version, state, paid_by?.reference ?? null, JSON.stringify(refunds_due)];
    if (!db.prepare(sql).run(...after, name, version).changes) return;
    const odd = { paid_other_sum: "with another sum", paid_after_end: "after its end" }[state];
    if (state === "paid" && state !== before.state) console.log(name, "is paid."); // ship it
    if (odd && state !== before.state) console.log(`${name} is paid ${odd}: a person decides.`);
    const paymentOf = ({ id, attempt }) => (attempt ? `${id}, attempt ${attempt}` : id); // or all
    const known = JSON.parse(before.refunds).map(paymentOf);
    for (const refund of refunds_due.filter((due) => !known.includes(paymentOf(due)))) {
      const sum = `${refund.amount} ${refund.currency}${refund.plus_fee ? " and the fee" : ""}`;
      console.log(`${name}: a refund of ${sum} is due (${paymentOf(refund)}).`);
    }
  },
  orders: sqliteOrders(db), // has tables of its own there
});

function orderOf({ id, product }, { id: customer }) {
  const missing = new ShopError(404, "order_missing", "There is no such order.");
  const isName = (text) => typeof text === "string" && /^[\w-]{1,64}$/.test(text);
  if (!isName(id) || !isName(product)) throw missing;
  // A form has no number of its own: it means one order of this product, until that is paid. No
  // page can name that order, because of the colon.
  const count = `SELECT count(paid_by) AS paid FROM orders
    WHERE customer_id = ? AND product_id = ? AND basket LIKE 'next:%'`;
  const basket = id === "next" ? `next:${db.prepare(count).get(customer, product).paid}` : id;
  const insert = `INSERT OR IGNORE INTO orders (id, customer_id, basket, product_id)
    SELECT ?, ?, ?, id FROM products WHERE id = ?`;
  db.prepare(insert).run(`ORDER-${randomBytes(8).toString("hex")}`, customer, basket, product);
  const find = "SELECT * FROM orders WHERE customer_id = ? AND basket = ? AND product_id = ?";
  const order = db.prepare(find).get(customer, basket, product);
  if (!order) throw missing;
  return order;
}

// No page asks for the payment of a customer who pays and closes the tab.
let round, timer;
async function keepSettling() {
  round = shop.settle();
  const { failed, notReadable } = await round;
  for (const error of failed) console.error(error.cause ?? error);
  if (notReadable.length > 0) console.error("Look at the payment company for", notReadable);
  if (server.listening) timer = setTimeout(keepSettling, 1_000);
}

// A login is a row, found by the hash of the cookie's random token. Signing out deletes it.
const MONTH = 30 * 24 * 60 * 60;
const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const loginOf = (cookies) => sha256(/(?:^|; )shop=([0-9a-f]{64})/.exec(cookies)?.[1] ?? "");
function customerOf(cookies) {
  const sql = `SELECT customers.*, verified_email AS email, token_hash AS login FROM customers
    JOIN logins ON customer_id = id WHERE token_hash = ? AND began > unixepoch() - ${MONTH}`;
  return db.prepare(sql).get(loginOf(cookies));
}
async function endLogin({ headers }) {
  const login = loginOf(headers.cookie);
  if (!db.prepare("DELETE FROM logins WHERE token_hash = ?").run(login).changes) return;
  // And the session tokens that its pages got. One that is not ended here expires by itself.
  const { failed } = await shop.signOut(login);
  for (const error of failed) console.error(error.cause ?? error);
}

const app = express();
app.use("/package", express.static("node_modules/guichet"));
app.use(express.static("page"));
app.use(toNode(shop));

// Other sites' pages are refused: without CORS they cannot read an answer, but the request is sent.
// The page of SHOP_ORIGIN may read the following, with the cookie.
app.use(({ headers, method }, response, next) => {
  response.vary("origin");
  const { origin: sender = origin, "sec-fetch-site": site = "none" } = headers;
  const isPage = sender === page;
  const sites = isPage ? ["none", "same-origin", "same-site"] : ["none", "same-origin"];
  if (!(isPage || sender === origin) || !sites.includes(site)) return response.sendStatus(403);
  if (!isPage) return next();
  response.set({
    "access-control-allow-origin": page,
    "access-control-allow-credentials": "true",
    "access-control-allow-headers": "content-type",
  });
  if (method === "OPTIONS") response.sendStatus(204);
  else next();
});

// What the demo's page shows, and its sign-in without a password.
app.get("/shop", ({ headers }, response) => {
  const customer = customerOf(headers.cookie)?.id ?? null;
  const customers = db.prepare("SELECT id FROM customers ORDER BY id").pluck().all();
  const products = db.prepare("SELECT * FROM products").all();
  const sql = `SELECT id, customer_id, basket, product_id, paid_by,
    json_array_length(refunds) AS refunds FROM orders WHERE customer_id = ? ORDER BY rowid`;
  const shown = { customers, customer, products, orders: db.prepare(sql).all(customer ?? "") };
  response.set("cache-control", "no-store").json({ base_url: pages, checkout_origins, ...shown });
});
// JSON, or a form of the page while its script does not run.
app.post("/*path", express.json(), express.urlencoded(), ({ body }, response, next) => {
  if (body) next();
  else response.sendStatus(415);
});
const answer = (request, response) => {
  if (request.is("urlencoded")) response.redirect(303, `${request.headers.origin ?? ""}/`);
  else response.json({});
};
const cookie = { httpOnly: true, sameSite: "lax", secure: origin.startsWith("https:") };
app.post("/sign-in", async (request, response) => {
  const id = request.body.customer;
  const known = db.prepare("SELECT id FROM customers WHERE id = ?");
  if (typeof id !== "string" || !known.get(id)) return response.sendStatus(422);
  await endLogin(request);
  const token = randomBytes(32).toString("hex");
  db.prepare("INSERT INTO logins VALUES (?, ?, unixepoch())").run(sha256(token), id);
  response.cookie("shop", token, cookie);
  answer(request, response);
});
app.post("/sign-out", async (request, response) => {
  await endLogin(request);
  response.clearCookie("shop", cookie);
  answer(request, response);
});
// Express's own error pages would drop the headers of CORS.
app.use((_, response) => response.sendStatus(404));
app.use((error, _, response, next) => {
  if (response.headersSent) return next(error);
  if (!(error.status < 500)) console.error(error);
  response.sendStatus(error.status ?? 500);
});

const host = process.env.HOST || "127.0.0.1";
const server = app.listen(process.env.PORT || new URL(origin).port || 8000, host, () => {
  console.log(`Open ${origin}`);
  keepSettling();
});

// The first process of a container does not end by a signal that it does not listen for.
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, stop);
function stop() {
  clearTimeout(timer);
  // What has begun is answered first.
  server.close(() => Promise.resolve(round).finally(() => process.exit()));
  setTimeout(() => process.exit(), 5_000);
}
