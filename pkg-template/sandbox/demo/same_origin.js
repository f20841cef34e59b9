import { ShopError } from "../server/server.js";

/** The names of this machine. */
const LOOPBACK = /^((.+\.)?localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/** Refuses a request under another host name (DNS rebinding): a page of another site would be treated as the shop's own. */
export function requireKnownHost({ host = "" }) {
  if (!LOOPBACK.test(host)) {
    throw new ShopError(421, "host_not_allowed", "This shop answers only under localhost or a loopback address. Open the address that it printed when it started.");
  }
}

/**
 * Refuses a request from a page of another site: the shop's routes are called with the customer's cookies. Browsers set both headers,
 * and no page can change them. A request without either does not come from a page.
 */
export function requireOwnPage({ host, origin, "sec-fetch-site": site }) {
  // `none`: no page has caused it, so a browser names no origin.
  const isOwn = (site ?? "none") === "none" ? [undefined, `http://${host}`, `https://${host}`].includes(origin) : site === "same-origin";
  if (!isOwn) throw new ShopError(403, "cross_site", "Only the shop's own pages may call this address.");
}
