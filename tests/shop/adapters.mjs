// `toNode` of guichet-server in what its users have around it: AWS Lambda (serverless-http), Fastify's `inject`, Koa, HTTP/2; senders who
// send too much, or leave. The packages are those of `xtask/npm/adapters`, in the folder that ADAPTERS names.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import http2 from "node:http2";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { join } from "node:path";
import { createShop } from "guichet-server";
import { toNode } from "guichet-server/node";
import { memoryOrders } from "guichet-server/orders";

const require = createRequire(join(process.env.ADAPTERS, "adapters.js"));
const serverless = require("serverless-http");
const inject = require("light-my-request");
const Koa = require("koa");
const { bodyParser } = require("@koa/bodyparser");

const logged = [];
console.error = (...texts) => logged.push(texts.join(" "));

const bought = [];
const shop = createShop({
  baseUrl: "http://127.0.0.1:1",
  secretKey: "sk_live_1",
  origins: ["https://shop.example"],
  customer: ({ headers }) => (headers.get("cookie") === "login=awa" ? { id: "awa" } : null),
  purchase(order) {
    bought.push(order.id);
    return { name: `ORDER-${order.id}`, amount: 45000, description: "Shoes", firstname: "Awa", lastname: "Ngono", phone: "237670000000" };
  },
  orderChanged() {},
  orders: memoryOrders(),
  fetch: async (_, { body }) => {
    const { merchant_reference, amount } = JSON.parse(body);
    assert.equal(amount, "45000");
    const data = { id: `pi_${merchant_reference}`, amount, currency: "XAF", status: "requires_action", merchant_reference };
    return Response.json({ data: { ...data, checkout_url: "http://127.0.0.1:1/checkout" } });
  },
});
const routes = toNode(shop);
const url = "/guichet/intents";
const headers = { host: "internal:8080", cookie: "login=awa", "content-type": "application/json", origin: "https://shop.example" };
const order = (id) => JSON.stringify({ id });

for (const [name, send] of Object.entries({
  "AWS Lambda": async (id, changed) => {
    const event = { httpMethod: "POST", path: url, requestContext: { httpMethod: "POST" }, isBase64Encoded: false };
    const { statusCode } = await serverless(routes)({ ...event, headers: { ...headers, ...changed }, body: order(id) }, {});
    return statusCode;
  },
  "inject": async (id, changed) => (await inject(routes, { method: "POST", url, headers: { ...headers, ...changed }, payload: order(id) })).statusCode,
  "HTTP/2": overHttp2,
  "Koa": async (id, changed) => {
    const app = new Koa();
    app.use(answerByNode);
    return overHttp(app.callback(), id, changed);
  },
  "Koa after its body parser": async (id, changed) => {
    const app = new Koa();
    app.use(bodyParser());
    app.use((context) => {
      context.req.body = context.request.body;
      answerByNode(context);
    });
    return overHttp(app.callback(), id, changed);
  },
})) {
  const sent = bought.length;
  assert.equal(await send(name, {}), 200, `${name}: a customer buys`);
  assert.equal(await send(name, { cookie: "" }), 401, `${name}: nobody is signed in`);
  assert.equal(await send(name, { origin: "https://evil.example" }), 403, `${name}: another site`);
  assert.deepEqual(bought.slice(sent), [name]);
}
assert.deepEqual(logged, []);

// A body that is gone is named, and so is what is no request of Node.js.
const app = new Koa();
app.use(bodyParser());
app.use(answerByNode);
assert.equal(await overHttp(app.callback(), "17", {}), 500);
assert.match(logged.splice(0).join("\n"), /A body parser has read this request.*ctx\.req\.body = ctx\.request\.body/);
assert.throws(() => routes(new Request("http://shop.example/"), {}), /call `shop.fetch`/);
assert.throws(() => toNode({}), /the shop that `createShop` returns/);

// What stands in for a request may have a parsed body and no stream, and headers in any case.
const parsed = { method: "POST", url, headers: { ...headers, "content-type": undefined } };
for (const [name, { type, body }] of Object.entries({
  "parsed JSON": { type: "application/json", body: { id: "parsed JSON" } },
  "a text": { type: "application/json", body: order("a text") },
  "bytes": { type: "application/json", body: Buffer.from(order("bytes")) },
})) {
  assert.equal(await handled({ ...parsed, headers: { ...parsed.headers, "Content-Type": type }, body }), 200, name);
  assert.equal(bought.at(-1), name);
}
assert.equal(await handled({ ...parsed, headers }), 500, "neither a body nor a stream");
assert.match(logged.splice(0).join("\n"), /or it has no stream\. Put toNode before it/);

// A stream of which another has read a part is not the whole order.
const begun = createServer((request, response) => request.once("data", () => request.pause() && routes(request, response))).listen(0, "127.0.0.1");
await once(begun, "listening");
const part = await fetch(`http://127.0.0.1:${begun.address().port}${url}`, { method: "POST", headers, body: order("begun") });
assert.equal(part.status, 500);
assert.match(logged.splice(0).join("\n"), /A body parser has read this request/);
begun.close();

// Without `next`, what fails is logged, and the sender gets a reply.
const failing = toNode({ path: "/guichet", fetch: () => Promise.reject(new Error("the shop is broken")) });
assert.equal(await overHttp(failing, "17", {}), 500);
assert.match(logged.splice(0).join("\n"), /the shop is broken/);

// A large order is refused, and its sender reads that: it is read to its end. The connection goes on.
const server = createServer(routes).listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address();
const head = (length) => `POST ${url} HTTP/1.1\r\n${Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("")}content-length: ${length}\r\n\r\n`;
const socket = connect(port, "127.0.0.1");
const replies = [];
socket.on("data", (part) => replies.push(part)).on("error", (e) => replies.push(e.message));
const large = 8 * 1024 * 1024;
socket.write(head(large));
for (let sent = 0; sent < large; sent += 1024 * 1024) {
  if (!socket.write("7".repeat(1024 * 1024))) await Promise.race([once(socket, "drain"), once(socket, "close")]);
}
socket.write(head(order("large").length) + order("large"));
while (!/HTTP\/1\.1 200[^]*pi_ORDER-large/.test(replies.join(""))) await Promise.race([once(socket, "data"), once(socket, "close").then(() => assert.fail(`closed: ${replies}`))]);
assert.match(replies.join(""), /^HTTP\/1\.1 413 /);
assert.equal(bought.at(-1), "large");
socket.destroy();

// A sender who leaves is one line.
const leaving = connect(port, "127.0.0.1");
leaving.write(`${head(1000)}{"id":`);
await new Promise((resolve) => setTimeout(resolve, 100));
leaving.destroy();
while (!logged.length) await new Promise((resolve) => setTimeout(resolve, 10));
await new Promise((resolve) => setTimeout(resolve, 100));
assert.deepEqual(logged, ["guichet-server: the sender has ended POST /guichet/intents before its body was complete."]);
process.nextTick(process.exit); // connections that are kept alive

function answerByNode(context) {
  context.respond = false;
  routes(context.req, context.res);
}

async function overHttp(handler, id, changed) {
  const server = createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { host: _, ...sent } = { ...headers, ...changed };
  const { status } = await fetch(`http://127.0.0.1:${server.address().port}${url}`, { method: "POST", headers: sent, body: order(id) });
  server.close();
  return status;
}

async function overHttp2(id, changed) {
  const server = http2.createServer(routes).listen(0, "127.0.0.1");
  await once(server, "listening");
  const session = http2.connect(`http://127.0.0.1:${server.address().port}`);
  const { host: _, ...sent } = { ...headers, ...changed };
  const stream = session.request({ ":method": "POST", ":path": url, ...sent });
  stream.end(order(id));
  const [reply] = await once(stream, "response");
  session.close();
  server.close();
  return reply[":status"];
}

/** The status of a reply to what stands in for a request. */
function handled(request) {
  return new Promise((resolve) => routes(request, { setHeader() {}, end() { resolve(this.statusCode); } }));
}
