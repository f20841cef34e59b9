/// <reference lib="esnext.disposable" />

/**
 * The whole payment service in this process, in memory. No method needs `this`. A refused argument rejects with a `TypeError`.
 *
 * @example
 * const sandbox: Sandbox = await createSandbox();
 * const guichet = createGuichet({ baseUrl: sandbox.baseUrl, fetch: sandbox.fetch });
 */
export interface Sandbox extends AsyncDisposable {
  /** Its address, without `/v1`. Only `sandbox.fetch` finds it: no port is open. */
  readonly baseUrl: string;
  /** The first merchant's secret key. It belongs in a developer's own process, never in a page. */
  readonly secretKey: string;
  /** The token of the control API under `/sandbox`. */
  readonly controlToken: string;
  /**
   * Sends a request to the sandbox, as the global `fetch` does to a server. A request for another origin is refused. The faults `drop` and `lost_response` reject with `TypeError: fetch failed`; `truncate` breaks off the body.
   *
   * @example
   * const headers = { authorization: `Bearer ${sandbox.secretKey}` };
   * const reply = await sandbox.fetch(`${sandbox.baseUrl}/v1/payment-intents`, { headers });
   */
  readonly fetch: typeof globalThis.fetch;
  /**
   * Creates a merchant. Give each test one, so that tests are independent.
   *
   * @example
   * const shop = await sandbox.merchant({ name: "Awa's shoes" });
   */
  readonly merchant: (options?: TenantOptions) => Promise<Tenant>;
  /**
   * Deletes everything of the first merchant and of all that `merchant()` made, but their names and keys.
   *
   * @example
   * afterEach(() => sandbox.reset());
   */
  readonly reset: () => Promise<void>;
  /**
   * Forgets everything. A request in flight and every later call is rejected. `await using` calls it, where the runtime has that.
   *
   * @example
   * afterAll(() => sandbox.close());
   */
  readonly close: () => Promise<void>;
}

/**
 * The options of a sandbox.
 *
 * @example
 * const options: SandboxOptions = { merchantName: "Awa's shoes", publicMethods: true };
 * const sandbox = await createSandbox(options);
 */
export interface SandboxOptions {
  /** The origin for which `fetch` answers. Default: `http://localhost:4243`. */
  baseUrl?: string | URL;
  /** The origin under which customers reach the hosted page, in `checkout_url`. Default: `baseUrl`. */
  publicUrl?: string | URL;
  /** The folder of your own checkout page, which is served in the place of the sandbox's: `index.html` is the page of every payment. */
  checkout?: string;
  /** The first merchant's name of 1 to 100 characters, which the hosted page shows. */
  merchantName?: string;
  /** The origins whose pages may call the service. Default: every origin. */
  allowOrigins?: readonly string[];
  /** Host names under which the control API answers, besides loopback. */
  allowHosts?: readonly string[];
  /** Whether payment methods and fees may be read without a credential. */
  publicMethods?: boolean;
  /** Whether unknown fields are refused. */
  strict?: boolean;
  /** A payment company's profile, the content of `service.json`: payments are read, found and canceled as it says, in its words. */
  profile?: object;
}

/**
 * Starts a sandbox. A process may have several, which share nothing. `GUICHET_SECRET_KEY`, if set, is the first merchant's key.
 * It has no timer: what has come due, such as the charge of a subscription, is done before the next response.
 *
 * @example
 * const { baseUrl, fetch } = await createSandbox({ publicMethods: true });
 * const guichet = createGuichet({ baseUrl, fetch, publicReads: "anonymous" });
 * const methods = await guichet.paymentMethods({ country_code: "CM" });
 */
export declare function createSandbox(options?: SandboxOptions): Promise<Sandbox>;

/**
 * The options of a new merchant.
 *
 * @example
 * const options: TenantOptions = { name: "Awa's shoes" };
 * const shop = await sandbox.merchant(options);
 */
export interface TenantOptions {
  /** Its name of 1 to 100 characters, which the hosted page shows. */
  name?: string;
}

/**
 * One merchant of a sandbox: its own key, clock, customers and payments.
 *
 * @example
 * const shop: Tenant = await sandbox.merchant();
 * const headers = { authorization: `Bearer ${shop.secretKey}` };
 * await sandbox.fetch(`${sandbox.baseUrl}/v1/payment-methods`, { headers });
 */
export interface Tenant {
  readonly id: string;
  /** Its secret key. */
  readonly secretKey: string;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly operators: Operators;
  readonly handset: Handset;
  /**
   * The newest 1,000 requests of this merchant and its customers, oldest first.
   *
   * @example
   * const requests = await shop.requests();
   * const creations = requests.filter(({ operation }) => operation === "create_payment_intent");
   */
  readonly requests: () => Promise<ReceivedRequest[]>;
  /**
   * The newest events of its payments, subscriptions and eSIM orders, in order.
   *
   * @example
   * const events = await shop.events();
   * const paid = events.some(({ type }) => type === "payment_intent.succeeded");
   */
  readonly events: () => Promise<SandboxEvent[]>;
  /**
   * Deletes everything of this merchant but its name and key, and sets its clock to the sandbox's.
   *
   * @example
   * afterEach(() => shop.reset());
   */
  readonly reset: () => Promise<void>;
}

/**
 * A merchant's clock, which only goes forward.
 *
 * @example
 * const charge = async (clock: Clock) => console.log(await clock.advance("31d"));
 */
export interface Clock {
  /**
   * The present time of the merchant.
   *
   * @example
   * const now = await shop.clock.now();
   */
  readonly now: () => Promise<Date>;
  /**
   * Moves it forward. What comes due, such as a charge, is done first, each at its own time. Resolves with the new time.
   *
   * @example
   * await shop.clock.advance("31d"); // the subscription's next charge is made
   */
  readonly advance: (by: TimeSpan) => Promise<Date>;
}

/**
 * Seconds, or a number and its unit: `"90s"`, `"15m"`, `"2h"`, `"31d"`.
 *
 * @example
 * const month: TimeSpan = "31d";
 * await shop.clock.advance(month);
 */
export type TimeSpan = number | `${number}` | `${number}${"s" | "m" | "h" | "d"}`;

/**
 * The failures of a merchant's calls.
 *
 * @example
 * const failOnce = (faults: Faults) => faults.set({ operation: "calculate_fee", kind: "status", status: 503 });
 */
export interface Faults {
  /**
   * Makes the next calls of an operation by this merchant or its customers fail. Resolves with all waiting faults.
   *
   * @example
   * await shop.faults.set({ operation: "create_payment_intent", kind: "lost_response", count: 2 });
   */
  readonly set: (fault: Fault) => Promise<WaitingFault[]>;
  /**
   * The faults that are still waiting for a call.
   *
   * @example
   * const waiting = await shop.faults.list();
   */
  readonly list: () => Promise<WaitingFault[]>;
  /**
   * Removes the faults that are still waiting for a call.
   *
   * @example
   * afterEach(() => shop.faults.clear());
   */
  readonly clear: () => Promise<void>;
}

/**
 * The customer's phone. A phone that ends in 0000020 waits until it decides. A payment is named by its reference or its id; `attempt` is the
 * number of the attempt, by default the newest that can be decided.
 *
 * @example
 * const approve = (handset: Handset) => handset.approve("ORDER-17");
 */
export interface Handset {
  /**
   * The payer approves: the payment succeeds. After a timeout this is a late approval. Rejects if no attempt waits for it.
   *
   * @example
   * await shop.handset.approve("ORDER-17");
   */
  readonly approve: (payment: string, attempt?: number) => Promise<void>;
  /**
   * The payer refuses.
   *
   * @example
   * await shop.handset.refuse("ORDER-17");
   */
  readonly refuse: (payment: string, attempt?: number) => Promise<void>;
  /**
   * The payer does not react, and the operator reports a timeout.
   *
   * @example
   * await shop.handset.ignore("ORDER-17");
   */
  readonly ignore: (payment: string, attempt?: number) => Promise<void>;
  /**
   * The operator reports a timeout, and approves 60 seconds later.
   *
   * @example
   * await shop.handset.approveLate("ORDER-17");
   */
  readonly approveLate: (payment: string, attempt?: number) => Promise<void>;
}

/**
 * The mobile money operators, as they work for a merchant.
 *
 * @example
 * const close = (operators: Operators) => operators.set({ code: "orange_cm", status: "closed" });
 */
export interface Operators {
  /**
   * Changes how an operator works from now on. Resolves with all operators. `delayed`: every attempt ends 60 seconds later. `closed`: a
   * payment by it is refused with 422 `payment_method_unavailable`.
   *
   * @example
   * await shop.operators.set({ code: "mtn_cm", status: "delayed" });
   */
  readonly set: (operator: Omit<Operator, "name">) => Promise<Operator[]>;
}

/**
 * A mobile money operator, and how it works.
 *
 * @example
 * const isOffered = ({ status }: Operator) => status !== "closed";
 */
export interface Operator {
  code: "mtn_cm" | "orange_cm";
  name: string;
  status: "operational" | "delayed" | "closed";
}

/**
 * How the next calls of an operation fail. `delay`, `lost_response`, `malformed` and `truncate` execute the call, but the response
 * is late, lost or broken. `drop` and `status` do not execute it.
 *
 * @example
 * const slow: Fault = { operation: "create_payment_intent", kind: "delay", milliseconds: 2000 };
 * await shop.faults.set(slow);
 */
export type Fault = {
  operation: Operation;
  /** The number of calls. Default: 1. */
  count?: number;
} & (
  | { kind: "delay"; milliseconds: number }
  | { kind: "drop" | "lost_response" | "malformed" | "truncate" }
  | { kind: "status"; /** 400 to 599; default: 503. */ status?: number; /** In seconds. */ retry_after?: number }
);

/**
 * A fault that is still waiting for a call.
 *
 * @example
 * const sentence = ({ operation, kind, count }: WaitingFault) => `${kind} of the next ${count} calls of ${operation}`;
 */
export type WaitingFault = { operation: Operation; count: number } & (
  | { kind: "delay"; milliseconds: number }
  | { kind: "drop" | "lost_response" | "malformed" | "truncate" }
  | { kind: "status"; status: number; retry_after: number | null }
);

/**
 * An operation of the service.
 *
 * @example
 * const failing: Operation[] = ["create_payment_intent", "read_payment_intent"];
 * for (const operation of failing) await shop.faults.set({ operation, kind: "drop" });
 */
export type Operation =
  | "abandon_payment_intent"
  | "answer_payment_intent"
  | "attach_payment_method"
  | "calculate_fee"
  | "cancel_payment_intent"
  | "cancel_subscription"
  | "change_subscription_payment_method"
  | "configure_fallback"
  | "confirm_payment_intent"
  | "create_esim_order"
  | "create_payment_intent"
  | "create_plan"
  | "create_session"
  | "create_subscription"
  | "deactivate_plan"
  | "list_customers"
  | "list_esim_packages"
  | "list_payment_intents"
  | "list_payment_methods"
  | "list_plans"
  | "list_subscriptions"
  | "pause_subscription"
  | "read_esim_order"
  | "read_payment_intent"
  | "read_subscription"
  | "resume_subscription"
  | "revoke_session"
  | "validate_session";

/**
 * A request that reached the service. Credentials and queries are not kept, and of a body its reference alone.
 *
 * @example
 * const sentence = ({ method, path, status }: ReceivedRequest) => `${method} ${path}: ${status ?? "no response"}`;
 */
export interface ReceivedRequest {
  /** Its time by the merchant's clock, in Unix seconds. */
  at: number;
  operation: Operation;
  method: "DELETE" | "GET" | "POST" | "PUT";
  /** The operation's path: `/v1/payment-intents/{id}`. */
  path: string;
  /** The payment intent in its path. */
  intent: string | null;
  credential: "client_secret" | "none" | "secret_key" | "session_token";
  request_id: string;
  /** The status of the response. `null` if there is none yet, or the connection ended first. */
  status: number | null;
  fault: Fault["kind"] | null;
  /** The error code of a refusal: `parameter_invalid`. */
  error: string | null;
  /** The `merchant_reference` in its body, without secrets. */
  reference: string | null;
}

/**
 * A change of a payment, a subscription or an eSIM order.
 *
 * @example
 * const isPaid = ({ type, data }: SandboxEvent, id: string) => type === "payment_intent.succeeded" && data.id === id;
 */
export interface SandboxEvent {
  id: string;
  /** `payment_intent.succeeded`, `subscription.renewed`, … */
  type: string;
  /** Its time by the merchant's clock, in Unix seconds. */
  created_at: number;
  data: { id: string; merchant_reference?: string };
}
