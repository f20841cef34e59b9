const brand = Symbol.for("guichet.GuichetError");

/** The package's error. The wasm makes it and words its message. */
export class GuichetError extends Error {
  constructor(kind, message, { reply, cause, ...more } = {}) {
    super(message, cause && { cause });
    Object.assign(this, { kind, code: undefined, status: undefined, requestId: undefined, operation: undefined, retryable: false, fields: [] }, more, { kind });
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
