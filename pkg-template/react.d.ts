import type { ReactElement, ReactNode } from "react";
import type { CheckoutOptions, Guichet, Outcome, PaymentStatus, Quote, QuoteRequest, Return, Session, SessionState } from "./guichet.js";

// TypeScript would export `AnyQuotes`, too, without this line.
export {};

/**
 * Gives a client to the hooks below it. Create the client at the top of a module, not in a component.
 *
 * @example
 * const guichet = createGuichet({ baseUrl: "https://api.example.com", merchant: "/guichet" });
 * createRoot(root).render(<GuichetProvider client={guichet}><Shop /></GuichetProvider>);
 */
export declare function GuichetProvider(props: GuichetProviderProps): ReactElement;

/**
 * The properties of `GuichetProvider`.
 *
 * @example
 * const props: GuichetProviderProps = { client: guichet, children: <Shop /> };
 */
export interface GuichetProviderProps {
  client: Guichet;
  children?: ReactNode;
}

/**
 * Returns the customer's session, and renders again when it changes. It sends nothing: the state is `none` until a call needs
 * the session. On a server, and while the page hydrates, it is `none`, too.
 *
 * @example
 * const { state, email, revoke } = useSession();
 * return state === "active" ? <button onClick={() => revoke()}>Sign out {email}</button> : null;
 */
export declare function useSession(): SessionSnapshot;

/**
 * The customer's session, as it is now.
 *
 * @example
 * const greeting = ({ state, email }: SessionSnapshot) => (state === "active" ? `Hello ${email}` : "Hello");
 */
export interface SessionSnapshot extends Pick<Session, "validate" | "renew" | "revoke"> {
  readonly state: SessionState;
  readonly expiresAt: Date | undefined;
  readonly email: string | undefined;
}

/**
 * Returns the price of each payment method, and suspends the component until there are quotes. An error goes to the nearest
 * error boundary. The request is sent on a server, too, and is aborted only once the component was shown.
 *
 * @example
 * const { quotes } = useQuotes({ amount: "5000", fee_bearer: "customer" }, { suspense: true });
 */
export declare function useQuotes(request: QuoteRequest, options: QuotesOptions & { suspense: true }): LoadedQuotes;
/**
 * Returns the price of each payment method. Components that ask the same share one request; it is aborted when the last of
 * them is gone. On a server nothing is requested, and `isLoading` is true.
 *
 * @example
 * const { quotes, error, isLoading, retry } = useQuotes({ amount: "5000", fee_bearer: "customer" });
 */
export declare function useQuotes(request: QuoteRequest, options?: QuotesOptions): QuotesState;

/**
 * Options of `useQuotes`.
 *
 * @example
 * const options: QuotesOptions = { timeoutMs: 5000 };
 * const { quotes } = useQuotes({ amount: "5000" }, options);
 */
export interface QuotesOptions {
  /** Suspends the component until there are quotes. Default: false. */
  suspense?: boolean;
  /** The time limit of the request. Default: 30 000. */
  timeoutMs?: number;
  /**
   * Quotes that the server which renders the page has read for this request, by the same call. They are shown without a request until
   * `retry`, or until the component asks for something else. Default: none.
   */
  initialQuotes?: Quote[] | null;
}

/**
 * What `useQuotes` returns.
 *
 * @example
 * const label = (state: QuotesState) => {
 *   if (state.isLoading) return "…";
 *   return state.error ? describe(state.error, "en") : `${state.quotes.length} ways to pay`;
 * };
 */
export type QuotesState = LoadingQuotes | LoadedQuotes | FailedQuotes;

interface AnyQuotes {
  /**
   * Requests the quotes again, for every component that shares them.
   *
   * @example
   * const { error, retry } = useQuotes({ amount: "5000" });
   * return error ? <button onClick={retry}>Try again</button> : null;
   */
  retry: () => void;
}

/**
 * The quotes were requested, and are not there yet.
 *
 * @example
 * const isFirst = (state: QuotesState): state is LoadingQuotes => state.isLoading;
 */
export interface LoadingQuotes extends AnyQuotes {
  quotes: undefined;
  error: undefined;
  isLoading: true;
}

/**
 * The quotes.
 *
 * @example
 * const cheapest = ({ quotes }: LoadedQuotes) => quotes.find(({ error }) => !error);
 */
export interface LoadedQuotes extends AnyQuotes {
  quotes: Quote[];
  error: undefined;
  isLoading: false;
}

/**
 * The quotes could not be read.
 *
 * @example
 * const Failed = ({ error, retry }: FailedQuotes) => <button onClick={retry}>{describe(error, "en")}</button>;
 */
export interface FailedQuotes extends AnyQuotes {
  quotes: undefined;
  /** A `GuichetError`, or what a function of `merchant` threw. */
  error: Error;
  isLoading: false;
}

/**
 * Returns a function that starts a checkout, and its outcome. The checkout is aborted when the component is gone.
 *
 * @example
 * const { checkout, isPending, error } = useCheckout();
 * return <button onClick={() => checkout({ order: { id: "17" } }, { mode: "popup" })}>Pay</button>;
 */
export declare function useCheckout(): CheckoutState;

/**
 * What `useCheckout` returns.
 *
 * @example
 * const label = ({ isPending, outcome }: CheckoutState) => (isPending ? "…" : outcome?.state ?? "Pay");
 */
export interface CheckoutState {
  /**
   * `checkout` of the client: for a popup, call it in the click itself. It never rejects: after an error it resolves with
   * `undefined`.
   *
   * @example
   * const { checkout } = useCheckout();
   * return <button onClick={() => checkout({ order: { id: "17" } })}>Pay</button>;
   */
  checkout: (what: { order: unknown }, options?: Omit<CheckoutOptions, "signal">) => Promise<Outcome | undefined>;
  /** The outcome of the latest call. */
  outcome: Outcome | undefined;
  /** Why the latest call failed: a `GuichetError`, or what a function of `merchant` threw. */
  error: Error | undefined;
  /** Not for disabling the button: no event tells that a customer has stopped a redirect. */
  isPending: boolean;
}

/**
 * Reads the return of a customer, on the page of the `redirect_url`, and waits for the outcome of the payment. The
 * waiting ends when the last component that uses it is gone. Ship goods on your server's word, never on this.
 *
 * @example
 * const { back, outcome } = useReturn();
 * return back ? <p>Your payment: {outcome ? outcome.state : "…"}</p> : <Shop />;
 */
export declare function useReturn(options?: ReturnOptions): ReturnState;

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
 * const isPaid = ({ outcome }: ReturnState) => outcome?.state === "succeeded";
 */
export interface ReturnState {
  /** The return; `null` if the page was opened without one; `undefined` until that is known, and on a server. */
  back: Return | null | undefined;
  /** The last status that was reported while waiting. */
  status: PaymentStatus | undefined;
  /** What is known of the payment. While `isLoading` is true it may still change. */
  outcome: Outcome | undefined;
  /** A `GuichetError`, or what a function of `merchant` threw. */
  error: Error | undefined;
  /** True until the payment is settled or the time to wait is over, or until it is known that there is no return. */
  isLoading: boolean;
}
