import type { CodeKey } from "./words.js";

/**
 * What kind of error it is: switch on this, and on `code`.
 *
 * @example
 * const needsSignIn = (kind: Kind) => kind === "signed_out" || kind === "session";
 */
export type Kind =
  /** An option or an argument holds a merchant's secret key. Nothing was sent. */
  | "secret_key"
  /** An option or an argument is wrong, or has an unknown name; `fields` names it. Nothing was sent. */
  | "input"
  /**
   * Nobody is signed in at the merchant: a route answered 401 or 419, or the session route 403 or `null`. `status`, `operation` and
   * `reply` hold its answer. A CSRF rule of the merchant's own server can give the same answer: see `merchantHeaders`.
   */
  | "signed_out"
  /** The service refused the credential, and a fresh one, too. */
  | "session"
  /** The service read the request and refused it; `code` says why. */
  | "refused"
  /** There is no such object, or it belongs to another. */
  | "not_found"
  /** No reply arrived. */
  | "offline"
  /** The deadline passed. The request may have been executed. */
  | "timeout"
  /** The reply cannot be read; it is in `reply`. */
  | "unreadable"
  /** The page may not go to this address. */
  | "address"
  /** The payment is already final. */
  | "settled"
  /** The service or the merchant's server has no such operation, or the merchant's server answered 404 with a `code` of its own, such as `order_missing`; or the call needs a browser's page, or the browser does not let this page go to the checkout, as in a frame. */
  | "unsupported"
  /** The page or the device does not allow WebAssembly, or the browser is too old for it. */
  | "wasm_blocked"
  /** The file of the wasm is missing, is no wasm, or is of another version: the message has its address, what was received, and what to do. */
  | "wasm_missing"
  /** A defect of this package. Every call of every client is rejected until the page is reloaded. */
  | "panic";

/**
 * One field that was refused.
 *
 * @example
 * const sentences = (error: GuichetError) => error.fields.map(({ param, message }) => `${param}: ${message}`);
 */
export interface FieldError {
  /** The field: `amount`. */
  param: string;
  /** The code of the cause, to switch on: `parameter_invalid`. */
  code: CodeKey | (string & {});
  /** A sentence for the developer. */
  message: string;
}

/**
 * What went wrong. Neither its text nor its JSON shows a token, a client secret or a checkout address.
 *
 * A cancelled call rejects with `signal.reason` itself, and a call whose `merchant` function throws rejects with what it threw:
 * neither is a `GuichetError`. In a test, `guichetError` of `guichet/testing` makes one.
 *
 * @example
 * try {
 *   await guichet.checkout({ order: { id: "17" } });
 * } catch (error) {
 *   if (!GuichetError.is(error)) throw error;
 *   if (error.kind === "signed_out") location.assign("/login");
 *   else alert(describe(error, "en"));
 * }
 */
export declare class GuichetError extends Error {
  private constructor();
  readonly kind: Kind;
  /** The service's code of the cause, to switch on: `payment_method_unavailable`. */
  readonly code: CodeKey | (string & {}) | undefined;
  /** The HTTP status, if there was a reply. */
  readonly status: number | undefined;
  /** The service's id of the request, for its support. */
  readonly requestId: string | undefined;
  /** The operation: `calculate_fee`, or `merchant_intent` for a route of the merchant. */
  readonly operation: string | undefined;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** Every field that was refused. */
  readonly fields: readonly FieldError[];
  /** The reply, if there was one. It may hold secrets, so logs leave it out: check it before you show it. */
  readonly reply: unknown;
  /**
   * Whether a value is a `GuichetError`, of this or another copy of the package.
   *
   * @example
   * guichet.ready().catch((error) => {
   *   if (GuichetError.is(error) && error.kind === "wasm_blocked") alert(describe(error, "en"));
   * });
   */
  static is(e: unknown): e is GuichetError;
  /**
   * Its name, its message and its fields, without the reply.
   *
   * @example
   * const report = (error: GuichetError) => navigator.sendBeacon("/errors", JSON.stringify(error));
   */
  toJSON(): Record<string, unknown>;
}
