import type { CallOptions, LateApproval, Options, PaymentIntent, Quote } from "./guichet.js";

export { GuichetError, type FieldError, type Kind } from "./error.js";

/**
 * Opens the checkout of one payment intent, on the payment company's own page. It removes the client secret from the
 * address bar before anything is sent, and keeps it in `history.state` for a reload and the back button.
 *
 * Rejects with kind `input` if the address has no intent or no client secret, `session` if the secret is not that of the
 * intent, `not_found` if the intent does not exist.
 *
 * @example
 * const hosted = await openHostedCheckout({ baseUrl: "https://api.example.com", intent: location.href });
 * const { status } = await hosted.pay({ type: "mobile_money", phone: "237670000000" });
 * if (status === "succeeded") hosted.leave();
 */
export declare function openHostedCheckout(options: HostedOptions, call?: CallOptions): Promise<HostedCheckout>;

/**
 * The options of a hosted checkout.
 *
 * @example
 * const options: HostedOptions = {
 *   baseUrl: "https://api.example.com",
 *   intent: location.href,
 *   redirectOrigins: ["https://shop.example.com"],
 * };
 */
export interface HostedOptions extends Pick<Options, "baseUrl" | "fetch" | "wasm" | "onCall"> {
  /**
   * The address of the page (`location.href`), whose fragment or query holds the client secret; or the id and the secret; or a
   * function that reads them from an address of another shape.
   */
  intent: string | URL | Payable | ((address: string) => string | Payable);
  /** The origins that a `redirect_url` may lead to. Default: all. */
  redirectOrigins?: readonly string[];
  /**
   * The paths of the operations that the service's document does not show, if a service has them elsewhere: after `baseUrl`, with
   * `{id}` in place of the intent's identifier. Requests and replies are the same.
   */
  paths?: Paths;
}

/**
 * Paths by the name of the operation, as `onCall` reports it. Default: those under `/v1/payment-intents/{id}`.
 *
 * @example
 * const paths: Paths = { attach_payment_method: "/v2/payments/{id}/charge" };
 * await openHostedCheckout({ baseUrl: "https://api.example.com", intent: location.href, paths });
 */
export type Paths = {
  readonly [operation in
    | "read_payment_intent"
    | "attach_payment_method"
    | "answer_payment_intent"
    | "cancel_payment_intent"
    | "abandon_payment_intent"]?: `/${string}{id}${string}`;
};

/**
 * The id of a payment intent, and its client secret.
 *
 * @example
 * const read = (address: string): Payable => {
 *   const { pathname, hash } = new URL(address); // …/pay/pi_1#secret
 *   return { id: pathname.split("/").pop() ?? "", client_secret: hash.slice(1) };
 * };
 * await openHostedCheckout({ baseUrl: "https://api.example.com", intent: read });
 */
export interface Payable {
  id: string;
  client_secret: string;
}

/**
 * The checkout of one payment intent.
 *
 * @example
 * const pay = async (hosted: HostedCheckout, phone: string) => {
 *   const { status } = await hosted.pay({ type: "mobile_money", phone });
 *   if (status === "succeeded") hosted.leave();
 * };
 */
export interface HostedCheckout {
  /** The service's own object, as last read. */
  readonly intent: PaymentIntent;
  /** Whether a declined attempt of it may still become money, as it was last read, by the `Date` of that reply. */
  readonly late: LateApproval;
  /**
   * Calculates what each payment method costs for this intent, the cheapest for the customer first.
   *
   * @example
   * const [cheapest] = await hosted.quotes({ country_code: "CM" });
   */
  quotes(options?: CallOptions & { country_code?: string; codes?: Readonly<Record<string, string>> }): Promise<Quote[]>;
  /**
   * What customers type, as `pay` and `answer` read it: digits in ASCII, without what separates them, a phone with its prefix. For a page
   * that shows what it reads, or guesses the operator while the customer types. Checks nothing and sends nothing; a phone that cannot be
   * read is empty.
   *
   * @example
   * const { phone } = hosted.normalize({ phone: "+237 (0) 6 70", country_code: "CM" }); // "2370670", not whole yet
   */
  normalize(fields: Typed): Omit<Typed, "country_code">;
  /**
   * Pays, and polls until the payment is final or needs the customer again (`requires_action`, with `last_payment_error` or
   * `next_action`). A second call joins the first. If the reply to a charge is lost, the intent is read before the charge is
   * sent again.
   *
   * Rejects with kind `input` if the phone or the card cannot be valid, `refused` if the service refuses it, `settled` if
   * another tab has paid, and `offline`, `timeout` or `unreadable` if it is unknown whether the charge was made: then show no
   * button to pay, and `wait()` for the payment.
   *
   * @example
   * const { last_payment_error } = await hosted.pay({ type: "mobile_money", phone: "237670000000" });
   * if (last_payment_error) alert(describe(last_payment_error, "en", hosted.late));
   */
  pay(method: Instrument, options?: PayOptions): Promise<PaymentIntent>;
  /**
   * Sends the customer's one-time code, if `next_action` is `otp`, and polls as `pay` does. Rejects with kind `input`, and sends
   * nothing, if the text cannot be a code: 4 to 10 digits or letters. A wrong code ends the attempt. Otherwise rejects as `pay` does.
   *
   * @example
   * if (hosted.intent.next_action?.type === "otp") await hosted.answer("123456");
   */
  answer(otp: string, options?: PayOptions): Promise<PaymentIntent>;
  /**
   * Cancels the payment, if no attempt is under way. Rejects with kind `refused` or `settled` if it is too late.
   *
   * @example
   * const { status } = await hosted.cancel();
   * if (status === "canceled") hosted.leave();
   */
  cancel(options?: PayOptions): Promise<PaymentIntent>;
  /**
   * Ends the attempt of mobile money that is `processing`, so that the customer can pay with another number, and polls as `pay`
   * does: the intent then requires action with `payer_timeout`, or has failed after the last attempt.
   *
   * The operator does not learn of it and may still take the money. Before you call it, say that both payments may be
   * charged, and that one is then refunded.
   *
   * Rejects with kind `refused` and code `attempt_not_current` if another attempt has begun, `settled` if the payment has ended,
   * and `unsupported` if the service does not have the operation.
   *
   * @example
   * const { last_payment_error } = await hosted.anotherNumber();
   * if (last_payment_error?.code === "payer_timeout") await hosted.pay({ type: "mobile_money", phone: "237690000099" });
   */
  anotherNumber(options?: PayOptions): Promise<PaymentIntent>;
  /**
   * Polls until the payment is final or needs the customer: after a reload, or back from the issuer's page. After `budgetMs`
   * it resolves with the intent as last read; if no request was answered, it rejects (`offline`, `timeout`).
   *
   * @example
   * const { status } = await hosted.wait({ onStatus: ({ status }) => console.log(status) });
   */
  wait(options?: PayOptions): Promise<PaymentIntent>;
  /**
   * Reads the intent once.
   *
   * @example
   * const { status } = await hosted.refresh();
   */
  refresh(options?: CallOptions): Promise<PaymentIntent>;
  /**
   * Goes to the issuer's page, if `next_action` is `redirect`. That page sends the customer back to this page's address.
   * Throws kind `address` if the intent names no address, or none that may be followed, and `unsupported` if there is no
   * browser's page.
   *
   * @example
   * if (hosted.intent.next_action?.type === "redirect") hosted.proceed();
   */
  proceed(): void;
  /**
   * Goes to the intent's `redirect_url`, with `payment_intent`, `payment_ref`, `merchant_reference` and `status` appended.
   * Throws kind `address` if there is none, or none that may be followed, and `unsupported` if there is no browser's page.
   *
   * @example
   * if (hosted.intent.status === "succeeded") hosted.leave();
   */
  leave(): void;
}

/**
 * What the customer pays with, as people type and paste it: with spaces, dashes, marks that nobody sees, and digits of any script.
 *
 * @example
 * const method: Instrument = { type: "mobile_money", phone: "670 00 00 00", country_code: "CM", operator: "mtn_cm" };
 * const intent = await hosted.pay(method);
 */
export type Instrument =
  | {
      type: "mobile_money";
      /** With its country prefix: `237670000000` or `+237 670 00 00 00`. */
      phone: string;
      /**
       * Two-letter ISO code. A national number (`670 00 00 00` in `CM`) gets its country prefix in BF, BJ, CG, CI, CM, GA, GH,
       * KE, RW, SN, TD, TG and UG; in other countries the number is not changed.
       */
      country_code?: string;
      /** The code of the operator that the customer chose. Default: the service takes that of the phone's prefix. */
      operator?: string;
    }
  | {
      type: "card";
      card: {
        number: string;
        /** 1 to 12. */
        exp_month: number | string;
        /** `2034` or `34`. */
        exp_year: number | string;
        cvc: string;
      };
    };

/**
 * The fields that customers type.
 *
 * @example
 * const typed: Typed = { number: "4242-4242-4242-4242", exp_year: "34" };
 * const { number, exp_year } = hosted.normalize(typed); // "4242424242424242", "2034"
 */
export interface Typed {
  phone?: string;
  /** Two-letter ISO code of the country whose national numbers are read. */
  country_code?: string;
  number?: string;
  exp_month?: string;
  exp_year?: string;
  cvc?: string;
  otp?: string;
}

/**
 * Options of the calls that pay.
 *
 * @example
 * const options: PayOptions = { budgetMs: 120_000, onStatus: ({ status }) => console.log(status) };
 * const intent = await hosted.wait(options);
 */
export interface PayOptions extends CallOptions {
  /** How long to poll; then the call resolves with the intent as it is. Default: 600 000. `timeoutMs` limits each request. */
  budgetMs?: number;
  /**
   * Called with the intent at each change of its status, its attempts, or what the customer has to do.
   *
   * @example
   * const intent = await hosted.pay(
   *   { type: "mobile_money", phone: "237670000000" },
   *   { onStatus: ({ status, attempts }) => console.log(status, attempts) },
   * );
   */
  onStatus?: (intent: PaymentIntent) => void;
}
