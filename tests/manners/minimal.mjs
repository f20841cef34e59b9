// A service that sends the members that the document shows, and nothing else: no `amount_payable`, no attempts, no time of an end. What the
// document calls not shown is an empty object. Its errors have a status and no body.
import { documented, serve } from "./service.mjs";

const MESSAGES = { methods: "Payment methods retrieved.", fee: "Fee calculated." };

serve({
  show(kind, value, status) {
    if (kind === "session") {
      const data = { ...value, expires_at: new Date(value.expires_at * 1000).toISOString() };
      return json(status, { success: true, message: "Session created.", data });
    }
    if (kind === "valid" || kind === "revoked") return json(status, {});
    const data = kind === "intent" || kind === "canceled" ? withoutSum(documented(value), value) : value;
    return json(status, { status_code: status, response_type: "success", data, ...(MESSAGES[kind] && { message: MESSAGES[kind] }) });
  },
  refuse: ({ status }) => ({ status, body: "" }),
});

function withoutSum({ amount, currency, ...intent }, { is_sum_hidden }) {
  return is_sum_hidden ? intent : { ...intent, amount, currency };
}

function json(status, body) {
  return { status, body: JSON.stringify(body) };
}
