// Calls the sandbox by its `fetch`, as a test in any runtime does.
import assert from "node:assert/strict";
import { createGuichet } from "guichet";
import { createSandbox } from "guichet-sandbox";

const { baseUrl, fetch, close } = await createSandbox({ publicMethods: true });
const guichet = createGuichet({ baseUrl, fetch, publicReads: "anonymous" });
const methods = await guichet.paymentMethods({ country_code: "CM" });
assert.deepEqual(methods.map(({ id }) => id), ["svc_mobile_money", "svc_card"]);
const quotes = await guichet.quotes({ amount: "5000", currency: "XAF", fee_bearer: "customer" });
assert.deepEqual(quotes.map(({ customer_pays }) => customer_pays), ["5100", "5145", "5195"]);
await close();
