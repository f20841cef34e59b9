/** An error response in the service's format, which guichet in the page reads. */
export class ShopError extends Error {
  constructor(status, code, message, { errors = [], request_id = null } = {}) {
    super(message);
    this.status = status;
    const retryable = status === 429 || status === 500 || status === 503;
    this.body = { status_code: status, response_type: "error", message, data: null, error: { code, errors, request_id, retryable } };
  }
}

export const notSignedIn = () => new ShopError(401, "authentication_required", "Nobody is signed in.");

/** Writes to the console. Control characters are escaped, so that texts of others cannot forge a line or control a terminal. */
export function log(text) {
  console.error(text.replace(/[\p{C}\u2028\u2029]/gu, (character) => `\\u{${character.codePointAt(0).toString(16)}}`));
}

/** Logs an error that no one expected. A `ShopError` was expected. */
export function logUnexpected(error) {
  if (!(error instanceof ShopError)) log(String(error?.stack ?? error));
}
