// A shop on `node:http` whose orders are in PostgreSQL (`tests/pages/servers/stores.rs`). Several of them may use one database.
import { createServer } from "node:http";
import { createShop, ShopError } from "guichet-server";
import { postgresOrders } from "guichet-server/examples/orders.mjs";
import { toNode } from "guichet-server/node";
import pg from "pg";

const { GUICHET_BASE_URL: baseUrl, GUICHET_SECRET_KEY: secretKey, SHOP_URL: origin, SHOP_DATABASE: connectionString } = process.env;
const pool = new pg.Pool({ connectionString });
pool.on("error", console.error);
const orders = await postgresOrders(pool, {
  onPaid: ({ merchant_reference }) => console.log(`${merchant_reference} is paid.`),
  onRefund({ merchant_reference }, { intent, attempt, amount, currency }) {
    console.log(`${merchant_reference}: a refund of ${amount} ${currency} is due (${intent}, attempt ${attempt}).`);
  },
});
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
    const price = { amount: "45000", description: "Trainers", firstname: "Awa", lastname: "Ngono", email, redirect_url: `${origin}/` };
    return orders.purchase(`ORDER-${id}-${order.id}`, () => price);
  },
  orders,
});
const routes = toNode(shop);

const server = createServer(async (request, response) => {
  if (request.url.startsWith("/guichet/")) return routes(request, response);
  if (request.url === "/paid") {
    const { rows } = await pool.query("SELECT merchant_reference FROM paid");
    return response.end(rows.map((row) => row.merchant_reference).join("\n"));
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
