import { textOf } from "./body.js";

// Sends the calls with the secret key. The wasm decides when, and reads the replies.
const LARGEST_REPLY = 8 * 1024 * 1024;

export class Service {
  #root;
  #gateway;
  #key;
  #fetch;

  constructor({ root, gateway, secretKey, fetch }) {
    this.#root = root;
    this.#gateway = gateway;
    this.#key = secretKey;
    this.#fetch = fetch;
  }

  /** Sends a request once, with the secret key or with a session token. A lost reply is an answer, too. */
  async send(method, target, isCreation, body, within, token = this.#key) {
    const headers = { accept: "application/json", authorization: `Bearer ${token}` };
    if (body) headers["content-type"] = "application/json";
    const begun = performance.now();
    const init = { method, headers, body, redirect: "manual", signal: AbortSignal.timeout(within) };
    const answer = await this.#attempt((isCreation ? this.#gateway : this.#root) + target, init, token).catch((e) => this.#lost(e));
    const [random] = crypto.getRandomValues(new Uint32Array(1));
    return { ...answer, ms: Math.round(performance.now() - begun), random };
  }

  async #attempt(url, init, token) {
    const response = await (this.#fetch ?? fetch)(url, init);
    // A service may repeat what it was sent. A payment that is read with its client secret has that.
    const redact = (text) => this.redact(text).replaceAll(token, "***");
    const isPayment = response.ok && token !== this.#key;
    // A reply that is too large is no JSON, and one without content has nothing that must be.
    const text = response.status === 204 ? "null" : ((await textOf(response, LARGEST_REPLY)) ?? "");
    const body = isPayment ? this.redact(text) : redact(text);
    const header = (name) => response.headers.get(name) ?? undefined;
    const retryAfter = /^\s*\d+\s*$/.test(header("retry-after")) ? Number(header("retry-after")) : undefined;
    const requestId = header("request-id") && redact(header("request-id"));
    const date = Date.parse(header("date")) / 1000 || undefined;
    // A browser's `fetch` hides the status of a redirect that it does not follow.
    return { status: response.status || 302, body, retryAfter, requestId, date };
  }

  #lost(e) {
    const code = e?.cause?.code ?? e?.code ?? e?.name;
    const notSent = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"].includes(code) || undefined;
    return { notSent, timeout: e?.name === "TimeoutError" || undefined, cause: this.redact(`(${code})`) };
  }

  /** A text for the log or a page, without the key. */
  redact(text) {
    return text.replaceAll(this.#key, "***");
  }
}
