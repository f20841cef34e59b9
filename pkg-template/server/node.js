import { LARGEST_BODY } from "./body.js";

/** The shop as a handler of Express, Connect or `node:http`. */
export function toNode(shop) {
  if (typeof shop?.fetch !== "function") throw new TypeError("toNode takes the shop that `createShop` returns.");
  return (incoming, outgoing, next) => {
    if (typeof incoming?.headers !== "object" || typeof outgoing?.setHeader !== "function") {
      throw new TypeError("This handler takes a request and a response of `node:http`. For a `Request` call `shop.fetch`.");
    }
    const target = incoming.originalUrl ?? incoming.url;
    if (next && !target.startsWith(`${shop.path}/`)) return next();
    respond(shop, incoming, outgoing, target).catch((e) => fail(e, incoming, outgoing, next));
  };
}

async function respond(shop, incoming, outgoing, target) {
  const { method } = incoming;
  // The host is only a text that is compared.
  const url = new URL(target, "http://localhost");
  const headers = new Headers(headersOf(incoming));
  const body = method === "GET" || method === "HEAD" ? undefined : await bodyOf(incoming, headers.get("content-type") ?? "");
  const response = await shop.fetch(new Request(url, { method, headers, body, duplex: "half" }));
  const content = Buffer.from(await response.arrayBuffer());
  outgoing.statusCode = response.status;
  for (const [name, value] of response.headers) outgoing.setHeader(name, value);
  outgoing.end(content);
}

function fail(e, incoming, outgoing, next) {
  if (e === ABORTED) {
    console.error(`guichet-server: the sender has ended ${incoming.method} ${incoming.url.split("?")[0]} before its body was complete.`);
    return void outgoing.destroy();
  }
  if (next) return next(e);
  console.error("guichet-server:", e);
  if (outgoing.headersSent) return void outgoing.destroy();
  outgoing.statusCode = 500;
  outgoing.end();
}

/** What stands in for Node.js's request (AWS Lambda, an older Bun, HTTP/2) may have `headers` alone. */
function headersOf({ headers, headersDistinct }) {
  const all = Object.keys(headersDistinct ?? {}).length ? headersDistinct : headers;
  const named = Object.entries({ host: headers[":authority"], ...all }).filter(([name]) => !name.startsWith(":"));
  return named.flatMap(([name, values]) => [values ?? []].flat().map((value) => [name, value]));
}

/** The body: what a body parser has made of it, otherwise the request's stream, if nobody has begun to read that. */
function bodyOf(incoming, type) {
  const { body } = incoming;
  if (isEmpty(body) && incoming.readableEnded === false && !incoming.readableDidRead) return read(incoming);
  if (body === undefined || body === null) return new ReadableStream({ pull: (to) => to.error(new TypeError(MISSING)) });
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  if (!/^application\/x-www-form-urlencoded/i.test(type)) return JSON.stringify(body);
  const fields = Object.entries(body).flatMap(([name, values]) => [values].flat().map((value) => [name, value]));
  return new URLSearchParams(fields).toString();
}

/** A body parser that reads another type gives every request an empty object. */
const isEmpty = (body) => !body || (typeof body === "object" && Object.keys(body).length === 0);

/** What is over the limit is read and dropped: a sender who is not read to the end may lose the reply. */
const read = (incoming) =>
  new Promise((resolve, reject) => {
    const chunks = [];
    let length = 0;
    const finish = () => resolve(Buffer.concat(chunks));
    incoming.on("data", (chunk) => {
      if (length > LARGEST_BODY) return;
      chunks.push(Buffer.from(chunk));
      length += chunk.length;
      if (length > LARGEST_BODY) finish();
    });
    incoming.on("end", finish);
    for (const event of ["error", "close"]) incoming.on(event, () => reject(ABORTED));
    if (incoming.destroyed) reject(ABORTED);
  });

const ABORTED = new Error("The request has ended before its body was complete.");
const MISSING = "A body parser has read this request, or it has no stream. Put toNode before it, or its result into `body` of Node.js's request (Koa: ctx.req.body = ctx.request.body).";
