import "server-only"; // the build fails if a client component imports this file
import { createHash, randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { cookies } from "next/headers";
import { createShop, ShopError, type ShopServer } from "guichet-server";
import { sqliteOrders } from "guichet-server/examples/orders.mjs";
import { Database } from "node-sqlite3-wasm";

// The payment service and this shop's own address. Read at run time: one build serves every environment.
export const service = process.env.GUICHET_BASE_URL ?? "http://127.0.0.1:4243"; // the sandbox
const origin = process.env.SHOP_URL ?? "http://localhost:3000";
const page = process.env.SHOP_ORIGIN; // the page's origin, if it is not this server's

export const product = { name: "A pair of runners", amount: "5000", currency: "XAF" };
// Your customers. They have verified their e-mail.
const customers = new Map(
  [
    { id: "awa", firstname: "Awa", lastname: "Ngono", email: "awa@example.com", emailVerified: true },
    { id: "paul", firstname: "Paul", lastname: "Biyik", email: "paul@example.com", emailVerified: true },
  ].map((customer) => [customer.id, customer]),
);

interface Shop extends ShopServer {
  db: Database;
}

// Each route has a module of its own: they share one shop, which is opened by the first of them, and not by the build.
const shared = globalThis as { shop?: Shop };
export const shop = () => (shared.shop ??= open());

function open(): Shop {
  const secretKey = process.env.GUICHET_SECRET_KEY;
  if (!secretKey) throw new Error("Set GUICHET_SECRET_KEY to the secret key that the sandbox prints (sk_test_…).");
  const file = process.env.SHOP_DATABASE ?? "shop.sqlite";
  rmSync(`${file}.lock`, { recursive: true, force: true }); // a killed process leaves it
  const db = new Database(file);
  db.run("CREATE TABLE IF NOT EXISTS logins (token_hash TEXT PRIMARY KEY, customer TEXT NOT NULL)");
  const orders = sqliteOrders(db, {
    onPaid: ({ merchant_reference }) => console.log(`${merchant_reference} is paid.`), // ship it
    onRefund({ merchant_reference }, { intent, attempt, amount, currency }) {
      console.log(`${merchant_reference}: a refund of ${amount} ${currency} is due (${intent}, attempt ${attempt}).`);
    },
  });
  const made = createShop({
    baseUrl: service,
    secretKey,
    customer,
    ...(page && { origins: [origin, page] }),
    // The page names an order. The server sets price, customer and reference.
    purchase(order, { id: buyer, firstname, lastname, email }) {
      const id = (order as { id?: unknown } | null)?.id;
      if (typeof id !== "string" || !/^[\w-]{1,64}$/.test(id)) throw new ShopError(404, "order_missing", "There is no such order.");
      const { amount, currency, name: description } = product;
      const price = { amount, currency, description, firstname, lastname, email, fee_bearer: "customer", redirect_url: `${page ?? origin}/return` };
      return orders.purchase(`ORDER-${buyer}-${id}`, () => price);
    },
    orders,
  });
  // No page asks for the payment of a customer who pays and closes the tab.
  setInterval(async () => {
    const { failed } = await made.settle();
    for (const error of failed) console.error(error.cause ?? error);
  }, 1_000);
  return { ...made, db };
}

// A login is a row, found by the hash of the cookie's random token. Signing out deletes it.
const hash = (token: string | undefined) => createHash("sha256").update(token ?? "").digest("hex");
const login = async () => hash((await cookies()).get("shop")?.value);

/** Who is signed in. */
export async function customer() {
  const row = shop().db.get("SELECT customer FROM logins WHERE token_hash = ?", await login());
  return customers.get(String(row?.customer));
}

/** An answer that the page of SHOP_ORIGIN, and no other, may read, with the cookie. */
function forThePage(request: Request, status: number) {
  const headers = new Headers({ vary: "origin" });
  if (page && request.headers.get("origin") === page) {
    headers.set("access-control-allow-origin", page);
    headers.set("access-control-allow-credentials", "true");
    headers.set("access-control-allow-headers", "content-type");
  }
  return new Response(null, { status, headers });
}

export const preflight = (request: Request) => forThePage(request, 204);

/** Signs in without a password: replace it by your own. Only by JSON, which no page of another site can send. */
export async function signIn(request: Request) {
  const isJson = request.headers.get("content-type") === "application/json";
  const { customer } = isJson ? await request.json().catch(() => ({})) : {};
  if (!customers.has(customer)) return forThePage(request, 422);
  const token = randomBytes(32).toString("hex");
  shop().db.run("INSERT INTO logins VALUES (?, ?)", [hash(token), customer]);
  (await cookies()).set("shop", token, { httpOnly: true, sameSite: "lax", secure: origin.startsWith("https:") });
  return forThePage(request, 204);
}

export async function signOut(request: Request) {
  shop().db.run("DELETE FROM logins WHERE token_hash = ?", await login());
  return forThePage(request, 204);
}
