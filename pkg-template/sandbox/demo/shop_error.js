import { ShopError } from "../server/server.js";

export const notSignedIn = () => new ShopError(401, "authentication_required", "Nobody is signed in.");

/** An error response in the service's format. */
export function bodyOf({ status, code, message, retryable }) {
  const error = { code, errors: [], request_id: null, retryable };
  return { status_code: status, response_type: "error", message, data: null, error };
}

/** Writes to the console. Control characters are escaped, so that texts of others cannot forge a line or control a terminal. */
export function log(text) {
  console.error(text.replace(/[\p{C}\u2028\u2029]/gu, (character) => `\\u{${character.codePointAt(0).toString(16)}}`));
}
