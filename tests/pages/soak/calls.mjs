// Makes many calls of every kind in Node.js, over a `fetch` that answers at once, and prints the memory of the wasm and the
// length of its table of JavaScript values, after a tenth of the calls and after all.
// Arguments: the folder of the package, and how many calls.
import { pathToFileURL } from "node:url";

const [folder, count] = process.argv.slice(2);
const made = [];
const instantiate = WebAssembly.instantiate;
WebAssembly.instantiate = async (...given) => {
  const result = await instantiate.apply(WebAssembly, given);
  made.push(...Object.values((result.instance ?? result).exports));
  return result;
};
const { createGuichet } = await import(pathToFileURL(`${folder}/guichet.js`));

const methods = ["mobile_money", "card"].map((id) => ({ id: `svc_${id}`, name: id, active: true, supported_countries: ["CM"] }));
const fee = { amount: 5000, currency: "XAF", fee: 100, total_payable: 5100 };
const reply = (status, body) => new Response(JSON.stringify(body), { status, headers: { "request-id": "req_1" } });
const fetch = async (address, { signal }) => {
  const path = new URL(address).pathname;
  if (path.endsWith("/1")) return reply(422, { message: "No.", error: { code: "amount_out_of_range", errors: [{ param: "amount", code: "parameter_invalid", message: "No." }] } });
  if (path.endsWith("/2")) return new Promise((_, no) => signal.addEventListener("abort", () => no(signal.reason)));
  if (path.endsWith("/3")) return Promise.reject("lost");
  if (path.includes("/fee/")) return reply(200, { data: fee });
  if (path.endsWith("/validate")) return reply(200, { data: { valid: true } });
  return reply(200, { data: path.includes("/payment-intents/") ? { id: "pi_1", status: "succeeded" } : methods });
};
const merchant = { session: async () => "cst_test_1", intent: async () => ({}), status: async () => ({ status: "succeeded" }) };
const guichet = createGuichet({ baseUrl: "https://api.example.com", merchant, fetch, onCall: () => {} });
const of = (amount) => ({ payment_method: "mobile_money", currency: "XAF", amount });
const rejects = (call) => call.then(() => Promise.reject(new Error("it resolves")), () => {});
const kinds = [
  (n) => guichet.fee(of(`${5000 + n}`)),
  (n) => guichet.quotes({ amount: `${5000 + n}`, fee_bearer: "customer" }),
  () => Promise.all([guichet.paymentMethods(), guichet.paymentMethods()]),
  () => guichet.session.validate(),
  () => guichet.session.renew(),
  () => guichet.waitForOutcome({ payment_ref: "gch_1" }),
  () => guichet.returned(),
  () => rejects(guichet.fee(of("1"))),
  () => rejects(guichet.fee(of("2"), { signal: AbortSignal.timeout(1) })),
  () => rejects(guichet.fee(of("3"), { timeoutMs: 1 })),
  () => rejects(guichet.fee({ feeBearer: "customer" })),
  () => rejects(guichet.checkout({ order: 1 })),
];
const sizes = () => ({
  bytes: made.filter((one) => one instanceof WebAssembly.Memory).reduce((sum, { buffer }) => sum + buffer.byteLength, 0),
  values: made.filter((one) => one instanceof WebAssembly.Table).reduce((sum, { length }) => sum + length, 0),
});

let before;
for (let n = 0; n < count; n++) {
  await kinds[n % kinds.length](n);
  if (n + 1 === Math.ceil(count / 10)) before = sizes();
}
console.log(JSON.stringify({ before, after: sizes() }));
process.exit(0);
