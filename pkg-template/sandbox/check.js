// A check as a function. check-command.js has the command; the rules and their reports are in the wasm.
import { CheckArguments, CheckService } from "./core/guichet_sandbox.js";
import { Machine, toBytes, within } from "./machine.js";
import { serve } from "./serve.js";
import { load, Service } from "./service.js";
import { address } from "./terminal.js";

/** Checks a shop. Resolves with the report that the command prints with `--json`. */
export async function check(shop, options = {}) {
  const { service = await startService({ listen: "127.0.0.1:4243" }), ...rest } = options;
  try {
    const wasm = services.get(service);
    if (!wasm) throw new TypeError("`service` must be what `startService` has resolved with.");
    const [texts, functions] = readOptions(shop, rest);
    const shopCheck = wasm.check(readArguments(texts), new Program(typeof shop === "function" ? shop : undefined, functions));
    await shopCheck.shopIsReady().catch((why) => Promise.reject(new Error(why)));
    while ((await shopCheck.next()) !== undefined);
    return JSON.parse(shopCheck.json());
  } finally {
    if (!options.service) service.close();
  }
}

/** The wasm of each service. */
const services = new WeakMap();

/** Starts the service of one check. */
export async function startService({ listen = "127.0.0.1:0", profile } = {}) {
  const { wasm, baseUrl, secretKey, stop } = await listenOn({ ...address(listen), profile });
  const service = { baseUrl, secretKey, close: stop };
  services.set(service, wasm);
  return service;
}

/** The same, for the command. */
export async function listenOn({ host, port, profile }) {
  if (typeof profile === "string") throw new TypeError("Option `profile`: Pass the parsed content of the file.");
  load();
  let wasm;
  const json = profile === undefined || profile === null ? undefined : JSON.stringify(profile);
  const begin = async ({ baseUrl }) => new Service((wasm = await CheckService.start(baseUrl, json)));
  return { ...(await serve({ host, port }, "--listen", begin)), wasm };
}

function readArguments(texts) {
  try {
    return CheckArguments.read(JSON.stringify(texts));
  } catch (why) {
    throw new TypeError(`${why}.`);
  }
}

/** What the options are called as options of the command, and how each becomes a text. */
const JSON_TEXT = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const NAMES = {
  orders: ["order", (orders) => orders.map((order) => JSON.stringify(order))],
  orderPattern: ["order-pattern", JSON_TEXT],
  logins: ["login"],
  guests: ["guests", flag],
  pageOrigin: ["page-origin", String],
  page: ["page"],
  csrf: ["csrf"],
  logs: ["log"],
  limit: ["limit", String],
  timeout: ["timeout", String],
  wait: ["wait", String],
  only: ["only"],
};
function flag(value) {
  if (typeof value !== "boolean") throw new TypeError("Option `guests` must be true or false.");
  return value;
}

/** A function may stand for each of these commands. */
const COMMANDS = { books: "orders", restart: "restart", settle: "settle", reprice: "reprice" };

/** The arguments of the command, as texts, and the functions that stand for commands, by the texts that name them. */
function readOptions(shop, { address = "http://localhost", ...options }) {
  const [texts, functions] = [{ shop: String(typeof shop === "function" ? address : shop) }, new Map()];
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const [argument = COMMANDS[name], text = (value) => value] = NAMES[name] ?? [];
    if (argument === undefined) throw new TypeError(`Unknown option \`${name}\`.`);
    texts[argument] = text(value);
    if (name in COMMANDS && typeof value === "function") {
      texts[argument] = `the function ${name}`;
      functions.set(texts[argument], value);
    }
  }
  return [texts, functions];
}

/** The machine of a check whose shop or commands are functions of this process. */
class Program extends Machine {
  #shop;
  #functions;

  constructor(shop, functions) {
    super();
    this.#shop = shop;
    this.#functions = functions;
  }

  send(method, url, headers, body, milliseconds) {
    if (!this.#shop) return super.send(method, url, headers, body, milliseconds);
    return within(milliseconds, async () => {
      const sent = new Headers({ host: new URL(url).host });
      for (let i = 0; i < headers.length; i += 2) {
        const add = /^host$/i.test(headers[i]) ? "set" : "append";
        sent[add](headers[i], toBytes(headers[i + 1]));
      }
      const response = await this.#shop(new Request(url, { method, headers: sent, body: body === "" ? undefined : Buffer.from(body) }));
      return [response.status, [...response.headers].flat(), await response.text()];
    });
  }

  run(command, variables, isOutputWanted, milliseconds) {
    const run = this.#functions.get(command);
    if (!run) return super.run(command, variables, isOutputWanted, milliseconds);
    const given = {};
    for (let i = 0; i < variables.length; i += 2) given[variables[i]] = variables[i + 1];
    const { GUICHET_ORDER: order, GUICHET_REFERENCE: reference, GUICHET_PAYMENT_REF: paymentRef } = given;
    return within(milliseconds, async () => {
      const printed = await run(order === undefined ? {} : { order: JSON.parse(order), reference, paymentRef });
      return ["", [printed ?? []].flat().join("\n"), ""];
    });
  }
}
