const brand = Symbol.for("guichet.GuichetError");

/** The package's error. The wasm makes it and words its message. */
export class GuichetError extends Error {
  kind;
  code;
  status;
  requestId;
  operation;
  retryable = false;
  fields = [];

  constructor(kind, message, { reply, cause, ...more } = {}) {
    super(message, cause && { cause });
    Object.assign(this, more, { kind });
    // A reply may hold a secret: it is not enumerable, so no log shows it.
    Object.defineProperty(this, "reply", { value: reply, configurable: true });
  }

  get name() {
    return "GuichetError";
  }

  get [brand]() {
    return true;
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
