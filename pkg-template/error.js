const brand = Symbol.for("guichet.GuichetError");

/** What went wrong. Made by the wasm, which decides every word of it. */
export class GuichetError extends Error {
  constructor(kind, message, { reply, ...more } = {}) {
    super(message);
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

export const is_one_of = (error, kinds) => kinds.split(" ").includes(error?.kind);
export const failure = (kind, message, operation, retryable, fields = [], reply = undefined) =>
  new GuichetError(kind, message, { operation, retryable, fields, reply });

/** The error of a reply: what the service said of it, without the credential it may repeat. */
export function refusal(kind, otherwise, operation, retryable, { status, body, text, request_id }, secret) {
  const hush = (said) => (secret?.length > 7 ? `${said}`.replaceAll(secret, "***") : `${said}`);
  const said = (word) => (word == null ? undefined : hush(word));
  const error = body?.error;
  const fields = Array.isArray(error?.errors) ? error.errors.filter((field) => field?.param !== undefined) : [];
  return new GuichetError(kind, hush(body?.message ?? otherwise), {
    operation,
    retryable,
    status,
    code: said(error?.code),
    requestId: said(error?.request_id ?? request_id),
    fields: fields.map(({ param, code = "", message = "" }) => ({ param: hush(param), code: hush(code), message: hush(message) })),
    reply: body ?? text,
  });
}
