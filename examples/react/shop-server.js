// The shop's server while Vite serves the page: it sells one product to one customer, and forgets all when it ends. A shop that sells has
// logins, a database and a price list: docs/shop.md.
import { createShop, ShopError } from "guichet-server";
import { toNode } from "guichet-server/node";
import { memoryOrders } from "guichet-server/orders";

const customer = { id: "awa", firstname: "Awa", lastname: "Ngono", email: "awa@example.com", emailVerified: true }; // who is signed in

export const shopServer = () => ({
  name: "shop-server",
  configureServer(vite) {
    const secretKey = process.env.GUICHET_SECRET_KEY;
    if (!secretKey) throw new Error("GUICHET_SECRET_KEY is not set. Set it to the secret key that the sandbox prints (sk_test_…).");
    const shop = createShop({
      baseUrl: "http://127.0.0.1:4243", // the sandbox
      secretKey,
      customer: () => customer,
      // The page names an order. Only the server sets its price and customer.
      purchase(order, { firstname, lastname, email }) {
        const id = order?.id;
        if (typeof id !== "string" || !/^[\w-]{1,38}$/.test(id)) throw new ShopError(404, "order_missing", "There is no such order.");
        const redirect_url = `${vite.resolvedUrls.local[0]}return`;
        const price = { amount: "5000", fee_bearer: "customer", description: "A pair of runners" };
        return { name: `ORDER-${id}`, ...price, firstname, lastname, email, redirect_url };
      },
      orderChanged: ({ name, state, refunds_due }) => console.log(`${name} is ${state}, with ${refunds_due.length} refunds due.`),
      orders: memoryOrders(),
    });
    vite.middlewares.use(toNode(shop));
    // No page asks for the payment of a customer who pays and closes the tab.
    const timer = setInterval(async () => {
      const { failed, notReadable } = await shop.settle();
      for (const error of failed) console.error(error.cause ?? error);
      if (notReadable.length > 0) console.error("Look at the payment company for", notReadable);
    }, 1_000);
    vite.httpServer?.once("close", () => clearInterval(timer));
  },
});
