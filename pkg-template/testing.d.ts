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
 * itself is sent on, unless `popups` is true. Throws where the page cannot be replaced: in a browser, and in the jsdom of Jest.
 *
 * @example
 * const page = openTestPage("https://shop.example.com/basket");
 * const address = await page.navigation(guichet.checkout({ order: { id: "17" } }));
 * page.close();
 */
export declare function openTestPage(address?: string | URL, options?: { popups?: boolean }): TestPage;

/**
 * A page without a browser, and the tabs and windows beside it. This process is one of them at a time: the globals (`location`,
 * `sessionStorage`) and the package's calls are about the one that is shown.
 *
 * @example
 * let page: TestPage;
 * beforeEach(() => void (page = openTestPage("https://shop.example.com/basket")));
 * afterEach(() => page.close());
 */
export interface TestPage extends TestTab {
  /**
   * Resolves with the window that a checkout opens, with `popups: true`. If the call ends first, it rejects: with the call's error, or
   * because no window was opened.
   *
   * @example
   * const checkout = guichet.checkout({ order: { id: "17" } }, { mode: "popup" });
   * const popup = await page.popup(checkout);
   * const address = await popup.navigation(); // that of the hosted page
   * popup.close(); // the customer closes it
   * const { state } = await checkout; // "dismissed"
   */
  popup(call?: Promise<unknown>): Promise<TestTab>;
  /**
   * Opens another tab, with a `sessionStorage` of its own. Default: at this page's address. `show` goes to it.
   *
   * @example
   * const tab = page.openTab();
   * tab.show();
   * const other = createGuichet({ baseUrl: "https://api.example.com", merchant: "/guichet" });
   * await other.session.revoke(); // it ends in the first tab, too
   */
  openTab(address?: string | URL): TestTab;
  /**
   * Freezes the page, as a phone does in the background: it is hidden, and no timer runs, those of the test neither: `setTimeout` of
   * `node:timers/promises` does.
   *
   * @example
   * const outcome = guichet.waitForOutcome({ payment_ref: "gch_1" });
   * page.freeze();
   * page.resume(); // it asks at once
   */
  freeze(): void;
  /**
   * Shows it again. Timers that came due meanwhile run now.
   *
   * @example
   * page.resume();
   */
  resume(): void;
  /**
   * Removes the page and its tabs from this process.
   *
   * @example
   * afterEach(() => page.close());
   */
  close(): void;
}

/**
 * A tab or a window of a test's page.
 *
 * @example
 * const isOpen = (tab: TestTab) => !tab.closed;
 */
export interface TestTab {
  /** The present address: `location.href`. */
  readonly address: string;
  /** The addresses of the history, the present one last. */
  readonly addresses: readonly string[];
  /**
   * Resolves with the next address that it is sent to. Each address is returned once. If a call is given, which is to be a new one, an
   * address from before it does not count, and if it ends first, this rejects: with the call's error, or because the page was not left.
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
   * Makes this process the tab: what runs from now on runs there.
   *
   * @example
   * const popup = await page.popup(guichet.checkout({ order: { id: "17" } }, { mode: "popup" }));
   * popup.show();
   * await guichet.returned(); // on the return page: the popup closes
   */
  show(): void;
  /** Whether it was closed: by `close`, or by the return page. */
  readonly closed: boolean;
  /**
   * Closes it, as its customer does. Then the page that opened it is shown.
   *
   * @example
   * const popup = await page.popup(guichet.checkout({ order: { id: "17" } }, { mode: "popup" }));
   * popup.close();
   */
  close(): void;
}
