import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** The shop as a handler of Express, Connect or `node:http`. */
export const toNode = (shop) => (incoming, outgoing, next) => {
  const fail = (e) => (next ? next(e) : outgoing.destroy(e));
  const target = incoming.originalUrl ?? incoming.url;
  if (next && !target.startsWith(`${shop.path}/`)) return next();
  respond(shop, incoming, outgoing, target).catch(fail);
};

async function respond(shop, incoming, outgoing, target) {
  const { method, headersDistinct } = incoming;
  const headers = Object.entries(headersDistinct).flatMap(([name, values]) => values.map((value) => [name, value]));
  // The host is only a text that is compared.
  const url = new URL(target, "http://localhost");
  const hasBody = method !== "GET" && method !== "HEAD";
  const request = new Request(url, { method, headers, body: hasBody ? bodyOf(incoming) : undefined, duplex: "half" });
  const response = await shop.fetch(request);
  outgoing.statusCode = response.status;
  for (const [name, value] of response.headers) outgoing.setHeader(name, value);
  if (!response.body) return void outgoing.end();
  await pipeline(Readable.fromWeb(response.body), outgoing);
}

/** The body, also if `express.json()` or `express.urlencoded()` has read it. */
function bodyOf(incoming) {
  const { body } = incoming;
  if (body === undefined || !incoming.readableEnded) return Readable.toWeb(incoming);
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  const isForm = /^application\/x-www-form-urlencoded/i.test(incoming.headers["content-type"] ?? "");
  return isForm ? new URLSearchParams(body).toString() : JSON.stringify(body);
}
