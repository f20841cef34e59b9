import { log, ShopError } from "./shop_error.js";

const TIMEOUT_MS = 20_000;

/** The payment service, called with the shop's secret key, which never leaves this server. */
export class PaymentService {
  #secretKey;

  /** `baseUrl` is the service's address, without `/v1`. */
  constructor(baseUrl, secretKey) {
    this.baseUrl = baseUrl;
    this.#secretKey = secretKey;
  }

  createSession(email) {
    return this.#call("POST", "/sessions/create", { customer_email: email });
  }

  /** Ends a session. It is called with the session's own token. */
  revokeSession(token) {
    return this.#call("POST", "/sessions/revoke", undefined, token);
  }

  createPaymentIntent(purchase) {
    return this.#call("POST", "/payment-intents", purchase);
  }

  readPaymentIntent(id) {
    return this.#call("GET", `/payment-intents/${encodeURIComponent(id)}`);
  }

  /** Returns the reply's `data`. A failure is logged here with its cause; the page gets an error that it can act on. */
  async #call(method, path, body, credential = this.#secretKey) {
    const failed = (why, ...refused) => {
      log(`${method} ${this.baseUrl}/v1${path}: ${why}`);
      return new ShopError(...refused);
    };
    const headers = { authorization: `Bearer ${credential}`, "content-type": "application/json" };
    const request = { method, headers, body: body && JSON.stringify(body), redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) };
    let status, reply;
    try {
      const response = await fetch(`${this.baseUrl}/v1${path}`, request);
      status = response.status;
      reply = await response.json();
    } catch (error) {
      const why = status ? `${status}, and no JSON` : `no answer (${error.cause?.code ?? error.name})`;
      throw failed(why, 503, "unavailable", "The payment service does not answer. Nothing is lost: please try again.");
    }
    if (status < 300) return reply?.data ?? {};
    const { code, request_id } = reply?.error ?? {};
    const why = `${status} ${code}, ${request_id}: ${reply?.message}`;
    if (status === 404) throw failed(why, 404, "resource_missing", "There is no such payment.");
    // The customer can correct these or try again. A 401 is about the shop's key: to the page it would mean that nobody is signed in.
    if ([409, 422, 429, 503].includes(status)) throw failed(why, status, code, reply?.message, reply?.error);
    throw failed(why, 502, "service_failed", "The payment service did not answer the shop as it should. Please try later.");
  }
}
