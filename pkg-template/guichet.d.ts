import type { GuichetError, Kind } from "./error.js";

export { GuichetError, type FieldError, type Kind } from "./error.js";

/** Makes the client of a page. No I/O and nothing to wait for: it may stand in a module, and be imported on a server. */
export declare function createGuichet(options: Options): Guichet;

export interface Options {
  /** Where the service is: `https://api.example.com`, or a path of this origin, `/pay`. `/v1` is added, once. */
  baseUrl: string | URL;
  /** The address of the merchant's three routes (`/guichet`), or functions in their place. */
  merchant?: string | Merchant;
  /**
   * More headers for requests to the merchant's three routes, and for no others: a CSRF token. Called for each request, so
   * that a token may change. What is sent by the functions of `merchant` is theirs to send.
   */
  merchantHeaders?: () => HeadersInit;
  /** The origins that a `checkout_url` may lead to. Default: that of `baseUrl`. */
  checkoutOrigins?: readonly string[];
  /**
   * How methods, fees and quotes are requested: with the customer's session, or without a credential, so that guests see
   * prices. Default: `session`; `anonymous` where `merchant` has no session route.
   */
  publicReads?: "session" | "anonymous";
  /** The customer's language (`fr`), told to the merchant's routes. */
  locale?: string;
  /** Used in place of the browser's own. */
  fetch?: typeof fetch;
  /** The wasm, or where it is, in place of the one that the package brings. */
  wasm?: string | URL | Response | BufferSource | WebAssembly.Module;
  /** Hears of every request that has ended. No credential and no address is told. */
  onCall?: (call: Call) => void;
}

/** One request that has ended. */
export interface Call {
  /** `calculate_fee`, or `merchant_session`, `merchant_intent`, `merchant_status` for the merchant's routes. */
  operation: string;
  /** Which attempt it was, from 1. */
  attempt: number;
  ms: number;
  status?: number;
  kind?: Kind;
  requestId?: string;
}

/** How a call is to go. A name that is not listed here is refused (kind `input`), as it is in every request and option. */
export interface How {
  /** Calls it off: the promise rejects with `signal.reason`. */
  signal?: AbortSignal;
  /** How long it may take, all its requests together. Default: 30 000. */
  timeoutMs?: number;
}

/**
 * Functions in place of the merchant's routes. Each may answer the bare object or the service's whole envelope.
 * What they throw is thrown on.
 */
export interface Merchant {
  /** The customer's session; `null` where nobody is signed in. */
  session?(how: How): Promise<string | CustomerSession | { data: CustomerSession } | null>;
  /**
   * The payment intent of an order. The server sets price, customer and reference, and puts
   * `guichet_return=<return_nonce>` into `redirect_url`: see {@link Ticket}.
   */
  intent?(order: unknown, how: How): Promise<Ticket>;
  /** How a payment stands, by the server's word. */
  status?(of: Reference, how: How): Promise<{ status: string; last_payment_error?: LastPaymentError | null }>;
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
  /** The payment methods of a country. Default: the service's own, CM. */
  paymentMethods(of?: { country_code?: string }, how?: How): Promise<PaymentMethod[]>;
  /** The fee of an amount, in the smallest unit of its currency. */
  fee(of: FeeRequest, how?: How): Promise<FeeBreakdown>;
  /**
   * What each active method costs, whom: what costs the customer least comes first. Cards of this country and of others
   * are asked for apart. A method whose fee cannot be had is listed with its `error`.
   */
  quotes(of: QuoteRequest, how?: How): Promise<Quote[]>;
  /**
   * Has the merchant's server make a payment intent for an order, and leaves for its `checkout_url`. A second call for the
   * same order joins the first, and may be called off alone.
   *
   * By `redirect` it resolves only if the customer comes back to this very page by the back button, with what is true
   * then. By `popup` (call it in the click itself) it resolves with what became of the payment: the return page tells, if
   * it calls `returned()`, and what it tells is looked up as `waitForOutcome` does. Who closes the window or turns back
   * without paying has `dismissed` it. Where the browser opens no window the customer is redirected.
   * Called off, it closes the window where the browser lets it, which most do only before the hosted page is there.
   *
   * Rejects with kind `settled` for a payment that has come to its end, `address` for a `checkout_url` that may not be
   * followed, `signed_out` where nobody is signed in, and `unsupported`, before anything is sent, where there is no
   * browser's page: in Node.js and in jsdom.
   */
  checkout(what: { order: unknown }, how?: CheckoutHow): Promise<Outcome>;
  /**
   * Who has come back, on the page of the `redirect_url`; `null` elsewhere, and on a server. Takes its parameters out of the address bar,
   * and keeps `history.state`. Gives the same answer when it is called again. In a popup it tells the page that opened it,
   * and closes the window; where that page is gone the window stays, and is a return page like any other.
   */
  returned(): Promise<Return | null>;
  /**
   * Looks until a payment has come to its end: at the merchant's route first, then at the service. When `budgetMs` is
   * over it resolves with `pending`. Ship goods on your server's word, never on this.
   */
  waitForOutcome(back: Return | Reference, how?: WaitHow): Promise<Outcome>;
}

/** The customer's session. Its token is in memory only, and is asked for when it is first needed. */
export interface Session {
  readonly state: SessionState;
  readonly expiresAt: Date | undefined;
  readonly email: string | undefined;
  /** Whether the token at hand is good. It never renews it; with none yet, it asks for the first. */
  validate(how?: How): Promise<Validity>;
  /** Asks the merchant's server for a new token, and signs in again after `revoke`. */
  renew(how?: How): Promise<void>;
  /**
   * Signs out, in every tab, and in what the back button brings up again. Calls reject with kind `signed_out` from then on,
   * until `renew`. The session ends at the service though the page goes away meanwhile.
   */
  revoke(how?: How): Promise<void>;
  /** Hears each change of the session (its `state`, `expiresAt` or `email`); call what it gives to hear no more. */
  subscribe(listener: (state: SessionState) => void): () => void;
}

export type SessionState = "none" | "active" | "expiring" | "expired" | "revoked";

export interface Validity {
  valid: boolean;
  customer_email?: string;
  /** ISO 8601, UTC. */
  expires_at?: string;
  /** Why it is not valid: `expired`, `revoked`, `unknown`, `signed_out`, or a word of the service's. */
  reason?: string;
}

export interface CustomerSession {
  session_token: string;
  customer_email?: string;
  /** ISO 8601, UTC. */
  expires_at?: string;
}

export interface PaymentMethod {
  /** `svc_mobile_money`. A fee is asked by its code, which is the id without `svc_`. */
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
  /** Who bears the fee. Default: `merchant`, and the customer pays exactly `amount`. */
  fee_bearer?: "merchant" | "customer";
  /** Two-letter ISO code. */
  country_code?: string;
  /** Only these fee codes. */
  payment_method_types?: readonly string[];
  /** Fee codes by method id, where they are not the id without `svc_`. */
  codes?: Readonly<Record<string, string>>;
}

/**
 * What one way of paying costs; or, with an `error`, that its price could not be had. Look at `error` first:
 * `if (!quote.error) formatMoney(quote.customer_pays, quote.currency)`.
 *
 * Every figure is text in the smallest unit: as the service sent it where that was text, and of a JSON number what
 * JavaScript writes for it (`145.10` arrives as `145.1`).
 */
export type Quote = PricedQuote | UnpricedQuote;

interface AnyQuote {
  method: PaymentMethod;
  /** Its fee code: `mobile_money`, `card`. */
  payment_method: string;
  /** For cards, which are asked for apart. */
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

/** `budgetMs` and `onStatus` are for what follows when the customer is back. */
export interface CheckoutHow extends WaitHow {
  /** Default: `redirect`, on this page. */
  mode?: "redirect" | "popup";
}

/**
 * What the merchant's server answers to an order.
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

/** Which payment. */
export interface Reference {
  id?: string;
  payment_ref?: string;
  merchant_reference?: string;
}

export interface Return {
  /** `replayed`: it was taken before. `unmatched`: not a purchase of this tab, good only for asking one's own server. */
  match: "matched" | "replayed" | "unmatched";
  reference: Reference;
}

export interface WaitHow extends How {
  /** How long to look, by the wall clock. Default: 120 000. `timeoutMs` is for each look. */
  budgetMs?: number;
  /** Hears each change of the status: `requires_action`, `processing`, `succeeded`, `failed`, `canceled`. */
  onStatus?: (status: string) => void;
}

/** What a purchase has come to, as far as the page knows. */
export interface Outcome {
  /** `pending`: not known yet. `dismissed`: the customer turned back unpaid. `unknown`: it could not be found out. */
  state: "succeeded" | "failed" | "canceled" | "pending" | "dismissed" | "unknown";
  /** The last status that was seen. */
  status?: string;
  reference: Reference;
  /** Why the last attempt was declined. */
  last_payment_error?: LastPaymentError;
}

export interface LastPaymentError {
  /** The stable word: `insufficient_funds`. */
  code: string;
  message?: string;
}

/** The service's own object, with every field that it sent. Those below `metadata` may be absent. */
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
  /** Carries the client secret: for the customer's browser, and for no log. */
  checkout_url: string;
  customer?: { firstname?: string; lastname?: string; email?: string };
  metadata?: Readonly<Record<string, unknown>>;

  fee_bearer?: "merchant" | "customer";
  /** What the customer pays, once a method is known. */
  amount_payable?: string;
  confirmation_method?: "automatic" | "manual";
  payment_method?: { type: string; phone?: string; brand?: string; last4?: string } | null;
  /** What the customer has to do: `otp`, `redirect`, `confirm`. */
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
  /** The payments that an operator approved late, beside another attempt or after the end: for each a refund is due. */
  duplicate_payments?: readonly DuplicatePayment[];
}

/** A payment that was told as declined and that the operator approved later, too late to pay the intent. */
export interface DuplicatePayment {
  /** Which attempt of the payment intent, from 1. */
  attempt: number;
  /** What the customer has paid: digits, in the smallest unit. */
  amount: string;
  currency: string;
  payment_method?: { type: string; phone?: string; brand?: string; last4?: string } | null;
  /** ISO 8601, UTC. */
  approved_at: string;
}
