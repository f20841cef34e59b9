import type { MaybeRefOrGetter, Plugin, Ref } from "vue";
import type { CheckoutOptions, Guichet, Outcome, PaymentStatus, Quote, QuoteRequest, Return, Session, SessionState } from "./guichet.js";

/**
 * Gives a client to the functions below it. Create the client at the top of a module, not in a component.
 *
 * @example
 * const guichet = createGuichet({ baseUrl: "https://api.example.com", merchant: "/guichet" });
 * createApp(App).use(guichetPlugin(guichet)).mount("#app");
 */
export declare function guichetPlugin(client: Guichet): Plugin;

/**
 * Returns the customer's session, and changes with it. It sends nothing: the state is `none` until a call needs the session.
 * On a server, and until the component is mounted, it is `none`, too.
 *
 * @example
 * const { state, email, revoke } = useSession();
 * const signOut = () => state.value === "active" && revoke();
 */
export declare function useSession(): SessionRefs;

/**
 * The customer's session, as it is now.
 *
 * @example
 * const greeting = ({ state, email }: SessionRefs) => (state.value === "active" ? `Hello ${email.value}` : "Hello");
 */
export interface SessionRefs extends Pick<Session, "validate" | "renew" | "revoke"> {
  readonly state: Readonly<Ref<SessionState>>;
  readonly expiresAt: Readonly<Ref<Date | undefined>>;
  readonly email: Readonly<Ref<string | undefined>>;
}

/**
 * Reads the price of each payment method, and again when the request changes. Components that ask the same share one request; it is
 * aborted when the last of them is gone. On a server nothing is requested, and `isLoading` is true.
 *
 * @example
 * const { quotes, error, isLoading, retry } = useQuotes(() => ({ amount: "5000", fee_bearer: "customer" }));
 */
export declare function useQuotes(request: MaybeRefOrGetter<QuoteRequest>, options?: QuotesOptions): QuotesRefs;

/**
 * Options of `useQuotes`.
 *
 * @example
 * const options: QuotesOptions = { timeoutMs: 5000 };
 * const { quotes } = useQuotes({ amount: "5000" }, options);
 */
export interface QuotesOptions {
  /** The time limit of the request. Default: 30 000. */
  timeoutMs?: number;
  /**
   * Quotes that the server which renders the page has read for this request, by `quotes` of the client. They are shown without a request
   * until `retry`, or until the component asks for something else. Default: none.
   */
  initialQuotes?: Quote[] | null;
}

/**
 * What `useQuotes` returns.
 *
 * @example
 * const label = ({ quotes, error, isLoading }: QuotesRefs) => {
 *   if (isLoading.value) return "…";
 *   return error.value ? describe(error.value, "en") : `${quotes.value?.length} ways to pay`;
 * };
 */
export interface QuotesRefs {
  /** The quotes, once they were read. */
  readonly quotes: Readonly<Ref<Quote[] | undefined>>;
  /** Why they could not be read: a `GuichetError`, or what a function of `merchant` threw. */
  readonly error: Readonly<Ref<Error | undefined>>;
  readonly isLoading: Readonly<Ref<boolean>>;
  /**
   * Requests the quotes again, for every component that shares them.
   *
   * @example
   * const { retry } = useQuotes({ amount: "5000" });
   * setTimeout(retry, 60_000);
   */
  readonly retry: () => void;
}

/**
 * Returns a function that starts a checkout, and its outcome. The checkout is aborted when the component is gone.
 *
 * @example
 * const { checkout, isPending, error } = useCheckout();
 * const pay = () => checkout({ order: { id: "17" } }, { mode: "popup" });
 */
export declare function useCheckout(): CheckoutRefs;

/**
 * What `useCheckout` returns.
 *
 * @example
 * const label = ({ isPending, outcome }: CheckoutRefs) => (isPending.value ? "…" : outcome.value?.state ?? "Pay");
 */
export interface CheckoutRefs {
  /**
   * `checkout` of the client: for a popup, call it in the click itself. It never rejects: after an error it resolves with
   * `undefined`.
   *
   * @example
   * const { checkout } = useCheckout();
   * const pay = () => checkout({ order: { id: "17" } });
   */
  readonly checkout: (what: { order: unknown }, options?: Omit<CheckoutOptions, "signal">) => Promise<Outcome | undefined>;
  /** The outcome of the latest call. */
  readonly outcome: Readonly<Ref<Outcome | undefined>>;
  /** Why the latest call failed: a `GuichetError`, or what a function of `merchant` threw. */
  readonly error: Readonly<Ref<Error | undefined>>;
  /** Not for disabling the button: no event tells that a customer has stopped a redirect. */
  readonly isPending: Readonly<Ref<boolean>>;
}

/**
 * Reads the return of a customer, on the page of the `redirect_url`, and waits for the outcome of the payment. The
 * waiting ends when the last component that uses it is gone. Ship goods on your server's word, never on this.
 *
 * @example
 * const { back, outcome } = useReturn();
 * const text = () => (back.value ? `Your payment: ${outcome.value?.state ?? "…"}` : "The shop");
 */
export declare function useReturn(options?: ReturnOptions): ReturnRefs;

/**
 * Options of `useReturn`.
 *
 * @example
 * const options: ReturnOptions = { budgetMs: 60_000 };
 * const { outcome } = useReturn(options);
 */
export interface ReturnOptions {
  /** How long to wait for a final status. Default: 120 000. */
  budgetMs?: number;
  /** The time limit of each request. Default: 30 000. */
  timeoutMs?: number;
}

/**
 * What `useReturn` returns.
 *
 * @example
 * const isPaid = ({ outcome }: ReturnRefs) => outcome.value?.state === "succeeded";
 */
export interface ReturnRefs {
  /** The return; `null` if the page was opened without one; `undefined` until that is known, and on a server. */
  readonly back: Readonly<Ref<Return | null | undefined>>;
  /** The last status that was reported while waiting. */
  readonly status: Readonly<Ref<PaymentStatus | undefined>>;
  /** What is known of the payment. While `isLoading` is true it may still change. */
  readonly outcome: Readonly<Ref<Outcome | undefined>>;
  /** A `GuichetError`, or what a function of `merchant` threw. */
  readonly error: Readonly<Ref<Error | undefined>>;
  /** True until the payment is settled or the time to wait is over, or until it is known that there is no return. */
  readonly isLoading: Readonly<Ref<boolean>>;
}
