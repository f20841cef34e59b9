// A service behind a proxy: errors are problems of RFC 9457, JSON begins with a byte order mark and is gzip where that is accepted, every
// fourth call about a payment is first answered by the proxy's own page, and every seventh is done and its connection reset.
import { gzipSync } from "node:zlib";
import { documented, payableOf, serve } from "./service.mjs";

const PAGE = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><center><h1>502 Bad Gateway</h1></center></body>\r\n</html>\r\n";
let [calls, replies] = [0, 0];

serve({
  show(kind, value, status) {
    switch (kind) {
      case "session":
        return json(status, { success: true, message: "Session created.", data: { ...value, expires_at: new Date(value.expires_at * 1000).toISOString() } });
      case "valid":
      case "revoked":
        return { status: 204, body: "" };
      case "intent":
      case "canceled":
        return json(status, { status_code: status, response_type: "success", data: intentOf(value) });
      default:
        return json(status, { status_code: status, response_type: "success", data: value, message: "OK" });
    }
  },
  refuse({ status, message, field }) {
    if (status >= 500) return { status: 502, headers: { "content-type": "text/html" }, body: PAGE };
    const problem = { type: "about:blank", title: message, status, detail: message, ...(field && { errors: [{ detail: message, pointer: `#/${field}` }] }) };
    return { status, headers: { "content-type": "application/problem+json" }, body: JSON.stringify(problem) };
  },
  interfere(request, send) {
    const isOfPayment = request.url.startsWith("/v1/payment-intents");
    if (!isOfPayment || ++calls % 4 !== 0) return false;
    send({ status: 502, headers: { "content-type": "text/html" }, body: PAGE });
    return true;
  },
  encode(request, reply) {
    const isOfPayment = request.url.startsWith("/v1/payment-intents");
    if (isOfPayment && ++replies % 7 === 0) request.socket.destroy();
    const isGzip = reply.body !== "" && /\bgzip\b/.test(request.headers["accept-encoding"]);
    if (!isGzip) return reply;
    return { ...reply, headers: { ...reply.headers, "content-encoding": "gzip", vary: "accept-encoding" }, body: gzipSync(reply.body) };
  },
});

function intentOf(intent) {
  const { amount, currency, ...rest } = documented(intent);
  const sum = intent.is_sum_hidden ? {} : { amount, currency, amount_payable: String(payableOf(intent)) };
  const { attempts, declined, duplicates: duplicate_payments, created_at } = intent;
  return { ...rest, ...sum, attempts, duplicate_payments, created_at, ...(declined && { last_payment_error: declined }) };
}

/** With a byte order mark. */
function json(status, body) {
  return { status, headers: { "content-type": "text/json; charset=utf-8" }, body: `\ufeff${JSON.stringify(body)}` };
}
