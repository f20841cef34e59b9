// A shop's server without a library: the page, and the merchant's three routes that the page asks.
//
//   cp -r ../../target/npm/package .                      (npm: npm install guichet, and node_modules/guichet)
//   GUICHET_SECRET_KEY=sk_test_… node server.mjs          (the key that `guichet sandbox` prints)

import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const service = "http://127.0.0.1:4243"; // the sandbox
const shop = "http://127.0.0.1:8000";
const key = process.env.GUICHET_SECRET_KEY;
const orders = { 17: { merchant_reference: "ORDER-17", amount: "45000", description: "A pair of shoes" } };
const sold = new Map(); // your database: what was sold under which payment_ref

async function ask(method, path, body) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const reply = await fetch(service + "/v1" + path, { method, headers, body: body && JSON.stringify(body) });
  return [reply.status, await reply.json()];
}

const routes = {
  // Who is signed in? You know by your cookie. Nobody: answer 401.
  "POST /guichet/session": () => ask("POST", "/sessions/create", { customer_email: "awa@example.com" }),

  // The server alone sets price, customer and reference.
  "POST /guichet/intents": async (order) => {
    const { merchant_reference, amount, description } = orders[order.id];
    const return_nonce = createHmac("sha256", key).update(merchant_reference).digest("hex").slice(0, 22);
    const [status, reply] = await ask("POST", "/payment-intents", {
      merchant_reference, amount, description, fee_bearer: "customer",
      firstname: "Awa", lastname: "Ngono", email: "awa@example.com",
      redirect_url: `${shop}/?guichet_return=${return_nonce}`,
    });
    if (status > 201) return [status, reply];
    const { id, checkout_url, payment_ref } = reply.data;
    sold.set(payment_ref, { id, merchant_reference, amount });
    return [200, { intent: { id, checkout_url, payment_ref, merchant_reference, status: reply.data.status }, return_nonce }];
  },

  // Ship here, on the service's word, and nowhere else.
  "GET /guichet/intents": async (_, payment_ref) => {
    const order = sold.get(payment_ref);
    if (!order) return [404, {}];
    const [status, { data }] = await ask("GET", `/payment-intents/${order.id}`);
    if (status !== 200) return [502, {}];
    const same = data.merchant_reference === order.merchant_reference && data.amount === order.amount && data.currency === "XAF";
    if (data.status === "succeeded" && same) order.paid = true;
    return [200, { status: data.status }];
  },
};

createServer(async (request, response) => {
  const { pathname } = new URL(request.url, shop);
  const [, first, second, last] = pathname.split("/");
  const route = routes[`${request.method} /${first}/${second}`];
  try {
    if (route) {
      if ((request.headers.origin ?? shop) !== shop) return response.writeHead(403).end(); // another site's page
      let text = "";
      for await (const chunk of request) text += chunk;
      const [status, body] = await route(text && JSON.parse(text), last);
      return response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    }
    // The page and the package, and nothing else of this folder.
    const script = /^\/package\/[\w./-]+\.js$/.test(pathname);
    const bytes = await readFile(script ? "." + pathname : pathname === "/" ? "index.html" : "");
    response.writeHead(200, { "content-type": script ? "text/javascript" : "text/html" }).end(bytes);
  } catch {
    response.writeHead(route ? 502 : 404).end();
  }
}).listen(new URL(shop).port, "127.0.0.1", () => console.log(`Open ${shop}`));
