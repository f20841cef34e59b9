import { COUNTRY, CURRENCY, CUSTOMERS, PRODUCTS, publicCustomer } from "./catalogue.js";
import { readBody } from "./body.js";
import { customerOf, keepToken, Logins } from "./logins.js";
import { Orders, publicOrder } from "./orders.js";
import { Pages } from "./pages.js";
import { Payments } from "./payments.js";
import { logUnexpected, ShopError } from "./shop_error.js";
import { returnNonces } from "./return_nonce.js";
import { requireKnownHost, requireOwnPage } from "./same_origin.js";
import { PaymentService } from "./payment_service.js";
import { keepSettling } from "./settle.js";

/** A shop of shoes, as a merchant might have written it: its pages, its JSON API, and the merchant's three routes under `/guichet`. */
export class Shop {
  #service;
  #checkoutOrigin;
  #pages;
  #payments;
  #logins = new Logins();
  #orders = new Orders();
  #endSettling;

  /** `url` is the shop's own address, `baseUrl` that of the payment service, and `secretKey` the merchant's key there. */
  constructor({ url, baseUrl, secretKey }) {
    this.#service = new PaymentService(baseUrl, secretKey);
    this.#checkoutOrigin = new URL(baseUrl).origin;
    this.#pages = new Pages(this.#checkoutOrigin);
    this.#payments = new Payments(this.#service, returnNonces(secretKey), `${url}/return`);
    this.#endSettling = keepSettling(this.#payments);
  }

  /** Ends settling. */
  stop() {
    this.#endSettling();
  }

  /** Responds to a request of `node:http`. */
  async respond(request, response) {
    const { status, headers, body } = await this.#answer(request).catch((error) => {
      // A client that has gone away needs no answer.
      if (!response.destroyed) logUnexpected(error);
      const refused = error instanceof ShopError ? error : new ShopError(500, "internal_error", "Something went wrong in the shop. Please try again.");
      return json(refused.body, refused.status);
    });
    response.writeHead(status, headers).end(request.method === "HEAD" ? undefined : body);
  }

  async #answer(request) {
    const { method, headers } = request;
    requireKnownHost(headers);
    const [path] = request.url.split("?");
    const [route, parameter] = this.#route(method, path);
    if (!route) {
      if (method !== "GET" && method !== "HEAD") throw new ShopError(404, "route_not_found", "This address does not exist.");
      return this.#pages.respond(path);
    }
    requireOwnPage(headers);
    return route(request, parameter);
  }

  /** The handler of a path, and the path's last part if that is a parameter. */
  #route(method, path) {
    const last = path.lastIndexOf("/") + 1;
    const exact = this.#routes[`${method} ${path}`];
    return exact ? [exact] : [this.#routes[`${method} ${path.slice(0, last)}*`], path.slice(last)];
  }

  #routes = {
    "GET /api/shop": (request) => {
      const customer = this.#logins.find(request)?.customer;
      return json({
        base_url: this.#service.baseUrl,
        checkout_origins: [this.#checkoutOrigin],
        country_code: COUNTRY,
        currency: CURRENCY,
        customers: CUSTOMERS.map(publicCustomer),
        customer: customer ? publicCustomer(customer) : null,
        products: PRODUCTS.map((product) => ({ ...product, price: String(product.price) })),
        has_subscriptions: false,
      });
    },

    "POST /api/sign-in": async (request) => {
      const customer = customerOf((await readJson(request)).customer);
      if (!customer) throw new ShopError(422, "customer_unknown", "There is no such customer.");
      return json({ customer: publicCustomer(customer) }, 200, { "set-cookie": this.#logins.begin(customer) });
    },

    "POST /api/sign-out": async (request) => {
      await readJson(request);
      const { login, cookie } = this.#logins.end(request);
      // If the service does not respond, the customer is signed out of the shop anyway, and the tokens expire by themselves.
      await Promise.allSettled((login?.sessionTokens ?? []).map((token) => this.#service.revokeSession(token)));
      return { status: 204, headers: { "set-cookie": cookie } };
    },

    "POST /api/orders": async (request) => {
      const { customer } = this.#logins.require(request);
      const { lines, language } = await readJson(request);
      return json(publicOrder(this.#orders.place(customer, lines, language)), 201);
    },

    "GET /api/orders/*": (request, id) => {
      const { customer } = this.#logins.require(request);
      return json(publicOrder(this.#orders.require(id, customer)));
    },

    // The merchant's three routes, which guichet in the page calls.

    "POST /guichet/session": async (request) => {
      const login = this.#logins.require(request);
      const { session_token, customer_email, expires_at } = await this.#service.createSession(login.customer.email);
      keepToken(login, session_token);
      return json({ session_token, customer_email, expires_at });
    },

    // The page names an order. The server sets price, customer and reference.
    "POST /guichet/intents": async (request) => {
      const { customer } = this.#logins.require(request);
      const { body, byForm } = await readBody(request);
      const { intent, nonce } = await this.#payments.create(this.#orders.toPay(body.id, customer));
      if (byForm) return this.#sendOn(intent.checkout_url);
      const { id, checkout_url, payment_ref, merchant_reference, status, amount, currency } = intent;
      return json({ intent: { id, checkout_url, payment_ref, merchant_reference, status, amount, currency }, return_nonce: nonce });
    },

    "GET /guichet/intents/*": async (request, paymentRef) => {
      const { customer } = this.#logins.require(request);
      const { status, last_payment_error, duplicate_payments } = await this.#payments.read(paymentRef, customer);
      return json({ status, last_payment_error, duplicate_payments });
    },
  };

  /** Sends the customer of a plain form on to the page where the payment is made, which is the service's own. */
  #sendOn(checkoutUrl) {
    const isAllowed = URL.canParse(checkoutUrl) && new URL(checkoutUrl).origin === this.#checkoutOrigin;
    if (!isAllowed) throw new ShopError(502, "address", "The payment service named no address that can be followed.");
    return { status: 303, headers: { location: new URL(checkoutUrl).href, "cache-control": "no-store" } };
  }
}

/** Reads a body that must be JSON, so that no form can send it. */
async function readJson(request) {
  const { body, byForm } = await readBody(request);
  if (byForm) throw new ShopError(415, "unsupported_media_type", "Send application/json.");
  return body;
}

const json = (value, status = 200, headers = {}) => ({
  status,
  headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
  body: JSON.stringify(value),
});
