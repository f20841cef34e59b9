import type { FieldError, GuichetError, Kind } from "./guichet.js";

/**
 * Makes an error as the package's calls reject with, for a test of what a page shows.
 *
 * @example
 * const quotes = () => Promise.reject(guichetError("refused", { code: "payment_method_unavailable" }));
 */
export declare function guichetError(kind: Kind, details?: ErrorDetails): GuichetError;

/**
 * What the error tells beside its kind. Default: nothing.
 *
 * @example
 * const details: ErrorDetails = { code: "payment_method_unavailable", status: 422, operation: "calculate_fee" };
 * const error = guichetError("refused", details);
 */
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
 * itself is sent on. Throws where the page cannot be replaced: in a browser, and in the jsdom of Jest.
 *
 * @example
 * const page = openTestPage("https://shop.example.com/basket");
 * const address = await page.navigation(guichet.checkout({ order: { id: "17" } }));
 * page.close();
 */
export declare function openTestPage(address?: string | URL): TestPage;

/**
 * A page without a browser.
 *
 * @example
 * let page: TestPage;
 * beforeEach(() => void (page = openTestPage("https://shop.example.com/basket")));
 * afterEach(() => page.close());
 */
export interface TestPage {
  /** The present address: `location.href`. */
  readonly address: string;
  /** The addresses of the history, the present one last. */
  readonly addresses: readonly string[];
  /**
   * Resolves with the next address that the page is sent to. Each address is returned once. If a call is given and ends first, it
   * rejects: with the call's error, or because the page was not left.
   *
   * @example
   * const address = await page.navigation(guichet.checkout({ order: { id: "17" } }));
   */
  navigation(call?: Promise<unknown>): Promise<string>;
  /**
   * Goes back, as the back button does: the previous address is shown again, and a `checkout` that has left it goes on.
   *
   * @example
   * const checkout = guichet.checkout({ order: { id: "17" } });
   * await page.navigation(checkout);
   * page.back();
   * const { state } = await checkout; // "dismissed"
   */
  back(): void;
  /**
   * Removes the page from this process.
   *
   * @example
   * afterEach(() => page.close());
   */
  close(): void;
}
