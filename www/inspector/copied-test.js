// A thread as a Vitest test that runs, with the sandbox in its process. Keys are placeholders of the test's own merchant.

const CARDS = { 4242: "4242424242424242", 4444: "5555555555554444", "0000": "4000008260000000", "0002": "4000000000000002", "0341": "4000000000000341", 9995: "4000000000009995", "0069": "4000000000000069", "0127": "4000000000000127", "0119": "4000000000000119", 3220: "4000000000003220" };
/** The requests of a customer or a shop that change a payment, and the ends of their paths. */
const CHANGES = { confirm_payment_intent: ["confirm", {}], answer_payment_intent: ["answer", { otp: "123456" }], cancel_payment_intent: ["cancel", {}] };

export function copiedTest({ purchase, fields, entries }) {
  const json = (value) => JSON.stringify(value);
  const order = Object.fromEntries(fields.map(({ field, value }) => [field, /^([[{]|true$|false$)/.test(value) ? JSON.parse(value) : value]));
  const methods = {};
  const steps = [];
  let at = entries[0].at;
  entries.forEach((entry, index) => {
    const { kind, by, operation, attempt, method, fault, reported } = entry;
    const step = (text) => {
      if (entry.at > at) steps.push(`await shop.clock.advance(${entry.at - at});`);
      at = entry.at;
      steps.push(text);
    };
    const key = by === "shop" ? "shop.secretKey" : "intent.client_secret";
    if (fault && operation !== "create_payment_intent") steps.push(`await shop.faults.set(${json({ operation, kind: fault })});`);
    const end = fault ? ".catch(() => {})" : "";
    if (kind === "status" && method) methods[attempt] = method;
    if (operation === "attach_payment_method") {
      const attempted = entries.slice(index).find((later) => later.method)?.method ?? { type: "mobile_money", phone: "237670000000" };
      const { type, phone, last4, operator } = attempted;
      const card = { number: CARDS[last4], exp_month: 12, exp_year: 2034, cvc: "123" };
      const body = type === "card" ? { type, card } : { type, phone, operator: operator ?? undefined };
      step(`await call("POST", \`\${path}/payment-method\`, ${key}, ${json({ payment_method: body })})${end};`);
    } else if (operation === "abandon_payment_intent") {
      step(`await call("POST", \`\${path}/abandon\`, ${key}, ${json({ attempt: Object.keys(methods).length })})${end};`);
    } else if (CHANGES[operation]) {
      step(`await call("POST", \`\${path}/${CHANGES[operation][0]}\`, ${key}, ${json(CHANGES[operation][1])})${end};`);
    } else if (operation === "read_payment_intent" && by === "shop") {
      step(reported ? `expect((await read()).status).toBe(${json(reported.status)});` : `await read()${end};`);
    } else if (kind === "handset") {
      const decide = entry.decision === "approve_late" ? "approveLate" : entry.decision;
      step(`await shop.handset.${decide}(${json(purchase.merchant_reference)}, ${attempt});`);
    } else if (kind === "status" || kind === "late_approval" || kind === "duplicate") {
      if (entry.at > at) steps.push(`await shop.clock.advance(${entry.at - at});`);
      at = Math.max(at, entry.at);
    }
  });
  return `import { expect, test } from "vitest";
import { createSandbox } from "guichet-sandbox";

test(${json(purchase.merchant_reference)}, async () => {
  const sandbox = await createSandbox();
  const shop = await sandbox.merchant();
  const call = async (method, path, key, body) => {
    const headers = { authorization: \`Bearer \${key}\`, "content-type": "application/json" };
    const response = await sandbox.fetch(\`\${sandbox.baseUrl}/v1\${path}\`, { method, headers, body: body && JSON.stringify(body) });
    return (await response.json()).data;
  };
  const intent = await call("POST", "/payment-intents", shop.secretKey, ${json(order)});
  const path = \`/payment-intents/\${intent.id}\`;
  const read = () => call("GET", path, shop.secretKey);
${steps.map((step) => `  ${step}\n`).join("")}  const { status, duplicate_payments } = await read();
  expect(status).toBe(${json(purchase.status)});
  expect(duplicate_payments).toHaveLength(${purchase.duplicates});
});
`;
}
