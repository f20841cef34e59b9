// What `run.mjs` needs: the cases of this folder, the service that answers as a case says, and the comparison.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { ShopError } from "guichet-server";

const DATE = "Wed, 25 Nov 2026 18:40:00 GMT"; // the service's time

/** The cases of a file. A member of a case replaces the file's, and those of `shop` and `request` one by one. */
export function casesOf(name) {
  const file = JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), "utf8"));
  return file.cases.map((one) => {
    const merged = Object.fromEntries(["shop", "request"].map((member) => [member, { ...file[member], ...one[member] }]));
    return { ...file, ...one, ...merged, file: name };
  });
}

/** Names the case in the error. */
export function fail({ file, name }, e) {
  e.message = `${file}.json: ${name}: ${e.message}`;
  throw e;
}

/** The options that each shop of a case has. */
export function usualOptions(shop, secretKey) {
  const { origins, checkoutOrigins, publicReads, customer } = shop;
  return { baseUrl: "http://127.0.0.1:1", secretKey, origins, checkoutOrigins, publicReads: publicReads ?? undefined, guests: true, customer: () => customer };
}

/** Records a call of the shop's, and fails or refuses as the case says. */
export function calling(shop, calls) {
  return (name, ...values) => {
    calls.push(`${name} ${values.join(" ")}`);
    if (shop.fails?.includes(name)) throw new Error("the disk is full");
    const { status, code, message } = shop.refuses?.[name] ?? {};
    if (status) throw new ShopError(status, code, message);
  };
}

/** The request of a page. */
export function requestOf({ request: { method, path, headers, body } }) {
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const request = new Request(`http://shop.example:4242/guichet${path}`, { method, headers, body: text });
  if (!headers["content-type"]) request.headers.delete("content-type");
  return request;
}

/** What is expected, with the nonces of ORDER-17 and ORDER-18. */
export function withNonces(expected, nonce, ofAnother) {
  return expected && JSON.parse(JSON.stringify(expected).replaceAll("{nonce}", nonce).replaceAll("{nonce ORDER-18}", ofAnother));
}

export function serviceOf({ service = [], intent }, key, sent, bodies) {
  const replies = service.values();
  return async (url, { method, headers, body }) => {
    assert.equal(headers.authorization, `Bearer ${key}`);
    sent.push(`${method} ${url.replace("http://127.0.0.1:1", "")}`);
    bodies.push(body && JSON.parse(body));
    const { value } = replies.next();
    if (value === "lost" || value === undefined) throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
    const date = value.has_no_date ? {} : { date: DATE };
    const { status = 200, headers: more, body: reply } = value.intent ? { headers: date, body: { data: { ...intent, ...value.intent } } } : value;
    return new Response(typeof reply === "string" ? reply : JSON.stringify(reply), { status, headers: more });
  };
}

export async function verify(response, { status, headers = {}, body, has = [], not = [] }) {
  const text = await response.text();
  assert.equal(response.status, status, text);
  for (const [name, value] of Object.entries(headers)) assert.equal(response.headers.get(name), value, name);
  if (body) contains(JSON.parse(text), body, "body");
  for (const part of has) assert.ok(text.includes(part), `the reply lacks ${part}: ${text}`);
  for (const secret of not) assert.ok(!text.includes(secret), `the reply contains ${secret}: ${text}`);
}

/** Compares the members that are expected. */
export function contains(found, expected, what) {
  if (typeof expected !== "object" || expected === null || Array.isArray(expected)) {
    return assert.deepEqual(found ?? null, expected, what);
  }
  for (const [name, value] of Object.entries(expected)) contains(found?.[name], value, `${what}.${name}`);
}
