const brand = Symbol.for("guichet.GuichetError");

/** The package's error. The wasm makes it and words its message. */
export class GuichetError extends Error {
  constructor(kind, message, { reply, cause, ...more } = {}) {
    super(message, cause && { cause });
    Object.assign(this, { kind, code: undefined, status: undefined, requestId: undefined, operation: undefined, retryable: false, fields: [] }, more);
    // A reply may hold a secret: it is not enumerable, so no log shows it.
    for (const [name, value] of [["name", "GuichetError"], ["reply", reply], [brand, true]]) {
      Object.defineProperty(this, name, { value, configurable: true });
    }
  }

  /** Compares a mark, not the class: a page may have loaded the package twice. */
  static is(e) {
    return e instanceof Error && e[brand] === true;
  }

  toJSON() {
    const { name, message } = this;
    return { name, message, ...this };
  }
}

/** The error that a browser was given a merchant's secret key. It does not repeat the key. */
export const secret_key = () =>
  new GuichetError("secret_key", "A merchant's secret key was given to a browser. Replace the key, since whoever opened this page may have it, and give the page a customer's session token.");
