import type { GuichetError, Kind } from "./error.js";

export { GuichetError, type FieldError, type Kind } from "./error.js";

/** Makes the client of a page. It does no I/O, so it may stand at the top of a module and be imported on a server. */
export declare function createGuichet(options: Options): Guichet;

export interface Options {
  /** The address of the service: `https://api.example.com`, or a path of this origin, `/pay`. `/v1` is added, once. */
  baseUrl: string | URL;
  /** The address of the merchant's three routes (`/guichet`), or functions in their place. */
  merchant?: string | Merchant;
  /**
   * Returns more headers for requests to the merchant's three routes, and to no other address: a CSRF token. It is called for
   * each request, so that a token may change. It is not called for the functions of `merchant`.
   */
  merchantHeaders?: () => HeadersInit;
  /** The origins that a `checkout_url` may lead to. Default: the origin of `baseUrl`. */
  checkoutOrigins?: readonly string[];
  /**
   * How methods, fees and quotes are requested: with the customer's session, or without a credential, so that guests see
   * prices. Default: `session`; `anonymous` where `merchant` has no session route.
   */
  publicReads?: "session" | "anonymous";
  /** The customer's language (`fr`), sent to the merchant's routes as `Accept-Language`. */
  locale?: string;
  /** Replaces the browser's own `fetch`. */
  fetch?: typeof fetch;
  /** The wasm, or its address, in place of the wasm of the package. */
  wasm?: string | URL | Response | BufferSource | WebAssembly.Module;
  /** Called after every request, for monitoring. It gets no credential and no address. */
  onCall?: (call: Call) => void;
}

/** One finished request. */
export interface Call {
  /** `calculate_fee`, or `merchant_session`, `merchant_intent`, `merchant_status` for the merchant's routes. */
  operation: string;
  /** The number of the attempt, from 1. */
  attempt: number;
  ms: number;
  status?: number;
  kind?: Kind;
  requestId?: string;
}

/** Options of one call. An unknown name is refused (kind `input`), here and in every request and option. */
export interface CallOptions {
  /** Cancels the call: the promise rejects with `signal.reason`. */
  signal?: AbortSignal;
  /** The time limit of the call, all its requests together. Default: 30 000. */
  timeoutMs?: number;
}

/**
 * Functions in place of the merchant's routes. Each may return the bare object or the service's whole envelope.
 * The call rejects with whatever they throw.
 */
export interface Merchant {
  /** The customer's session; `null` where nobody is signed in. */
  session?(options: CallOptions): Promise<string | CustomerSession | { data: CustomerSession } | null>;
  /**
   * The payment intent of an order. The server sets price, customer and reference, and puts
   * `guichet_return=<return_nonce>` into `redirect_url`: see {@link Ticket}.
   */
  intent?(order: unknown, options: CallOptions): Promise<Ticket>;
  /** The status of a payment, as the merchant's server knows it. */
  status?(of: Reference, options: CallOptions): Promise<{ status: string; last_payment_error?: LastPaymentError | null }>;
}

export interface Guichet {
  /**
   * Loads the wasm before the first call needs it, so that a click waits for the network alone. It sends nothing to the
   * service. It may be called again at any time, and waits for a load that is under way.
   *
   * Rejects with kind `wasm_blocked` where WebAssembly is not allowed, `offline` where the wasm could not be loaded (the next
   * call tries again), and `input` or `secret_key` for wrong options.
   */
  ready(): Promise<void>;
  readonly session: Session;
  /** Lists the payment methods of a country. Default: that of the service, CM. */
  paymentMethods(of?: { country_code?: string }, options?: CallOptions): Promise<PaymentMethod[]>;
  /** Calculates the fee of an amount, in the smallest unit of its currency. */
  fee(of: FeeRequest, options?: CallOptions): Promise<FeeBreakdown>;
  /**
   * Calculates for each active method what the customer pays and what the merchant gets, the cheapest for the customer first.
   * Cards of this country and of others have a quote each. A method without a known fee is listed with its `error`.
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
   * and in jsdom.
   */
  checkout(what: { order: unknown }, options?: CheckoutOptions): Promise<Outcome>;
  /**
   * Reads the return of a customer, on the page of the `redirect_url`. Elsewhere, and on a server, it resolves with `null`. It
   * removes its parameters from the address bar, and keeps `history.state`. A second call gives the same answer. In a popup it
   * notifies the page that opened it and closes the window; if that page is gone, the window stays and is an ordinary return
   * page.
   */
  returned(): Promise<Return | null>;
  /**
   * Polls until a payment is final: the merchant's route, or the service if there is no such route. After `budgetMs` it
   * resolves with `pending`. Ship goods on your server's word, never on this.
   */
  waitForOutcome(back: Return | Reference, options?: WaitOptions): Promise<Outcome>;
}

/** The customer's session. Its token is in memory only, and is requested when it is first needed. */
export interface Session {
  readonly state: SessionState;
  readonly expiresAt: Date | undefined;
  readonly email: string | undefined;
  /** Asks the service whether the present token is valid. It never renews the token; if there is none yet, it requests one. */
  validate(options?: CallOptions): Promise<Validity>;
  /** Requests a new token from the merchant's server. After `revoke` this signs in again. */
  renew(options?: CallOptions): Promise<void>;
  /**
   * Signs out in every tab, and in pages that the back button shows again. From then on calls reject with kind `signed_out`,
   * until `renew`. The session ends at the service even if the page is closed meanwhile.
   */
  revoke(options?: CallOptions): Promise<void>;
  /** Calls the listener at each change of `state`, `expiresAt` or `email`. Returns a function that unsubscribes. */
  subscribe(listener: (state: SessionState) => void): () => void;
}

export type SessionState = "none" | "active" | "expiring" | "expired" | "revoked";

export interface Validity {
  valid: boolean;
  customer_email?: string;
  /** ISO 8601, UTC. */
  expires_at?: string;
  /** Why it is not valid: `expired`, `revoked`, `unknown`, `signed_out`, or another word of the service. */
  reason?: string;
}

export interface CustomerSession {
  session_token: string;
  customer_email?: string;
  /** ISO 8601, UTC. */
  expires_at?: string;
}

export interface PaymentMethod {
  /** `svc_mobile_money`. Its fee code is the id without `svc_`. */
  id: string;
  name: string;
  active: boolean;
  fee_type?: string;
  /** Two-letter ISO codes. */
  supported_countries?: string[];
}

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

export type CardType = "local" | "international";

/** The service's own object; figures in the smallest unit. */
export interface FeeBreakdown {
  amount: number;
  currency: string;
  fee: number;
  total_payable: number;
}

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
 * What one payment method costs, or the `error` that left it without a price. Look at `error` first:
 * `if (!quote.error) formatMoney(quote.customer_pays, quote.currency)`.
 *
 * Every figure is text in the smallest unit. Text of the service is unchanged; a JSON number is written as JavaScript writes
 * it (`145.10` arrives as `145.1`).
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

export interface PricedQuote extends AnyQuote {
  customer_pays: string;
  /** Absent where the fee cannot be subtracted from the amount. */
  merchant_gets?: string;
  error?: undefined;
}

export interface UnpricedQuote extends AnyQuote {
  customer_pays?: undefined;
  merchant_gets?: undefined;
  /** Why there is no price. */
  error: GuichetError;
}

/** `budgetMs` and `onStatus` apply once the customer is back. */
export interface CheckoutOptions extends WaitOptions {
  /** Default: `redirect`, on this page. */
  mode?: "redirect" | "popup";
}

/**
 * The answer of the merchant's server to an order.
 *
 * The server also puts the nonce into the `redirect_url` of the intent that it creates, as `guichet_return`:
 *
 * ```js
 * redirect_url: `https://shop.example.com/paid?guichet_return=${return_nonce}`,
 * ```
 *
 * Without it a return is `unmatched`, and a popup never closes: the return page cannot tell which checkout it ends. The
 * same order must give the same nonce, since a repeated creation has to send the same body; in Node.js:
 *
 * ```js
 * const return_nonce = createHmac("sha256", key).update(merchant_reference).digest("hex").slice(0, 22);
 * ```
 */
export interface Ticket {
  intent: Pick<PaymentIntent, "id" | "checkout_url"> & Partial<PaymentIntent>;
  /** 22 characters of `[0-9A-Za-z]`, the same as in the intent's `redirect_url`. */
  return_nonce?: string;
}

/** Names a payment, by at least one of these. */
export interface Reference {
  id?: string;
  payment_ref?: string;
  merchant_reference?: string;
}

export interface Return {
  /** `replayed`: this return was read before. `unmatched`: no purchase of this tab; use it only to ask your own server. */
  match: "matched" | "replayed" | "unmatched";
  reference: Reference;
}

export interface WaitOptions extends CallOptions {
  /** How long to poll, by the wall clock. Default: 120 000. `timeoutMs` limits each request. */
  budgetMs?: number;
  /** Called at each change of the status: `requires_action`, `processing`, `succeeded`, `failed`, `canceled`. */
  onStatus?: (status: string) => void;
}

/** The outcome of a purchase, as far as the page knows. */
export interface Outcome {
  /** `pending`: not known yet. `dismissed`: the customer turned back unpaid. `unknown`: it could not be found out. */
  state: "succeeded" | "failed" | "canceled" | "pending" | "dismissed" | "unknown";
  /** The last status that the service reported. */
  status?: string;
  reference: Reference;
  /** Why the last attempt was declined. */
  last_payment_error?: LastPaymentError;
}

export interface LastPaymentError {
  /** The code to switch on: `insufficient_funds`. */
  code: string;
  message?: string;
}

/** The service's own object, with every field that it sent. The fields below `metadata` may be absent. */
export interface PaymentIntent {
  id: string;
  object?: "payment_intent";
  /** Digits, in the smallest unit. */
  amount: string;
  /** Three-letter ISO code. */
  currency: string;
  /** `requires_action`, `processing`, `succeeded`, `failed`, `canceled`, or a word that this version does not know. */
  status: string;
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
  payment_method?: { type: string; phone?: string; brand?: string; last4?: string } | null;
  /** What the customer has to do next: `otp`, `redirect`, `confirm`. */
  next_action?: { type: string; url?: string } | null;
  last_payment_error?: LastPaymentError | null;
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

/** An attempt that was reported as declined and that the operator approved later, too late to pay the intent. */
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
