/**
 * The rules of a safe shop for a merchant's server: the three routes that the pages of `guichet` call, and the settling of payments. It
 * holds the merchant's secret key, and does not run in a page.
 */

import type { LedgerStore } from "./orders.js";

type Awaitable<T> = T | Promise<T>;

/**
 * Who sends a request. A session is created only for an e-mail address that the customer has proved to be theirs.
 *
 * @example
 * const awa: Customer = { id: 17, email: "awa@example.com", emailVerified: true };
 */
export interface Customer {
  /** The shop's own id of their account, which never changes. With `guests: true`, a guest has none. */
  id?: string | number | null;
  email?: string | null;
  /** `true` or `false`, and no text or number of a database. */
  emailVerified?: boolean | null;
  /**
   * A text that names this sign-in and never another, such as the hash of a cookie. A guest's payments belong to it. Signing out ends the
   * session tokens of a customer who has one.
   */
  login?: string;
  /** The `login` of the visit in which the customer was a guest until they signed in. Its orders become theirs. */
  visit?: string;
}

/**
 * One attempt of a call to the service.
 *
 * @example
 * const line = ({ operation, attempt, ms, status }: CallReport) => `${operation} ${attempt}: ${status ?? "lost"} in ${ms} ms`;
 */
export interface CallReport {
  operation: string;
  attempt: number;
  ms: number;
  status?: number;
  kind?: ShopErrorKind;
  requestId?: string;
}

/**
 * What failed at the service.
 *
 * @example
 * const kind: ShopErrorKind = "offline";
 */
export type ShopErrorKind = "address" | "input" | "not_found" | "offline" | "refused" | "session" | "timeout" | "uncertain" | "unreadable" | "unsupported";

/**
 * A profile: how your payment company reads, finds and cancels a payment, and its words for a status. A path has the place of a value:
 * `{id}`, `{payment_ref}`, `{merchant_reference}` or `{client_secret}`.
 *
 * @example
 * const profile: Profile = {
 *   base_url: "https://api.example.com",
 *   read: { method: "GET", path: "/v1/charges/{payment_ref}" },
 *   find_by_reference: { method: "GET", path: "/v1/charges?reference={merchant_reference}" },
 *   cancel: null,
 *   statuses: { pending: "processing" },
 * };
 */
export interface Profile {
  base_url: string;
  gateway_url?: string | null;
  checkout_origins?: string[];
  read: ProfileRoute;
  find_by_reference?: ProfileRoute | null;
  /** `null`: it has none. Left out: as documented. */
  cancel?: ProfileRoute | null;
  statuses?: Record<string, "requires_action" | "processing" | "succeeded" | "failed" | "canceled">;
}

/**
 * A route of a profile.
 *
 * @example
 * const read: ProfileRoute = { method: "GET", path: "/v1/charges/{id}", credential: "client_secret" };
 */
export interface ProfileRoute {
  method: "GET" | "POST" | "PUT" | "DELETE";
  path: string;
  /** What it is asked with. With `client_secret`, the ledger keeps each payment's, encrypted, as long as it reads it. Default: `key`. */
  credential?: "key" | "client_secret";
}

/**
 * The options of a shop.
 *
 * @example
 * const options: ShopOptions = {
 *   baseUrl: "https://api.example.com",
 *   secretKey: "sk_test_1",
 *   customer: () => null,
 *   purchase: () => ({ name: "ORDER-17", amount: "45000", description: "Shoes", firstname: "Awa", lastname: "Ngono", email: "awa@example.com" }),
 *   orderChanged: ({ name, state }) => console.log(name, state),
 *   orders: store,
 * };
 */
export interface ShopOptions<C extends Customer = Customer> {
  /** The service's address. Required, unless `profile` names it. */
  baseUrl?: string | URL;
  /** Where new payments are made, if your payment company names an address of its own for them. Default: `baseUrl`. */
  gatewayUrl?: string | URL;
  /**
   * What your payment company does otherwise than the documented service: the content of `service.json`. `baseUrl` and the others may then be
   * left out. If `baseUrl` names another address, such as that of a sandbox, `gateway_url` and `checkout_origins` of the profile are not used.
   */
  profile?: Profile;
  secretKey: string;
  /**
   * Who sends a request; `null` if nobody is signed in.
   *
   * @example
   * const customer: ShopOptions["customer"] = (request) => (request.headers.get("cookie") ? { id: 17 } : null);
   */
  customer(request: Request): Awaitable<C | null | undefined>;
  /**
   * What an order is and costs: never what the page says. It is asked on every click and changes nothing. `order` is what the page gave to
   * `checkout`, or the fields of its form, and `customer` what the function `customer` has returned.
   *
   * @example
   * const purchase: ShopOptions["purchase"] = () => { throw new ShopError(404, "order_missing", "There is no such order."); };
   */
  purchase(order: unknown, customer: C): Awaitable<Purchase | EndedOrder>;
  /**
   * Stores what an order has become. It comes at least once, in no promised order; one that rejects comes again with a round.
   *
   * @example
   * const orderChanged: ShopOptions["orderChanged"] = ({ name, state }) => console.log(name, state);
   */
  orderChanged(changed: OrderChanged): Awaitable<unknown>;
  /** A store of `guichet-server/orders`. */
  orders: LedgerStore;
  /**
   * The origins of the shop's pages, the shop's own among them. Another one gets CORS with credentials. Default: the shop's own, by `Host`,
   * which a proxy may change.
   */
  origins?: readonly string[];
  /** Where a plain form's customer may be redirected to. Default: the service's origin. */
  checkoutOrigins?: readonly string[];
  /** The hosts to which a *test* key may be sent by plain http, such as a sandbox in another container. This machine needs no name. */
  plainHosts?: readonly string[];
  /** The secret key that `secretKey` has replaced. Addresses that were stored under it still lead to their payments. */
  formerSecretKey?: string;
  /**
   * For how many days after its end a payment's personal data are kept: then all but its sum, references and ids is deleted, of payments that
   * end from now on. One that a person has to decide keeps them. Default: for ever.
   */
  keepDays?: number;
  /** Whether somebody with a `login` and no `id` may buy. */
  guests?: boolean;
  /**
   * Whether `GET {path}/payment-methods` and `GET {path}/fee` read methods and fees with the secret key, for pages with
   * `publicReads: "merchant"`. No login is needed. Only checked values are passed on, equal reads share one request, and an answer
   * is kept for ten seconds; if a thousand are, further reads get 429. Default: `false`.
   *
   * @example
   * const publicReads: ShopOptions["publicReads"] = true; // the service answers methods and fees only to the secret key
   */
  publicReads?: boolean;
  /** The path of the routes. Default: `/guichet`. */
  path?: string;
  /**
   * Sends the calls to the service. Default: the global one.
   *
   * @example
   * const logged: ShopOptions["fetch"] = (...call) => (console.log(call[0]), fetch(...call));
   */
  fetch?: typeof fetch;
  wasm?: WebAssembly.Module;
  /**
   * Is called after each attempt of a call to the service.
   *
   * @example
   * const onCall: ShopOptions["onCall"] = ({ operation, ms }) => console.log(operation, ms);
   */
  onCall?(call: CallReport): void;
}

/**
 * What an order is and costs. Ask the service's documentation for its other fields.
 *
 * @example
 * const shoes: Purchase = { name: "ORDER-17", amount: "45000", description: "Shoes", firstname: "Awa", lastname: "Ngono", email: "awa@example.com" };
 */
export interface Purchase {
  /** The order's own name, the same on each click, at most 44 characters. Its payments are `ORDER-17`, `ORDER-17-1`. */
  name: string;
  /** In the smallest unit of the currency: a text, or a whole number up to 2^53 − 1. */
  amount: string | number;
  /** Default: `XAF`. */
  currency?: string;
  description: string;
  firstname: string;
  lastname: string;
  email?: string;
  phone?: string;
  /** What the customer was shown that they pay with the fee, if they bear it. The service may never say it. */
  quote?: string;
  /** Where the customer returns to. The return nonce is added to it. */
  redirect_url?: string;
  [field: string]: unknown;
}

/**
 * An order that is no longer sold. It is refused (409 `order_ended`) unless it is paid.
 *
 * @example
 * const gone: EndedOrder = { name: "ORDER-17", ended: true };
 */
export interface EndedOrder {
  name: string;
  ended: true;
}

/**
 * What a page shows of an order. A payment keeps the price at which it began. `approvable_until`: until when an attempt of any of its
 * payments that was declined may still be approved, in Unix seconds.
 *
 * @example
 * const total = ({ amount, currency }: ShownPayment) => `${amount} ${currency}`;
 */
export interface ShownPayment {
  reference: string;
  payment_ref: string;
  amount: string;
  currency: string;
  approvable_until: number | null;
}

/**
 * The whole state of an order. Store it by one statement, and ignore a `version` that the order has passed.
 *
 * @example
 * const isPaid = ({ state }: OrderChanged) => state === "paid";
 */
export interface OrderChanged {
  name: string;
  version: number;
  /**
   * On `paid` goods leave. A person decides on `paid_other_sum`, another sum than `purchase` named last, and on `paid_after_end`: the shop had
   * ended the order.
   */
  state: "unpaid" | "paid" | "paid_other_sum" | "paid_after_end";
  /** What paid it; `status`: what the service says of it now, if that is not `succeeded`. */
  paid_by?: { reference: string; id: string; amount: string; currency: string; status?: string };
  /** What it cost when the shop was asked last. */
  asked?: { amount: string; currency: string };
  /** What is to be given back, with the payment company. `plus_fee`: and the fee, which only the payment company knows. */
  refunds_due: ReadonlyArray<{ id: string; attempt?: string; amount: string; currency: string; plus_fee?: true }>;
  restored?: true;
}

/**
 * A shop. Its functions need no `this`.
 *
 * @example
 * const POST = server.fetch;
 */
export interface ShopServer {
  /** The path of the routes. */
  readonly path: string;
  /**
   * Answers a request to one of the routes, or to `{path}/return`, the page that a customer without script returns to.
   *
   * @example
   * await server.fetch(new Request("https://shop.example.com/guichet/session", { method: "POST" }));
   */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * One round: reads what is due, at most eight payments, and brings the shop what it has not received. Call it every second or so, on every
   * server, from a timer, cron or a queue. It does not reject: what has failed is in `failed`, each payment that the service did not show
   * among it, and the `cause` of a `ShopError` is a line for a log. `notReadable` names what a person looks for at the payment company, by reference and the service's id.
   *
   * @example
   * for (const error of (await server.settle()).failed) console.error(error.cause ?? error);
   */
  readonly settle: () => Promise<{
    read: number;
    due: number;
    /** Since when the oldest of them is due, in Unix seconds. */
    oldest?: number | null;
    until: number;
    notReadable: ReadonlyArray<readonly [reference: string, id: string | null]>;
    notReceived: number;
    failed: readonly Error[];
  }>;
  /**
   * What a page shows of an order: the payment that has paid it, or else its youngest; null before its first.
   *
   * @example
   * const { payment_ref } = (await server.order("ORDER-17")) ?? {};
   */
  readonly order: (name: string) => Promise<ShownPayment | null>;
  /**
   * Ends the session tokens of a login, once your own data no longer know it. It does not reject because of the service or the store: what
   * has failed is in `failed`, and a token that was not ended expires within 30 minutes.
   *
   * @example
   * for (const error of (await server.signOut("9f86")).failed) console.error(error.cause ?? error);
   */
  readonly signOut: (login: string) => Promise<{ failed: readonly Error[] }>;
}

/**
 * Creates a shop, whose ledger decides what happens to each order and its payments. It sends nothing, and throws a `TypeError` if an option
 * is wrong.
 *
 * @example
 * const made = createShop({
 *   baseUrl: "https://api.example.com",
 *   secretKey: "sk_test_1",
 *   customer: () => ({ id: 17 }),
 *   purchase: () => ({ name: "ORDER-17", amount: "45000", description: "Shoes", firstname: "Awa", lastname: "Ngono", email: "awa@example.com" }),
 *   orderChanged: ({ name, state }) => console.log(name, state),
 *   orders: store,
 * });
 */
export function createShop<C extends Customer>(options: ShopOptions<C>): ShopServer;

/**
 * A refusal of a page's request, which the shop's functions throw; or the failure of a payment in a round.
 *
 * @example
 * throw new ShopError(409, "order_ended", "The shop no longer sells this.");
 */
export class ShopError extends Error {
  constructor(status: number, code: string, message: string, more?: { cause?: unknown; kind?: ShopErrorKind; requestId?: string; retryable?: boolean; fields?: ShopError["fields"] });
  readonly status: number;
  readonly code: string;
  /** What failed at the service, if it is the reason. */
  readonly kind?: ShopErrorKind;
  readonly requestId?: string;
  readonly retryable: boolean;
  readonly fields: ReadonlyArray<{ param: string; code: string; message: string }>;
  /**
   * As a log writes it.
   *
   * @example
   * console.log(JSON.stringify(new ShopError(409, "order_ended", "The shop no longer sells this.")));
   */
  toJSON(): object;
}

// Nothing else is exported.
export {};
