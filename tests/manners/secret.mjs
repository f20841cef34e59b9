// A service that shows a payment to its customer alone: it is read with the client secret of its creation, and neither canceled nor found by
// a merchant. Its profile is secret.json.
import { documented, serve } from "./service.mjs";

serve({
  elsewhere({ method, path, query, token }, intents) {
    if (method !== "POST" || path !== "/pay/status") return undefined;
    const found = intents.filter((one) => one.client_secret === token && one.id === query.get("charge"));
    return { does: "read", found, isAllowed: found.length > 0 };
  },
  show(kind, value, status, reply) {
    const data = { intent: () => intentOf(value, reply !== "read"), session: () => ({ ...value, expires_at: new Date(value.expires_at * 1000).toISOString() }) }[kind]?.() ?? value;
    return json(status, { status_code: status, response_type: "success", message: "OK", data });
  },
  refuse: ({ status, code, message }) => json(status, { status_code: status, response_type: "error", message, error: { code } }),
});

/** Its address is in the replies to its creation alone. */
function intentOf(intent, isNew) {
  const { amount, currency, checkout_url, ...rest } = documented(intent);
  return { ...rest, ...(!intent.is_sum_hidden && { amount, currency }), ...(isNew && { checkout_url }), ...(intent.has_expired && { status: "expired" }) };
}

function json(status, body) {
  return { status, body: JSON.stringify(body) };
}
