// A shop's server without a library: the page, and the merchant's three routes that the page asks.
//
//   cp -r ../../target/npm/package .                      (npm: npm install guichet, and node_modules/guichet)
//   GUICHET_SECRET_KEY=sk_test_… node server.mjs          (the key that `guichet sandbox` prints)

import { createHmac } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const service = "http://127.0.0.1:4243"; // the sandbox
const shop = "http://127.0.0.1:8000";
const key = process.env.GUICHET_SECRET_KEY;
if (!key) stop("GUICHET_SECRET_KEY is not set. Set it to the secret key that `guichet sandbox` prints (sk_test_…).");
if (!existsSync("package/guichet.js")) stop("There is no folder package here. Copy it: cp -r ../../target/npm/package .");

// Your database: what you sell, and which payment was made for what.
const orders = new Map([["17", { reference: "ORDER-17", amount: "45000", description: "A pair of shoes", tries: 0, paid: false }]]);
const sold = new Map(); // by payment_ref

// Who is signed in? You know by the request's cookie. Nobody: null.
const customer = (request) => ({ email: "awa@example.com", firstname: "Awa", lastname: "Ngono" });

const routes = {
  "POST /guichet/session": ({ email }) => ask("POST", "/sessions/create", { customer_email: email }),

  // The server alone sets price, customer and reference. The same reference again is the same payment.
  "POST /guichet/intents": async (buyer, wanted) => {
    const order = orders.get(wanted?.id);
    if (!order) throw new Refused(404, "order_missing", "There is no such order.");
    const { amount, description, tries } = order;
    const merchant_reference = tries ? `${order.reference}.${tries}` : order.reference;
    const return_nonce = createHmac("sha256", key).update(merchant_reference).digest("hex").slice(0, 22);
    const { data } = await ask("POST", "/payment-intents", {
      ...buyer, merchant_reference, amount, description, fee_bearer: "customer",
      redirect_url: `${shop}/?guichet_return=${return_nonce}`,
    });
    const { id, checkout_url, payment_ref, status } = data;
    sold.set(payment_ref, { id, merchant_reference, amount, order, try: tries, email: buyer.email });
    return { intent: { id, checkout_url, payment_ref, merchant_reference, status }, return_nonce };
  },

  "GET /guichet/intents": async ({ email }, _, payment_ref) => {
    const sale = sold.get(payment_ref);
    if (sale?.email !== email) throw new Refused(404, "resource_missing", "There is no such payment."); // another's is not there
    const { status, last_payment_error } = await settle(sale);
    return { status, last_payment_error };
  },
};

// Ship here, on the service's word, and nowhere else. Who pays and closes the tab never asks: a real shop also does this
// every few seconds for what is not settled yet.
async function settle({ id, merchant_reference, amount, order, try: number }) {
  const { data } = await ask("GET", `/payment-intents/${id}`);
  if (data.merchant_reference !== merchant_reference || data.amount !== amount || data.currency !== "XAF") {
    console.error(`${merchant_reference}: the payment ${id} is not the one that was sold.`);
    throw new Refused(409, "payment_mismatch", "The payment is not the one of this order.");
  }
  if (data.status === "succeeded") order.paid = true;
  // That payment is over: the order is paid by another one, under a reference of its own.
  if (["failed", "canceled"].includes(data.status) && number === order.tries) order.tries += 1;
  return data;
}

// Asks the service with the key. What goes wrong is said here, on the server's console, and told to the page in its terms.
async function ask(method, path, body) {
  const failed = (why, ...refused) => {
    console.error(`${method} ${service}/v1${path}: ${why}`);
    return new Refused(...refused);
  };
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  let status, reply;
  try {
    const answer = await fetch(`${service}/v1${path}`, {
      method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(20_000),
    });
    status = answer.status;
    reply = await answer.json();
  } catch (error) {
    const why = status ? `${status}, and no JSON` : `no answer (${error.cause?.code ?? error.name}). Is the service running?`;
    throw failed(why, 503, "unavailable", "The payment service does not answer. Please try again.");
  }
  if (status < 300) return reply;
  const { code, request_id } = reply.error ?? {};
  const why = `${status} ${code}, ${request_id}: ${reply.message}`;
  // What the customer can mend, or try again, is passed on. A refused key is the shop's own affair: a 401 would tell the page
  // that nobody is signed in.
  if ([409, 422, 429, 503].includes(status)) throw failed(why, status, code, reply.message, reply.error);
  throw failed(why, 502, "service_failed", "The payment service did not take the shop's request.");
}

// A refusal as the page's half of guichet reads it, which is how the service refuses.
class Refused extends Error {
  constructor(status, code, message, error = { errors: [], request_id: null, retryable: status === 503 }) {
    super(message);
    this.status = status;
    this.body = { status_code: status, response_type: "error", message, data: null, error: { ...error, code } };
  }
}

async function answer(request, url) {
  const [, first, second, last] = url.pathname.split("/");
  const route = routes[`${request.method} /${first}/${second}`];
  if (!route) return file(url.pathname);
  if ((request.headers.origin ?? shop) !== shop) throw new Refused(403, "cross_site", "Another site's page asks.");
  const buyer = customer(request);
  if (!buyer) throw new Refused(401, "authentication_required", "Nobody is signed in.");
  let text = "";
  for await (const chunk of request) {
    text += chunk;
    if (text.length > 65_536) throw new Refused(413, "body_too_large", "The request is too large.");
  }
  return { type: "application/json", body: JSON.stringify(await route(buyer, read(text), last)) };
}

function read(text) {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    throw new Refused(400, "invalid_json", "The request is not JSON.");
  }
}

// The page and the package, and nothing else of this folder.
async function file(path) {
  const script = /^\/package\/[\w./-]+\.js$/.test(path);
  const bytes = script || path === "/" ? await readFile(script ? `.${path}` : "index.html").catch(() => null) : null;
  if (!bytes) throw new Refused(404, "route_not_found", "There is nothing here.");
  return { type: script ? "text/javascript" : "text/html", body: bytes };
}

function stop(why) {
  console.error(why);
  process.exit(1);
}

createServer(async (request, response) => {
  const say = (status, { type, body }) => response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(body);
  try {
    say(200, await answer(request, new URL(request.url, shop)));
  } catch (error) {
    if (!(error instanceof Refused)) console.error(error); // the shop's own fault
    const { status, body } = error instanceof Refused ? error : new Refused(500, "internal_error", "Something went wrong in the shop.");
    say(status, { type: "application/json", body: JSON.stringify(body) });
  }
}).on("error", (error) => stop(`The shop cannot listen at ${shop} (${error.code}). Name another address in this file.`))
  .listen(new URL(shop).port, "127.0.0.1", () => console.log(`Open ${shop}`));
