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

/** That a merchant's secret key was found where a browser is. It is not repeated. */
export const secret_key = () =>
  failure("secret_key", "A merchant's secret key was given to a browser. Replace the key, since whoever opened this page may have it, and give the page a customer's session token.", undefined, false);

/** A refusal of the merchant's server that means that nobody is signed in. What was answered is kept. */
export function signed_out(error) {
  const { status, reply } = error;
  const remedy = status === 401 ? "" : " If it refused the request itself (a CSRF rule), pass what it asks for by `merchantHeaders`.";
  const made = new GuichetError("signed_out", `Nobody is signed in: the merchant's server answered ${status}.${remedy}`, {
    ...error, kind: "signed_out", retryable: false, reply,
  });
  return Object.defineProperty(made, "cause", { value: error, configurable: true, writable: true });
}

/** The error of a reply: what the service said of it, without the credential it may repeat. */
export function refusal(kind, otherwise, operation, retryable, { status, body, text: raw, request_id }, secret) {
  // A reply is anyone's JSON: where a text is expected, an object or a list says nothing.
  const redacted = (value) => {
    const text = ["string", "number", "boolean"].includes(typeof value) ? `${value}` : undefined;
    return secret?.length > 7 ? text?.replaceAll(secret, "***") : text;
  };
  const error = body?.error;
  const fields = Array.isArray(error?.errors) ? error.errors : [];
  return new GuichetError(kind, redacted(body?.message) ?? otherwise, {
    operation,
    retryable,
    status,
    code: redacted(error?.code),
    requestId: redacted(error?.request_id) ?? redacted(request_id),
    fields: fields
      .map((field) => ({ param: redacted(field?.param), code: redacted(field?.code) ?? "", message: redacted(field?.message) ?? "" }))
      .filter(({ param }) => param !== undefined),
    reply: body ?? raw,
  });
}
