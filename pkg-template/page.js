import { GuichetError } from "./error.js";

/** Whether this is a browser's page: Node.js has none, and that of jsdom cannot go to another address. */
const is_page = () => typeof document !== "undefined" && !/jsdom|happydom/i.test(navigator.userAgent);

export function needs_page(call) {
  if (is_page()) return;
  throw new GuichetError("unsupported", `${call} needs a browser's page, or guichet/testing.`);
}
