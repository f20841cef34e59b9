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
  /** Over a ledger: the `login` of the visit in which the customer was a guest until they signed in. Its orders become theirs. */
  visit?: string;
}

/**
 * What is sent to the service for an order. It must be the same each time for one reference. Ask the service's documentation for its
 * other fields.
 *
 * @example
 * const shoes: Purchase = { merchant_reference: "ORDER-17", amount: "45000", description: "Shoes", firstname: "Awa", lastname: "Ngono", email: "awa@example.com" };
 */
export interface Purchase {
  merchant_reference: string;
  /** In the smallest unit of the currency: a text, or a whole number up to 2^53 − 1. */
  amount: string | number;
  /** Default: `XAF`. */
  currency?: string;
  description: string;
  firstname: string;
  lastname: string;
  email?: string;
  phone?: string;
  /** Where the customer returns to. The return nonce is added to it. */
  redirect_url?: string;
  /**
   * The return nonce, if you store one with the order: 22 letters and digits (0-9A-Za-z) that nobody can guess. It is not sent as a member.
   * Default: derived from `returnKey`.
   */
  return_nonce?: string;
  [field: string]: unknown;
}

/**
 * A sale: a payment is compared with it before its order is paid. Keep it as it is.
 *
 * @example
 * const row = (sold: Sold) => [sold.payment_ref, sold.owner, JSON.stringify(sold)];
 */
export interface Sold {
  payment_ref: string;
  intent: string;
  merchant_reference: string;
  amount: string;
  currency: string;
  /** Whom it belongs to: `customer:17`, `guest:9f86`. */
  owner: string;
  /** The e-mail address that was sent to the service, which its replies must name. */
  email: string | null;
}

/**
 * A payment, as the service sent it.
 *
 * @example
 * const isPaid = (intent: Payment) => intent.status === "succeeded";
 */
export interface Payment {
  id: string;
  status: "requires_action" | "processing" | "succeeded" | "failed" | "canceled" | (string & {});
  amount: string | number;
  currency: string;
  /** What the customer pays, with the fee if they bear it; null until that is known. */
  amount_payable?: string | number | null;
  /** Until when an operator may still approve a declined attempt, in Unix seconds. `null`: its word is final; absent: it is not known. */
  approvable_until?: number | null;
  [field: string]: unknown;
}

/**
 * Whether to read a payment again: `soon`, every few seconds; `for_a_day`, now and then for 24 hours after its first final status, because
 * an operator may approve a declined attempt late; or `never`.
 *
 * @example
 * const isOver = (again: AskAgain) => again === "never";
 */
export type AskAgain = "soon" | "for_a_day" | "never";

/**
 * A payment that was made once too often. A refund is due, which is made with the payment company. `intent` and `attempt` identify it.
 *
 * @example
 * const key = ({ intent, attempt }: Duplicate) => `${intent} ${attempt}`;
 */
export interface Duplicate {
  intent: string;
  attempt: number;
  amount?: string;
  currency: string;
}

/**
 * Where the orders are kept. Each function resolves when its change is stored. `examples/` of the package has stores to start from.
 *
 * @example
 * await orders.open(50);
 */
export interface Orders {
  /**
   * How many payments of this owner have no final status; 0 if one with the reference `next` is kept. From 20 on no new one is created.
   * Requests come at the same time: to be exact, reserve a place for `next` in the statement that counts. If the order of `next` is
   * another owner's, throw a `ShopError` as for an unknown order: 404.
   *
   * @example
   * await orders.openPayments("customer:17", "ORDER-17");
   */
  openPayments(owner: string, next: string): Awaitable<number>;
  /**
   * Stores the sale, before the customer leaves to pay. A repeated call with the same sale does nothing; one with another `intent` throws,
   * because that payment would never be read.
   *
   * @example
   * await orders.remember(sold);
   */
  remember(sold: Sold): Awaitable<unknown>;
  /**
   * The sale with this reference, if it belongs to this customer. Only a page calls it, when its customer has returned: store that.
   *
   * @example
   * await orders.find("gch_1", { id: 17, owner: "customer:17" });
   */
  find(payment_ref: string, owner: { id?: string | number | null; login?: string; owner: string }): Awaitable<Sold | null | undefined>;
  /**
   * Stores a final status. An order becomes paid here and nowhere else, by one conditional statement: it may be called more than once. If
   * another payment has paid it, a refund of `amount_payable` is due. A payment that had failed may succeed.
   *
   * @example
   * await orders.settled(sold, payment, "never");
   */
  settled(sold: Sold, intent: Payment, askAgain: AskAgain): Awaitable<unknown>;
  /**
   * Stores that a refund is due, once for each `intent` and `attempt`: every read of the payment reports it again.
   *
   * @example
   * await orders.overpaid(sold, duplicate);
   */
  overpaid(sold: Sold, duplicate: Duplicate): Awaitable<unknown>;
  /**
   * At most this many sales to read now: each owner's first before any owner's second, those whose customer has returned before others,
   * then the youngest.
   *
   * @example
   * const due = await orders.open(50);
   */
  open(limit: number): Awaitable<readonly Sold[]>;
  /**
   * Whether this process has the round for so many milliseconds. The process that has it may renew it; with 0 it gives it back.
   *
   * @example
   * if (await orders.claim(60_000)) await orders.open(50);
   */
  claim(ms: number): Awaitable<boolean>;
  /**
   * Keeps an encrypted session token of a login for 31 minutes. Resolves with false, and keeps nothing, if the login has ended. Without this
   * function and the next one the tokens are in the memory of the process: a sign-out then ends those that this process gave out.
   *
   * @example
   * await orders.keepSession?.("9f86", "AAECAw==");
   */
  keepSession?(login: string, token: string): Awaitable<boolean>;
  /**
   * Ends a login, which is remembered for 31 minutes. Resolves with the tokens that were kept, and forgets them.
   *
   * @example
   * const tokens = await orders.endSessions?.("9f86");
   */
  endSessions?(login: string): Awaitable<readonly string[]>;
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
 * The options of a shop.
 *
 * @example
 * const options: ShopOptions = {
 *   baseUrl: "https://api.example.com",
 *   secretKey: "sk_test_1",
 *   customer: () => null,
 *   purchase: () => ({ merchant_reference: "ORDER-17", amount: "45000", description: "Shoes", firstname: "Awa", lastname: "Ngono" }),
 *   orders,
 * };
 */
export interface ShopOptions<C extends Customer = Customer> {
  baseUrl: string | URL;
  secretKey: string;
  /**
   * Who sends a request; `null` if nobody is signed in.
   *
   * @example
   * const customer: ShopOptions["customer"] = (request) => (request.headers.get("cookie") ? { id: 17 } : null);
   */
  customer(request: Request): Awaitable<C | null | undefined>;
  /**
   * What an order costs: never what the page says. `order` is what the page gave to `checkout`, or the fields of its form, and `customer`
   * what the function `customer` has returned.
   *
   * @example
   * const purchase: ShopOptions["purchase"] = () => { throw new ShopError(404, "order_missing", "There is no such order."); };
   */
  purchase(order: unknown, customer: C): Awaitable<Purchase>;
  orders: Orders;
  /**
   * The origins of the shop's pages, the shop's own among them. Another one gets CORS with credentials. Default: the shop's own, by `Host`,
   * which a proxy may change.
   */
  origins?: readonly string[];
  /** Where a plain form's customer may be redirected to. Default: the service's origin. */
  checkoutOrigins?: readonly string[];
  /** The hosts to which a *test* key may be sent by plain http, such as a sandbox in another container. This machine needs no name. */
  plainHosts?: readonly string[];
  /** Whether somebody with a `login` and no `id` may buy. */
  guests?: boolean;
  /**
   * A secret text of at least 16 characters, from which return nonces are derived. Default: the secret key; when that is replaced, an open
   * order without a `return_nonce` of its own is refused as changed.
   */
  returnKey?: string;
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
 * What an order is and costs, over a ledger: the members of a creation, without the reference.
 *
 * @example
 * const shoes: PricedOrder = { name: "ORDER-17", amount: "45000", description: "Shoes", firstname: "Awa", lastname: "Ngono", email: "awa@example.com" };
 */
export interface PricedOrder extends Omit<Purchase, "merchant_reference" | "return_nonce"> {
  /** The order's own name, the same on each click, at most 44 characters. Its payments are `ORDER-17`, `ORDER-17-1`. */
  name: string;
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
 * The whole state of an order. Store it by one statement, and ignore a `version` that the order has passed.
 *
 * @example
 * const isPaid = ({ state }: OrderChanged) => state === "paid";
 */
export interface OrderChanged {
  name: string;
  version: number;
  /** On `paid` goods leave. `paid_other_sum`: with another sum than `purchase` named last; a person decides. */
  state: "unpaid" | "paid" | "paid_other_sum";
  /** What paid it; `status`: what the service says of it now, if that is not `succeeded`. */
  paid_by?: { reference: string; id: string; amount: string; currency: string; status?: string };
  /** What it cost when the shop was asked last. */
  asked?: { amount: string; currency: string };
  /** It was paid although the shop had ended it. */
  has_ended?: true;
  /** What is to be given back, with the payment company. `plus_fee`: and the fee, which only the payment company knows. */
  refunds_due: ReadonlyArray<{ id: string; attempt?: string; amount: string; currency: string; plus_fee?: true }>;
  restored?: true;
}

/**
 * The options of a shop over a ledger, which decides what happens to each order and its payments.
 *
 * @example
 * const options: LedgerShopOptions = {
 *   baseUrl: "https://api.example.com",
 *   secretKey: "sk_test_1",
 *   customer: () => null,
 *   purchase: () => ({ name: "ORDER-17", amount: "45000", description: "Shoes", firstname: "Awa", lastname: "Ngono", email: "awa@example.com" }),
 *   orderChanged: ({ name, state }) => console.log(name, state),
 *   orders: store,
 * };
 */
export interface LedgerShopOptions<C extends Customer = Customer> extends Omit<ShopOptions<C>, "orders" | "purchase"> {
  /** A store of `guichet-server/orders`. */
  orders: LedgerStore;
  /**
   * What an order is and costs: never what the page says. It is asked on every click and changes nothing.
   *
   * @example
   * const purchase: LedgerShopOptions["purchase"] = () => ({ name: "ORDER-17", ended: true });
   */
  purchase(order: unknown, customer: C): Awaitable<PricedOrder | EndedOrder>;
  /**
   * Stores what an order has become. It comes at least once, in no promised order; one that rejects comes again with a round.
   *
   * @example
   * const orderChanged: LedgerShopOptions["orderChanged"] = ({ name, state }) => console.log(name, state);
   */
  orderChanged(changed: OrderChanged): Awaitable<unknown>;
}

/**
 * A shop over a ledger.
 *
 * @example
 * const { notReadable } = await overLedger.settle();
 */
export interface LedgerShopServer extends Omit<ShopServer, "settle"> {
  /**
   * One round: reads what is due, at most eight payments, and brings the shop what it has not received. Call it every second or so, on every
   * server. `notReadable` names what a person looks for at the payment company, by reference and the service's id.
   *
   * @example
   * for (const [reference] of (await overLedger.settle()).notReadable) console.error(reference);
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
   * Answers a request to one of the three routes, or to `{path}/return`, the page that a customer without script returns to.
   *
   * @example
   * await server.fetch(new Request("https://shop.example.com/guichet/session", { method: "POST" }));
   */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * One round: reads the payments that are open and settles their orders. Call it every few seconds, from a timer, cron or a queue. It does
   * not reject: what has failed is in `failed`. The `cause` of a `ShopError` is a line for a log.
   *
   * @example
   * for (const error of (await server.settle()).failed) console.error(error.cause ?? error);
   */
  readonly settle: () => Promise<{ read: number; failed: readonly Error[] }>;
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
 * Creates a shop. It sends nothing, and throws a `TypeError` if an option is wrong.
 *
 * @example
 * const made = createShop({
 *   baseUrl: "https://api.example.com",
 *   secretKey: "sk_test_1",
 *   customer: () => ({ id: 17, email: "awa@example.com", emailVerified: true }),
 *   purchase: () => ({ merchant_reference: "ORDER-17", amount: "45000", description: "Shoes", firstname: "Awa", lastname: "Ngono", email: "awa@example.com" }),
 *   orders,
 * });
 */
export function createShop<C extends Customer>(options: ShopOptions<C>): ShopServer;
/**
 * Creates a shop over a ledger. It sends nothing, and throws a `TypeError` if an option is wrong.
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
export function createShop<C extends Customer>(options: LedgerShopOptions<C>): LedgerShopServer;

/**
 * Checks what the rules read of a purchase, before you store it: a stored body is repeated as it is. Throws a `ShopError` for what a
 * customer may have typed (422 `parameter_invalid`), and a `TypeError` for the rest.
 *
 * @example
 * await checkPurchase({ merchant_reference: "ORDER-17", amount: "45000", description: "Shoes", firstname: "Awa", lastname: "Ngono", email: "awa@example.com" });
 */
export function checkPurchase(purchase: Purchase): Promise<void>;

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
