import { LARGEST_BODY, textOf } from "./body.js";
import { begin_round, end_round, first_shared, read_due, read_order, read_public, respond, revoke, ShopLedger } from "./core/guichet_server.js";
import { begin, generation, run } from "./core.js";
import { ShopError } from "./error.js";
import { checked } from "./options.js";
import { Seal } from "./seal.js";
import { Service } from "./service.js";
import { Sessions } from "./sessions.js";

export { ShopError };

/** How long an answer to a read of methods or of a fee is kept, in milliseconds, and how many are kept or awaited. */
const [KEPT, MOST_KEPT] = [10_000, 1_000];

/** Creates a shop. It sends nothing. */
export const createShop = (options) => new Shop(checked(options));

class Shop {
  #options;
  #service;
  #sessions;
  #marks;
  #round;
  #addresses;
  #formerAddresses;
  #opening;
  #reads = new Map();
  #ledger;
  #generation;

  constructor(options) {
    this.#options = options;
    this.#service = new Service(options);
    this.#sessions = new Sessions(options, () => this.#opened());
    const seal = (key) => new Seal(key, "guichet ledger: addresses");
    this.#addresses = seal(options.secretKey);
    this.#formerAddresses = options.formerSecretKey && seal(options.formerSecretKey);
    this.path = options.path;
    // Fields, so that they need no `this`.
    this.fetch = (request) => this.#respond(request);
    this.signOut = (login) => this.#signOut(login);
    this.order = (name) => this.#execute(() => read_order(this.#kept(), name)).then(JSON.parse);
    this.settle = () => (this.#round ??= this.#settle().finally(() => (this.#round = undefined)));
  }

  async #respond(request) {
    const { origins, checkoutOrigins, publicReads, wasm } = this.#options;
    const url = new URL(request.url);
    const header = (name) => request.headers.get(name) ?? undefined;
    const read = {
      // The server that sends the response drops its body.
      method: request.method === "HEAD" ? "GET" : request.method,
      route: url.pathname.startsWith(`${this.path}/`) ? decoded(url.pathname.slice(this.path.length + 1)) : "",
      origin: header("origin"),
      site: header("sec-fetch-site"),
      host: header("host") ?? url.host,
      type: header("content-type"),
      language: header("accept-language"),
      query: url.search.slice(1),
      requestedHeaders: header("access-control-request-headers"),
      publicReads,
    };
    const reply = await run(() => respond(read, origins, checkoutOrigins, this.#kept()), this.#actions(request), wasm).catch((e) => this.#failed(e));
    if (reply.cause) this.#log(reply.cause);
    this.#alarm(reply);
    return new Response(reply.body || null, { status: reply.status, headers: reply.headers });
  }

  /** What a page reads by the key. Equal reads share one request, whose answer is kept; not one that another attempt may change. */
  #readPublic(target, isFee) {
    const now = performance.now();
    for (const [kept, { until }] of this.#reads) if (until < now) this.#reads.delete(kept);
    if (this.#reads.has(target)) return this.#reads.get(target).reply;
    if (this.#reads.size >= MOST_KEPT) throw new ShopError(429, "rate_limited", "Too many prices were requested from this shop. Please try again.");
    const reply = run(() => read_public(target, isFee), this.#actions(), this.#options.wasm).catch((e) => this.#failed(e));
    const read = { reply, until: Infinity };
    this.#reads.set(target, read);
    reply.then(({ status, cause }) => {
      read.until = status < 429 ? performance.now() + KEPT : 0;
      if (cause) this.#log(cause);
    });
    return reply;
  }

  #failed(e) {
    const error = { type: "api_error", code: "internal_error", errors: [], request_id: null, retryable: true };
    const body = { status_code: 500, response_type: "error", message: "Something went wrong in the shop. Please try again.", data: null, error };
    const headers = [["cache-control", "no-store"], ["content-type", "application/json"]];
    return { status: 500, headers, body: JSON.stringify(body), cause: String(e.stack) };
  }

  /** A round of the ledger. Another process may have it: then nothing is read. */
  async #settle() {
    const failed = [];
    const fail = (e) => void failed.push(e instanceof Error ? e : new Error(String(e)));
    const execute = (start) => this.#execute(start).then(JSON.parse).catch(fail);
    const { due = 0, oldest, until = 0, claimed = [] } = (await execute(() => begin_round(this.#kept()))) ?? {};
    const reads = await Promise.all(claimed.map((one) => this.#readDue(one, until, fail)));
    const { notReceived = 0 } = (await execute(() => end_round(this.#kept(), until, claimed.length > 0))) ?? {};
    const done = reads.filter(Boolean);
    return { read: done.reduce((sum, { read }) => sum + read, 0), due, oldest, until, notReadable: done.flatMap(({ notReadable }) => notReadable), notReceived, failed };
  }

  /** Reads what is due of one payment. What the service did not answer changes nothing, and is a failure of the round. */
  async #readDue(one, until, fail) {
    let unread;
    const report = (call) => (unread = call.kind && call);
    const start = () => read_due(this.#kept(), JSON.stringify(one), until);
    const done = await this.#execute(start, report).then(JSON.parse).catch(fail);
    if (done?.read === 0 && unread) fail(notRead(one, unread));
    return done;
  }

  /** What the wasm keeps of this shop between its tasks. */
  #kept() {
    const { isTest, keepDays, profile } = this.#options;
    if (this.#generation !== generation) this.#ledger = new ShopLedger(isTest, keepDays, profile && JSON.stringify(profile));
    this.#generation = generation;
    return this.#ledger;
  }

  #alarm({ alarms = [] }) {
    for (const alarm of alarms) this.#log(`the ledger needs a person: ${alarm}`);
  }

  /** Ends the session tokens of a login. */
  async #signOut(login) {
    if (typeof login !== "string" || login === "") throw new TypeError("`signOut` takes the `login` that `customer` has returned, a text.");
    const failed = [];
    const fail = (e) => void failed.push(e instanceof Error ? e : new Error(String(e)));
    const tokens = (await this.#sessions.end(login).catch(fail)) ?? [];
    await Promise.all(tokens.map((token) => this.#execute(() => revoke(token)).catch(fail)));
    return { failed };
  }

  /** Executes a task that answers no page. `report` gets each attempt of its calls. */
  async #execute(start, report) {
    const result = await run(start, this.#actions(undefined, report), this.#options.wasm);
    this.#alarm(result);
    const { refused } = result;
    if (!refused) return result.value;
    const { status, code, message, cause, ...more } = refused;
    throw new ShopError(status, code, message, { ...more, cause: cause && this.#service.redact(cause) });
  }

  /** What the wasm may name. */
  #actions(request, report) {
    const { guests, onCall, ...options } = this.#options;
    let customer;
    return {
      customer: async () => {
        customer = (await options.customer(request)) ?? undefined;
        if (customer && !isCustomer(customer, guests)) {
          throw new TypeError("`customer` must return null, or `id`, a text or a number; with `guests: true`, a guest has a `login` and no `id`.");
        }
        if (![undefined, null, true, false].includes(customer?.emailVerified)) {
          throw new TypeError("`emailVerified` of a customer must be true or false: a text or a number of a database counts for neither.");
        }
        return customer;
      },
      purchase: async (isForm) => {
        return textOfPurchase(await options.purchase(await orderOf(request, isForm), customer));
      },
      hmac: async (text) => {
        this.#marks ??= derived(options.secretKey, "guichet ledger: marks");
        return new Uint8Array(await hmac(await this.#marks, text));
      },
      keepSession: (login, token) => this.#sessions.keep(login, token),
      random: () => crypto.getRandomValues(new Uint8Array(32)),
      seal: (address) => this.#addresses.seal(address),
      open: (sealed) => this.#addresses.open(sealed).catch(() => this.#formerAddresses?.open(sealed)).catch(() => undefined),
      orderChanged: (changed) => inTime(async () => options.orderChanged(JSON.parse(changed))),
      ...this.#store(),
      readPublic: async (...read) => this.#readPublic(...read),
      send: (...call) => this.#service.send(...call),
      wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      called: (operation, attempt, { ms, status, requestId }, kind) => {
        const call = { operation, attempt, ms, status, kind, requestId };
        report?.(call);
        try {
          onCall?.(call);
        } catch (e) {
          this.#log(e);
        }
      },
    };
  }

  /** The orders, which are opened first. */
  #opened() {
    const { orders, wasm } = this.#options;
    begin(wasm);
    this.#opening ??= orders.open((now) => first_shared(now)).catch((e) => {
      this.#opening = undefined;
      throw e;
    });
    return this.#opening.then(() => orders);
  }

  /** What the wasm asks of the orders. */
  #store() {
    const { orders } = this.#options;
    const action = (work) => async (...values) => (await this.#opened(), work(...values));
    return {
      now: action(() => orders.now()),
      load: action(async (...values) => JSON.stringify(await orders.load(...values))),
      commit: action((commit) => orders.commit(JSON.parse(commit))),
      findNames: action(async (payment) => JSON.stringify(await orders.find(payment))),
      returned: action((...values) => orders.returned(...values)),
      due: action(async (...times) => JSON.stringify(await orders.due(...times))),
      postpone: action((...values) => orders.postpone(...values)),
      shared: action(() => orders.shared()),
      replaceShared: action((...values) => orders.replaceShared(...values)),
      events: action(async () => JSON.stringify(await orders.events())),
      close: action((...values) => orders.close(...values)),
    };
  }

  /** Without the key, and without characters that could forge a line or control a terminal. */
  #log(cause) {
    const text = this.#service.redact(String(cause?.stack ?? cause));
    console.error(`guichet-server: ${text.replace(/[^\P{C}\n]|[\u2028\u2029]/gu, "?").replaceAll("\n", "\n  ")}`);
  }
}

/** A payment that a round could not read, and its last call. The line for a log has no text of the service. */
function notRead({ reference }, { operation, attempt, status, kind, requestId }) {
  const message = `The payment ${reference} could not be read.`;
  const [of, code] = ["offline", "timeout"].includes(kind) ? [503, "unavailable"] : [502, "service_failed"];
  const cause = `${message} ${operation}, attempt ${attempt}: ${status ?? "no reply"}, ${kind}`;
  return new ShopError(of, code, message, { kind, requestId, retryable: true, cause });
}

const isText = (value) => typeof value === "string" && value !== "" && isUnicode(value);
const isName = (value) => isText(value) || Number.isFinite(value);

function isCustomer({ id, login }, guests) {
  const isLogin = isText(login);
  return id === undefined || id === null ? guests === true && isLogin : isName(id) && (login === undefined || isLogin);
}

function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** What the page gave to `checkout`, or the fields of its form. */
async function orderOf(request, isForm) {
  const text = await textOf(request, LARGEST_BODY);
  if (text === undefined) throw new ShopError(413, "body_too_large", "The order is too large.");
  if (isForm) return Object.fromEntries(new URLSearchParams(text));
  try {
    return JSON.parse(text, unicode);
  } catch {
    throw new ShopError(400, "invalid_json", "The order is not JSON.");
  }
}

/** A shop that hangs must not keep others from what their orders have become. */
function inTime(work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("`orderChanged` has taken longer than ten seconds.")), 10_000);
  });
  return Promise.race([work(), late]).finally(() => clearTimeout(timer));
}

/** What a shop says of an order, for the ledger. Numbers that are whole are amounts, too. */
function textOfPurchase(purchase) {
  if (typeof purchase !== "object" || purchase === null) throw new TypeError("`purchase` must return an object.");
  const { amount } = purchase;
  if (typeof amount === "number" && !Number.isSafeInteger(amount)) {
    throw new TypeError('`amount` must be a whole number up to 2^53 - 1 in the smallest unit, or a text: "45000".');
  }
  return JSON.stringify({ ...purchase, amount: typeof amount === "number" ? String(amount) : amount }, unicode);
}

/** Half a character (a lone surrogate) is no Unicode text: no database or service takes it. */
const isUnicode = (text) => text.isWellFormed?.() !== false;

/** Refuses it in a member of JSON. */
function unicode(name, member) {
  if (typeof member === "string" && !isUnicode(member)) throw new TypeError(`\`${name}\` holds half a character (a lone surrogate), which is no Unicode text.`);
  return member;
}

const bytes = (text) => new TextEncoder().encode(text);
const algorithm = { name: "HMAC", hash: "SHA-256" };
const keyOf = (secret) => crypto.subtle.importKey("raw", secret, algorithm, false, ["sign"]);
const hmac = (key, text) => crypto.subtle.sign("HMAC", key, bytes(text));
const derived = async (secret, purpose) => keyOf(await hmac(await keyOf(bytes(secret)), purpose));
