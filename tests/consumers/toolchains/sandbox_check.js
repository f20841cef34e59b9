// `guichet-sandbox check` as its users run it: against the example server on Express, and against a shop that breaks a rule.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createInterface } from "node:readline";
import { check, startService } from "guichet-sandbox/check";
import { createShop } from "guichet-server";
import { memoryOrders } from "guichet-server/orders";

const COMMAND = "node_modules/.bin/guichet-sandbox";
const running = [];
process.once("exit", () => running.forEach((child) => child.kill("SIGKILL")));
const { GUICHET_SECRET_KEY: _, ...env } = process.env;

const figures = await theExampleServerKeepsTheRules();
await aShopThatSignsEverybodyInBreaksARule();
await aHandlerOfGuichetServerIsChecked();
await whatTheFunctionRefuses();
await aShopThatDoesNotAnswerIsNotChecked();
await whatItRefuses();
console.log(JSON.stringify(figures));
process.exit();

async function theExampleServerKeepsTheRules() {
  const begun = performance.now();
  const origin = `http://127.0.0.1:${await freePort()}`;
  let [shop, log, service] = [];
  const startShop = async () => {
    const shopEnv = { ...env, GUICHET_BASE_URL: service.base_url, GUICHET_SECRET_KEY: service.secret_key, SHOP_URL: origin };
    shop = spawn("node", ["server.mjs"], { cwd: "express", env: shopEnv, stdio: ["ignore", "pipe", "inherit"] });
    running.push(shop);
    await new Promise((resolve) => createInterface(shop.stdout).on("line", (line) => {
      log.push(line);
      appendFileSync("express/log", `${line}\n`);
      resolve();
    }));
  };
  // What the commands of --restart and --orders ask: this process has the server and its log.
  const control = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    if (pathname === "/restart") {
      shop.kill("SIGKILL");
      await once(shop, "exit");
      await startShop();
      return response.end();
    }
    if (pathname === "/reprice") {
      const update = `import Database from "libsql";
        new Database("shop.sqlite", { timeout: 5000 }).exec("UPDATE products SET amount = '47500' WHERE id = 'trainers'");`;
      const [code] = await once(spawn("node", ["--input-type=module", "-e", update], { cwd: "express", stdio: "inherit" }), "exit");
      assert.equal(code, 0);
      return response.end();
    }
    const order = searchParams.get("reference").replace(/^(ORDER-\w+)-\d+$/, "$1");
    const lines = log.filter((line) => line.split(/[ :.]/)[0] === order);
    response.end(lines.map((line) => line.replace(/.* is paid\.$/, "paid\n").replace(/.*: a refund of (\d+).*/, "refund_due $1\n")).join(""));
  });
  await once(control.listen(0, "127.0.0.1"), "listening");
  const ask = `const r = await fetch("http://127.0.0.1:${control.address().port}/" + process.argv[2] + "?reference=" + process.env.GUICHET_REFERENCE);
process.stdout.write(await r.text());\n`;
  writeFileSync("express/ask.mjs", ask);
  rmSync("express/shop.sqlite", { force: true });
  writeFileSync("express/log", "");

  const orders = [17, 18, 19, 20, 21].flatMap((id) => ["--order", JSON.stringify({ id: `${id}`, product: "trainers" })]);
  const logins = ["awa", "paul"].flatMap((name) => ["--login", `POST /sign-in {"customer":"${name}"}`]);
  const commands = ["restart", "orders", "reprice"].flatMap((name) => [`--${name}`, `node express/ask.mjs ${name}`]);
  const pattern = ["--order-pattern", '{"id":"N-%d","product":"trainers"}'];
  // The rules about payments wait for minutes. The command in Rust runs them on this server, by the same code.
  const groups = ["forged", "orders", "secrets"].flatMap((name) => ["--only", name]);
  const checking = start([origin, ...orders, ...pattern, ...logins, ...commands, ...groups, "--log", "express/log", "--listen", "127.0.0.1:0", "--json"]);
  [log, service] = [[], JSON.parse(await checking.firstLine)];
  await startShop();
  const { code, stdout, stderr } = await checking.ended;
  shop.kill();
  control.close();
  const [, line] = stdout.split("\n");
  const report = line && JSON.parse(line);
  const others = report?.rules.filter(({ verdict }) => verdict !== "pass");
  assert.deepEqual([others, code, stderr], [[], 0, ""]);
  assert.equal(report.passed, report.rules.length);
  assert.ok(report.passed >= 17, `${report.passed} rules`);
  assert.ok(!line.includes(service.secret_key));
  return { passed: report.passed, seconds: Math.round((performance.now() - begun) / 1000) };
}

async function aShopThatSignsEverybodyInBreaksARule() {
  let announce;
  const service = new Promise((resolve) => (announce = resolve));
  const shop = createServer(async (request, response) => {
    if (request.url !== "/guichet/session") return response.end("{}");
    const { url, key } = await service;
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const body = '{"customer_email":"awa@example.com"}';
    const reply = await fetch(`${url}/v1/sessions/create`, { method: "POST", headers, body });
    response.end(await reply.text());
  });
  await once(shop.listen(0, "127.0.0.1"), "listening");
  const origin = `http://127.0.0.1:${shop.address().port}`;
  const checking = start([origin, "--order", '{"id":"17"}', "--login", "GET /", "--only", "session_needs_login", "--listen", "127.0.0.1:0"]);
  const lines = [];
  checking.lines.on("line", (line) => {
    lines.push(line);
    const [, url, key] = /The service +(\S+)[^]*The secret key +(\S+)/.exec(lines.join("\n")) ?? [];
    if (key) announce({ url, key });
  });
  const { code, stderr } = await checking.ended;
  shop.close();
  assert.deepEqual([code, stderr], [1, ""]);
  const printed = lines.slice(lines.findIndex((line) => line.startsWith("FAIL"))).join("\n");
  assert.match(printed, /^FAIL +session_needs_login +Only a customer who is signed in .*\n +A stranger, .*\n +sent: POST \/guichet\/session .*\n +came: 200 .*\n +fix: /);
  assert.match(printed, /\n\n0 passed, 1 failed, 0 not checked$/);
  assert.ok(!printed.includes((await service).key));
}

/** The shop is a function from request to response, and functions stand for its commands. */
async function aHandlerOfGuichetServerIsChecked() {
  const service = await startService();
  const paid = new Map();
  const customers = { awa: { id: 1, email: "awa@example.com", emailVerified: true }, paul: { id: 2, email: "paul@example.com", emailVerified: true } };
  const shop = createShop({
    baseUrl: service.baseUrl,
    secretKey: service.secretKey,
    customer: ({ headers }) => customers[/login=(\w+)/.exec(headers.get("cookie"))?.[1]] ?? null,
    purchase: ({ id }, { id: customer, email }) => ({
      name: `ORDER-${customer}-${id}`, amount: "45000", description: "Shoes", firstname: "A", lastname: "B", email, redirect_url: "http://localhost/",
    }),
    orderChanged: ({ name, state, paid_by }) => void (state === "paid" && paid.set(name, paid_by.reference)),
    orders: memoryOrders(),
  });
  const handler = (request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/login") return new Response("", { headers: { "set-cookie": `login=${searchParams.get("name")}; HttpOnly; SameSite=Lax` } });
    return pathname.startsWith("/guichet/") ? shop.fetch(request) : new Response("<title>Shop</title>");
  };
  const names = ["orders", "same_site_refused", "other_customer_sees_nothing", "paid_without_return", "login_is_guarded"];
  const report = await check(handler, {
    service,
    orderPattern: { id: "N-%d" },
    logins: ["POST /login?name=awa", "POST /login?name=paul"],
    books: ({ reference, order }) => [...paid].filter(([name, one]) => one === reference && name.endsWith(order.id)).map(() => "paid"),
    settle: () => shop.settle(),
    only: names,
  });
  service.close();
  const verdicts = Object.fromEntries(report.rules.map(({ id, verdict }) => [id, verdict]));
  assert.deepEqual(verdicts, {
    order_becomes_payment: "pass",
    same_order_same_payment: "pass",
    same_payment_after_restart: "not checked",
    return_nonce_agrees: "pass",
    return_nonce_cannot_be_guessed: "pass",
    login_is_guarded: "fail",
    other_customer_sees_nothing: "pass",
    same_site_refused: "pass",
    paid_without_return: "pass",
  }, JSON.stringify(report));
  assert.deepEqual([report.passed, report.failed, report.not_checked], [7, 1, 1]);
}

async function whatTheFunctionRefuses() {
  const service = await startService();
  const refused = (options, part) => assert.rejects(check("http://127.0.0.1:8000", { service, ...options }), (e) => e instanceof TypeError && e.message.includes(part));
  await refused({}, "Missing option --order");
  await refused({ orders: ["17"], limit: 0 }, "invalid value '0' for '--limit <SECONDS>'");
  await refused({ order: ["17"] }, "Unknown option `order`.");
  await refused({ orders: ["17"], service: {} }, "`service` must be");
  await refused({ orders: ["17"], guests: "false" }, "`guests` must be true or false");
  const nobody = () => new Response("", { status: 404 });
  await assert.rejects(check(nobody, { service, orders: ["17"] }), /The shop has no routes at http:\/\/localhost\/guichet/);
  service.close();
}

async function aShopThatDoesNotAnswerIsNotChecked() {
  const origin = `http://127.0.0.1:${await freePort()}`;
  const { code, stderr } = await start([origin, "--order", "17", "--wait", "1", "--listen", "127.0.0.1:0"]).ended;
  const why = `The shop did not answer: no connection. Start the shop at ${origin}/guichet with the address and the key above.`;
  assert.deepEqual([code, stderr], [3, `guichet-sandbox: ${why}\n`]);

  const certificates = "../../../tests/service/native/certificates";
  const untrusted = createTlsServer({ key: readFileSync(`${certificates}/server.key`), cert: readFileSync(`${certificates}/server.pem`) });
  await once(untrusted.listen(0, "127.0.0.1"), "listening");
  const checked = await start([`https://127.0.0.1:${untrusted.address().port}`, "--order", "17", "--listen", "127.0.0.1:0"]).ended;
  untrusted.close();
  assert.equal(checked.code, 3);
  assert.match(checked.stderr, /its certificate is not trusted: .*NODE_EXTRA_CA_CERTS=/);
}

async function whatItRefuses() {
  const url = "http://127.0.0.1:8000";
  for (const [args, part] of [
    [[], "Missing argument <URL>"],
    [[url], "Missing option --order"],
    [["127.0.0.1:8000", "--order", "17"], "invalid value '127.0.0.1:8000' for '<URL>': give the shop's address"],
    [[url, "--order", "{"], "invalid value '{' for '--order <JSON>'"],
    [[url, "--order", "17", "--login", "PUT /"], "invalid value 'PUT /' for '--login <REQUEST>'"],
    [[url, "--order", "17", "--only", "every"], "the groups and their rules are forged (forged_price_is_ignored, "],
    [[url, "--order", "17", "--limit", "0"], "invalid value '0' for '--limit <SECONDS>'"],
    [[url, "--order", "17", "--limt", "1"], "Unknown option '--limt'"],
  ]) {
    const { code, stdout, stderr } = await start(args).ended;
    assert.deepEqual([code, stdout], [4, ""], stderr);
    assert.ok(stderr.startsWith("guichet-sandbox: ") && stderr.includes(part), stderr);
  }
  const help = await start(["--help"]).ended;
  assert.equal(help.code, 0);
  for (const part of ["--order <JSON>", "GUICHET_PAYMENT_REF", "Exit codes: 0"]) assert.ok(help.stdout.includes(part), help.stdout);
}

/** Starts a check. */
function start(args) {
  const child = spawn(COMMAND, ["check", ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  running.push(child);
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (text) => (stdout += text));
  child.stderr.on("data", (text) => (stderr += text));
  const lines = createInterface(child.stdout);
  const ended = once(child, "close").then(([code]) => ({ code, stdout, stderr }));
  const firstLine = new Promise((resolve, reject) => {
    lines.once("line", resolve);
    ended.then(() => reject(new Error(`it ended: ${stderr}`)));
  });
  firstLine.catch(() => {});
  return { lines, firstLine, ended };
}

async function freePort() {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
