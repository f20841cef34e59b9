// The options are checked at once: a mistake shows at the start, and not at the first purchase.
const ORDERS = ["remember", "find", "settled", "overpaid", "openPayments", "open", "claim"];
const SESSIONS = ["keepSession", "endSessions"];
const LEDGER = ["open", "now", "load", "commit", "find", "returned", "due", "postpone", "shared", "replaceShared", "events", "close"];
const FUNCTION = [(value) => typeof value === "function", "a function"];
const ORIGINS = [(value) => Array.isArray(value) && value.every(originOf), "a list of whole origins: https://www.example.com (a `*` matches nothing)"];

/** What each option must be. Those after `orders` are optional. */
const OPTIONS = {
  baseUrl: [(value) => rootOf(value), "the service's address, without query: https://api.example.com"],
  secretKey: [isKey, "the merchant's secret key, without spaces, line ends and quotes, and no session token, client secret or publishable key"],
  customer: FUNCTION,
  purchase: FUNCTION,
  orders: [isOrders, `the ledger's orders (guichet-server/orders), or an object with the functions ${ORDERS.join(", ")}, and both or none of ${SESSIONS.join(" and ")}`],
  orderChanged: FUNCTION,
  origins: ORIGINS,
  checkoutOrigins: ORIGINS,
  plainHosts: [(value) => Array.isArray(value) && value.every(isHost), 'a list of host names, without port: "sandbox"'],
  guests: [(value) => typeof value === "boolean", "true or false"],
  returnKey: [(value) => typeof value === "string" && [...value].length >= 16, "a secret text of at least 16 characters"],
  path: [(value) => typeof value === "string" && /^(\/[\w.~-]+)+$/.test(value), "a path without a slash at its end: /guichet"],
  fetch: FUNCTION,
  wasm: [(value) => value instanceof WebAssembly.Module, "a WebAssembly.Module"],
  onCall: FUNCTION,
};
const REQUIRED = ["baseUrl", "secretKey", "customer", "purchase", "orders"];

export function checked(options) {
  if (typeof globalThis.document !== "undefined") {
    throw new TypeError("guichet-server holds the merchant's secret key and does not run in a page. A page uses `guichet`.");
  }
  if (typeof options !== "object" || options === null) throw new TypeError("The options must be an object.");
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(OPTIONS, name)) throw new TypeError(`Unknown option \`${name}\`. The options are: ${Object.keys(OPTIONS).join(", ")}.`);
    const [isRight, what] = OPTIONS[name];
    if (value !== undefined && !isRight(value)) throw new TypeError(`Option \`${name}\` must be ${what}.`);
  }
  for (const name of REQUIRED) {
    if (options[name] === undefined) throw new TypeError(`Missing option \`${name}\`. Pass ${OPTIONS[name][1]}.`);
  }
  const isLedger = isLedgers(options.orders);
  if (isLedger !== (options.orderChanged !== undefined)) {
    throw new TypeError("Pass `orderChanged`, a function, with the orders of guichet-server/orders, and with no others.");
  }
  const { baseUrl, origins = [], checkoutOrigins = [new URL(baseUrl).origin], path = "/guichet" } = options;
  const isTest = /^(sk_test_|rk_test_|FLWSECK_TEST)/.test(options.secretKey);
  const plainHosts = (isTest && options.plainHosts) || [];
  if (!isSafe(baseUrl, plainHosts)) {
    throw new TypeError("Option `baseUrl` must begin with https:// (http:// is for localhost). For a sandbox on another host, use a test key and name the host in `plainHosts`.");
  }
  return { ...options, isLedger, isTest, root: rootOf(baseUrl), origins: origins.map(originOf), checkoutOrigins: checkoutOrigins.map(originOf), path };
}

function isOrders(value) {
  const isThere = (name) => typeof value?.[name] === "function";
  return (isLedgers(value) || ORDERS.every(isThere)) && SESSIONS.every((name) => isThere(name) === isThere(SESSIONS[0]));
}

/** Whether they are a ledger's, which decides itself what is kept. */
export function isLedgers(orders) {
  return LEDGER.every((name) => typeof orders?.[name] === "function");
}

function isKey(text) {
  return typeof text === "string" && /^[!-~]+$/.test(text) && !/["'`]|^(cst_|pi_|pk_)/.test(text);
}

function isHost(text) {
  return URL.canParse(`http://${text}`) && new URL(`http://${text}`).hostname === text;
}

/** Whether the key may be sent there: by https, or by plain http on this machine or to a named host. */
function isSafe(text, plainHosts) {
  const { protocol, hostname } = URL.canParse(text) ? new URL(text) : {};
  const isLocal = /^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
  return protocol === "https:" || (protocol === "http:" && (isLocal || plainHosts.includes(hostname)));
}

function parsed(text) {
  try {
    const url = new URL(text);
    return { url, isBare: /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password && !/[?#]/.test(text) };
  } catch {
    return {};
  }
}

/** An origin as browsers write it. */
function originOf(text) {
  const { url, isBare } = parsed(text);
  return isBare && url.pathname === "/" && !url.hostname.includes("*") && url.origin;
}

/** The address that `/v1/…` is appended to. */
function rootOf(text) {
  const { isBare } = parsed(text);
  return isBare && String(text).replace(/\/+$/, "").replace(/\/v1$/, "").replace(/\/+$/, "");
}
