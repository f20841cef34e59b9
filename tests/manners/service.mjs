// A payment service by the document, for those of this folder: its sessions, intents and fees, and the routes by which a test moves them.
// How a reply is written is the manner's. The document leaves that open, and services differ.
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout } from "node:timers/promises";

const KEY = "sk_test_manners";
const MINUTE = 60;

/** An amount of 2 per cent. */
export const feeOf = (amount) => Math.round(Number(amount) * 0.02);
/** The price, and the fee if the customer bears it. */
export const payableOf = ({ amount, fee_bearer }) => Number(amount) + (fee_bearer === "customer" ? feeOf(amount) : 0);
export const METHODS = [
  { id: "svc_mobile_money", name: "Mobile money", active: true, fee_type: "percentage", supported_countries: ["CM"] },
  { id: "svc_card", name: "Card", active: true, fee_type: "percentage", supported_countries: ["CM", "NG"] },
  { id: "svc_wallet", name: "Wallet", active: false, fee_type: "percentage", supported_countries: ["CM"] },
];

/** The members of an intent that the document shows. */
export function documented(intent) {
  const { id, amount, currency, status, client_secret, payment_ref, merchant_reference, checkout_url, customer, metadata } = intent;
  return { id, object: "payment_intent", amount, currency, status, client_secret, payment_ref, merchant_reference, checkout_url, customer, metadata };
}

/**
 * Serves on a free port, which is written to the output. A manner has `show(kind, value, status, reply)`, which returns a reply's
 * `{status, headers, body}`; `refuse({status, code, message, field})`, which returns that of a refusal; and `refuseRepeat(intent)`, with what
 * a repeated reference is refused: without it, that gives the intent. `interfere(request, send)` may send something else, and
 * `encode(request, reply)` changes the reply. With `elsewhere({method, path, query, token}, intents)` it reads, finds and cancels an intent
 * by other requests than the document's: it returns what such a request `does` (`read`, `find`, `cancel`) with which it has `found`.
 */
export function serve(manner) {
  const [intents, sessions, lost] = [new Map(), new Map(), { create: 0, read: 0, cancel: 0 }];
  let [ahead, slowness] = [0, 0];
  const now = () => Math.floor(Date.now() / 1000) + ahead;

  const routes = {
    "POST /v1/sessions/create": ({ body }) => {
      const session = { session_token: `cst_test_${name()}`, customer_email: body.customer_email, expires_at: now() + 30 * MINUTE };
      sessions.set(session.session_token, session);
      return shown("session", session, 201);
    },
    "POST /v1/sessions/validate": ({ token }) => (isValid(token) ? shown("valid", sessions.get(token)) : unauthorized),
    "POST /v1/sessions/revoke": ({ token }) => (sessions.delete(token) ? shown("revoked", {}) : unauthorized),
    "GET /v1/payment-methods": () => shown("methods", METHODS),
    "GET /v1/payment-methods/fee": ({ rest: [type, currency, amount] }) => {
      if (type === "voucher") return refused({ status: 422, code: "method_unknown", message: "Vouchers are not accepted.", field: "type" });
      return shown("fee", { amount: Number(amount), currency, fee: feeOf(amount), total_payable: Number(amount) + feeOf(amount) });
    },
    "POST /v1/payment-intents": ({ body, origin }) => {
      if (!body.email && !body.phone) return refused({ status: 422, code: "required", message: "The email field is required when phone is absent.", field: "email" });
      const known = intents.get(body.merchant_reference);
      if (known) return { ...(manner.refuseRepeat ? refused(manner.refuseRepeat(known)) : shown("intent", known, 200, "create")), reply: "create" };
      const intent = create(body, origin);
      intents.set(intent.merchant_reference, intent);
      return { ...shown("intent", intent, 201, "create"), created: intent };
    },
    "GET /v1/payment-intents": ({ rest: [id] }) => withIntent(id, (intent) => (intent.is_broken ? refused({ status: 500, code: "server_error", message: "Server Error" }) : shown("intent", intent, 200, "read"))),
    "POST /v1/payment-intents/cancel": ({ rest: [id] }) =>
      withIntent(id, (intent) => {
        if (intent.status === "requires_action") intent.status = "canceled";
        const message = `A payment that is ${intent.status} cannot be canceled.`;
        return intent.status === "canceled" ? shown("canceled", intent, 200, "cancel") : refused({ status: 409, code: "not_cancelable", message });
      }),
  };

  // What a test does to the service. `reference` names an intent.
  const tests = {
    clock: ({ seconds }) => void (ahead += seconds),
    lose: ({ reply, times }) => void (lost[reply] = times),
    slow: ({ ms }) => void (slowness = ms), // the next reply to a creation
    pay: ({ reference, amount }) => take(intents.get(reference), amount),
    decline: ({ reference }) => {
      const intent = intents.get(reference);
      intent.attempts += 1;
      Object.assign(intent, { status: "failed", ended_at: now(), declined: { code: "payer_timeout", message: "The customer did not approve in time." } });
    },
    end: ({ reference }) => void Object.assign(intents.get(reference), { status: "canceled", ended_at: now(), has_expired: true }),
    set: ({ reference, ...members }) => void Object.assign(intents.get(reference), members),
    intents: () => [...intents.values()],
  };

  function create({ amount, currency = "XAF", firstname, lastname, email, ...body }, origin) {
    const [id, secret] = [`pi_${name()}`, name()];
    const checkout_url = `${origin}/pay/${id}?client_secret=${id}_secret_${secret}`;
    const more = { status: "requires_action", client_secret: `${id}_secret_${secret}`, payment_ref: `PAY-${name()}`, checkout_url, customer: { firstname, lastname, email } };
    return { metadata: {}, ...body, id, amount, currency, ...more, created_at: now(), expires_at: now() + 24 * 60 * MINUTE, attempts: 0, taken: [], duplicates: [] };
  }

  /** The operator takes money, also for an attempt that it declined before. Once it is paid, another approval is one too many. */
  function take(intent, amount = payableOf(intent)) {
    intent.taken.push(String(amount));
    intent.attempts += intent.status === "failed" ? 0 : 1;
    if (intent.status === "succeeded") intent.duplicates.push({ attempt: intent.attempts, amount: String(amount), currency: intent.currency });
    else if (amount !== payableOf(intent)) intent.amount = String(amount);
    Object.assign(intent, { status: "succeeded", ended_at: now(), declined: undefined });
  }

  const name = () => randomBytes(11).toString("hex");
  const isValid = (token) => sessions.get(token)?.expires_at > now();
  const shown = (kind, value, status = 200, reply) => ({ ...manner.show(kind, value, status, reply), reply });
  const refused = (refusal) => manner.refuse(refusal);
  const unauthorized = refused({ status: 401, code: "unauthenticated", message: "Unauthenticated." });
  const missing = refused({ status: 404, code: "not_found", message: "Not found." });
  const withIntent = (id, work) => {
    const intent = [...intents.values()].find((one) => one.id === id);
    return intent ? work(intent) : missing;
  };

  /** `GET /v1/payment-intents/pi_1` is `GET /v1/payment-intents` with the rest `["pi_1"]`. */
  function routed(method, path) {
    const [, version, resource, ...rest] = path.split("/");
    const verb = ["fee", "create", "validate", "revoke", "cancel"].find((verb) => rest.includes(verb));
    const route = [method, ["", version, resource, ...(verb ? [verb] : [])].join("/")].join(" ");
    return { work: routes[route], rest: rest.filter((part) => part !== verb) };
  }

  /** What a request does by the manner's own routes. */
  function elsewhere(request, url, token) {
    const { does, found, isAllowed } = manner.elsewhere?.({ method: request.method, path: url.pathname, query: url.searchParams, token }, [...intents.values()]) ?? {};
    const route = { read: "GET /v1/payment-intents", cancel: "POST /v1/payment-intents/cancel" }[does];
    if (does === "find") return { work: () => shown("list", found) };
    if (does) return { work: found.length > 0 ? routes[route] : () => missing, rest: found.map(({ id }) => id), isAllowed };
    return manner.elsewhere && url.pathname.startsWith("/v1/payment-intents/") ? {} : routed(request.method, url.pathname);
  }

  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks)) : {};
    const path = request.url.split("?")[0];
    if (path.startsWith("/test/")) return response.end(JSON.stringify(tests[path.slice(6)](body) ?? null));
    const send = ({ status, headers, body: text }) => response.writeHead(status, { date: new Date(now() * 1000).toUTCString(), "content-type": "application/json", ...headers }).end(text);
    if (manner.interfere?.(request, send)) return;
    const token = request.headers.authorization?.replace("Bearer ", "");
    const origin = `http://${request.headers.host}`;
    const { work, rest, ...own } = elsewhere(request, new URL(request.url, origin), token);
    const isAllowed = token === KEY || isValid(token) || path.startsWith("/v1/sessions/") || own.isAllowed;
    const reply = !work ? missing : isAllowed ? work({ body, rest, token, origin }) : unauthorized;
    if (lost[reply.reply] > 0) {
      lost[reply.reply] -= 1;
      return response.destroy(); // after the effect
    }
    if (reply.created && slowness > 0) {
      reply.created.is_pending = true;
      await setTimeout(slowness);
      slowness = 0;
      reply.created.is_pending = false;
    }
    send(manner.encode?.(request, reply) ?? reply);
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}
