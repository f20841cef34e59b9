// Makes payments in a sandbox, and writes the thread of each as the test that the inspector copies: node copied.mjs <folder> <runner>
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { createSandbox } from "guichet-sandbox";

const [folder, runner] = process.argv.slice(2);
const { copiedTest } = await import(pathToFileURL(`${process.env.ROOT}/www/inspector/copied-test.js`));
const sandbox = await createSandbox();
const shop = await sandbox.merchant();

async function call(method, path, key, body) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await sandbox.fetch(`${sandbox.baseUrl}${path}`, { method, headers, body: body && JSON.stringify(body) });
  const reply = await response.json();
  return reply.data ?? reply;
}

const card = (number) => ({ type: "card", card: { number, exp_month: 12, exp_year: 2034, cvc: "123" } });
const phone = (phone) => ({ type: "mobile_money", phone });
const payments = {
  async eventful({ attach, read }) {
    await attach(phone("237670000020"));
    await shop.handset.ignore("eventful");
    await read();
    await attach(phone("237690000013"));
    await read();
    await shop.handset.approve("eventful", 1);
    await shop.clock.advance(5);
    await read();
    await shop.clock.advance(240);
    await read();
  },
  async abandoned({ act, attach, read }) {
    await attach(phone("237670000020"));
    await act("abandon", { attempt: 1 });
    await attach(phone("237670000001"));
    await read();
    await shop.clock.advance(30);
    await read();
    await shop.handset.approve("abandoned", 1);
  },
  async cards({ attach, read }) {
    await attach(card("4000000000009995"));
    await shop.faults.set({ operation: "read_payment_intent", kind: "status" });
    await read();
    await attach(card("5555555555554444"));
  },
  async code({ act, attach, read }) {
    await attach(phone("237670000010"));
    await act("answer", { otp: "123456" });
    await read();
  },
  async late({ attach }) {
    await attach(phone("237670000020"));
    await shop.handset.approveLate("late");
    await shop.clock.advance(60);
  },
  canceled: ({ act }) => act("cancel", {}),
  expired: () => shop.clock.advance("2d"),
};

for (const [merchant_reference, happen] of Object.entries(payments)) {
  const customer = { firstname: "Awa", lastname: "Ngono", email: "awa@example.com", metadata: { sizes: [41] } };
  const { id, client_secret } = await call("POST", "/v1/payment-intents", shop.secretKey, { ...customer, merchant_reference, amount: "5000", description: "Shoes" });
  const path = `/v1/payment-intents/${id}`;
  const act = (verb, body) => call("POST", `${path}/${verb}`, client_secret, body);
  await happen({ act, attach: (payment_method) => act("payment-method", { payment_method }), read: () => call("GET", path, shop.secretKey) });
  const thread = await call("GET", `/sandbox/thread?payment=${merchant_reference}&merchant=${shop.id}`, sandbox.controlToken);
  writeFileSync(`${folder}/${merchant_reference}.test.js`, copiedTest(thread).replace('"vitest"', JSON.stringify(runner)));
}
