// A service whose every reply is 200. A refusal is one by its body: `response_type: "error"` with a `status_code`, or `success: false` alone.
import { documented, payableOf, serve } from "./service.mjs";

serve({
  refuseRepeat: () => ({ status: 409, message: "Duplicate transaction reference.", isPlain: true }),
  show(kind, value, status) {
    switch (kind) {
      case "session":
        return ok({ success: true, message: "Session created.", data: { ...value, expires_at: new Date(value.expires_at * 1000).toISOString() } });
      case "valid":
      case "revoked":
        return ok({ success: true, message: "OK", data: null });
      case "canceled":
        return ok({ success: true, message: "Transaction canceled." });
      case "intent":
        return ok({ status_code: status, response_type: "success", data: intentOf(value) });
      default:
        return ok({ status_code: status, response_type: "success", data: value, message: "OK" });
    }
  },
  // Its older half says no more than that it did not succeed.
  refuse({ status, code, message, isPlain }) {
    return ok(isPlain || status >= 500 ? { success: false, message } : { status_code: status, response_type: "error", message, data: null, code });
  },
});

/** With the sum that was taken. `failed` is all that it says of a decline. */
function intentOf(intent) {
  const { amount, currency, ...rest } = documented(intent);
  if (intent.is_sum_hidden) return { ...rest, amount: "", currency: "" };
  const { attempts, duplicates: duplicate_payments } = intent;
  return { ...rest, amount, currency, attempts, duplicate_payments, amount_payable: intent.taken.length > 0 ? String(payableOf(intent)) : null };
}

function ok(body) {
  return { status: 200, body: JSON.stringify(body) };
}
