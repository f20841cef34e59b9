import type { GuichetError, Kind } from "./error.js";
import type { DeclineKey } from "./words.js";

export { GuichetError, type FieldError, type Kind } from "./error.js";

/**
 * Makes the client of a page; `Order` is what its server takes as an order. It does no I/O, so it may stand at the top of a module
 * and be imported on a server. Throws kind `input` if an option has a mistyped name, and `secret_key` if an option contains a secret key.
 *
 * @example
 * const guichet = createGuichet({ baseUrl: "https://api.example.com", merchant: "/guichet" });
 * const quotes = await guichet.quotes({ amount: "5000", currency: "XAF" });
 */
export declare function createGuichet<Order = unknown>(options: Options<Order>): Guichet<Order>;

/**
 * The options of a client.
 *
 * @example
 * const options: Options = {
 *   baseUrl: "https://api.example.com",
 *   merchant: "/guichet",
 *   checkoutOrigins: ["https://pay.example.com"],
 *   publicReads: "anonymous", // guests see prices
 * };
 */
export interface Options<Order = unknown> {
  /** The address of the service: `https://api.example.com`, or a path of this origin, `/pay`. `/v1` is added, once. */
  baseUrl: string | URL;
  /**
   * The address of the merchant's routes: a path of this origin, which begins with one slash (`/guichet`), or `https://` (`http://`
   * for `localhost`, names under `.localhost` and `.test`, 127.0.0.0/8 and `[::1]`), without a query and a fragment. Or functions in their place.
   */
  merchant?: string | Merchant<Order>;
  /**
   * Returns more headers for requests to the merchant's routes, and to no other address: a CSRF token. It is called for
   * each request, so that a token may change. It is not called for the functions of `merchant`.
   *
   * @example
   * createGuichet({
   *   baseUrl: "https://api.example.com",
   *   merchant: "/guichet",
   *   merchantHeaders: () => ({ "X-CSRFToken": document.cookie.match(/csrftoken=([^;]+)/)?.[1] ?? "" }),
   * });
   */
  merchantHeaders?: () => HeadersInit;
  /**
   * Whether requests to the merchant's routes carry cookies: `include`, also if the routes are of another origin of the same site
   * (`api.shop.example` for a page of `shop.example`), whose server must then allow this page's origin with credentials. Browsers block
   * cookies between sites. Default: `same-origin`.
   */
  merchantCredentials?: "same-origin" | "include";
  /** The origins that a `checkout_url` may lead to. Default: the origin of `baseUrl`. */
  checkoutOrigins?: readonly string[];
  /**
   * How methods, fees and quotes are requested: with the customer's session; without a credential (`anonymous`), so that guests see prices;
   * or from your server (`merchant`), for a service that wants the secret key. It answers `GET {merchant}/payment-methods` and
   * `GET {merchant}/fee` (`createShop({ publicReads: true })`). Default: `session`; `anonymous` where `merchant` has no session route.
   *
   * @example
   * const guichet = createGuichet({ baseUrl: "https://api.example.com", merchant: "/guichet", publicReads: "merchant" });
   */
  publicReads?: "session" | "anonymous" | "merchant";
  /** The customer's language (`fr`), sent to the merchant's routes as `Accept-Language`. */
  locale?: string;
  /**
   * Replaces the browser's own `fetch`.
   *
   * @example
   * const { baseUrl, fetch } = await createSandbox({ publicMethods: true });
   * const guichet = createGuichet({ baseUrl, fetch, publicReads: "anonymous" });
   */
  fetch?: typeof fetch;
  /** The wasm, or its address, in place of the wasm of the package. */
  wasm?: string | URL | Response | BufferSource | WebAssembly.Module;
  /**
   * Called after every request, for monitoring. It gets no credential and no address.
   *
   * @example
   * createGuichet({
   *   baseUrl: "https://api.example.com",
   *   onCall: ({ operation, ms, kind }) => console.info(operation, ms, kind ?? "ok"),
   * });
   */
  onCall?: (call: Call) => void;
}

/**
 * One finished request.
 *
 * @example
 * const sentence = ({ operation, attempt, ms, status }: Call) => `${operation} ${attempt}: ${status ?? "no reply"} in ${ms} ms`;
 */
export interface Call {
  /** `calculate_fee`, or `merchant_session`, `merchant_intent`, `merchant_status`, `merchant_methods`, `merchant_fee` for the merchant's routes. */
  operation: string;
  /** The number of the attempt, from 1. */
  attempt: number;
  ms: number;
  status?: number;
  kind?: Kind;
  requestId?: string;
}

/**
 * Options of one call. An unknown name is refused (kind `input`), here and in every request and option.
 *
 * @example
 * const controller = new AbortController();
 * const options: CallOptions = { signal: controller.signal, timeoutMs: 5000 };
 * const methods = await guichet.paymentMethods({ country_code: "CM" }, options);
 */
export interface CallOptions {
  /** Cancels the call: the promise rejects with `signal.reason`. */
  signal?: AbortSignal;
  /** The time limit of the call, all its requests together. Default: 30 000. */
  timeoutMs?: number;
}

/**
 * Functions in place of the merchant's routes. Each may return the bare object or the service's whole envelope.
 * The call rejects with whatever they throw.
 *
 * @example
 * const merchant: Merchant = {
 *   session: async () => (await fetch("/my/session")).json(),
 *   intent: async (order) => (await fetch("/my/orders", { method: "POST", body: JSON.stringify(order) })).json(),
 *   status: async ({ payment_ref }) => (await fetch(`/my/payments/${payment_ref}`)).json(),
 * };
 * const guichet = createGuichet({ baseUrl: "https://api.example.com", merchant });
 */
export interface Merchant<Order = unknown> {
  /**
   * The customer's session; `null` where nobody is signed in.
   *
   * @example
   * const merchant: Merchant = {
   *   async session() {
   *     const reply = await fetch("/my/session");
   *     return reply.status === 401 ? null : reply.json();
   *   },
   * };
   */
  session?(options: CallOptions): Promise<string | CustomerSession | { data: CustomerSession } | null>;
  /**
   * The payment intent of an order. The server sets price, customer and reference, and puts
   * `guichet_return=<return_nonce>` into `redirect_url`: see {@link Ticket}.
   *
   * @example
   * const merchant: Merchant = {
   *   async intent(order) {
   *     const reply = await fetch("/my/orders", { method: "POST", body: JSON.stringify(order) });
   *     return reply.json(); // { intent: { id, checkout_url, … }, return_nonce }
   *   },
   * };
   */
  intent?(order: Order, options: CallOptions): Promise<Ticket>;
  /**
   * The status of a payment, as the merchant's server knows it.
   *
   * @example
   * const merchant: Merchant = {
   *   async status({ payment_ref }) {
   *     const reply = await fetch(`/my/payments/${payment_ref}`);
   *     return reply.json(); // { status: "succeeded", merchant_reference: "ORDER-17", amount: "5000", … }
   *   },
   * };
   */
  status?(of: Reference, options: CallOptions): Promise<PaymentState>;
}

/**
 * What the merchant's server tells of a payment. All but `status` may be absent. Without `late` a decline is not known to be final.
 *
 * @example
 * const state: PaymentState = { status: "failed", last_payment_error: { code: "payer_timeout" }, approvable_until: 1795257900 };
 */
export interface PaymentState {
  status: PaymentStatus;
  last_payment_error?: LastPaymentError | null;
  /** Until when an operator may still approve a declined attempt, in Unix seconds. `null`: every decline is final. */
  approvable_until?: number | null;
  /** The shop's own name of the payment. */
  merchant_reference?: string;
  /** The price: digits, in the smallest unit. */
  amount?: string;
  /** What the customer pays, with the fee if they bear it; `null` until it is known. */
  amount_payable?: string | null;
  /** The customer pays a fee of an unknown amount besides `amount`. */
  plus_fee?: true;
  /** The `Date` of the service's reply in which the payment was read, in Unix seconds. */
  as_of?: number | null;
  late?: LateApproval;
  /** Whether the shop has stored what the order has become. */
  delivered?: boolean;
}

/**
 * Whether an attempt of a payment that was declined may still become money.
 *
 * @example
 * const isKnown = ({ late }: Outcome) => late?.state === "never";
 */
export interface LateApproval {
  /** `open`: it may, so never say that nothing was charged. */
  state: "never" | "open";
  /** Until when, in Unix seconds, if that is known. */
  until?: number;
}

/**
 * The client of a page.
 *
 * @example
 * const pay = (guichet: Guichet, id: string) => guichet.checkout({ order: { id } }, { mode: "popup" });
 */
export interface Guichet<Order = unknown> {
  /**
   * Loads the wasm before the first call needs it, so that a click waits for the network alone. It sends nothing to the
   * service. It may be called again at any time, and waits for a load that is under way.
   *
   * Rejects with kind `wasm_blocked` where WebAssembly is not allowed, `wasm_missing` where its file is missing, is no wasm
   * or is of another version, `offline` where it could not be loaded, and `input` for wrong options. The next call tries again.
   *
   * @example
   * guichet.ready().catch((error) => console.warn(error)); // calls report it, too
   */
  ready(): Promise<void>;
  readonly session: Session;
  /**
   * Lists the payment methods of a country. Default: that of the service, CM.
   *
   * @example
   * const methods = await guichet.paymentMethods({ country_code: "CM" });
   * const names = methods.filter(({ active }) => active).map(({ name }) => name);
   */
  paymentMethods(of?: { country_code?: string }, options?: CallOptions): Promise<PaymentMethod[]>;
  /**
   * Calculates the fee of an amount, in the smallest unit of its currency.
   *
   * @example
   * const { fee, total_payable } = await guichet.fee({ payment_method: "mobile_money", currency: "XAF", amount: "5000" });
   */
  fee(of: FeeRequest, options?: CallOptions): Promise<FeeBreakdown>;
  /**
   * Calculates for each active method what the customer pays and what the merchant gets, the cheapest for the customer first.
   * Cards of this country and of others have a quote each. A method without a known fee is listed with its `error`.
   *
   * @example
   * for (const quote of await guichet.quotes({ amount: "5000", fee_bearer: "customer" })) {
   *   if (!quote.error) console.log(quote.method.name, formatMoney(quote.customer_pays, quote.currency, "en"));
   * }
   */
  quotes(of: QuoteRequest, options?: CallOptions): Promise<Quote[]>;
  /**
   * Requests a payment intent for an order from the merchant's server, and goes to its `checkout_url`. A second call for the
   * same order joins the first; each can be cancelled alone.
   *
   * In mode `redirect` it resolves only if the customer comes back to this very page by the back button, with the outcome at
   * that time. In mode `popup` (call it in the click itself) it resolves with the outcome of the payment: the return page
   * reports back if it calls `returned()`, and then the outcome is looked up as `waitForOutcome` does. If the customer closes
   * the window or turns back without paying, the outcome is `dismissed`. If the browser opens no window, the customer is
   * redirected. Cancelling the call closes the window, which most browsers allow only before the hosted page is shown.
   *
   * Rejects with kind `settled` if the payment is already final, `address` if the `checkout_url` may not be followed,
   * `signed_out` if nobody is signed in, and `unsupported`, before anything is sent, if there is no browser's page: in Node.js
   * and in jsdom. A redirect in a frame of another origin is `unsupported`, too: no checkout page opens there. Use `popup` or `top`.
   *
   * @example
   * button.onclick = async () => {
   *   const { state } = await guichet.checkout({ order: { id: "17" } }, { mode: "popup" });
   *   if (state === "succeeded") location.assign("/thanks");
   * };
   */
  checkout(what: { order: Order }, options?: CheckoutOptions): Promise<Outcome>;
  /**
   * Reads the return of a customer, on the page of the `redirect_url`. Elsewhere, and on a server, it resolves with `null`. It
   * removes its parameters from the address bar, and keeps `history.state`. A second call gives the same answer. In a popup it
   * notifies the page that opened it and closes the window; if that page is gone, the window stays and is an ordinary return
   * page.
   *
   * @example
   * const back = await guichet.returned();
   * if (back) console.log((await guichet.waitForOutcome(back)).state);
   */
  returned(): Promise<Return | null>;
  /**
   * Polls until a payment is final: the merchant's route, or the service if there is no such route. After `budgetMs` it
   * resolves with `pending`. Ship goods on your server's word, never on this.
   *
   * @example
   * const back = await guichet.returned();
   * if (back) {
   *   const { state, last_payment_error } = await guichet.waitForOutcome(back, { budgetMs: 60_000 });
   *   alert(last_payment_error ? describe(last_payment_error, "en") : state);
   * }
   */
  waitForOutcome(back: Return | Reference, options?: WaitOptions): Promise<Outcome>;
  /**
   * Closes the client: it leaves no timer, listener or channel. Calls under way reject with an `AbortError`, and later ones with
   * kind `input`. A page that keeps one client for its life need not close it.
   *
   * @example
   * guichet.close(); // in a test, after each case
   */
  close(): void;
  /**
   * The same as {@link close}, for `using`, in engines that have `Symbol.dispose`.
   *
   * @example
   * guichet[Symbol.dispose](); // as the end of a block with `using` does
   */
  [Symbol.dispose](): void;
}

declare global {
  interface SymbolConstructor {
    /** As TypeScript's `esnext.disposable` declares it, for compilers that leave that library out. */
    readonly dispose: unique symbol;
  }
}

/**
 * The customer's session. Its token is in memory only, and is requested when it is first needed.
 *
 * @example
 * const { session } = guichet;
 * session.subscribe((state) => console.log(state, session.email));
 */
export interface Session {
  readonly state: SessionState;
  readonly expiresAt: Date | undefined;
  readonly email: string | undefined;
  /**
   * Asks the service whether the present token is valid. It never renews the token; if there is none yet, it requests one.
   *
   * @example
   * const { valid, reason } = await guichet.session.validate();
   * if (!valid) console.log(reason); // "expired"
   */
  validate(options?: CallOptions): Promise<Validity>;
  /**
   * Requests a new token from the merchant's server. After `revoke` this signs in again.
   *
   * @example
   * await guichet.session.renew(); // once the customer has signed in
   */
  renew(options?: CallOptions): Promise<void>;
  /**
   * Signs out in every tab, and in pages that the back button shows again. From then on calls reject with kind `signed_out`,
   * until `renew`. The session ends at the service even if the page is closed meanwhile.
   *
   * @example
   * button.onclick = () => guichet.session.revoke();
   */
  revoke(options?: CallOptions): Promise<void>;
  /**
   * Calls the listener at each change of `state`, `expiresAt` or `email`. Returns a function that unsubscribes.
   *
   * @example
   * const unsubscribe = guichet.session.subscribe((state) => {
   *   button.hidden = state !== "active";
   * });
   */
  subscribe(listener: (state: SessionState) => void): () => void;
}

/**
 * The state of a session. `expiring`: its end is near, and the next call renews it. `none`: no token was requested yet.
 *
 * @example
 * const isSignedIn = (state: SessionState) => state === "active" || state === "expiring";
 */
export type SessionState = "none" | "active" | "expiring" | "expired" | "revoked";

/**
 * The service's answer about a token.
 *
 * @example
 * const sentence = ({ valid, reason }: Validity) => (valid ? "Signed in" : `Signed out: ${reason}`);
 */
export interface Validity {
  valid: boolean;
  customer_email?: string;
  /** ISO 8601, UTC. */
  expires_at?: string;
  /** Why it is not valid: `expired`, `revoked`, `unknown`, `signed_out`, or another word of the service. */
  reason?: string;
}

/**
 * The service's own object.
 *
 * @example
 * const session: CustomerSession = { session_token: "cst_test_1", expires_at: "2030-01-01T00:00:00Z" };
 * createGuichet({ baseUrl: "https://api.example.com", merchant: { session: async () => session } });
 */
export interface CustomerSession {
  session_token: string;
  customer_email?: string;
  /** ISO 8601, UTC. */
  expires_at?: string;
}

/**
 * The service's own object.
 *
 * @example
 * const feeCode = ({ id }: PaymentMethod) => id.replace(/^svc_/, "");
 */
export interface PaymentMethod {
  /** `svc_mobile_money`. Its fee code is the id without `svc_`. */
  id: string;
  name: string;
  active: boolean;
  fee_type?: string;
  /** Two-letter ISO codes. */
  supported_countries?: string[];
  /** The operators of mobile money, with their status: `operational`, `delayed`, or `closed` (show it, and do not offer it). */
  operators?: ReadonlyArray<{ code: string; name: string; status?: string }>;
}

/**
 * The request for a fee.
 *
 * @example
 * const request: FeeRequest = { payment_method: "card", card_type: "international", currency: "XAF", amount: "5000" };
 * const { fee } = await guichet.fee(request);
 */
export interface FeeRequest {
  /** A fee code: `mobile_money`, `card`. */
  payment_method: string;
  /** Three-letter ISO code. */
  currency: string;
  /** Digits, in the smallest unit: `"5000"` is 5 000 XAF or 50.00 USD. */
  amount: string;
  /** Two-letter ISO code of the customer's country. */
  country_code?: string;
  /** Default: `local`. */
  card_type?: CardType;
}

/**
 * Where a card was issued: in the customer's country, or abroad.
 *
 * @example
 * const name = (type: CardType) => words("en").methods[`card_${type}`]; // "Card issued abroad"
 */
export type CardType = "local" | "international";

/**
 * The service's own object; figures in the smallest unit.
 *
 * @example
 * const total = ({ total_payable, currency }: FeeBreakdown) => formatMoney(String(total_payable), currency, "en");
 */
export interface FeeBreakdown {
  amount: number;
  currency: string;
  fee: number;
  total_payable: number;
}

/**
 * The request for quotes.
 *
 * @example
 * const request: QuoteRequest = { amount: "5000", currency: "XAF", fee_bearer: "customer", country_code: "CM" };
 * const quotes = await guichet.quotes(request);
 */
export interface QuoteRequest {
  /** Digits, in the smallest unit. */
  amount: string;
  /** Three-letter ISO code. Default: XAF. */
  currency?: string;
  /** Who bears the fee. Default: `merchant`: the customer pays exactly `amount`. */
  fee_bearer?: "merchant" | "customer";
  /** Two-letter ISO code. */
  country_code?: string;
  /** Only these fee codes. */
  payment_method_types?: readonly string[];
  /** Fee codes by method id, where they are not the id without `svc_`. */
  codes?: Readonly<Record<string, string>>;
}

/**
 * What one payment method costs, or the `error` that left it without a price. Look at `error` first.
 *
 * Every figure is text in the smallest unit. Text of the service is unchanged; a JSON number is written as JavaScript writes
 * it (`145.10` arrives as `145.1`).
 *
 * @example
 * const price = (quote: Quote) => (quote.error ? "?" : formatMoney(quote.customer_pays, quote.currency, "en"));
 */
export type Quote = PricedQuote | UnpricedQuote;

interface AnyQuote {
  method: PaymentMethod;
  /** Its fee code: `mobile_money`, `card`. */
  payment_method: string;
  /** For cards: each sort has a quote. */
  card_type?: CardType;
  currency: string;
  amount: string;
  fee?: string;
}

/**
 * A quote with a price.
 *
 * @example
 * const quotes = await guichet.quotes({ amount: "5000" });
 * const priced = quotes.filter((quote): quote is PricedQuote => !quote.error);
 */
export interface PricedQuote extends AnyQuote {
  customer_pays: string;
  /** Absent where the fee cannot be subtracted from the amount. */
  merchant_gets?: string;
  error?: undefined;
}

/**
 * A quote without a price.
 *
 * @example
 * const sentence = ({ method, error }: UnpricedQuote) => `${method.name}: ${describe(error, "en")}`;
 */
export interface UnpricedQuote extends AnyQuote {
  customer_pays?: undefined;
  merchant_gets?: undefined;
  /** Why there is no price. */
  error: GuichetError;
}

/**
 * `budgetMs` and `onStatus` apply once the customer is back.
 *
 * @example
 * const options: CheckoutOptions = { mode: "popup", budgetMs: 60_000 };
 * button.onclick = () => guichet.checkout({ order: { id: "17" } }, options);
 */
export interface CheckoutOptions extends WaitOptions {
  /** Default: `redirect`, on this page. `top`: in the whole tab, if this page is in a frame. */
  mode?: "redirect" | "popup" | "top";
}

/**
 * The answer of the merchant's server to an order.
 *
 * The server also puts the nonce into the `redirect_url` of the intent that it creates, as `guichet_return`. Without it a
 * return is `unmatched`, and a popup never closes: the return page cannot tell which checkout it ends. The same order must
 * give the same nonce, since a repeated creation has to send the same body.
 *
 * @example
 * // On the server, in Node.js:
 * const return_nonce = createHmac("sha256", secretKey).update(merchant_reference).digest("hex").slice(0, 22);
 * const redirect_url = `https://shop.example.com/paid?guichet_return=${return_nonce}`;
 * const ticket: Ticket = { intent: await createIntent({ merchant_reference, redirect_url }), return_nonce };
 */
export interface Ticket {
  intent: Pick<PaymentIntent, "id" | "checkout_url"> & Partial<PaymentIntent>;
  /** 22 characters of `[0-9A-Za-z]`, the same as in the intent's `redirect_url`. */
  return_nonce?: string;
}

/**
 * Names a payment, by at least one of these.
 *
 * @example
 * const reference: Reference = { payment_ref: "gch_1" };
 * const { state } = await guichet.waitForOutcome(reference);
 */
export interface Reference {
  id?: string;
  payment_ref?: string;
  merchant_reference?: string;
}

/**
 * The return of a customer.
 *
 * @example
 * const isOfThisTab = ({ match }: Return) => match !== "unmatched";
 */
export interface Return {
  /** `replayed`: this return was read before, or the page was loaded again. `unmatched`: no purchase of this tab; use it only to ask your own server. */
  match: "matched" | "replayed" | "unmatched";
  reference: Reference;
}

/**
 * Options of the calls that poll.
 *
 * @example
 * const options: WaitOptions = { budgetMs: 60_000, onStatus: (status) => console.log(status) };
 * const { state } = await guichet.waitForOutcome({ payment_ref: "gch_1" }, options);
 */
export interface WaitOptions extends CallOptions {
  /** How long to poll; a change of the device's clock does not count. Default: 120 000. `timeoutMs` limits each request. */
  budgetMs?: number;
  /**
   * Called at each change of the status (`requires_action`, `processing`, `succeeded`, `failed`, `canceled`), with what is known
   * of the payment then.
   *
   * @example
   * const onStatus = (status: string) => console.log(status); // "processing", then "succeeded"
   * await guichet.waitForOutcome({ payment_ref: "gch_1" }, { onStatus });
   * @example
   * const onStatus = (status: string, outcome: Outcome) => console.log(describeLateApproval(outcome, "en") ?? status);
   * await guichet.waitForOutcome({ payment_ref: "gch_1" }, { onStatus });
   */
  onStatus?: (status: PaymentStatus, outcome: Outcome) => void;
}

/**
 * The status of a payment. A service may report a word that this version does not know.
 *
 * @example
 * const isFinal = (status: PaymentStatus) => status === "succeeded" || status === "failed" || status === "canceled";
 */
export type PaymentStatus = "requires_action" | "processing" | "succeeded" | "failed" | "canceled" | (string & {});

/**
 * The outcome of a purchase, as far as the page knows.
 *
 * @example
 * const sentence = (outcome: Outcome) => describeLateApproval(outcome, "en") ?? outcome.state;
 */
export interface Outcome {
  /** `pending`: not known yet. `dismissed`: the customer turned back unpaid. `unknown`: it could not be found out. */
  state: "succeeded" | "failed" | "canceled" | "pending" | "dismissed" | "unknown";
  /** The last status that the service reported. */
  status?: PaymentStatus;
  reference: Reference;
  /** Why the last attempt was declined. */
  last_payment_error?: LastPaymentError;
  /**
   * Until when an operator may still approve an attempt that it declined, in Unix seconds: the latest of them, as the service says it.
   * What follows from it is `late`.
   */
  approvable_until?: number;
  /** The reference as the merchant's server gives it; that of `reference` may be from an address, which anyone can write. */
  merchant_reference?: string;
  /** The price: digits, in the smallest unit. */
  amount?: string;
  /** What the customer pays, with the fee if they bear it. Absent until it is known. */
  amount_payable?: string;
  /** The customer pays a fee of an unknown amount besides `amount`: show that beside the sum. */
  plus_fee?: true;
  /** The service's time when the payment was read, in Unix seconds. */
  as_of?: number;
  /** Whether a declined attempt may still become money, as your server says it. Absent: a decline is not known to be final. */
  late?: LateApproval;
  /** Whether the shop has stored what the order has become: after `succeeded`, `false` means that it is being informed. */
  delivered?: boolean;
}

/**
 * Why an attempt was declined.
 *
 * @example
 * const declined: LastPaymentError = { code: "insufficient_funds" };
 * alert(describe(declined, "en", { state: "never" }));
 */
export interface LastPaymentError {
  /** The code to switch on: `insufficient_funds`. */
  code: DeclineKey | (string & {});
  message?: string;
  /** Until when the operator may still approve it, in Unix seconds. `null`: it is final. Absent: the service does not say. */
  approvable_until?: number | null;
}

/**
 * The service's own object, with every field that it sent. The fields below `metadata` may be absent.
 *
 * @example
 * const isFinal = ({ status }: PaymentIntent) => ["succeeded", "failed", "canceled"].includes(status);
 */
export interface PaymentIntent {
  id: string;
  object?: "payment_intent";
  /** Digits, in the smallest unit. */
  amount: string;
  /** Three-letter ISO code. */
  currency: string;
  status: PaymentStatus;
  client_secret?: string;
  payment_ref?: string;
  merchant_reference?: string;
  /** It holds the client secret: give it to the customer's browser, and to no log. */
  checkout_url: string;
  customer?: { firstname?: string; lastname?: string; email?: string };
  metadata?: Readonly<Record<string, unknown>>;

  fee_bearer?: "merchant" | "customer";
  /** What the customer pays, once a method is known. */
  amount_payable?: string;
  confirmation_method?: "automatic" | "manual";
  payment_method?: { type: string; phone?: string; operator?: { code: string; name: string } | null; brand?: string; last4?: string } | null;
  /** What the customer has to do next: `otp`, `redirect`, `confirm`; while mobile money is `processing`, `approve_on_phone`. */
  next_action?: {
    type: string;
    url?: string;
    operator?: { code: string; name: string } | null;
    /** The name that the customer sees on the phone. */
    payee?: string;
    /** `open_prompt`, `enter_pin`, `dial` (if the phone shows nothing), with what to dial. */
    steps?: ReadonlyArray<{ code: string; ussd?: string }>;
  } | null;
  last_payment_error?: LastPaymentError | null;
  /** The latest `approvable_until` of its declined attempts, in every status. */
  approvable_until?: number | null;
  attempts?: number;
  /** Unix seconds. */
  created_at?: number;
  /** ISO 8601, UTC. */
  expires_at?: string;
  cancellation_reason?: string | null;
  redirect_url?: string | null;
  description?: string;
  items?: ReadonlyArray<{ name: string; price: number | string; currency: string; quantity: number }> | null;
  payment_method_types?: readonly string[] | null;
  /** Payments that an operator approved too late, beside another attempt or after the final status: each is to be refunded. */
  duplicate_payments?: readonly DuplicatePayment[];
}

/**
 * An attempt that was reported as declined and that the operator approved later, too late to pay the intent.
 *
 * @example
 * const sentence = ({ attempt, amount, currency }: DuplicatePayment) =>
 *   `Refund attempt ${attempt}: ${formatMoney(amount, currency, "en")}`;
 */
export interface DuplicatePayment {
  /** The number of the attempt of the payment intent, from 1. */
  attempt: number;
  /** What the customer has paid: digits, in the smallest unit. */
  amount: string;
  currency: string;
  payment_method?: { type: string; phone?: string; brand?: string; last4?: string } | null;
  /** ISO 8601, UTC. */
  approved_at: string;
}
