// A service that reads, finds and cancels a payment elsewhere than in the document, by its public reference, and has words of its own for a
// status. Its profile is elsewhere.json.
import { documented, serve } from "./service.mjs";

const WORDS = { requires_action: "awaiting", succeeded: "paid", failed: "declined", canceled: "void" };

serve({
  elsewhere({ method, path, query }, intents) {
    const [, resource, reference, verb] = path.split("/");
    if (resource !== "charges") return undefined;
    if (!reference) return { does: "find", found: intents.filter((one) => one.merchant_reference === query.get("reference")) };
    const found = intents.filter((one) => one.payment_ref === decodeURIComponent(reference));
    if (method === "POST" && verb === "void") return { does: "cancel", found };
    return method === "GET" && !verb ? { does: "read", found } : { does: "read", found: [] };
  },
  show(kind, value, status) {
    const data = { list: () => value.map(intentOf), intent: () => intentOf(value), canceled: () => intentOf(value), session: () => ({ ...value, expires_at: new Date(value.expires_at * 1000).toISOString() }) }[kind]?.() ?? value;
    return json(status, { status_code: status, response_type: "success", message: "OK", data });
  },
  refuse: ({ status, code, message }) => json(status, { status_code: status, response_type: "error", message, error: { code } }),
});

function intentOf(intent) {
  const { is_sum_hidden, has_expired, status } = intent;
  const { amount, currency, ...rest } = documented(intent);
  return { ...rest, ...(!is_sum_hidden && { amount, currency }), status: has_expired ? "expired" : WORDS[status] };
}

function json(status, body) {
  return { status, body: JSON.stringify(body) };
}
