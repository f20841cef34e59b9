// A service that is an application of Laravel, as such an application answers without further work: a column of decimals is a text with two
// decimals once it was stored, a boolean column is 0 or 1, what is absent is null, and an empty object is `[]`. A reference is unique, so a
// creation is not repeated. A payment whose time is over has a status of its own.
import { documented, feeOf, payableOf, serve } from "./service.mjs";

serve({
  // By a rule of validation, and by the index of the table if that does not see the other one yet.
  refuseRepeat({ is_pending }) {
    if (is_pending) return { status: 409, message: "The merchant reference is in use." };
    return { status: 422, message: "The merchant reference has already been taken.", field: "merchant_reference" };
  },
  show(kind, value, status) {
    switch (kind) {
      case "session":
        return json(status, { success: true, message: "Session created.", data: { ...value, expires_at: time(value.expires_at, "+00:00") } });
      case "valid":
        return json(status, { data: { valid: 1, customer_email: value.customer_email, expires_at: time(value.expires_at) } });
      case "revoked":
      case "canceled":
        return json(status, { message: "OK" });
      case "methods":
        return json(status, listOf(value.map((method) => ({ ...method, active: Number(method.active), operators: [], deleted_at: null }))));
      case "fee":
        return json(status, { data: Object.fromEntries(Object.entries(value).map(([name, it]) => [name, typeof it === "number" ? decimal(it) : it])), message: null });
      default:
        return json(status, { status_code: String(status), response_type: "success", data: intentOf(value, status === 201), message: null });
    }
  },
  refuse({ status, message, field }) {
    return json(status, field ? { message, errors: { [field]: [message] } } : { message });
  },
});

/** As it was sent in the reply to the creation, and later as the database has it. */
function intentOf(intent, isNew) {
  const isPaid = intent.taken.length > 0;
  const sum = intent.is_sum_hidden ? { amount: null, currency: null } : { amount: isNew ? intent.amount : decimal(intent.amount) };
  return {
    ...documented(intent),
    ...sum,
    ...(intent.has_expired && { status: "expired" }),
    customer: { ...intent.customer, email: intent.customer.email ?? null, phone: intent.phone ?? null },
    metadata: Object.keys(intent.metadata).length > 0 ? intent.metadata : [],
    fee: decimal(feeOf(intent.amount)),
    amount_payable: isPaid && !intent.is_sum_hidden ? decimal(payableOf(intent)) : null,
    attempts: String(intent.attempts),
    last_payment_error: intent.declined ?? null,
    duplicate_payments: intent.duplicates.map((one) => ({ ...one, attempt: String(one.attempt), amount: decimal(one.amount) })),
    payment_method: null,
    next_action: [],
    created_at: time(intent.created_at),
    updated_at: time(intent.ended_at ?? intent.created_at),
    expires_at: time(intent.expires_at, "+00:00"),
  };
}

function listOf(data) {
  const links = { first: "http://localhost/v1/payment-methods?page=1", last: "http://localhost/v1/payment-methods?page=1", prev: null, next: null };
  return { data, links, meta: { current_page: 1, from: 1, last_page: 1, per_page: "15", to: data.length, total: data.length } };
}

function time(seconds, zone) {
  const text = new Date(seconds * 1000).toISOString();
  return zone ? text.replace(/\.\d+Z$/, zone) : text.replace("Z", "000Z");
}

function decimal(amount) {
  return Number(amount).toFixed(2);
}

function json(status, body) {
  return { status, headers: { "content-type": "application/json", "x-powered-by": "PHP/8.3" }, body: JSON.stringify(body) };
}
