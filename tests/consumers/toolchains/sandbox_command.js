// `guichet-sandbox` as its users run it: on a port, with the hosted page, faults that cut the connection, and signals.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { connect } from "node:net";
import { createInterface } from "node:readline";

const COMMAND = "node_modules/.bin/guichet-sandbox";
const env = { ...process.env, GUICHET_SECRET_KEY: "sk_test_0123456789abcdefghijklmn" };
const running = [];
process.once("exit", () => running.forEach((child) => child.kill("SIGKILL")));

const readyMs = await aPurchase();
await faultsCutTheConnection();
await requestsInFlightAreAnswered();
await aStopTakesASecond();
await bodiesThatAreLongOrSlow();
await stdoutThatIsClosed();
await options();
await aProfile();
await whatItRefuses();
console.log(JSON.stringify({ readyMs }));

async function start(args) {
  const begun = performance.now();
  const child = spawn(COMMAND, ["--listen", "127.0.0.1:0", "--json", ...args], { env, stdio: ["ignore", "pipe", "inherit"] });
  running.push(child);
  const lines = [];
  const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)));
  const ready = await new Promise((resolve, reject) => {
    createInterface(child.stdout).on("line", (line) => (lines.push(line), resolve(JSON.parse(line))));
    ended.then((code) => reject(new Error(`it ended: ${code}`)));
  });
  const ms = performance.now() - begun;
  const call = async (path, method = "GET", body, token = path.startsWith("/sandbox") ? ready.control_token : ready.secret_key) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const response = await fetch(ready.base_url + path, { method, headers, body: body && JSON.stringify(body) });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const stop = async (signal = "SIGTERM") => {
    child.kill(signal);
    return { code: await ended, lines };
  };
  return { ready, ms, call, stop };
}

async function aPurchase() {
  const { ready, ms, call, stop } = await start([]);
  assert.deepEqual(Object.keys(ready).sort(), ["base_url", "control_token", "control_url", "inspector_url", "secret_key"]);
  assert.deepEqual([ready.control_url, ready.secret_key], [`${ready.base_url}/sandbox`, env.GUICHET_SECRET_KEY]);
  const order = { firstname: "Awa", lastname: "Ngono", email: "awa@example.com", merchant_reference: "ORDER-1", amount: "5000", description: "Shoes" };
  const created = await call("/v1/payment-intents", "POST", order);
  assert.equal(created.status, 201, created.text);
  assert.equal(Number(created.headers.get("content-length")), Buffer.byteLength(created.text));
  const { id, checkout_url } = JSON.parse(created.text).data;
  assert.ok(checkout_url.startsWith(`${ready.base_url}/checkout/`));
  const opened = await fetch(checkout_url, { redirect: "manual" });
  const [cookie] = opened.headers.get("set-cookie").split(";");
  const page = await fetch(new URL(opened.headers.get("location"), checkout_url), { headers: { cookie } });
  assert.match(page.headers.get("content-security-policy"), /^default-src 'none'/);
  const html = await page.text();
  assert.match(html, /<form method="post"/);
  const [, assets] = /src="([^"]+)\/checkout\.js"/.exec(html);
  await filesAreCompressed(`${ready.base_url}${assets}/package/hosted.js`);
  const phone = { payment_method: { type: "mobile_money", phone: "237670000000" } };
  assert.equal((await call(`/v1/payment-intents/${id}/payment-method`, "POST", phone)).status, 200);
  assert.equal((await call("/sandbox/clock", "POST", { advance_seconds: 60 })).status, 200);
  assert.equal(JSON.parse((await call(`/v1/payment-intents/${id}`)).text).data.status, "succeeded");
  const head = await call("/v1/payment-methods", "HEAD");
  assert.deepEqual([head.status, head.text], [200, ""]);
  // A body that is too large, a name that is not this machine's, and a page of another origin.
  assert.equal((await call("/v1/payment-intents", "POST", { a: "x".repeat(300_000) })).status, 413);
  assert.equal(await statusAs(ready, "evil.example"), 403);
  const preflight = { method: "OPTIONS", headers: { origin: "https://shop.example", "access-control-request-method": "GET" } };
  assert.equal((await fetch(`${ready.base_url}/v1/payment-methods`, preflight)).headers.get("access-control-allow-origin"), "*");
  const { code, lines } = await stop();
  assert.deepEqual([code, lines.length], [0, 1], "SIGTERM ends it, and stdout had one line");
  return Math.round(ms);
}

/** A file of the hosted page is sent as its client accepts it, each form with its own tag, and not again to a client that has it. */
async function filesAreCompressed(address) {
  const get = async (headers) => {
    const response = await fetch(address, { headers }); // decompresses
    return { coding: response.headers.get("content-encoding"), tag: response.headers.get("etag"), status: response.status, text: await response.text() };
  };
  const forms = await Promise.all(["br", "gzip", "identity"].map((accepted) => get({ "accept-encoding": accepted })));
  assert.deepEqual(forms.map(({ coding }) => coding), ["br", "gzip", null]);
  assert.equal(new Set(forms.map(({ text }) => text)).size, 1);
  assert.equal(new Set(forms.map(({ tag }) => tag)).size, 3);
  assert.equal((await get({ "accept-encoding": "br", "if-none-match": forms[0].tag })).status, 304);
}

/** The status of the control API under another host name. */
function statusAs(ready, host) {
  const headers = { host, authorization: `Bearer ${ready.control_token}` };
  return new Promise((resolve, reject) => {
    request(`${ready.control_url}/clock`, { headers }, (response) => resolve(response.resume().statusCode)).on("error", reject).end();
  });
}

async function faultsCutTheConnection() {
  const { ready, call, stop } = await start(["--public-methods"]);
  const fault = (kind, more) => call("/sandbox/faults", "POST", { operation: "list_payment_methods", kind, ...more });
  for (const kind of ["drop", "lost_response"]) {
    await fault(kind);
    await assert.rejects(call("/v1/payment-methods"), { message: "fetch failed" });
  }
  await fault("truncate");
  await assert.rejects(call("/v1/payment-methods"), { name: "TypeError", message: "terminated" });
  assert.equal((await call("/v1/payment-methods", "GET", undefined, "")).status, 200, "--public-methods");
  const requests = JSON.parse((await call("/sandbox/requests")).text).requests.map(({ fault, status }) => [fault, status]);
  assert.deepEqual(requests, [["drop", null], ["lost_response", null], ["truncate", 200], [null, 200]]);
  // A client that goes away ends a delay.
  await fault("delay", { milliseconds: 600_000 });
  const gone = fetch(`${ready.base_url}/v1/payment-methods`, { signal: AbortSignal.timeout(50) });
  await assert.rejects(gone, { name: "TimeoutError" });
  assert.equal((await stop("SIGINT")).code, 0);
}

async function requestsInFlightAreAnswered() {
  const { call, stop } = await start([]);
  await call("/sandbox/faults", "POST", { operation: "list_payment_methods", kind: "delay", milliseconds: 700 }); // a stop waits a second
  const slow = call("/v1/payment-methods");
  await untilARequestWaits(call);
  const stopped = stop();
  assert.equal((await slow).status, 200);
  assert.equal((await stopped).code, 0);
}

/** Waits until a request has arrived and has no response yet. */
async function untilARequestWaits(call) {
  for (let waited = 0; waited < 30_000; waited += 20) {
    const { requests } = JSON.parse((await call("/sandbox/requests")).text);
    if (requests.some(({ status }) => status === null)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("no request waits after 30 s");
}

async function aStopTakesASecond() {
  const { ready, call, stop } = await start([]);
  await call("/sandbox/faults", "POST", { operation: "list_payment_methods", kind: "delay", milliseconds: 600_000 });
  const delayed = call("/v1/payment-methods").catch((e) => e);
  const uploading = post(ready, "content-length: 100");
  await uploading.connected;
  await untilARequestWaits(call);
  const begun = performance.now();
  assert.equal((await stop("SIGINT")).code, 0);
  assert.ok(performance.now() - begun < 3000, "it waits a second, and not for what never ends");
  assert.equal((await delayed).message, "fetch failed");
  await uploading.ended;
}

/** Begins to send an order over a socket. */
function post({ base_url, secret_key }, header) {
  const { hostname, port } = new URL(base_url);
  const socket = connect(Number(port), hostname);
  const lines = ["POST /v1/payment-intents HTTP/1.1", "host: localhost", `authorization: Bearer ${secret_key}`, "content-type: application/json", header];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  let text = "";
  socket.on("data", (part) => (text += part)).on("error", () => {});
  const connected = new Promise((resolve) => socket.once("connect", resolve));
  return { socket, connected, ended: new Promise((resolve) => socket.once("close", () => resolve(text))) };
}

async function bodiesThatAreLongOrSlow() {
  const { ready, stop } = await start([]);
  // An upload that would never end is answered and cut.
  for (const header of ["content-length: 1000000000", "transfer-encoding: chunked"]) {
    const begun = performance.now();
    const { socket, ended } = post(ready, header);
    const chunk = "x".repeat(4096);
    const part = header.startsWith("transfer") ? `1000\r\n${chunk}\r\n` : chunk;
    const sending = setInterval(() => socket.write(part.repeat(20)), 20);
    const text = await ended;
    clearInterval(sending);
    assert.match(text, /^HTTP\/1\.1 413 Payload Too Large\r\n[^]*\r\nconnection: close\r\n/i);
    assert.ok(performance.now() - begun < 5000, header);
  }
  await stop();

  // A body that does not arrive is given up. The command waits 30 s, which a test need not.
  const { serve } = await import("./node_modules/guichet-sandbox/serve.js");
  const server = await serve({ host: "127.0.0.1", port: 0, requestMs: 500 });
  const slow = post({ base_url: server.baseUrl, secret_key: server.secretKey }, "content-length: 100");
  slow.socket.write("{");
  assert.match(await slow.ended, /^HTTP\/1\.1 408 /);
  server.stop();
}

/** A script that cannot learn the address gets an error, and no server goes on unseen. */
async function stdoutThatIsClosed() {
  const child = spawn(COMMAND, ["--listen", "127.0.0.1:0", "--json"], { env, stdio: ["ignore", "pipe", "pipe"] });
  running.push(child);
  child.stdout.destroy();
  let stderr = "";
  child.stderr.on("data", (part) => (stderr += part));
  const code = await new Promise((resolve) => child.once("close", resolve));
  assert.deepEqual([code, stderr], [1, "guichet-sandbox: stdout cannot be written (EPIPE): its reader has gone, or its disk is full. The command has stopped.\n"]);
}

/** The company's requests and words, and the check's service by the same. */
async function aProfile() {
  const profile = { base_url: "https://api.example.com", read: { method: "GET", path: "/charges/{payment_ref}" }, cancel: null, statuses: { awaiting: "requires_action" } };
  writeFileSync("service.json", JSON.stringify(profile));
  const order = { firstname: "Awa", lastname: "Ngono", email: "awa@example.com", merchant_reference: "1", amount: "5000", description: "Shoes" };
  const { ready, call, stop } = await start(["--profile", "service.json"]);
  const { startService } = await import("guichet-sandbox/check");
  const checked = await startService({ profile });
  const headers = { authorization: `Bearer ${checked.secretKey}`, "content-type": "application/json" };
  const callChecked = async (path, method = "GET", body) => {
    const response = await fetch(checked.baseUrl + path, { method, headers, body: body && JSON.stringify(body) });
    return { status: response.status, text: await response.text() };
  };
  for (const send of [call, callChecked]) {
    const { id, payment_ref, status } = JSON.parse((await send("/v1/payment-intents", "POST", order)).text).data;
    assert.equal(status, "awaiting");
    const read = await send(`/charges/${payment_ref}`);
    assert.deepEqual([read.status, JSON.parse(read.text).data.id, JSON.parse(read.text).data.status], [200, id, "awaiting"]);
    assert.equal((await send(`/v1/payment-intents/${id}`)).status, 404);
    assert.equal((await send(`/v1/payment-intents/${id}/cancel`, "POST", {})).status, 404);
  }
  checked.close();
  await stop();
  await assert.rejects(startService({ profile: { ...profile, read: { method: "GET", path: "//evil.example/{id}" } } }), /`read\.path` must begin with one `\/`/);
  for (const wrong of [0, false, [], { ...profile, base_url: "api.example.com" }]) await assert.rejects(startService({ profile: wrong }), /^TypeError: Option `profile`: /);
  await assert.rejects(startService({ profile: JSON.stringify(profile) }), /^TypeError: Option `profile`: Pass the parsed content/);
  (await startService({ profile: null })).close();
  assert.equal(ready.secret_key, env.GUICHET_SECRET_KEY);
}

async function options() {
  const { ready, call, stop } = await start(["--strict", "--public-url", "https://pay.example.com", "--allow-host", "sandbox.test", "--allow-origin", "https://shop.example"]);
  const order = { firstname: "Awa", lastname: "Ngono", email: "awa@example.com", merchant_reference: "1", amount: "5000", description: "Shoes" };
  assert.equal((await call("/v1/payment-intents", "POST", { ...order, unknown: 1 })).status, 422);
  assert.match((await call("/v1/payment-intents", "POST", order)).text, /https:\/\/pay\.example\.com\/checkout\//);
  assert.equal(await statusAs(ready, "sandbox.test"), 200);
  const from = async (origin) => (await fetch(`${ready.base_url}/v1/payment-methods`, { headers: { origin } })).headers.get("access-control-allow-origin");
  assert.deepEqual([await from("https://shop.example"), await from("https://other.example")], ["https://shop.example", null]);
  await stop();
  for (const [option, expected] of [["--help", /--public-methods/], ["--version", /^\d+\.\d+\.\d+\n$/]]) {
    const { status, stdout } = spawnSync(COMMAND, [option], { encoding: "utf8" });
    assert.equal(status, 0);
    assert.match(stdout, expected);
  }
}

async function whatItRefuses() {
  const other = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  const taken = `127.0.0.1:${other.address().port}`;
  const listen = ["--listen", "127.0.0.1:0"];
  for (const [args, code, message] of [
    [["--listen", taken], 1, `Another program already listens on ${taken}. Stop it, or give another port with --listen.`],
    [["--listen", "0.0.0.0:0"], 1, "0.0.0.0:0 is every address of this machine, so the sandbox does not know the address of its checkout page"],
    [["--listen", "4343"], 2, "the option takes an address with a port, for example 127.0.0.1:4343"],
    [["--listen", "localhost:8080"], 2, "the option takes an address with a port, for example 127.0.0.1:8080"],
    [["--listen", "127.0.0.1:99999"], 2, "the option takes an address with a port, for example 127.0.0.1:4243"],
    [["--listen", "localhost"], 2, "the option takes an address with a port, for example 127.0.0.1:4243"],
    [["--listen"], 2, "--listen"],
    [["--strictt"], 2, "Unknown option '--strictt'. --help lists the options."],
    [["--database", "memory:"], 2, "--database: for a database, use the binary: guichet sandbox --database"],
    [[...listen, "--public-url", "pay.example.com/x"], 1, "is not an origin"],
    [[...listen, "--allow-origin", "shop"], 1, "shop is not an origin"],
    [[...listen, "--allow-host", "sandbox.test:80"], 1, '"sandbox.test:80" is not a host name'],
    [["inti", "php", "shop"], 2, "There is no command 'inti'. The commands are demo, check and init; without one, the service starts."],
    [["--strict", "extra"], 2, "extra"],
    [["init"], 2, "Missing argument <KIND>: express, next or php."],
    [["init", "flask", "shop"], 2, "invalid value 'flask' for '<KIND>': it is express, next or php."],
    [["init", "php"], 2, "Missing argument <FOLDER>: an empty folder for the shop, for example: init php shop"],
    [["init", "php", "shop", "more"], 2, "unexpected argument 'more'"],
    [["init", "php", "node_modules"], 1, "The folder node_modules is not empty. Nothing was written."],
    [["--profile", "none.json"], 2, "invalid value 'none.json' for '--profile <FILE>'"],
    [["--profile", "package.json", ...listen], 1, "Option `profile`: "],
    [["check", "--profile", "none.json", "http://127.0.0.1:1", "--order", "{}"], 4, "invalid value 'none.json' for '--profile <FILE>'"],
    [["init", "php", "package.json"], 1, "The folder package.json cannot be used: it is a file. Give a folder"],
  ]) {
    const { status, stdout, stderr } = spawnSync(COMMAND, args, { env, encoding: "utf8", timeout: 20_000 });
    assert.deepEqual([status, stdout], [code, ""], `${args}: ${stderr}`);
    assert.ok(stderr.startsWith("guichet-sandbox: ") && stderr.includes(message), `${args}: ${stderr}`);
  }
  const live = spawnSync(COMMAND, listen, { env: { ...env, GUICHET_SECRET_KEY: "sk_live_1" }, encoding: "utf8", timeout: 20_000 });
  assert.equal(live.status, 1);
  assert.match(live.stderr, /GUICHET_SECRET_KEY is not a valid test key/);
  for (const [version, args, message] of [
    ["18.20.4", ["--version"], "guichet-sandbox needs 20 or newer. Install it from https://nodejs.org."],
    ["20.18.1", ["init", "next", "shop"], "the kind next needs 20.19.0 or newer. Install it from https://nodejs.org."],
  ]) {
    const NODE_OPTIONS = `--import=data:text/javascript,Object.defineProperty(process.versions,'node',{value:'${version}'})`;
    const { status, stderr } = spawnSync(COMMAND, args, { env: { ...env, NODE_OPTIONS }, encoding: "utf8", timeout: 20_000 });
    assert.deepEqual([status, stderr], [1, `guichet-sandbox: This is Node.js ${version}, and ${message}\n`]);
  }
  other.close();
}
