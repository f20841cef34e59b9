/**
 * A shop: its address, or a function from request to response, such as the `fetch` of `createShop` in guichet-server. A function gets a
 * `Request` whose address begins with the option `address`, with the cookies and the `Origin` that a browser would send.
 *
 * @example
 * const shop: CheckedShop = async (request) => new Response(null, { status: request.method === "POST" ? 401 : 404 });
 */
export type CheckedShop = string | URL | ((request: Request) => Response | Promise<Response>);

/**
 * A command for the shell, or a function that stands for it. A function that rejects is a command that failed.
 *
 * @example
 * const restart: CheckCommand = "systemctl --user restart shop";
 */
export type CheckCommand = string | (() => unknown);

/**
 * The payment of an order, for the option `books`.
 *
 * @example
 * const sentence = ({ order, reference }: PaymentOfOrder) => `${JSON.stringify(order)} is ${reference}`;
 */
export interface PaymentOfOrder {
  /** The order, as the page sent it. */
  order: unknown;
  /** The `merchant_reference` that the shop gave the payment. */
  reference: string;
  paymentRef: string;
}

/**
 * The options of the command `guichet-sandbox check`; its `--help` says more of each.
 *
 * @example
 * const options: CheckOptions = { orderPattern: { id: "N-%d" }, logins: ['POST /login {"name":"awa"}'], only: ["orders", "origins"] };
 */
export interface CheckOptions {
  /** What `startService` resolved with. Default: a service at 127.0.0.1:4243 with the key of `GUICHET_SECRET_KEY`, closed after the check. */
  service?: CheckService;
  /** The address that a shop which is a function takes for its own. A path is that of the three routes. Default: `http://localhost`. */
  address?: string;
  /** Orders of the customer that are not paid yet, as the page sends them (`--order`). They or `orderPattern` are needed. */
  orders?: unknown[];
  /** Orders of the customer that are all new, with a number from 1 in place of `%d`, as a value or as JSON. */
  orderPattern?: unknown;
  /** The request that signs the customer in, `POST /login {"name":"awa"}`, and the one that signs another customer in. */
  logins?: string[];
  /** The shop also sells to customers without a login. */
  guests?: boolean;
  /** The origin of the shop's page, if it is another one than the shop's address. */
  pageOrigin?: string;
  /** The page that a customer opens first. Default: `/`. */
  page?: string;
  /** The cookie of the CSRF token and the header that carries it: `csrftoken=X-CSRFToken`. */
  csrf?: string;
  /**
   * What the shop did with an order (`--orders`): a line `paid` for each time that it was marked paid, and a line `refund_due 45900` for
   * each refund that is due, with its amount.
   */
  books?: string | ((payment: PaymentOfOrder) => string | string[] | Promise<string | string[]>);
  /** Restarts the shop. */
  restart?: CheckCommand;
  /** Settles payments once, as cron does. Without it the shop has a timer. */
  settle?: CheckCommand;
  /** Changes the price of what the customer orders. */
  reprice?: CheckCommand;
  /** Files to which the shop writes its log. */
  logs?: string[];
  /** In which a payment must be settled, and a command must end: 1 to 3600 seconds. Default: 60. */
  limit?: number;
  /** In which the shop must answer a request: 1 to 3600 seconds. Default: 60. */
  timeout?: number;
  /** How long to wait for the shop at the start: 1 to 3600 seconds. Default: 300. */
  wait?: number;
  /** Only these rules, or groups of rules. */
  only?: string[];
}

/**
 * The payment service of one check, on a port of this machine.
 *
 * @example
 * const settings = ({ baseUrl, secretKey }: CheckService) => ({ GUICHET_BASE_URL: baseUrl, GUICHET_SECRET_KEY: secretKey });
 */
export interface CheckService {
  /** Its address, without `/v1`, for the shop's settings. */
  readonly baseUrl: string;
  /** The key for the shop's settings: that of `GUICHET_SECRET_KEY`, or a new one. */
  readonly secretKey: string;
  /**
   * Stops it.
   *
   * @example
   * const service = await startService();
   * afterAll(() => service.close());
   */
  readonly close: () => void;
}

/**
 * Starts the service of one check, which the shop calls. `listen` is an address with a port; default: a free port of 127.0.0.1. `profile`
 * is that of your payment company, as `createShop` takes it.
 *
 * @example
 * const { baseUrl, secretKey } = await startService();
 */
export function startService(options?: { listen?: string; profile?: object }): Promise<CheckService>;

/**
 * The verdict on a rule.
 *
 * @example
 * const sentence = ({ id, verdict, why }: RuleReport) => `${id}: ${verdict}. ${why ?? ""}`;
 */
export interface RuleReport {
  /** `session_needs_login` */
  id: string;
  title: string;
  /** The options without which it is not checked. */
  needs: string[];
  verdict: "pass" | "fail" | "not checked";
  why: string | null;
  /** The request, and what came: only if it failed. No secret is in them. */
  sent: string | null;
  came: string | null;
  /** How to mend the shop. */
  fix: string | null;
  /** The heading of the guide that promises it. */
  guide: string;
  /** How long the check itself took, and how long it waited for the shop, in seconds. */
  seconds: number;
  waited_seconds: number;
}

/**
 * The verdicts of a check, as `--json` prints them.
 *
 * @example
 * const isSafe = (report: CheckReport) => report.passed === report.rules.length;
 */
export interface CheckReport {
  rules: RuleReport[];
  passed: number;
  failed: number;
  not_checked: number;
}

/**
 * Checks a shop. It resolves with a report also if rules fail. It rejects with a `TypeError` if an option is invalid, and with an `Error`
 * if the shop does not answer or does not call the service.
 *
 * @example
 * const service = await startService();
 * const { failed } = await check("http://127.0.0.1:8000", { service, orders: [{ id: "17" }], only: ["orders"] });
 */
export function check(shop: CheckedShop, options?: CheckOptions): Promise<CheckReport>;
