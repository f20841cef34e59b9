import type { How, Options, PaymentIntent, Quote } from "./guichet.js";

export { GuichetError, type FieldError, type Kind } from "./error.js";

/**
 * Opens the checkout of one payment intent, on the payment company's own page. The client secret is taken out of the
 * address bar before anything is sent, and kept in `history.state`, so that a reload and the back button find it.
 *
 * Rejects with kind `input` for an address without an intent or its client secret, `session` for a secret that is
 * not the intent's, `not_found` for an intent that does not exist.
 */
export declare function openHostedCheckout(options: HostedOptions, how?: How): Promise<HostedCheckout>;

export interface HostedOptions extends Pick<Options, "baseUrl" | "fetch" | "wasm" | "onCall"> {
  /**
   * The address of the page (`location.href`), whose fragment or query carries the client secret; the two themselves; or
   * a function that reads them from an address of another shape.
   */
  intent: string | URL | Payable | ((address: string) => string | Payable);
  /** The origins that a `redirect_url` may lead to. Default: all. */
  redirectOrigins?: readonly string[];
  /**
   * Where the service has what its interface does not show, if it is elsewhere: paths after `baseUrl`, in which `{id}`
   * stands for the intent's identifier. What is sent and answered there is the same.
   */
  paths?: Paths;
}

/** Paths by the name of the operation, as `onCall` tells it. Default: `/v1/payment-intents/{id}` and what follows it. */
export type Paths = {
  readonly [operation in
    | "read_payment_intent"
    | "attach_payment_method"
    | "answer_payment_intent"
    | "cancel_payment_intent"]?: `/${string}{id}${string}`;
};

export interface Payable {
  id: string;
  client_secret: string;
}

export interface HostedCheckout {
  /** The service's own object, as it was last read. */
  readonly intent: PaymentIntent;
  /** What each way of paying this intent costs, what costs the customer least first. */
  quotes(how?: How & { country_code?: string; codes?: Readonly<Record<string, string>> }): Promise<Quote[]>;
  /**
   * Pays, and looks until the payment is settled or needs the customer again (`requires_action`, with
   * `last_payment_error` or `next_action`). A second call joins the first. A charge whose answer was lost is looked up
   * before it is sent again.
   *
   * Rejects with kind `input` for a phone or card that cannot be one, `refused` where the service does not take it,
   * `settled` where another tab has paid, and with what was lost (`offline`, `timeout`) where nobody can say whether
   * it was done: look at the intent then, and do not offer to pay at once.
   */
  pay(method: Instrument, how?: PayHow): Promise<PaymentIntent>;
  /**
   * Sends the one-time code that the customer was sent, where `next_action` is `otp`, and looks on as `pay` does.
   * Rejects with kind `input` for no code, and as `pay` does.
   */
  answer(otp: string, how?: PayHow): Promise<PaymentIntent>;
  /** Calls the payment off, while nothing is under way. Rejects with kind `refused` or `settled` where it is too late. */
  cancel(how?: PayHow): Promise<PaymentIntent>;
  /**
   * Looks until the payment is settled or needs the customer: after a reload, or back from the issuer's page. When
   * `budgetMs` is over it gives the intent as it was last read; where no look was answered it rejects with why
   * (`offline`, `timeout`).
   */
  wait(how?: PayHow): Promise<PaymentIntent>;
  /** Looks once. */
  refresh(how?: How): Promise<PaymentIntent>;
  /**
   * Goes to the issuer's page, where `next_action` is `redirect`; it sends the customer back to this page's address.
   * Throws kind `address` where the intent's own reply names none, or none that may be followed, and `unsupported` where
   * there is no browser's page.
   */
  proceed(): void;
  /**
   * Leaves for the `redirect_url` of the intent's own reply, with `payment_intent`, `payment_ref`, `merchant_reference`
   * and `status` appended. Throws kind `address` where there is none, or none that may be followed, and `unsupported` where
   * there is no browser's page.
   */
  leave(): void;
}

/** What the customer pays with, as people write it: spaces and dashes are taken out. */
export type Instrument =
  | {
      type: "mobile_money";
      /** With its country prefix: `237670000000` or `+237 670 00 00 00`. */
      phone: string;
      /**
       * Two-letter ISO code: a mobile number as it is dialled there (`670 00 00 00` in `CM`) is given its prefix. Known: BF, BJ,
       * CG, CI, CM, GA, GH, KE, RW, SN, TD, TG, UG; elsewhere a number keeps what it was written with.
       */
      country_code?: string;
    }
  | {
      type: "card";
      card: { number: string; /** 1 to 12. */ exp_month: number; /** Four digits. */ exp_year: number; cvc: string };
    };

export interface PayHow extends How {
  /** How long to follow the payment. Then the intent is given as it is. Default: 600 000. `timeoutMs` is for each request. */
  budgetMs?: number;
  /** Hears of the intent at each change of its status, of its attempts, or of what the customer has to do. */
  onStatus?: (intent: PaymentIntent) => void;
}
