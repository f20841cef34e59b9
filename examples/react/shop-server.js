// The shop's server while Vite serves the page: its three routes, in memory, for one customer. It shows what the page needs; a server
// that sells has logins, stores its payments, limits how many are open, refuses other sites, settles by a timer, and says which declines
// are final (`late`): docs/shop.md.
import { createHmac } from "node:crypto";

const service = "http://127.0.0.1:4243"; // the sandbox
const key = process.env.GUICHET_SECRET_KEY;
const customer = { firstname: "Awa", lastname: "Ngono", email: "awa@example.com" }; // who is signed in
const intents = new Map(); // the ids by payment_ref

const routes = {
  "POST /session": () => call("POST", "/sessions/create", { customer_email: customer.email }),

  // Only the server sets price, customer and reference. The same reference again returns the same payment.
  "POST /intents": async ({ id }, shop) => {
    if (typeof id !== "string" || !/^[\w-]{1,40}$/.test(id)) return null;
    const merchant_reference = `ORDER-${id}`;
    const return_nonce = createHmac("sha256", key).update(merchant_reference).digest("hex").slice(0, 22);
    const redirect_url = `${shop}return?guichet_return=${return_nonce}`;
    const order = { ...customer, merchant_reference, amount: "5000", fee_bearer: "customer", description: "A pair of runners", redirect_url };
    const { data } = await call("POST", "/payment-intents", order);
    const { checkout_url, payment_ref, status } = data;
    intents.set(payment_ref, data.id);
    return { intent: { id: data.id, checkout_url, payment_ref, merchant_reference, status }, return_nonce };
  },

  "GET /intents": async (_, shop, payment_ref) => {
    if (!intents.has(payment_ref)) return null;
    const { data } = await call("GET", `/payment-intents/${intents.get(payment_ref)}`);
    const { status, last_payment_error, merchant_reference, amount, amount_payable } = data;
    return { status, last_payment_error, merchant_reference, amount, amount_payable };
  },
};

async function call(method, path, body) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await fetch(`${service}/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
  const reply = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${reply.message}`);
  return reply;
}

export const shopServer = () => ({
  name: "shop-server",
  configureServer(vite) {
    if (!key) throw new Error("GUICHET_SECRET_KEY is not set. Set it to the secret key that the sandbox prints (sk_test_…).");
    vite.middlewares.use("/guichet", async (request, response) => {
      const [, route, payment_ref] = request.url.split("/");
      const send = (status, body) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      let order;
      try {
        order = JSON.parse((await request.toArray()).join("") || "{}");
      } catch {
        return send(400, { message: "The body is not JSON.", error: { code: "invalid_json" } });
      }
      try {
        const handle = routes[`${request.method} /${route}`];
        const reply = await handle?.(order ?? {}, vite.resolvedUrls.local[0], payment_ref);
        if (reply) send(200, reply);
        else send(404, { message: "There is no such address, order or payment.", error: { code: "resource_missing" } });
      } catch (error) {
        console.error(error.message);
        send(503, { message: "The payment service does not answer.", error: { code: "unavailable" } });
      }
    });
  },
});
