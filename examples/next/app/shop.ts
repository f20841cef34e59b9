import "server-only"; // the build fails if a client component imports this file
import { createHash, randomBytes } from "node:crypto";
import Database from "libsql";
import { cookies } from "next/headers";
import { createShop, ShopError, type OrderChanged, type ShopServer } from "guichet-server";
import { sqliteOrders } from "guichet-server/orders";

// The payment service and this shop's own address. Read at run time: one build serves every environment.
const baseUrl = process.env.GUICHET_BASE_URL ?? "http://127.0.0.1:4243"; // the sandbox
export const service = process.env.GUICHET_PUBLIC_URL ?? baseUrl; // the same, as browsers name it
const origin = originOf("SHOP_URL") ?? "http://localhost:3000";
const page = originOf("SHOP_ORIGIN"); // the page's origin, if it is not this server's

/** An origin as browsers write it, since `Origin` is compared with it. */
function originOf(name: string) {
  const text = process.env[name];
  if (!text) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url && (url.protocol === "https:" || /^((.+\.)?localhost|.+\.test|127\.[\d.]+|\[::1\])$/.test(url.hostname));
  if (isSafe && url.href === `${url.origin}/`) return url.origin;
  throw new Error(`${name} must be an origin, https://shop.example (http:// is for .test and here): ${text}`);
}

export const product = { name: "A pair of runners", amount: "5000", currency: "XAF" };
// Your customers. They have verified their e-mail.
const customers = new Map(
  [
    { id: "awa", firstname: "Awa", lastname: "Ngono", email: "awa@example.com", emailVerified: true },
    { id: "paul", firstname: "Paul", lastname: "Biyik", email: "paul@example.com", emailVerified: true },
  ].map((customer) => [customer.id, customer]),
);

interface Shop extends ShopServer {
  db: Database.Database;
}

// Each route has a module of its own: they share one shop, which is opened by the first of them, and not by the build.
const shared = globalThis as { shop?: Shop };
export const shop = () => (shared.shop ??= open());

function open(): Shop {
  const secretKey = process.env.GUICHET_SECRET_KEY;
  if (!secretKey) throw new Error("Set GUICHET_SECRET_KEY to the secret key that the sandbox prints (sk_test_…).");
  const file = process.env.SHOP_DATABASE ?? "shop.sqlite";
  const db = new Database(file, { timeout: 5_000 }); // else several processes that start at once would fail
  db.exec("CREATE TABLE IF NOT EXISTS logins (token_hash TEXT PRIMARY KEY, customer TEXT NOT NULL)");
  db.exec(`CREATE TABLE IF NOT EXISTS orders
    (name TEXT PRIMARY KEY, version INTEGER NOT NULL, state TEXT NOT NULL, paid_by TEXT, refunds TEXT NOT NULL)`);
  const made = createShop({
    baseUrl,
    plainHosts: process.env.GUICHET_PLAIN_HOSTS?.split(",").filter(Boolean) ?? [], // of a sandbox in another container
    checkoutOrigins: [new URL(service).origin],
    secretKey,
    customer,
    origins: [origin, ...(page ? [page] : [])],
    // The page names an order. The server sets its price and customer.
    purchase(order, { id: buyer, firstname, lastname, email }) {
      const id = (order as { id?: unknown } | null)?.id;
      if (typeof id !== "string" || !/^[\w-]{1,64}$/.test(id)) throw new ShopError(404, "order_missing", "There is no such order.");
      const { amount, currency, name: description } = product;
      const price = { amount, currency, description, fee_bearer: "customer" };
      return { name: `ORDER-${keyOf(buyer, id)}`, ...price, firstname, lastname, email, redirect_url: `${page ?? origin}/return` };
    },
    orderChanged: (changed) => orderChanged(db, changed),
    orders: sqliteOrders(db), // has its own tables in the database
  });
  // No page asks for the payment of a customer who pays and closes the tab.
  setInterval(async () => {
    const { failed, notReadable } = await made.settle();
    for (const error of failed) console.error(error.cause ?? error);
    if (notReadable.length > 0) console.error("Look at the payment company for", notReadable);
  }, 1_000);
  return { ...made, db };
}

/** Stores what an order has become: each state comes at least once, and an older one changes nothing. */
function orderChanged(db: Database.Database, { name, version, state, paid_by, refunds_due }: OrderChanged) {
  const before = db.prepare<[string]>("SELECT state, refunds FROM orders WHERE name = ?").get(name) as { state: string; refunds: string } | undefined;
  const sql = `INSERT INTO orders VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET version = excluded.version,
    state = excluded.state, paid_by = excluded.paid_by, refunds = excluded.refunds WHERE orders.version < excluded.version`;
  if (!db.prepare(sql).run(name, version, state, paid_by?.reference ?? null, JSON.stringify(refunds_due)).changes) return;
  const news = {
    unpaid: "",
    paid: "is paid.",
    paid_other_sum: "is paid by another sum: decide.",
    paid_after_end: "is paid, and was no longer sold: decide.",
  }[state];
  if (news && state !== before?.state) console.log(name, news); // ship what is paid
  type Refund = OrderChanged["refunds_due"][number];
  const paymentOf = ({ id, attempt }: Refund) => (attempt ? `${id}, attempt ${attempt}` : id); // or the whole of it
  const known = (JSON.parse(before?.refunds ?? "[]") as Refund[]).map(paymentOf);
  for (const refund of refunds_due.filter((due) => !known.includes(paymentOf(due)))) {
    const sum = `${refund.amount} ${refund.currency}${refund.plus_fee ? " and the fee" : ""}`;
    console.log(`${name}: a refund of ${sum} is due (${paymentOf(refund)}).`); // make it with the payment company
  }
}

/** An order's own key: two customers may call theirs the same. */
const keyOf = (buyer: string, id: string) => hash(JSON.stringify([buyer, id])).slice(0, 32);

// A login is a row, found by the hash of the cookie's random token. Signing out deletes it.
const hash = (token: string | undefined) => createHash("sha256").update(token ?? "").digest("hex");
const login = async () => hash((await cookies()).get("shop")?.value);

/** Who is signed in. */
export async function customer() {
  const own = await login();
  const row = shop().db.prepare("SELECT customer FROM logins WHERE token_hash = ?").get(own);
  const known = customers.get((row as { customer: string } | undefined)?.customer ?? "");
  return known && { ...known, login: own };
}

/** Refuses other sites' pages: without CORS they cannot read the answer, but the request is sent. */
function isOurs({ headers }: Request) {
  const [sender, site] = [headers.get("origin") ?? origin, headers.get("sec-fetch-site") ?? "none"];
  const sites = sender === page ? ["none", "same-origin", "same-site"] : ["none", "same-origin"];
  return (sender === origin || sender === page) && sites.includes(site);
}

/** An answer that the page of SHOP_ORIGIN, and no other, may read, with the cookie. A form of a page without script goes back to it. */
function answer(request: Request, status: number) {
  const headers = new Headers({ vary: "origin" });
  const sender = request.headers.get("origin");
  if (page && sender === page) {
    headers.set("access-control-allow-origin", page);
    headers.set("access-control-allow-credentials", "true");
    headers.set("access-control-allow-headers", "content-type");
  }
  const isForm = request.headers.get("content-type")?.startsWith("application/x-www-form-urlencoded");
  if (isForm && status === 204) headers.set("location", `${sender ?? ""}/`);
  return new Response(null, { status: headers.has("location") ? 303 : status, headers });
}

export const preflight = (request: Request) => answer(request, isOurs(request) ? 204 : 403);

/** Signs in without a password: replace it by your own. */
export async function signIn(request: Request) {
  if (!isOurs(request)) return answer(request, 403);
  const type = request.headers.get("content-type")?.split(";")[0];
  const isForm = type === "application/x-www-form-urlencoded";
  if (!isForm && type !== "application/json") return answer(request, 415);
  const body = isForm ? Object.fromEntries(await request.formData()) : await request.json().catch(() => ({}));
  const { customer } = Object(body);
  if (!customers.has(customer)) return answer(request, 422);
  const token = randomBytes(32).toString("hex");
  shop().db.prepare("INSERT INTO logins VALUES (?, ?)").run(hash(token), customer);
  (await cookies()).set("shop", token, { httpOnly: true, sameSite: "lax", secure: origin.startsWith("https:") });
  return answer(request, 204);
}

export async function signOut(request: Request) {
  if (!isOurs(request)) return answer(request, 403);
  const ended = await login();
  // And the session tokens that its pages got. One that is not ended here expires by itself.
  if (shop().db.prepare("DELETE FROM logins WHERE token_hash = ?").run(ended).changes) {
    for (const error of (await shop().signOut(ended)).failed) console.error(error);
  }
  return answer(request, 204);
}
