// Starts the payment service and a shop that `init` has written, each on a port of its own.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { listen, serve } from "../serve.js";

const SETTLE_MS = 5_000;

/** The processes that run, each with the promise of its end. */
const running = new Map();
let isStopping = false;

/**
 * Runs until Ctrl-C, SIGTERM or the end of the shop. `commands` returns the command that serves the shop at a URL, and the one that
 * settles payments, if the shop has no timer. `needs` says how to install the command's program.
 */
export async function start(commands, { url = "http://127.0.0.1:8000", needs } = {}) {
  // The service keeps nothing after it stops: the payments of an older database would be unknown to it.
  const folder = mkdtempSync(join(tmpdir(), "guichet-shop-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop(0));
  try {
    const shop = new URL(process.env.SHOP_URL ?? url);
    // Behind a proxy, such as that of Vite in development, it listens on a port of its own.
    const server = process.env.PORT ? new URL(`http://127.0.0.1:${process.env.PORT}`) : shop;
    await isFree(server);
    const { hostname: host, port } = new URL(process.env.GUICHET_BASE_URL ?? "http://127.0.0.1:4243");
    const service = await serve({ host, port: Number(port) }, "the variable GUICHET_BASE_URL");
    const database = { SHOP_DATABASE: join(folder, "shop.sqlite"), ...process.env };
    const env = { ...database, SHOP_URL: shop.origin, GUICHET_BASE_URL: service.baseUrl, GUICHET_SECRET_KEY: service.secretKey };
    const { serve: command, settle } = commands(server);
    const ended = run(command, env).then((how) => {
      throw new Error(`The shop has ended (${how}).`);
    });
    await Promise.race([ended, answers(server)]);
    print(shop, service);
    await Promise.all([ended, settle && keepSettling(settle, env)]);
  } catch ({ code, message, path }) {
    if (isStopping) return;
    console.error(`start: ${code === "ENOENT" ? `${path} is missing. ${needs}` : message}`);
    await stop(1);
  }
}

/** Rejects if the shop's port is in use: another program would answer in its place. */
async function isFree({ hostname, port }) {
  const server = createServer();
  await listen(server, hostname, Number(port), `the variable ${process.env.PORT ? "PORT" : "SHOP_URL"}`);
  await new Promise((resolve) => server.close(resolve));
}

/** Runs a command. Resolves with how it ends. */
function run([program, ...args], env) {
  const child = spawn(program, args, { env, stdio: "inherit" });
  const ended = new Promise((resolve, reject) => child.once("error", reject).once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`)));
  running.set(child, ended);
  const forget = () => running.delete(child);
  ended.then(forget, forget);
  return ended;
}

async function answers({ origin }) {
  while (!(await fetch(origin).catch(() => undefined))) await wait(100);
}

/** Settles payments every few seconds, as cron does on a server. */
async function keepSettling(command, env) {
  for (;;) {
    await run(command, env);
    await wait(SETTLE_MS);
  }
}

/** Ends after the processes have ended: they write to the database. */
async function stop(exitCode) {
  isStopping = true;
  for (const child of running.keys()) child.kill();
  await Promise.allSettled(running.values());
  process.exit(exitCode);
}

const print = ({ origin }, { baseUrl }) =>
  console.log(`
The shop             ${origin}
The service          ${baseUrl}

A phone that pays    237670000000
A phone that fails   237670000009
A phone paid late    237670000014, a minute after it has failed

No real money moves. The payments and the orders end with this command; Ctrl-C ends it.
`);
