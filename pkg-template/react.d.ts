import type { ReactElement, ReactNode } from "react";
import type { CheckoutOptions, Guichet, Outcome, Quote, QuoteRequest, Return, Session, SessionState } from "./guichet.js";

/**
 * Gives a client to the hooks below it. Create the client at the top of a module, not in a component.
 *
 * @example
 * const guichet = createGuichet({ baseUrl: "https://api.example.com", merchant: "/guichet" });
 * createRoot(root).render(<GuichetProvider client={guichet}><Shop /></GuichetProvider>);
 */
export declare function GuichetProvider(props: GuichetProviderProps): ReactElement;

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

export interface SessionSnapshot extends Pick<Session, "validate" | "renew" | "revoke"> {
  readonly state: SessionState;
  readonly expiresAt: Date | undefined;
  readonly email: string | undefined;
}

/**
 * Returns the price of each payment method. Components that ask the same share one request; it is aborted when the last of
 * them is gone. On a server nothing is requested, and `isLoading` is true.
 *
 * With `suspense: true` the component suspends until there are quotes, and an error goes to the nearest error boundary. Then
 * the request is sent on a server, too, and is aborted only once the component was shown.
 *
 * @example
 * const { quotes, error, isLoading, retry } = useQuotes({ amount: "5000", fee_bearer: "customer" });
 */
export declare function useQuotes(request: QuoteRequest, options: QuotesOptions & { suspense: true }): LoadedQuotes;
export declare function useQuotes(request: QuoteRequest, options?: QuotesOptions): QuotesState;

export interface QuotesOptions {
  /** Suspends the component until there are quotes. Default: false. */
  suspense?: boolean;
  /** The time limit of the request. Default: 30 000. */
  timeoutMs?: number;
}

export type QuotesState = LoadingQuotes | LoadedQuotes | FailedQuotes;

export interface LoadingQuotes {
  quotes: undefined;
  error: undefined;
  isLoading: true;
  retry: () => void;
}

export interface LoadedQuotes {
  quotes: Quote[];
  error: undefined;
  isLoading: false;
  /** Requests them again, for every component that shares them. */
  retry: () => void;
}

export interface FailedQuotes {
  quotes: undefined;
  /** A `GuichetError`, or what a function of `merchant` threw. */
  error: Error;
  isLoading: false;
  retry: () => void;
}

/**
 * Returns a function that starts a checkout, and its outcome. The checkout is aborted when the component is gone.
 *
 * @example
 * const { checkout, isPending, error } = useCheckout();
 * return <button onClick={() => checkout({ order: { id: "17" } }, { mode: "popup" })}>Pay</button>;
 */
export declare function useCheckout(): CheckoutState;

export interface CheckoutState {
  /**
   * `checkout` of the client: for a popup, call it in the click itself. It never rejects: after an error it resolves with
   * `undefined`.
   */
  checkout: (what: { order: unknown }, options?: Omit<CheckoutOptions, "signal">) => Promise<Outcome | undefined>;
  /** The outcome of the latest call. */
  outcome: Outcome | undefined;
  /** Why the latest call failed: a `GuichetError`, or what a function of `merchant` threw. */
  error: Error | undefined;
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

export interface ReturnOptions {
  /** How long to wait for a final status. Default: 120 000. */
  budgetMs?: number;
  /** The time limit of each request. Default: 30 000. */
  timeoutMs?: number;
}

export interface ReturnState {
  /** The return; `null` if the page was opened without one; `undefined` until that is known, and on a server. */
  back: Return | null | undefined;
  /** The last status that was reported while waiting. */
  status: string | undefined;
  outcome: Outcome | undefined;
  /** A `GuichetError`, or what a function of `merchant` threw. */
  error: Error | undefined;
  /** True until the outcome is known, or that there is no return. */
  isLoading: boolean;
}
