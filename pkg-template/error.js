const brand = Symbol.for("guichet.GuichetError");

/** What went wrong. Made by the wasm, which decides every word of it. */
export class GuichetError extends Error {
  constructor(kind, message, { reply, cause, ...more } = {}) {
    super(message, cause && { cause });
    Object.assign(this, { kind, code: undefined, status: undefined, requestId: undefined, operation: undefined, retryable: false, fields: [] }, more);
    // A reply may hold a secret: it is there for who asks for it by name, and in no log.
    for (const [name, value] of [["name", "GuichetError"], ["reply", reply], [brand, true]]) {
      Object.defineProperty(this, name, { value, configurable: true });
    }
  }

  /** By a mark and not by the class: a page may have loaded the package twice. */
  static is(e) {
    return e instanceof Error && e[brand] === true;
  }

  toJSON() {
    const { name, message } = this;
    return { name, message, ...this };
  }
}

/** That a merchant's secret key was found where a browser is. It is not repeated. */
export const secret_key = () =>
  new GuichetError("secret_key", "A merchant's secret key was given to a browser. Replace the key, since whoever opened this page may have it, and give the page a customer's session token.");
