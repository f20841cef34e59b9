import { createShop, ShopError } from "../server/server.js";
import { toNode } from "../server/node.js";
import { memoryOrders } from "../server/orders.js";
import { COUNTRY, CURRENCY, CUSTOMERS, PRODUCTS, publicCustomer } from "./catalogue.js";
import { readJson } from "./body.js";
import { customerOf, Logins } from "./logins.js";
import { nameOf, Orders, publicOrder, purchaseOf } from "./orders.js";
import { Pages } from "./pages.js";
import { bodyOf, log } from "./shop_error.js";
import { requireKnownHost, requireOwnPage } from "./same_origin.js";

/** How long after a round the next one begins, in milliseconds. */
const SETTLE_EVERY = 1_000;

/** A shop of shoes, as a merchant might have written it: its pages, its JSON API, and by guichet-server the three routes under `/guichet`. */
export class Shop {
  #baseUrl;
  #checkoutOrigin;
  #pages;
  #logins = new Logins();
  #orders = new Orders();
  #guichet;
  #routes;
  #timer;

  /** `url` is the shop's own address, `baseUrl` that of the payment service, and `secretKey` the merchant's key there. */
  constructor({ url, baseUrl, secretKey }) {
    this.#baseUrl = baseUrl;
    this.#checkoutOrigin = new URL(baseUrl).origin;
    this.#pages = new Pages(this.#checkoutOrigin);
    this.#guichet = createShop({
      baseUrl,
      secretKey,
      customer: ({ headers }) => {
        const login = this.#logins.find(headers.get("cookie"));
        return login && { ...login.customer, emailVerified: true, login: login.id };
      },
      // The page names an order. The server sets price, customer and reference.
      purchase: (wanted, { id }) => purchaseOf(this.#orders.require(wanted?.id, customerOf(id)), `${url}/return`),
      orderChanged: (changed) => this.#orders.change(changed),
      orders: memoryOrders(),
    });
    this.#routes = toNode(this.#guichet);
    this.#settleLater();
  }

  /** Ends settling. */
  stop() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** No page asks for the payment of a customer who pays and closes the tab. */
  #settleLater() {
    this.#timer = setTimeout(async () => {
      const { failed } = await this.#guichet.settle();
      for (const error of failed) log(String(error.cause ?? error.stack));
      if (this.#timer) this.#settleLater();
    }, SETTLE_EVERY);
  }

  /** Responds to a request of `node:http`. */
  async respond(request, response) {
    const { status, headers, body } = await this.#answer(request, response).catch((error) => {
      const isExpected = error instanceof ShopError;
      // A client that has gone away needs no answer.
      if (!isExpected && !response.destroyed) log(String(error?.stack ?? error));
      const refused = isExpected ? error : new ShopError(500, "internal_error", "Something went wrong in the shop. Please try again.", { retryable: true });
      return json(bodyOf(refused), refused.status);
    });
    if (status) response.writeHead(status, headers).end(request.method === "HEAD" ? undefined : body);
  }

  /** The response; nothing if guichet-server responds. */
  async #answer(request, response) {
    const { method, headers } = request;
    requireKnownHost(headers);
    const [path] = request.url.split("?");
    if (path.startsWith(`${this.#guichet.path}/`)) return this.#routes(request, response) ?? {};
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
    const exact = this.#api[`${method} ${path}`];
    return exact ? [exact] : [this.#api[`${method} ${path.slice(0, last)}*`], path.slice(last)];
  }

  #api = {
    "GET /api/shop": (request) => {
      const customer = this.#logins.find(request.headers.cookie)?.customer;
      return json({
        base_url: this.#baseUrl,
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
      const { login, cookie } = this.#logins.end(request.headers.cookie);
      // If the service does not respond, the customer is signed out of the shop anyway, and the tokens expire by themselves.
      if (login) for (const error of (await this.#guichet.signOut(login.id)).failed) log(String(error.cause ?? error.stack));
      return { status: 204, headers: { "set-cookie": cookie } };
    },

    "POST /api/orders": async (request) => {
      const { customer } = this.#logins.require(request.headers.cookie);
      const { lines, language } = await readJson(request);
      return json(await this.#public(this.#orders.place(customer, lines, language)), 201);
    },

    "GET /api/orders/*": async (request, id) => {
      const { customer } = this.#logins.require(request.headers.cookie);
      return json(await this.#public(this.#orders.require(id, customer)));
    },
  };

  /** An order as the pages get it. */
  async #public(order) {
    return publicOrder(order, await this.#guichet.order(nameOf(order)));
  }
}

const json = (value, status = 200, headers = {}) => ({
  status,
  headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
  body: JSON.stringify(value),
});
