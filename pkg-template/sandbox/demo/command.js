// `guichet-sandbox demo`: the sandbox and a shop that uses it, each on a port of its own.
import { createServer } from "node:http";
import { listen, serve } from "../serve.js";
import { address as readAddress, CommandError, parse, print } from "../terminal.js";
import { SHOP_NAME } from "./catalogue.js";
import { Shop } from "./shop.js";

/**
 * Opens the shop until Ctrl-C or SIGTERM. It is not `examples/express`, because it must run from this package alone, without a dependency and
 * in memory, with the pages of the shop in Rust: that one needs Express and SQLite, and is one file to copy. Both execute guichet-server.
 */
export async function demo(args) {
  const { help, json, shop, sandbox } = read(args);
  if (help) return print(HELP);
  const service = await serve({ ...sandbox, merchantName: SHOP_NAME }, "--sandbox-listen");
  try {
    const opened = await open(shop, service);
    const stop = () => [opened, service].forEach((running) => running.stop());
    process.once("SIGINT", stop).once("SIGTERM", stop);
    print(json ? asJson(opened, service) : asText(opened, service));
  } catch (e) {
    service.stop();
    throw e;
  }
}

async function open({ host, port }, { baseUrl, secretKey }) {
  // Limits, so that slow clients do not hold connections.
  const server = createServer({ requestTimeout: 30_000, keepAliveTimeout: 30_000 });
  server.maxConnections = 1_000;
  const { family, address, port: taken } = await listen(server, host, port, "--listen");
  const url = `http://${family === "IPv6" ? `[${address}]` : address}:${taken}`;
  const shop = new Shop({ url, baseUrl, secretKey });
  server.on("request", (request, response) => void shop.respond(request, response));
  const stop = () => {
    shop.stop();
    server.close();
    server.closeAllConnections();
  };
  return { url, stop };
}

const HELP = `\
A shop of shoes and the payment service that it uses, on this machine, in memory. No account, no real money.

Usage: guichet-sandbox demo [OPTIONS]

      --listen <ADDRESS>          The address of the shop; port 0 takes a free port [default: 127.0.0.1:4242]
      --sandbox-listen <ADDRESS>  The address of the payment service [default: 127.0.0.1:4243]
      --checkout <DIR>            The folder of your own checkout page, whose index.html is served in the place of the sandbox's
      --json                      Print one line of JSON when ready, and nothing else on stdout
  -h, --help                      Print this help

It keeps nothing after it stops. The shop of \`cargo xtask demo\`, in a clone of guichet, keeps its orders, and has subscriptions too.`;

const OPTIONS = {
  listen: { type: "string", default: "127.0.0.1:4242" },
  "sandbox-listen": { type: "string", default: "127.0.0.1:4243" },
  checkout: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
};

function read(args) {
  const { listen, "sandbox-listen": sandboxListen, checkout, ...rest } = parse(args, OPTIONS, "guichet-sandbox demo", {}).values;
  return { ...rest, shop: loopback(listen, "listen"), sandbox: { ...loopback(sandboxListen, "sandbox-listen"), checkout } };
}

/** Reads an address of this machine alone: the shop has no passwords and serves plain http. */
function loopback(text, option) {
  const at = readAddress(text, option);
  if (at.host === "::1" || at.host.startsWith("127.")) return at;
  throw new CommandError(1, `${text} is not a loopback address, and the demo serves this machine only. Give one: --${option} 127.0.0.1:${at.port}.`);
}

const asJson = ({ url }, { baseUrl, controlToken, inspectorUrl }) =>
  JSON.stringify({ shop_url: url, base_url: baseUrl, control_url: `${baseUrl}/sandbox`, control_token: controlToken, inspector_url: inspectorUrl });

const asText = ({ url }, { baseUrl, inspectorUrl }) => `\
The shop is running. Put a pair of shoes in the basket and pay; no real money moves.

  The shop             ${url}
  The service          ${baseUrl}
  The inspector        ${inspectorUrl}    (opens it once)

  A phone that pays    237670000000
  A phone that fails   237670000009
  A phone paid late    237670000014, a minute after it has failed
  A card that pays     4242424242424242, any future date, any three digits

It was ready after ${Math.round(performance.now())} ms. It keeps nothing after it stops. Ctrl-C stops it.`;
