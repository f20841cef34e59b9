// The options are checked at once: a mistake shows at the start, and not at the first purchase.
import { begin } from "./core.js";
import { ShopLedger } from "./core/guichet_server.js";

const STORE = "open now load commit find returned due postpone shared replaceShared events close keepSession endSessions".split(" ");
const FUNCTION = [(value) => typeof value === "function", "a function"];
const SWITCH = [(value) => typeof value === "boolean", "true or false"];
const ORIGINS = [(value) => Array.isArray(value) && value.every(originOf), "a list of whole origins: https://www.example.com (a `*` matches nothing)"];

/** What each option must be. */
const OPTIONS = {
  baseUrl: [(value) => rootOf(value), "the service's address, without query: https://api.example.com"],
  gatewayUrl: [(value) => rootOf(value), "the address that takes new payments, without query: https://gateway.example.com"],
  profile: [(value) => typeof value === "object" && value !== null, "the parsed content of a profile, an object"],
  secretKey: [isKey, "the merchant's secret key, without spaces, line ends and quotes, and no session token, client secret or publishable key"],
  formerSecretKey: [isKey, "the secret key that `secretKey` has replaced"],
  customer: FUNCTION,
  purchase: FUNCTION,
  orders: [(value) => STORE.every((name) => typeof value?.[name] === "function"), `a store of guichet-server/orders, or an object with the functions ${STORE.join(", ")}`],
  orderChanged: FUNCTION,
  origins: ORIGINS,
  checkoutOrigins: ORIGINS,
  plainHosts: [(value) => Array.isArray(value) && value.every(isHost), 'a list of host names, without port: "sandbox"'],
  keepDays: [(value) => Number.isInteger(value) && value >= 0 && value <= 65_535, "a whole number of days, 0 to 65,535"],
  guests: SWITCH,
  publicReads: SWITCH,
  path: [(value) => typeof value === "string" && /^(\/[\w.~-]+)+$/.test(value), "a path without a slash at its end: /guichet"],
  fetch: FUNCTION,
  wasm: [(value) => value instanceof WebAssembly.Module, "a WebAssembly.Module"],
  onCall: FUNCTION,
};
const REQUIRED = ["secretKey", "customer", "purchase", "orders", "orderChanged"];

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
  const { profile } = options;
  if (profile) checkProfile(options);
  const { baseUrl = profile?.base_url, origins = [], path = "/guichet" } = options;
  if (!baseUrl) throw new TypeError(`Missing option \`baseUrl\`. Pass ${OPTIONS.baseUrl[1]}.`);
  // A sandbox in place of the payment company has none of its other addresses.
  const { gateway_url, checkout_origins = [] } = profile && rootOf(profile.base_url) === rootOf(baseUrl) ? profile : {};
  const { gatewayUrl = gateway_url ?? baseUrl } = options;
  const { checkoutOrigins = checkout_origins.length > 0 ? checkout_origins : [new URL(baseUrl).origin] } = options;
  const isTest = /^(sk_test_|rk_test_|FLWSECK_TEST)/.test(options.secretKey);
  const plainHosts = (isTest && options.plainHosts) || [];
  for (const [name, url] of Object.entries({ baseUrl, gatewayUrl })) {
    if (isSafe(url, plainHosts)) continue;
    throw new TypeError(`Option \`${name}\` must begin with https:// (http:// is for localhost). For a sandbox on another host, use a test key and name the host in \`plainHosts\`.`);
  }
  return { ...options, isTest, root: rootOf(baseUrl), gateway: rootOf(gatewayUrl), origins: origins.map(originOf), checkoutOrigins: checkoutOrigins.map(originOf), path };
}

function checkProfile({ profile, wasm }) {
  begin(wasm);
  try {
    new ShopLedger(true, undefined, JSON.stringify(profile)).free();
  } catch (reason) {
    throw new TypeError(`Option \`profile\`: ${reason}`);
  }
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
