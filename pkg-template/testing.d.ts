import type { FieldError, GuichetError, Kind } from "./guichet.js";

/**
 * Makes an error as the package's calls reject with, for a test of what a page shows.
 *
 * @example
 * const quotes = () => Promise.reject(guichetError("refused", { code: "payment_method_unavailable" }));
 */
export declare function guichetError(kind: Kind, details?: ErrorDetails): GuichetError;

export interface ErrorDetails {
  message?: string;
  code?: string;
  status?: number;
  requestId?: string;
  operation?: string;
  retryable?: boolean;
  fields?: readonly FieldError[];
  reply?: unknown;
  cause?: unknown;
}

/**
 * Puts a page into this process, so that `checkout`, `returned` and the hosted page run as in a browser: in Node.js, and in the
 * jsdom of Vitest. The page shows nothing; it records the addresses that it is sent to. A popup is refused, so that the page
 * itself is sent on. Throws where the environment's page cannot be replaced.
 *
 * @example
 * const page = openTestPage("https://shop.example.com/basket");
 * const address = await page.navigation(guichet.checkout({ order: { id: "17" } }));
 * page.close();
 */
export declare function openTestPage(address?: string | URL): TestPage;

/** A page without a browser. */
export interface TestPage {
  /** The present address: `location.href`. */
  readonly address: string;
  /** The addresses of the history, the present one last. */
  readonly addresses: readonly string[];
  /**
   * Resolves with the next address that the page is sent to. Each address is returned once. If a call is given and ends first, it
   * rejects: with the call's error, or because the page was not left.
   */
  navigation(call?: Promise<unknown>): Promise<string>;
  /** Goes back, as the back button does: the previous address is shown again, and a `checkout` that has left it goes on. */
  back(): void;
  /** Removes the page from this process. */
  close(): void;
}
