/** What kind of error it is: switch on this, and on `code`. */
export type Kind =
  /** A merchant's secret key stands somewhere in an option or an argument. Nothing was sent. */
  | "secret_key"
  /** What was given is not what the call takes, or has a name that does not exist; `fields` says where. Nothing was sent. */
  | "input"
  /**
   * Nobody is signed in at the merchant's: the session route answered `null`, 401, 403 or 419. `status`, `operation` and
   * `reply` say what was answered. A CSRF rule of the merchant's own server answers so, too: see `merchantHeaders`.
   */
  | "signed_out"
  /** The service does not take the credential, not even a fresh one. */
  | "session"
  /** The service read the request and refused it; `code` says why. */
  | "refused"
  /** There is no such object, or it is not this caller's. */
  | "not_found"
  /** No reply at all. */
  | "offline"
  /** The time was over. What was sent may have been done. */
  | "timeout"
  /** A reply that cannot be read; it is in `reply`. */
  | "unreadable"
  /** An address that may not be followed. */
  | "address"
  /** The payment has come to its end already. */
  | "settled"
  /** The service, or the merchant's server, does not have this; or there is no browser's page to do it in. */
  | "unsupported"
  /** The page or the device does not allow WebAssembly. */
  | "wasm_blocked"
  /** A defect of this package. Every call of every client is rejected until the page is reloaded. */
  | "panic";

/** One field that was refused. */
export interface FieldError {
  /** The field: `amount`. */
  param: string;
  /** The stable word for the cause: `parameter_invalid`. */
  code: string;
  /** A sentence for the developer. */
  message: string;
}

/**
 * What went wrong. Neither its text nor its JSON shows a token, a client secret or a checkout address.
 *
 * A call that the caller called off rejects with `signal.reason` itself, and what a merchant's own function
 * throws is thrown on: neither is one of these.
 */
export declare class GuichetError extends Error {
  private constructor();
  readonly kind: Kind;
  /** The service's stable word for the cause: `payment_method_unavailable`. */
  readonly code: string | undefined;
  /** The HTTP status, where there was a reply. */
  readonly status: number | undefined;
  /** The service's name of the request: give it to the service's support. */
  readonly requestId: string | undefined;
  /** Which operation it was: `calculate_fee`, or `merchant_intent` for a route of the merchant's. */
  readonly operation: string | undefined;
  /** Whether the same call can succeed later. */
  readonly retryable: boolean;
  /** Every field that was refused; empty where none was named. */
  readonly fields: readonly FieldError[];
  /** The reply, where there was one. It may hold secrets, and is in no log: look at it before you show it. */
  readonly reply: unknown;
  /** Whether it is one of these, from whichever copy of the package. */
  static is(e: unknown): e is GuichetError;
  toJSON(): Record<string, unknown>;
}
