// Measures `sandbox.fetch` of the npm package `guichet-sandbox`, as `cargo xtask pack` has built it:
//   node --expose-gc benches/sandbox_package.js            creations, beside a map in JavaScript behind Request and Response
//   node --expose-gc benches/sandbox_package.js --memory   memory after a million requests
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { memory: { type: "boolean" }, package: { type: "string", default: `${import.meta.dirname}/../target/npm/sandbox` } } });
const { createSandbox } = await import(`${values.package}/sandbox.js`);

const sandbox = await createSandbox();
const headers = { authorization: `Bearer ${sandbox.secretKey}`, "content-type": "application/json" };
const intents = `${sandbox.baseUrl}/v1/payment-intents`;
await (values.memory ? memory() : creations());

/** Creates a payment, as a merchant's server does, and reads the response. */
async function create(fetch, number) {
  const order = { firstname: "Awa", lastname: "Ngono", email: "awa@example.com", amount: "5000", description: "Shoes", merchant_reference: `ORDER-${number}` };
  const response = await fetch(intents, { method: "POST", headers, body: JSON.stringify(order) });
  const { data, message } = await response.json();
  if (response.status !== 201) throw new Error(`${response.status} ${message}`);
  return data;
}

/** What a test would write by hand in place of a service. */
function map() {
  const payments = new Map();
  return async (input, init) => {
    const request = new Request(input, init);
    if (request.headers.get("authorization") !== headers.authorization) return Response.json({ message: "Unknown key." }, { status: 401 });
    if (`${request.method} ${new URL(request.url).pathname}` !== "POST /v1/payment-intents") return Response.json({ message: "Not found." }, { status: 404 });
    const payment = { id: `pi_${randomUUID()}`, object: "payment_intent", status: "requires_action", ...(await request.json()) };
    payments.set(payment.merchant_reference, payment);
    return Response.json({ status_code: 201, response_type: "success", data: payment }, { status: 201 });
  };
}

/** Alternates, so that what else the machine does slows both. */
async function creations() {
  const byHand = map();
  const [ROUNDS, EACH] = [15, 300];
  const ratios = [];
  let number = 0;
  const rate = async (fetch) => {
    const begun = performance.now();
    for (let each = 0; each < EACH; each++) await create(fetch, number++);
    return Math.round((EACH * 1000) / (performance.now() - begun));
  };
  const [ours, theirs] = [[], []];
  for (let round = 0; round <= ROUNDS; round++) {
    const [one, other] = [await rate(sandbox.fetch), await rate(byHand)];
    // The first round is a warm-up.
    if (round > 0) ours.push(one), theirs.push(other), ratios.push(one / other);
  }
  console.log(`creations a second: sandbox.fetch ${median(ours)}, a map in JavaScript ${median(theirs)}, ratio ${median(ratios).toFixed(2)}`);
}

function median(numbers) {
  return numbers.toSorted((one, other) => one - other)[numbers.length >> 1];
}

async function memory() {
  const REQUESTS = 1_000_000;
  const { id } = await create(sandbox.fetch, "MEMORY");
  const read = async () => (await sandbox.fetch(`${intents}/${id}`, { headers })).json();
  for (let warmUp = 0; warmUp < 10_000; warmUp++) await read();
  const before = resident();
  const begun = performance.now();
  for (let number = 0; number < REQUESTS; number++) await read();
  const seconds = Math.round((performance.now() - begun) / 1000);
  console.log(`memory: ${before} MB after 10,000 reads, ${resident()} MB after a million more, in ${seconds} s`);
}

/** In MB, after garbage collection. */
function resident() {
  globalThis.gc?.();
  return Math.round(process.memoryUsage().rss / 1e6);
}
