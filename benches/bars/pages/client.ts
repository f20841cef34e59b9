// A page's client as one would write it by hand in TypeScript, with the behaviour of the package: its size and its first fee are
// measured beside the package's. It is not published.

export interface Options {
  baseUrl: string;
  merchant?: string;
  merchantHeaders?: () => HeadersInit;
  checkoutOrigins?: string[];
  publicReads?: "session" | "anonymous";
  locale?: string;
  onCall?: (call: { operation: string; attempt: number; ms: number; status?: number; kind?: string; requestId?: string }) => void;
}

export interface CallOptions { signal?: AbortSignal; timeoutMs?: number }
export interface WaitOptions extends CallOptions { budgetMs?: number; onStatus?: (status: string) => void }
export interface FieldError { param: string; code: string; message: string }
export interface PaymentMethod { id: string; name: string; active?: boolean }
export interface FeeRequest { payment_method: string; currency: string; amount: string; country_code?: string; card_type?: "local" | "international" }
export interface Fee { amount: number; currency: string; fee: number; total_payable: number }

export interface QuoteRequest {
  amount: string;
  currency?: string;
  fee_bearer?: "customer" | "merchant";
  country_code?: string;
  payment_method_types?: string[];
  codes?: Record<string, string>;
}

export interface Quote {
  method: PaymentMethod;
  payment_method: string;
  card_type?: string;
  currency: string;
  amount: string;
  fee?: string;
  customer_pays?: string;
  merchant_gets?: string;
  error?: ClientError;
}

export interface Reference { id?: string; payment_ref?: string; merchant_reference?: string }

export interface Outcome {
  state: "succeeded" | "failed" | "canceled" | "pending" | "dismissed" | "unknown";
  status?: string;
  reference: Reference;
  last_payment_error?: unknown;
}

type SessionState = "none" | "active" | "expiring" | "expired" | "revoked";

interface Details {
  code?: string;
  status?: number;
  requestId?: string;
  operation?: string;
  retryable?: boolean;
  fields?: FieldError[];
  reply?: unknown;
  cause?: unknown;
}

export interface ClientError extends Readonly<Omit<Details, "cause">> {}

export class ClientError extends Error {
  override readonly name = "ClientError";

  constructor(readonly kind: string, message: string, { reply, cause, ...details }: Details = {}) {
    super(message, { cause });
    Object.assign(this, { retryable: false, fields: [] }, details);
    Object.defineProperty(this, "reply", { value: reply }); // not enumerable: it may hold a secret
  }
}

const fieldError = (param: string, message: string) =>
  new ClientError("input", `${param}: ${message}`, { fields: [{ param, code: "parameter_invalid", message }] });

const SECRET_KEY = /(?:^|[^A-Za-z0-9_])(?:FLWSECK|[sr]k_(?:test_|live_|sandbox_|[A-Za-z0-9]{20}))/;

function refuseSecretKey(value: unknown): void {
  if (SECRET_KEY.test(typeof value === "string" ? value : (JSON.stringify(value) ?? ""))) {
    throw new ClientError("secret_key", "A merchant's secret key was given to a browser. Replace the key.");
  }
}

// ---- Requests

interface Outgoing {
  operation: string;
  url: string;
  method: "GET" | "POST";
  headers: Record<string, string>;
  body?: string;
  init: RequestInit;
  /** Whether it may be sent again after a lost reply. */
  repeatable: boolean;
  secret?: string;
}

interface Reply { status: number; headers: Headers; body: any; text: string }

const TIMEOUT = 30_000;
const MOST_ATTEMPTS = 4;

class Transport {
  private readonly shared = new Map<string, Promise<Reply>>();

  constructor(private readonly onCall?: Options["onCall"]) {}

  /** Equal concurrent reads are one request. It is aborted when no caller waits for it any more. */
  send(outgoing: Outgoing, options: CallOptions): Promise<Reply> {
    if (outgoing.method !== "GET" || options.signal) return this.attempts(outgoing, options);
    const key = `${options.timeoutMs ?? TIMEOUT} ${outgoing.url} ${outgoing.secret ?? ""}`;
    let reply = this.shared.get(key);
    if (!reply) {
      reply = this.attempts(outgoing, options).finally(() => this.shared.delete(key));
      this.shared.set(key, reply);
    }
    return reply;
  }

  private async attempts(outgoing: Outgoing, { signal, timeoutMs = TIMEOUT }: CallOptions): Promise<Reply> {
    signal?.throwIfAborted();
    const end = performance.now() + timeoutMs;
    for (let attempt = 1; ; attempt++) {
      const began = performance.now();
      let reply: Reply | undefined;
      let error: ClientError | undefined;
      try {
        reply = await this.exchange(outgoing, end - began, signal);
        if (reply.status >= 400) error = refusal(outgoing, reply);
      } catch (cause) {
        if (signal?.aborted) throw signal.reason;
        const timedOut = performance.now() >= end;
        const message = timedOut
          ? `The request timed out after ${timeoutMs / 1000} s.`
          : "No reply: the device may be offline, or the address may not allow this page (CORS).";
        error = new ClientError(timedOut ? "timeout" : "offline", message, {
          operation: outgoing.operation, retryable: outgoing.repeatable, cause,
        });
      }
      this.onCall?.({
        operation: outgoing.operation, attempt, ms: performance.now() - began, status: reply?.status, kind: error?.kind,
        requestId: error?.requestId ?? reply?.headers.get("request-id") ?? undefined,
      });
      if (!error) return reply!;
      const pause = attempt < MOST_ATTEMPTS ? pauseBeforeRetry(outgoing, reply, attempt) : undefined;
      if (pause === undefined || performance.now() + pause >= end) throw error;
      await sleep(pause, signal);
    }
  }

  private async exchange(outgoing: Outgoing, within: number, signal?: AbortSignal): Promise<Reply> {
    const aborter = new AbortController();
    const abort = () => aborter.abort(signal?.reason);
    const timer = setTimeout(abort, within);
    signal?.addEventListener("abort", abort);
    try {
      const { url, method, headers, body, init } = outgoing;
      const response = await fetch(url, { ...init, method, headers, body, signal: aborter.signal });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: parse(text), text };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }
}

function parse(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Milliseconds, or `undefined` if another attempt does not help or is not safe. */
function pauseBeforeRetry({ repeatable }: Outgoing, reply: Reply | undefined, attempt: number): number | undefined {
  const retryable = reply?.body?.error?.retryable;
  const status = reply?.status ?? 0;
  const again =
    status === 429 ? retryable !== false
    : status === 503 && retryable === true ? true
    : repeatable && (status === 0 || status >= 500) && retryable !== false;
  if (!again) return undefined;
  const atLeast = Number(reply?.headers.get("retry-after") ?? 0) * 1000 || 0;
  return atLeast + Math.random() * Math.min(250 * 2 ** (attempt - 1), 8_000);
}

function refusal({ operation, repeatable, secret }: Outgoing, { status, headers, body, text }: Reply): ClientError {
  const error = body?.error ?? {};
  const redact = (value: unknown) =>
    typeof value !== "string" ? undefined : secret ? value.replaceAll(secret, "***") : value;
  const kind =
    status === 401 ? "session"
    : status === 404 && error.code === "resource_missing" ? "not_found"
    : status === 404 || status === 405 ? "unsupported"
    : "refused";
  const mayHaveExecuted = status >= 500 && !(status === 503 && error.retryable === true);
  return new ClientError(kind, redact(body?.message) ?? "The request was refused, and no reason was given.", {
    operation, status,
    code: redact(error.code),
    requestId: redact(error.request_id ?? headers.get("request-id")),
    retryable: (repeatable || !mayHaveExecuted) && (error.retryable ?? (status === 429 || status >= 500)),
    fields: (error.errors ?? []).map((field: any) => ({
      param: redact(field.param) ?? "", code: redact(field.code) ?? "", message: redact(field.message) ?? "",
    })),
    reply: body ?? text,
  });
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => (clearTimeout(timer), reject(signal!.reason));
    const timer = setTimeout(() => (signal?.removeEventListener("abort", abort), resolve()), ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

const dataOf = (body: any) => body?.data ?? body;

const isTransient = (error: unknown) =>
  error instanceof ClientError && (error.retryable || ["offline", "timeout", "unreadable"].includes(error.kind));

const unreadable = (operation: string, { body, text }: Reply) =>
  new ClientError("unreadable", "The reply could not be read.", { operation, reply: body ?? text });

// ---- The merchant's routes

class MerchantRoutes {
  constructor(private readonly transport: Transport, private readonly options: Options) {}

  get exists(): boolean {
    return this.options.merchant !== undefined;
  }

  session(): Promise<any> {
    return this.request("merchant_session", "POST", "/session", "{}", {});
  }

  intent(order: string, options: CallOptions): Promise<any> {
    return this.request("merchant_intent", "POST", "/intents", order, options);
  }

  status(paymentRef: string, options: CallOptions): Promise<any> {
    return this.request("merchant_status", "GET", `/intents/${encodeURIComponent(paymentRef)}`, undefined, options);
  }

  private async request(operation: string, method: "GET" | "POST", path: string, body: string | undefined, options: CallOptions) {
    const { merchant, merchantHeaders, locale } = this.options;
    if (merchant === undefined) {
      throw new ClientError("unsupported", "Missing option `merchant`. Pass the address of your three routes.", { operation });
    }
    const headers = new Headers(merchantHeaders?.());
    headers.set("accept", "application/json");
    if (body !== undefined) headers.set("content-type", "application/json");
    if (locale) headers.set("accept-language", locale);
    refuseSecretKey([...headers].filter(([name]) => name !== "accept-language"));
    const outgoing: Outgoing = {
      operation, method, url: merchant.replace(/\/+$/, "") + path, headers: Object.fromEntries(headers), body,
      init: { credentials: "same-origin", cache: "no-store" }, repeatable: operation !== "merchant_intent",
    };
    try {
      const reply = await this.transport.send(outgoing, options);
      if (reply.body === undefined && reply.text !== "") throw unreadable(operation, reply);
      return dataOf(reply.body) ?? null;
    } catch (e) {
      if (!(e instanceof ClientError)) throw e;
      const { status, message, kind, ...details } = e;
      const isSignedOut = status === 401 || status === 419 || (status === 403 && operation === "merchant_session");
      if (!isSignedOut) throw e;
      const signedOut = `Nobody is signed in: the merchant's server answered ${status}.`;
      throw new ClientError("signed_out", signedOut, { ...details, status, reply: e.reply, cause: e });
    }
  }
}

// ---- The session

const MARGIN = 30_000;
const LONGEST = 30 * 60_000;

interface HeldToken {
  token: string;
  /** By the monotonic clock. */
  endsAt?: number;
  expiresAt?: Date;
  email?: string;
  isSpent: boolean;
}

class Session {
  private held?: HeldToken;
  private isOver = false;
  private signOuts = 0;
  private renewal?: Promise<void>;
  private timer?: ReturnType<typeof setTimeout>;
  private last?: string;
  private lastSignOut: string | null;
  private readonly listeners = new Set<(state: SessionState) => void>();
  private readonly channel: BroadcastChannel;
  private readonly name: string;

  constructor(private readonly service: Service, private readonly merchant: MerchantRoutes) {
    this.name = `${service.base}#session`;
    this.channel = new BroadcastChannel(this.name);
    this.channel.onmessage = () => this.signOut();
    this.lastSignOut = localStorage.getItem(this.name);
    addEventListener("pageshow", this.onShow);
  }

  close(): void {
    this.channel.close();
    clearTimeout(this.timer);
    removeEventListener("pageshow", this.onShow);
    this.listeners.clear();
  }

  get state(): SessionState {
    if (!this.held) return this.isOver ? "revoked" : "none";
    const left = (this.held.endsAt ?? Infinity) - performance.now();
    if (this.held.isSpent || left <= 0) return "expired";
    return left <= MARGIN ? "expiring" : "active";
  }

  get expiresAt(): Date | undefined {
    return this.held?.expiresAt;
  }

  get email(): string | undefined {
    return this.held?.email;
  }

  subscribe(listener: (state: SessionState) => void): () => void {
    const own = (state: SessionState) => listener(state);
    this.listeners.add(own);
    return () => void this.listeners.delete(own);
  }

  /** A token that is valid now. */
  async token(renews: boolean): Promise<string> {
    if (this.isOver) throw signedOut();
    if (this.held && (!renews || this.state === "active")) return this.held.token;
    try {
      await this.renew();
    } catch (e) {
      if (this.held && this.state === "expiring" && isTransient(e)) return this.held.token;
      throw e;
    }
    if (!this.held) throw signedOut();
    return this.held.token;
  }

  renew(): Promise<void> {
    this.renewal ??= this.request().finally(() => (this.renewal = undefined));
    return this.renewal;
  }

  async validate(options: CallOptions = {}): Promise<any> {
    let token: string;
    try {
      token = await this.token(false);
    } catch (e) {
      if (e instanceof ClientError && e.kind === "signed_out") return { valid: false, reason: "signed_out" };
      throw e;
    }
    try {
      const about = dataOf((await this.service.send("validate_session", "POST", "/sessions/validate", token, options)).body);
      this.learn(token, about?.valid === false ? undefined : about);
      return { valid: true, ...about };
    } catch (e) {
      if (!(e instanceof ClientError) || e.kind !== "session") throw e;
      this.learn(token, undefined);
      const reason = e.code?.replace(/^session_/, "") ?? "unknown";
      return { valid: false, reason, ...(e.reply as any)?.data };
    }
  }

  async revoke(options: CallOptions = {}): Promise<void> {
    const token = this.held?.token;
    if (token) await this.revokeToken(token, options);
    this.held = undefined;
    this.signOut();
    this.lastSignOut = String(Date.now());
    localStorage.setItem(this.name, this.lastSignOut);
    this.channel.postMessage("signed_out");
  }

  /** The service refuses this token, or has sent more about it. */
  learn(token: string, about: any): void {
    if (this.held?.token === token) {
      if (about) this.read(this.held, about);
      else this.held.isSpent = true;
    }
    this.notify();
  }

  private async request(): Promise<void> {
    const { signOuts } = this;
    const answer = await this.merchant.session();
    const token = typeof answer === "string" ? answer : answer?.session_token;
    if (answer === null) throw signedOut();
    refuseSecretKey(token);
    if (typeof token !== "string" || !token) {
      throw new ClientError("unreadable", "The session route answered neither a token nor a session.", { reply: answer });
    }
    if (this.signOuts !== signOuts) {
      void this.revokeToken(token, {}).catch(() => {});
      throw signedOut();
    }
    this.held = { token, isSpent: false };
    this.read(this.held, answer);
    this.isOver = false;
    this.notify();
  }

  private read(held: HeldToken, about: any): void {
    held.email = about.customer_email ?? held.email;
    const end = Date.parse(about.expires_at);
    if (Number.isNaN(end)) return;
    held.expiresAt = new Date(end);
    const left = end - Date.now();
    held.endsAt = left > MARGIN ? performance.now() + Math.min(left, LONGEST) : undefined;
  }

  private async revokeToken(token: string, options: CallOptions): Promise<void> {
    try {
      await this.service.send("revoke_session", "POST", "/sessions/revoke", token, options);
    } catch (e) {
      if (!(e instanceof ClientError) || e.kind !== "session") throw e;
    }
  }

  private signOut(): void {
    const token = this.held?.token;
    this.held = undefined;
    this.renewal = undefined;
    this.isOver = true;
    this.signOuts++;
    this.notify();
    if (token) void this.revokeToken(token, {}).catch(() => {});
  }

  private readonly onShow = () => {
    const stored = localStorage.getItem(this.name);
    if (stored !== this.lastSignOut) this.signOut();
    this.lastSignOut = stored;
  };

  private notify(): void {
    const { state, email, expiresAt } = this;
    const key = `${[state, email, expiresAt?.getTime()]}`;
    clearTimeout(this.timer);
    const left = (this.held?.endsAt ?? 0) - performance.now();
    if (left > 0 && !this.held?.isSpent) this.timer = setTimeout(() => this.notify(), left <= MARGIN ? left : left - MARGIN);
    if (key === this.last) return;
    this.last = key;
    for (const listener of this.listeners) {
      try {
        listener(state);
      } catch (e) {
        reportError(e);
      }
    }
  }
}

const signedOut = () => new ClientError("signed_out", "Nobody is signed in.");

// ---- The service

class Service {
  readonly base: string;

  constructor(private readonly transport: Transport, baseUrl: string) {
    this.base = baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "");
    const { protocol, hostname } = new URL(this.base, location.href);
    const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
    if (protocol !== "https:" && !(protocol === "http:" && isLocal)) throw fieldError("baseUrl", "It must begin with https://.");
  }

  send(operation: string, method: "GET" | "POST", path: string, token: string | undefined, options: CallOptions): Promise<Reply> {
    const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
    const init: RequestInit = {
      credentials: "omit", referrerPolicy: "no-referrer", redirect: "error",
      cache: operation === "calculate_fee" || operation === "list_payment_methods" ? "default" : "no-store",
      keepalive: method === "POST",
    };
    const url = `${this.base}/v1${path}`;
    return this.transport.send({ operation, method, url, headers, init, repeatable: true, secret: token }, options);
  }
}

// ---- Fees and quotes

function checked(fields: Record<string, [value: unknown, pattern: RegExp, message: string]>): void {
  const wrong = Object.entries(fields).filter(([, [value, pattern]]) => value !== undefined && !pattern.test(String(value)));
  if (!wrong.length) return;
  const errors = wrong.map(([param, [, , message]]) => ({ param, code: "parameter_invalid", message }));
  throw new ClientError("input", errors.map(({ param, message }) => `${param}: ${message}`).join(" "), { fields: errors });
}

const amountRules = ({ amount = "", currency, country_code }: { amount: string; currency?: string; country_code?: string }) => ({
  amount: [amount, /^[1-9]\d{0,14}$/, "It is a whole number of the smallest unit, from 1 to 999999999999999."] as [unknown, RegExp, string],
  currency: [currency, /^[A-Z]{3}$/, "It is three capital letters: XAF."] as [unknown, RegExp, string],
  country_code: [country_code, /^[A-Z]{2}$/, "It is two capital letters: CM."] as [unknown, RegExp, string],
});

const queryOf = (parameters: Record<string, string | undefined>) => {
  const set = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return set.length ? `?${new URLSearchParams(set)}` : "";
};

/** Subtracts decimal texts without rounding. */
function subtract(amount: string, fee: string): string | undefined {
  const digits = Math.max(0, ...[amount, fee].map((text) => text.split(".")[1]?.length ?? 0));
  const scaled = (text: string) => {
    const [whole = "0", fraction = ""] = text.split(".");
    return BigInt(whole + fraction.padEnd(digits, "0"));
  };
  const left = scaled(amount) - scaled(fee);
  if (left < 0n) return undefined;
  const text = left.toString().padStart(digits + 1, "0");
  return digits ? `${text.slice(0, -digits)}.${text.slice(-digits)}`.replace(/\.?0+$/, "") : text;
}

// ---- The client

const RETURN_PARAMETERS = ["guichet_return", "payment_intent", "payment_ref", "merchant_reference", "status"];
const NONCE = /^[0-9A-Za-z]{22}$/;
const storageKey = (nonce: string) => `guichet.return.${nonce}`;

export class PaymentClient {
  readonly session: Session;
  private readonly transport: Transport;
  private readonly service: Service;
  private readonly merchant: MerchantRoutes;
  private readonly checkouts = new Map<string, Promise<Outcome>>();
  private readonly origins: string[];
  private readonly readsWithSession: boolean;

  constructor(private readonly options: Options) {
    refuseSecretKey(options);
    this.transport = new Transport(options.onCall);
    this.service = new Service(this.transport, options.baseUrl);
    this.merchant = new MerchantRoutes(this.transport, options);
    this.session = new Session(this.service, this.merchant);
    this.origins = options.checkoutOrigins ?? [new URL(this.service.base, location.href).origin];
    this.readsWithSession = options.publicReads !== "anonymous" && this.merchant.exists;
  }

  close(): void {
    this.session.close();
  }

  async paymentMethods(of: { country_code?: string } = {}, options: CallOptions = {}): Promise<PaymentMethod[]> {
    refuseSecretKey(of);
    checked({ country_code: [of.country_code, /^[A-Z]{2}$/, "It is two capital letters: CM."] });
    const reply = await this.read("list_payment_methods", `/payment-methods${queryOf({ country_code: of.country_code })}`, options);
    const methods = dataOf(reply.body);
    if (!Array.isArray(methods)) throw unreadable("list_payment_methods", reply);
    return methods;
  }

  async fee(of: FeeRequest, options: CallOptions = {}): Promise<Fee> {
    refuseSecretKey(of);
    const { payment_method, currency, amount, country_code, card_type } = of;
    checked({
      ...amountRules(of),
      payment_method: [payment_method ?? "", /^[a-z0-9_-]+$/, "It is a fee code: mobile_money, card."],
      card_type: [card_type, /^(local|international)$/, "It is local or international."],
    });
    const path = [payment_method, currency, amount].map(encodeURIComponent).join("/");
    const query = queryOf({ country_code, card_type: card_type === "international" ? card_type : undefined });
    const reply = await this.read("calculate_fee", `/payment-methods/fee/${path}${query}`, options);
    const fee = dataOf(reply.body);
    if (typeof fee !== "object" || fee === null) throw unreadable("calculate_fee", reply);
    return fee;
  }

  async quotes(request: QuoteRequest, options: CallOptions = {}): Promise<Quote[]> {
    refuseSecretKey(request);
    checked({
      ...amountRules(request),
      fee_bearer: [request.fee_bearer, /^(customer|merchant)$/, "It is customer or merchant."],
    });
    const { payment_method_types: allowed = [], codes = {}, country_code } = request;
    const methods = await this.paymentMethods({ country_code }, options);
    const calls = methods.flatMap((method) => {
      const code = codes[method.id] ?? method.id.replace(/^svc_/, "");
      if (method.active === false || (allowed.length && !allowed.includes(code))) return [];
      const cardTypes = code === "card" ? (["local", "international"] as const) : [undefined];
      return cardTypes.map((cardType) => this.quote(request, method, code, cardType, options));
    });
    const price = (quote: Quote) => (quote.customer_pays === undefined ? Infinity : Number(quote.customer_pays));
    return (await Promise.all(calls)).sort((one, other) => price(one) - price(other) || 0);
  }

  /** Goes to the hosted page of an order. A second click on an order joins the first. */
  checkout({ order }: { order: unknown }, options: WaitOptions & { mode?: "redirect" | "popup" } = {}): Promise<Outcome> {
    refuseSecretKey(order);
    const json = JSON.stringify(order);
    if (json === undefined) throw fieldError("order", "It is required, and is sent to your server as JSON.");
    const popup = options.mode === "popup" ? this.openPopup() : undefined; // in the click itself
    const underWay = this.checkouts.get(json);
    if (underWay && !popup) return underWay;
    const checkout = this.leave(json, popup, options).finally(() => {
      popup?.close();
      this.checkouts.delete(json);
    });
    this.checkouts.set(json, checkout);
    return checkout;
  }

  /** The return of a customer to this page. */
  returned(): { match: "matched" | "replayed" | "unmatched"; reference: Reference } | null {
    const address = new URL(location.href);
    const take = (name: string) => address.searchParams.get(name) ?? undefined;
    const nonce = take("guichet_return");
    const arrived = { id: take("payment_intent"), payment_ref: take("payment_ref"), merchant_reference: take("merchant_reference") };
    if (!nonce && !arrived.id) return null;
    for (const name of RETURN_PARAMETERS) address.searchParams.delete(name);
    const key = nonce && NONCE.test(nonce) ? storageKey(nonce) : undefined;
    const kept = key ? parse(sessionStorage.getItem(key) ?? "") : undefined;
    const isMatched = kept && (!arrived.id || arrived.id === kept.id);
    const match = !isMatched ? "unmatched" : kept.taken ? "replayed" : "matched";
    const reference: Reference = isMatched
      ? {
          id: kept.id, payment_ref: kept.payment_ref ?? arrived.payment_ref,
          merchant_reference: kept.merchant_reference ?? arrived.merchant_reference,
        }
      : arrived;
    if (key && match === "matched") sessionStorage.setItem(key, JSON.stringify({ ...reference, taken: true }));
    history.replaceState(history.state, "", address);
    if (key && (match === "unmatched" || kept?.popup)) this.announce(key);
    return { match, reference };
  }

  /** Reads a purchase until it is settled, or until the time is over. */
  async waitForOutcome(reference: Reference, options: WaitOptions = {}): Promise<Outcome> {
    refuseSecretKey(reference);
    return this.follow(reference, options, false);
  }

  private async read(operation: string, path: string, options: CallOptions): Promise<Reply> {
    if (!this.readsWithSession) return this.service.send(operation, "GET", path, undefined, options);
    return this.withSession(operation, path, options);
  }

  /** Sends with the session's token, which is renewed once if the service refuses it. */
  private async withSession(operation: string, path: string, options: CallOptions): Promise<Reply> {
    for (let isRenewed = false; ; isRenewed = true) {
      const token = await this.session.token(true);
      try {
        return await this.service.send(operation, "GET", path, token, options);
      } catch (e) {
        if (!(e instanceof ClientError) || e.kind !== "session") throw e;
        this.session.learn(token, undefined);
        if (isRenewed) throw e;
      }
    }
  }

  private async quote(
    request: QuoteRequest, method: PaymentMethod, code: string, card_type: "local" | "international" | undefined, options: CallOptions,
  ): Promise<Quote> {
    const { amount, currency = "XAF", country_code, fee_bearer = "merchant" } = request;
    const quote: Quote = { method, payment_method: code, card_type, currency, amount };
    try {
      const { fee, total_payable } = await this.fee({ payment_method: code, currency, amount, country_code, card_type }, options);
      quote.fee = String(fee);
      if (fee_bearer === "merchant") {
        quote.customer_pays = amount;
        quote.merchant_gets = subtract(amount, quote.fee);
      } else if (Number(total_payable) >= 0) {
        quote.customer_pays = String(total_payable);
        quote.merchant_gets = amount;
      } else throw new ClientError("unreadable", "The reply could not be read.", { operation: "calculate_fee" });
    } catch (e) {
      if (!(e instanceof ClientError)) throw e;
      quote.error = e;
    }
    return quote;
  }

  private openPopup(): Window | undefined {
    const popup = open("", "", "popup,width=480,height=760");
    if (!popup || popup.closed) return undefined;
    popup.opener = null;
    const locale = this.options.locale || document.documentElement.lang || navigator.language;
    popup.document.body.textContent = /^fr/i.test(locale) ? "Un instant…" : "One moment…";
    return popup;
  }

  private async leave(order: string, popup: Window | undefined, options: WaitOptions): Promise<Outcome> {
    const answer = await this.merchant.intent(order, options);
    const intent = answer?.intent ?? answer;
    if (!intent?.id) throw new ClientError("unreadable", "The merchant's server answered no payment intent.", { reply: answer });
    refuseSecretKey([intent.id, intent.client_secret, intent.checkout_url]);
    if (["succeeded", "failed", "canceled"].includes(intent.status)) {
      throw new ClientError("settled", `This purchase is already finished: ${intent.status}.`, { reply: answer });
    }
    const address = new URL(intent.checkout_url);
    if (!this.origins.includes(address.origin)) {
      throw new ClientError("address", `The address leads to ${address.origin}, which is not one of checkoutOrigins.`);
    }
    const { id, payment_ref, merchant_reference } = intent;
    const reference: Reference = { id, payment_ref, merchant_reference };
    const nonce: string = answer.return_nonce ?? "";
    const storage = popup ? popup.sessionStorage : sessionStorage;
    if (nonce) storage.setItem(storageKey(nonce), JSON.stringify({ ...reference, popup: Boolean(popup) }));
    if (!popup) {
      this.checkouts.delete(order); // a navigation may be stopped without an event
      location.assign(address);
      await new Promise<void>((shown) => addEventListener("pageshow", (event) => event.persisted && shown()));
      return this.follow(reference, { ...options, budgetMs: 0 }, true);
    }
    popup.location.replace(address);
    const isAnnounced = await this.closed(popup, storageKey(nonce), options.signal);
    return this.follow(reference, isAnnounced ? options : { ...options, budgetMs: 0 }, true);
  }

  /** Waits until the return page announces itself (`true`), or the popup is closed. */
  private async closed(popup: Window, key: string, signal?: AbortSignal): Promise<boolean> {
    const channel = new BroadcastChannel(key);
    let isAnnounced = false;
    channel.onmessage = () => {
      isAnnounced = true;
      channel.postMessage("");
    };
    try {
      while (!isAnnounced && !(document.hasFocus() && popup.closed)) await sleep(300, signal);
      return isAnnounced;
    } finally {
      channel.close();
    }
  }

  /** Tells the page that waits for this return. If one answers, this window closes. */
  private announce(key: string): void {
    const channel = new BroadcastChannel(key);
    channel.onmessage = () => window.close();
    channel.postMessage("");
    setTimeout(() => channel.close(), 5_000);
  }

  private async follow(reference: Reference, options: WaitOptions, turnedBack: boolean): Promise<Outcome> {
    const { budgetMs = 120_000, onStatus, signal, timeoutMs = TIMEOUT } = options;
    const until = Date.now() + budgetMs;
    const outcome: Outcome = { state: turnedBack ? "unknown" : "pending", reference };
    for (let reads = 1; ; reads++) {
      try {
        const within = Math.min(timeoutMs, Math.max(until - Date.now(), 5_000));
        const purchase = await this.look(reference, { signal, timeoutMs: within });
        if (purchase.status !== outcome.status) onStatus?.(purchase.status);
        outcome.status = purchase.status;
        outcome.last_payment_error = purchase.last_payment_error ?? undefined;
        outcome.state = stateOf(purchase, turnedBack);
        if (outcome.state !== "pending") return outcome;
      } catch (e) {
        if (signal?.aborted) throw signal.reason;
        if (e instanceof ClientError && ["unsupported", "signed_out", "secret_key"].includes(e.kind)) {
          if (turnedBack) return outcome;
          throw e;
        }
      }
      const left = until - Date.now();
      if (left <= 250) return outcome;
      await this.pause(Math.min(1_000 * 1.5 ** (reads - 1), 10_000, left * 0.75), signal);
    }
  }

  /** Waits this long, or until the page is online or shown again. */
  private async pause(ms: number, signal?: AbortSignal): Promise<void> {
    const news = new AbortController();
    const wake = () => document.visibilityState === "visible" && news.abort();
    const events: [EventTarget, string][] = [[window, "online"], [window, "pageshow"], [document, "visibilitychange"]];
    for (const [target, name] of events) target.addEventListener(name, wake, { signal: news.signal });
    const abort = () => news.abort();
    signal?.addEventListener("abort", abort);
    await sleep(ms, news.signal).catch(() => {});
    signal?.removeEventListener("abort", abort);
    news.abort();
    signal?.throwIfAborted();
  }

  /** From the merchant's server, or from the service if there is no such route. */
  private async look({ id, payment_ref }: Reference, options: CallOptions): Promise<any> {
    let purchase: any;
    try {
      if (!payment_ref || !this.merchant.exists) throw new ClientError("unsupported", "There is no way to look up this purchase.");
      purchase = await this.merchant.status(payment_ref, options);
    } catch (e) {
      if (!(e instanceof ClientError) || e.kind !== "unsupported" || !id || !this.merchant.exists) throw e;
      purchase = dataOf((await this.withSession("read_payment_intent", `/payment-intents/${encodeURIComponent(id)}`, options)).body);
    }
    if (typeof purchase?.status !== "string") throw new ClientError("unreadable", "The reply has no `status`.");
    return purchase;
  }
}

function stateOf(purchase: any, turnedBack: boolean): Outcome["state"] {
  const { status } = purchase;
  if (status === "succeeded" || status === "failed" || status === "canceled") return status;
  const isDone = purchase.next_action?.type === "confirm";
  return status === "requires_action" && turnedBack && !isDone ? "dismissed" : "pending";
}
