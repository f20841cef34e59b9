// Writes each state of the hosted page as plain HTML, as the sandbox renders it: node render.mjs <folder of guichet-sandbox> <folder>
//
// `cargo xtask pack` runs it for the package's folder `hosted-page/states`.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [packed, folder] = process.argv.slice(2);
const { createSandbox } = await import(pathToFileURL(join(packed, "sandbox.js")).href);

// What the customer of each state sends, one form after the other.
const pays = (phone) => ({ action: "pay", type: "mobile_money", phone });
const card = { action: "pay", type: "card", number: "4000000000003220", exp_month: "12", exp_year: "34", cvc: "123" };
const STATES = {
  ready: [],
  "ready-refused": [pays("12")],
  code: [pays("237670000010")],
  bank: [card],
  "waiting-for-phone": [pays("237670000005")],
  declined: [pays("237670000002")],
  "declined-in-doubt": [pays("237670000005"), { action: "abandon" }],
  failed: [pays("237670000009")],
  canceled: [{ action: "cancel" }],
  confirm: [pays("237670000000")],
  "succeeded-in-doubt": [pays("237670000005"), { action: "abandon" }, pays("237670000000")],
  succeeded: [pays("237670000000")],
};

const sandbox = await createSandbox();
const shop = await sandbox.merchant({ name: "Pas à Pas" });
for (const language of ["en", "fr"]) {
  mkdirSync(join(folder, language), { recursive: true });
  for (const [name, forms] of Object.entries(STATES)) {
    const customer = await open(`${language}-${name}`, language);
    let page = await customer();
    for (const form of forms) page = await customer({ ...secretsOf(page), ...form });
    write(language, name, page);
  }
  const late = await open(`${language}-expired`, language);
  await shop.clock.advance("25h");
  write(language, "expired", await late());
  const nowhere = await sandbox.fetch(`${sandbox.baseUrl}/checkout/pi_0?lang=${language}`);
  write(language, "link-wrong", await nowhere.text());
}

/** A customer at the page of a new payment: each call sends a form, or reads the page, and resolves with its HTML. */
async function open(reference, language) {
  const created = await sandbox.fetch(`${sandbox.baseUrl}/v1/payment-intents`, {
    method: "POST",
    headers: { authorization: `Bearer ${shop.secretKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      merchant_reference: reference, amount: "5000", description: "A pair of shoes", firstname: "Awa", lastname: "Ndiaye",
      phone: "237670000000", redirect_url: "https://shop.example/return",
      confirmation_method: reference.endsWith("confirm") ? "manual" : "automatic",
    }),
  });
  const { data } = await created.json();
  const address = `${sandbox.baseUrl}/checkout/${data.id}`;
  const cookie = `guichet_checkout=${data.client_secret}; guichet_language=${language}`;
  const read = async () => (await sandbox.fetch(address, { headers: { cookie } })).text();
  return async (form) => {
    if (!form) return read();
    const headers = { cookie, "content-type": "application/x-www-form-urlencoded" };
    const reply = await sandbox.fetch(address, { method: "POST", headers, body: String(new URLSearchParams(form)) });
    return reply.status === 303 ? read() : reply.text();
  };
}

/** The hidden fields of a page's forms. */
function secretsOf(page) {
  const field = (name) => new RegExp(`name="${name}" value="([^"]+)"`).exec(page)[1];
  return { token: field("token"), version: field("version") };
}

function write(language, name, page) {
  writeFileSync(join(folder, language, `${name}.html`), page.replaceAll(/\/checkout\/assets\/\w+\//g, "../../"));
}
