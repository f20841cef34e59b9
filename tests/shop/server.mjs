// A shop on `node:http` whose orders are in PostgreSQL (`tests/pages/servers/stores.rs`). Several of them may use one database.
import { createServer } from "node:http";
import { createShop, ShopError } from "guichet-server";
import { toNode } from "guichet-server/node";
import { postgresOrders } from "guichet-server/orders";
import pg from "pg";

const { GUICHET_BASE_URL: baseUrl, GUICHET_SECRET_KEY: secretKey, SHOP_URL: origin, SHOP_DATABASE: connectionString } = process.env;
const pool = new pg.Pool({ connectionString });
pool.on("error", console.error);
// Servers that start at once create it one after the other.
await pool.query(`BEGIN; SELECT pg_advisory_xact_lock(1);
  CREATE TABLE IF NOT EXISTS orders
    (name TEXT PRIMARY KEY, version BIGINT NOT NULL, state TEXT NOT NULL, paid_by TEXT, refunds JSONB NOT NULL);
  COMMIT`);

// What an order has become: each state comes at least once, and an older one changes nothing.
async function orderChanged({ name, version, state, paid_by, refunds_due }) {
  const before = (await pool.query("SELECT state, refunds FROM orders WHERE name = $1", [name])).rows[0];
  const sql = `INSERT INTO orders AS old VALUES ($1, $2, $3, $4, $5) ON CONFLICT (name) DO UPDATE SET version = excluded.version,
    state = excluded.state, paid_by = excluded.paid_by, refunds = excluded.refunds WHERE old.version < excluded.version`;
  const { rowCount } = await pool.query(sql, [name, version, state, paid_by?.reference, JSON.stringify(refunds_due)]);
  if (rowCount === 0) return;
  if (state === "paid" && state !== before?.state) console.log(`${name} is paid.`);
  const nameOf = ({ id, attempt }) => (attempt ? `${id}, attempt ${attempt}` : id);
  const known = (before?.refunds ?? []).map(nameOf);
  for (const refund of refunds_due.filter((due) => !known.includes(nameOf(due)))) {
    console.log(`${name}: a refund of ${refund.amount} ${refund.currency} is due (${nameOf(refund)}).`);
  }
}

const shop = createShop({
  baseUrl,
  secretKey,
  origins: [origin],
  customer({ headers }) {
    const [, id] = /(?:^|; )customer=(awa|paul)/.exec(headers.get("cookie")) ?? [];
    return id ? { id, email: `${id}@example.com`, emailVerified: true } : null;
  },
  purchase(order, { id, email }) {
    if (typeof order?.id !== "string" || order.product !== "trainers") throw new ShopError(404, "order_missing", "There is no such order.");
    const price = { amount: "45000", description: "Trainers", redirect_url: `${origin}/` };
    return { name: `ORDER-${id}-${order.id}`, ...price, firstname: "Awa", lastname: "Ngono", email };
  },
  orderChanged,
  orders: postgresOrders(pool),
});
const routes = toNode(shop);

const server = createServer(async (request, response) => {
  if (request.url.startsWith("/guichet/")) return routes(request, response);
  if (request.url === "/paid") {
    const { rows } = await pool.query("SELECT paid_by FROM orders WHERE state = 'paid'");
    return response.end(rows.map((row) => row.paid_by).join("\n"));
  }
  if (request.url !== "/sign-in") return response.end("A shop");
  let text = "";
  request.on("data", (part) => (text += part));
  request.on("end", () => response.setHeader("set-cookie", `customer=${JSON.parse(text).customer}; HttpOnly`).end("{}"));
});
server.listen(new URL(origin).port, "127.0.0.1");

for (;;) {
  const { failed } = await shop.settle();
  for (const error of failed) console.error(error.cause ?? error);
  await new Promise((resolve) => setTimeout(resolve, 300));
}
